//! hyper's timers: header timeouts, keep-alive and HTTP/2 pings on a Mainspring engine.
//!
//! ```
//! let engine = mainspring::Engine::new()?;
//! let mut server = hyper::server::conn::http1::Builder::new();
//! server.timer(engine.futures());
//! server.header_read_timeout(std::time::Duration::from_secs(5));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Cost: a box per sleep, which hyper's interface asks for. Resetting a sleep moves its timer and allocates
//! nothing.

use std::pin::Pin;
use std::time::{Duration, Instant};

use crate::front::Futures;
use crate::front::future::Sleep;

impl ::hyper::rt::Sleep for Sleep {}

impl ::hyper::rt::Timer for Futures {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn ::hyper::rt::Sleep>> {
        Box::pin(Futures::sleep(self, duration))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn ::hyper::rt::Sleep>> {
        Box::pin(Futures::sleep_until(self, deadline))
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn ::hyper::rt::Sleep>>, new_deadline: Instant) {
        match sleep.as_mut().downcast_mut_pin::<Sleep>() {
            Some(sleep) => sleep.get_mut().reset_at(new_deadline),
            None => *sleep = ::hyper::rt::Timer::sleep_until(self, new_deadline),
        }
    }
}
