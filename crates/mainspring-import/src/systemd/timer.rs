//! The keys of `[Timer]`.
//!
//! Cost: one look at each key.
//!
//! Does not know the service that the timer starts.
//!
//! Source: [systemd.timer(5)](https://www.freedesktop.org/software/systemd/man/latest/systemd.timer.html).

use mainspring_cron::{Every, Expression};
use mainspring_job::{CatchUp, MAX_JITTER};

use super::unit_reader::{UnitReader, UnitWords};
use crate::facts::{ANY_AGE, When};
use crate::finding::PlacedText;
use crate::key::{Key, is, lost, near, unneeded};

/// Keys of `[Timer]`.
pub(super) const TIMER_KEYS: &[Key<UnitWords, PlacedText>] = &[
    is(
        "OnCalendar",
        "oncalendar",
        on_calendar,
        "the same language, and the same rule when the clock changes",
    ),
    is(
        "OnBootSec OnStartupSec OnActiveSec",
        "at_boot",
        first,
        "without the wait; beside a period it only says when the first run is, and is left out",
    ),
    near(
        "OnUnitActiveSec",
        "every",
        every,
        "due at multiples of the period since 1970, and not counted from the last start",
    ),
    near(
        "OnUnitInactiveSec",
        "every",
        every,
        "the period is counted from start to start here, and not from the end",
    ),
    lost(
        "OnClockChange OnTimezoneChange",
        "no job starts because the clock was set",
        "what must run then belongs into a service of systemd",
    ),
    is(
        "RandomizedDelaySec",
        "jitter",
        jitter,
        "up to a day; the delay is computed from job and time, so it is the same again",
    ),
    near("RandomizedOffsetSec", "jitter", jitter, "the delay differs from time to time here"),
    unneeded("FixedRandomDelay", "a delay is computed from job and time in any case"),
    is("Persistent", "misfire", persistent, "without it missed times are left out, as there"),
    unneeded("AccuracySec", "a job starts when it is due, and not up to a minute later"),
    lost(
        "WakeSystem",
        "a machine that sleeps is not woken",
        "have it woken by rtcwake or by a timer of systemd",
    ),
    unneeded("RemainAfterElapse", "a job stays in the list in any case"),
    lost("DeferReactivation", "a run that is due while the last one runs is skipped", "see the key overlap"),
    unneeded("Unit", "the service that is read with the timer"),
];

fn on_calendar(reader: &mut UnitReader, given: &PlacedText) {
    if given.text.is_empty() {
        // As there: an empty value takes back those above.
        reader.job.when.clear();
        return;
    }
    reader.values.has_calendar = true;
    let PlacedText { text, place } = reader.filled_in(given);
    match Expression::parse_oncalendar(&text) {
        Ok(_) => reader.job.due(When::OnCalendar(text)),
        // A template has no instance yet.
        Err(_) if text != given.text => {
            let message = format!("`{}` is `{text}`, which is no time of a calendar", given.text);
            reader.findings.warn(&place, message, "say when in the job file");
            reader.job.switch_off_without_time(format!("its time is not known here: {}", given.text));
        }
        Err(error) => reader.findings.fault(&place, error.into()),
    }
}

fn first(reader: &mut UnitReader, given: &PlacedText) {
    if given.text.is_empty() {
        reader.values.first = None;
        return;
    }
    let given = reader.filled_in(given);
    if let Some(duration) = reader.duration(&given) {
        reader.values.first = Some((given, duration));
    }
}

fn every(reader: &mut UnitReader, given: &PlacedText) {
    if given.text.is_empty() {
        reader.job.when.retain(|when| !matches!(when, When::Every(_)));
        return;
    }
    let given = reader.filled_in(given);
    let Some(duration) = reader.duration(&given) else { return };
    match Every::new(duration) {
        Some(every) => reader.job.due(When::every(&every)),
        None => {
            let message = "a period is from 1 ms to 36525 days: the job is written as a comment";
            reader.findings.warn(&given.place, message, "say when in the job file");
            reader.job.switch_off_without_time(format!("its period has no equal here: {}", given.text));
        }
    }
}

fn jitter(reader: &mut UnitReader, given: &PlacedText) {
    let warning = ["a delay is at most a day here", "spread the jobs over several times"];
    if let Some(duration) = reader.up_to(MAX_JITTER, given, warning) {
        reader.job.policies.jitter = duration;
    }
}

fn persistent(reader: &mut UnitReader, given: &PlacedText) {
    reader.values.is_persistent = reader.truth(given);
}

/// Judges what stands in several keys.
pub(super) fn finish(reader: &mut UnitReader) {
    let misfire = &mut reader.job.policies.misfire;
    match (reader.values.has_calendar, reader.values.is_persistent) {
        (true, true) => misfire.window = ANY_AGE,
        (true, false) => misfire.catch_up = CatchUp::None,
        (false, _) => {}
    }
    let Some((given, delay)) = reader.values.first.take() else { return };
    let place = &given.place;
    if reader.job.when.iter().any(|when| matches!(when, When::Every(_))) {
        let message = "the first run is at the next multiple of the period, and not so long after the start";
        reader.findings.remark(place, message);
        return;
    }
    reader.job.due(When::Boot);
    if !delay.is_zero() {
        let message = "the job runs at the start of the machine, without the wait";
        let todo = format!("if it needs the wait: shell = \"sleep {}; exec ..\"", delay.as_secs());
        reader.findings.warn(place, message, todo);
    }
}
