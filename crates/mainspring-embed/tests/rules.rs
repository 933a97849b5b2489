//! The rules of job files, as a program says them, on a clock that a test moves.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};

use mainspring_cron::{Dialect, DstPolicy, Expression, ParseOptions, Schedule};
use mainspring_embed::jiff::tz::{Offset, TimeZone};
use mainspring_embed::{
    After, Bounds, Cron, DeadLetters, Every, HandlerError, ManualClock, Notice, NoticeKind, Options, Run,
    When,
};
use serde_json::Value;

use super::*;

const DAY: Duration = Duration::from_secs(86_400);

fn clock() -> ManualClock {
    ManualClock::at("2026-12-20T00:00:00Z".parse().unwrap())
}

fn done(_: &Run) -> Done {
    Ok(())
}

/// The nominal times of a job's runs, the first first.
fn times(jobs: &Jobs, job: &str) -> Vec<String> {
    jobs.runs_of(job, 1_000).unwrap().iter().rev().map(|run| run.key.nominal.to_string()).collect()
}

fn cron(text: &str) -> Cron {
    Cron::parse(text).unwrap()
}

#[test]
fn a_job_follows_the_success_the_failure_and_the_end_of_another() {
    let clock = clock();
    let extract =
        |run: &Run| if run.nominal().as_second() % (2 * 86_400) == 0 { Err("even") } else { Ok(()) };
    let jobs = Jobs::simulated(&clock)
        .job("load", After::success_of("extract"), done)
        .job("alarm", After::failure_of("extract"), done)
        .job("clean", After::end_of("extract"), done)
        .job("report", After::success_of("load"), done)
        .job("extract", cron("0 0 * * *"), extract)
        .start()
        .unwrap();
    clock.advance(4 * DAY);
    let counts = ["extract", "load", "alarm", "clean", "report"].map(|job| times(&jobs, job).len());
    assert_eq!(counts, [4, 2, 2, 4, 2]);
}

#[test]
fn what_is_followed_is_there_and_in_no_circle() {
    let clock = clock();
    let wrong = |builder: mainspring_embed::Builder| builder.start().unwrap_err().to_string();
    let open = || Jobs::simulated(&clock);
    let found = wrong(open().job("a", After::end_of("b"), done));
    assert!(found.contains("`a`: it follows `b`, and there is no such job"), "{found}");
    let circle = open().job("a", After::end_of("b"), done).job("b", After::end_of("a"), done);
    let found = wrong(circle);
    assert!(found.contains("follow each other in a circle: a, b"), "{found}");
}

#[test]
fn exclusions_a_start_and_an_end_leave_occurrences_out() {
    let clock = clock();
    let when = When::on(cron("0 11,12 * * *").zone("Europe/Berlin").unwrap())
        .except(cron("* 12 * * *").zone("Europe/Berlin").unwrap())
        .except_dates("2026-12-24".parse().unwrap(), "2026-12-26".parse().unwrap())
        .starting("2026-12-23T00:00:00Z".parse().unwrap())
        .ending("2026-12-28T00:00:00Z".parse().unwrap());
    let jobs = Jobs::simulated(&clock)
        .job("a", when, done)
        .job("b", When::on(Every::hours(24)).or(cron("30 6 20 12 *")), done)
        .start()
        .unwrap();
    clock.advance(10 * DAY);
    assert_eq!(times(&jobs, "a"), ["2026-12-23T10:00:00Z", "2026-12-27T10:00:00Z"]);
    assert_eq!(times(&jobs, "b")[..2], ["2026-12-20T06:30:00Z", "2026-12-21T00:00:00Z"]);
    let mixed = When::on(cron("0 1 * * *")).or(cron("0 2 * * *").zone("Europe/Berlin").unwrap());
    let wrong = Jobs::simulated(&clock).job("c", mixed, done).start().unwrap_err().to_string();
    assert!(wrong.contains("in one time zone"), "{wrong}");
}

#[test]
fn a_period_of_nothing_and_one_beyond_all_bounds_are_refused_at_the_start() {
    let clock = clock();
    let wrong = |when: When| Jobs::simulated(&clock).job("a", when, done).start().unwrap_err().to_string();
    for none in [Every::seconds(0), Every::minutes(0), Every::hours(0)] {
        let found = wrong(When::on(cron("0 3 * * *")).or(none));
        assert!(found.contains("`a`: ") && found.contains("a period must be longer than nothing"), "{found}");
    }
    let found = wrong(Every::hours(24 * 36_525 + 1).into());
    assert!(found.contains("`a`: ") && found.contains("36525"), "{found}");
    for whole in [Every::seconds(1), Every::hours(24 * 36_525)] {
        assert!(Jobs::simulated(&clock).job("a", whole, done).start().is_ok());
    }
}

#[test]
fn what_or_combines_has_one_span_and_excluded_days_are_in_their_order() {
    let clock = clock();
    let wrong = |when: When| Jobs::simulated(&clock).job("a", when, done).start().unwrap_err().to_string();
    let at = |text: &str| format!("{text}T00:00:00Z").parse().unwrap();
    let three = || When::on(cron("0 3 * * *"));
    let five = || When::on(cron("0 5 * * *"));
    for mixed in [
        three().starting(at("2027-01-02")).or(five().starting(at("2027-01-04"))),
        three().ending(at("2027-01-02")).or(five()),
        three().or(five().except(cron("* 12 * * *"))),
        three().or(five().or(three().starting(at("2027-01-02")))),
    ] {
        let found = wrong(mixed);
        assert!(found.contains("`starting`, `ending` and `except` after the last `or`"), "{found}");
    }
    let alike = |when: When| when.starting(at("2027-01-02")).except(cron("* 12 * * *"));
    assert!(Jobs::simulated(&clock).job("a", alike(three()).or(alike(five())), done).start().is_ok());
    let found = wrong(three().except_dates("2026-01-04".parse().unwrap(), "2026-01-02".parse().unwrap()));
    assert!(found.contains("2026-01-02, the last of the days that it excludes, comes before"), "{found}");
}

#[test]
fn a_schedule_that_the_text_of_a_job_cannot_say_is_refused_at_the_start() {
    let clock = clock();
    let start = |schedule: Schedule| Jobs::simulated(&clock).job("a", schedule, done).start();
    let berlin = || TimeZone::get("Europe/Berlin").unwrap();
    let parsed = |text: &str| Expression::parse(text).unwrap();
    let quartz = ParseOptions::new().with_dialect(Dialect::Quartz);
    for other in [
        Schedule::new(Expression::parse_with("0 0 12 ? * 6", &quartz).unwrap(), berlin()),
        Schedule::new(parsed("0 3 * * *"), TimeZone::fixed(Offset::constant(2))),
        Schedule::new(parsed("0 3 * * *"), berlin()).with_dst(DstPolicy::LITERAL),
    ] {
        let found = start(other).unwrap_err().to_string();
        assert!(found.contains("would be another one in a job file"), "{found}");
    }
    for same in ["0 3 * * mon-fri", "@daily", "@every 90s", "@at 2030-01-01T00:00:00Z", "30 0 3 L * *"] {
        start(Schedule::new(parsed(same), berlin())).unwrap();
    }
}

#[test]
fn a_hash_in_an_expression_is_that_of_the_jobs_name() {
    let clock = clock();
    let mut builder = Jobs::simulated(&clock);
    let names: Vec<String> = (0..20).map(|number| format!("job-{number}")).collect();
    for name in &names {
        builder = builder.job(name.as_str(), cron("H 3 * * *"), done);
    }
    let jobs = builder.start().unwrap();
    clock.advance(DAY);
    let mut minutes: Vec<String> = names.iter().flat_map(|name| times(&jobs, name)).collect();
    minutes.sort();
    minutes.dedup();
    assert!(10 < minutes.len(), "they are spread over the hour: {minutes:?}");
}

#[test]
fn a_handler_is_told_of_failures_recovery_and_silence() {
    let clock = clock();
    let (told, notices) = channel();
    let all = [NoticeKind::Failed, NoticeKind::Recovered, NoticeKind::Missed, NoticeKind::Silent];
    let is_broken = Arc::new(AtomicBool::new(true));
    let broken = Arc::clone(&is_broken);
    let jobs = Jobs::simulated(&clock)
        .job(
            Options::new("backup").notify("page", all).silent_after(3 * DAY),
            cron("0 3 * * *"),
            move |_: &Run| if broken.load(SeqCst) { Err("full") } else { Ok(()) },
        )
        .handler(Options::new("page").retry(2).backoff(DAY / 24), move |run: &Run, notice: Notice| {
            // What tells is tried again by its own rules.
            if run.attempt() == 1 {
                Err("busy".to_owned())
            } else {
                told.send(notice).map_err(|e| e.to_string())
            }
        })
        .start()
        .unwrap();
    let heard = || -> Vec<(String, u32)> {
        notices.try_iter().map(|notice: Notice| (notice.kind, notice.failures)).collect()
    };
    clock.advance(DAY);
    assert_eq!(heard(), [("failed".to_owned(), 1)]);
    clock.advance(4 * DAY);
    assert_eq!(heard(), [("failed".to_owned(), 2), ("silent".to_owned(), 3), ("failed".to_owned(), 4)]);
    is_broken.store(false, SeqCst);
    clock.advance(DAY);
    assert_eq!(heard(), [("recovered".to_owned(), 0)]);
    assert_eq!(jobs.runs_of("backup", 100).unwrap().len(), 6);
}

#[test]
fn a_notice_needs_a_handler_and_a_job_with_a_schedule() {
    let clock = clock();
    let open = || Jobs::simulated(&clock);
    let notified = || Options::new("backup").notify("page", [NoticeKind::Failed]);
    let none = open().job(notified(), Every::hours(1), done).start().unwrap_err().to_string();
    assert_eq!(none, "there is no handler `page`");
    let nothing = |_: &Run, (): ()| -> Done { Ok(()) };
    for (options, expected) in [
        (notified(), "`backup`: `notify` is for jobs with a schedule"),
        (Options::new("a").label("team", "ops"), "`a`: `labels` is for jobs with a schedule"),
        (Options::new("a").max_runs(1), "`a`: `max_runs` is for jobs with a schedule"),
    ] {
        assert_eq!(open().handler(options, nothing).start().unwrap_err().to_string(), expected);
    }
    let bad = open().job(Options::new("a").label("te am", "ops"), Every::hours(1), done).start();
    assert!(bad.unwrap_err().to_string().contains("is no name of a label"));
    let ended = Options::new("a").notify("page", [NoticeKind::Ended]);
    let page = |_: &Run, _: Notice| -> Done { Ok(()) };
    let bad = open().job(ended, Every::hours(1), done).handler("page", page).start();
    assert!(bad.unwrap_err().to_string().contains("not of ended"));
}

#[test]
fn a_group_has_no_more_runs_at_once_than_its_limit() {
    let clock = clock();
    let own: Arc<OnceLock<Jobs>> = Arc::default();
    let most = Arc::new(AtomicUsize::new(0));
    let (seen, asked) = (Arc::clone(&most), Arc::clone(&own));
    let jobs = Jobs::simulated(&clock)
        .handler(Options::new("charge").group("bank", 3), move |_: &Run, (): ()| -> Done {
            let runs = asked.get().unwrap().runs(100).unwrap();
            seen.fetch_max(runs.iter().filter(|run| is_running(run)).count(), SeqCst);
            Ok(())
        })
        .start()
        .unwrap();
    own.set(jobs.clone()).unwrap();
    for _ in 0..20 {
        jobs.once("charge").submit().unwrap();
    }
    clock.advance(DAY);
    assert_eq!(most.load(SeqCst), 3);
    assert_eq!(jobs.runs(100).unwrap().iter().filter(|run| run.state == RunState::Succeeded).count(), 20);
}

#[test]
fn a_group_has_no_more_starts_in_a_time_than_its_rate() {
    let clock = clock();
    let second = Duration::from_secs(1);
    let of = |name: &str, bounds: Bounds| Options::new(name).group("bank", bounds);
    let jobs = Jobs::simulated(&clock)
        .handler(of("charge", Bounds::rate(3, second)), |_: &Run, (): ()| -> Done { Ok(()) })
        .handler(of("refund", Bounds::rate(10, 60 * second)), |_: &Run, (): ()| -> Done { Ok(()) })
        .handler("mail", |_: &Run, (): ()| -> Done { Ok(()) })
        .start()
        .unwrap();
    for _ in 0..30 {
        jobs.once("charge").submit().unwrap();
        jobs.once("mail").submit().unwrap();
    }
    let started = || {
        let runs = jobs.runs(100).unwrap();
        let started = runs.iter().filter(|run| run.started.is_some());
        let is_of_bank = |run: &&Record| run.work.as_ref().is_some_and(|work| work.group.is_some());
        let (of_bank, others): (Vec<_>, Vec<_>) = started.partition(is_of_bank);
        (of_bank.len(), others.len())
    };
    clock.advance(second / 2);
    assert_eq!(started(), (3, 30), "no other waits for it");
    clock.advance(second);
    assert_eq!(started(), (6, 30));
    clock.advance(10 * second);
    assert_eq!(started(), (10, 30), "what another handler says of the group holds too");
    clock.advance(DAY);
    assert_eq!(started(), (30, 30));
}

#[test]
fn a_rate_outside_of_its_limits_is_told_at_the_start() {
    for (bounds, expected) in [
        (Bounds::rate(0, DAY), "`0` is no number of starts: expected a number from 1 to 10000"),
        (Bounds::rate(1, 2 * DAY), "`48h` is no period of a rate: expected a duration from 1ms to 24h"),
    ] {
        let options = Options::new("charge").group("bank", bounds);
        let builder = Jobs::simulated(&clock()).handler(options, |_: &Run, (): ()| -> Done { Ok(()) });
        let error = builder.start().unwrap_err().to_string();
        assert!(error.ends_with(&format!("group `bank`: {expected}")), "{error}");
    }
}

#[test]
fn history_is_kept_for_as_long_as_its_rule_says() {
    let clock = clock();
    let jobs = Jobs::simulated(&clock)
        .job(Options::new("often").retention(5, 90), Every::hours(1), done)
        .job(
            Options::new("dead").retry(1).backoff(DAY / 24).dead_letters(DeadLetters::Never).pause_after(2),
            Every::hours(6),
            |_: &Run| Err("no"),
        )
        .start()
        .unwrap();
    clock.advance(31 * DAY);
    let kept = times(&jobs, "often").len();
    assert!((5..100).contains(&kept), "{kept} of 744 are kept");
    let failed = jobs.runs_of("dead", 10).unwrap();
    assert!(failed.iter().all(|run| run.state == RunState::Failed), "{failed:?}");
    assert_eq!(failed.len(), 2, "two in a row pause it");
}

#[test]
fn a_key_counts_once_in_each_period() {
    let clock = clock();
    let jobs = Jobs::simulated(&clock).handler("digest", |_: &Run, _: String| Done::Ok(())).start().unwrap();
    let submit = |after: Duration| {
        let once = jobs.once("digest").key("ada").once_in(DAY).after(after).payload(&"x".to_owned());
        once.submit().unwrap().is_new
    };
    assert!(submit(Duration::ZERO));
    assert!(!submit(Duration::from_secs(86_399)), "it is the same day");
    assert!(submit(DAY), "the day in which it is due counts");
    clock.advance(DAY);
    assert!(!submit(Duration::ZERO), "that one was submitted the day before");
    assert!(submit(2 * DAY));
    // Of another handler's key, and without a period, nothing is known.
    assert!(jobs.once("digest").key("ada").payload(&"x".to_owned()).submit().unwrap().is_new);
    let longest = jobs.once("digest").key("bob").once_in(Duration::MAX).payload(&"x".to_owned());
    assert!(longest.submit().unwrap().is_new);
}

fn step(number: u32, tell: &impl Fn(String)) -> Result<(), HandlerError> {
    match number {
        0 => return Err(HandlerError::for_good("nothing")),
        1 => panic!("of the handler"),
        _ => tell(format!("step {number}")),
    }
    Ok(())
}

#[test]
fn code_around_all_handlers_sees_each_call_in_its_order_and_may_keep_it_back() {
    let clock = clock();
    let (sender, heard) = channel();
    let told = move |text: String| sender.send(text).unwrap();
    let (first, second, third) = (told.clone(), told.clone(), told.clone());
    let (inner, outer, handler) = (told.clone(), told.clone(), told);
    let is_closed = Arc::new(AtomicBool::new(false));
    let closed = Arc::clone(&is_closed);
    let jobs = Jobs::simulated(&clock)
        .spawner(|_| panic!("a simulation polls what is ready by itself"))
        .around(move |run, next| {
            first(format!("first {}", run.job()));
            let ended = next.call();
            first(format!("first {}", ended.as_ref().map_or_else(HandlerError::message, |()| "done")));
            ended
        })
        .handler("step", move |_: &Run, number: u32| step(number, &handler))
        .job("tick", Every::hours(24 * 365), done)
        .async_handler("later", move |_: Run, number: u32| {
            third(format!("future {number}"));
            async move { Done::Ok(()) }
        })
        .around(move |_, next| match closed.load(SeqCst) {
            true => Err(HandlerError::again_in(Duration::from_secs(60))),
            false => {
                second("second".to_owned());
                next.call()
            }
        })
        .async_around(move |run, future| {
            outer(format!("outer {}", run.job()));
            future
        })
        .async_around(move |_, future| {
            let inner = inner.clone();
            async move {
                let ended = future.await;
                inner(format!("inner {:?}", ended.as_ref().map_err(HandlerError::message)));
                ended
            }
        })
        .start()
        .unwrap();
    let runs = |name: &str| jobs.runs_of(name, 10).unwrap();
    let submit = |handler: &str, payload: &str, expected: &[&str]| {
        let once = jobs.once(handler).name("it").payload(&serde_json::from_str::<Value>(payload).unwrap());
        let submitted = once.submit();
        clock.advance(Duration::from_millis(1));
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), expected, "{handler} {payload}");
        submitted.unwrap()
    };
    submit("step", "7", &["first it", "second", "step 7", "first done"]);
    submit("step", "0", &["first it", "second", "first nothing"]);
    submit("step", "1", &["first it", "second"]);
    assert!(format!("{:?}", runs("it")[0].outcome).contains("of the handler"), "{:?}", runs("it"));
    submit("later", "3", &["outer it", "future 3", "inner Ok(())"]);
    jobs.run_now("tick").unwrap();
    clock.advance(Duration::from_millis(1));
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["first tick", "second", "first done"]);
    is_closed.store(true, SeqCst);
    submit("step", "9", &["first it", "first it is to be called again later"]);
    is_closed.store(false, SeqCst);
    clock.advance(Duration::from_secs(61));
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["first it", "second", "step 9", "first done"]);
}
