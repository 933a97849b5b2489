//! Each server of a pool tells the same of the jobs, whichever plans, and by the database alone.

use std::fs;

use serde_json::Value;

use crate::asked::until;
use crate::cluster::{Member, prepared};
use crate::test_server::write;

/// One job for each thing that holds a job up, and some that nothing does.
fn jobs() -> String {
    let job = |(name, keys): (&str, &str)| {
        let trigger = if keys.contains(" = ['idle']") { "" } else { "at = 2100-01-01T00:00:00Z\n" };
        let action = if keys.contains("shell") { "" } else { "shell = 'true'\n" };
        format!("[jobs.{name}]\ncwd = '/'\n{trigger}{action}{keys}\n")
    };
    let jobs = [
        ("idle", "labels = { team = 'web' }"),
        ("long", "shell = 'exec sleep 1000'\ngroup = 'bank'"),
        ("waits", "group = 'bank'"),
        ("gpu", "on = ['gpu']"),
        ("paused", ""),
        ("follows", "after = ['idle']"),
        ("again", "shell = 'false'\nretry = '1,backoff=1h'"),
        ("spent", "max_runs = 1"),
    ];
    format!("[groups.bank]\nlimit = 1\n{}", jobs.map(job).concat())
}

/// An answer as JSON, without what changes while nothing does.
fn told(member: &Member, arguments: &[&str]) -> Value {
    let answer = member.ask(&[arguments, &["--json"]].concat());
    assert_eq!(answer.code, 0, "{arguments:?}: {}", answer.stderr);
    let mut told: Value = serde_json::from_str(&answer.stdout).unwrap();
    leave_out(&mut told);
    told
}

fn leave_out(told: &mut Value) {
    match told {
        Value::Object(fields) => {
            for name in ["silent_ms", "lease_left_ms", "clock_ahead_ms", "database", "inbox_oldest_ms"] {
                fields.remove(name);
            }
            fields.values_mut().for_each(leave_out);
        }
        Value::Array(items) => items.iter_mut().for_each(leave_out),
        _ => {}
    }
}

fn tell_alike(planner: &Member, other: &Member, questions: &[Vec<&str>]) {
    for question in questions {
        // The planner's word of itself comes a second later.
        let mut both =
            std::iter::repeat_with(|| [planner, other].map(|member| told(member, question))).take(100);
        let same = both.any(|[one, two]| one == two);
        let [one, two] = [planner, other].map(|member| told(member, question));
        assert!(same, "{question:?}: {one:#} {two:#}");
    }
}

/// The codes of the reasons that are shown of a job.
fn codes(member: &Member, name: &str) -> String {
    let told = told(member, &["show", name]);
    let shown = ["job", "once", "found"].iter().find_map(|kind| told.get(kind)).unwrap();
    let holds = shown["holds"].as_array().cloned().unwrap_or_default();
    holds.iter().map(|hold| hold["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_server_that_does_not_plan_tells_what_the_planner_tells() {
    let Some((folder, database)) = prepared("alike") else { return };
    write(&folder.join("jobs.toml"), &jobs());
    write(&folder.join("broken.toml"), "[jobs.other]\nevery = '1h'\nshell = 'true'\n");
    let mut planner = Member::serving(&folder, "planner", &database, &["jobs.toml", "broken.toml"]);
    planner.begins_with("9 jobs");
    let other = Member::worker(&folder, "other", &database);
    other.joins(&database);
    for job in ["long", "waits", "gpu", "again", "idle", "spent"] {
        planner.says(&["run", job], job);
    }
    // What changes something is done by way of the planner, and is told at once.
    other.says(&["pause", "paused", "--note", "for a while"], "");
    other.says(&["at", "+1h", "--name", "later", "--policy", "batch=b", "--", "true"], "later");
    other.says(&["at", "now", "--name", "last", "--policy", "after-batch=b", "--", "true"], "last");
    other.says(&["at", "now", "--name", "lacks", "--policy", "on=eu", "--", "true"], "lacks");
    other.says(&["at", "now", "--name", "ended", "--", "false"], "ended");
    let open = "SELECT string_agg(job || ' ' || state, ', ' ORDER BY job) FROM mainspring.open_run";
    let expected = "again scheduled, gpu queued, lacks queued, last queued, long running, waits queued";
    until(&database, open, expected);
    write(&folder.join("broken.toml"), "[jobs.other]\nevery = 'often'\nshell = 'true'\n");
    planner.running.wait_for(&["broken.toml has problems"]);
    let mut questions: Vec<Vec<&str>> =
        [&["status"][..], &["list"], &["list", "--label", "team=web"], &["history"], &["list", "--pending"]]
            .map(<[&str]>::to_vec)
            .into();
    let names = ["again", "follows", "gpu", "idle", "long", "other", "paused", "spent", "waits"];
    let one_shots = ["later", "last", "lacks", "ended"].map(|name| vec!["show", name]);
    questions.extend(names.map(|name| vec!["show", name]).into_iter().chain(one_shots.clone()));
    tell_alike(&planner, &other, &questions);
    for (name, code) in [
        ("waits", "group_full"),
        ("gpu", "unserved"),
        ("long", "running"),
        ("last", "after_batch"),
        ("lacks", "unserved"),
    ] {
        assert!(codes(&other, name).contains(code), "{name}");
    }
    other.says(&["pause", "--all"], "");
    tell_alike(&planner, &other, &one_shots);
    assert_eq!(codes(&other, "later"), "all_paused");
    assert_eq!(codes(&other, "last"), "all_paused after_batch");
    assert_eq!(codes(&other, "ended"), "");
    other.says(&["resume", "--all"], "");
    other.says(&["status"], "broken.toml");
    // No server plans: what is known is told, and that.
    assert_eq!(planner.running.stop().0.code(), Some(0));
    other.says(&["status"], "no server plans now");
    other.says(&["status"], "this server stands by: it was started never to plan");
    other.says(&["list"], "waits");
    let _ = fs::remove_dir_all(&folder);
}
