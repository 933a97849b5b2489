//! The effects of a job's hooks: one-shot jobs, submitted with what they tell of.

use std::time::Duration;

use super::*;
use mainspring_job::{Call, Hook, Hooks, MAX_NAME_CHARS, MAX_WAITING_CALLS, Notice, NoticeKind};

/// Has everything told to one target.
#[derive(Debug)]
struct ReportingHook;

impl Hook for ReportingHook {
    fn calls(&self, notice: &Notice) -> Vec<Call> {
        let text = format!("{} {} {}", notice.kind.name(), notice.job, notice.count);
        let mut work = Work::new(Action::new("process", text).unwrap());
        work.group = Some(name("tell"));
        // Pings have no target, as they are not put together.
        let target = (notice.kind != NoticeKind::Started).then(|| "one".to_owned());
        vec![Call::new(target, work)]
    }

    fn more(&self, target: &str) -> Option<Work> {
        Some(Work::new(Action::new("process", format!("more for {target}")).unwrap()))
    }

    fn silent_after(&self) -> Option<Duration> {
        Some(Duration::from_secs(3_600))
    }

    fn text(&self) -> String {
        "tells".to_owned()
    }
}

fn hooked(text: &str, expression: &str, policies: &str) -> Job {
    let mut job = job(text, expression, policies);
    job.hooks = Some(Hooks::new(ReportingHook));
    job
}

/// The newest run of `j` fails, and every notification that runs succeeds. Returns what was submitted by the
/// failure.
fn fail(shell: &mut Shell) -> Vec<String> {
    notices(shell);
    let last = shell.started.iter().rposition(|start| start.key.job == name("j")).unwrap();
    shell.end(last, failed());
    let of_failure = notices(shell);
    for index in 0..shell.started.len() {
        let start = &shell.started[index];
        let is_running = shell.planner.run(&start.key).is_some_and(|run| run.state == RunState::Running);
        if is_running && start.key.job != name("j") {
            shell.end(index, Outcome::Succeeded);
        }
    }
    of_failure
}

/// The newest run of `j` succeeds. Returns what was submitted by that.
fn succeed(shell: &mut Shell) -> Vec<String> {
    notices(shell);
    let last = shell.started.iter().rposition(|start| start.key.job == name("j")).unwrap();
    shell.end(last, Outcome::Succeeded);
    notices(shell)
}

/// What was submitted since the last time, as its action says.
fn notices(shell: &mut Shell) -> Vec<String> {
    let submitted = shell.operations.drain(..).filter_map(|operation| match operation {
        Operation::Submit(once) => Some(once.work.action.body().to_owned()),
        _ => None,
    });
    submitted.collect()
}

#[test]
fn what_happens_is_told_in_the_batch_that_records_it() {
    let mut shell = Shell::new("2026-01-01T00:59:30Z", vec![hooked("j", "*/10 * * * *", "")]);
    shell.operations.clear();
    shell.live("2026-01-01T01:00:00Z");
    assert_eq!(notices(&mut shell), ["started j 1"]);
    shell.batch_sizes.clear();
    shell.end(0, failed());
    assert_eq!(shell.batch_sizes.len(), 1);
    assert_eq!(notices(&mut shell), ["ended j 1", "failed j 1"]);
    // Of failures in a row the first, the second and the fourth.
    for (minute, expected) in [(10, 2), (20, 1), (30, 2)] {
        shell.live(&format!("2026-01-01T01:{minute}:00Z"));
        assert_eq!(fail(&mut shell).len(), expected, "{minute}");
    }
    shell.live("2026-01-01T01:40:00Z");
    assert_eq!(succeed(&mut shell), ["ended j 1", "recovered j 1"]);
}

#[test]
fn the_failure_that_pauses_a_job_is_told() {
    let mut shell = Shell::new("2026-01-01T00:59:30Z", vec![hooked("j", "*/10 * * * *", "pause-after=3")]);
    for (minute, expected) in [(0, 2), (10, 2), (20, 2)] {
        shell.live(&format!("2026-01-01T01:{minute:02}:00Z"));
        assert_eq!(fail(&mut shell).len(), expected, "{minute}");
    }
    shell.command(Command::Resume(Scope::Job(name("j"))));
    shell.live("2026-01-01T01:30:00Z");
    assert_eq!(succeed(&mut shell), ["ended j 1", "recovered j 1"], "a resume is no success");
}

#[test]
fn a_success_after_a_run_that_the_server_died_in_is_told_also_by_the_next_server() {
    for restart_count in [1, 2] {
        let mut shell = Shell::new("2026-01-01T00:59:30Z", vec![hooked("j", "*/10 * * * *", "")]);
        shell.live("2026-01-01T01:00:00Z");
        notices(&mut shell);
        for _ in 0..restart_count {
            shell.boot();
        }
        assert_eq!(notices(&mut shell), ["ended j 1", "failed j 1"]);
        shell.live("2026-01-01T01:10:00Z");
        assert_eq!(succeed(&mut shell), ["ended j 1", "recovered j 1"], "{restart_count} restarts");
        shell.boot();
        shell.live("2026-01-01T01:20:00Z");
        assert_eq!(succeed(&mut shell), ["ended j 1"]);
    }
}

#[test]
fn a_run_that_waits_five_minutes_for_what_no_worker_has_is_told_once() {
    let mut shell = Shell::new("2026-01-01T00:59:30Z", vec![hooked("j", "0 * * * *", "on=gpu")]);
    shell.operations.clear();
    shell.live("2026-01-01T01:04:59Z");
    assert_eq!(notices(&mut shell), [] as [&str; 0]);
    shell.live("2026-01-01T01:05:00Z");
    assert_eq!(notices(&mut shell), ["unserved j 1"]);
    shell.live("2026-01-01T01:20:00Z");
    assert_eq!(notices(&mut shell), [] as [&str; 0]);
    let worker = Worker::new(WorkerId(9), "w", 9).with_label("process".parse().unwrap(), 0);
    let worker = worker.with_label("gpu".parse().unwrap(), 0);
    shell.tell(Input::Worker(WorkerEvent::Present(worker)));
    let key = shell.started.last().unwrap().key.clone();
    shell.tell(Input::Ended(AttemptEnd::new(key, 1, Outcome::Succeeded)));
    shell.tell(Input::Worker(WorkerEvent::Gone { id: WorkerId(9), how: Takeover::Clean, silent: None }));
    assert_eq!(notices(&mut shell), ["started j 1", "ended j 1"]);
    // It is gone, and another wait begins.
    shell.command(Command::Trigger(RunRequest::new(name("j"))));
    shell.live("2026-01-01T01:24:59Z");
    assert_eq!(notices(&mut shell), [] as [&str; 0]);
    shell.live("2026-01-01T01:25:00Z");
    assert_eq!(notices(&mut shell), ["unserved j 1"]);
}

#[test]
fn a_job_is_not_told_of_a_one_shot_job_that_had_its_name_before() {
    for (policies, passes) in [("on=gpu", Shell::live as fn(&mut Shell, &str)), ("misfire=none", Shell::wake)]
    {
        let mut shell = Shell::new("2026-01-01T00:59:30Z", Vec::new());
        let once = Submission::new(at("2026-01-01T01:00:00Z"), work(policies)).with_name(name("j"));
        assert!(matches!(shell.command(Command::Submit(once)), Reply::Submitted { .. }));
        shell.apply(vec![hooked("j", "0 12 * * *", "")]);
        shell.operations.clear();
        passes(&mut shell, "2026-01-01T01:10:00Z");
        assert_eq!(notices(&mut shell), [] as [&str; 0], "{policies}");
        assert!(shell.started.is_empty());
    }
}

#[test]
fn a_start_is_told_once_for_all_attempts_of_a_run() {
    let job = hooked("j", "0 1 * * *", "retry=1,backoff=1s");
    let mut shell = Shell::new("2026-01-01T00:59:30Z", vec![job]);
    shell.operations.clear();
    shell.live("2026-01-01T01:00:00Z");
    shell.end(0, failed());
    shell.live("2026-01-01T01:01:00Z");
    assert_eq!(shell.started.iter().filter(|start| start.key.job == name("j")).count(), 2);
    assert_eq!(notices(&mut shell), ["started j 1"]);
}

#[test]
fn what_was_missed_is_told_once_for_each_record() {
    let mut shell = Shell::new("2026-01-01T00:59:30Z", vec![hooked("j", "0 * * * *", "misfire=none")]);
    shell.operations.clear();
    shell.wake("2026-01-01T04:30:00Z");
    let missed: Vec<String> =
        notices(&mut shell).into_iter().filter(|text| text.starts_with("missed")).collect();
    assert_eq!(missed, ["missed j 4"]);
}

#[test]
fn silence_is_told_while_nothing_runs_and_not_again_by_the_next_server() {
    let mut shell = Shell::new("2026-01-01T00:00:30Z", vec![hooked("j", "0 0 1 1 *", "")]);
    shell.operations.clear();
    // Of a job that has never succeeded it counts from its definition, whichever server knew that.
    shell.live("2026-01-01T00:40:00Z");
    shell.boot();
    shell.live("2026-01-01T01:00:29Z");
    assert_eq!(notices(&mut shell), [] as [String; 0]);
    shell.live("2026-01-01T01:00:30Z");
    assert_eq!(notices(&mut shell), ["silent j 1"]);
    let report = shell.started.len() - 1;
    shell.end(report, Outcome::Succeeded);
    shell.boot();
    shell.live("2026-01-01T05:00:00Z");
    assert_eq!(
        shell.runs("notify:j:silent:1").len(),
        1,
        "the next server reports the same silence: it is known"
    );
    notices(&mut shell);
    // A success ends it, and another hour begins.
    shell.command(Command::Trigger(RunRequest::new(name("j"))));
    let last = shell.started.iter().rposition(|start| start.key.job == name("j")).unwrap();
    shell.end(last, Outcome::Succeeded);
    notices(&mut shell);
    shell.live("2026-01-01T06:00:00Z");
    assert_eq!(notices(&mut shell), ["silent j 1"]);
    // One that was removed is new.
    shell.command(Command::Remove(name("j")));
    shell.live("2026-01-01T09:00:00Z");
    shell.apply(vec![hooked("j", "0 0 1 1 *", "")]);
    shell.boot();
    shell.live("2026-01-01T09:59:59Z");
    assert_eq!(notices(&mut shell), [] as [String; 0]);
    shell.live("2026-01-01T10:00:00Z");
    assert_eq!(notices(&mut shell), ["silent j 1"]);
}

/// How many notifications of each kind wait of a job of this name that has failed each minute for two hours,
/// while the only place for them is taken.
fn waiting(job: &str, limits: Limits) -> Vec<(String, usize)> {
    let group = Group::new(name("tell"), 1);
    let jobs = vec![hooked(job, "* * * * *", "")];
    let mut shell = Shell::with("2026-01-01T00:00:30Z", jobs, vec![group], limits);
    for minute in 1..=120 {
        shell.live(&(at("2026-01-01T00:00:00Z") + SignedDuration::from_mins(minute)).to_string());
        let last = shell.started.iter().rposition(|start| start.key.job == name(job)).unwrap();
        shell.end(last, failed());
    }
    shell.planner.check();
    let waiting = shell.planner.open_runs().filter(|run| run.state == RunState::Queued);
    let kinds = waiting.map(|run| run.key.job.as_str().split(':').nth(2).unwrap().to_owned());
    let mut counts = std::collections::BTreeMap::new();
    kinds.for_each(|kind| *counts.entry(kind).or_insert(0) += 1);
    counts.into_iter().collect()
}

#[test]
fn what_waits_of_a_job_has_a_bound_and_of_what_is_for_people_one_waits() {
    let counts = |expected: [(&str, usize); 4]| expected.map(|(kind, count)| (kind.to_owned(), count));
    let most = MAX_WAITING_CALLS;
    let full = [("ended", most), ("failed", 1), ("silent", 1), ("started", most)];
    for job in ["j", &"j".repeat(90), &"j".repeat(MAX_NAME_CHARS)] {
        assert_eq!(waiting(job, Limits::default()), counts(full), "{job}");
    }
    let mut limits = Limits::default();
    limits.max_open = 20;
    assert_eq!(waiting("j", limits), counts([("ended", 5), ("failed", 1), ("silent", 1), ("started", 3)]));
}

#[test]
fn of_a_storm_ten_are_told_one_by_one_and_one_says_that_there_are_more() {
    let jobs = (0..30).map(|index| hooked(&format!("j{index}"), "0 1 * * *", "overlap=allow")).collect();
    let mut shell = Shell::new("2026-01-01T00:59:30Z", jobs);
    shell.live("2026-01-01T01:00:00Z");
    notices(&mut shell);
    for index in 0..30 {
        shell.end(index, failed());
    }
    let notices = notices(&mut shell);
    assert_eq!(notices.iter().filter(|text| !text.starts_with("more")).count(), 10, "{notices:?}");
    let names = shell.store.load(OnceId::first_at(Timestamp::MIN), Timestamp::MAX, 1_000).unwrap();
    let more = names.iter().filter(|once| once.name.as_str().starts_with("notify:more:")).count();
    assert_eq!(more, 1, "the others are that one");
}

/// Has each failure told to one target, for the owner behind the `@` of a job.
#[derive(Debug)]
struct OwnersHook;

impl Hook for OwnersHook {
    fn calls(&self, notice: &Notice) -> Vec<Call> {
        let (_, owner) = notice.job.as_str().split_once('@').unwrap();
        let mut work = Work::new(Action::new("process", notice.job.as_str()).unwrap());
        work.group = Some(name(&format!("tell@{owner}")));
        let is_told = notice.kind == NoticeKind::Failed;
        is_told.then(|| Call::new(Some("one".to_owned()), work)).into_iter().collect()
    }

    fn more(&self, _target: &str) -> Option<Work> {
        Some(work(""))
    }

    fn silent_after(&self) -> Option<Duration> {
        None
    }

    fn text(&self) -> String {
        "of its owner".to_owned()
    }
}

#[test]
fn what_is_told_of_an_owner_takes_nothing_of_another() {
    for (max_open, told_count) in [(4, 4), (1_000, 10)] {
        let jobs = (0..12).map(|index| format!("j{index}@ada")).chain(["j@bob".to_owned()]);
        let hooked = |text: String| {
            let mut job = job(&text, "0 1 * * *", "");
            job.hooks = Some(Hooks::new(OwnersHook));
            job
        };
        let groups = vec![Group::new(name("tell@"), 1).with_max_open(max_open)];
        let jobs = jobs.map(hooked).collect();
        let mut shell = Shell::with("2026-01-01T00:59:30Z", jobs, groups, Limits::default());
        shell.live("2026-01-01T01:00:00Z");
        let bobs = shell.started.iter().position(|start| start.key.job == name("j@bob")).unwrap();
        let order = (0..13).filter(|index| *index != bobs).chain([bobs]);
        for index in order {
            shell.end(index, failed());
            shell.tell(Input::Tick);
        }
        let of =
            |text: &str| shell.planner.open_runs().filter(|run| run.key.job.as_str().contains(text)).count();
        assert_eq!((of("@ada"), of("@bob")), (told_count, 1), "{max_open}");
        // The one that runs of an owner leaves its place to none of another.
        let running = shell.planner.open_runs().filter(|run| run.state == RunState::Running).count();
        assert_eq!(running, 2, "{max_open}");
        let left = shell.notes.iter().filter(|note| matches!(note, Note::LeftOut { .. })).count();
        assert_eq!(left, if max_open == 4 { 8 } else { 0 });
        shell.planner.check();
    }
}
