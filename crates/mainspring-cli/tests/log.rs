//! The log of a server as programs read it: its schema, its levels, and the names of runs in it.
//!
//! The schema is read as far as it goes here: forms by their `type`, `enum` and `const`, objects by their
//! fields, and one of several by trying each.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::thread;

use jiff::Timestamp;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::program::{Running, mainspring};
use crate::test_server::{IDLE, TestServer, folder, write};

/// Runs of every kind of end; `gone` cannot be started, and nothing ends `long` but its end on request.
const JOBS: &str = r#"
[defaults]
cwd = '/'
[jobs.loud]
at_boot = true
shell = """echo 'it "says"'; echo odd >&2"""
[jobs.bad]
at_boot = true
shell = 'exit 3'
retry = { max = 1, backoff = '1ms' }
[jobs.once]
at_boot = true
shell = 'kill -TERM $$'
[jobs.gone]
at_boot = true
run = ['/no/such/program']
[jobs.long]
at_boot = true
shell = 'echo ready; sleep 1000'
"#;

fn schema() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/log.schema.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Whether a value is what a schema says.
fn is_valid(value: &Value, schema: &Value, whole: &Value) -> bool {
    let rules = schema.as_object().unwrap();
    rules.iter().all(|(rule, says)| match rule.as_str() {
        "$ref" => {
            is_valid(value, whole.pointer(says.as_str().unwrap().trim_start_matches('#')).unwrap(), whole)
        }
        "oneOf" => says.as_array().unwrap().iter().filter(|one| is_valid(value, one, whole)).count() == 1,
        "const" => value == says,
        "enum" => says.as_array().unwrap().contains(value),
        "type" => match says.as_str().unwrap() {
            "object" => value.is_object(),
            "string" => value.is_string(),
            "integer" => value.is_i64(),
            other => panic!("a form that this test does not know: {other}"),
        },
        "format" => {
            value.as_str().is_some_and(|text| text.ends_with('Z') && text.parse::<Timestamp>().is_ok())
        }
        "required" => says.as_array().unwrap().iter().all(|name| value.get(name.as_str().unwrap()).is_some()),
        "properties" => {
            let fields = value.as_object().unwrap().iter();
            let mut known = fields.filter_map(|(name, value)| Some((value, says.get(name)?)));
            known.all(|(value, schema)| is_valid(value, schema, whole))
        }
        "additionalProperties" => {
            value.as_object().unwrap().keys().all(|name| schema["properties"].get(name).is_some())
        }
        "$schema" | "title" | "$defs" => true,
        other => panic!("a rule that this test does not know: {other}"),
    })
}

/// The lines of a log that are about a job and of a kind.
fn of<'l>(lines: &'l [Value], job: &str, kind: &str) -> Vec<&'l Value> {
    lines.iter().filter(|line| line["job"] == job && line["kind"] == kind).collect()
}

#[test]
fn each_line_is_what_the_schema_says_and_has_what_a_collector_filters_by() {
    let folder = folder("log-schema");
    write(&folder.join("jobs.toml"), JOBS);
    let mut served = TestServer::start_in(folder, &["--log", "json"]);
    served.running.wait_for_all(&[
        &["\"loud\"", "\"end\""],
        &["\"bad\"", "dead letter"],
        &["\"once\"", "failed for good"],
        &["\"gone\"", "failed for good"],
        &["\"long\"", "ready"],
    ]);
    served.says(&["cancel", "long"], 0, "");
    served.running.wait_for(&["\"long\"", "\"end\""]);
    served.says(&["health"], 0, "warning  dead");
    served.says(&["pause", "--all"], 0, "");
    served.says(&["health"], 0, "warning  paused");
    let (_, lines, _) = served.running.stop();
    let schema = schema();
    let lines: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &lines {
        assert!(is_valid(line, &schema, &schema), "{line:#}");
    }
    let loud = of(&lines, "loud", "stdout")[0];
    assert_eq!((&loud["level"], &loud["text"]), (&"debug".into(), &"it \"says\"".into()));
    assert_eq!((&loud["attempt"], &loud["run"]), (&1.into(), &of(&lines, "loud", "stderr")[0]["run"]));
    let start = of(&lines, "loud", "start")[0];
    assert_eq!((&start["level"], &start["cause"]), (&"info".into(), &"boot".into()));
    assert!(start["lateness_ms"].is_u64() && start["due"].is_string(), "{start}");
    let end = of(&lines, "loud", "end")[0];
    assert_eq!((&end["level"], &end["outcome"]), (&"info".into(), &"succeeded".into()));
    assert!(end["exit_code"] == 0 && end["duration_ms"].is_u64(), "{end}");
    let bad = of(&lines, "bad", "end");
    let facts = |line: &&Value| json!([line["level"], line["attempt"], line["exit_code"]]);
    let facts: Vec<Value> = bad.iter().map(facts).collect();
    assert_eq!(facts, [json!(["warning", 1, 3]), json!(["warning", 2, 3])]);
    let errors: Vec<&Value> = lines.iter().filter(|line| line["level"] == "error").collect();
    let mut failed: Vec<_> =
        errors.iter().map(|line| (line["job"].as_str(), line["outcome"].as_str())).collect();
    failed.sort_unstable();
    // A start that is refused at once is an error of its own.
    failed.dedup();
    assert_eq!(
        failed,
        [(Some("bad"), Some("exit")), (Some("gone"), Some("not_started")), (Some("once"), Some("signal"))]
    );
    assert_eq!(of(&lines, "once", "end")[0]["signal"], Signal::SIGTERM as i32);
    let killed = of(&lines, "long", "end")[0];
    assert_eq!((&killed["level"], &killed["outcome"]), (&"notice".into(), &"killed".into()));
    let mut strange = killed.clone();
    strange["duration_ms"] = "2 s".into();
    assert!(!is_valid(&strange, &schema, &schema), "the schema refuses a text for a number");
    strange["duration_ms"] = 2.into();
    assert!(is_valid(&strange, &schema, &schema));
    strange.as_object_mut().unwrap().remove("run");
    assert!(!is_valid(&strange, &schema, &schema), "the end of an attempt names its run");
}

/// Answers each request with 503, until the last job is done with it.
fn unwilling() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serve = move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 1 << 10];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
    };
    thread::Builder::new().name("receiver".to_owned()).spawn(serve).unwrap();
    address
}

#[test]
fn what_was_missed_skipped_refused_or_cut_off_is_a_warning_with_its_reason() {
    let folder = folder("log-reasons");
    let jobs = format!(
        "[defaults]\ncwd = '/'\n\
         [jobs.hook]\nat_server_start = true\nwebhook = {{ url = 'http://{}/' }}\n\
         [jobs.long]\nevery = '1s'\nmisfire = 'none'\nrun = ['sleep', '1000']\non_server_death = 'kill'\n\
         [jobs.gone]\nat_server_start = true\nrun = ['/no/such/program']\n",
        unwilling()
    );
    write(&folder.join("jobs.toml"), &jobs);
    let mut first = TestServer::start_in(folder, &["--log", "json"]);
    first.running.wait_for_all(&[
        &["\"hook\"", "failed for good"],
        &["\"gone\"", "failed for good"],
        &["\"long\"", "skipped"],
    ]);
    first.running.signal(Signal::SIGKILL);
    let (folder, (_, lines, _)) = (first.folder, first.running.end());
    // Of a server that is off for so long a time of the job passes.
    assert!(Command::new("sleep").arg("2").status().unwrap().success());
    let mut second = TestServer::start_in(folder.clone(), &["--log", "json"]);
    second.running.wait_for_all(&[&["\"long\"", "abandoned"], &["\"long\"", "missed"], &["quarantine"]]);
    let (_, later, _) = second.running.stop();
    let lines: Vec<Value> =
        lines.iter().chain(&later).map(|line| serde_json::from_str(line).unwrap()).collect();
    let schema = schema();
    assert!(lines.iter().all(|line| is_valid(line, &schema, &schema)), "{lines:#?}");
    let hook = of(&lines, "hook", "end")[0];
    assert_eq!(
        (&hook["level"], &hook["status"], &hook["outcome"]),
        (&"warning".into(), &503.into(), &"status".into())
    );
    let refused = of(&lines, "gone", "refuse")[0];
    assert_eq!((&refused["level"], &refused["outcome"]), (&"warning".into(), &"not_started".into()));
    assert!(refused["cause"] == "boot" && refused["due"].is_string(), "{refused}");
    let note = |word: &str| {
        let mut notes = of(&lines, "long", "note").into_iter();
        notes
            .find(|line| line["text"].as_str().unwrap().starts_with(word))
            .unwrap_or_else(|| panic!("{word}"))
    };
    for (word, reason) in
        [("skipped", "earlier_running"), ("abandoned", "server_died"), ("missed", "server_down")]
    {
        let line = note(word);
        assert_eq!((&line["level"], &line["reason"]), (&"warning".into(), &reason.into()), "{line}");
        assert!(line["due"].is_string() && line["run"].is_string(), "{line}");
    }
    assert!(1 <= note("missed")["count"].as_i64().unwrap());
    let quarantine =
        lines.iter().find(|line| line["text"].as_str().unwrap().contains("in quarantine")).unwrap();
    assert_eq!((&quarantine["level"], &quarantine["count"]), (&"warning".into(), &1.into()));
    // Of the fields that the schema names only these are elsewhere: a job that a signal ends, and a pool.
    let names = schema["$defs"].as_object().unwrap().keys();
    let unseen: Vec<&String> =
        names.filter(|name| lines.iter().all(|line| line.get(name).is_none())).collect();
    assert!(
        unseen.iter().all(|name| ["exit_code", "signal", "worker"].contains(&name.as_str())),
        "{unseen:?}"
    );
    let _ = fs::remove_dir_all(folder);
}

#[test]
fn two_runs_at_a_time_and_two_attempts_are_told_apart() {
    let folder = folder("log-runs");
    let jobs = "[jobs.two]\nevery = '1h'\ncwd = '/'\noverlap = 'allow'\nretry = { max = 1, backoff = '1ms' }\n\
                shell = 'echo at $MAINSPRING_NOMINAL; exit 3'\n";
    write(&folder.join("jobs.toml"), jobs);
    let mut served = TestServer::start_in(folder, &[]);
    let runs = ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"];
    served.says(&["backfill", "two", runs[0], "2026-01-01T01:00:01Z", "--yes"], 0, "");
    let names: Vec<String> = runs.iter().map(|time| format!("two@{time}#1")).collect();
    for attempt in ["", "/2"] {
        let wanted: Vec<String> = names.iter().map(|name| format!(" {name}{attempt} ")).collect();
        served.running.wait_for_all(&[&[&wanted[0], "stdout at "], &[&wanted[1], "stdout at "]]);
    }
    served.says(&["logs", &names[0]], 0, "at 2026-01-01T00:00:00Z");
    served.stop();
}

#[test]
fn beside_a_log_of_json_all_that_a_server_says_is_json() {
    let folder = folder("log-all-json");
    let (data, file) = (folder.join("data"), folder.join("jobs.toml"));
    write(&file, IDLE);
    let args = [
        "serve",
        "--data",
        data.to_str().unwrap(),
        "--log",
        "json",
        "--listen=127.0.0.1:0",
        file.to_str().unwrap(),
    ];
    let mut running = Running::any(&args);
    running.wait_for(&[", data in "]);
    running.wait_for_error("the page is at ");
    write(&file, "[jobs.bad]\nevery = 'never'\nrun = 7\n");
    running.wait_for(&["has problems"]);
    // Now it is not safe either.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    running.signal(Signal::SIGHUP);
    running.wait_for(&["has problems"]);
    let (_, lines, errors) = running.stop();
    assert!(errors.contains("jobs.toml:2:") && errors.contains("\"level\":\"warning\""), "{errors}");
    // One that does not start says why in the same form.
    let other = folder.join("other");
    let refused =
        mainspring(&["serve", "--data", other.to_str().unwrap(), "--log", "json", args[args.len() - 1]]);
    assert_eq!(refused.code, 7, "{}", refused.stderr);
    for line in lines.iter().map(String::as_str).chain(errors.lines()).chain(refused.stderr.lines()) {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(line["kind"], "note", "{line}");
    }
    let _ = fs::remove_dir_all(folder);
}

#[test]
fn lines_that_matter_less_than_the_level_are_left_out() {
    let folder = folder("log-level");
    let (data, file) = (folder.join("data"), folder.join("jobs.toml"));
    write(&file, "[jobs.loud]\nat_server_start = true\ncwd = '/'\nshell = 'echo loud; exit 3'\n");
    let (data, file) = (data.to_str().unwrap(), file.to_str().unwrap());
    let expected: [(&str, &[&str]); 3] = [
        ("notice", &["notice", "warning", "error"]),
        ("warning", &["warning", "error"]),
        ("error", &["error"]),
    ];
    for (level, levels) in expected {
        let args = ["serve", "--data", data, "--log", "json", "--log-level", level, file];
        let mut running = Running::any(&args);
        running.wait_for(&["failed for good"]);
        let (_, lines, _) = running.stop();
        let mut seen: Vec<String> = lines
            .iter()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["level"].as_str().unwrap().to_owned())
            .collect();
        seen.sort_by_key(|seen| levels.iter().position(|level| level == seen));
        seen.dedup();
        assert_eq!(seen, levels, "{lines:#?}");
    }
    let refused = mainspring(&["serve", "--log-level", "loud"]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("expected one of debug, info, notice, warning, error"),
        "{}",
        refused.stderr
    );
    let _ = fs::remove_dir_all(folder);
}
