//! Firings that a receiver has handed to other threads: its driver's end waits for them.
//!
//! ```text
//!   driver's thread   begin() ──▶ Duty ──▶ the other thread: perform(), its drop
//!                     wait(), when the receiver is dropped, which ends with the driver's thread
//! ```
//!
//! A thread that waits for a driver's end in the course of its duty would wait for itself: it [leaves](leave)
//! the duty before, and no thread waits for it.
//!
//! Cost: a lock at the beginning and at the end of each firing. It does not run anything elsewhere.

use std::cell::RefCell;
use std::sync::Arc;

use crate::sync::{Condvar, Mutex, PoisonError, lock};

/// The firings that one receiver, and its clones, have handed to other threads.
#[derive(Clone, Default)]
pub(crate) struct Handoffs {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    count: Mutex<usize>,
    is_none: Condvar,
}

/// One firing that was handed over; its drop is its end.
pub(crate) struct Duty {
    shared: Arc<Shared>,
}

crate::sync::thread_local! {
    /// The duty that the calling thread performs.
    #[allow(clippy::missing_const_for_thread_local, reason = "loom's macro knows no const")]
    static OWN: RefCell<Option<Duty>> = RefCell::new(None);
}

impl Handoffs {
    pub(crate) fn begin(&self) -> Duty {
        *lock(&self.shared.count) += 1;
        Duty { shared: Arc::clone(&self.shared) }
    }

    /// Waits until all that was handed over has ended, but for what the calling thread performs.
    pub(crate) fn wait(&self) {
        leave();
        let mut count = lock(&self.shared.count);
        while 0 < *count {
            count = self.shared.is_none.wait(count).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Duty {
    /// Runs what was handed over, which does not panic, and ends the duty.
    pub(crate) fn perform(self, run: impl FnOnce()) {
        let mut duty = Some(self);
        // A thread that ends may have no variables any more, and performs the duty all the same.
        let outer = OWN.try_with(|own| own.replace(duty.take())).ok().flatten();
        run();
        drop(OWN.try_with(|own| own.replace(outer)));
    }
}

/// Makes the calling thread's duty, if it performs one, one that no thread waits for. A destructor that ends
/// an engine after the thread's variables are gone performs none.
pub(crate) fn leave() {
    drop(OWN.try_with(RefCell::take));
}

impl Drop for Duty {
    fn drop(&mut self) {
        let mut count = lock(&self.shared.count);
        *count -= 1;
        if *count == 0 {
            self.shared.is_none.notify_all();
        }
    }
}
