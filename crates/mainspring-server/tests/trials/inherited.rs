//! What a process of a job has from the server that started it: nothing that it could use.

use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::ground::Ground;
use crate::program::Running;

/// A job, started by hand.
fn job(name: &str, user: &str, shell: &str) -> String {
    format!("[jobs.{name}]\nat = 2100-01-01T00:00:00Z\nuser = '{user}'\ncwd = '/'\nshell = '''{shell}'''\n")
}

#[test]
fn no_job_has_the_terminal_of_the_server() {
    let Some(ground) = Ground::new("terminal") else { return };
    // Opening it is what TIOCSTI and escape sequences begin with.
    let shell =
        "(exec 9<>/dev/tty) 2>&- && echo opened; read pid name state ppid pgrp sid tty rest < /proc/$$/stat
        echo tty $tty, own $((sid == $$)) $((pgrp == $$))";
    let jobs = job("bobs", "nobody", shell) + &job("roots", "root", shell);
    crate::served::write(&ground.path("jobs.toml"), &jobs);
    let text = format!("tty && exec {} serve --data data jobs.toml", ground.text("mainspring"));
    // `script` gives it a terminal of its own.
    let mut script = Command::new("script");
    script.args(["-qec", &text, "/dev/null"]).current_dir(&ground.folder);
    let mut server = Running::other(&mut script);
    server.wait_for(&["/dev/pts/"]);
    server.wait_for(&["2 jobs, data in"]);
    for name in ["bobs", "roots"] {
        assert_eq!(ground.ask(&["run", name, "--wait"]).code, Some(0), "{name}");
        assert_eq!(ground.ask(&["logs", name]).stdout, "tty 0, own 1 1\n", "{name}");
    }
    let status: Value = serde_json::from_str(&ground.ask(&["status", "--json"]).stdout).unwrap();
    let pid = i32::try_from(status["status"]["pid"].as_i64().unwrap()).unwrap();
    kill(Pid::from_raw(pid), Signal::SIGTERM).unwrap();
    server.wait_for(&["stopped"]);
}
