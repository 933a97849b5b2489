//! A cache whose entries expire by themselves: no sweep, and no check at each look-up.

use std::error::Error;
use std::time::Duration;

use mainspring::{DelayQueue, Simulation};

const LIFETIME: Duration = Duration::from_secs(60);

pub(super) fn run() -> Result<(), Box<dyn Error>> {
    let simulation = Simulation::new();
    let engine = simulation.engine();
    // Begin.
    let cache = DelayQueue::with_expired(engine.handle().clone(), |_key, _value| ());
    cache.put("key", 1, LIFETIME)?;
    cache.put("key", 2, LIFETIME * 2)?;
    simulation.advance(LIFETIME);
    let found = cache.get(&"key");
    // End.
    println!("cache: {found:?} lives on when its predecessor would have expired");
    assert_eq!(found, Some(2));
    simulation.advance(LIFETIME);
    assert_eq!(cache.get(&"key"), None);
    Ok(())
}
