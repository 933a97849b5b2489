//! Half of the clients of an HTTP server dawdle over their headers: they get a 408 in time, and no thread
//! waits for them.
//!
//! ```text
//! cargo run --release -p mainspring --features poll --example slow_headers
//! ```

pub(crate) mod server;

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use mainspring::clock::{Clock, Monotonic};
use mainspring::driver::{Driver, Timers};

use server::Server;

/// How many clients there are; every second one dawdles.
const CLIENT_COUNT: usize = 100;

/// How long the server waits for a header.
const HEADER_TIMEOUT: Duration = Duration::from_millis(500);

pub(crate) fn main() -> io::Result<()> {
    let clock = Arc::new(Monotonic::new());
    let (driver, address) = Server::start(clock.clone(), HEADER_TIMEOUT)?;
    let begin = clock.now();
    let mut clients = Vec::new();
    for number in 0..CLIENT_COUNT {
        let mut client = TcpStream::connect(address)?;
        let is_prompt = number % 2 == 0;
        client.write_all(if is_prompt { b"GET / HTTP/1.1\r\n\r\n" } else { b"GET / HTT" })?;
        clients.push((client, is_prompt));
    }
    // The prompt ones read their answers first.
    clients.sort_by_key(|&(_, is_prompt)| !is_prompt);
    let (mut prompt_ms, mut slow_ms) = (0, u64::MAX);
    for (client, is_prompt) in &mut clients {
        let mut answer = String::new();
        client.read_to_string(&mut answer)?;
        let passed_ms = clock.now().since(begin);
        if *is_prompt {
            assert!(answer.starts_with("HTTP/1.1 200 OK"));
            prompt_ms = passed_ms;
        } else {
            assert!(answer.starts_with("HTTP/1.1 408 Request Timeout"));
            slow_ms = slow_ms.min(passed_ms);
        }
    }
    let half = CLIENT_COUNT / 2;
    println!("{half} prompt clients were answered 200 by {prompt_ms} ms");
    println!("{half} slow clients were answered 408, none before {slow_ms} ms");
    assert!(HEADER_TIMEOUT.as_millis() <= slow_ms.into(), "nobody is answered 408 early");
    println!("the loop woke up {} times", driver.counts().wakeups);
    driver.shutdown();
    Ok(())
}
