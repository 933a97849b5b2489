//! One-shot jobs between the read that finds them due and their run.

use super::*;

fn submit(shell: &mut Shell, due: &str) -> OnceId {
    let submission = Submission::new(at(due), work(""));
    match shell.command(Command::Submit(submission)) {
        Reply::Submitted { id, .. } => id,
        reply => panic!("{reply:?}"),
    }
}

/// Two jobs that are due at one time, the first of which runs; there is no room for the second, which was
/// read.
fn with_one_that_was_read() -> (Shell, OnceId) {
    let mut limits = Limits::default();
    limits.max_open = 1;
    let mut shell = Shell::with("2026-01-01T00:00:00Z", Vec::new(), Vec::new(), limits);
    submit(&mut shell, "2026-01-01T00:00:10Z");
    let second = submit(&mut shell, "2026-01-01T00:00:10Z");
    shell.live("2026-01-01T00:00:10Z");
    assert_eq!(shell.started.len(), 1);
    assert_eq!(shell.planner.lookahead_count(), 1, "it was read, and waits for room");
    (shell, second)
}

#[test]
fn what_was_read_fires_when_there_is_room() {
    let (mut shell, _) = with_one_that_was_read();
    shell.end(0, Outcome::Succeeded);
    shell.live("2026-01-01T00:00:11Z");
    assert_eq!(shell.started.len(), 2);
    assert_eq!((shell.planner.lookahead_count(), shell.store.counts().unwrap().pending), (0, 0));
}

#[test]
fn what_is_due_when_it_is_submitted_starts_with_the_commit_of_that_and_is_read_from_nowhere() {
    let mut shell = Shell::new("2026-01-01T00:00:00Z", Vec::new());
    shell.live("2026-01-01T00:00:10Z");
    let load_count = shell.load_count;
    let id = submit(&mut shell, "2026-01-01T00:00:10Z");
    let names: Vec<JobName> = shell.started.iter().map(|start| start.key.job.clone()).collect();
    assert_eq!((names, shell.load_count), (vec![id.name()], load_count));
    assert_eq!((shell.planner.lookahead_count(), shell.store.counts().unwrap().pending), (0, 0));
}

#[test]
fn what_is_due_when_it_is_submitted_does_not_overtake_what_waits() {
    let mut shell = Shell::new("2026-01-01T00:00:00Z", Vec::new());
    shell.live("2026-01-01T00:00:10Z");
    assert_eq!(shell.command(Command::Pause(Scope::All, PauseTerms::default())), Reply::Done);
    let first = submit(&mut shell, "2026-01-01T00:00:10Z");
    assert_eq!(shell.started.len(), 0, "all is paused");
    assert_eq!(shell.command(Command::Resume(Scope::All)), Reply::Done);
    let second = submit(&mut shell, "2026-01-01T00:00:10Z");
    shell.live("2026-01-01T00:00:11Z");
    let names: Vec<JobName> = shell.started.iter().map(|start| start.key.job.clone()).collect();
    assert_eq!(names, [first.name(), second.name()]);
}

#[test]
fn what_an_earlier_planner_was_asked_for_keeps_its_id_and_is_done_once() {
    let mut shell = Shell::new("2026-01-01T00:00:00Z", Vec::new());
    shell.live("2026-01-01T00:00:10Z");
    let due = at("2026-01-01T00:00:05Z");
    for earlier in [OnceId { due, number: 3 }, OnceId::drawn(due, 3)] {
        is_done_once(&mut shell, earlier);
    }
    assert_eq!(shell.started.len(), 2);
}

fn is_done_once(shell: &mut Shell, earlier: OnceId) {
    let started_count = shell.started.len();
    // The loop takes what is due about now for due by its own clock: the id says when it is.
    let mut submission = Submission::new(earlier.due - std::time::Duration::from_millis(1), work(""));
    submission.earlier = Some(earlier);
    let command = Command::Submit(submission);
    let expected = Reply::Submitted { id: earlier, name: earlier.name() };
    assert_eq!(shell.command(command.clone()), expected);
    shell.live("2026-01-01T00:00:11Z");
    assert!(!matches!(shell.command(command), Reply::Submitted { .. }), "it is there");
    shell.live("2026-01-01T00:00:12Z");
    assert_eq!(shell.started.len(), started_count + 1);
}

#[test]
fn what_is_withdrawn_after_it_was_read_does_not_fire() {
    let (mut shell, second) = with_one_that_was_read();
    assert_eq!(shell.command(Command::Withdraw(second)), Reply::Done);
    shell.end(0, Outcome::Succeeded);
    shell.live("2026-01-01T01:00:00Z");
    assert_eq!(shell.started.len(), 1);
    assert_eq!(shell.notes, [], "nothing was refused");
}

#[test]
fn what_was_read_is_not_early_after_the_clock_was_set_back() {
    let (mut shell, _) = with_one_that_was_read();
    shell.wake("2026-01-01T00:00:05Z");
    shell.end(0, Outcome::Succeeded);
    shell.live("2026-01-01T00:00:09.999Z");
    assert_eq!(shell.started.len(), 1, "it is not due");
    shell.live("2026-01-01T00:00:10Z");
    assert_eq!(shell.started.len(), 2);
}

#[test]
fn a_near_job_that_is_withdrawn_costs_one_look_and_leaves_nothing() {
    let mut shell = Shell::new("2026-01-01T00:00:00Z", Vec::new());
    let id = submit(&mut shell, "2026-01-01T00:00:10Z");
    assert_eq!(shell.command(Command::Withdraw(id)), Reply::Done);
    let load_count = shell.load_count;
    shell.live("2026-01-01T00:00:20Z");
    assert_eq!((shell.started.len(), shell.planner.lookahead_count()), (0, 0));
    assert_eq!(shell.load_count, load_count + 1);
}

#[test]
fn a_crowd_that_is_due_at_once_fires_whole_in_the_order_of_submission() {
    let mut limits = Limits::default();
    (limits.per_turn, limits.page, limits.max_lookahead) = (7, 10, 20);
    let mut shell = Shell::with("2026-01-01T00:00:00Z", Vec::new(), Vec::new(), limits);
    let ids: Vec<OnceId> = (0..100).map(|_| submit(&mut shell, "2026-01-01T00:00:10Z")).collect();
    assert!(shell.planner.lookahead_count() <= 20);
    shell.live("2026-01-01T00:00:10Z");
    let names: Vec<JobName> = shell.started.iter().map(|start| start.key.job.clone()).collect();
    assert_eq!(names, ids.iter().map(|id| id.name()).collect::<Vec<_>>());
}

/// Tells the planner something, and returns the one read of the store that it asks for.
fn read_after(shell: &mut Shell, now: &str, input: Input) -> (Timestamp, usize) {
    shell.now = at(now);
    let mut outputs = Vec::new();
    shell.planner.handle(shell.now, input, &mut outputs);
    let [Output::Load { up_to, limit }] = outputs[..] else { panic!("{outputs:?}") };
    (up_to, limit)
}

/// What is reported when the store is too busy to be read.
fn busy() -> Input {
    Input::Loaded { pending: Vec::new(), is_complete: false }
}

#[test]
fn what_a_busy_store_did_not_tell_fires_at_its_time_after_the_clock_was_set_back() {
    let mut shell = Shell::new("2026-01-01T00:00:00Z", Vec::new());
    submit(&mut shell, "2026-01-01T00:00:10Z");
    read_after(&mut shell, "2026-01-01T00:00:10Z", Input::Tick);
    shell.now = at("2026-01-01T00:00:05Z");
    shell.tell(busy());
    shell.live("2026-01-01T00:00:09.999Z");
    assert_eq!(shell.started.len(), 0, "it is not due");
    shell.live("2026-01-01T00:00:10Z");
    assert_eq!(shell.started.len(), 1);
}

#[test]
fn what_a_full_portion_left_out_fires_at_its_time_after_the_clock_was_set_back() {
    let mut limits = Limits::default();
    limits.per_turn = 1;
    let mut shell = Shell::with("2026-01-01T00:00:00Z", Vec::new(), Vec::new(), limits);
    let first = submit(&mut shell, "2026-01-01T00:00:09Z");
    submit(&mut shell, "2026-01-01T00:00:10Z");
    // The ids of both leave, one after the other, until the store tells of the first.
    read_after(&mut shell, "2026-01-01T00:00:09Z", Input::Tick);
    let (up_to, limit) = read_after(&mut shell, "2026-01-01T00:00:10Z", busy());
    let pending = shell.store.load(OnceId::first_at(Timestamp::MIN), up_to, limit).unwrap();
    assert_eq!(pending.iter().map(|once| once.id).collect::<Vec<_>>(), [first]);
    shell.now = at("2026-01-01T00:00:05Z");
    shell.tell(Input::Loaded { pending, is_complete: false });
    shell.live("2026-01-01T00:00:09Z");
    assert_eq!(shell.started.len(), 1, "the second is not due");
    shell.live("2026-01-01T00:00:10Z");
    assert_eq!(shell.started.len(), 2);
}
