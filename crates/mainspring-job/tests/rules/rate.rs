//! Rates: how many runs of a group start in a time, by the planner's clock.

use super::*;

/// A job of a group that has a run for each second, of which each waits for its turn.
fn of_group(text: &str, group: &str) -> Job {
    let mut job = job(text, "@every 1s", "overlap=allow misfire=all,cap=1000,spread=0s,grace=24h");
    Arc::make_mut(&mut job.work).group = Some(name(group));
    job
}

fn rated(rate: &str) -> Group {
    Group::rated(name("bank"), rate.parse().unwrap())
}

/// A shell whose planner has begun long ago.
fn shell(jobs: Vec<Job>, groups: Vec<Group>) -> Shell {
    let mut shell = Shell::with("2026-01-01T00:00:00.5Z", Vec::new(), groups, Limits::default());
    shell.live("2026-01-02T00:00:00.5Z");
    shell.jobs = jobs;
    shell.apply(shell.jobs.clone());
    shell
}

/// When the runs of a job have started, one after the other.
fn starts(shell: &Shell, of: &str) -> Vec<Timestamp> {
    let start = |operation: &Operation| match operation {
        Operation::Plan(run) if run.key.job.as_str() == of => run.started,
        Operation::Begin { key, at, .. } if key.job.as_str() == of => Some(*at),
        _ => None,
    };
    shell.operations.iter().filter_map(start).collect()
}

/// No span of the period has more of these starts than the rate allows.
fn assert_within(rate: &str, starts: &[Timestamp]) {
    let rate: Rate = rate.parse().unwrap();
    assert!(starts.is_sorted());
    for span in starts.windows(rate.starts() as usize + 1) {
        let length = span[span.len() - 1].duration_since(span[0]);
        assert!(rate.period() <= length.unsigned_abs(), "{} starts within {rate}: {span:?}", span.len());
    }
}

#[test]
fn no_span_of_a_period_has_more_starts_than_the_rate_allows_and_as_many_it_has() {
    for (rate, count) in [("1/1s", 60), ("1/2500ms", 24), ("3/10s", 18), ("2/1m", 2), ("100/1s", 60)] {
        let mut shell = shell(vec![of_group("a", "bank")], vec![rated(rate)]);
        shell.live("2026-01-02T00:01:00.7Z");
        let starts = starts(&shell, "a");
        assert_within(rate, &starts);
        assert_eq!(starts.len(), count, "{rate}: {starts:?}");
    }
}

#[test]
fn all_jobs_of_a_group_share_its_rate_and_no_other_waits_for_it() {
    let mut jobs = vec![of_group("low", "bank"), of_group("high", "bank"), of_group("free", "other")];
    Arc::make_mut(&mut jobs[1].work).priority = 5;
    let mut shell = shell(jobs, vec![rated("1/1s"), Group::new(name("other"), 1_000)]);
    shell.live("2026-01-02T00:00:30.7Z");
    assert_eq!(starts(&shell, "free").len(), 30);
    assert_eq!((starts(&shell, "high").len(), starts(&shell, "low").len()), (30, 0), "priority goes first");
}

#[test]
fn each_attempt_counts_one_that_is_given_back_too() {
    let mut shell = shell(vec![of_group("a", "bank")], vec![rated("2/10s")]);
    shell.wake("2026-01-02T00:00:01Z");
    assert_eq!(shell.started.len(), 1);
    shell.end(0, Outcome::Returned);
    assert_eq!(shell.started.len(), 2, "it begins again at once");
    shell.end(1, Outcome::Returned);
    shell.live("2026-01-02T00:00:10.9Z");
    assert_eq!(shell.started.len(), 2);
    shell.live("2026-01-02T00:00:11Z");
    assert_eq!(shell.started.len(), 4);
}

#[test]
fn a_limit_and_a_rate_hold_both() {
    let both = Group::new(name("bank"), 1).with_rate("2/10s".parse().unwrap());
    let mut shell = shell(vec![of_group("a", "bank")], vec![both]);
    shell.live("2026-01-02T00:00:05Z");
    assert_eq!(shell.started.len(), 1, "one at once");
    let [Hold::GroupFull { limit: 1, .. }] = &shell.holds(&name("a"))[..] else {
        panic!("it waits for the limit");
    };
    shell.end(0, Outcome::Succeeded);
    shell.end(1, Outcome::Succeeded);
    assert_eq!(shell.started.len(), 2, "and two in ten seconds");
    let holds = shell.holds(&name("a"));
    let [hold @ Hold::GroupRate { rate, until, .. }] = &holds[..] else { panic!("{holds:?}") };
    assert_eq!((rate.to_string().as_str(), *until), ("2/10s", at("2026-01-02T00:00:11Z")));
    assert_eq!(hold.code(), "group_rate");
    let text = hold.to_string();
    assert!(
        text.ends_with("is due, and group bank has had as many starts as its rate 2/10s allows"),
        "{text}"
    );
    let ends = hold.ends(&name("a"));
    assert!(ends.starts_with("2026-01-02T00:00:11Z, or `mainspring cancel a@"), "{ends}");
    assert_eq!(shell.planner.next_due(), Some(at("2026-01-02T00:00:06Z")), "the next of the timetable");
}

#[test]
fn the_planner_looks_when_the_rate_allows_the_next_start() {
    let jobs = vec![job("a", "@every 1h", "")];
    let mut shell = shell(jobs, vec![rated("1/10s")]);
    let mut once = |text: &str| {
        let mut of_bank = work("");
        of_bank.group = Some(name("bank"));
        let mut submission = Submission::new(shell.now, of_bank);
        submission.name = Some(name(text));
        shell.command(Command::Submit(submission));
        shell.tell(Input::Tick);
    };
    once("x");
    once("y");
    assert_eq!(shell.started_names(), "x");
    assert_eq!(shell.planner.next_due(), Some(at("2026-01-02T00:00:10.5Z")));
    shell.live("2026-01-02T00:00:10.5Z");
    assert_eq!(shell.started_names(), "x y");
    assert_eq!(shell.planner.next_due(), Some(at("2026-01-02T01:00:00Z")), "nothing waits any more");
}

#[test]
fn a_clock_that_is_set_back_holds_a_group_for_one_period_at_most() {
    let mut shell = shell(vec![of_group("a", "bank")], vec![rated("2/10s")]);
    shell.live("2026-01-02T00:00:05.5Z");
    assert_eq!(shell.started.len(), 2);
    shell.now = at("2026-01-01T20:00:00Z");
    shell.tell(Input::Tick);
    shell.live("2026-01-01T20:00:09.9Z");
    assert_eq!(shell.started.len(), 2, "both count as starts of now");
    shell.live("2026-01-01T20:00:10Z");
    assert_eq!(shell.started.len(), 4);
}

#[test]
fn a_new_planner_takes_all_as_started_for_the_period_or_ten_seconds() {
    for (rate, opens) in [("2/2s", 2), ("2/10s", 10), ("2/1h", 10)] {
        let mut shell = shell(vec![of_group("a", "bank")], vec![rated(rate)]);
        shell.live("2026-01-02T00:00:03.5Z");
        shell.tell(Input::Stop);
        for index in 0..shell.started.len() {
            shell.end(index, Outcome::Succeeded);
        }
        shell.started.clear();
        shell.boot();
        let opening = shell.now + SignedDuration::from_secs(opens);
        let before = opening - SignedDuration::from_nanos(1);
        shell.live(&before.to_string());
        assert_eq!(shell.started_names(), "", "{rate}");
        shell.live(&opening.to_string());
        assert_eq!(shell.started.len(), 2, "{rate}");
    }
}

#[test]
fn a_new_planner_knows_the_starts_of_open_runs() {
    // Runs go on at another worker than that of the server that dies.
    let mut shell = shell(vec![of_group("a", "bank")], vec![rated("2/1h")]).of_capacity(0);
    shell.others = vec![Worker::new(WorkerId(100), "other", 9).with_label("process".parse().unwrap(), 0)];
    shell.tell(Input::Worker(WorkerEvent::Present(shell.others[0].clone())));
    shell.live("2026-01-02T00:00:04Z");
    assert_eq!(shell.started.len(), 2);
    shell.boot();
    shell.live("2026-01-02T00:59:59Z");
    assert_eq!(shell.started.len(), 2, "both run, and count");
    shell.live("2026-01-02T01:00:02Z");
    assert_eq!(shell.started.len(), 4);
    assert_within("2/1h", &starts(&shell, "a"));
}

#[test]
fn the_first_planner_of_a_store_waits_for_nothing() {
    let mut store = MemoryStore::new();
    let lease = store.acquire(&Owner::new("first")).unwrap();
    let mut planner = Planner::new(lease.epoch, Limits::default());
    let now = at("2026-01-01T00:00:00Z");
    let mut tell =
        |planner: &mut Planner, input| mainspring_job::turn(planner, &mut store, lease, now, input).unwrap();
    let worker = Worker::new(WorkerId(1), "first", 9);
    tell(&mut planner, Input::Worker(WorkerEvent::Present(worker)));
    let definitions = Definitions::new("test", vec![of_group("a", "bank")]).with_groups(vec![rated("1/1h")]);
    tell(&mut planner, Input::Command { ticket: Ticket(1), command: Command::Apply(definitions) });
    tell(&mut planner, Input::Begin { takeover: lease.takeover });
    let run = Command::Trigger(RunRequest::new(name("a")));
    let outputs = tell(&mut planner, Input::Command { ticket: Ticket(2), command: run });
    assert!(outputs.iter().any(|output| matches!(output, Output::Start(_))), "{outputs:?}");
}

#[test]
fn a_run_of_a_group_with_a_rate_waits_at_no_worker() {
    let jobs = ["limited", "rated"].map(|group| {
        let mut job = of_group(group, group);
        let retry = &mut Arc::make_mut(&mut job.work).policies.retry;
        (retry.max, retry.on.abandoned) = (1, true);
        job
    });
    let groups =
        vec![Group::new(name("limited"), 100), Group::rated(name("rated"), "100/1s".parse().unwrap())];
    let mut shell = shell(jobs.to_vec(), groups).of_capacity(0);
    let ahead = Worker::new(WorkerId(100), "ahead", 2).with_ahead(9);
    let ahead = ahead.with_label("process".parse().unwrap(), 0);
    shell.tell(Input::Worker(WorkerEvent::Present(ahead)));
    shell.live("2026-01-02T00:00:05Z");
    assert_eq!(starts(&shell, "rated").len(), 1, "{}", shell.started_names());
    assert_eq!(starts(&shell, "limited").len(), 5);
    let holds = shell.planner.holds(&name("rated"), shell.now);
    assert!(matches!(&holds[..], [Hold::ServerFull { limit: 2, .. }]), "{holds:?}");
}

#[test]
fn the_rates_of_several_sources_hold_all_as_long_as_a_source_says_them() {
    let mut shell = shell(vec![of_group("a", "bank")], vec![rated("2/1s")]);
    let other = |rates: &[&str]| {
        let groups = rates.iter().map(|rate| rated(rate)).collect();
        Command::Apply(Definitions::new("other", Vec::new()).with_groups(groups).with_prune(Prune::Remove))
    };
    shell.command(other(&["3/1m", "2/1m"]));
    shell.live("2026-01-02T00:00:20Z");
    assert_eq!(shell.started.len(), 2);
    shell.command(other(&["3/1m"]));
    assert_eq!(shell.started.len(), 3, "what has started still counts");
    shell.command(other(&[]));
    shell.live("2026-01-02T00:00:30Z");
    assert_within("2/1s", &starts(&shell, "a"));
    assert!(10 < shell.started.len());
}

#[test]
fn a_rate_that_is_given_while_runs_are_in_line_holds_from_then_on() {
    let mut shell = shell(vec![of_group("a", "bank")], Vec::new()).of_capacity(1);
    shell.live("2026-01-02T00:00:10Z");
    assert_eq!(shell.started.len(), 1);
    shell.groups = vec![rated("1/10s")];
    shell.apply(shell.jobs.clone());
    let mut shell = shell.of_capacity(100);
    let waiting = shell.started.len();
    shell.live("2026-01-02T00:00:31Z");
    assert_within("1/10s", &starts(&shell, "a")[1..]);
    assert_eq!((waiting, shell.started.len()), (2, 4));
    shell.groups.clear();
    shell.apply(shell.jobs.clone());
    assert!(25 < shell.started.len(), "and no longer than it is given");
}
