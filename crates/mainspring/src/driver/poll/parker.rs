//! The wait of the loop in a poller, for sockets, a wake-up and the time, all at once.
//!
//! ```text
//!   clock.wait(notifier, until) ──▶ notifier.wait(timeout) ──▶ poller.wait(events, timeout)
//!   any thread: notifier.notify() ──▶ poller.notify() ──────────▲
//! ```
//!
//! The poller is the parker of the notifier of the driver, so every clock can wait there: the monotonic one
//! with a timeout, the manual one until it is nudged. Events that end a wait stay here until the loop takes
//! them.
//!
//! | field | guard | why |
//! |---|---|---|
//! | `batch` | itself | held while the loop's thread waits, which is no trouble: no other thread ever wants it |
//! | the poller | none needed | `notify` is not lost: it ends the wait, or the next one |
//!
//! Cost: on Linux five system calls per wait: two for the timeout, itself, two for the notification. One per
//! notification.
//!
//! It does not know what the events' keys mean.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use polling::{Event, Events, Poller};

use crate::clock::Parker;
use crate::sync::{Mutex, lock};

/// How many events a round has at most; more come with the next. nginx's default for a worker is 512,
/// `polling`'s 1,024. It bounds how long a round keeps timers waiting.
const ROUND_EVENTS_MAX: NonZeroUsize = NonZeroUsize::new(512).expect("it is not zero");

/// A poller, and what the last wait in it brought.
#[derive(Debug)]
pub(super) struct PollParker {
    poller: Arc<Poller>,
    batch: Mutex<Batch>,
}

#[derive(Debug)]
struct Batch {
    events: Events,
    failure: Option<io::Error>,
}

impl PollParker {
    pub(super) fn new(poller: Arc<Poller>) -> PollParker {
        let batch = Batch { events: Events::with_capacity(ROUND_EVENTS_MAX), failure: None };
        PollParker { poller, batch: Mutex::new(batch) }
    }

    /// Appends the events of the last wait to `round`, or returns what made it fail.
    pub(super) fn take(&self, round: &mut Vec<Event>) -> io::Result<()> {
        let mut batch = lock(&self.batch);
        if let Some(failure) = batch.failure.take() {
            return Err(failure);
        }
        round.extend(batch.events.iter());
        batch.events.clear();
        Ok(())
    }
}

impl Parker for PollParker {
    fn wait(&self, timeout: Option<Duration>) -> bool {
        let mut batch = lock(&self.batch);
        let Batch { events, failure } = &mut *batch;
        events.clear();
        // A signal does not end it: the poller continues waiting until the same time.
        match self.poller.wait(events, timeout) {
            Ok(event_count) => event_count > 0,
            Err(error) => {
                *failure = Some(error);
                true
            }
        }
    }

    fn unpark(&self) {
        // The poller and its notification are open as long as this is. A full counter, the one failure left,
        // means that the loop has been notified already.
        let _ = self.poller.notify();
    }
}
