//! A timetable that changes, or a job that goes: what was due before by the old one is on record.

use super::*;

fn row(run: &Run) -> String {
    let time = |moment: Timestamp| moment.to_zoned(TimeZone::UTC).strftime("%T").to_string();
    let last = run.span.map_or(String::new(), |span| format!(" to {}, {}", time(span.last), span.count));
    format!("{} {}{last}: {}", run.state, time(run.key.nominal), run.why())
}

fn rows(shell: &mut Shell) -> Vec<String> {
    shell.runs("j").iter().filter(|run| run.started.is_none()).map(row).collect()
}

#[test]
fn what_was_due_while_the_server_was_down_is_missed_when_the_timetable_changes() {
    let minutes = vec![job("j", "* * * * *", "")];
    let run_until = |end: &str| {
        let mut shell = Shell::new("2026-01-01T09:59:30Z", minutes.clone());
        shell.live(end);
        shell.end(0, Outcome::Succeeded);
        shell
    };
    let mut shell = run_until("2026-01-01T10:00:30Z");
    (shell.now, shell.jobs) = (at("2026-01-01T10:10:01Z"), vec![job("j", "*/20 * * * * *", "")]);
    shell.boot();
    let changed = "its timetable was changed before it could run";
    assert_eq!(rows(&mut shell), [format!("missed 10:01:00 to 10:10:00, 10: {changed}")]);
    shell.live("2026-01-01T10:10:20Z");
    assert_eq!(
        shell.started[1].key.nominal,
        at("2026-01-01T10:10:20Z"),
        "the new one counts from when it is known"
    );
    // The same, and the job was paused.
    let mut shell = run_until("2026-01-01T10:00:30Z");
    shell.command(Command::Pause(Scope::Job(name("j")), PauseTerms::default()));
    (shell.now, shell.jobs) = (at("2026-01-01T10:10:01Z"), vec![job("j", "*/20 * * * * *", "")]);
    shell.boot();
    assert_eq!(rows(&mut shell), ["skipped_paused 10:01:00 to 10:10:00, 10: its job was paused"]);
    // The same, and the job is gone.
    let mut shell = run_until("2026-01-01T10:00:30Z");
    (shell.now, shell.jobs) = (at("2026-01-01T10:10:01Z"), Vec::new());
    shell.boot();
    assert_eq!(
        rows(&mut shell),
        ["missed 10:01:00 to 10:10:00, 10: its job was removed before it could run"]
    );
}

#[test]
fn what_is_due_at_the_moment_of_the_change_runs_by_the_old_timetable() {
    let mut shell = Shell::new("2026-01-01T09:59:30Z", vec![job("j", "* * * * *", "overlap=allow")]);
    shell.live("2026-01-01T10:00:30Z");
    shell.now = at("2026-01-01T10:03:01Z");
    shell.apply(vec![job("j", "30 * * * * *", "overlap=allow")]);
    let started: Vec<_> = shell.started.iter().map(|start| start.key.nominal.to_string()).collect();
    assert_eq!(started, ["2026-01-01T10:00:00Z", "2026-01-01T10:03:00Z"]);
    assert_eq!(shell.runs("j")[1].span.map(|span| span.count), Some(2), "10:01 and 10:02 are missed");
    shell.live("2026-01-01T10:03:30Z");
    assert_eq!(shell.started.len(), 3);
}

#[test]
fn what_an_unknown_timetable_named_is_said_to_be_unknown() {
    let mut shell = Shell::new("2026-01-01T09:59:30Z", vec![job("j", "* * * * *", "")]);
    shell.live("2026-01-01T10:00:30Z");
    (shell.now, shell.knows_former) = (at("2026-01-01T10:10:01Z"), false);
    shell.jobs = vec![job("j", "@hourly", "")];
    shell.boot();
    let unknown = "its timetable was changed before it could run, and what that named is not known any more";
    assert_eq!(rows(&mut shell), [format!("missed 10:00:00 to 10:10:01, 1: {unknown}")]);
}
