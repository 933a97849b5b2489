//! Handlers that misbehave.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;

use mainspring_embed::{Error, HandlerError, Options, Run};

use super::*;

const SHORT: Duration = Duration::from_millis(20);

#[test]
fn a_panic_is_a_failure_with_its_message() {
    let jobs = Jobs::open(folder("panic"))
        .unwrap()
        .threads(1)
        .handler("panic", |run: &Run, text: String| -> Done { panic!("{text} in attempt {}", run.attempt()) })
        .handler("fine", |_: &Run, (): ()| -> Done { Ok(()) })
        .start()
        .unwrap();
    let bad = jobs.once("panic").payload("boom").submit().unwrap();
    let record = ended(&jobs, &bad);
    assert_eq!(record.state, RunState::Failed);
    assert_eq!(record.outcome.unwrap().to_string(), "failed: panicked: boom in attempt 1");
    let good = jobs.once("fine").submit().unwrap();
    assert_eq!(ended(&jobs, &good).state, RunState::Succeeded, "the one thread lives on");
}

/// The value of a panic that panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

#[test]
fn a_panic_whose_value_panics_when_it_is_dropped_is_a_failure_and_keeps_its_thread() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let handle = runtime.handle().clone();
    let jobs = Jobs::open(folder("bomb"))
        .unwrap()
        .threads(1)
        .spawner(move |future| drop(handle.spawn(future)))
        .handler("function", |_: &Run, (): ()| -> Done { std::panic::panic_any(Bomb) })
        .async_handler("future", |_: Run, (): ()| async {
            if true { std::panic::panic_any(Bomb) } else { Done::Ok(()) }
        })
        .start()
        .unwrap();
    for handler in ["function", "future", "function"] {
        let bad = jobs.once(handler).submit().unwrap();
        assert_eq!(ended(&jobs, &bad).outcome.unwrap().to_string(), "failed: panicked: with no message");
    }
}

#[test]
fn a_run_that_is_told_to_stop_and_does_has_timed_out() {
    let jobs = Jobs::open(folder("token"))
        .unwrap()
        .handler(Options::new("slow").timeout(SHORT), |run: &Run, (): ()| {
            assert!(run.deadline().is_some());
            if run.wait_for_stop(LONG) { Err("told to stop") } else { Ok(()) }
        })
        .start()
        .unwrap();
    let slow = jobs.once("slow").submit().unwrap();
    assert_eq!(ended(&jobs, &slow).state, RunState::TimedOut);
}

#[test]
fn what_does_not_stop_is_abandoned_and_not_started_beside_itself() {
    let (release, held) = channel::<()>();
    let held = std::sync::Mutex::new(held);
    let (sender, receiver) = channel();
    let options = Options::new("stuck").timeout(SHORT).stop_grace(SHORT).retry(5).backoff(SHORT);
    let jobs = Jobs::open(folder("stuck"))
        .unwrap()
        .threads(1)
        .handler(options, move |run: &Run, (): ()| -> Done {
            sender.send(run.attempt()).unwrap();
            // It ignores its token.
            let _ = held.lock().unwrap().recv();
            Ok(())
        })
        .handler("fine", |_: &Run, (): ()| -> Done { Ok(()) })
        .start()
        .unwrap();
    let stuck = jobs.once("stuck").submit().unwrap();
    assert_eq!(heard(&receiver), 1);
    let record = ended(&jobs, &stuck);
    assert_eq!((record.state, record.attempt), (RunState::Dead, 1), "it is not tried again");
    let outcome = record.outcome.unwrap().to_string();
    assert!(outcome.contains("did not end within 20 ms of being told to"), "{outcome}");
    let good = jobs.once("fine").submit().unwrap();
    assert_eq!(ended(&jobs, &good).state, RunState::Succeeded, "its thread is replaced");
    release.send(()).unwrap();
    let good = jobs.once("fine").submit().unwrap();
    assert_eq!(ended(&jobs, &good).state, RunState::Succeeded);
    assert!(receiver.try_recv().is_err(), "it was started once");
}

#[test]
fn a_shutdown_tells_what_runs_and_records_what_does_not_end() {
    let folder = folder("shutdown");
    let (release, held) = channel::<()>();
    let held = std::sync::Mutex::new(held);
    let (sender, receiver) = channel();
    let jobs = Jobs::open(&folder)
        .unwrap()
        .handler("polite", {
            let sender = sender.clone();
            move |run: &Run, (): ()| {
                sender.send(()).unwrap();
                if run.wait_for_stop(LONG) { Err("told to stop") } else { Ok(()) }
            }
        })
        .handler("stuck", move |_: &Run, (): ()| -> Done {
            sender.send(()).unwrap();
            let _ = held.lock().unwrap().recv();
            Ok(())
        })
        .start()
        .unwrap();
    let polite = jobs.once("polite").submit().unwrap();
    let stuck = jobs.once("stuck").submit().unwrap();
    heard(&receiver);
    heard(&receiver);
    jobs.shutdown(Duration::from_millis(200)).unwrap();
    let jobs = Jobs::open(&folder).unwrap().start().unwrap();
    let record = |submitted: &SubmittedJob| jobs.runs_of(submitted.job(), 1).unwrap().remove(0);
    let (polite, stuck) = (record(&polite), record(&stuck));
    assert_eq!((polite.state, stuck.state), (RunState::Abandoned, RunState::Abandoned));
    assert!(stuck.why().contains("the server was stopped while it ran"), "{}", stuck.why());
    drop(release);
}

#[test]
fn a_cancelled_run_is_told_and_is_cancelled_and_an_error_for_good_is_a_dead_letter() {
    let jobs = Jobs::open(folder("cancel"))
        .unwrap()
        .handler(
            "slow",
            |run: &Run, (): ()| if run.wait_for_stop(LONG) { Err("told to stop") } else { Ok(()) },
        )
        .handler(Options::new("hopeless").retry(9), |run: &Run, (): ()| -> Result<(), HandlerError> {
            run.say("a line of its output");
            Err(HandlerError::for_good("there is no such card"))
        })
        .start()
        .unwrap();
    let slow = jobs.once("slow").submit().unwrap();
    let running = wait_until(slow.job(), &jobs, is_running);
    jobs.cancel(&running.key).unwrap();
    assert_eq!(ended(&jobs, &slow).state, RunState::Cancelled);
    let hopeless = jobs.once("hopeless").submit().unwrap();
    let record = ended(&jobs, &hopeless);
    assert_eq!((record.state, record.attempt), (RunState::Dead, 1));
    assert_eq!(record.outcome.unwrap().to_string(), "failed for good: there is no such card");
}

#[test]
fn futures_run_on_the_programs_runtime_and_are_dropped_when_they_do_not_stop() {
    struct DropFlag(std::sync::mpsc::Sender<&'static str>);
    impl Drop for DropFlag {
        fn drop(&mut self) {
            let _ = self.0.send("dropped");
        }
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let handle = runtime.handle().clone();
    let (sender, receiver) = channel();
    let jobs = Jobs::open(folder("futures"))
        .unwrap()
        .spawner(move |future| drop(handle.spawn(future)))
        .async_handler("add", |run: Run, (one, other): (u32, u32)| async move {
            tokio::task::yield_now().await;
            run.jobs().once("told").payload(&(one + other)).submit_async().await?;
            Ok::<(), HandlerError>(())
        })
        .handler("told", {
            let sender = sender.clone();
            move |_: &Run, sum: u32| sender.send(if sum == 5 { "five" } else { "wrong" })
        })
        .async_handler("panic", |_: Run, (): ()| async { if true { panic!("boom") } else { Done::Ok(()) } })
        .async_handler(
            Options::new("stuck").timeout(SHORT).stop_grace(SHORT).retry(1).backoff(LONG),
            move |_: Run, (): ()| {
                let dropped = DropFlag(sender.clone());
                async move {
                    std::future::pending::<()>().await;
                    drop(dropped);
                    Done::Ok(())
                }
            },
        )
        .start()
        .unwrap();
    let add = jobs.once("add").payload(&(2, 3)).submit().unwrap();
    assert_eq!(heard(&receiver), "five");
    assert_eq!(ended(&jobs, &add).state, RunState::Succeeded);
    let panic = jobs.once("panic").submit().unwrap();
    assert_eq!(ended(&jobs, &panic).outcome.unwrap().to_string(), "failed: panicked: boom");
    let stuck = jobs.once("stuck").submit().unwrap();
    assert_eq!(heard(&receiver), "dropped");
    // It is gone, so that it may be tried again.
    wait_until(stuck.job(), &jobs, |record| record.state == RunState::Scheduled && record.attempt == 1);
    jobs.shutdown(LONG).unwrap();
}

#[test]
fn a_panic_before_there_is_a_future_and_one_of_the_spawner_are_failures() {
    static READ_COUNT: AtomicU32 = AtomicU32::new(0);
    struct Bad;
    impl<'de> serde::Deserialize<'de> for Bad {
        fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Bad, D::Error> {
            // A submission reads it first, to see whether the handler could.
            assert!(READ_COUNT.fetch_add(1, Ordering::SeqCst).is_multiple_of(2), "of the payload");
            <serde::de::IgnoredAny as serde::Deserialize>::deserialize(from).map(|_| Bad)
        }
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let handle = runtime.handle().clone();
    let spawns = AtomicBool::new(true);
    let jobs = Jobs::open(folder("early-panic"))
        .unwrap()
        .spawner(move |future| {
            assert!(spawns.swap(false, Ordering::SeqCst), "there is no runtime");
            drop(handle.spawn(future));
        })
        .async_handler("panic", |_: Run, _: Bad| async { Done::Ok(()) })
        .handler("fine", |_: &Run, (): ()| -> Done { Ok(()) })
        .start()
        .unwrap();
    let outcome = |submitted: &SubmittedJob| ended(&jobs, submitted).outcome.unwrap().to_string();
    let payload = jobs.once("panic").submit().unwrap();
    assert_eq!(outcome(&payload), "failed: panicked: of the payload");
    let spawner = jobs.once("panic").submit().unwrap();
    assert_eq!(outcome(&spawner), "failed: the spawner panicked: it has no runtime to hand the future to");
    let good = jobs.once("fine").submit().unwrap();
    assert_eq!(ended(&jobs, &good).state, RunState::Succeeded, "the loop lives on");
}

/// So many jobs, each due a fraction of a millisecond after the one before, some of them within the time in
/// which a start is recorded ahead.
const CLOSE: i64 = 200;

#[test]
fn a_job_begins_at_its_time_or_after_it_and_never_before() {
    let (sender, receiver) = channel();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let handle = runtime.handle().clone();
    let futures = sender.clone();
    let jobs = Jobs::open(folder("ahead"))
        .unwrap()
        .threads(2)
        .spawner(move |future| drop(handle.spawn(future)))
        .handler("function", move |run: &Run, (): ()| -> Done {
            sender.send((run.due(), mainspring_exec::clock::Moment::now().wall)).unwrap();
            Ok(())
        })
        .async_handler("future", move |run: Run, (): ()| {
            let begun = futures.send((run.due(), mainspring_exec::clock::Moment::now().wall));
            async move { begun.map_err(|error| error.to_string()) }
        })
        .start()
        .unwrap();
    let begin = mainspring_exec::clock::Moment::now().wall;
    let mut expected: Vec<_> =
        (0..CLOSE).map(|number| begin + Duration::from_micros(number as u64 * 317)).collect();
    for (number, due) in expected.iter().enumerate() {
        let name = if number % 2 == 0 { "function" } else { "future" };
        jobs.once(name).at(*due).submit().unwrap();
    }
    let mut found = Vec::new();
    for _ in 0..CLOSE {
        let (due, begun) = heard(&receiver);
        assert!(due <= begun, "due at {due}, begun at {begun}");
        found.push(due);
    }
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "each once");
    for run in jobs.runs(CLOSE as usize).unwrap() {
        assert!(run.due <= run.started.unwrap(), "{run:?}");
    }
    jobs.shutdown(LONG).unwrap();
}

#[test]
fn a_timeout_counts_from_the_beginning_and_not_from_the_record_of_it() {
    let (sender, receiver) = channel();
    let jobs = Jobs::open(folder("ahead-timeout"))
        .unwrap()
        .handler(Options::new("timed").timeout(LONG), move |run: &Run, (): ()| -> Done {
            sender.send((run.due(), run.deadline().unwrap())).unwrap();
            Ok(())
        })
        .start()
        .unwrap();
    let due = mainspring_exec::clock::Moment::now().wall + Duration::from_millis(100);
    jobs.once("timed").at(due).submit().unwrap();
    let (due, deadline) = heard(&receiver);
    assert!(due + LONG <= deadline, "due at {due}, to end by {deadline}");
}

#[test]
fn what_waits_for_a_thread_has_its_whole_timeout_when_it_begins() {
    const TIMEOUT: Duration = Duration::from_secs(1);
    let (release, held) = channel::<()>();
    let held = std::sync::Mutex::new(held);
    let (sender, receiver) = channel();
    let jobs = Jobs::open(folder("whole-timeout"))
        .unwrap()
        .threads(1)
        // Its place is taken by a function, which waits then.
        .async_handler("future", |_: Run, (): ()| async { Done::Ok(()) })
        .spawner(|_| unreachable!("none is submitted"))
        .handler("long", move |_: &Run, (): ()| held.lock().unwrap().recv())
        .handler(Options::new("short").timeout(TIMEOUT), move |run: &Run, (): ()| {
            sender.send((run.is_stopping(), run.deadline().unwrap())).map_err(HandlerError::because)
        })
        .start()
        .unwrap();
    jobs.once("long").submit().unwrap();
    let short = jobs.once("short").submit().unwrap();
    assert!(receiver.recv_timeout(2 * TIMEOUT).is_err(), "the one thread is held");
    assert_eq!(jobs.runs_of(short.job(), 1).unwrap()[0].state, RunState::Running, "it is started here");
    let released = mainspring_exec::clock::Moment::now().wall;
    release.send(()).unwrap();
    let (is_stopping, deadline) = heard(&receiver);
    assert!(!is_stopping);
    assert!(released.checked_add(TIMEOUT).unwrap() <= deadline, "it counts from when the handler begins");
    assert_eq!(ended(&jobs, &short).state, RunState::Succeeded);
}

#[test]
fn what_has_not_begun_when_the_program_ends_is_given_back() {
    let place = folder("given-back");
    let (sender, receiver) = channel();
    let (begun_sender, begun) = channel();
    let open = || {
        let (sender, begun_sender) = (sender.clone(), begun_sender.clone());
        Jobs::open(&place)
            .unwrap()
            .threads(1)
            .handler("long", move |run: &Run, (): ()| {
                begun_sender.send(()).map_err(HandlerError::because)?;
                run.wait_for_stop(LONG).then_some(()).ok_or(HandlerError::because("not told"))
            })
            .handler("short", move |run: &Run, (): ()| {
                sender.send(run.attempt()).map_err(HandlerError::because)
            })
            .async_handler("future", |_: Run, (): ()| async { Done::Ok(()) })
            .spawner(|_| unreachable!("none is submitted"))
    };
    let jobs = open().start().unwrap();
    let long = jobs.once("long").submit().unwrap();
    heard(&begun);
    let short = jobs.once("short").submit().unwrap();
    wait_until(short.job(), &jobs, |record| record.state == RunState::Running);
    jobs.shutdown(LONG).unwrap();
    drop(jobs);
    assert!(receiver.try_recv().is_err(), "the one thread was held");
    let jobs = open().start().unwrap();
    assert_eq!(heard(&receiver), 2, "its first attempt is on record, and ran nothing");
    let record = ended(&jobs, &short);
    assert_eq!((record.state, record.forgiven), (RunState::Succeeded, 1), "no policy has it tried again");
    assert_eq!(ended(&jobs, &long).state, RunState::Succeeded);
    jobs.shutdown(LONG).unwrap();
}

#[test]
fn many_are_submitted_together_and_each_for_itself() {
    const COUNT: usize = 2_500;
    let (sender, receiver) = channel();
    let jobs = Jobs::open(folder("many"))
        .unwrap()
        .handler("count", move |_: &Run, number: usize| sender.send(number).map_err(HandlerError::because))
        .start()
        .unwrap();
    let submission = |number: usize| {
        let once = jobs.once("count").payload(&number);
        // One is no number, and one has the key of another.
        match number {
            7 => jobs.once("count").payload("seven"),
            1_500 | 1_501 => once.key("twice"),
            _ => once,
        }
    };
    let submitted = jobs.submit_all((0..COUNT).map(submission));
    assert_eq!(submitted.len(), COUNT);
    for (number, submitted) in submitted.iter().enumerate() {
        match (number, submitted) {
            (7, Err(error)) => assert!(matches!(error, Error::Unreadable { .. }), "{error}"),
            (1_501, Err(error)) => assert!(matches!(error, Error::Taken(_)), "{error}"),
            (_, submitted) => assert!(submitted.as_ref().unwrap().is_new, "{number}"),
        }
    }
    let mut found: Vec<usize> = (0..COUNT - 2).map(|_| heard(&receiver)).collect();
    found.sort_unstable();
    assert_eq!(found, (0..COUNT).filter(|number| ![7, 1_501].contains(number)).collect::<Vec<_>>());
}

#[test]
fn what_is_put_off_comes_again_after_a_restart_and_not_before_its_time() {
    const WAIT: Duration = Duration::from_secs(3);
    let place = folder("put-off");
    let (sender, receiver) = channel();
    let open = || {
        let sender = sender.clone();
        let wait = move |run: &Run, (): ()| {
            let now = mainspring_exec::clock::Moment::now().wall;
            sender.send((run.attempt(), run.due(), now)).map_err(HandlerError::because)?;
            if run.attempt() == 1 { Err(HandlerError::again_in(WAIT)) } else { Ok(()) }
        };
        Jobs::open(&place).unwrap().handler("wait", wait)
    };
    let jobs = open().start().unwrap();
    let submitted = jobs.once("wait").submit().unwrap();
    let (attempt, _, begun) = heard(&receiver);
    assert_eq!(attempt, 1);
    let record = wait_until(submitted.job(), &jobs, |record| record.state == RunState::Scheduled);
    assert_eq!(record.forgiven, 1, "no policy has it tried again");
    jobs.shutdown(LONG).unwrap();
    drop(jobs);
    assert!(receiver.try_recv().is_err(), "it is put off");
    let jobs = open().start().unwrap();
    let (attempt, due, again) = heard(&receiver);
    assert_eq!(attempt, 2, "its first attempt is on record");
    assert!(begun + WAIT <= due && due <= again, "begun at {begun}, due at {due}, again at {again}");
    let record = ended(&jobs, &submitted);
    assert_eq!((record.state, record.forgiven), (RunState::Succeeded, 1));
    assert_eq!(receiver.try_iter().count(), 0);
    jobs.shutdown(LONG).unwrap();
}
