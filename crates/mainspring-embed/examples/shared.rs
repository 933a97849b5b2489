//! Several programs, or several instances of one, that share a database. Start it twice:
//!
//! ```sh
//! cargo run -p mainspring-embed --features postgres --example shared -- postgres://mainspring@/mainspring?host=/run/postgresql
//! ```
//!
//! Both submit, and both run the handler. What one runs that is killed, the other runs 16 s later.

use std::error::Error;
use std::sync::mpsc::channel;
use std::time::Duration;

use mainspring_embed::{Jobs, Options, Run};

#[allow(dead_code, reason = "the test calls the function below")]
fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("the URL of a database is missing")?;
    let count = greeted(&url, 1_000)?;
    println!("{count} greetings were submitted here");
    Ok(())
}

/// Submits so many greetings, one after the other, and waits for the last.
pub(crate) fn greeted(url: &str, count: usize) -> Result<usize, Box<dyn Error>> {
    let (said, heard) = channel();
    let jobs = Jobs::connect(url)?
        .handler(Options::new("greet").retry(3), move |run: &Run, to: String| {
            println!("hello, {to}: {}", run.key());
            said.send(())
        })
        .start()?;
    let mut last = String::new();
    for number in 0..count {
        let name = format!("number {number} of process {}", std::process::id());
        // In the database when it returns, whichever program runs it.
        last = jobs.once("greet").payload(&name).submit()?.job().to_owned();
    }
    // While another program owns the jobs, nothing is heard here.
    while jobs.runs_of(&last, 1)?.iter().all(|run| run.state.is_open()) {
        let _ = heard.recv_timeout(Duration::from_millis(100));
    }
    jobs.shutdown(Duration::from_secs(30))?;
    Ok(count)
}
