//! Orders that are closed after a while unless they are paid for, by their numbers.

use std::error::Error;
use std::time::Duration;

const DELAY: Duration = Duration::from_millis(5);

pub(super) fn run() -> Result<(), Box<dyn Error>> {
    // Begin.
    let orders = mainspring::global()?.delay_queue();
    orders.put(1, "tea", DELAY)?;
    orders.put(2, "coffee", DELAY * 2)?;
    orders.remove(&1);
    let closed = orders.recv();
    // End.
    println!("delay queue: {closed:?} is closed");
    assert_eq!(closed, Some((2, "coffee")));
    Ok(())
}
