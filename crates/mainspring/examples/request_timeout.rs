//! Requests with a timeout: the answer cancels it, in O(1), and only the slow ones are given up.

use std::sync::mpsc::channel;
use std::time::Duration;

use mainspring::preset;

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = preset::mainspring()?;
    let callbacks = engine.callbacks();
    let (sender, given_up) = channel();
    let mut timeouts = Vec::new();
    for request in 0..1_000 {
        let sender = sender.clone();
        let give_up = move |_| sender.send(request).unwrap_or(());
        timeouts.push(callbacks.after(Duration::from_millis(50), give_up)?);
    }
    drop(sender);
    // All but every hundredth are answered.
    let answered =
        timeouts.iter().enumerate().filter(|(request, timeout)| request % 100 != 0 && timeout.cancel());
    let answered_count = answered.count();
    let given_up: Vec<i32> = given_up.iter().collect();
    println!("{answered_count} requests were answered, {} were given up: {given_up:?}", given_up.len());
    assert!(given_up.len() >= 10);
    assert_eq!(answered_count + given_up.len(), 1_000);
    Ok(())
}
