//! quinn's timers: what a `quinn::Runtime` makes for each connection.
//!
//! ```
//! use std::time::Instant;
//! use mainspring::adapter::quinn::timer;
//! use mainspring::Futures;
//!
//! fn new_timer(futures: &Futures, deadline: Instant) -> std::pin::Pin<Box<dyn quinn::AsyncTimer>> {
//!     Box::pin(timer(futures, deadline))
//! }
//! ```
//!
//! Cost: a reset moves the timer and allocates nothing; a connection resets its timer for nearly every
//! packet.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use crate::front::Futures;
use crate::front::future::Sleep;

/// Makes the timer of a connection.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// let futures = mainspring::global()?.futures();
/// let timer: Box<dyn quinn::AsyncTimer> =
///     Box::new(mainspring::adapter::quinn::timer(&futures, Instant::now() + Duration::from_secs(1)));
/// # drop(timer);
/// # Ok::<(), mainspring::driver::Refusal>(())
/// ```
pub fn timer(futures: &Futures, deadline: Instant) -> Sleep {
    futures.sleep_until(deadline)
}

impl ::quinn::AsyncTimer for Sleep {
    fn reset(self: Pin<&mut Self>, deadline: Instant) {
        self.get_mut().reset_at(deadline);
    }

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Future::poll(self, context)
    }
}
