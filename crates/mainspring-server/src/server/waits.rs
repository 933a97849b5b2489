//! The waits of the loop itself, beside those of its processes: one timer of a queue for each reason.
//!
//! | reason | until | then |
//! |---|---|---|
//! | `Look` | [`LOOK_INTERVAL`](super::LOOK_INTERVAL) after the last look | files, room and store are looked at |
//! | `Phase` | the drain, the grace or the last wait of the end is over | the next phase: see `stop` |
//! | `Store` | the end has waited long enough for the store | the end |
//! | `Room` | a second after a batch was tried on a full disk | it is tried again |
//! | `Late` | a batch is late | people are told |
//! | `StartBacklog` | a second after starts were tried that lacked something | they are tried again |
//! | `Settle` | a changed file was left alone for long enough | it is read |
//! | `Lease` | the lease is to be renewed, or is too old for something | it is renewed, or what runs is ended: see `lease` |
//! | `Feed` | a second after the store was asked for what another server wrote | it is asked again |
//! | `Accept` | a second after a connection could not be taken | it is tried again |
//!
//! The waits of processes, such as timeouts and steps of killing, are in the executor's own queue.
//!
//! Cost: a comparison for each reason and turn; O(1) for each that has moved.
//!
//! Does not act. Each owner compares the time itself, so a wake-up too many changes nothing.

use std::time::{Duration, Instant};

use mainspring_exec::clock::Moment;
use mainspring_exec::waits::{ArmedWait, Waits};

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Look,
    Phase,
    Store,
    Room,
    Late,
    StartBacklog,
    Settle,
    Accept,
    Lease,
    Feed,
}

/// How many reasons there are.
pub(super) const COUNT: usize = 10;

/// The waits of the loop.
#[derive(Debug, Default)]
pub(super) struct LoopWaits {
    waits: Waits<Wait>,
    /// By the reason.
    armed: [Option<ArmedWait>; COUNT],
}

impl LoopWaits {
    /// Has the loop woken for these reasons at these times, and for none that is not there or is there with
    /// `None`.
    pub(super) fn arm(&mut self, wanted: [(Wait, Option<Instant>); COUNT], now: Moment) {
        for (wait, at) in wanted {
            self.waits.arm(&mut self.armed[wait as usize], at, wait, now);
        }
    }

    /// Takes a reason whose time has come.
    pub(super) fn due(&mut self, now: Moment) -> Option<Wait> {
        self.waits.due(now)
    }

    /// How long the loop may sleep.
    pub(super) fn wait(&self, now: Moment) -> Option<Duration> {
        self.waits.wait(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Wait; COUNT] = [
        Wait::Look,
        Wait::Phase,
        Wait::Store,
        Wait::Room,
        Wait::Late,
        Wait::StartBacklog,
        Wait::Settle,
        Wait::Accept,
        Wait::Lease,
        Wait::Feed,
    ];

    #[test]
    fn the_loop_wakes_for_each_reason_at_its_time_and_for_none_that_was_withdrawn() {
        let start = Moment::now();
        let later = |ms| Moment { monotonic: start.monotonic + Duration::from_millis(ms), ..start };
        let mut waits = LoopWaits::default();
        let mut wanted = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(|index| {
            let at = later(100 * (10 - index as u64)).monotonic;
            (ALL[index], Some(at))
        });
        waits.arm(wanted, start);
        wanted[9].1 = None;
        waits.arm(wanted, start);
        let (mut now, mut found) = (start, Vec::new());
        while let Some(wait) = waits.wait(now) {
            now.monotonic += wait;
            while let Some(reason) = waits.due(now) {
                found.push((now.since(start).as_millis(), reason));
            }
        }
        let expected = ALL[..9].iter().rev().enumerate();
        let expected: Vec<_> = expected.map(|(index, reason)| (200 + 100 * index as u128, *reason)).collect();
        assert_eq!(found, expected);
    }
}
