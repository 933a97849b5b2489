//! Orphans that fall to this process are reaped, and children that it knows are left alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use mainspring_exec::orphans;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

#[test]
fn orphans_are_reaped_and_known_children_are_not() {
    assert!(!orphans::fall_to_us());
    set_child_subreaper(true).unwrap();
    assert!(orphans::fall_to_us());
    // The orphan lives until its input ends, so that its parent cannot be the one that reaps it.
    let script = "exec 3<&0; (read line <&3; exit 3) >&- & echo $!; exit 0";
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let input = child.stdin.take();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let orphan = line.trim().parse().unwrap();
    // Until both have ended, without reaping them. The orphan is ours only once its parent has ended.
    let ended = |pid| waitid(Id::Pid(Pid::from_raw(pid)), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT);
    ended(child.id().cast_signed()).unwrap();
    drop(input);
    ended(orphan).unwrap();
    assert_eq!(orphans::reap([child.id()].into_iter()), 1);
    assert_eq!(orphans::reap([child.id()].into_iter()), 0);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
