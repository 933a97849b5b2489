//! The user of a job cannot hold the server up while it starts that job, nor speak in the server's name.

use std::process::Command;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::program::Running;
use crate::served::skipped;
use crate::trial_fixture::TrialFixture;

/// Holds a lease on each of some files of its user's: who opens the file waits until it is given up, which
/// takes the kernel 45 seconds.
pub(crate) const LEASE: &str = "
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
os.setgroups([]); os.setgid(65534); os.setuid(65534)
files = [os.open(name, os.O_RDWR) for name in sys.argv[1:]]
for file in files: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print('held', flush=True)
sys.stdin.read()
";

/// Sends signals to a process, as bob.
fn signal(fixture: &TrialFixture, signals: &[&str], pid: i64) {
    for name in signals {
        let said = fixture.bob(&format!("kill -{name} {pid}"));
        assert_eq!(said.code, Some(0), "{said:?}");
    }
}

/// The number of the process of the job `held`.
fn started(server: &mut Running) -> i64 {
    let line = server.wait_for(&["held", "start  pid"]);
    line.split("pid ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap()
}

#[test]
fn a_program_that_is_not_executed_stops_nothing_and_nobody() {
    let Some(fixture) = TrialFixture::new("lease") else { return };
    fixture.bob("printf '#!/bin/sh\\necho ran\\n' > program; chmod 755 program");
    let program = fixture.text("bob/program");
    let job = |name: &str| {
        format!("[jobs.{name}]\nat = 2100-01-01T00:00:00Z\nuser = 'nobody'\ncwd = '/'\nrun = ['{program}']\n")
    };
    let jobs = job("held") + "[jobs.other]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'echo other'\n";
    let mut server = fixture.serve(&jobs);
    let mut python = Command::new("python3");
    let mut lease = Running::other(python.args(["-c", LEASE, &program]));
    lease.wait_for(&["held"]);
    assert_eq!(fixture.ask(&["run", "held"]).code, Some(0));
    let pid = started(&mut server);
    // Others go on meanwhile.
    assert_eq!(fixture.ask(&["run", "other", "--wait"]).code, Some(0));
    let status: Value = serde_json::from_str(&fixture.ask(&["status", "--json"]).stdout).unwrap();
    assert_eq!(status["status"]["running"], 1, "{status}");
    // The process is bob's already, and has not forgotten the server yet.
    signal(&fixture, &["STOP", "CHLD", "CONT", "TERM"], pid);
    server.wait_for(&["held", "end    "]);
    let status: Value = serde_json::from_str(&fixture.ask(&["status", "--json"]).stdout).unwrap();
    assert_eq!(
        (&status["status"]["state"], &status["status"]["running"]),
        (&"running".into(), &0.into()),
        "{status}"
    );
    drop(lease);
    assert_eq!(fixture.ask(&["run", "held", "--wait"]).code, Some(0));
    assert_eq!(fixture.ask(&["logs", "held"]).stdout, "ran\n");
    let (_, lines, _) = server.stop();
    let noted: Vec<&String> =
        lines.iter().filter(|line| line.contains("stopping") || line.contains("read again")).collect();
    assert_eq!(noted.len(), 1, "{lines:#?}");
}

#[test]
fn a_program_that_is_not_executed_keeps_nothing_of_the_server() {
    let Some(fixture) = TrialFixture::new("held") else { return };
    fixture.bob("printf '#!/bin/sh\\necho ran\\n' > program; chmod 755 program");
    let program = fixture.text("bob/program");
    let jobs =
        format!("[jobs.held]\nat = 2100-01-01T00:00:00Z\nuser = 'nobody'\ncwd = '/'\nrun = ['{program}']\n");
    let mut server = fixture.serve(&jobs);
    let mut lease = Running::other(Command::new("python3").args(["-c", LEASE, &program]));
    lease.wait_for(&["held"]);
    assert_eq!(fixture.ask(&["run", "held"]).code, Some(0));
    let pid = started(&mut server);
    let open =
        fixture.root(&format!("ls -l /proc/{pid}/fd | grep -v ' -> pipe:\\| -> /dev/null' | grep -c ' -> '"));
    assert_eq!(open.stdout, "0\n", "{open:?}");
    // Its memory is a copy of the server's, also where fs.suid_dumpable lets users look at such processes.
    let said = fixture.bob(&format!("cat /proc/{pid}/environ || echo refused"));
    assert_eq!(said.stdout, "refused\n", "{said:?}");
    // A server that is killed leaves the process behind.
    server.signal(Signal::SIGKILL);
    server.end();
    let next = fixture.serve(&jobs);
    drop(lease);
    next.stop();
}

#[test]
fn a_directory_that_cannot_be_entered_is_told_as_such() {
    let Some(fixture) = TrialFixture::new("directory") else { return };
    fixture.root("mkdir closed && chmod 700 closed");
    let job = |name: &str, cwd: &str, run: &str| {
        format!("[jobs.{name}]\nat = 2100-01-01T00:00:00Z\nuser = 'nobody'\ncwd = '{cwd}'\nrun = ['{run}']\n")
    };
    let jobs = job("closed", &fixture.text("closed"), "true")
        + &job("none", "/no/such", "true")
        + &job("program", "/", "no-such-program")
        + &job("denied", "/", &fixture.text("closed"));
    let server = fixture.serve(&jobs);
    let why = [
        ("closed", "cannot enter the directory"),
        ("none", "cannot enter the directory /no/such: No such file"),
        ("program", "cannot execute no-such-program: No such file"),
        ("denied", "Permission denied"),
    ];
    for (name, why) in why {
        let said = fixture.ask(&["run", name, "--wait"]);
        assert!(said.code == Some(1) && said.text().contains(why), "{name}: {said:?}");
    }
    server.stop();
}

#[test]
fn no_job_of_another_user_is_shielded_from_the_lack_of_memory() {
    let Some(fixture) = TrialFixture::new("shield") else { return };
    let job = |name: &str, user: &str| {
        format!(
            "[jobs.{name}]\nat = 2100-01-01T00:00:00Z\nuser = '{user}'\ncwd = '/'\nshell = 'cat /proc/self/oom_score_adj'\n"
        )
    };
    let jobs = job("roots", "root") + &job("bobs", "nobody");
    let may = fixture.root("echo -500 > /proc/self/oom_score_adj");
    if may.code != Some(0) {
        return skipped("oom score", "this container may not be shielded from the lack of memory");
    }
    let server = fixture.serve_after("echo -500 > /proc/$$/oom_score_adj", &jobs);
    for (name, score) in [("roots", "-500\n"), ("bobs", "0\n")] {
        assert_eq!(fixture.ask(&["run", name, "--wait"]).code, Some(0));
        assert_eq!(fixture.ask(&["logs", name]).stdout, score, "{name}");
    }
    server.stop();
}

/// Put before the C library's: a user database that does not answer while there is a certain file.
const HANGING_DATABASE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>
typedef int (*ask)(const char *, struct passwd *, char *, size_t, struct passwd **);
int getpwnam_r(const char *name, struct passwd *entry, char *buffer, size_t size, struct passwd **found) {
    while (access(getenv("HANGS"), F_OK) == 0) usleep(1000);
    return ((ask)dlsym(RTLD_NEXT, "getpwnam_r"))(name, entry, buffer, size, found);
}
"#;

#[test]
fn a_user_database_that_hangs_holds_up_no_job() {
    let Some(fixture) = TrialFixture::new("database") else { return };
    fixture.write("database.c", HANGING_DATABASE, 0o644);
    let built = fixture.root("cc -shared -fPIC -o database.so database.c -ldl");
    assert_eq!(built.code, Some(0), "{built:?}");
    let job = |name: &str, line: &str| {
        format!("[jobs.{name}]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\n{line}\nshell = 'id -u'\n")
    };
    let jobs = job("bobs", "user = 'nobody'") + &job("roots", "");
    let hangs = fixture.text("hangs");
    let before = format!("export HANGS={hangs} LD_PRELOAD={}", fixture.text("database.so"));
    let server = fixture.serve_after(&before, &jobs);
    fixture.write("hangs", "", 0o644);
    for name in ["bobs", "roots", "bobs", "bobs"] {
        assert_eq!(fixture.ask(&["run", name, "--wait"]).code, Some(0), "{name}");
    }
    assert_eq!(fixture.ask(&["logs", "bobs"]).stdout, "65534\n");
    std::fs::remove_file(hangs).unwrap();
    assert_eq!(fixture.ask(&["run", "bobs", "--wait"]).code, Some(0));
    server.stop();
}
