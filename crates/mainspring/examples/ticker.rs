//! A ticker and a timeout in one `select!`, as in Go.

use std::time::Duration;

use crossbeam_channel::select;
use mainspring::front::Channels;
use mainspring::preset;

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = preset::mainspring()?;
    let channels = Channels::new(engine.handle().clone());
    let ticker = channels.ticker(Duration::from_millis(10))?;
    let timeout = channels.after(Duration::from_millis(55))?;
    let mut tick_count = 0;
    loop {
        select! {
            recv(ticker.receiver()) -> tick => {
                tick_count += 1;
                println!("tick {tick_count}, due at {} ms", tick?.deadline);
            }
            recv(timeout) -> _ => break,
        }
    }
    println!("time is up after {tick_count} ticks");
    // A busy machine may drop ticks; it never adds any.
    assert!(tick_count <= 6);
    Ok(())
}
