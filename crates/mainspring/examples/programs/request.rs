//! A request that is given up when its answer takes too long, in async code under any runtime.

use std::error::Error;
use std::future::pending;
use std::time::Duration;

const LIMIT: Duration = Duration::from_millis(5);

async fn fetch() -> String {
    pending().await
}

pub(super) async fn run() -> Result<(), Box<dyn Error>> {
    // Begin.
    let answer = mainspring::timeout(LIMIT, fetch()).await;
    // End.
    println!("request: {answer:?}");
    assert!(answer.is_err(), "no answer comes");
    Ok(())
}
