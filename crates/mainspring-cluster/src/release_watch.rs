//! The thread that hears, for a server that stands by, that the planner's lease was released.
//!
//! Cost: a session that is silent, and a thread that sleeps.
//!
//! Does not hear that a lease ran out: who stands by asks then.

use std::sync::mpsc::{Sender, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use mainspring_postgres::{Location, Releases, WaitNotifier};
use mainspring_server::error::Error;

/// How long the thread waits at once, where nothing is told. A session that it could not make is tried again
/// then.
const WAIT: Duration = Duration::from_secs(5);

/// The thread, which ends when this is dropped.
#[derive(Debug)]
pub struct ReleaseWatch {
    ended: Option<Sender<()>>,
    notifier: WaitNotifier,
}

impl ReleaseWatch {
    /// Calls `released` whenever the lease may be free.
    ///
    /// # Errors
    /// When the operating system gives no event queue or thread.
    pub fn start(location: &Location, released: impl Fn() + Send + 'static) -> Result<ReleaseWatch, Error> {
        let mut releases = Releases::new(location).map_err(Error::Store)?;
        let (notifier, (ended, is_ended)) = (releases.notifier(), channel::<()>());
        let work = move || {
            while is_ended.try_recv() != Err(TryRecvError::Disconnected) {
                if releases.wait(WAIT) {
                    released();
                }
            }
        };
        let thread = thread::Builder::new().name("releases".to_owned()).spawn(work);
        thread.map_err(Error::setup("a thread that hears of releases"))?;
        Ok(ReleaseWatch { ended: Some(ended), notifier })
    }
}

impl Drop for ReleaseWatch {
    fn drop(&mut self) {
        self.ended = None;
        self.notifier.notify();
    }
}
