//! The documents that `--json` prints, read back by a JSON parser.

use serde_json::Value;

use crate::program::mainspring;
use crate::test_server::{IDLE, TestServer, write};

fn document(args: &[&str]) -> Value {
    let ended = mainspring(args);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stdout))
}

fn names(value: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

const FROM: [&str; 2] = ["--from", "2025-03-09T00:00:00-05:00"];

#[test]
fn next_prints_the_documented_fields() {
    let args = [&["next", "30 2 * * *", "-n2", "--tz", "America/New_York", "--json"][..], &FROM].concat();
    let found = document(&args);
    let expected = [
        "count",
        "day_rule",
        "dialect",
        "dst",
        "expression",
        "from",
        "is_cut_short",
        "times",
        "until",
        "zone",
    ];
    assert_eq!(names(&found), expected);
    assert_eq!(found["times"], serde_json::json!(["2025-03-09T03:00:00-04:00", "2025-03-10T02:30:00-04:00"]));
    assert_eq!((&found["zone"], &found["dst"]), (&Value::from("America/New_York"), &Value::from("cron")));
    assert_eq!((&found["until"], &found["is_cut_short"]), (&Value::Null, &Value::from(false)));
}

#[test]
fn a_document_of_times_that_never_come_has_an_empty_list() {
    assert_eq!(document(&["next", "0 0 30 2 *", "--json"])["times"], serde_json::json!([]));
    assert_eq!(document(&["next", "@reboot", "--json"])["times"], serde_json::json!([]));
}

#[test]
fn an_explanation_is_the_same_in_next_and_in_explain() {
    let options = [&["--tz", "America/New_York", "--json"][..], &FROM].concat();
    let next = document(&[&["next", "30 2 1 * mon", "--explain"], &options[..]].concat());
    let explained = document(&[&["explain", "30 2 1 * mon"], &options[..]].concat());
    assert_eq!(next["explanation"], explained["explanation"]);
    let explanation = &explained["explanation"];
    assert_eq!(names(explanation), ["changes", "fields", "notes", "sentence", "warnings"]);
    assert_eq!(explanation["fields"].as_array().unwrap().len(), 7);
    assert_eq!(names(&explanation["changes"][0]), ["at", "effect", "text"]);
    let warning = &explanation["warnings"][0];
    let span = warning["start"].as_u64().unwrap() as usize..warning["end"].as_u64().unwrap() as usize;
    assert_eq!("30 2 1 * mon".get(span), Some("1 * mon"));
}

#[test]
fn a_job_name_with_quotes_and_control_characters_is_still_json() {
    let found = document(&["next", "H 0 * * *", "--name", "a\"b\\c\n\u{1}", "--json"]);
    assert_eq!(found["expression"], "H 0 * * *");
    let found = document(&["next", "0 \"\u{1} * * *", "--json"]);
    assert_eq!(found["expression"], "0 \"\u{1} * * *");
}

#[test]
fn a_simulation_prints_the_documented_fields() {
    let found = document(&[
        "simulate",
        "testdata/cli/simulate.crontab",
        "--from",
        "2026-01-01T00:00:00Z",
        "--to",
        "2026-01-08T00:00:00Z",
        "--json",
        "--durations",
        "*=1h",
        "-n",
        "7",
    ]);
    let expected = [
        "busiest_minutes",
        "end",
        "event_count",
        "events",
        "from",
        "is_cut_short",
        "jobs",
        "most_at_once",
        "start_count",
        "timed_job_count",
        "to",
        "zone",
    ];
    assert_eq!(names(&found), expected);
    assert_eq!(found["events"].as_array().unwrap().len(), 7);
    let jobs = found["jobs"].as_array().unwrap();
    let counted: u64 = jobs.iter().map(|job| job["start_count"].as_u64().unwrap()).sum();
    assert_eq!(found["start_count"], counted);
    assert!(jobs.iter().all(|job| names(job) == names(&jobs[0]) && job["duration_s"] == 3600.0));
}

#[test]
fn a_document_that_a_limit_cuts_short_says_so() {
    let range = ["--from", "2026-01-01T00:00:00Z", "--until", "2026-01-13T00:00:00Z", "--json"];
    let ended = mainspring(&[&["next", "* * * * * *"], &range[..]].concat());
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("ended after 1000000 times"), "{}", ended.stderr);
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        (&found["is_cut_short"], &found["times"][999_999]),
        (&true.into(), &"2026-01-12T13:46:40+00:00".into())
    );
}

#[test]
fn a_job_of_a_served_file_has_the_line_on_which_it_stands() {
    let served = TestServer::start("source-line", IDLE);
    let line = |served: &TestServer| served.json(&["show", "idle", "--json"])["job"]["source_line"].clone();
    assert_eq!(line(&served), 1);
    let file = format!("{}:1", served.file().display());
    served.says(&["show", "idle"], 0, &file);
    write(&served.file(), &format!("# a comment\n\n{IDLE}"));
    served.running.signal(nix::sys::signal::Signal::SIGHUP);
    while line(&served) != 3 {}
    served.says(&["every", "5h", "--name", "other", "--", "true"], 0, "");
    assert_eq!(served.json(&["show", "other", "--json"])["job"]["source_line"], Value::Null);
    served.stop();
}
