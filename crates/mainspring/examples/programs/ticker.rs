//! A loop that does something once a period. Ticks that it is too slow for are dropped.

use std::error::Error;
use std::time::Duration;

const PERIOD: Duration = Duration::from_millis(2);

pub(super) fn run() -> Result<(), Box<dyn Error>> {
    let mut tick_count = 0;
    // Begin.
    for tick in mainspring::global()?.channels().tick(PERIOD)?.iter().take(3) {
        println!("ticker: due at tick {}, at {}", tick.deadline, tick.now);
        tick_count += 1;
    }
    // End.
    assert_eq!(tick_count, 3);
    Ok(())
}
