//! A document that is saved once its writer has paused.

use std::error::Error;
use std::sync::mpsc::channel;
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(5);

pub(super) fn run() -> Result<(), Box<dyn Error>> {
    let (saver, saved) = channel();
    // Begin.
    let pause =
        mainspring::global()?.channels().after_func(PAUSE, move |_| saver.send("saved").unwrap_or(()))?;
    for letter in "a document".chars() {
        print!("{letter}");
        pause.reset(PAUSE)?;
    }
    // End.
    println!(": {}", saved.recv()?);
    Ok(())
}
