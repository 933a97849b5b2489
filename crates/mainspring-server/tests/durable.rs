//! What lives on when a server does not.

use nix::sys::signal::Signal;

use crate::program::mainspring;
use crate::served::{IDLE, Served, write};

#[test]
fn what_is_acknowledged_survives_a_kill_and_can_be_read_without_a_server() {
    let jobs = format!(
        "{IDLE}[jobs.long]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'echo ready; sleep 1000'\nretry = {{ max = 1, backoff = '0s', on = ['abandoned'] }}\n"
    );
    let mut served = Served::start("kill", &jobs);
    served.says(&["at", "+1h", "--name", "later", "--", "true"], 0, "later");
    served.says(&["every", "1h", "--name", "kept", "--", "true"], 0, "+ kept");
    served.says(&["run", "idle", "--wait"], 0, "succeeded");
    served.says(&["pause", "kept"], 0, "");
    served.says(&["run", "long"], 0, "long@");
    let start = served.running.wait_for(&["long", "start  pid "]);
    let pid = start.split("pid ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    served.running.signal(Signal::SIGKILL);
    let (status, _, _) = served.running.end();
    assert_eq!(status.code(), None);
    // What it left behind is nobody's any more.
    nix::sys::signal::killpg(nix::unistd::Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    let data = served.folder.join("data").to_str().unwrap().to_owned();
    let alone = |args: &[&str]| mainspring(&[&[args[0], "--data", &data], &args[1..]].concat());
    assert!(alone(&["list"]).stdout.contains("kept"), "{}", alone(&["list"]).stderr);
    assert!(alone(&["show", "later"]).stdout.contains("pending"));
    assert!(alone(&["history", "idle"]).stdout.contains("succeeded"));
    assert!(alone(&["history", "long"]).stdout.contains("running"));
    assert_eq!(alone(&["show", "nobody"]).code, 4);
    let mut served = Served::start_in(served.folder, &[]);
    served.running.wait_for(&["long", "abandoned"]);
    served.running.wait_for(&["long#2", "stdout ready"]);
    served.says(&["show", "later"], 0, "pending");
    served.says(&["show", "kept"], 0, "paused");
    served.says(&["cancel", "long"], 0, "");
    served.running.wait_for(&["long#2", "end "]);
    served.stop();
}

#[test]
fn a_file_that_went_bad_while_no_server_ran_keeps_its_old_set() {
    let second = "[jobs.second]\nat = 2100-01-01T00:00:00Z\nshell = 'true'\n";
    let served = Served::start("went-bad", &format!("{IDLE}{second}"));
    let folder = served.folder.clone();
    assert_eq!(served.running.stop().0.code(), Some(0));
    let broken = second.replace("shell", "shel");
    write(
        &folder.join("jobs.toml"),
        &format!("{IDLE}{broken}[jobs.third]\nat = 2100-01-01T00:00:00Z\nshell = 'true'\n"),
    );
    let served = Served::start_in(folder, &[]);
    served.says(&["show", "second"], 0, "shell = \"true\"");
    served.says(&["show", "third"], 0, "active");
    served.says(&["status"], 0, "HAS PROBLEMS");
    served.stop();
}
