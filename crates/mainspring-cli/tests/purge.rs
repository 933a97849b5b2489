//! Deletion of a job's history and of old output, and the answers about them afterwards.

use mainspring_web::scope::Scope;
use serde_json::json;

use crate::program::pause;
use crate::site::{Answer, Site};
use crate::test_server::{IDLE, TestServer, write};

fn paths(site: &Site, token: &str, job: &str) -> Vec<String> {
    let runs = site.get(&format!("/api/v1/runs?job={job}"), token).json();
    let nominals = runs["items"].as_array().unwrap().iter().map(|run| run["nominal"].as_str().unwrap());
    nominals.map(|nominal| format!("/api/v1/runs/{job}/{nominal}/0/output")).collect()
}

#[test]
fn a_job_is_removed_with_its_history_unless_a_run_is_open_or_dead() {
    let site = Site::start("purge", IDLE, &["--define-over-http"]);
    let token = site.token("mara", Scope::Define);
    let bearer = format!("Bearer {token}");
    let delete = |job: &str| {
        let path = format!("/api/v1/jobs/{job}?history=drop");
        site.send("DELETE", &path, &[("Authorization", bearer.as_str())], "")
    };
    let said = |answer: &Answer, status: u16, part: &str| {
        let text = String::from_utf8_lossy(&answer.body);
        assert!(answer.status == status && text.contains(part), "{answer:?} {text}");
    };
    let define = |shell: &str| {
        let toml = format!(
            "[jobs.new]\nat = 2100-01-01T00:00:00Z\ndead_letters = 'always'\ncwd = '/'\nshell = '{shell}'\n"
        );
        site.send(
            "PUT",
            "/api/v1/jobs/new",
            &[("Authorization", bearer.as_str())],
            &json!({ "toml": toml }).to_string(),
        )
    };
    said(&delete("idle"), 409, "remove it there");
    said(&delete("new"), 404, "there is no job `new`");
    assert_eq!(define("echo secret").status, 201);
    site.served.says(&["run", "new", "--wait"], 0, "succeeded");
    assert_eq!(define("exec sleep 1000").status, 200);
    site.served.says(&["run", "new"], 0, "");
    said(&delete("new"), 409, "1 run that did not end yet");
    site.served.says(&["cancel", "new"], 0, "");
    while site.served.json(&["show", "new", "--json"])["job"]["running"] != 0 {
        pause();
    }
    assert_eq!(define("exit 3").status, 200);
    site.served.says(&["run", "new", "--wait"], 1, "");
    said(&delete("new"), 409, "dead letters");
    let dead = site.served.json(&["dead", "list", "--json"])["runs"]["runs"][0]["run"].clone();
    site.served.says(&["dead", "drop", dead.as_str().unwrap()], 0, "");
    let output = paths(&site, &token, "new");
    assert_eq!(output.len(), 3);
    assert_eq!(delete("new").status, 204);
    assert_eq!(site.get("/api/v1/runs?job=new", &token).status, 404, "nothing is left of it");
    assert_eq!(site.get(&output[2], &token).status, 404);
    assert!(!site.served.folder.join("data/output/new").exists(), "what the runs wrote went with them");
    site.served.says(&["audit"], 0, "purge");
    said(&delete("new"), 404, "nor a run of it");
    // A job that was removed before has left its runs, which go later.
    site.served.says(&["every", "5h", "--name", "old", "--", "echo", "hello"], 0, "");
    site.served.says(&["run", "old", "--wait"], 0, "succeeded");
    site.served.says(&["remove", "old"], 0, "");
    assert_eq!(paths(&site, &token, "old").len(), 1);
    site.served.says(&["remove", "old", "--drop-history"], 0, "");
    site.served.says(&["history", "old"], 4, "there is no job");
    site.stop();
}

#[test]
fn output_that_made_room_for_newer_is_gone_and_not_empty() {
    let jobs =
        "[jobs.loud]\nat = 2100-01-01T00:00:00Z\nretention = { keep = 2 }\ncwd = '/'\nshell = 'echo ran'\n";
    let site = Site::start("gone-output", jobs, &[]);
    let token = site.token("mara", Scope::Look);
    for _ in 0..4 {
        site.served.says(&["run", "loud", "--wait"], 0, "succeeded");
    }
    let paths = paths(&site, &token, "loud");
    let answers: Vec<Answer> = paths.iter().map(|path| site.get(path, &token)).collect();
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [200, 200, 410, 410]);
    assert_eq!(answers[3].json()["type"], "urn:mainspring:problem:gone");
    assert_eq!(site.get(&format!("{}/events", paths[3]), &token).status, 410);
    site.stop();
}

#[test]
fn what_a_dead_letter_wrote_is_there_until_it_is_dropped() {
    let jobs = "[jobs.loud]\nat = 2100-01-01T00:00:00Z\nretention = { keep = 1 }\ndead_letters = 'always'\n\
                shell = 'echo said; exec test -e \"$OWN/go\"'\nenv = { OWN = 'FOLDER' }\ncwd = '/'\n";
    let own = crate::test_server::folder("dead-output");
    write(&own.join("jobs.toml"), &jobs.replace("FOLDER", own.to_str().unwrap()));
    let served = TestServer::start_in(own.clone(), &[]);
    served.says(&["run", "loud", "--wait"], 1, "dead");
    let dead =
        served.json(&["dead", "list", "--json"])["runs"]["runs"][0]["run"].as_str().unwrap().to_owned();
    write(&own.join("go"), "");
    let run_twice = |served: &TestServer| {
        (0..2).for_each(|_| served.says(&["run", "loud", "--wait"], 0, "succeeded"));
    };
    run_twice(&served);
    served.says(&["logs", &dead], 0, "said");
    let served = served.crash_and_start();
    run_twice(&served);
    served.says(&["logs", &dead], 0, "said");
    served.says(&["dead", "drop", &dead], 0, "");
    run_twice(&served);
    served.says(&["logs", &dead], 0, "its output is not kept any more");
    served.stop();
}
