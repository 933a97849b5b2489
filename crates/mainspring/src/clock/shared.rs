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

use super::{Clock, Notifier};

// Two impls, because an `Arc<C>` of an unknown `C` becomes an `Arc<dyn Clock>` only if `C` has a size.
macro_rules! is_its_clock {
    ($shared:ty $(, $known:ident)?) => {
        impl$(<$known: Clock>)? Clock for $shared {
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

            fn now_in_parts(&self) -> (Tick, u128) {
                (**self).now_in_parts()
            }

            fn wait(&self, notifier: &Notifier, until: Option<Tick>) {
                (**self).wait(notifier, until);
            }

            fn into_shared(self) -> Arc<dyn Clock> {
                self
            }
        }
    };
}

is_its_clock!(Arc<C>, C);
is_its_clock!(Arc<dyn Clock>);
