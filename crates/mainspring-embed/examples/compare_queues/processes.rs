//! Queues in several processes: how they grow with them, and what an idle pool of Mainspring costs.
//!
//! ```text
//!  an empty database ─▶ processes that work ─▶ another that works and submits ─▶ until none is left
//! ```
//!
//! Beside each rate stands what the machine did: the cores that were busy, and the processor time of a cycle
//! in the database and in the programs. Where all cores are busy, no more processes make it faster.
//!
//! Cost: minutes.
//!
//! Does not measure several machines: the database and all processes share the cores.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::database::Database;
use crate::processor::{Processor, Took};
use crate::{JOBS, MEMBER, QUEUES, contestant, empty};

/// How many processes work.
const PROCESSES: [usize; 3] = [1, 2, 4];

/// The first of the queues, and what asks each how many jobs are left.
const LEFT: [&str; 2] =
    ["SELECT pending + open FROM mainspring.planner", "SELECT count(*) FROM graphile_worker._private_jobs"];

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

/// A database and the processes of a queue, an index of [`QUEUES`].
struct Pool<'a> {
    database: &'a Database,
    folder: &'a Path,
    queue: usize,
}

impl Pool<'_> {
    /// Starts a process that submits so many.
    fn process(&self, mode: &str, count: usize) -> Process {
        let (name, command) = QUEUES[self.queue];
        let mut command = contestant(self.database, self.folder, name, command, mode, count);
        let mut child = command.env(MEMBER, "1").stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut process = Process { child, lines };
        process.says("works");
        process
    }

    /// Starts so many processes that work and submit nothing, in an empty database.
    fn workers(&self, count: usize) -> Vec<Process> {
        empty(self.database);
        (0..count).map(|_| self.process("one", 0)).collect()
    }

    /// How many cycles such a pool makes in a second.
    fn rate(&self, process_count: usize, mode: &str) -> (f64, Took) {
        let _workers = self.workers(process_count - 1);
        let mut last = self.process(mode, JOBS);
        let (processor, began) = (Processor::now(), Instant::now());
        last.says("submitted");
        while self.database.ask(LEFT[self.queue]) != "0" {
            thread::sleep(LOOK);
        }
        (JOBS as f64 / began.elapsed().as_secs_f64(), processor.took(JOBS))
    }

    /// How many transactions in a second an idle pool makes.
    fn idle(&self) -> f64 {
        let _workers = self.workers(IDLE_PROCESSES);
        let count = || {
            // From another database, so that the question is not counted.
            let sql = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = 'mainspring'";
            let output = self.database.psql("postgres", sql).stdout;
            String::from_utf8_lossy(&output).trim().parse::<f64>().unwrap()
        };
        thread::sleep(REST);
        let (began, before) = (Instant::now(), count());
        thread::sleep(IDLE);
        (count() - before) / began.elapsed().as_secs_f64()
    }
}

/// Prints a table for each way to submit, and the last line.
pub(crate) fn compare(database: &Database, folder: &Path, round_count: usize) {
    let pool = |queue| Pool { database, folder, queue };
    for mode in ["one", "bulk"] {
        println!(
            "| {mode}: queue | processes | cycles/s | busy; us of a cycle in the database + elsewhere |"
        );
        println!("|---|---|---|---|");
        for _ in 0..round_count {
            for process_count in PROCESSES {
                for (queue, (name, _)) in QUEUES.iter().enumerate().take(LEFT.len()) {
                    let (rate, took) = pool(queue).rate(process_count, mode);
                    println!("| {name} | {process_count} | {rate:.0} | {took} |");
                }
            }
        }
        println!();
    }
    println!("{IDLE_PROCESSES} idle processes: {:.1} transactions/s", pool(0).idle());
}
