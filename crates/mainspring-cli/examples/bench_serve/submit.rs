//! Durable submissions a second, beside beanstalkd with its binlog flushed at each.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::clock;
use crate::server::{Server, scratch};

const CLIENTS: usize = 32;
const ALONE_COUNT: usize = 2_000;
const COUNT_PER_CLIENT: usize = 500;
const BATCH: usize = 1_000;
const BATCHES: usize = 50;
const BEANSTALKD_PORT: &str = "11399";

const FAR: &str = "2100-01-01T00:00:00Z";

/// Something that one client does, so many times.
type Client = Box<dyn FnMut() -> Result<(), String> + Send>;

/// Runs clients side by side; returns how often a second they all did it.
fn rate(clients: Vec<Client>, count: usize) -> Result<f64, String> {
    let total = clients.len() * count;
    let (done, took) = clock::timed(|| {
        thread::scope(|scope| {
            let threads: Vec<_> = clients
                .into_iter()
                .map(|mut client| scope.spawn(move || (0..count).try_for_each(|_| client())))
                .collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("no client panics"))
        })
    });
    done.map(|()| total as f64 / took.as_secs_f64())
}

pub(crate) fn measure(program: &Path) -> Result<(), String> {
    let server = Server::fresh(program, "submit")?;
    let client = || -> Result<Client, String> {
        let mut connection = server.connect()?;
        Ok(Box::new(move || connection.submit(1, |_| FAR.to_owned())))
    };
    let alone = rate(vec![client()?], ALONE_COUNT)?;
    let many = rate((0..CLIENTS).map(|_| client()).collect::<Result<_, _>>()?, COUNT_PER_CLIENT)?;
    let mut connection = server.connect()?;
    let batch: Client = Box::new(move || connection.submit(BATCH, |_| FAR.to_owned()));
    let batches = rate(vec![batch], BATCHES)? * BATCH as f64;
    let pending = server.connect()?.status()?["pending"].as_u64();
    let expected = ALONE_COUNT + CLIENTS * COUNT_PER_CLIENT + BATCH * BATCHES;
    if pending != Some(expected as u64) {
        return Err(format!("{expected} jobs were acknowledged, and {pending:?} are pending"));
    }
    server.stop()?;
    println!("| durable submissions/s, 1 client | {alone:.0} |");
    println!("| durable submissions/s, {CLIENTS} clients | {many:.0} |");
    println!("| durable submissions/s, 1 client, {BATCH} at a time | {batches:.0} |");
    match beanstalkd()? {
        None => println!("| beanstalkd | not installed |"),
        Some((their_alone, their_many)) => {
            println!(
                "| beanstalkd -f 0, puts/s, 1 client | {their_alone:.0} (ours is {:.2} times that) |",
                alone / their_alone
            );
            println!(
                "| beanstalkd -f 0, puts/s, {CLIENTS} clients | {their_many:.0} (ours is {:.2} times that) |",
                many / their_many
            );
        }
    }
    Ok(())
}

struct Beanstalkd(Child);

impl Drop for Beanstalkd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The same two rates of beanstalkd; `None` if it is not there.
fn beanstalkd() -> Result<Option<(f64, f64)>, String> {
    let folder = scratch("beanstalkd")?;
    let started = Command::new("beanstalkd")
        .args(["-l", "127.0.0.1", "-p", BEANSTALKD_PORT, "-f", "0", "-b"])
        .arg(&folder)
        .stderr(Stdio::null())
        .spawn();
    let Ok(child) = started else { return Ok(None) };
    let child = Beanstalkd(child);
    let alone = rate(vec![put_client()?], ALONE_COUNT)?;
    let many = rate((0..CLIENTS).map(|_| put_client()).collect::<Result<_, _>>()?, COUNT_PER_CLIENT)?;
    drop(child);
    let _ = std::fs::remove_dir_all(folder);
    Ok(Some((alone, many)))
}

fn put_client() -> Result<Client, String> {
    let mut tries = 0;
    let stream = loop {
        match TcpStream::connect(format!("127.0.0.1:{BEANSTALKD_PORT}")) {
            Ok(stream) => break stream,
            Err(error) if 5_000 < tries => return Err(format!("beanstalkd does not answer: {error}")),
            Err(_) => clock::sleep_ms(1),
        }
        tries += 1;
    };
    let failed = |error: std::io::Error| error.to_string();
    stream.set_nodelay(true).map_err(failed)?;
    let mut writer = stream.try_clone().map_err(failed)?;
    let mut reader = BufReader::new(stream);
    // As long as what a submission keeps here.
    let body = "x".repeat(60);
    Ok(Box::new(move || {
        writer
            .write_all(format!("put 0 1000000000 60 {}\r\n{body}\r\n", body.len()).as_bytes())
            .map_err(failed)?;
        let mut line = String::new();
        reader.read_line(&mut line).map_err(failed)?;
        if line.starts_with("INSERTED") { Ok(()) } else { Err(format!("beanstalkd said {line}")) }
    }))
}
