//! Shards whose owner was killed, before another server has them: what only looks is answered all the same.
//!
//! The leases of the dead are made long in the database, so that they are not over while a test asks.

use std::fs;
use std::path::PathBuf;

use mainspring_web::scope::Scope;
use nix::sys::signal::Signal;

use crate::asked::until;
use crate::database::Database;
use crate::served::write;
use crate::shards::{listening, prepared, shared};
use crate::site::{Answer, Site};

/// A server of two, each of which owned two of four shards, and the other was killed.
struct Left {
    folder: PathBuf,
    database: Database,
    site: Site,
    /// The jobs that wrote something, of which each server had some.
    names: Vec<String>,
}

impl Left {
    /// Of the server that was killed a job runs. Of both some have ended, one of them as a dead letter, and
    /// some are pending.
    fn behind(name: &str) -> Option<Left> {
        let (folder, database) = prepared(name, 4)?;
        let names: Vec<String> = (0..12).map(|number| format!("j{number}")).collect();
        let at = "at = 2100-01-01T00:00:00Z\ncwd = '/'\n";
        let mut jobs: String =
            names.iter().map(|name| format!("[jobs.{name}]\n{at}shell = 'echo wrote this'\n")).collect();
        jobs.push_str(&format!("[jobs.dies]\n{at}dead_letters = 'always'\nrun = ['false']\n"));
        jobs.push_str(&format!("[jobs.long]\n{at}shell = 'exec sleep 1000'\n"));
        write(&folder.join("jobs.toml"), &jobs);
        let mut sites = vec![listening(&folder, "one"), listening(&folder, "other")];
        shared(&database, 2, 2, 4);
        until(&database, "SELECT count(*) FROM mainspring.job WHERE source IS NOT NULL", "14");
        let ask = |number: usize, arguments: &[&str]| sites[number % 2].served.ask(arguments).code;
        for (number, name) in names.iter().enumerate() {
            assert_eq!(ask(number, &["run", name, "--wait"]), 0);
        }
        for number in 0..8 {
            let name = format!("later-{number}");
            assert_eq!(ask(number, &["at", "+1h", "--name", &name, "--", "true"]), 0);
        }
        assert_ne!(ask(0, &["run", "dies", "--wait"]), 0);
        assert_eq!(ask(0, &["pause", "j3", "--note", "for a while"]), 0);
        assert_eq!(ask(0, &["run", "long"]), 0);
        until(&database, "SELECT count(*) FROM mainspring.open_run WHERE state = 'running'", "1");
        until(&database, "SELECT count(*) FROM mainspring.output WHERE job ~ '^j'", "12");
        let of_long = "FROM mainspring.server AS v JOIN mainspring.shard AS s ON s.server = v.id
            JOIN mainspring.job AS j ON j.shard = s.shard WHERE j.name = 'long'";
        let server = database.ask(&format!("SELECT v.id {of_long}"));
        let address = database.ask(&format!("SELECT v.address {of_long}"));
        let is_dead = |site: &Site| address.starts_with(site.served.folder.to_str().unwrap());
        let place = sites.iter().position(is_dead).unwrap();
        let running = sites.remove(place).served.running;
        running.signal(Signal::SIGKILL);
        assert_eq!(running.end().0.code(), None);
        keep_leases(&database, &server);
        Some(Left { folder, database, site: sites.remove(0), names })
    }

    fn all(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).chain(["dies", "long"]).collect()
    }

    fn says(&self, arguments: &[&str], parts: &[&str]) {
        let told = self.site.served.ask(arguments);
        assert_eq!(told.code, 0, "{arguments:?}: {}", told.stderr);
        for part in parts {
            assert!(told.stdout.contains(part), "{part} in {arguments:?}: {}", told.stdout);
        }
    }

    fn get(&self, path: &str, token: &str) -> Answer {
        let answer = self.site.get(path, token);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer
    }
}

/// Lets the leases of this server last for an hour from now on, though it is dead.
fn keep_leases(database: &Database, server: &str) {
    let of = format!("server = '{server}' AND owner <> ''");
    database
        .ask(&format!("UPDATE mainspring.shard SET until = clock_timestamp() + interval '1 h' WHERE {of}"));
    let lasting = "clock_timestamp() + interval '30 min' < until";
    let sql = format!("SELECT count(*) FILTER (WHERE {lasting}) FROM mainspring.shard WHERE {of}");
    until(database, &sql, "2");
}

#[test]
fn commands_that_look_are_answered_from_the_database_until_another_server_has_the_shards() {
    let Some(left) = Left::behind("absent-commands") else { return };
    left.says(&["list"], &left.all());
    left.says(&["list"], &["paused"]);
    left.says(&["list", "--json"], &["\"running\": 1"]);
    let counts =
        ["jobs           14", "pending        8", "jobs.toml: good, 14 jobs", "nobody answers for shards "];
    left.says(&["status"], &counts);
    left.says(&["list", "--pending"], &["later-0", "later-1", "later-6", "later-7"]);
    left.says(&["history"], &left.all());
    left.says(&["dead", "list"], &["dies@"]);
    left.says(&["export"], &["[jobs.j0]", "[jobs.j11]", "[jobs.dies]", "[jobs.long]"]);
    for name in &left.names {
        left.says(&["show", name], &[name]);
        left.says(&["history", name], &["succeeded"]);
        left.says(&["logs", name], &["wrote this"]);
    }
    left.says(&["show", "j3"], &["for a while"]);
    assert_eq!(left.site.served.ask(&["show", "nothing"]).code, 4);
    // What changes something needs the owner.
    assert_eq!(left.site.served.ask(&["run", "long"]).code, 75);
    // The next owner goes on.
    left.database.ask(
        "UPDATE mainspring.shard SET until = '-infinity' WHERE until > clock_timestamp() + interval '1 min'",
    );
    shared(&left.database, 1, 4, 4);
    let abandoned = "SELECT count(*) FROM mainspring.run WHERE job = 'long' AND state = 'abandoned'";
    until(&left.database, abandoned, "1");
    left.says(&["status"], &["jobs           14", "pending        8"]);
    left.site.stop();
    let _ = fs::remove_dir_all(&left.folder);
}

#[test]
fn the_api_answers_what_only_looks_for_shards_whose_owner_was_killed() {
    let Some(left) = Left::behind("absent-http") else { return };
    let token = left.site.token("ada", Scope::Operate);
    let get = |path: &str| left.get(path, &token);
    let status = get("/api/v1/status").json();
    assert_eq!((&status["jobs"], &status["pending"]), (&14.into(), &8.into()), "{status}");
    assert_eq!((&status["dead"], &status["running"]), (&1.into(), &1.into()), "{status}");
    assert!(status["troubles"].to_string().contains("nobody answers for shards "), "{status}");
    assert_eq!(status["cluster"]["shards"].as_array().unwrap().len(), 4);
    let jobs = get("/api/v1/jobs").json();
    assert_eq!(jobs["items"].as_array().unwrap().len(), 14);
    assert!(!jobs.to_string().contains("mismatched"), "{jobs}");
    for path in ["health", "files", "export", "audit", "upcoming", "once", "jobs/long", "jobs/long/stats"] {
        get(&format!("/api/v1/{path}"));
    }
    let runs = get("/api/v1/runs?q=j").json();
    let runs = runs["items"].as_array().unwrap();
    assert_eq!(runs.len(), 12);
    for run in runs {
        let (job, nominal) = (run["job"].as_str().unwrap(), run["nominal"].as_str().unwrap());
        let of_run = format!("/api/v1/runs/{job}/{nominal}/0");
        assert_eq!(get(&of_run).json()["state"], run["state"]);
        let output = get(&format!("{of_run}/output"));
        assert!(String::from_utf8_lossy(&output.body).contains("wrote this"), "{job}: {output:?}");
    }
    // A server is ready when somebody answers for all shards.
    assert_eq!(left.site.get("/readyz", &token).status, 503);
    left.site.stop();
    let _ = fs::remove_dir_all(&left.folder);
}
