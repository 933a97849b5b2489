//! Orphans that fall to this process are reaped, and children that it knows are left alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use mainspring_exec::orphans::{Look, Orphans};
use nix::sys::prctl::set_child_subreaper;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

/// Makes orphans that live until their input ends, and returns their parent, which has ended, and their
/// numbers.
fn orphans(count: usize) -> (Child, Vec<i32>) {
    let orphan = "(read line <&3; exit 3) >&- & echo $!;";
    let script = format!("exec 3<&0; n=0; while [ $n -lt {count} ]; do n=$((n + 1)); {orphan} done; exit 0");
    let mut command = Command::new("/bin/sh");
    let mut child =
        command.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let numbers = lines.map(|line| line.unwrap().trim().parse().unwrap()).collect();
    // They are ours only once their parent has ended.
    ended(child.id().cast_signed());
    (child, numbers)
}

/// Until it has ended, without reaping it.
fn ended(pid: i32) {
    waitid(Id::Pid(Pid::from_raw(pid)), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT).unwrap();
}

/// One test, because all children of the process are asked for.
#[test]
fn orphans_are_reaped_at_a_cost_that_does_not_grow_and_known_children_are_left_alone() {
    assert!(Orphans::of_ours().is_none());
    set_child_subreaper(true).unwrap();
    let mut found = Orphans::of_ours().unwrap();
    let counts = |look: Look| (look.reaped_count, look.asked_count);

    // One of ours that has ended stands before the orphan.
    let (mut child, numbers) = orphans(1);
    drop(child.stdin.take());
    ended(numbers[0]);
    assert_eq!(found.reap(&[child.id()]).reaped_count, 1);
    assert_eq!(found.reap(&[child.id()]).reaped_count, 0);
    assert!(found.is_behind());
    assert_eq!(child.wait().unwrap().code(), Some(0));

    for count in [10, 200] {
        let (mut held, numbers) = orphans(count);
        // Of many that live on none is asked about, when another child ends.
        assert_eq!(counts(found.reap(&[])), (1, 1), "their parent alone");
        let mut ends = Command::new("true").spawn().unwrap();
        ended(ends.id().cast_signed());
        assert_eq!(counts(found.reap(&[])), (1, 1));
        assert!(ends.wait().is_err() && !found.is_behind());
        // The same while one of ours that has ended stands in the way: once in as many looks.
        let mut ours = Command::new("true").spawn().unwrap();
        ended(ours.id().cast_signed());
        let mut found = Orphans::of_ours().unwrap();
        let asked: usize = (0..10 * count).map(|_| found.reap(&[ours.id()]).asked_count).sum();
        assert!(asked <= 22 * count, "{asked} for {} looks at {count}", 10 * count);
        ours.wait().unwrap();
        // All at once.
        drop(held.stdin.take());
        numbers.iter().for_each(|number| ended(*number));
        assert_eq!(counts(found.reap(&[])), (count, count));
        assert!(held.wait().is_err(), "it was reaped");
    }
}
