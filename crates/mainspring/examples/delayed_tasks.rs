//! Tasks that are to run later, found, put off and withdrawn by their keys.

use std::sync::mpsc::channel;
use std::time::Duration;

use mainspring::front::KeyedTasks;
use mainspring::front::keyed_tasks::Repeat;
use mainspring::preset;

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = preset::mainspring()?;
    let tasks = KeyedTasks::new(engine.handle().clone());
    let (sender, done) = channel();
    for order in 1..=5_u32 {
        let sender = sender.clone();
        let delay = Duration::from_millis(u64::from(order) * 10);
        tasks.schedule(order, delay, Repeat::Times(1), move |_| sender.send(order).unwrap_or(()))?;
    }
    assert!(tasks.remove(&2), "order 2 was paid for");
    let late = sender.clone();
    let replaced = tasks
        .schedule(1, Duration::from_millis(80), Repeat::Times(1), move |_| late.send(1).unwrap_or(()))?;
    assert!(replaced, "order 1 was put off");
    drop(sender);
    let done: Vec<u32> = done.iter().take(4).collect();
    println!("orders closed, in this order: {done:?}");
    assert_eq!(done.len(), 4);
    assert!(!done.contains(&2));
    Ok(())
}
