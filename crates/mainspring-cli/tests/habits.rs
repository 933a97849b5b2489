//! Habits of shells, terminals, containers and deployments that the program has to live with.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::unistd::Uid;

use crate::program::{Running, root};
use crate::test_server::{IDLE, TestServer, folder, write};

/// A user with no entry in the list of users, as an image's `--user` has it.
const UNKNOWN_USER: u32 = 64_242;

/// Runs a line of shell in which `$0` is the program; returns its exit code and all that it wrote.
fn shell(line: &str) -> (i32, String) {
    let mut command = Command::new("/bin/sh");
    let output = command.args(["-c", line, env!("CARGO_BIN_EXE_mainspring")]).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

/// Copies the program by another program: a copy that is open for writing here would be so in what other
/// tests start meanwhile, and could not be executed.
fn copy_program(path: &Path) {
    let copied = Command::new("cp").args([Path::new(env!("CARGO_BIN_EXE_mainspring")), path]).status();
    assert!(copied.unwrap().success());
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
fn no_command_says_done_where_its_output_cannot_be_written() {
    let served = TestServer::start("full-output", IDLE);
    served.says(&["run", "idle", "--wait"], 0, "succeeded");
    let data = served.data();
    let words = [
        "list",
        "list --json",
        "show idle",
        "history",
        "logs idle",
        "status",
        "doctor",
        "health",
        "audit",
        "export",
        "export --history",
        "dead list",
        "run idle",
        "at +1h -- true",
    ];
    for words in words {
        let (command, rest) = words.split_once(' ').unwrap_or((words, ""));
        let (command, rest) = match (command, rest) {
            ("dead", _) => ("dead list", ""),
            other => other,
        };
        let (code, text) = shell(&format!("\"$0\" {command} --data '{data}' {rest} > /dev/full"));
        assert_eq!(code, 1, "{words}: {text}");
        assert!(text.contains("cannot write to standard output"), "{words}: {text}");
    }
    served.stop();
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
fn a_time_zone_of_tz_that_is_not_known_is_spoken_of_once_by_each_command() {
    let check = format!("check '{}'", root().join("examples/crontab").display());
    for command in ["next '0 1 * * *'", "explain '0 1 * * *'", check.as_str()] {
        let (code, said) = shell(&format!("TZ=Bad/Zone \"$0\" {command} 2>&1 >/dev/null"));
        assert_eq!(code, 0, "{command}: {said}");
        assert_eq!(said.matches("the time zone of TZ is not known, and UTC is used").count(), 1, "{said}");
        let (_, said) = shell(&format!("TZ=Bad/Zone \"$0\" {command} --tz Asia/Tokyo 2>&1 >/dev/null"));
        assert_eq!(said, "", "{command}");
    }
}

#[test]
fn a_reader_of_followed_logs_that_goes_ends_them() {
    let served = TestServer::start("logs-reader", IDLE);
    served.says(&["run", "idle", "--wait"], 0, "");
    let line = format!("\"$0\" logs idle -f --data '{}' | head -n 1", served.data());
    // head goes after the first line; nothing more is ever written.
    assert_eq!(shell(&line), (0, "ran\n".to_owned()));
    served.stop();
}

#[test]
fn without_a_home_the_program_says_what_names_the_folder() {
    let place = folder("no-home");
    let program = place.join("mainspring");
    copy_program(&program);
    write(&place.join("jobs.toml"), IDLE);
    let mut command = Command::new(&program);
    command.arg("serve").arg(place.join("jobs.toml")).env_clear().current_dir("/");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    if Uid::effective().is_root() {
        command.uid(UNKNOWN_USER).gid(UNKNOWN_USER);
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(7), "{text}");
        assert!(text.contains("--data") && text.contains("MAINSPRING_DATA"), "{text}");
    }
    let _ = fs::remove_dir_all(&place);
}

#[test]
fn a_shared_volume_of_a_container_is_refused_with_a_folder_that_will_do() {
    if !Uid::effective().is_root() {
        return;
    }
    let place = folder("volume");
    let program = place.join("mainspring");
    copy_program(&program);
    write(&place.join("jobs.toml"), IDLE);
    let volume = place.join("volume");
    fs::create_dir(&volume).unwrap();
    // As Kubernetes makes it for a pod with an fsGroup.
    chown(&volume, Some(0), Some(UNKNOWN_USER)).unwrap();
    fs::set_permissions(&volume, Permissions::from_mode(0o2775)).unwrap();
    let serve = |data: &str| {
        let mut command = Command::new(&program);
        command.args(["serve", "--data", data]).arg(place.join("jobs.toml")).env_clear().current_dir("/");
        command.uid(UNKNOWN_USER).gid(UNKNOWN_USER).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let shared = volume.to_str().unwrap();
    let output = serve(shared).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(7), "{text}");
    let inside = format!("{shared}/mainspring");
    assert!(text.contains(&format!("--data {inside}")), "{text}");
    let mut running = Running::other(&mut serve(&inside));
    running.wait_for(&[", data in "]);
    running.stop();
    let _ = fs::remove_dir_all(&place);
}
