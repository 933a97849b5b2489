//! A store that another program has locked costs lateness, and nothing else.
//!
//! The lock is a real one of SQLite's, held by a connection of the test's. What is judged is what happens
//! while it is held.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;

use jiff::Timestamp;
use mainspring_exec::clock::Moment;
use nix::sys::signal::Signal;
use rusqlite::Connection;

use crate::program::{Running, mainspring};
use crate::test_server::TestServer;

/// Jobs that run until they are killed, and one that runs by hand.
const JOBS: &str = "[jobs.long]\nat_boot = true\ncwd = '/'\nrun = ['sleep', '1000']\n\
    [jobs.kept]\nat_boot = true\ncwd = '/'\nrun = ['sleep', '1000']\n\
    [jobs.timed]\nat_boot = true\ncwd = '/'\nrun = ['sleep', '1000']\ntimeout = '5s'\n\
    [jobs.quick]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nrun = ['true']\n";

/// More runs than two pages of a history have.
const RUNS: usize = 2_500;

/// Another program that is about to write.
fn lock(data: &str) -> Connection {
    let connection = Connection::open(Path::new(data).join("mainspring.db")).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    connection
}

/// A request over a connection of its own, whose answer may take as long as the lock.
struct PendingAnswer(BufReader<UnixStream>);

impl PendingAnswer {
    fn new(data: &str, request: &str) -> PendingAnswer {
        let mut stream = UnixStream::connect(Path::new(data).join("mainspring.sock")).unwrap();
        stream.write_all(format!("{request}\n").as_bytes()).unwrap();
        PendingAnswer(BufReader::new(stream))
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line
    }
}

fn states(served: &TestServer, job: &str) -> String {
    served.ask(&["history", job, "-n", "1"]).stdout
}

#[test]
fn while_another_program_locks_the_store_runs_are_killed_in_time_and_nothing_else_is() {
    let mut served = TestServer::start("locked", JOBS);
    let started = [&["long", "start"][..], &["kept", "start"], &["timed", "start"]];
    served.running.wait_for_all(&started);
    let data = served.data();
    let lock = lock(&data);
    // Something to write, so that the server meets the lock.
    let mut submitted = PendingAnswer::new(
        &data,
        r#"{"id":1,"command":"submit","due":"2100-01-01T00:00:00Z","process":{"run":["true"]}}"#,
    );
    served.running.wait_for(&["the store is busy: another program has locked it"]);
    // People get answers, and the first says what is wrong.
    served.says(&["status"], 0, "the store is busy: another program has locked it");
    served.says(&["list"], 0, "long");
    served.says(&["history", "long"], 0, "running");
    let json = served.json(&["history", "long", "-n", "1", "--json"]);
    let run = json["runs"]["runs"][0]["run"].as_str().unwrap().to_owned();
    // A run that is cancelled gets its signal, though the answer has to wait.
    let mut cancelled = PendingAnswer::new(&data, &format!(r#"{{"id":1,"command":"cancel","of":"{run}"}}"#));
    let mut asked = PendingAnswer::new(&data, r#"{"id":1,"command":"run","job":"quick","wait":true}"#);
    // A timeout is kept, and neither end was written: both are seen in the log while the lock is held.
    served.running.wait_for_all(&[&["long", "end", "SIGTERM"], &["timed", "end", "longer than its timeout"]]);
    assert!(states(&served, "long").contains("running"), "the lock was not held");
    let freed = Moment::now().wall;
    lock.execute_batch("COMMIT").unwrap();
    assert!(submitted.answer().contains("submitted"));
    assert!(cancelled.answer().contains("done"));
    assert!(asked.answer().contains("planned") && asked.answer().contains("succeeded"));
    // The record has the time at which it started, and not that at which it was to.
    let json = served.json(&["history", "quick", "--json"]);
    let started: Timestamp = json["runs"]["runs"][0]["started"].as_str().unwrap().parse().unwrap();
    assert!(freed <= started, "{freed} {json}");
    served.running.wait_for(&["the store answers again"]);
    assert!(states(&served, "long").contains("cancelled"));
    assert!(states(&served, "timed").contains("timed_out") || states(&served, "timed").contains("dead"));
    // Nothing was killed for it, and all continues.
    assert!(states(&served, "kept").contains("running"));
    served.says(&["run", "quick", "--wait"], 0, "succeeded");
    served.running.signal(Signal::SIGTERM);
    served.running.signal(Signal::SIGTERM);
    let (status, _, stderr) = served.running.end();
    assert!(status.success(), "{stderr}");
    let _ = std::fs::remove_dir_all(&served.folder);
}

#[test]
fn a_server_whose_store_is_locked_ends_when_it_is_asked_to() {
    let mut served =
        TestServer::start("locked-end", "[jobs.long]\nat_boot = true\ncwd = '/'\nrun = ['sleep', '1000']\n");
    served.running.wait_for(&["long", "start"]);
    let data = served.data();
    let lock = lock(&data);
    served.running.signal(Signal::SIGTERM);
    served.running.wait_for(&["long", "end", "SIGTERM"]);
    served
        .running
        .wait_for(&["the end could not be recorded: the store is busy: another program has locked it"]);
    let folder = served.folder.clone();
    let (status, _, stderr) = served.running.end();
    assert!(status.success(), "{stderr}");
    drop(lock);
    // What was acknowledged is there, and the next server knows that the run was cut off.
    let history = mainspring(&["history", "--data", &data, "long"]).stdout;
    assert!(history.contains("running"), "{history}");
    let mut served = TestServer::start_in(folder, &[]);
    served.running.wait_for(&["long", "abandoned"]);
    served.running.signal(Signal::SIGTERM);
    served.running.signal(Signal::SIGTERM);
    served.running.end();
    let _ = std::fs::remove_dir_all(&served.folder);
}

#[test]
fn a_server_and_a_standby_wait_at_their_start_until_the_store_is_free() {
    let served = TestServer::start("locked-start", JOBS);
    let data = served.data();
    let file = served.file().to_string_lossy().into_owned();
    served.stop_and_keep();
    for options in [&[][..], &["--standby"]] {
        let lock = lock(&data);
        let args = [&["serve", "--data", &data, &file][..], options].concat();
        let mut running = Running::any(&args);
        running.wait_for_error("another program has locked it: waiting for the store in");
        drop(lock);
        running.wait_for(&["4 jobs"]);
        let (status, _, errors) = running.stop();
        assert_eq!(status.code(), Some(0), "{options:?}: {errors}");
    }
}

#[test]
fn a_command_whose_reader_takes_its_time_keeps_no_server_out() {
    let jobs: String = (0..400)
        .map(|index| {
            format!(
                "[jobs.far-{index:03}]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\n\
        run = ['echo', '{}']\nretention = 'keep={},days=36500'\n",
                "x".repeat(200),
                10 * RUNS
            )
        })
        .collect();
    let served = TestServer::start("locked-reader", &jobs);
    let data = served.data();
    let file = served.file().to_string_lossy().into_owned();
    served.stop_and_keep();
    let store = Connection::open(Path::new(&data).join("mainspring.db")).unwrap();
    let runs = format!(
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {RUNS}) INSERT INTO run
            (job, nominal, series, cause, state, attempt, due, planned, started, ended, reason)
            SELECT 'far-000', x, 0, 'request', 'succeeded', 1, x, x, x, x, '' FROM n"
    );
    store.execute_batch(&runs).unwrap();
    drop(store);
    for looks in [&["export"][..], &["list"], &["export", "--history"]] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_mainspring"));
        command.args(looks).args(["--data", &data]).env("COLUMNS", "500");
        let mut looking = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        // It has begun to print, and is stopped by a full pipe.
        let mut first = [0];
        looking.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
        let mut running = Running::any(&["serve", "--data", &data, &file]);
        running.wait_for(&["400 jobs"]);
        assert!(looking.try_wait().unwrap().is_none(), "{looks:?}: more than a pipe holds was printed");
        assert_eq!(running.stop().0.code(), Some(0));
        let looked = looking.wait_with_output().unwrap();
        assert!(looked.status.success());
        let lines = looked.stdout.iter().filter(|byte| **byte == b'\n').count();
        assert!(!looks.contains(&"--history") || lines == RUNS, "{lines} lines of {RUNS} runs");
    }
}
