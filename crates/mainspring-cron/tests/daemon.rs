//! Debian's cron as a program: a walk through the minutes with a virtual clock, as cron(8) describes it.
//!
//! The daemon wakes up once a minute and compares the wall clock with its own virtual clock. It knows no
//! zones and no policies: gaps and overlaps show as jumps of the wall clock. A schedule under the policy
//! `cron` must be due in exactly the minutes in which the daemon would start something.

use std::collections::BTreeSet;

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};
use mainspring_cron::{Expression, Schedule};

use crate::changes::{CASES, Case, Change, HOUR, changes};

const MINUTE: SignedDuration = SignedDuration::from_mins(1);

/// How far the wall clock is ahead of the virtual one, as the daemon sorts it.
enum Jump {
    /// One minute, or so few that the daemon is only late.
    Tick,
    Forward,
    Backward,
    /// Three hours and more: the clock was set.
    Correction,
}

fn jump(virtual_time: DateTime, wall_time: DateTime) -> Jump {
    match wall_time.duration_since(virtual_time).as_mins() {
        1..=5 => Jump::Tick,
        // The jump includes the minute that has passed.
        6..=180 => Jump::Forward,
        -178..=0 => Jump::Backward,
        _ => Jump::Correction,
    }
}

/// The minutes in which the daemon starts a job.
fn starts(change: &Change, case: &Case, first: Timestamp, last: Timestamp) -> BTreeSet<Timestamp> {
    let mut starts = BTreeSet::new();
    let mut virtual_time = change.before.to_datetime(first);
    let mut now = first;
    while now < last {
        now += MINUTE;
        let offset = if now < change.at { change.before } else { change.after };
        let wall_time = offset.to_datetime(now);
        let runs_now = (case.matches)(wall_time);
        let is_started = match jump(virtual_time, wall_time) {
            Jump::Tick | Jump::Correction => {
                virtual_time = wall_time;
                runs_now
            }
            Jump::Backward => case.is_wildcard && runs_now,
            Jump::Forward => {
                let mut was_missed = false;
                while virtual_time < wall_time {
                    virtual_time += MINUTE;
                    was_missed |= !case.is_wildcard && (case.matches)(virtual_time);
                }
                was_missed || case.is_wildcard && runs_now
            }
        };
        if is_started {
            starts.insert(now);
        }
    }
    starts
}

#[test]
fn schedules_are_due_when_the_daemon_starts_its_jobs() {
    let mut count = 0;
    // The daemon counts in minutes: offsets with seconds, as until 1972 in Monrovia, are beyond it.
    for change in changes()
        .iter()
        .filter(|change| change.before.seconds() % 60 == 0 && change.after.seconds() % 60 == 0)
    {
        let (first, last) = (change.at - 5 * HOUR, change.at + 5 * HOUR);
        for case in &CASES {
            let schedule = Schedule::new(Expression::parse(case.text).unwrap(), change.zone.clone());
            let due: BTreeSet<Timestamp> = schedule
                .upcoming(first)
                .map(|time| time.timestamp())
                .take_while(|time| *time <= last)
                .collect();
            let zone = change.zone.iana_name().unwrap_or_default();
            assert_eq!(due, starts(change, case, first, last), "{} in {zone} at {}", case.text, change.at);
            count += 1;
        }
    }
    assert!(25_000 < count, "only {count} changes were met");
}
