//! Orphans that fall to this process are reaped, and children that it knows are left alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use mainspring_server::executor::orphans;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

#[test]
fn orphans_are_reaped_and_known_children_are_not() {
    assert!(!orphans::fall_to_us());
    set_child_subreaper(true).unwrap();
    assert!(orphans::fall_to_us());
    let script = "(echo orphan; exit 3) & echo $!; exit 0";
    let mut child = Command::new("/bin/sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let lines: Vec<String> =
        BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap).collect();
    let orphan = lines.iter().find_map(|line| line.parse().ok()).unwrap();
    for pid in [child.id().cast_signed(), orphan] {
        // Until both have ended, without reaping them. The orphan is ours only once its parent has ended.
        waitid(Id::Pid(Pid::from_raw(pid)), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT).unwrap();
    }
    assert_eq!(orphans::reap([child.id()].into_iter()), 1);
    assert_eq!(orphans::reap([child.id()].into_iter()), 0);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
