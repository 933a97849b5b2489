//! `mainspring doctor`, with a server and without one.

use std::fs;

use serde_json::Value;

use crate::program::mainspring;
use crate::test_server::{IDLE, TestServer, folder, write};

fn finding<'a>(report: &'a Value, subject: &str) -> &'a Value {
    let findings = report["findings"].as_array().unwrap();
    findings.iter().find(|found| found["subject"] == subject).unwrap_or_else(|| panic!("{subject}: {report}"))
}

#[test]
fn where_there_is_no_trouble_all_is_ok() {
    let served = TestServer::start("doctor", IDLE);
    served.says(&["doctor"], 0, "ok       server      process ");
    let report = served.json(&["doctor", "--json"]);
    assert_eq!(report["asked"], "server");
    for subject in ["data", "store", "jobs", "file", "clock", "planned"] {
        let found = finding(&report, subject);
        assert_eq!((&found["level"], &found["hint"]), (&"ok".into(), &Value::Null), "{found}");
    }
    assert!(finding(&report, "server")["text"].as_str().unwrap().ends_with("epoch 1"), "{report}");
    served.stop();
}

#[test]
fn a_number_of_a_running_server_that_is_not_that_of_the_rows_is_told() {
    let served = TestServer::start("doctor-counts", IDLE);
    served.says(&["run", "idle", "--wait"], 0, "");
    let report = served.json(&["doctor", "--json"]);
    assert_eq!(finding(&report, "counts")["level"], "ok", "{report}");
    let store = rusqlite::Connection::open(served.folder.join("data/mainspring.db")).unwrap();
    store.busy_timeout(std::time::Duration::from_secs(30)).unwrap();
    store.execute("UPDATE head SET runs = runs + 2, pending = pending + 1", []).unwrap();
    served.says(&["doctor"], 1, "BAD      counts      it keeps that it has 3 runs, and it has 1\n");
    served.says(&["doctor"], 1, "BAD      counts      it keeps that it has 1 pending jobs, and it has 0\n");
    store.execute("UPDATE head SET runs = runs - 2, pending = pending - 1", []).unwrap();
    served.says(&["doctor"], 0, "ok       counts ");
    served.stop();
}

#[test]
fn what_somebody_should_look_at_is_a_warning_and_what_is_broken_is_bad() {
    let jobs = format!(
        "{IDLE}[jobs.bad]\nat_boot = true\ncwd = '/'\nshell = 'exit 3'\ndead_letters = 'always'\npause_after = 1\n"
    );
    let mut served = TestServer::start("doubt", &jobs);
    served.running.wait_for_all(&[&["is a dead letter"], &["paused: it failed too often"]]);
    served.says(&["pause", "idle"], 0, "");
    let report = served.json(&["doctor", "--json"]);
    assert_eq!(report["level"], "warning");
    assert!(finding(&report, "dead")["hint"].as_str().unwrap().contains("mainspring dead list"), "{report}");
    served.says(&["doctor"], 0, "warning  paused      after too many failures: 1 job (bad)");
    served.says(&["doctor"], 0, "ok       paused      1 job (idle)");
    write(&served.file(), "[jobs.x]\nevry = 1\n");
    served.running.wait_for(&["has problems"]);
    served.says(&["doctor"], 1, "BAD      file ");
    served.says(&["doctor"], 1, "hint: the old set is in force");
    served.stop();
}

#[test]
fn mails_that_nothing_takes_are_told_by_doctor_and_once_in_the_log() {
    let jobs = format!("{IDLE}sendmail = '/nowhere/sendmail'\nmail_output = 'ada'\n");
    let served = TestServer::start("doctor-mail", &(jobs.clone() + &jobs.replace("idle", "more")));
    served.says(&["doctor"], 0, "warning  mail        no mail is sent: there is no /nowhere/sendmail here\n");
    served.says(&["run", "idle", "--wait"], 0, "succeeded");
    served.says(&["logs", "idle"], 0, "ran");
    let (_, lines, _) = served.running.stop();
    let told =
        lines.iter().filter(|line| line.contains("no mail is sent: there is no /nowhere/sendmail here"));
    assert_eq!(told.count(), 1, "{lines:#?}");
    let _ = fs::remove_dir_all(&served.folder);
}

#[test]
fn doctor_says_how_many_runs_the_server_was_given_and_not_how_many_the_files_allow() {
    let folder = folder("doctor-places");
    write(&folder.join("jobs.toml"), IDLE);
    let served = TestServer::start_in(folder, &["--max-running", "3"]);
    assert_eq!(finding(&served.json(&["doctor", "--json"]), "places")["text"], "at most 3 runs at a time");
    served.says(&["doctor"], 0, "ok       places      at most 3 runs");
    served.stop();
}

#[test]
fn without_a_server_the_store_itself_is_read() {
    let jobs =
        format!("{IDLE}[jobs.bad]\nat_boot = true\ncwd = '/'\nshell = 'exit 3'\ndead_letters = 'always'\n");
    let mut served = TestServer::start("alone", &jobs);
    served.running.wait_for(&["is a dead letter"]);
    let (folder, data) = (served.folder.clone(), served.data());
    served.running.stop();
    let ended = mainspring(&["doctor", "--data", &data, "--json"]);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((ended.code, &report["asked"]), (0, &"store".into()), "{report}");
    assert_eq!(finding(&report, "server")["level"], "warning");
    assert_eq!(finding(&report, "dead")["text"], "1 dead letter to be looked at");
    assert!(finding(&report, "store")["text"].as_str().unwrap().ends_with("was read through and is sound"));
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_folder_that_is_not_there_is_bad_and_an_empty_one_is_not() {
    let folder = folder("empty");
    let missing = folder.join("missing");
    let ended = mainspring(&["doctor", "--data", missing.to_str().unwrap()]);
    assert_eq!(ended.code, 1, "{}", ended.stdout);
    assert!(ended.stdout.contains("hint: mainspring serve makes it"), "{}", ended.stdout);
    let ended = mainspring(&["doctor", "--data", folder.to_str().unwrap()]);
    assert_eq!(ended.code, 0, "{}", ended.stdout);
    assert!(ended.stdout.contains("ok       store       there is none yet"), "{}", ended.stdout);
    let _ = fs::remove_dir_all(&folder);
}
