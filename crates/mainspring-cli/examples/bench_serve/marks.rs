//! Processes that note how late they are, and the same of a thread that sleeps until their times and spawns
//! them: what the operating system takes for one.
//!
//! Cost: that of the processes; a line each in a file.
//!
//! Does not say how late the record of a start is: that may be on disk before its time.

#![allow(clippy::unwrap_used, reason = "what cannot go on has failed, and says where")]
#![allow(clippy::disallowed_methods, reason = "it measures in real time")]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// What this program is called with to note how late it is, and the file.
pub(crate) const MARK: &str = "mark";

/// Notes how late this process is, by its own clock and the variable of its run. False: it is not asked to.
pub(crate) fn is_mark(arguments: &[String]) -> bool {
    let [MARK, file] = arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] else { return false };
    let now = Timestamp::now();
    let due: Timestamp = std::env::var("MAINSPRING_NOMINAL").unwrap().parse().unwrap();
    let line = format!("{}\n", now.as_microsecond() - due.as_microsecond());
    let mut file = OpenOptions::new().append(true).create(true).open(file).unwrap();
    file.write_all(line.as_bytes()).unwrap();
    true
}

/// How late each of so many processes was, in microseconds, sorted.
pub(crate) fn read(file: &Path, count: usize) -> Vec<i64> {
    let text = fs::read_to_string(file).unwrap();
    let mut late: Vec<i64> = text.lines().map(|line| line.parse().unwrap()).collect();
    late.sort_unstable();
    assert_eq!(late.len(), count, "each job has run once");
    assert!(0 <= late[0], "nothing begins early");
    late
}

/// The same of processes that a sleeping thread spawns, evenly over a time.
pub(crate) fn floor(file: &Path, count: usize, over: Duration) -> Vec<i64> {
    let own = std::env::current_exe().unwrap();
    let first = Timestamp::now() + SignedDuration::from_secs(1);
    for index in 0..count {
        let due = first + over.mul_f64(index as f64 / count as f64);
        sleep(Duration::try_from(due.duration_since(Timestamp::now())).unwrap_or_default());
        let mut command = Command::new(&own);
        command.arg(MARK).arg(file).env("MAINSPRING_NOMINAL", due.to_string());
        assert!(command.status().unwrap().success());
    }
    read(file, count)
}

/// The least value that so many of a hundred are not above.
pub(crate) fn percentile(sorted: &[i64], percent: usize) -> i64 {
    sorted[(sorted.len() * percent).div_ceil(100) - 1]
}
