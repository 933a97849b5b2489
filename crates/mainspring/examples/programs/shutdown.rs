//! A program that ends in good order: what is firing ends, and what did not fire is handed back.

use std::error::Error;
use std::time::Duration;

use mainspring::Engine;

pub(super) fn run() -> Result<(), Box<dyn Error>> {
    // Begin.
    let engine = Engine::new()?;
    engine.callbacks().after(Duration::from_secs(60), |_| println!("a minute later"))?;
    let unfired = engine.shutdown();
    // End.
    println!("shutdown: {} timer did not fire", unfired.len());
    assert_eq!(unfired.len(), 1);
    Ok(())
}
