//! Ten thousand connections, simulated: each sends a heartbeat now and then, and is closed when it has been
//! silent for 30 seconds. A minute passes in a fraction of a second.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mainspring::Handle;
use mainspring::clock::Manual;
use mainspring::driver::Single;
use mainspring::front::{Callbacks, RunTasks, Task};
use mainspring_queue::Tick;
use mainspring_queue::wheel::Chunked;

const CONNECTION_COUNT: usize = 10_000;
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let driver = Arc::new(Single::new(Chunked::<Task>::new(), Arc::new(Manual::leaping())));
    let callbacks = Callbacks::new(Handle::new(driver.clone()));
    let closed: Arc<Mutex<Vec<usize>>> = Arc::default();
    let mut expiries = Vec::new();
    for connection in 0..CONNECTION_COUNT {
        let closed = Arc::clone(&closed);
        expiries.push(callbacks.after(SILENCE_MAX, move |_| {
            closed.lock().expect("no callback panics").push(connection);
        })?);
    }
    // Once a second for a minute, all but every tenth connection are heard of.
    for second in 1..=60_u64 {
        driver.run_until(Tick::new(second * 1_000), &mut RunTasks);
        for (connection, expiry) in expiries.iter().enumerate() {
            let is_alive = connection % 10 != 0;
            assert!(!is_alive || expiry.reset(SILENCE_MAX), "a connection that is heard of stays open");
        }
    }
    let closed = closed.lock().expect("no callback panics").len();
    let counts = Handle::<Task>::new(driver).counts();
    println!("{closed} of {CONNECTION_COUNT} connections were closed; {} heartbeats", counts.reset);
    assert_eq!((closed, counts.reset), (CONNECTION_COUNT / 10, 60 * 9_000));
    Ok(())
}
