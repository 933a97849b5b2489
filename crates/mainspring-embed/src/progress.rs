//! The progress of runs, from their handlers to the loop.
//!
//! ```text
//!  progress(done, of) ─▶ the last of each run ◀─ the loop looks at all, once in LOOK_INTERVAL
//!         └─ the first since that look ─▶ ProgressSignal ─▶ the loop
//! ```
//!
//! Of what is reported between two looks the last counts. It is not lost, as the loop looks again when the
//! interval is over.
//!
//! Cost: a lock of the run's own for each call; at most two wakes of the loop in each interval.
//!
//! Does not keep anything on disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mainspring_exec::clock::Moment;
use mainspring_exec::notifier::Notifier;

/// How often the loop looks at most: as often as a person does who waits for a run.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Has the loop look, from any thread.
#[derive(Clone, Debug)]
pub(crate) struct ProgressSignal {
    /// Sequentially consistent: a run that finds it raised has told before the loop lowers it, and the loop
    /// lowers it before it looks.
    is_raised: Arc<AtomicBool>,
    notifier: Notifier,
}

impl ProgressSignal {
    /// A run has told something.
    pub(crate) fn raise(&self) {
        if !self.is_raised.load(Ordering::SeqCst) && !self.is_raised.swap(true, Ordering::SeqCst) {
            self.notifier.notify();
        }
    }
}

/// The loop's end of the signal.
#[derive(Debug)]
pub(crate) struct ProgressLooks {
    signal: ProgressSignal,
    looked: Option<Moment>,
}

impl ProgressLooks {
    pub(crate) fn new(notifier: Notifier) -> ProgressLooks {
        ProgressLooks { signal: ProgressSignal { is_raised: Arc::default(), notifier }, looked: None }
    }

    pub(crate) fn signal(&self) -> ProgressSignal {
        self.signal.clone()
    }

    /// Whether the loop is to look now: something was told, and the last look is long enough ago.
    pub(crate) fn is_due(&mut self, now: Moment) -> bool {
        let is_due = self.wait(now) == Some(Duration::ZERO);
        if is_due {
            self.signal.is_raised.store(false, Ordering::SeqCst);
            self.looked = Some(now);
        }
        is_due
    }

    /// How long the loop may wait until it looks; `None`: nothing was told.
    pub(crate) fn wait(&self, now: Moment) -> Option<Duration> {
        let left = self.looked.map_or(Duration::ZERO, |at| LOOK_INTERVAL.saturating_sub(now.since(at)));
        self.signal.is_raised.load(Ordering::SeqCst).then_some(left)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use mainspring_exec::notifier::pair;

    #[test]
    fn the_loop_looks_once_in_an_interval_and_sees_the_last_that_was_told() {
        let (notifier, _notifications) = pair().unwrap();
        let mut looks = ProgressLooks::new(notifier);
        let (signal, reported) = (looks.signal(), Cell::new(None));
        let tell = |done| {
            reported.set(Some(done));
            signal.raise();
        };
        let now = Moment::now();
        assert_eq!(looks.wait(now), None, "nothing was told");
        assert!(!looks.is_due(now));
        tell(1);
        assert!(looks.is_due(now), "the first is seen at once");
        assert_eq!(reported.take(), Some(1));
        (2..=99_999).for_each(tell);
        assert!(!looks.is_due(now));
        assert_eq!(looks.wait(now), Some(LOOK_INTERVAL));
        let early = now.after(LOOK_INTERVAL - Duration::from_millis(1));
        assert!(!looks.is_due(early));
        assert_eq!(looks.wait(early), Some(Duration::from_millis(1)));
        assert!(looks.is_due(now.after(LOOK_INTERVAL)));
        assert_eq!(reported.take(), Some(99_999), "the last is kept");
        assert_eq!((reported.take(), looks.wait(now)), (None, None));
    }
}
