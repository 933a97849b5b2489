//! Groups: a limit that several sources define.

use super::*;

fn of_group(text: &str) -> Job {
    let mut job = job(text, "@every 1h", "");
    Arc::make_mut(&mut job.work).group = Some(name("db"));
    job
}

fn define(shell: &mut Shell, source: &str, jobs: Vec<Job>, limit: Option<u32>, prune: Prune) {
    let groups = limit.map(|limit| Group::new(name("db"), limit)).into_iter().collect();
    let definitions = Definitions::new(source, jobs).with_groups(groups).with_prune(prune);
    let reply = shell.command(Command::Apply(definitions));
    assert!(matches!(reply, Reply::Applied(applied) if applied.refused.is_empty()));
}

#[test]
fn a_job_that_is_added_takes_no_limit_away() {
    let mut shell = Shell::new("2026-01-01T00:30:00Z", Vec::new());
    define(&mut shell, "command", vec![of_group("a"), of_group("b")], Some(1), Prune::Keep);
    define(&mut shell, "command", vec![job("c", "@every 2h", "")], None, Prune::Keep);
    shell.live("2026-01-01T01:00:00Z");
    assert_eq!(shell.started_names(), "a");
}

#[test]
fn what_finds_no_room_in_its_group_is_missed_and_others_are_planned() {
    let of_user = ["a", "b"].map(|text| {
        let mut job = job(text, "* * * * *", "overlap=allow");
        Arc::make_mut(&mut job.work).group = Some(name("db"));
        job
    });
    let mut shell = Shell::new("2026-01-01T00:00:30Z", Vec::new());
    let group = Group::new(name("db"), 1).with_max_open(3);
    let definitions = Definitions::new("user", of_user.to_vec()).with_groups(vec![group]);
    shell.command(Command::Apply(definitions));
    define(&mut shell, "root", vec![job("c", "* * * * *", "overlap=allow")], None, Prune::Remove);
    for minute in 1..=3 {
        shell.live(&format!("2026-01-01T00:0{minute}:00Z"));
    }
    assert_eq!(
        (shell.states("a"), shell.states("b")),
        ("running queued missed".into(), "queued missed missed".into())
    );
    assert_eq!(shell.runs("b")[1].why(), "too many runs were open");
    assert_eq!(shell.states("c"), "running running running");
    shell.end(0, Outcome::Succeeded);
    shell.live("2026-01-01T00:04:00Z");
    assert_eq!(shell.states("a"), "succeeded queued missed queued");
    assert_eq!(shell.states("b"), "running missed missed missed");
    // By hand one more is asked for.
    let reply = shell.command(Command::Trigger(RunRequest::new(name("a"))));
    assert!(!matches!(reply, Reply::Refused(_)), "{reply:?}");
    shell.planner.check();
}

#[test]
fn the_smallest_limit_holds_as_long_as_a_source_defines_it() {
    let mut shell = Shell::new("2026-01-01T00:30:00Z", Vec::new());
    let jobs = || ["a", "b", "c"].map(of_group).to_vec();
    define(&mut shell, "one", jobs(), Some(3), Prune::Remove);
    define(&mut shell, "other", vec![of_group("d")], Some(1), Prune::Remove);
    define(&mut shell, "third", vec![of_group("e")], Some(2), Prune::Remove);
    shell.live("2026-01-01T01:00:00Z");
    assert_eq!(shell.started_names(), "a");
    define(&mut shell, "other", Vec::new(), None, Prune::Remove);
    assert_eq!(shell.started_names(), "a b");
    define(&mut shell, "third", Vec::new(), None, Prune::Remove);
    assert_eq!(shell.started_names(), "a b c");
}
