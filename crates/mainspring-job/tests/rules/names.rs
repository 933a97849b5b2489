//! Runs that no trigger names: each has a name of its own, and no caller gets one that the store has not
//! taken.

use super::*;

use std::collections::BTreeSet;

use mainspring_job::{After, Ending, MAX_PAGE, RunKey};

/// Asks for so many runs of a job by so many clients before anything is committed, then commits all of it.
/// Returns what each was told.
fn burst(shell: &mut Shell, job: &str, client_count: u64, count: u64) -> Vec<Reply> {
    let mut outputs = Vec::new();
    for number in 0..client_count * count {
        let (ticket, command) = (Ticket(number), Command::Trigger(RunRequest::new(name(job))));
        shell.planner.handle(shell.now, Input::Command { ticket, command }, &mut outputs);
    }
    let is_told = |output: &Output| matches!(output, Output::Reply { .. });
    assert!(!outputs.iter().any(is_told), "nobody is told before anything is on disk");
    while let Some(batch) = shell.planner.take_batch() {
        let answers = shell.store.commit(shell.lease, &batch).unwrap().answers;
        let committed = Input::Committed { number: batch.number, answers };
        shell.planner.handle(shell.now, committed, &mut outputs);
    }
    shell.planner.check();
    let replies = outputs.into_iter().filter_map(|output| match output {
        Output::Reply { reply, .. } => Some(reply),
        _ => None,
    });
    replies.collect()
}

fn keys(replies: &[Reply]) -> BTreeSet<RunKey> {
    let key = |reply: &Reply| match reply {
        Reply::Planned { key } => key.clone(),
        reply => panic!("{reply:?}"),
    };
    replies.iter().map(key).collect()
}

/// How many runs of a job the store has.
fn count(shell: &mut Shell) -> u64 {
    shell.store.counts().unwrap().runs
}

#[test]
fn a_burst_of_sixteen_thousand_runs_by_hand_in_one_turn_is_as_many_runs() {
    for policies in ["overlap=allow", ""] {
        let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("hand", "0 1 1 1 *", policies)]);
        let replies = burst(&mut shell, "hand", 8, 2_000);
        assert_eq!(replies.len(), 16_000);
        assert_eq!((keys(&replies).len(), count(&mut shell)), (16_000, 16_000), "{policies}");
        // At the next moment they are named by the clock again, which the burst has not overtaken for long.
        shell.now += SignedDuration::from_millis(1);
        let later = burst(&mut shell, "hand", 1, 1);
        assert!(keys(&replies).last() < keys(&later).first());
        assert!(keys(&later).iter().all(|key| shell.now < key.nominal));
    }
}

#[test]
fn a_name_that_the_store_knows_is_nobodys_again() {
    for outcome in [None, Some(Outcome::Succeeded)] {
        let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("hand", "0 1 1 1 *", "overlap=allow")]);
        let mut known = BTreeSet::new();
        // The clock is set back to the very moment of the first, with the same server and with the next ones.
        for (time, is_restart) in [
            ("00", false),
            ("00", true),
            ("05", false),
            ("00", false),
            ("05", true),
            ("00", true),
            ("00", true),
        ] {
            shell.now = at(&format!("2026-01-01T00:30:{time}Z"));
            if is_restart {
                shell.boot();
            }
            let new = keys(&burst(&mut shell, "hand", 1, 4));
            assert_eq!((new.len(), new.is_disjoint(&known)), (4, true), "{outcome:?} {time} {is_restart}");
            known.extend(new.iter().cloned());
            assert_eq!(count(&mut shell), known.len() as u64, "{outcome:?} {time} {is_restart}");
            for key in new {
                if let Some(outcome) = outcome.clone() {
                    shell.tell(Input::Ended(AttemptEnd::new(key, 1, outcome)));
                }
            }
        }
        assert!(!shell.notes.iter().any(|note| matches!(note, Note::Refused(_))), "{:?}", shell.notes);
    }
}

#[test]
fn a_run_at_the_start_of_a_server_is_one_of_its_own_however_the_clock_was_set() {
    for policies in ["overlap=allow", "overlap=replace"] {
        let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("boot", "@reboot", policies)]);
        for starts in 1..8 {
            assert_eq!(shell.started.len(), starts, "{policies}");
            shell.end(starts - 1, Outcome::Succeeded);
            shell.now = at(["2026-01-01T00:30:00Z", "2026-01-01T00:30:05Z"][starts % 2]);
            shell.boot();
        }
    }
}

#[test]
fn as_many_runs_follow_as_end_in_one_moment() {
    const COUNT: usize = 3_000;
    let after = After::new(name("hand"), Ending::Succeeded);
    for policies in ["overlap=allow", "overlap=allow jitter=10s", "overlap=replace", "overlap=skip"] {
        let policies = format!("{policies} retention=keep=1000000,days=36525");
        let follower = Job::new(name("next"), Timetable::new([after.clone()]).unwrap(), work(&policies));
        let jobs = vec![job("hand", "0 1 1 1 *", "overlap=allow"), follower];
        let mut shell = Shell::new("2026-01-01T00:30:00Z", jobs);
        shell.capacity = 2 * COUNT;
        shell.boot();
        let replies = burst(&mut shell, "hand", 1, COUNT as u64);
        for key in keys(&replies) {
            shell.tell(Input::Ended(AttemptEnd::new(key, 1, Outcome::Succeeded)));
        }
        shell.live("2026-01-01T00:31:00Z");
        let followed = shell.store.find(&Query::new(MAX_PAGE).of(name("next"))).unwrap();
        assert_eq!(followed.len(), COUNT, "{policies}");
    }
}

#[test]
fn a_run_that_is_missed_keeps_its_record_where_the_store_knows_its_name() {
    let follower = |text| {
        let after = After::new(name("hand"), Ending::Succeeded);
        Job::new(name(text), Timetable::new([after]).unwrap(), work(""))
    };
    let jobs = vec![job("hand", "0 1 1 1 *", ""), follower("next-a"), follower("next-b")];
    // The first that follows takes the only place, and the second is missed.
    let mut limits = Limits::default();
    limits.max_open = 1;
    let mut shell = Shell::with("2026-01-01T00:30:00Z", jobs, Vec::new(), limits);
    for round in 1..6 {
        shell.now = at(["2026-01-01T00:30:00Z", "2026-01-01T00:30:05Z"][round % 2]);
        shell.boot();
        let replies = burst(&mut shell, "hand", 1, 1);
        let key = keys(&replies).pop_first().unwrap();
        shell.tell(Input::Ended(AttemptEnd::new(key, 1, Outcome::Succeeded)));
        shell.tell(Input::Tick);
        shell.end(shell.started.len() - 1, Outcome::Succeeded);
        assert_eq!(shell.states("next-a"), vec!["succeeded"; round].join(" "));
        assert_eq!(shell.states("next-b"), vec!["missed"; round].join(" "));
    }
}

#[test]
fn a_run_with_a_key_is_told_by_its_own_name_however_the_clock_was_set() {
    for outcome in [Some(Outcome::Succeeded), None] {
        let jobs = vec![job("hand", "0 1 1 1 *", "overlap=allow retention=keep=1000000,days=36525")];
        let mut shell = Shell::new("2026-01-01T00:30:00Z", jobs);
        let mut known = BTreeSet::new();
        for round in 0..12 {
            shell.now = at(["2026-01-01T00:30:00Z", "2026-01-01T00:30:05Z"][round % 2]);
            shell.boot();
            let request = || RunRequest::new(name("hand")).with_key(format!("ticket {round}"));
            let Reply::Planned { key } = shell.command(Command::Trigger(request())) else {
                panic!("{round}: {:?}", shell.replies)
            };
            assert!(known.insert(key.clone()), "{round}: {key} is the name of another run");
            assert_eq!(shell.started.last().map(|start| &start.key), Some(&key), "it is what starts");
            let Reply::Duplicate(holder) = shell.command(Command::Trigger(request())) else {
                panic!("{round}: the key is known")
            };
            assert_eq!((holder.due, holder.key.is_some()), (key.nominal, true));
            assert_eq!(count(&mut shell), known.len() as u64);
            if let Some(outcome) = outcome.clone() {
                shell.tell(Input::Ended(AttemptEnd::new(key, 1, outcome)));
            }
        }
    }
}

#[test]
fn a_run_with_a_key_is_refused_while_a_one_shot_job_has_the_name_of_its_job() {
    let mut shell = Shell::new("2026-01-01T00:30:00Z", Vec::new());
    let due = at("2026-01-01T00:40:00Z");
    let submission = Submission::new(due, work("")).with_name(name("late"));
    assert!(matches!(shell.command(Command::Submit(submission)), Reply::Submitted { .. }));
    shell.apply(vec![job("late", "0 1 1 1 *", "")]);
    let command = || Command::Trigger(RunRequest::new(name("late")).with_key("ticket 7"));
    let Reply::Refused(Refusal::Taken(holder)) = shell.command(command()) else {
        panic!("{:?}", shell.replies)
    };
    assert_eq!((holder.due, holder.state), (due, None));
    assert!(shell.started.is_empty());
    shell.live("2026-01-01T00:41:00Z");
    assert!(matches!(shell.command(command()), Reply::Planned { .. }), "it has fired");
}

#[test]
fn a_submission_whose_place_another_has_is_refused_and_told_by_what() {
    let mut shell = Shell::new("2026-01-01T00:00:00Z", Vec::new());
    let other = || Work::new(Action::new("process", "false").unwrap());
    let due = at("2026-01-01T00:10:00Z");
    let first = Submission::new(due, work("")).with_name(name("tea")).with_key("k");
    let Reply::Submitted { id, .. } = shell.command(Command::Submit(first.clone())) else {
        panic!("it is new")
    };
    let refused = [
        Submission::new(due, other()).with_key("k"),
        Submission::new(due, work("")).with_name(name("tea")),
        Submission::new(due, work("")).with_name(name("tea")).with_key("another"),
    ];
    let text = |shell: &mut Shell, case: &Submission| match shell.command(Command::Submit(case.clone())) {
        Reply::Refused(Refusal::Taken(holder)) => holder.to_string(),
        reply => panic!("{case:?}: {reply:?}"),
    };
    for case in &refused {
        assert_eq!(text(&mut shell, case), "`tea` with the key `k` is pending, due 2026-01-01T00:10:00Z");
    }
    // The same again is done, at another time and under another name too.
    let again = Submission::new(at("2026-01-01T09:00:00Z"), work("")).with_name(name("cup")).with_key("k");
    assert!(
        matches!(shell.command(Command::Submit(again)), Reply::Duplicate(holder) if holder.id == Some(id))
    );
    // One that was withdrawn keeps its key, and not its name.
    shell.command(Command::Withdraw(id));
    assert_eq!(text(&mut shell, &refused[0]), "`tea` with the key `k` is cancelled (it was withdrawn)");
    let Reply::Duplicate(holder) = shell.command(Command::Submit(first)) else { panic!("it is the same") };
    assert_eq!(holder.state, Some(RunState::Cancelled));
    let later = Submission::new(at("2026-01-01T00:20:00Z"), work("")).with_name(name("tea"));
    assert!(matches!(shell.command(Command::Submit(later)), Reply::Submitted { .. }));
}
