//! Counts how many runs are worth starting before a thread is free for them.
//!
//! ```text
//!  ends    | | |  | ||| | |  || |    none
//!  windows  ├── 250 ms ──┼── 250 ms ──┼── 250 ms ──┤
//!  ahead         0            14           11          0
//! ```
//!
//! As many are as have ended within the last window, so that one waits for about as long as a window. A
//! program whose threads are slower than that, or have nothing to do, has none started ahead.
//!
//! Cost: a comparison for each end, and one wake-up after the last.
//!
//! Does not know the runs, and reads no clock.
//!
//! Source: the pipeline of the bandwidth-delay product, as in the congestion control of TCP
//! ([RFC 5681](https://www.rfc-editor.org/rfc/rfc5681)): what is under way is what a round trip delivers.

use std::time::{Duration, Instant};

/// For how long ends are counted: many round trips to a planner and its disk, and little for one that waits.
pub(crate) const WINDOW: Duration = Duration::from_millis(250);

/// See the head of this file.
#[derive(Debug)]
pub(crate) struct StartsAhead {
    thread_count: usize,
    max: usize,
    count: usize,
    /// Since when ends are counted, and how many there were. `None`: nothing has ended for a window.
    window: Option<(Instant, usize)>,
}

impl StartsAhead {
    /// For so many threads, never more than `max`; none at first.
    pub(crate) fn new(thread_count: usize, max: usize) -> StartsAhead {
        StartsAhead { thread_count, max, count: 0, window: None }
    }

    /// How many are worth it.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// A run has ended.
    pub(crate) fn end_one(&mut self, now: Instant) {
        self.window.get_or_insert((now, 0)).1 += 1;
    }

    /// Time has passed. Each change is told to the planner, so that small ones are not made.
    pub(crate) fn turn(&mut self, now: Instant) {
        let Some((since, ended)) = self.window else { return };
        if now.saturating_duration_since(since) < WINDOW {
            return;
        }
        let found = if self.thread_count < ended { ended.min(self.max) } else { 0 };
        if found == 0 || self.count * 2 <= found || found * 2 <= self.count {
            self.count = found;
        }
        debug_assert!(self.count <= self.max);
        self.window = (0 < ended).then_some((now, 0));
    }

    /// One has waited for too long: nothing is known of how long others would.
    pub(crate) fn stop(&mut self) {
        (self.count, self.window) = (0, None);
    }

    /// How long nothing changes.
    pub(crate) fn wait(&self, now: Instant) -> Option<Duration> {
        self.window.map(|(since, _)| WINDOW.saturating_sub(now.saturating_duration_since(since)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_exec::clock::Moment;

    /// What is worth it after windows with so many ends each.
    fn counts(max: usize, windows: &[usize]) -> Vec<usize> {
        let mut now = Moment::now().monotonic;
        let mut ahead = StartsAhead::new(8, max);
        let mut found = Vec::new();
        for ended in windows {
            (0..*ended).for_each(|_| ahead.end_one(now));
            ahead.turn(now + WINDOW / 2);
            now += WINDOW;
            ahead.turn(now);
            found.push(ahead.count());
        }
        found
    }

    #[test]
    fn as_many_are_ahead_as_ended_in_the_last_window() {
        assert_eq!(counts(1_024, &[20, 100, 400, 5_000, 400]), [20, 100, 400, 1_024, 400]);
        assert_eq!(
            counts(1_024, &[100, 150, 90, 60, 40]),
            [100, 100, 100, 100, 40],
            "small changes are not made"
        );
        assert_eq!(counts(0, &[100, 1_000]), [0, 0]);
    }

    #[test]
    fn slow_threads_and_idle_ones_have_none() {
        assert_eq!(counts(1_024, &[8, 3, 8]), [0, 0, 0]);
        let start = Moment::now().monotonic;
        let mut ahead = StartsAhead::new(8, 64);
        (0..64).for_each(|_| ahead.end_one(start));
        ahead.turn(start + WINDOW);
        assert_eq!((ahead.count(), ahead.wait(start + WINDOW)), (64, Some(WINDOW)));
        ahead.turn(start + 2 * WINDOW);
        assert_eq!((ahead.count(), ahead.wait(start + 2 * WINDOW)), (0, None), "it sleeps from here on");
        (0..64).for_each(|_| ahead.end_one(start));
        ahead.turn(start + 9 * WINDOW);
        ahead.stop();
        assert_eq!(ahead.count(), 0);
    }
}
