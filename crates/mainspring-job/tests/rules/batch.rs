//! Batches: what waits for one starts when nothing of it waits or runs any more.

use mainspring_job::RunKey;

use super::*;

fn once(shell: &mut Shell, due: &str, policies: &str) -> OnceId {
    match shell.command(Command::Submit(Submission::new(at(due), work(policies)))) {
        Reply::Submitted { id, .. } => id,
        other => panic!("{other:?}"),
    }
}

fn key(id: OnceId) -> RunKey {
    RunKey::new(id.name(), id.due)
}

impl Shell {
    fn has_started(&self, id: OnceId) -> bool {
        self.started.iter().any(|start| start.key == key(id))
    }

    fn end_once(&mut self, id: OnceId, outcome: Outcome) {
        let attempt = self.planner.run(&key(id)).unwrap().attempt;
        self.tell(AttemptEnd::new(key(id), attempt, outcome).into());
        self.tell(Input::Tick);
    }
}

const NOW: &str = "2026-01-01T00:00:00Z";

#[test]
fn a_run_waits_for_the_last_member_whatever_its_end_and_for_its_retries() {
    let mut shell = Shell::new(NOW, Vec::new());
    let failing = once(&mut shell, NOW, "retry=1,backoff=1m,jitter=0% batch=b");
    let succeeding = once(&mut shell, NOW, "batch=b");
    let later = once(&mut shell, "2026-01-01T01:00:00Z", "batch=b");
    let other = once(&mut shell, NOW, "batch=c");
    let last = once(&mut shell, NOW, "after-batch=b");
    assert!(shell.has_started(failing) && shell.has_started(succeeding) && shell.has_started(other));
    shell.end_once(succeeding, Outcome::Succeeded);
    shell.end_once(failing, Outcome::Failed(Failure::Exit(1)));
    assert!(!shell.has_started(last), "one is tried again, and one is due later");
    shell.live("2026-01-01T00:30:00Z");
    shell.end_once(failing, Outcome::Failed(Failure::Exit(1)));
    assert!(!shell.has_started(last), "one is due later");
    shell.live("2026-01-01T01:00:00Z");
    assert!(shell.has_started(later) && !shell.has_started(last), "it runs");
    shell.end_once(later, Outcome::TimedOut);
    assert!(shell.has_started(last), "none is left but a dead letter, and the other batch is not its own");
}

#[test]
fn a_run_for_which_no_member_is_left_starts_when_it_is_due() {
    let mut shell = Shell::new(NOW, Vec::new());
    let (first, second) = (once(&mut shell, NOW, "after-batch=b"), "2026-01-01T00:01:00Z");
    assert!(shell.has_started(first));
    let second = once(&mut shell, second, "after-batch=b");
    shell.live("2026-01-01T00:00:59Z");
    assert!(!shell.has_started(second), "never early");
    shell.live("2026-01-01T00:01:00Z");
    assert!(shell.has_started(second));
}

#[test]
fn a_member_that_is_withdrawn_cancelled_or_missed_is_waited_for_no_more() {
    let mut shell = Shell::new(NOW, Vec::new());
    let withdrawn = once(&mut shell, "2026-02-01T00:00:00Z", "batch=b");
    let late = once(&mut shell, "2025-12-01T00:00:00Z", "misfire=none,grace=1s batch=c");
    assert!(!shell.has_started(late));
    let waiting = once(&mut shell, NOW, "retry=3,backoff=1h batch=b");
    shell.end_once(waiting, Outcome::Failed(Failure::Exit(1)));
    let last = once(&mut shell, NOW, "after-batch=b");
    let of_missed = once(&mut shell, NOW, "after-batch=c");
    assert!(!shell.has_started(last) && shell.has_started(of_missed));
    shell.command(Command::Withdraw(withdrawn));
    assert!(!shell.has_started(last), "one waits to be tried again");
    shell.command(Command::Cancel(key(waiting)));
    assert!(shell.has_started(last));
}

#[test]
fn a_member_that_another_submits_while_it_runs_is_waited_for() {
    let mut shell = Shell::new(NOW, Vec::new());
    let first = once(&mut shell, NOW, "batch=b");
    let last = once(&mut shell, NOW, "after-batch=b");
    let second = once(&mut shell, "2026-01-01T00:01:00Z", "batch=b");
    shell.end_once(first, Outcome::Succeeded);
    shell.live("2026-01-01T00:02:00Z");
    assert!(shell.has_started(second) && !shell.has_started(last));
    shell.end_once(second, Outcome::Succeeded);
    assert!(shell.has_started(last));
}

#[test]
fn what_waits_goes_on_waiting_with_the_next_planner_and_while_all_is_paused() {
    let mut shell = Shell::new(NOW, Vec::new());
    let member = once(&mut shell, "2026-01-01T00:10:00Z", "batch=b");
    let last = once(&mut shell, NOW, "after-batch=b");
    shell.boot();
    assert!(!shell.has_started(last));
    shell.live("2026-01-01T00:10:00Z");
    shell.boot();
    assert_eq!(shell.planner.run(&key(member)).map(|run| run.state), None, "it died with its server");
    assert!(shell.has_started(last), "which ended it");
    let member = once(&mut shell, "2026-01-01T00:10:00Z", "batch=c");
    let last = once(&mut shell, "2026-01-01T00:10:00Z", "after-batch=c");
    shell.command(Command::Pause(Scope::All, PauseTerms::default()));
    shell.end_once(member, Outcome::Succeeded);
    assert!(!shell.has_started(last));
    shell.command(Command::Resume(Scope::All));
    shell.tell(Input::Tick);
    assert!(shell.has_started(last));
}

#[test]
fn a_job_says_for_which_batch_it_waits() {
    let daily = job("report", "0 12 * * *", "after-batch=b");
    let mut shell = Shell::new(NOW, vec![daily]);
    let member = once(&mut shell, "2026-01-01T11:59:00Z", "batch=b");
    shell.live("2026-01-01T12:00:00Z");
    let holds = shell.holds(&name("report"));
    let [hold @ Hold::AfterBatch { batch, .. }] = &holds[..] else { panic!("{holds:?}") };
    assert_eq!(*batch, name("b"));
    assert!(hold.to_string().ends_with("is due, and something of batch b waits or runs"), "{hold}");
    shell.end_once(member, Outcome::Succeeded);
    assert!(shell.started.iter().any(|start| start.key.job == name("report")));
}

#[test]
fn many_that_wait_for_many_batches_start_each_after_its_own() {
    let mut shell = Shell::new(NOW, Vec::new());
    let ids: Vec<(OnceId, OnceId)> = (0..300)
        .map(|batch| {
            let member = once(&mut shell, NOW, &format!("batch=b{batch}"));
            (member, once(&mut shell, NOW, &format!("after-batch=b{batch}")))
        })
        .collect();
    for (member, last) in ids.iter().rev() {
        assert!(!shell.has_started(*last));
        shell.end_once(*member, Outcome::Succeeded);
        assert!(shell.has_started(*last));
    }
}
