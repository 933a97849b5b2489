//! The user of a job cannot hold the server up while it starts that job, nor speak in the server's name.

use std::process::Command;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::ground::Ground;
use crate::program::Running;
use crate::served::skipped;

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
fn signal(ground: &Ground, signals: &[&str], pid: i64) {
    for name in signals {
        let said = ground.bob(&format!("kill -{name} {pid}"));
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
    let Some(ground) = Ground::new("lease") else { return };
    ground.bob("printf '#!/bin/sh\\necho ran\\n' > program; chmod 755 program");
    let program = ground.text("bob/program");
    let job = |name: &str| {
        format!("[jobs.{name}]\nat = 2100-01-01T00:00:00Z\nuser = 'nobody'\ncwd = '/'\nrun = ['{program}']\n")
    };
    let jobs = job("held") + "[jobs.other]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'echo other'\n";
    let mut server = ground.serve(&jobs);
    let mut python = Command::new("python3");
    let mut lease = Running::other(python.args(["-c", LEASE, &program]));
    lease.wait_for(&["held"]);
    assert_eq!(ground.ask(&["run", "held"]).code, Some(0));
    let pid = started(&mut server);
    // Others go on meanwhile.
    assert_eq!(ground.ask(&["run", "other", "--wait"]).code, Some(0));
    let status: Value = serde_json::from_str(&ground.ask(&["status", "--json"]).stdout).unwrap();
    assert_eq!(status["status"]["running"], 1, "{status}");
    // The process is bob's already, and has not forgotten the server yet.
    signal(&ground, &["STOP", "CHLD", "CONT", "TERM"], pid);
    server.wait_for(&["held", "end    "]);
    let status: Value = serde_json::from_str(&ground.ask(&["status", "--json"]).stdout).unwrap();
    assert_eq!(
        (&status["status"]["state"], &status["status"]["running"]),
        (&"running".into(), &0.into()),
        "{status}"
    );
    drop(lease);
    assert_eq!(ground.ask(&["run", "held", "--wait"]).code, Some(0));
    assert_eq!(ground.ask(&["logs", "held"]).stdout, "ran\n");
    let (_, lines, _) = server.stop();
    let noted: Vec<&String> =
        lines.iter().filter(|line| line.contains("stopping") || line.contains("read again")).collect();
    assert_eq!(noted.len(), 1, "{lines:#?}");
}

#[test]
fn a_program_that_is_not_executed_keeps_nothing_of_the_server() {
    let Some(ground) = Ground::new("held") else { return };
    ground.bob("printf '#!/bin/sh\\necho ran\\n' > program; chmod 755 program");
    let program = ground.text("bob/program");
    let jobs =
        format!("[jobs.held]\nat = 2100-01-01T00:00:00Z\nuser = 'nobody'\ncwd = '/'\nrun = ['{program}']\n");
    let mut server = ground.serve(&jobs);
    let mut lease = Running::other(Command::new("python3").args(["-c", LEASE, &program]));
    lease.wait_for(&["held"]);
    assert_eq!(ground.ask(&["run", "held"]).code, Some(0));
    let pid = started(&mut server);
    let open =
        ground.root(&format!("ls -l /proc/{pid}/fd | grep -v ' -> pipe:\\| -> /dev/null' | grep -c ' -> '"));
    assert_eq!(open.stdout, "0\n", "{open:?}");
    // Its memory is a copy of the server's, also where fs.suid_dumpable lets users look at such processes.
    let said = ground.bob(&format!("cat /proc/{pid}/environ || echo refused"));
    assert_eq!(said.stdout, "refused\n", "{said:?}");
    // A server that is killed leaves the process behind.
    server.signal(Signal::SIGKILL);
    server.end();
    let next = ground.serve(&jobs);
    drop(lease);
    next.stop();
}

#[test]
fn a_directory_that_cannot_be_entered_is_told_as_such() {
    let Some(ground) = Ground::new("directory") else { return };
    ground.root("mkdir closed && chmod 700 closed");
    let job = |name: &str, cwd: &str, run: &str| {
        format!("[jobs.{name}]\nat = 2100-01-01T00:00:00Z\nuser = 'nobody'\ncwd = '{cwd}'\nrun = ['{run}']\n")
    };
    let jobs = job("closed", &ground.text("closed"), "true")
        + &job("none", "/no/such", "true")
        + &job("program", "/", "no-such-program")
        + &job("denied", "/", &ground.text("closed"));
    let server = ground.serve(&jobs);
    let why = [
        ("closed", "cannot enter the directory"),
        ("none", "cannot enter the directory /no/such: No such file"),
        ("program", "cannot execute no-such-program: No such file"),
        ("denied", "Permission denied"),
    ];
    for (name, why) in why {
        let said = ground.ask(&["run", name, "--wait"]);
        assert!(said.code == Some(1) && said.text().contains(why), "{name}: {said:?}");
    }
    server.stop();
}

#[test]
fn no_job_of_another_user_is_shielded_from_the_lack_of_memory() {
    let Some(ground) = Ground::new("shield") else { return };
    let job = |name: &str, user: &str| {
        format!(
            "[jobs.{name}]\nat = 2100-01-01T00:00:00Z\nuser = '{user}'\ncwd = '/'\nshell = 'cat /proc/self/oom_score_adj'\n"
        )
    };
    let jobs = job("roots", "root") + &job("bobs", "nobody");
    let may = ground.root("echo -500 > /proc/self/oom_score_adj");
    if may.code != Some(0) {
        return skipped("oom score", "this container may not be shielded from the lack of memory");
    }
    let server = ground.serve_after("echo -500 > /proc/$$/oom_score_adj", &jobs);
    for (name, score) in [("roots", "-500\n"), ("bobs", "0\n")] {
        assert_eq!(ground.ask(&["run", name, "--wait"]).code, Some(0));
        assert_eq!(ground.ask(&["logs", name]).stdout, score, "{name}");
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
    let Some(ground) = Ground::new("database") else { return };
    ground.write("database.c", HANGING_DATABASE, 0o644);
    let built = ground.root("cc -shared -fPIC -o database.so database.c -ldl");
    assert_eq!(built.code, Some(0), "{built:?}");
    let job = |name: &str, line: &str| {
        format!("[jobs.{name}]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\n{line}\nshell = 'id -u'\n")
    };
    let jobs = job("bobs", "user = 'nobody'") + &job("roots", "");
    let hangs = ground.text("hangs");
    let before = format!("export HANGS={hangs} LD_PRELOAD={}", ground.text("database.so"));
    let server = ground.serve_after(&before, &jobs);
    ground.write("hangs", "", 0o644);
    for name in ["bobs", "roots", "bobs", "bobs"] {
        assert_eq!(ground.ask(&["run", name, "--wait"]).code, Some(0), "{name}");
    }
    assert_eq!(ground.ask(&["logs", "bobs"]).stdout, "65534\n");
    std::fs::remove_file(hangs).unwrap();
    assert_eq!(ground.ask(&["run", "bobs", "--wait"]).code, Some(0));
    server.stop();
}
