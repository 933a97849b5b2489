//! Why a one-shot job has not started: the same reasons as those of a job with a timetable, and the same by
//! the planner and by the rows of a store.

use mainspring_job::RunKey;

use super::*;

const NOW: &str = "2026-01-02T00:00:00Z";

/// Two may run at once, and one of each group, of which `rated` has its rate as well.
fn shell() -> Shell {
    let rated = Group::new(name("rated"), 1).with_rate("1/10s".parse().unwrap());
    let groups = vec![Group::new(name("bank"), 1), rated];
    let mut limits = Limits::default();
    limits.max_open = 4;
    Shell::with(NOW, Vec::new(), groups, limits).of_capacity(2)
}

fn submit(shell: &mut Shell, named: &str, due: &str, group: Option<&str>, policies: &str) -> RunKey {
    let mut work = work(policies);
    work.group = group.map(name);
    let submission = Submission::new(at(due), work).with_name(name(named));
    let Reply::Submitted { id, name } = shell.command(Command::Submit(submission)) else {
        panic!("it is new")
    };
    shell.tell(Input::Tick);
    RunKey::new(name, id.due)
}

/// The codes of its reasons, and the sentence of the last.
fn reasons(shell: &mut Shell, key: &RunKey) -> (String, String) {
    let holds = shell.run_holds(key);
    let codes: Vec<&str> = holds.iter().map(Hold::code).collect();
    (codes.join(" "), holds.last().map(ToString::to_string).unwrap_or_default())
}

fn end(shell: &mut Shell, key: &RunKey) {
    shell.tell(AttemptEnd::new(key.clone(), 1, Outcome::Succeeded).into());
    shell.tell(Input::Tick);
}

#[test]
fn a_one_shot_job_says_for_which_place_worker_batch_or_run_it_waits() {
    let mut shell = shell();
    let first = submit(&mut shell, "first", NOW, Some("bank"), "batch=b");
    assert_eq!(reasons(&mut shell, &first), Default::default(), "it runs");
    let full = submit(&mut shell, "full", NOW, Some("bank"), "");
    let sentence =
        format!("{full} is due and waits for a place of group bank, whose limit is 1: {first} has it");
    assert_eq!(reasons(&mut shell, &full), ("group_full".to_owned(), sentence));
    let unserved = submit(&mut shell, "unserved", NOW, None, "on=gpu");
    let sentence = format!("{unserved} is due, and no server has gpu");
    assert_eq!(reasons(&mut shell, &unserved), ("unserved".to_owned(), sentence));
    shell.command(Command::Cancel(unserved));
    let batch = submit(&mut shell, "batch", NOW, None, "after-batch=b");
    let sentence = format!("{batch} is due, and something of batch b waits or runs");
    assert_eq!(reasons(&mut shell, &batch), ("after_batch".to_owned(), sentence));
    shell.command(Command::Cancel(batch));
    // A later one of its name waits for its end.
    let again = submit(&mut shell, "first", "2026-01-02T00:00:00.5Z", None, "overlap=queue-one");
    shell.live("2026-01-02T00:00:01Z");
    assert_eq!(reasons(&mut shell, &again), ("running".to_owned(), format!("{first} is running")));
    shell.command(Command::Cancel(again));
    let second = submit(&mut shell, "second", NOW, None, "");
    let third = submit(&mut shell, "third", NOW, None, "");
    let sentence = format!("{third} is due and waits for a place of the server, which runs 2 at once");
    assert_eq!(reasons(&mut shell, &third), ("server_full".to_owned(), sentence));
    end(&mut shell, &second);
    assert_eq!(reasons(&mut shell, &third), Default::default(), "it runs");
    end(&mut shell, &first);
    assert_eq!(reasons(&mut shell, &full), Default::default(), "it runs");
}

#[test]
fn a_one_shot_job_says_when_the_rate_of_its_group_lets_it_start() {
    let mut shell = shell();
    // A planner that is new does not know what started before it.
    shell.live("2026-01-02T00:01:00Z");
    let first = submit(&mut shell, "first", NOW, Some("rated"), "");
    let second = submit(&mut shell, "second", NOW, Some("rated"), "");
    assert_eq!(reasons(&mut shell, &second).0, "group_full");
    end(&mut shell, &first);
    assert_eq!(reasons(&mut shell, &second).0, "group_rate");
    let ends = shell.run_holds(&second)[0].ends(&second.job);
    assert_eq!(ends, format!("2026-01-02T00:01:10Z, or `mainspring cancel {second}`"));
    shell.live("2026-01-02T00:01:10Z");
    assert_eq!(reasons(&mut shell, &second), Default::default(), "it runs");
}

#[test]
fn a_one_shot_job_says_that_everything_is_paused_and_that_there_is_no_room() {
    let mut shell = shell();
    let retried = submit(&mut shell, "retried", NOW, None, "retry=1,backoff=1h");
    shell.tell(AttemptEnd::new(retried.clone(), 1, failed()).into());
    let waiting: Vec<RunKey> =
        (0..2).map(|at| submit(&mut shell, &format!("w{at}"), NOW, None, "on=gpu")).collect();
    assert_eq!(shell.planner.pending_holds(), []);
    shell.command(Command::Pause(Scope::All, PauseTerms::default()));
    assert_eq!(reasons(&mut shell, &retried).0, "all_paused", "it waits for its time");
    assert_eq!(reasons(&mut shell, &waiting[0]).0, "all_paused unserved");
    let pending = submit(&mut shell, "pending", NOW, None, "on=gpu");
    assert!(shell.planner.run(&pending).is_none(), "nothing fires");
    assert_eq!(shell.planner.pending_holds(), [Hold::AllPaused { until: None }]);
    shell.command(Command::Resume(Scope::All));
    shell.tell(Input::Tick);
    assert_eq!(reasons(&mut shell, &retried), Default::default(), "it is tried again when it is due");
    assert_eq!(reasons(&mut shell, &pending).0, "unserved");
    submit(&mut shell, "last", NOW, None, "");
    assert_eq!(shell.planner.pending_holds(), [Hold::NoRoom]);
    shell.tell(Input::Stop);
    let codes: Vec<&str> = shell.planner.run_holds(&pending, shell.now).iter().map(Hold::code).collect();
    assert_eq!(codes, ["stopping", "unserved"]);
}

#[test]
fn a_one_shot_job_in_quarantine_says_how_often_its_server_died() {
    let mut shell = shell();
    let key = submit(&mut shell, "crash", NOW, None, "retry=3,backoff=1s,jitter=0%,on=abandoned");
    for crashes in 1..3 {
        shell.boot();
        let holds = shell.run_holds(&key);
        assert_eq!(holds, [Hold::Quarantined { crashes }], "it waits for its next attempt");
        shell.live(&(shell.now + SignedDuration::from_secs(5)).to_string());
        assert_eq!(reasons(&mut shell, &key), Default::default(), "it runs");
    }
}
