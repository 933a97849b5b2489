//! Processes that a run has left behind, and what they are to the executor.

use std::process::Command;

use mainspring_exec::clock::Moment;
use mainspring_exec::end::KillCause;

use crate::process::{RunRecorder, executor_of_all, shell, turn_until};

#[test]
fn what_a_run_leaves_behind_that_ended_by_itself_is_no_run_and_gets_no_signal() {
    let text = "(trap 'echo term' TERM; trap 'echo mine; exit' USR1; while :; do sleep 0.02; done) & echo $!";
    let (mut executor, mut heard) = (executor_of_all(), RunRecorder::default());
    executor.start(&shell(text), &[], 1, Moment::now()).unwrap();
    turn_until(&mut executor, &mut heard, &|_, heard| !heard.ends.is_empty());
    assert_eq!((executor.running_count(), executor.pids().count()), (0, 1));
    executor.kill_all(KillCause::Requested, Moment::now());
    executor.kill_all_at_once(Moment::now());
    Command::new("kill").args(["-USR1", &heard.lines[0]]).status().unwrap();
    turn_until(&mut executor, &mut heard, &|executor, _| executor.pids().count() == 0);
    assert_eq!((heard.lines[1..].concat(), heard.ends.len()), ("mine".to_owned(), 1));
}
