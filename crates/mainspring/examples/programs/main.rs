//! Ten programs that people write first with timers, each in its fewest lines.
//!
//! ```text
//! cargo run -p mainspring --all-features --example programs
//! ```

use std::error::Error;

mod actor;
mod cache;
mod cron;
mod debounce;
mod delay_queue;
mod keep_alive;
mod request;
mod shutdown;
mod ticker;
mod watchdog;

/// Runs all of them.
pub fn main() -> Result<(), Box<dyn Error>> {
    watchdog::run()?;
    smol::block_on(request::run())?;
    keep_alive::run()?;
    ticker::run()?;
    debounce::run()?;
    delay_queue::run()?;
    cache::run()?;
    cron::run()?;
    actor::run()?;
    shutdown::run()
}
