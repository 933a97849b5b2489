//! A driver on the test's own thread, by a manual clock, and a waker that counts.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use mainspring::Handle;
use mainspring::clock::Manual;
use mainspring::driver::Single;
use mainspring::front::{Futures, RunTasks, Task};
use mainspring_queue::Tick;
use mainspring_queue::wheel::Chunked;

/// Counts how often it is woken.
#[derive(Default)]
pub(crate) struct Count(AtomicU32);

impl Count {
    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// The driver, its fronts, and a task that is polled by hand.
pub(crate) struct Desk {
    pub(crate) driver: Arc<Single<Chunked<Task>>>,
    pub(crate) handle: Handle<Task>,
    pub(crate) futures: Futures,
    pub(crate) clock: Manual,
    wakes: Arc<Count>,
}

impl Desk {
    /// On a clock that leaps to the next deadline when the driver waits.
    pub(crate) fn new() -> Desk {
        Desk::on(Manual::leaping())
    }

    pub(crate) fn on(clock: Manual) -> Desk {
        let driver = Arc::new(Single::new(Chunked::new(), clock.clone()));
        let handle = Handle::new(driver.clone());
        Desk { driver, futures: Futures::new(handle.clone()), handle, clock, wakes: Arc::default() }
    }

    /// Fires what is due up to a tick, which is a millisecond.
    pub(crate) fn pass_until(&self, tick: u64) {
        self.driver.run_until(Tick::new(tick), &mut RunTasks);
    }

    pub(crate) fn poll<F: Future>(&self, future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(&self.waker()))
    }

    /// The waker that counts.
    pub(crate) fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.wakes))
    }

    /// How many wakers there are, the desk's own among them.
    pub(crate) fn waker_count(&self) -> usize {
        Arc::strong_count(&self.wakes)
    }

    pub(crate) fn wake_count(&self) -> u32 {
        self.wakes.get()
    }
}

pub(crate) fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}
