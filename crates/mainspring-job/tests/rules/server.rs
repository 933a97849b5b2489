//! Events of the server: it crashes in a job, ends in good order, and starts.

use std::time::Duration;

use mainspring_job::Trigger;

use super::*;

/// Lives up to a time with a server that dies whenever this job starts, and starts again at once.
fn live_with_poison(shell: &mut Shell, poison: &str, until: &str) {
    let mut seen_count = shell.started.len();
    while let Some(due) = shell.planner.next_due().filter(|due| *due <= at(until)) {
        shell.now = shell.now.max(due);
        shell.tell(Input::Tick);
        while shell.started[seen_count..].iter().any(|start| start.key.job.as_str() == poison) {
            seen_count = shell.started.len();
            shell.boot();
        }
        seen_count = shell.started.len();
    }
    shell.now = at(until);
}

#[test]
fn a_job_that_kills_the_server_is_dead_after_three_times_and_all_others_run() {
    // Policies of the poison; its state in the end, and whether it is paused.
    let cases = [
        ("overlap=allow", "abandoned abandoned dead", true),
        ("retry=9,backoff=1s,on=abandoned", "dead", true),
        ("dead-letters=never retry=1,backoff=1s,on=abandoned", "abandoned abandoned", true),
        ("retry=1,backoff=1s,on=abandoned", "dead dead", true),
    ];
    for (policies, states, is_paused) in cases {
        let jobs = vec![job("poison", "* * * * *", policies), job("other", "* * * * *", "overlap=allow")];
        let mut shell = Shell::new("2026-01-01T00:00:30Z", jobs);
        live_with_poison(&mut shell, "poison", "2026-01-01T00:20:30Z");
        assert_eq!(shell.states("poison"), states, "{policies}");
        let reason = shell.runs("poison").pop().unwrap().reason;
        assert_eq!(reason, Some(Reason::CrashLoop(3)), "{policies}");
        let mark = shell.planner.jobs().find(|(job, _)| job.name == name("poison")).unwrap().1.clone();
        assert_eq!((mark.crashes, mark.pause.is_some()), (3, is_paused), "{policies}");
        assert!(shell.notes.contains(&Note::PausedAfterCrashes(name("poison"))), "{policies}");
        let others = shell.started.iter().filter(|start| start.key.job == name("other")).count();
        assert_eq!(others, 20, "{policies}");
        // A person who has mended it resumes it, and it begins again.
        assert_eq!(shell.command(Command::Resume(Scope::Job(name("poison")))), Reply::Done);
        shell.live("2026-01-01T00:21:00Z");
        let last = shell.started.iter().rposition(|start| start.key.job == name("poison")).unwrap();
        assert_eq!(shell.started[last].key.nominal, at("2026-01-01T00:21:00Z"));
        shell.end(last, Outcome::Succeeded);
        assert!(shell.planner.jobs().all(|(_, mark)| mark.crashes == 0), "{policies}");
    }
}

#[test]
fn a_one_shot_job_that_kills_the_server_is_dead_after_three_times() {
    let mut shell = Shell::new("2026-01-01T00:00:30Z", Vec::new());
    let work = Arc::new(work("retry=100,backoff=1s,on=failed+abandoned"));
    let submission = Submission::new(shell.now, work).with_name(name("poison"));
    shell.command(Command::Submit(submission));
    live_with_poison(&mut shell, "poison", "2026-01-01T01:00:00Z");
    assert_eq!(shell.started.len(), 3);
    let run = shell.runs("poison").remove(0);
    assert_eq!((run.state, run.why().as_str()), (RunState::Dead, "the server died in it 3 times"));
}

#[test]
fn what_was_running_when_the_server_died_twice_starts_one_at_a_time_until_it_has_outlived_its_probation() {
    let policies = "retry=9,backoff=0s,jitter=0%,on=abandoned";
    let names = ["a", "b", "c", "d"];
    let mut jobs: Vec<Job> = names.map(|text| job(text, "@every 1h", policies)).into();
    jobs.push(job("other", "@every 1m", ""));
    let mut shell = Shell::new("2026-01-01T00:59:30Z", jobs);
    shell.live("2026-01-01T01:00:00Z");
    shell.boot();
    assert_eq!(shell.started_names(), "a b c d other a b c d");
    shell.started.clear();
    shell.boot();
    assert_eq!(shell.started_names(), "a", "one at a time");
    shell.live("2026-01-01T01:00:09Z");
    assert_eq!(shell.started_names(), "a");
    shell.live("2026-01-01T01:00:10Z");
    assert_eq!(shell.started_names(), "a b", "a has outlived its probation");
    shell.end(1, Outcome::Succeeded);
    assert_eq!(shell.started_names(), "a b c", "b has ended");
    // The clock is set back: the probation takes no longer for that.
    shell.wake("2026-01-01T00:00:00Z");
    shell.tell(Input::Tick);
    shell.live("2026-01-01T00:00:10Z");
    assert_eq!(shell.started_names(), "a b c d");
    let crashes = |shell: &Shell| {
        shell.planner.jobs().map(|(_, mark)| mark.crashes.to_string()).collect::<Vec<_>>().join("")
    };
    assert_eq!(crashes(&shell), "00021");
    shell.boot();
    assert_eq!(crashes(&shell), "10131", "what outlived its probation counts from one");
}

#[test]
fn a_server_that_ends_in_good_order_counts_no_crashes() {
    let mut shell = Shell::new(
        "2026-01-01T00:59:30Z",
        vec![job("j", "@every 1m", "retry=9,backoff=1s,factor=1,on=abandoned")],
    );
    shell.live("2026-01-01T01:00:00Z");
    for _ in 0..5 {
        shell.store.release(shell.lease).unwrap();
        shell.boot();
        shell.live(&(shell.now + SignedDuration::from_secs(2)).to_string());
    }
    assert_eq!((shell.states("j").as_str(), shell.started.len()), ("running", 6));
}

#[test]
fn a_start_of_the_machine_is_due_until_it_is_skipped_and_one_of_the_server_always() {
    let mut server = job("server", "@reboot", "");
    server.timetable = Timetable::new([Trigger::ServerStart]).unwrap();
    let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("machine", "@reboot", ""), server]);
    let started = |shell: &Shell| -> Vec<_> {
        shell.started.iter().map(|start| (start.key.job.to_string(), start.cause)).collect()
    };
    let both = [("machine".to_owned(), Cause::Boot), ("server".to_owned(), Cause::Boot)];
    assert_eq!(started(&shell), both);
    shell.end(0, Outcome::Succeeded);
    shell.end(0, Outcome::Succeeded);
    shell.booted = Timestamp::MIN;
    shell.boot();
    assert_eq!(started(&shell)[2..], both[1..]);
}

#[test]
fn a_start_of_the_machine_is_due_if_the_job_has_neither_run_nor_been_defined_since() {
    let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("j", "@reboot", "")]);
    assert_eq!(shell.started_names(), "j");
    let takes_over = |shell: &mut Shell, time: &str, booted: &str| {
        let before = shell.started.len();
        (shell.now, shell.booted) = (at(time), at(booted));
        shell.boot();
        (before..shell.started.len()).for_each(|index| shell.end(index, Outcome::Succeeded));
        shell.started.len() - before
    };
    // It still runs, at a worker that outlives the planner.
    shell.others = vec![shell.worker()];
    assert_eq!(takes_over(&mut shell, "2026-01-01T01:00:00Z", "2026-01-01T00:20:00Z"), 0, "it runs since");
    shell.end(0, failed());
    assert_eq!(takes_over(&mut shell, "2026-01-01T02:00:00Z", "2026-01-01T00:20:00Z"), 0, "it has run since");
    let later = at("2026-01-02T00:00:00Z");
    shell.command(Command::Trigger(RunRequest::new(name("j")).at(later)));
    assert_eq!(takes_over(&mut shell, "2026-01-01T03:00:00Z", "2026-01-01T02:30:00Z"), 1, "another start");
    assert_eq!(takes_over(&mut shell, "2026-01-01T04:00:00Z", "2026-01-01T02:30:00Z"), 0, "it has run since");
    shell.jobs.push(job("new", "@reboot", ""));
    assert_eq!(takes_over(&mut shell, "2026-01-01T05:00:00Z", "2026-01-01T04:30:00Z"), 1, "a new one waits");
    assert_eq!(takes_over(&mut shell, "2026-01-01T06:00:00Z", "2026-01-01T05:30:00Z"), 2, "until the next");
}

#[test]
fn a_server_that_stops_starts_nothing_records_ends_and_writes_nothing_of_it() {
    let jobs =
        vec![job("a", "* * * * *", "overlap=queue-one retry=1,backoff=1s"), job("b", "@every 60s", "")];
    let mut shell = Shell::new("2026-03-01T09:59:30Z", jobs);
    shell.live("2026-03-01T10:01:10Z");
    let (started, written) = (shell.started.len(), shell.operation_count);
    shell.tell(Input::Stop);
    assert_eq!(shell.operation_count, written, "a stop is in no store");
    assert!(!shell.planner.is_paused(), "a stop is no pause");
    assert_eq!(shell.planner.next_due(), None, "nothing comes due any more");
    let reply = shell.command(Command::Trigger(RunRequest::new(name("b"))));
    assert!(matches!(reply, Reply::Planned { .. }), "what is asked for waits for the next server");
    shell.end(0, failed());
    shell.now = at("2026-03-01T10:05:00Z");
    shell.tell(Input::Tick);
    assert_eq!(shell.started.len(), started, "nothing starts");
    assert!(
        shell.states("a").contains("scheduled"),
        "the end and its retry are on disk: {}",
        shell.states("a")
    );
    assert!(shell.store.jobs().unwrap().1.is_none(), "the store knows of no pause");
    shell.boot();
    assert!(started < shell.started.len(), "the next server starts again");
}

#[test]
fn a_job_that_is_handed_over_keeps_its_pause_and_its_counts() {
    let jobs = vec![job("stays", "@every 1h", ""), job("moves", "@every 1h", "")];
    let mut shell = Shell::new("2026-01-01T00:30:00Z", jobs.clone());
    shell.live("2026-01-01T01:00:00Z");
    assert_eq!(shell.command(Command::Pause(Scope::Job(name("moves")), PauseTerms::default())), Reply::Done);
    let set = |source: &str, jobs: &[Job]| {
        Command::Apply(Definitions::new(source, jobs.to_vec()).with_prune(Prune::Remove))
    };
    // Without being handed over it is refused.
    let Reply::Applied(applied) = shell.command(set("other", &jobs[1..])) else { panic!("it is a set") };
    assert_eq!(applied.refused, [name("moves")]);
    let adopt = Command::Adopt { jobs: vec![name("moves"), name("unknown")], source: "other".to_owned() };
    assert_eq!(shell.command(adopt), Reply::Done);
    let Reply::Applied(applied) = shell.command(set("test", &jobs[..1])) else { panic!("it is a set") };
    assert_eq!((applied.removed.len(), applied.unchanged_count), (0, 1));
    let Reply::Applied(applied) = shell.command(set("other", &jobs[1..])) else { panic!("it is a set") };
    assert_eq!(applied.changed, [name("moves")]);
    let (records, _) = shell.store.jobs().unwrap();
    let record = records.iter().find(|record| record.mark.job == name("moves")).unwrap();
    assert_eq!(record.source.as_deref(), Some("other"));
    assert_eq!((record.mark.runs, record.mark.pause.is_some()), (1, true));
}

#[test]
fn an_attempt_ended_when_it_ended_and_not_when_the_planner_was_told() {
    let times = |age_s: u64| {
        let jobs = vec![job("j", "@every 1h", "retry=2,backoff=5s,jitter=0")];
        let mut shell = Shell::new("2026-01-01T00:30:00Z", jobs);
        shell.live("2026-01-01T01:00:00Z");
        shell.now = at("2026-01-01T01:00:09Z");
        let mut end = AttemptEnd::new(shell.started[0].key.clone(), 1, Outcome::Failed(Failure::Exit(1)));
        end.age = Duration::from_secs(age_s);
        shell.tell(end.into());
        let run = shell.runs("j").remove(0);
        (run.ended.unwrap(), run.due)
    };
    assert_eq!(times(0), (at("2026-01-01T01:00:09Z"), at("2026-01-01T01:00:14Z")));
    assert_eq!(times(3), (at("2026-01-01T01:00:06Z"), at("2026-01-01T01:00:11Z")), "it waits since it ended");
    assert_eq!(times(3_600), (at("2026-01-01T01:00:00Z"), at("2026-01-01T01:00:05Z")), "not before it began");
}

#[test]
fn a_receiver_may_put_the_next_attempt_off() {
    let jobs = vec![job("j", "@every 1h", "retry=2,backoff=1s,jitter=0")];
    let mut shell = Shell::new("2026-01-01T00:30:00Z", jobs);
    shell.live("2026-01-01T01:00:00Z");
    shell.end_until(0, Outcome::Failed(Failure::Status(429)), at("2026-01-01T01:00:30Z"));
    shell.live("2026-01-01T01:00:29Z");
    assert_eq!(shell.started.len(), 1);
    shell.live("2026-01-01T01:00:30Z");
    assert_eq!(shell.started.len(), 2);
    // It holds for one attempt, and never makes one earlier.
    shell.end_until(1, Outcome::Failed(Failure::Status(503)), at("2026-01-01T01:00:30Z"));
    shell.live("2026-01-01T01:00:31Z");
    assert_eq!(shell.started.len(), 2);
    shell.live("2026-01-01T01:00:32Z");
    assert_eq!(shell.started.len(), 3);
}

#[test]
fn a_handler_may_put_its_run_off_and_that_attempt_does_not_count() {
    for has_restart in [false, true] {
        let jobs = vec![job("j", "@every 24h", "retry=1,backoff=1s,jitter=0")];
        let mut shell = Shell::new("2026-01-01T23:30:00Z", jobs);
        shell.live("2026-01-02T00:00:00Z");
        shell.end_until(0, Outcome::Returned, at("2026-01-02T00:05:00Z"));
        let run = shell.runs("j").remove(0);
        let found = (run.state, run.due, run.reason, run.forgiven);
        let put_off = (RunState::Scheduled, at("2026-01-02T00:05:00Z"), Some(Reason::PutOff), 1);
        assert_eq!(found, put_off);
        if has_restart {
            shell.boot();
        }
        shell.live("2026-01-02T00:04:59Z");
        assert_eq!(shell.started.len(), 1, "restart: {has_restart}: {:?}", shell.started);
        shell.live("2026-01-02T00:05:00Z");
        assert_eq!(shell.started[1].attempt, 2);
        // Its one retry is left.
        shell.end(1, Outcome::Failed(Failure::Exit(1)));
        shell.live("2026-01-02T00:05:02Z");
        assert_eq!(shell.started[2].attempt, 3);
        shell.end(2, Outcome::Failed(Failure::Exit(1)));
        shell.live("2026-01-02T01:00:00Z");
        assert_eq!((shell.started.len(), shell.runs("j").remove(0).state), (3, RunState::Dead));
    }
}
