//! Queries of a planner by name: a job, its next look, and its open runs.

use super::*;

fn keys_of(shell: &Shell, text: &str) -> Vec<String> {
    shell.planner.runs_of(&name(text)).map(|run| run.key.to_string()).collect()
}

#[test]
fn a_question_by_name_finds_what_the_whole_list_holds() {
    let jobs = ["a", "ab", "b"].map(|text| job(text, "@every 1h", "overlap=queue-all jitter=10s")).to_vec();
    let mut shell = Shell::new("2026-01-01T00:30:00Z", jobs);
    shell.live("2026-01-01T03:00:05Z");
    for text in ["a", "ab", "b", "c"] {
        let all = shell.planner.open_runs().filter(|run| run.key.job.as_str() == text);
        let expected: Vec<String> = all.map(|run| run.key.to_string()).collect();
        assert_eq!(expected.len(), if text == "c" { 0 } else { 3 });
        assert_eq!(keys_of(&shell, text), expected);
        let found = shell.planner.job(&name(text)).map(|(job, mark)| (job.name.clone(), mark.runs));
        assert_eq!(found, (text != "c").then(|| (name(text), 3)));
    }
    shell.apply(vec![job("ab", "@every 1h", "overlap=queue-all jitter=10s")]);
    assert!(shell.planner.job(&name("a")).is_none());
    assert_eq!(keys_of(&shell, "a").len(), 3, "what runs continues, and what waits may come back");
}

#[test]
fn the_next_look_is_at_the_next_occurrence() {
    let mut jobs = vec![job("j", "@every 1h", ""), job("boot", "@reboot", ""), job("done", "@every 1h", "")];
    jobs[2].max_runs = Some(1);
    let mut shell = Shell::new("2026-01-01T00:30:00Z", jobs);
    let next = |shell: &Shell, text: &str| shell.planner.next_of(&name(text));
    assert_eq!(next(&shell, "j"), Some(at("2026-01-01T01:00:00Z")));
    assert_eq!(next(&shell, "done"), Some(at("2026-01-01T01:00:00Z")));
    assert_eq!((next(&shell, "boot"), next(&shell, "other")), (None, None));
    shell.live("2026-01-01T01:00:00Z");
    assert_eq!(next(&shell, "j"), Some(at("2026-01-01T02:00:00Z")));
    assert_eq!(next(&shell, "done"), None, "it has run as often as it may");
    shell.command(Command::Pause(Scope::Job(name("j")), PauseTerms::default()));
    assert_eq!(next(&shell, "j"), None, "it is paused");
    shell.command(Command::Resume(Scope::Job(name("j"))));
    assert_eq!(next(&shell, "j"), Some(at("2026-01-01T02:00:00Z")));
}
