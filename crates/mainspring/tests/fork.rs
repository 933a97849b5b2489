//! A child of `fork` has none of its parent's threads, and does not wait for them.
//!
//! The child here is one of a process with many threads, so it may do little: it ends an engine, and executes
//! another program. A signal ends it where it hangs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::thread;

use mainspring::clock::Manual;
use mainspring::front::Task;
use mainspring::{Engine, Tick, preset};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, alarm, execv, fork};

/// After so many seconds a child that hangs is ended.
const PATIENCE_S: u32 = 10;

/// A child is made so often, at most: a thread that the fork meets on its way to sleep may have a lock, which
/// no thread gives back in the child.
const TRY_COUNT: usize = 3;

/// Runs `act` in a child of `fork`; tells whether it came to an end.
fn ends_in_a_child(act: impl FnOnce()) -> bool {
    // SAFETY: the child ends an engine, which is what this test is about, and executes another program. The
    // allocator of the system may be used in a child.
    #[expect(unsafe_code, reason = "std has no fork")]
    let forked = unsafe { fork() };
    match forked.expect("there is room for a process") {
        ForkResult::Parent { child } => {
            let ended = waitpid(child, None).expect("it is a child of this process");
            assert!(!matches!(ended, WaitStatus::Exited(_, 1..)), "the child panicked");
            matches!(ended, WaitStatus::Exited(_, 0))
        }
        ForkResult::Child => {
            alarm::set(PATIENCE_S);
            let program =
                if catch_unwind(AssertUnwindSafe(act)).is_ok() { c"/bin/true" } else { c"/bin/false" };
            let _ = execv(program, &[program]);
            std::process::abort();
        }
    }
}

type Start = fn(Manual) -> Engine<Task>;
type End = fn(Engine<Task>);

/// An engine whose threads sleep, or are about to.
fn asleep(start: Start) -> Engine<Task> {
    let clock = Manual::stepped();
    let engine = start(clock.clone());
    engine.callbacks().at(Tick::MAX, |_| ()).unwrap();
    let (sender, receiver) = channel();
    let wait_count = move || clock.wait_count();
    let count = wait_count.clone();
    engine.callbacks().at(Tick::ZERO, move |_| sender.send(count()).unwrap()).unwrap();
    let before = receiver.recv().unwrap();
    while wait_count() == before {
        thread::yield_now();
    }
    engine
}

#[test]
fn an_engine_ends_in_a_child_of_fork() {
    let starts: [(&str, Start); 4] = [
        ("striped", |clock| preset::mainspring_on(clock).unwrap()),
        ("sharded", |clock| preset::go_1_10(clock)),
        ("per worker", |clock| preset::go_1_14(clock, 2).unwrap()),
        ("poll", |clock| preset::nginx(clock).unwrap()),
    ];
    let ends: [(&str, End); 2] =
        [("shutdown", |engine| assert_eq!(engine.shutdown().len(), 1)), ("drop", drop)];
    for (name, start) in starts {
        for (how, end) in ends {
            let is_ended = (0..TRY_COUNT).any(|_| {
                let mut engine = Some(asleep(start));
                ends_in_a_child(|| end(engine.take().expect("the child has a copy")))
            });
            assert!(is_ended, "{name}: {how}");
        }
    }
}
