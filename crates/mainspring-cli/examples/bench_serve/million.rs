//! Memory and start with a million pending jobs.

use std::fs;
use std::path::Path;

use crate::clock;
use crate::server::Server;

const COUNT: usize = 1_000_000;
const BATCH: usize = 1_000;

/// Starts measured; the middle one is told.
const STARTS: usize = 5;

pub(crate) fn measure(program: &Path) -> Result<(), String> {
    let mut server = Server::fresh(program, "million")?;
    let mut connection = server.connect()?;
    let (done, took) = clock::timed(|| {
        // Spread over years, as such a number is.
        let due = |index: usize| {
            format!("{}-01-01T00:00:00.{:09}Z", 2100 + index % 50, index * 997 % 1_000_000_000)
        };
        (0..COUNT / BATCH).try_for_each(|batch| connection.submit(BATCH, |index| due(batch * BATCH + index)))
    });
    done?;
    println!(
        "| durable submissions/s, 1 client, {BATCH} at a time, up to {COUNT} | {:.0} |",
        COUNT as f64 / took.as_secs_f64()
    );
    let mut starts_ms = Vec::new();
    for _ in 0..STARTS {
        let folder = server.leave()?;
        let (started, took) = clock::timed(|| -> Result<_, String> {
            let server = Server::start(program, folder)?;
            let pending = server.connect()?.status()?["pending"].as_u64();
            Ok((server, pending))
        });
        let (again, pending) = started?;
        if pending != Some(COUNT as u64) {
            return Err(format!("{COUNT} jobs were acknowledged, and {pending:?} are pending"));
        }
        server = again;
        starts_ms.push(took.as_secs_f64() * 1_000.0);
    }
    starts_ms.sort_by(f64::total_cmp);
    println!("| from exec to the first answer, {COUNT} pending | {:.0} ms |", starts_ms[STARTS / 2]);
    println!("| resident memory, {COUNT} pending | {:.1} MiB |", resident_mib(server.pid())?);
    server.stop()
}

fn resident_mib(pid: u32) -> Result<f64, String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).map_err(|error| error.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().split(' ').next()?.parse::<f64>().ok());
    kib.map(|kib| kib / 1_024.0).ok_or_else(|| "no VmRSS".to_owned())
}
