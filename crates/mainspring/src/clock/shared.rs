//! A clock that several share is a clock: `Arc<C>`, whether its type is known or not.
//!
//! ```text
//!   Manual, Arc<Manual>, Arc<dyn Clock>   ── clock: impl Clock ──▶ Arc<dyn Clock>
//! ```
//!
//! Cost: none. What is an `Arc` already is not put into another.

use std::sync::Arc;
use std::time::Duration;

use mainspring_queue::Tick;

use super::{Bell, Clock};

impl<C: Clock> Clock for Arc<C> {
    fn resolution(&self) -> Duration {
        (**self).resolution()
    }

    fn now(&self) -> Tick {
        (**self).now()
    }

    fn has_long_begun(&self, tick: Tick) -> bool {
        (**self).has_long_begun(tick)
    }

    fn after(&self, delay: Duration) -> Tick {
        (**self).after(delay)
    }

    fn wait(&self, bell: &Bell, until: Option<Tick>) {
        (**self).wait(bell, until);
    }

    fn into_shared(self) -> Arc<dyn Clock> {
        self
    }
}

impl Clock for Arc<dyn Clock> {
    fn resolution(&self) -> Duration {
        (**self).resolution()
    }

    fn now(&self) -> Tick {
        (**self).now()
    }

    fn has_long_begun(&self, tick: Tick) -> bool {
        (**self).has_long_begun(tick)
    }

    fn after(&self, delay: Duration) -> Tick {
        (**self).after(delay)
    }

    fn wait(&self, bell: &Bell, until: Option<Tick>) {
        (**self).wait(bell, until);
    }

    fn into_shared(self) -> Arc<dyn Clock> {
        self
    }
}
