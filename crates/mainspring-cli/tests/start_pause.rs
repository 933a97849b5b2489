//! `serve --paused`: a copy of a folder is looked at, and nothing of it starts.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use serde_json::json;

use crate::program::{Running, mainspring};
use crate::test_server::IDLE;
use crate::test_server::{TestServer, folder, write};

/// Jobs that a start would begin, each of which leaves a file: a start of a machine and of a server, times
/// that passed, and a time each second.
fn jobs(folder: &Path) -> String {
    let row = |(name, when): (&str, &str)| {
        format!("[jobs.{name}]\n{when}\ncwd = '{0}'\nshell = 'touch {name}'\n", folder.display())
    };
    [
        ("boot", "at_boot = true"),
        ("start", "at_server_start = true"),
        ("often", "every = '1s'"),
        ("held", "every = '1s'"),
        ("daily", "cron = '0 0 * * *'"),
    ]
    .map(row)
    .concat()
}

/// A server of this folder without files: they are where the copy came from.
fn start(folder: &Path, args: &[&str]) -> TestServer {
    let data = folder.join("data");
    let running = Running::any(&[&["serve", "--data", data.to_str().unwrap()][..], args].concat());
    let mut served = TestServer { folder: folder.to_owned(), running };
    served.running.wait_for(&[", data in "]);
    served
}

fn job(served: &TestServer, name: &str) -> Value {
    let list = served.json(&["list", "--json"]);
    let jobs = list["jobs"]["jobs"].as_array().unwrap().iter();
    jobs.clone().find(|job| job["name"] == name).unwrap_or_else(|| panic!("{name} in {list}")).clone()
}

/// A folder as a server left it that was killed while things ran and waited; and where the jobs leave files.
fn copy_of_a_folder(name: &str) -> std::path::PathBuf {
    let folder = folder(name);
    let long = "[jobs.long]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\non_server_death = 'kill'\n\
                shell = 'echo ready; exec sleep 1000'\n\
                retry = { max = 3, backoff = '0s', on = ['abandoned'] }\n";
    write(&folder.join("jobs.toml"), &format!("{}{long}", jobs(&folder)));
    let mut served = TestServer::start_in(folder.clone(), &[]);
    served.says(&["pause", "held", "--note", "by a person"], 0, "");
    served.says(&["run", "long"], 0, "");
    served.running.wait_for(&["long", "stdout ready"]);
    served.says(
        &["at", "+1s", "--name", "once", "--", "/usr/bin/touch", folder.join("once").to_str().unwrap()],
        0,
        "",
    );
    served.running.signal(nix::sys::signal::Signal::SIGKILL);
    served.running.end();
    let copy = folder.join("copy");
    fs::create_dir(&copy).unwrap();
    let copied = Command::new("cp").arg("-a").arg(folder.join("data")).arg(&copy).status().unwrap();
    assert!(copied.success());
    for name in ["boot", "start", "often", "held", "daily", "once"] {
        let _ = fs::remove_file(folder.join(name));
    }
    fs::remove_file(folder.join("jobs.toml")).unwrap();
    folder
}

#[test]
fn a_copy_is_shown_and_nothing_of_it_starts_until_everything_is_resumed() {
    let folder = copy_of_a_folder("paused");
    let has_run = |name: &str| folder.join(name).exists();
    let mut served = start(&folder.join("copy"), &["--paused"]);
    served
        .running
        .wait_for(&["everything is paused, and nothing starts: `mainspring resume --all` ends that"]);
    served.says(
        &["status"],
        0,
        "everything, the server was started with --paused, `mainspring resume --all`",
    );
    served.says(&["doctor"], 0, "`mainspring resume --all`");
    // Everything is there, without its file, and with its next time.
    let daily = job(&served, "daily");
    assert_eq!((daily["state"].as_str(), daily["armed"].as_str()), (Some("paused with everything"), None));
    assert!(daily["next"].as_str().unwrap().ends_with("T00:00:00Z"), "{daily}");
    assert_eq!(job(&served, "held")["pause_terms"]["note"], "by a person");
    served.says(&["history", "long"], 0, "scheduled");
    served.says(&["show", "once"], 0, "pending");
    served.says(&["history", "start", "--state", "skipped_paused"], 0, "its job was paused");
    // A second server without --paused begins nothing either. The witness says that time has passed.
    served.stop_and_keep();
    let file = folder.join("jobs.toml");
    write(&file, &jobs(&folder));
    let mut served = start(&folder.join("copy"), &[file.to_str().unwrap()]);
    served.running.wait_for(&["everything is paused, and nothing starts"]);
    let mut witness = Running::start(&[], "@every 1s echo tick\n");
    for _ in 0..3 {
        witness.wait_for(&["echo", "start "]);
    }
    for name in ["boot", "start", "often", "held", "daily", "once"] {
        assert!(!has_run(name), "{name} has run");
    }
    served.says(&["resume", "--all"], 0, "");
    served.running.wait_for(&["once@", "end    exit status 0"]);
    served.running.wait_for(&["often@", "end    exit status 0"]);
    served.says(&["history", "often", "--state", "skipped_paused"], 0, "its job was paused");
    assert_eq!(job(&served, "held")["pause_terms"]["note"], "by a person", "its own pause is its own");
    assert!(!has_run("held") && !has_run("boot") && !has_run("start") && !has_run("daily"));
    served.stop_and_keep();
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_pause_that_would_end_gives_way_to_that_of_the_start_and_another_stays_as_it_is() {
    let mut served = TestServer::start("paused-before", "");
    for (asked, expected) in [
        (
            &["pause", "--all", "--until", "+1h", "--note", "an hour"][..],
            "the server was started with --paused",
        ),
        (&["pause", "--all", "--note", "a new disk"], "a new disk"),
    ] {
        served.says(asked, 0, "");
        let folder = served.folder.clone();
        served.stop_and_keep();
        served = TestServer::start_in(folder, &["--paused"]);
        served.running.wait_for(&["everything is paused, and nothing starts"]);
        served.says(&["status"], 0, expected);
    }
    served.stop();
}

#[test]
fn a_pause_of_everything_is_no_trouble_of_a_job_on_the_page_and_for_alerts() {
    use crate::site::Site;
    use mainspring_web::scope::Scope;

    let site = Site::start("paused-page", IDLE, &["--paused"]);
    let token = site.token("look", Scope::Look);
    let job = &site.get("/api/v1/jobs", &token).json()["items"][0];
    assert!(job["next"].is_string() && job["armed"].is_null(), "{job}");
    assert_eq!((&job["troubles"], job["state"].as_str()), (&json!([]), Some("paused with everything")));
    let metrics = site.get("/metrics", &token);
    let metrics = String::from_utf8_lossy(&metrics.body);
    assert!(metrics.contains("mainspring_agenda_mismatches 0.0\n"), "{metrics}");
    site.served.says(&["doctor"], 0, "everything is paused");
    assert!(!site.served.ask(&["status"]).stdout.contains("next due"), "nothing is");
    site.stop();
}

#[test]
fn servers_of_a_database_have_no_start_that_pauses() {
    let beside = mainspring(&["serve", "--paused", "--store", "postgres://nobody@127.0.0.1/none"]);
    assert_eq!(beside.code, 2, "{}", beside.stderr);
    assert!(
        beside.stderr.contains("--paused is for a folder: of a database start one server with --no-work")
    );
    let standing = mainspring(&["serve", "--paused", "--standby"]);
    assert_eq!(standing.code, 2, "{}", standing.stderr);
}
