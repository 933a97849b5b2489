//! A call that fails is tried again, each time after twice the delay, up to a limit: on a manual clock, in no
//! time.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use mainspring::Handle;
use mainspring::clock::Manual;
use mainspring::driver::{Refusal, Single};
use mainspring::front::{Callbacks, RunTasks, Task};
use mainspring_queue::wheel::Chunked;

const FIRST_DELAY: Duration = Duration::from_millis(100);
const DELAY_MAX: Duration = Duration::from_secs(2);

/// Fails until the seventh attempt.
fn call(attempt: u32) -> Result<&'static str, &'static str> {
    if attempt < 7 { Err("busy") } else { Ok("done") }
}

fn attempt(callbacks: &Callbacks, number: u32, delay: Duration, log: Sender<String>) -> Result<(), Refusal> {
    let again = callbacks.clone();
    let run = move |firing: mainspring::front::Firing| {
        let outcome = call(number);
        log.send(format!("at {:>5} ms: attempt {number}: {outcome:?}", firing.now.get())).unwrap_or(());
        if outcome.is_err() {
            let next = (delay.max(FIRST_DELAY / 2) * 2).min(DELAY_MAX);
            // A refusal means that the engine is shutting down.
            let _ = attempt(&again, number + 1, next, log);
        }
    };
    callbacks.after(delay, run).map(|_| ())
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let driver = Arc::new(Single::new(Chunked::<Task>::new(), Arc::new(Manual::leaping())));
    let callbacks = Callbacks::new(Handle::new(driver.clone()));
    let (log, lines) = channel();
    attempt(&callbacks, 1, Duration::ZERO, log)?;
    driver.run_until_idle(&mut RunTasks);
    let lines: Vec<String> = lines.try_iter().collect();
    println!("{}", lines.join("\n"));
    assert_eq!(lines.len(), 7);
    assert!(lines[6].starts_with("at  5100 ms: attempt 7"), "0 + 100 + 200 + 400 + 800 + 1600 + 2000");
    Ok(())
}
