//! Jobs whose owner was killed, before another server has them: what only looks is answered all the same.
//!
//! The lease of the dead is made long in the database, so that it is not over while a test asks.

use std::fs;
use std::path::PathBuf;

use mainspring_web::scope::Scope;
use nix::sys::signal::Signal;

use crate::asked::until;
use crate::database::Database;
use crate::site::{Answer, Site};
use crate::standing::Pair;
use crate::test_server::TestServer;

/// A server of two. The other was killed, which owned the jobs.
struct RemainingServer {
    folder: PathBuf,
    database: Database,
    site: Site,
    /// The jobs that wrote something.
    names: Vec<String>,
}

/// The jobs that write something.
fn names() -> Vec<String> {
    (0..12).map(|number| format!("j{number}")).collect()
}

fn jobs() -> String {
    let at = "at = 2100-01-01T00:00:00Z\ncwd = '/'\n";
    let of = |name: &String| format!("[jobs.{name}]\n{at}shell = 'echo wrote this'\n");
    let mut jobs: String = names().iter().map(of).collect();
    jobs.push_str(&format!("[jobs.dies]\n{at}dead_letters = 'always'\nrun = ['false']\n"));
    jobs.push_str(&format!("[jobs.long]\n{at}shell = 'exec sleep 1000'\n"));
    jobs
}

/// Lets one job run. Some have ended, one of them as a dead letter, some are pending, and one is paused.
fn begin(database: &Database, servers: [&TestServer; 2]) {
    until(database, "SELECT count(*) FROM mainspring.job WHERE source IS NOT NULL", "14");
    let ask = |number: usize, arguments: &[&str]| servers[number % 2].ask(arguments).code;
    for (number, name) in names().iter().enumerate() {
        assert_eq!(ask(number, &["run", name, "--wait"]), 0);
    }
    for number in 0..8 {
        let name = format!("later-{number}");
        assert_eq!(ask(number, &["at", "+1h", "--name", &name, "--", "true"]), 0);
    }
    assert_ne!(ask(0, &["run", "dies", "--wait"]), 0);
    assert_eq!(ask(0, &["pause", "j3", "--note", "for a while"]), 0);
    assert_eq!(ask(0, &["run", "long"]), 0);
    until(database, "SELECT count(*) FROM mainspring.open_run WHERE state = 'running'", "1");
    until(database, "SELECT count(*) FROM mainspring.output WHERE job ~ '^j'", "12");
}

impl RemainingServer {
    /// Of an owner and a standby.
    fn behind(name: &str) -> Option<RemainingServer> {
        let Pair { folder, owner, site, database } = Pair::with(name, |_| jobs())?;
        begin(&database, [&owner, &site.served]);
        owner.running.signal(Signal::SIGKILL);
        assert_eq!(owner.running.end().0.code(), None);
        keep_lease(&database);
        Some(RemainingServer { folder, database, site, names: names() })
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

/// Lets the lease last for an hour from now on, though its owner is dead.
fn keep_lease(database: &Database) {
    database.ask("UPDATE mainspring.planner SET until = clock_timestamp() + interval '1 h'");
    let lasting = "clock_timestamp() + interval '30 min' < until";
    until(database, &format!("SELECT count(*) FILTER (WHERE {lasting}) FROM mainspring.planner"), "1");
}

#[test]
fn commands_that_look_are_answered_by_a_standby_until_it_owns_the_jobs() {
    let Some(mut left) = RemainingServer::behind("absent-commands") else { return };
    left.says(&["list"], &left.all());
    left.says(&["list"], &["paused"]);
    left.says(&["list", "--json"], &["\"running\": 1"]);
    let counts = ["jobs           14", "pending        8", "jobs.toml: good, 14 jobs"];
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
    // The next owner continues.
    left.database.ask(
        "UPDATE mainspring.planner SET until = '-infinity' WHERE until > clock_timestamp() + interval '1 min'",
    );
    left.site.served.running.wait_for(&["mainspring", ", data in "]);
    let abandoned = "SELECT count(*) FROM mainspring.run WHERE job = 'long' AND state = 'abandoned'";
    until(&left.database, abandoned, "1");
    left.says(&["status"], &["jobs           14", "pending        8"]);
    left.site.stop();
    let _ = fs::remove_dir_all(&left.folder);
}

#[test]
fn the_api_of_a_standby_answers_what_only_looks_when_the_owner_was_killed() {
    let Some(left) = RemainingServer::behind("absent-http") else { return };
    let token = left.site.token("ada", Scope::Operate);
    let get = |path: &str| left.get(path, &token);
    let status = get("/api/v1/status").json();
    assert_eq!((&status["jobs"], &status["pending"]), (&14.into(), &8.into()), "{status}");
    assert_eq!((&status["dead"], &status["running"]), (&1.into(), &1.into()), "{status}");
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
    // A server is ready while a server has the lease.
    assert_eq!(left.site.get("/readyz", &token).status, 200);
    assert_eq!(left.site.get("/metrics", &token).status, 200);
    left.site.stop();
    let _ = fs::remove_dir_all(&left.folder);
}
