//! Pauses: what counts as a failure in a row, and what a paused job does and does not.

use super::*;

fn paused(shell: &Shell) -> bool {
    shell.planner.jobs().any(|(_, mark)| mark.pause.is_some())
}

#[test]
fn only_a_run_that_failed_counts_and_only_one_that_succeeded_ends_the_row() {
    // How the runs of a job with pause-after=2 end: s succeeded, f failed, t timed out, c cancelled, a cut
    // off by the end of the server, o skipped; and whether it is paused then.
    let cases = [
        ("ff", "", true),
        ("tf", "", true),
        ("fsf", "", false),
        ("fcf", "", true),
        ("fof", "", true),
        ("faf", "", true),
        ("aaaa", "", false),
        ("fa", "", false),
        // Tried again on request: the run is a dead letter when its attempts are used up, and that is a
        // failure.
        ("aaaa", "retry=1,backoff=0s,on=abandoned", true),
        ("aaa", "retry=1,backoff=0s,on=abandoned", false),
    ];
    for (ends, policies, expected) in cases {
        let policies = format!("pause-after=2 overlap=queue-one {policies}");
        let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("j", "@every 1h", &policies)]);
        let mut count = 0;
        for end in ends.chars() {
            if shell.started.len() == count {
                shell.live(&(shell.now + SignedDuration::from_hours(1)).to_string());
            }
            assert_eq!(shell.started.len(), count + 1, "{ends}");
            let key = shell.started[count].key.clone();
            match end {
                's' => shell.end(count, Outcome::Succeeded),
                'f' => shell.end(count, failed()),
                't' => shell.end(count, Outcome::TimedOut),
                'c' => {
                    shell.command(Command::Cancel(key));
                    shell.end(count, Outcome::Killed);
                }
                'o' => {
                    // Two more come due while it runs: the first waits and succeeds, the second is skipped.
                    shell.live(&(shell.now + SignedDuration::from_hours(2)).to_string());
                    shell.command(Command::Cancel(key));
                    shell.end(count, Outcome::Killed);
                    shell.command(Command::Cancel(shell.started[count + 1].key.clone()));
                    count += 1;
                    shell.end(count, Outcome::Killed);
                }
                _ => {
                    shell.store.release(shell.lease).unwrap();
                    shell.boot();
                }
            }
            count += 1;
        }
        assert_eq!(paused(&shell), expected, "{ends} {policies}");
    }
}

#[test]
fn a_start_of_the_server_that_a_pause_leaves_out_is_on_record() {
    for scope in [Scope::All, Scope::Job(name("boot"))] {
        let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("boot", "@reboot", "")]);
        shell.end(0, Outcome::Succeeded);
        shell.command(Command::Pause(scope.clone(), PauseTerms::default()));
        shell.boot();
        let run = shell.runs("boot").pop().unwrap();
        assert_eq!(
            (run.state, run.why().as_str()),
            (RunState::SkippedPaused, "its job was paused"),
            "{scope:?}"
        );
        assert_eq!(shell.planner.jobs().next().unwrap().1.runs, 1, "and is not counted");
        shell.command(Command::Resume(scope));
        assert_eq!(shell.started.len(), 1, "it is over");
    }
}

#[test]
fn of_a_paused_job_a_run_by_hand_starts_and_a_dead_letter_that_is_tried_again_waits() {
    let mut shell =
        Shell::new("2026-01-01T00:30:00Z", vec![job("j", "0 * * * *", "pause-after=1 dead-letters=always")]);
    shell.live("2026-01-01T01:00:00Z");
    shell.end(0, failed());
    assert!(paused(&shell));
    let dead = Box::new(shell.runs("j").remove(0));
    assert_eq!(shell.command(Command::RetryDead(dead)), Reply::Done);
    shell.live("2026-01-01T01:10:00Z");
    let run = shell.runs("j").remove(0);
    assert_eq!((run.state, shell.started.len()), (RunState::Queued, 1));
    shell.command(Command::Trigger(RunRequest::new(name("j"))));
    assert_eq!(shell.started[1].cause, Cause::Request, "it does not wait for what the pause holds");
    shell.end(1, Outcome::Succeeded);
    shell.command(Command::Resume(Scope::Job(name("j"))));
    assert_eq!((shell.started.len(), shell.started[2].attempt), (3, 2));
}

#[test]
fn a_pause_for_a_while_ends_by_itself_also_after_a_restart() {
    for scope in [Scope::All, Scope::Job(name("j"))] {
        for restarts in [false, true] {
            let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("j", "0 * * * *", "")]);
            let until: Timestamp = "2026-01-01T03:30:00Z".parse().unwrap();
            let terms = PauseTerms::new("the disk is being replaced").until(until);
            assert_eq!(shell.command(Command::Pause(scope.clone(), terms.clone())), Reply::Done);
            assert_eq!(shell.planner.next_due(), Some(until), "{scope:?}: the end is what it waits for");
            if restarts {
                shell.live("2026-01-01T02:00:00Z");
                shell.boot();
                let restored = match &scope {
                    Scope::All => shell.planner.pause_terms().cloned(),
                    _ => shell.planner.jobs().next().map(|(_, mark)| mark.pause_terms.clone()),
                };
                assert_eq!(restored, Some(terms));
            }
            shell.live("2026-01-01T03:29:59Z");
            assert!(shell.started.is_empty(), "{scope:?} {restarts}");
            shell.live("2026-01-01T03:30:00Z");
            assert!(!shell.planner.is_paused() && !paused(&shell));
            let expected = match &scope {
                Scope::All => Note::AllPauseOver,
                _ => Note::PauseOver(name("j")),
            };
            assert_eq!(shell.notes.iter().filter(|note| **note == expected).count(), 1, "{:?}", shell.notes);
            let skipped = shell.runs("j").pop().unwrap();
            assert_eq!(
                (skipped.state, skipped.span.map(|span| span.count)),
                (RunState::SkippedPaused, Some(3))
            );
            shell.live("2026-01-01T04:00:00Z");
            assert_eq!(shell.started.len(), 1, "{scope:?} {restarts}");
        }
    }
}

#[test]
fn another_pause_takes_the_place_of_the_one_before() {
    let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("j", "0 * * * *", "")]);
    let scope = Scope::Job(name("j"));
    let soon = PauseTerms::default().until("2026-01-01T01:30:00Z".parse().unwrap());
    shell.command(Command::Pause(scope.clone(), soon));
    shell.command(Command::Pause(scope, PauseTerms::new("for good")));
    assert_eq!(shell.planner.next_of(&name("j")), None);
    shell.live("2026-01-01T05:00:00Z");
    assert!(shell.started.is_empty() && paused(&shell));
    let long = PauseTerms::new("x".repeat(2_000));
    let refusal = Reply::Refused(Refusal::NoteTooLong);
    assert_eq!(shell.command(Command::Pause(Scope::All, long)), refusal);
}

#[test]
fn a_pause_that_ends_by_itself_leaves_the_failures_in_a_row() {
    let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("j", "0 * * * *", "pause-after=5")]);
    let failures = |shell: &Shell| shell.planner.jobs().next().unwrap().1.failures;
    shell.live("2026-01-01T01:00:00Z");
    shell.end(0, failed());
    let scope = Scope::Job(name("j"));
    let terms = PauseTerms::default().until("2026-01-01T01:30:00Z".parse().unwrap());
    shell.command(Command::Pause(scope.clone(), terms));
    shell.live("2026-01-01T01:30:00Z");
    assert_eq!((paused(&shell), failures(&shell)), (false, 1));
    shell.command(Command::Pause(scope.clone(), PauseTerms::default()));
    shell.command(Command::Resume(scope));
    assert_eq!(failures(&shell), 0);
}

#[test]
fn a_pause_for_a_while_gives_way_to_one_after_failures() {
    let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("j", "0 * * * *", "pause-after=1")]);
    shell.live("2026-01-01T01:00:00Z");
    let terms = PauseTerms::new("new disk").until("2026-01-01T01:30:00Z".parse().unwrap());
    shell.command(Command::Pause(Scope::Job(name("j")), terms));
    shell.end(0, failed());
    shell.live("2026-01-01T03:00:00Z");
    let (_, mark) = shell.planner.jobs().next().unwrap();
    assert_eq!(
        (mark.pause, &mark.pause_terms),
        (Some(mainspring_job::Pause::Failures), &PauseTerms::default())
    );
    assert_eq!(shell.started.len(), 1);
}

#[test]
fn failures_behind_a_pause_without_an_end_outlast_one_with_an_end() {
    let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("j", "0 * * * *", "pause-after=1")]);
    shell.live("2026-01-01T01:00:00Z");
    let scope = Scope::Job(name("j"));
    shell.command(Command::Pause(scope.clone(), PauseTerms::new("new disk")));
    shell.end(0, failed());
    let pause_of = |shell: &Shell| shell.planner.jobs().next().unwrap().1.pause;
    assert_eq!(pause_of(&shell), Some(mainspring_job::Pause::Manual), "it rests already");
    let until = PauseTerms::new("an hour").until("2026-01-01T02:30:00Z".parse().unwrap());
    shell.command(Command::Pause(scope.clone(), until));
    shell.live("2026-01-01T05:00:00Z");
    let (_, mark) = shell.planner.jobs().next().unwrap();
    assert_eq!(
        (mark.pause, &mark.pause_terms),
        (Some(mainspring_job::Pause::Failures), &PauseTerms::new("an hour"))
    );
    assert_eq!(shell.started.len(), 1);
    shell.command(Command::Resume(scope));
    shell.live("2026-01-01T06:00:00Z");
    assert_eq!(shell.started.len(), 2, "a person has looked at it");
}

#[test]
fn who_asks_is_written_with_what_is_asked_and_not_with_what_is_refused() {
    let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("j", "0 * * * *", "")]);
    for (index, job) in ["j", "unknown", "j"].into_iter().enumerate() {
        shell.tell(Input::Audit(Audit::new(shell.now, format!("user {index}"), "pause", job)));
        let before = shell.batch_sizes.len();
        shell.command(Command::Pause(Scope::Job(name(job)), PauseTerms::default()));
        if job == "j" {
            assert_eq!(shell.batch_sizes[before..], [2], "the mark and the row are one batch");
        }
    }
    // No person is named for this one.
    shell.command(Command::Resume(Scope::All));
    let rows = shell.store.audit(&AuditQuery::new(9)).unwrap();
    let actors: Vec<&str> = rows.iter().map(|row| row.audit.actor.as_str()).collect();
    assert_eq!(actors, ["user 2", "user 0"]);
}

#[test]
fn what_was_due_after_a_pause_that_ended_while_no_server_ran_is_caught_up() {
    for scope in [Scope::All, Scope::Job(name("j"))] {
        let mut shell =
            Shell::new("2026-01-01T00:50:00Z", vec![job("j", "0 * * * *", "misfire=latest,spread=0s")]);
        shell.command(Command::Pause(scope, PauseTerms::default().until(at("2026-01-01T02:30:00Z"))));
        // The server is away from before the end of the pause until long after it.
        shell.wake("2026-01-01T04:10:00Z");
        let states: Vec<(RunState, String)> =
            shell.runs("j").iter().map(|run| (run.state, run.key.nominal.to_string())).collect();
        let of = |state, hour: u8| (state, format!("2026-01-01T0{hour}:00:00Z"));
        assert_eq!(
            states,
            [of(RunState::SkippedPaused, 1), of(RunState::Missed, 3), of(RunState::Running, 4)]
        );
    }
}
