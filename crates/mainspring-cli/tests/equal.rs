//! One table: what a command prints with `--json`, and what the HTTP API answers, have the same values under
//! the same names.
//!
//! The commands are those of the help: a new one with `--json` that is neither compared nor in [`ELSEWHERE`]
//! fails.

use std::collections::BTreeSet;

use mainspring_web::scope::Scope;
use serde_json::{Value, json};

use crate::program::pause;
use crate::site::Site;
use crate::test_server::IDLE;

/// Commands with `--json` that are not compared, and why.
const ELSEWHERE: [(&str, &str); 16] = [
    ("run", "a change: the routes send the same request, and remote.rs compares what comes back"),
    ("at", "a change"),
    ("every", "a change"),
    ("pause", "a change"),
    ("resume", "a change"),
    ("cancel", "a change"),
    ("remove", "a change"),
    ("backfill", "a change"),
    ("rewind", "a change"),
    ("apply", "a change"),
    ("dead retry", "a change"),
    ("dead drop", "a change"),
    ("simulate", "it asks no server"),
    ("open", "for a person at the machine"),
    ("token list", "for a person at the machine"),
    ("doctor", "it looks at the machine as well: what both say is compared"),
];

/// The commands below one that have `--json`, as the help names them.
fn with_json(above: &[&str]) -> Vec<String> {
    let help = |words: &[&str]| crate::program::mainspring(&[words, &["--help"]].concat()).stdout;
    let text = help(above);
    let Some((_, list)) = text.split_once("Commands:\n") else {
        return if text.contains("--json") { vec![above.join(" ")] } else { Vec::new() };
    };
    let names = list.lines().take_while(|line| !line.is_empty());
    let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    names.flat_map(|name| with_json(&[above, &[name]].concat())).collect()
}

#[test]
fn every_command_with_json_is_compared_or_says_why_not() {
    let mut compared: Vec<&str> = COMPARED.to_vec();
    compared.extend(ELSEWHERE.map(|(command, _)| command));
    compared.sort_unstable();
    let mut found = with_json(&[]);
    found.sort_unstable();
    assert_eq!(found, compared);
}

/// Those that the tests of this file compare.
const COMPARED: [&str; 12] = [
    "list",
    "show",
    "history",
    "logs",
    "status",
    "audit",
    "health",
    "check",
    "next",
    "explain",
    "translate",
    "dead list",
];

/// Whether each field of one document stands in the other with the same value.
fn assert_within(ours: &Value, theirs: &Value, at: &str) {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            for (name, value) in ours {
                let other = theirs.get(name).unwrap_or_else(|| panic!("{at}.{name} is missing"));
                assert_within(value, other, &format!("{at}.{name}"));
            }
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            assert_eq!(ours.len(), theirs.len(), "{at}");
            for (index, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                assert_within(ours, theirs, &format!("{at}[{index}]"));
            }
        }
        _ => assert_eq!(ours, theirs, "{at}"),
    }
}

/// A command, the part of its document, method and path, the body, the part of that document.
type Row<'r> = (&'r [&'r str], &'r str, &'r str, &'r str, Value, &'r str);

fn assert_same(site: &Site, token: &str, (command, part, method, path, body, other): Row<'_>) {
    let ours = match command[0] {
        "explain" | "translate" | "next" => {
            serde_json::from_str(&crate::program::mainspring(command).stdout).unwrap()
        }
        _ => site.served.json(command),
    };
    let path = format!("/api/v1{path}");
    let theirs = match method {
        "GET" => site.get(&path, token),
        _ => site.post(&path, token, &body.to_string()),
    };
    let theirs = theirs.json();
    let theirs = theirs.pointer(other).unwrap_or_else(|| panic!("{path}: {theirs}"));
    let ours = ours.pointer(part).unwrap_or_else(|| panic!("{command:?}: {ours}"));
    assert!(!ours.as_array().is_some_and(Vec::is_empty), "{command:?} has nothing to compare");
    assert_within(ours, theirs, &path);
}

/// What has another shape in a stream of lines, in a list with civil times, and in a count.
fn assert_texts_agree(site: &Site, token: &str, run: &str, next: &[&str], asked: &Value) {
    let lines = site.served.ask(&["logs", "idle", "--json"]).stdout;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let output = String::from_utf8(site.get(&format!("/api/v1{run}/output"), token).body).unwrap();
    assert_eq!(lines.len(), output.lines().count());
    for (line, told) in lines.iter().zip(output.lines()) {
        let text = |name: &str| line[name].as_str().unwrap();
        assert_eq!(told, format!("{} {} {} {}", text("time"), line["attempt"], text("stream"), text("text")));
    }
    let ours: Value = serde_json::from_str(&crate::program::mainspring(next).stdout).unwrap();
    let theirs = site.post("/api/v1/explain", token, &asked.to_string()).json();
    let time = |value: &Value| value.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let ours: Vec<_> = ours["times"].as_array().unwrap().iter().map(time).collect();
    let theirs: Vec<_> = theirs["times"].as_array().unwrap().iter().map(|at| time(&at["at"])).collect();
    assert_eq!((ours.len(), &ours), (3, &theirs));
    let file = site.served.file();
    let ours = crate::program::mainspring(&["check", file.to_str().unwrap(), "--json"]).stdout;
    let ours = serde_json::from_str::<Value>(&ours).unwrap()["files"][0].clone();
    let sent = json!({ "files": [{ "path": "jobs.toml", "text": std::fs::read_to_string(&file).unwrap() }] });
    let theirs = site.post("/api/v1/check", token, &sent.to_string()).json()["files"][0].clone();
    assert_eq!(ours["jobs"], json!(theirs["jobs"].as_array().unwrap().len()));
    assert_eq!(ours["problems"], json!(theirs["faults"].as_array().unwrap().len()));
}

fn assert_doctor_and_health_agree(site: &Site, token: &str) {
    let doctor = site.served.json(&["doctor", "--json"]);
    let health = site.get("/api/v1/health", token).json();
    let ours = doctor["findings"].as_array().unwrap();
    for finding in health["findings"].as_array().unwrap() {
        let is_same = |other: &&Value| ["subject", "level"].iter().all(|name| other[name] == finding[name]);
        assert!(ours.iter().any(|other| is_same(&other)), "doctor has no {finding} in {ours:?}");
    }
}

#[test]
fn the_api_says_what_the_command_line_says() {
    let dead = "[jobs.dying]\nlabels = { team = 'ops' }\nat = 2100-01-01T00:00:00Z\ndead_letters = \"always\"\nshell = 'exit 3'\n";
    let site = Site::start("http-equal", &format!("{IDLE}{dead}"), &[]);
    let token = site.token("mara", Scope::Look);
    site.served.says(&["run", "idle", "--wait"], 0, "succeeded");
    site.served.says(&["run", "dying", "--wait"], 1, "");
    site.served.says(&["at", "2100-01-01T00:00:00Z", "--name", "tea", "--", "true"], 0, "tea");
    let run = site.served.json(&["history", "idle", "--json"])["runs"]["runs"][0]["run"].clone();
    let run = run.as_str().unwrap().split('@').nth(1).unwrap().to_owned();
    let one_run = format!("/runs/idle/{run}/0");
    let expression = "30 2 * * 1-5";
    let asked = json!({
        "schedule": expression, "zone": "Europe/Berlin", "from": "2026-03-01T00:00:00Z", "n": 3
    });
    let options = ["--tz", "Europe/Berlin", "--from", "2026-03-01T00:00:00Z", "--json"];
    let explain = [&["explain", expression][..], &options].concat();
    let translate = ["translate", expression, "--to", "quartz", "--json"];
    let nothing = Value::Null;
    site.served.says(&["pause", "dying", "--until", "2099-01-01T00:00:00Z", "--note", "new disk"], 0, "");
    let by_end = ["history", "--by-end", "--cause", "request", "--json"];
    let next = [&["next", expression, "-n", "3"][..], &options].concat();
    let rows: [Row<'_>; 18] = [
        (&["health", "--json"], "/level", "GET", "/health", nothing.clone(), "/level"),
        (&["health", "--json"], "/asked", "GET", "/health", nothing.clone(), "/asked"),
        (&next, "/day_rule", "POST", "/explain", asked.clone(), "/day_rule"),
        (&["show", "dying", "--json"], "/job", "GET", "/jobs/dying", nothing.clone(), ""),
        (&["audit", "--json"], "/audit/rows", "GET", "/audit", nothing.clone(), "/items"),
        (
            &["list", "--label", "team=ops", "--json"],
            "/jobs/jobs",
            "GET",
            "/jobs?label=team=ops",
            nothing.clone(),
            "/items",
        ),
        (&by_end, "/runs/runs", "GET", "/runs?cause=request", nothing.clone(), "/items"),
        (&["status", "--json"], "/status", "GET", "/status", nothing.clone(), ""),
        (&["list", "--json"], "/jobs/jobs", "GET", "/jobs", nothing.clone(), "/items"),
        (&["list", "--pending", "--json"], "/jobs/pending", "GET", "/once", nothing.clone(), "/items"),
        (&["show", "idle", "--json"], "/job", "GET", "/jobs/idle", nothing.clone(), ""),
        (&["history", "--json"], "/runs/runs", "GET", "/runs?order=nominal", nothing.clone(), "/items"),
        (
            &["history", "--state", "succeeded", "--json"],
            "/runs/runs",
            "GET",
            "/runs?state=succeeded",
            nothing.clone(),
            "/items",
        ),
        (&["history", "idle", "-n", "1", "--json"], "/runs/runs/0", "GET", &one_run, nothing.clone(), ""),
        (&["dead", "list", "--json"], "/runs/runs", "GET", "/runs?state=dead", nothing.clone(), "/items"),
        (&explain, "/explanation", "POST", "/explain", asked.clone(), "/explanation"),
        (&explain, "/from", "POST", "/explain", asked.clone(), "/from"),
        (&translate, "/translation", "POST", "/explain", asked.clone(), "/translations/1/translation"),
    ];
    let commands = rows.iter().map(|(command, ..)| match command[0] {
        "dead" => command[..2].join(" "),
        name => name.to_owned(),
    });
    let by_hand = ["logs", "check"].map(str::to_owned);
    let done: BTreeSet<String> = commands.chain(by_hand).collect();
    assert_eq!(done, COMPARED.map(str::to_owned).into(), "the list and the rows");
    assert_texts_agree(&site, &token, &one_run, &next, &asked);
    rows.into_iter().for_each(|row| assert_same(&site, &token, row));
    assert_doctor_and_health_agree(&site, &token);
    let missing = site.get("/api/v1/jobs/none", &token);
    assert_eq!((missing.status, missing.json()["detail"].as_str()), (404, Some("there is no job `none`")));
    site.served.says(&["show", "none"], 4, "there is no job `none`");
    site.stop();
}

#[test]
fn files_and_definitions_go_the_same_way_by_both() {
    let site = Site::start("http-define", IDLE, &["--define-over-http"]);
    let token = site.token("mara", Scope::Define);
    let text = "[jobs.new]\nevery = \"1h\"\nrun = [\"true\"]\n";
    let made = site.post("/api/v1/jobs", &token, &json!({ "toml": text }).to_string());
    assert_eq!((made.status, made.header("location")), (201, Some("../../api/v1/jobs/new")), "{made:?}");
    assert_eq!(site.post("/api/v1/jobs", &token, &json!({ "toml": text }).to_string()).status, 409);
    assert_eq!(site.served.json(&["show", "new", "--json"])["job"]["source_code"], "command");
    let wrong = site.post(
        "/api/v1/jobs",
        &token,
        &json!({ "toml": "[jobs.x]\nrun = [\"true\"]\ncron = \"61 * * * *\"" }).to_string(),
    );
    assert_eq!((wrong.status, wrong.json()["problems"][0]["line"].as_u64()), (422, Some(3)), "{wrong:?}");
    let tag = site.get("/api/v1/jobs/new", &token).header("etag").unwrap().to_owned();
    let bearer = format!("Bearer {token}");
    let put = |tag: &str, text: &str| {
        let headers = [("Authorization", bearer.as_str()), ("If-Match", tag)];
        site.send("PUT", "/api/v1/jobs/new", &headers, &json!({ "toml": text }).to_string())
    };
    let other = text.replace("1h", "2h");
    assert_eq!(put(&tag, &other).status, 200);
    let late = put(&tag, text);
    assert_eq!(
        (late.status, late.json()["type"].as_str()),
        (412, Some("urn:mainspring:problem:precondition"))
    );
    let of_file = json!({ "toml": IDLE }).to_string();
    let headers = [("Authorization", bearer.as_str())];
    assert_eq!(site.send("PUT", "/api/v1/jobs/idle", &headers, &of_file).status, 409, "it belongs to a file");
    let runs = site.get("/api/v1/files", &token);
    let known = [("Authorization", bearer.as_str()), ("If-None-Match", runs.header("etag").unwrap())];
    assert_eq!(site.send("GET", "/api/v1/files", &known, "").status, 304);
    assert_eq!(site.send("DELETE", "/api/v1/jobs/new", &headers, "").status, 204);
    site.served.says(&["show", "new"], 4, "there is no job");
    let file = json!({
        "files": [{ "path": "/srv/more.toml", "text": text }], "preview": true
    });
    let preview = site.post("/api/v1/apply", &token, &file.to_string()).json();
    assert_eq!(preview["added"], json!(["new"]));
    assert!(preview["diff"].as_str().unwrap().contains("+[jobs.new]"), "{preview}");
    site.served.says(&["show", "new"], 4, "there is no job");
    let once =
        json!({ "in": "1000h", "work": { "process": { "run": ["true"], "cwd": "/" } }, "name": "tea" });
    let keyed = |key: &str| {
        let headers = [("Authorization", bearer.as_str()), ("Idempotency-Key", key)];
        site.send("POST", "/api/v1/once", &headers, &once.to_string())
    };
    let first = keyed("k1");
    assert_eq!((first.status, first.json()["name"].as_str()), (201, Some("tea")), "{first:?}");
    assert_eq!(keyed("k1").status, 200, "the same key is the same");
    site.served.says(&["show", "tea"], 0, "pending");
    assert_eq!(site.get("/api/v1/once/tea", &token).json()["name"], "tea");
    assert_eq!(site.send("DELETE", "/api/v1/once/tea", &headers, "").status, 204);
    assert_eq!(site.get("/api/v1/once/tea", &token).status, 404);
    let export = site.get("/api/v1/export", &token);
    assert_eq!(String::from_utf8(export.body).unwrap(), site.served.ask(&["export"]).stdout);
    site.stop();
}

#[test]
fn a_job_is_made_of_json_and_its_work_is_done_once_more() {
    let site = Site::start("http-once-job", IDLE, &["--define-over-http"]);
    let (mara, otto) = (site.token("mara", Scope::Define), site.token("otto", Scope::Operate));
    let job = json!({ "every": "1h", "run": ["sh", "-c", "echo \"made of json\""], "retry": { "max": 2 } });
    let made = site.post("/api/v1/jobs", &mara, &json!({ "name": "new", "job": job }).to_string());
    assert_eq!(made.status, 201, "{made:?}");
    let definition = made.json()["definition"].as_str().unwrap().to_owned();
    for line in ["every = \"1h\"", "made of json"] {
        assert!(definition.contains(line), "{line} is not in {definition}");
    }
    let wrong = json!({ "name": "bad", "job": { "every": "1h", "run": ["true"], "colour": "red" } });
    let wrong = site.post("/api/v1/jobs", &mara, &wrong.to_string());
    assert!(wrong.status == 422 && wrong.json().to_string().contains("colour"), "{wrong:?}");
    let both = json!({ "name": "bad", "toml": "[jobs.bad]" }).to_string();
    assert_eq!(site.post("/api/v1/jobs", &mara, &both).status, 422);
    // The work of a job is defined already, work of one's own is not.
    let once = |token: &str, body: Value| site.post("/api/v1/once", token, &body.to_string());
    let first = once(&otto, json!({ "in": "0s", "job": "new" }));
    assert_eq!(first.status, 201, "{first:?}");
    let own = json!({ "in": "1h", "work": { "process": { "run": ["true"], "cwd": "/" } } });
    assert_eq!((once(&otto, own.clone()).status, once(&mara, own).status), (403, 201));
    assert_eq!(once(&otto, json!({ "in": "1h", "job": "none" })).status, 404);
    assert_eq!(once(&otto, json!({ "in": "1h", "job": "new", "work": {} })).status, 422);
    assert_eq!(once(&otto, json!({ "in": "1h" })).status, 422);
    let batch = json!({ "items": [{ "in": "1h", "job": "new" }, { "in": "1h", "work": { "process": { "run": ["true"] } } }] });
    let batch = site.post("/api/v1/once/batch", &otto, &batch.to_string()).json();
    let statuses: Vec<_> =
        batch["items"].as_array().unwrap().iter().map(|item| item["status"].clone()).collect();
    assert_eq!(statuses, [json!(201), json!(403)]);
    while !site.served.ask(&["history", "--state", "succeeded"]).stdout.contains("new") {
        pause();
    }
    site.served.says(&["logs", "new"], 0, "made of json");
    let bearer = format!("Bearer {mara}");
    let headers = [("Authorization", bearer.as_str())];
    assert_eq!(site.send("DELETE", "/api/v1/jobs/new?history=burn", &headers, "").status, 400);
    assert_eq!(site.send("DELETE", "/api/v1/jobs/new?history=keep", &headers, "").status, 204);
    site.stop();
}
