//! Measures how long the loop takes to answer another client while 64 browsers look at 10,000 jobs.
//!
//! ```text
//! 32 browsers: a stream of events, and the list again after a change, at most once a second
//! 32 browsers: status and list once a second, as the page asks that has no stream
//! probe: `status` over the socket each millisecond; a turn of the loop is in each answer
//! ```
//!
//! A page asks for a hundred jobs. Each hundredth probe runs a job, so that there is something to tell.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::clock;
use crate::look::{JOBS, apply};
use crate::server::{Connection, Server, scratch};

const BROWSERS: usize = 64;

/// As many of them as there may be streams.
const STREAMS: usize = 32;

const PROBES: usize = 5_000;

/// Each of so many probes runs a job.
const PROBES_PER_RUN: usize = 100;

const SECOND: Duration = Duration::from_secs(1);

/// How long an answer is waited for: the first one reads ten thousand definitions.
const PATIENCE: Duration = Duration::from_secs(60);

struct Site {
    address: String,
    token: String,
    is_over: AtomicBool,
    answers: AtomicU64,
}

pub(crate) fn measure(program: &Path) -> Result<(), String> {
    let folder = scratch("browsers")?;
    let server = Server::start_with(program, folder.clone(), &["--listen=127.0.0.1:0"])?;
    let mut connection = server.connect()?;
    apply(&mut connection)?;
    let site = Site {
        address: address(&mut connection)?,
        token: token(program, &folder)?,
        is_over: AtomicBool::new(false),
        answers: AtomicU64::new(0),
    };
    let alone = probe(&mut connection)?;
    let seen = thread::scope(|scope| {
        for index in 0..BROWSERS {
            let site = &site;
            scope.spawn(move || if index < STREAMS { follow(site) } else { ask_again_and_again(site) });
        }
        // All of them have what they show first.
        while site.answers.load(Ordering::Relaxed) < BROWSERS as u64 {
            clock::sleep_ms(10);
        }
        let seen = probe(&mut connection);
        site.is_over.store(true, Ordering::Relaxed);
        seen
    })?;
    let told =
        |(p50, p99, most): (f64, f64, f64)| format!("p50 {p50:.2} ms, p99 {p99:.2} ms, most {most:.1} ms");
    println!("| an answer to `status`, {JOBS} jobs, nobody looks | {} |", told(alone));
    println!("| the same, {BROWSERS} browsers look | {} |", told(seen));
    println!("| answers to the browsers meanwhile | {} |", site.answers.load(Ordering::Relaxed));
    let growth = seen.1 - alone.1;
    println!("| growth of p99 (goal: less than 2 ms) | {growth:.2} ms |");
    server.stop()
}

fn address(connection: &mut Connection) -> Result<String, String> {
    connection.send("{\"id\":1,\"command\":\"login_code\"}\n")?;
    let answer: Value = serde_json::from_str(&connection.answer()?).map_err(|error| error.to_string())?;
    let address = answer["login_code"]["addresses"][0].as_str().ok_or_else(|| answer.to_string())?;
    Ok(address.trim_start_matches("http://").trim_end_matches('/').to_owned())
}

fn token(program: &Path, folder: &Path) -> Result<String, String> {
    let made = Command::new(program)
        .args(["token", "add", "bench", "--scope", "look", "--data"])
        .arg(folder)
        .output();
    let made = made.map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&made.stdout).trim().to_owned())
}

/// The middle, the 99th percentile and the longest of all answers, in milliseconds.
fn probe(connection: &mut Connection) -> Result<(f64, f64, f64), String> {
    let mut times = Vec::with_capacity(PROBES);
    for index in 0..PROBES {
        if index % PROBES_PER_RUN == 0 {
            let job = format!("j{:05}", index / PROBES_PER_RUN);
            connection
                .send(&format!("{}\n", json!({"id": 2, "command": "run", "job": job, "wait": false})))?;
            connection.answer()?;
        }
        let (status, took) = clock::timed(|| connection.status());
        status?;
        times.push(took.as_secs_f64() * 1_000.0);
        clock::sleep_ms(1);
    }
    times.sort_unstable_by(f64::total_cmp);
    Ok((times[PROBES / 2], times[PROBES * 99 / 100], times[PROBES - 1]))
}

fn request(site: &Site, path: &str, patience: Duration) -> std::io::Result<BufReader<TcpStream>> {
    let mut stream = TcpStream::connect(&site.address)?;
    stream.set_read_timeout(Some(patience))?;
    write!(
        stream,
        "GET /api/v1/{path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
        site.address, site.token
    )?;
    Ok(BufReader::new(stream))
}

/// Asks for something, and counts a whole answer.
fn ask(site: &Site, path: &str) {
    let mut text = Vec::new();
    let is_read = request(site, path, PATIENCE).is_ok_and(|mut reader| reader.read_to_end(&mut text).is_ok());
    if is_read && text.starts_with(b"HTTP/1.1 200") {
        site.answers.fetch_add(1, Ordering::Relaxed);
    }
}

fn follow(site: &Site) {
    ask(site, "jobs?limit=100");
    let Ok(mut stream) = request(site, "events", SECOND) else { return };
    let mut asked = clock::now();
    let mut line = String::new();
    while !site.is_over.load(Ordering::Relaxed) {
        line.clear();
        // Nothing for a second is no end.
        let _ = stream.read_line(&mut line);
        let now = clock::now();
        if line.starts_with("event: ") && SECOND.as_secs_f64() <= now.duration_since(asked).as_secs_f64() {
            asked = now;
            ask(site, "jobs?limit=100");
        }
    }
}

fn ask_again_and_again(site: &Site) {
    while !site.is_over.load(Ordering::Relaxed) {
        ask(site, "status");
        ask(site, "jobs?limit=100");
        clock::sleep_ms(1_000);
    }
}
