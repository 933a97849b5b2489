//! Mainspring with itself in several processes: how it grows with them, and what an idle pool costs.
//!
//! ```text
//!  an empty database ─▶ processes that work ─▶ another that works and submits ─▶ until nothing is pending or open
//! ```
//!
//! Cost: minutes.
//!
//! Does not measure several machines: the database and all processes share the cores.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::database::Database;
use crate::{JOBS, address, empty, quantile};

/// How many processes work.
const PROCESSES: [usize; 3] = [1, 2, 4];

/// How many are idle.
const IDLE_PROCESSES: usize = 3;

/// How long a pool rests before it is measured, and how long it is.
const REST: Duration = Duration::from_secs(10);
const IDLE: Duration = Duration::from_secs(60);

/// How often it is asked whether all is on record.
const LOOK: Duration = Duration::from_millis(20);

/// A process of the pool, which ends with this.
struct Process {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Process {
    /// One that submits so many.
    fn start(database: &Database, mode: &str, count: usize) -> Process {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["member", &address(database), mode, &count.to_string()]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Process { child, lines }
    }

    /// Waits for its next line.
    fn says(&mut self, line: &str) {
        let mut said = String::new();
        self.lines.read_line(&mut said).unwrap();
        assert_eq!(said.trim_end(), line);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts so many processes that work and submit nothing.
fn workers(database: &Database, count: usize) -> Vec<Process> {
    let mut workers: Vec<Process> = (0..count).map(|_| Process::start(database, "one", 0)).collect();
    workers.iter_mut().for_each(|worker| worker.says("works"));
    workers
}

/// Prints both tables.
pub(crate) fn compare(database: &Database, round_count: usize) {
    for mode in ["one", "bulk"] {
        let mut rates: Vec<Vec<f64>> = vec![Vec::new(); PROCESSES.len()];
        for _ in 0..round_count {
            for (count, rates) in PROCESSES.iter().zip(&mut rates) {
                rates.push(rate(database, *count, mode));
            }
        }
        println!("| {mode}: processes | cycles/s, middle | rounds |\n|---|---|---|");
        for (count, rates) in PROCESSES.iter().zip(&mut rates) {
            let all: Vec<String> = rates.iter().map(|rate| format!("{rate:.0}")).collect();
            println!("| {count} | {:.0} | {} |", quantile(rates, 0.5), all.join(" "));
        }
        println!();
    }
    println!("{IDLE_PROCESSES} idle processes: {:.1} transactions/s", idle(database));
}

fn rate(database: &Database, count: usize, mode: &str) -> f64 {
    empty(database);
    let _workers = workers(database, count - 1);
    let mut first = Process::start(database, mode, JOBS);
    first.says("works");
    let began = Instant::now();
    first.says("submitted");
    while database.ask("SELECT pending + open FROM mainspring.planner") != "0" {
        thread::sleep(LOOK);
    }
    JOBS as f64 / began.elapsed().as_secs_f64()
}

fn idle(database: &Database) -> f64 {
    empty(database);
    let _workers = workers(database, IDLE_PROCESSES);
    let count = || {
        // From another database, so that the question is not counted.
        let sql = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = 'mainspring'";
        let output = database.psql("postgres", sql).stdout;
        String::from_utf8_lossy(&output).trim().parse::<f64>().unwrap()
    };
    thread::sleep(REST);
    let (began, before) = (Instant::now(), count());
    thread::sleep(IDLE);
    (count() - before) / began.elapsed().as_secs_f64()
}
