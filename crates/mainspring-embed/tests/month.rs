//! A month of jobs, on a clock that a test moves.

use std::sync::{Arc, Mutex};

use mainspring_embed::{CatchUp, Cron, Error, Every, HandlerError, ManualClock, Options, Run};

use super::*;

const DAY: Duration = Duration::from_secs(86_400);

fn clock() -> ManualClock {
    ManualClock::at("2026-01-01T00:00:00Z".parse().unwrap())
}

#[test]
fn a_month_of_cron_is_the_same_each_time() {
    let history = || {
        let clock = clock();
        let log = Arc::new(Mutex::new(Vec::new()));
        let (nightly, often) = (Arc::clone(&log), Arc::clone(&log));
        let berlin = Cron::parse("0 3 * * mon-fri").unwrap().zone("Europe/Berlin").unwrap();
        let jobs = Jobs::simulated(&clock)
            .job(
                Options::new("nightly").retry(2).backoff(Duration::from_secs(60)),
                berlin,
                move |run: &Run| {
                    nightly.lock().unwrap().push(format!("{} #{}", run.key(), run.attempt()));
                    if run.attempt() == 1 && run.nominal().as_second() % 7 == 0 {
                        Err("seven")
                    } else {
                        Ok(())
                    }
                },
            )
            .job("often", Every::minutes(10), move |run: &Run| -> Done {
                often.lock().unwrap().push(run.key().to_string());
                Ok(())
            })
            .start()
            .unwrap();
        clock.advance(31 * DAY);
        let states: Vec<(String, String)> = jobs
            .runs(10_000)
            .unwrap()
            .iter()
            .map(|run| (run.key.to_string(), run.state.to_string()))
            .collect();
        let log = log.lock().unwrap().clone();
        (log, states)
    };
    let (log, states) = history();
    let nights = log.iter().filter(|line| line.starts_with("nightly") && line.ends_with("#1")).count();
    assert_eq!(nights, 22, "the working days of January 2026");
    assert_eq!(log.iter().filter(|line| line.starts_with("often")).count(), 31 * 144);
    assert!(states.iter().all(|(_, state)| state == "succeeded"));
    assert_eq!(history(), (log, states));
}

#[test]
fn a_handler_may_submit_and_what_it_submits_runs_in_its_turn() {
    let clock = clock();
    let jobs = Jobs::simulated(&clock)
        .handler("count", |run: &Run, left: u32| -> Result<(), HandlerError> {
            if 0 < left {
                run.jobs().once("count").after(DAY).payload(&(left - 1)).submit()?;
            }
            Ok(())
        })
        .start()
        .unwrap();
    jobs.once("count").payload(&30).submit().unwrap();
    clock.advance(Duration::ZERO);
    assert_eq!(jobs.runs(100).unwrap().iter().filter(|run| !run.state.is_open()).count(), 1);
    clock.advance(31 * DAY);
    assert_eq!(jobs.runs(100).unwrap().len(), 31);
}

#[test]
fn a_saga_step_is_tried_again_and_ends_as_a_dead_letter() {
    let clock = clock();
    let options = Options::new("charge").retry(3).backoff(Duration::from_secs(10));
    let jobs = Jobs::simulated(&clock)
        .handler(options, |_: &Run, card: u32| if card == 0 { Err("declined") } else { Ok(()) })
        .start()
        .unwrap();
    let good = jobs.once("charge").payload(&7).submit().unwrap();
    let bad = jobs.once("charge").payload(&0).submit().unwrap();
    clock.advance(DAY);
    let record = |submitted: &SubmittedJob| jobs.runs_of(submitted.job(), 1).unwrap().remove(0);
    assert_eq!(record(&good).state, RunState::Succeeded);
    let bad = record(&bad);
    assert_eq!((bad.state, bad.attempt), (RunState::Dead, 4));
    assert_eq!(bad.outcome.unwrap().to_string(), "failed: declined");
}

#[test]
fn a_future_is_polled_until_it_is_ready() {
    let clock = clock();
    let jobs = Jobs::simulated(&clock)
        .spawner(|_| unreachable!("a simulation polls itself"))
        .async_job(Options::new("tick").misfire(CatchUp::None), Every::hours(1), |run: Run| async move {
            std::future::ready(()).await;
            if run.attempt() == 1 { Ok(()) } else { Err("again") }
        })
        .start()
        .unwrap();
    clock.advance(DAY);
    assert_eq!(jobs.runs_of("tick", 100).unwrap().len(), 24);
}

/// What the audit log says, the first first.
fn audited(jobs: &Jobs) -> Vec<String> {
    let rows = jobs.audit(100).unwrap();
    let text = |row: &mainspring_job::AuditRow| {
        format!("{} {} {}", row.audit.actor, row.audit.action, row.audit.target)
    };
    rows.iter().rev().map(text).collect()
}

#[test]
fn what_the_program_asks_for_is_in_the_audit_log() {
    let on_disk = Jobs::open(folder("audit")).unwrap();
    let clock = clock();
    for builder in [on_disk, Jobs::simulated(&clock)] {
        let jobs = builder
            .job("tick", Every::hours(24 * 365), |_: &Run| -> Done { Ok(()) })
            .handler("once", |_: &Run, (): ()| -> Done { Ok(()) })
            .start()
            .unwrap();
        jobs.pause("tick").unwrap();
        jobs.resume("tick").unwrap();
        let once = jobs.once("once").after(LONG * 60).submit().unwrap().id.unwrap();
        jobs.withdraw(once).unwrap();
        let run = jobs.run_now("tick").unwrap();
        let cancelled = match jobs.cancel(&run) {
            Ok(()) => Some(format!("program cancel {run}")),
            // It has ended before. What is refused leaves no row.
            Err(_) => None,
        };
        jobs.forget("tick").unwrap();
        let mut expected = vec![
            "program pause tick".to_owned(),
            "program resume tick".to_owned(),
            format!("program cancel {once}"),
            "program run tick".to_owned(),
        ];
        expected.extend(cancelled);
        expected.push("program remove tick".to_owned());
        assert_eq!(audited(&jobs), expected);
    }
}

#[test]
fn a_handler_that_is_to_be_called_again_later_has_not_failed() {
    const WAIT: Duration = Duration::from_secs(300);
    let clock = clock();
    let calls = Arc::new(Mutex::new(0));
    let (called, counted) = (Arc::clone(&calls), Arc::clone(&calls));
    let jobs = Jobs::simulated(&clock)
        .handler("export", move |run: &Run, (): ()| {
            *called.lock().unwrap() += 1;
            if run.attempt() < 3 { Err(HandlerError::again_in(WAIT)) } else { Ok(()) }
        })
        .async_handler("at-once", |run: Run, (): ()| async move {
            if run.attempt() < 3 {
                Err(HandlerError::again_in(Duration::ZERO))
            } else {
                Ok::<(), HandlerError>(())
            }
        })
        .spawner(|_| unreachable!("a simulation polls futures itself"))
        .start()
        .unwrap();
    let state = |job: &str| jobs.runs_of(job, 1).unwrap()[0].clone();
    let export = jobs.once("export").submit().unwrap();
    let at_once = jobs.once("at-once").submit().unwrap();
    clock.advance(Duration::from_millis(999));
    assert_eq!(state(at_once.job()).state, RunState::Scheduled, "for a second at least");
    clock.advance(Duration::from_millis(1_001));
    assert_eq!(state(at_once.job()).state, RunState::Succeeded);
    clock.advance(WAIT - Duration::from_secs(3));
    assert_eq!((*counted.lock().unwrap(), state(export.job()).state), (1, RunState::Scheduled));
    clock.advance(WAIT + Duration::from_secs(3));
    let run = state(export.job());
    assert_eq!((*counted.lock().unwrap(), run.state, run.forgiven), (3, RunState::Succeeded, 2));
}

#[test]
fn a_simulated_run_that_is_cancelled_or_shut_down_is_told_to_stop_and_nothing_starts_after_the_end() {
    let clock = clock();
    let shared: Arc<std::sync::OnceLock<Jobs>> = Arc::default();
    let (cancels, ends) = (Arc::clone(&shared), Arc::clone(&shared));
    let jobs = Jobs::simulated(&clock)
        .job("cancels", Cron::parse("0 1 1 1 *").unwrap(), move |run: &Run| -> Done {
            cancels.get().unwrap().cancel(run.key()).unwrap();
            if run.is_stopping() { Err("told to stop".to_owned()) } else { Ok(()) }
        })
        .job("ends", Every::hours(24), move |run: &Run| -> Result<(), Error> {
            let jobs = ends.get().unwrap();
            assert_eq!(jobs.runs_of("cancels", 1)?[0].state, RunState::Cancelled);
            jobs.shutdown(Duration::ZERO)?;
            assert!(run.is_stopping());
            assert!(matches!(jobs.run_now("cancels"), Err(Error::Stopped)));
            Ok(())
        })
        .start()
        .unwrap();
    shared.set(jobs.clone()).unwrap();
    clock.advance(31 * DAY);
    assert!(matches!(jobs.runs(1), Err(Error::Stopped)));
    jobs.shutdown(Duration::ZERO).unwrap();
    assert_eq!(clock.now(), "2026-02-01T00:00:00Z".parse().unwrap());
}

#[test]
fn simulations_on_one_clock_go_on_in_turns() {
    let clock = clock();
    let log = Arc::new(Mutex::new(Vec::new()));
    let every = |name: &'static str, hours: u32| {
        let (log, own, clock) = (Arc::clone(&log), clock.clone(), clock.clone());
        let note = move |run: &Run| -> Done {
            assert_eq!(clock.now(), run.nominal());
            log.lock().unwrap().push((run.nominal(), name));
            Ok(())
        };
        Jobs::simulated(&own).job(name, Every::hours(hours), note).start().unwrap()
    };
    let simulations = [every("third", 3), every("second", 2)];
    clock.advance(DAY);
    let log = log.lock().unwrap();
    assert_eq!(log.len(), 8 + 12);
    assert!(log.is_sorted_by_key(|(at, _)| *at), "{log:?}");
    drop(simulations);
}
