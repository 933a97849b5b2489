//! Limits that cut an answer, one in each row: what is asked for is more than the limit, and the answer says
//! so.
//!
//! | where | limit | row |
//! |---|---|---|
//! | commands | rows that are asked for, waiting runs of a job, names of jobs, empty steps of a calendar |
//! `COMMANDS` |
//! | API | lanes, jobs in order of their lengths, pages, times of a year, bytes of an output | `ANSWERS` |
//!
//! Those that take ten thousand runs to reach, as a year of a job does, are tried where they stand.

use mainspring_web::scope::Scope;
use serde_json::Value;

use crate::site::Site;

/// More than one answer of any kind has room for.
const JOB_COUNT: usize = 1_001;

/// What is asked, and words of the answer.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["history", "loud", "-n", "1"], "there are more: -n 10\n"),
    (&["audit", "-n", "1"], "there are more: -n 10\n"),
    (&["list", "--pending", "-n", "1"], "more wait: "),
    (&["show", "later"], "1 more"),
    (&["doctor"], ", ..)"),
    (&["next", "none", "-n", "3"], "gave up at "),
    (&["show", "none", "-n", "3"], "none up to "),
];

/// A path, a place in the answer, and whether what is there says that something is left out.
type Row = (&'static str, &'static str, fn(&Value) -> bool);

const ANSWERS: &[Row] = &[
    ("upcoming?from=2098-12-31T00:00:00Z&to=2099-01-02T00:00:00Z", "/lanes_left_out", is_some),
    ("upcoming?from=2098-12-31T00:00:00Z&to=2099-01-02T00:00:00Z", "/is_cut", is_true),
    ("jobs?sort=median&limit=1", "/unsorted", is_some),
    ("jobs?limit=1", "/next", Value::is_string),
    ("runs?limit=1", "/next", Value::is_string),
    ("once?limit=1", "/next", Value::is_string),
    ("audit?limit=1", "/next", Value::is_string),
    ("jobs/later", "/waiting_count", |count| *count == 21),
];

fn is_some(count: &Value) -> bool {
    count.as_u64().is_some_and(|count| 0 < count)
}

fn is_true(value: &Value) -> bool {
    *value == true
}

fn jobs() -> String {
    let many = (0..JOB_COUNT)
        .map(|index| format!("[jobs.a-{index:04}]\nat = 2099-01-01T00:00:00Z\nrun = ['true']\n"));
    let others = "[jobs.loud]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'seq 60000'\n\
                  [jobs.later]\nat = 2100-01-01T00:00:00Z\nrun = ['true']\n\
                  [jobs.none]\nevery = '1s'\nexclude = '* * * * *'\nrun = ['true']\n\
                  [jobs.often]\ncron = '*/5 * * * *'\nrun = ['true']\n\
                  [jobs.many]\nevery = '1h'\noverlap = 'queue-all,cap=1000'\nshell = 'exec sleep 1000'\n";
    many.collect::<String>() + others
}

#[test]
fn every_limit_that_cuts_an_answer_is_said_in_it() {
    let site = Site::start("cuts", &jobs(), &["--metrics-max-jobs", "2"]);
    let served = &site.served;
    let run = served.ask(&["run", "loud", "--wait"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    served.says(&["run", "loud", "--wait"], 0, "succeeded");
    for name in 0..11 {
        served.says(&["pause", &format!("a-{name:04}")], 0, "");
    }
    for _ in 0..21 {
        served.says(&["run", "later", "--in", "20h"], 0, "later@");
    }
    for name in ["x", "y"] {
        served.says(&["at", "2099-01-01T00:00:00Z", "--name", name, "--", "true"], 0, name);
    }
    for (args, words) in COMMANDS {
        let ended = served.ask(args);
        let text = format!("{}{}", ended.stdout, ended.stderr);
        assert!(text.contains(words), "{args:?}: {words} is not in {text}");
    }
    // A list that ends with its last row says nothing.
    for args in [["history", "loud", "-n", "2"], ["list", "--pending", "-n", "2"]] {
        let ended = served.ask(&args);
        assert!(!ended.stdout.contains("more"), "{args:?}: {}", ended.stdout);
    }
    let token = site.token("mara", Scope::Look);
    for (path, place, is_said) in ANSWERS {
        let found = site.get(&format!("/api/v1/{path}"), &token).json();
        let value = found.pointer(place).unwrap_or_else(|| panic!("{path}: no {place}"));
        assert!(is_said(value), "{path}: {place} is {value}");
    }
    let metrics = String::from_utf8(site.get("/metrics", &token).body).unwrap();
    assert!(metrics.contains("job_name=\"_other\""), "{metrics}");
    let second = r#"{"schedule": "* * * * * ?", "dialect": "quartz"}"#;
    let explained = site.post("/api/v1/explain", &token, second).json();
    assert_eq!(explained["is_cut"], true, "{explained}");
    let run = site.get("/api/v1/runs?job=loud&limit=1", &token).json()["items"][0]["run"].clone();
    let run = run.as_str().unwrap().replace('@', "/");
    let output = site.get(&format!("/api/v1/runs/{run}/0/output?attempt=1&tail=10000"), &token);
    let left_out: u64 = output.header("x-left-out").unwrap().parse().unwrap();
    assert!(0 < left_out, "{}", output.head);
    site.stop();
}

#[test]
fn a_cancel_ends_all_open_runs_of_a_job() {
    let site = Site::start("cuts-cancel", &jobs(), &[]);
    let served = &site.served;
    for month in ["01", "03"] {
        let (from, to) = (format!("2020-{month}-01T00:00:00Z"), format!("2020-{month}-29T00:00:00Z"));
        served.says(&["backfill", "many", &from, &to, "--yes"], 0, "");
    }
    let open = || served.json(&["status", "--json"])["status"]["open"].as_u64().unwrap();
    assert!(1_000 < open(), "{}", open());
    served.says(&["cancel", "many"], 0, "");
    // Those that run end when they have been killed; none waits any more.
    assert!(open() <= 1, "{}", open());
    site.stop();
}
