//! Habits of shells, terminals, containers and deployments that the program has to live with.

use std::process::Command;

use crate::program::Running;
use crate::served::{IDLE, Served};

/// Runs a line of shell in which `$0` is the program; returns its exit code and all that it wrote.
fn shell(line: &str) -> (i32, String) {
    let mut command = Command::new("/bin/sh");
    let output = command.args(["-c", line, env!("CARGO_BIN_EXE_mainspring")]).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

#[test]
fn help_that_cannot_be_written_is_a_failure() {
    for words in ["--version", "--help", "help serve", "list --help", "man", "completions bash"] {
        let (code, text) = shell(&format!("\"$0\" {words} > /dev/full"));
        assert_eq!(code, 1, "{words}: {text}");
        assert!(text.contains("cannot write to standard output"), "{words}: {text}");
        // A reader that has seen enough is no failure.
        let (code, text) = shell(&format!("{{ \"$0\" {words}; echo \"$?\" >&2; }} | :"));
        assert_eq!((code, text.as_str()), (0, "0\n"), "{words}");
    }
}

#[test]
fn a_time_zone_that_is_not_known_is_spoken_of_at_the_start() {
    let mut running = Running::start_with(&[("TZ", "Bad/Zone")], &[], "0 1 * * * true\n");
    running.wait_for(&["1 job"]);
    running.wait_for_error("the system's time zone is not known");
    running.stop();
    let mut running = Running::start_with(&[("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")], &[], "0 1 * * * true\n");
    running.wait_for(&["1 job"]);
    running.wait_for_error("has no name");
    running.stop();
    let running = Running::start_with(&[("TZ", "Bad/Zone")], &["--tz", "Asia/Tokyo"], "0 1 * * * true\n");
    let (_, _, errors) = running.stop();
    assert_eq!(errors, "");
}

#[test]
fn a_reader_of_followed_logs_that_goes_ends_them() {
    let served = Served::start("logs-reader", IDLE);
    served.says(&["run", "idle", "--wait"], 0, "");
    let line = format!("\"$0\" logs idle -f --data '{}' | head -n 1", served.data());
    // head goes after the first line; nothing more is ever written.
    assert_eq!(shell(&line), (0, "ran\n".to_owned()));
    served.stop();
}
