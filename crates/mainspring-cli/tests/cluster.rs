//! Several servers on one database: who owns the jobs, and what happens when it cannot any more.
//!
//! A takeover waits for a lease of 15 s, as in earnest: its length is no option.

use std::fs;
use std::path::PathBuf;

use nix::sys::signal::Signal;

use crate::database::Database;
use crate::program::{Ended, Running, mainspring};
use crate::served::{folder, write};

const JOBS: &str = "[jobs.long]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\non_server_death = 'kill'\nshell = 'echo ready; exec sleep 1000'\n\
    [jobs.often]\nevery = '1s'\nretention = 'keep=100000'\nshell = 'true'\n";

/// A server with a data directory of its own.
struct Member {
    data: PathBuf,
    running: Running,
}

impl Member {
    fn start(folder: &std::path::Path, name: &str, database: &Database) -> Member {
        let (data, file, store) = (folder.join(name), folder.join("jobs.toml"), folder.join("store"));
        fs::write(&store, database.url() + "\n").unwrap();
        let texts = [&data, &file, &store].map(|path| path.to_str().unwrap().to_owned());
        let [data_text, file_text, store_text] = texts.each_ref().map(String::as_str);
        let running = Running::any(&["serve", "--data", data_text, "--store-file", store_text, file_text]);
        Member { data, running }
    }

    fn ask(&self, arguments: &[&str]) -> Ended {
        mainspring(&[&[arguments[0], "--data", self.data.to_str().unwrap()], &arguments[1..]].concat())
    }

    fn says(&self, arguments: &[&str], part: &str) {
        let Ended { code, stdout, stderr } = self.ask(arguments);
        assert_eq!(code, 0, "{arguments:?}: {stderr}");
        assert!(format!("{stdout}{stderr}").contains(part), "{arguments:?}: {stdout}{stderr}");
    }

    fn begins(&mut self) {
        self.running.wait_for(&["this server owns the jobs now"]);
        self.running.wait_for(&["mainspring", "2 jobs"]);
    }
}

fn prepared(name: &str) -> Option<(PathBuf, Database)> {
    let database = Database::start()?;
    let folder = folder(name);
    write(&folder.join("jobs.toml"), JOBS);
    Some((folder, database))
}

#[test]
fn a_standby_says_who_owns_the_jobs_and_takes_over_when_that_is_killed() {
    let Some((folder, database)) = prepared("cluster-kill") else { return };
    let mut one = Member::start(&folder, "one", &database);
    one.begins();
    let mut other = Member::start(&folder, "other", &database);
    other.running.wait_for(&["note ", "standing by: process"]);
    let told = other.ask(&["list"]);
    assert_ne!(told.code, 0);
    assert!(told.stderr.contains("this server stands by: process"), "{}", told.stderr);
    one.says(&["at", "+1h", "--name", "later", "--", "true"], "later");
    one.says(&["run", "long"], "long@");
    one.running.wait_for(&["long", "stdout ready"]);
    one.running.signal(Signal::SIGKILL);
    assert_eq!(one.running.end().0.code(), None);
    other.begins();
    other.running.wait_for(&["long", "abandoned: ", "the server died while it ran"]);
    other.says(&["show", "later"], "pending");
    // One that leaves in good order is not waited for.
    let mut third = Member::start(&folder, "third", &database);
    third.running.wait_for(&["note ", "standing by: process"]);
    assert_eq!(other.running.stop().0.code(), Some(0));
    third.begins();
    assert_eq!(third.running.stop().0.code(), Some(0));
    assert_eq!(started_twice(&database), "0");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn an_owner_that_stood_still_for_longer_than_its_lease_ends_what_runs_and_stands_by() {
    let Some((folder, database)) = prepared("cluster-stop") else { return };
    let mut one = Member::start(&folder, "one", &database);
    one.begins();
    let mut other = Member::start(&folder, "other", &database);
    other.running.wait_for(&["note ", "standing by: process"]);
    one.says(&["run", "long"], "long@");
    let start = one.running.wait_for(&["long", "start  pid "]);
    let pid: i32 = start.split("pid ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    one.running.signal(Signal::SIGSTOP);
    other.begins();
    one.running.signal(Signal::SIGCONT);
    one.running.wait_for(&["SIGKILL to what runs"]);
    one.running.wait_for(&["the jobs were given up"]);
    one.running.wait_for(&["note ", "standing by: process"]);
    assert!(nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None).is_err(), "the run is gone");
    assert!(one.ask(&["list"]).stderr.contains("this server stands by"));
    // It may be the owner again, and hears a request to stop.
    assert_eq!(other.running.stop().0.code(), Some(0));
    one.begins();
    assert_eq!(one.running.stop().0.code(), Some(0));
    assert_eq!(started_twice(&database), "0");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn an_owner_that_loses_the_database_ends_what_runs_before_its_lease_does() {
    let Some((folder, mut database)) = prepared("cluster-outage") else { return };
    let mut one = Member::start(&folder, "one", &database);
    one.begins();
    one.says(&["run", "long"], "long@");
    one.running.wait_for(&["long", "stdout ready"]);
    // A restart is lateness and no more.
    database.kill();
    database.begin();
    one.says(&["at", "+1h", "--name", "later", "--", "true"], "later");
    database.kill();
    one.running.wait_for(&["the lease could not be renewed for", "what runs is asked to end"]);
    one.running.wait_for(&["long", "end "]);
    one.running.wait_for(&["the jobs were given up"]);
    database.begin();
    one.begins();
    one.says(&["show", "later"], "pending");
    assert_eq!(one.running.stop().0.code(), Some(0));
    assert_eq!(started_twice(&database), "0");
    let _ = fs::remove_dir_all(&folder);
}

/// How many attempts are beside a run that knows nothing of them. Of one attempt there cannot be two records.
fn started_twice(database: &Database) -> String {
    database.ask(
        "SELECT count(*) FROM mainspring.attempt AS a LEFT JOIN mainspring.run AS r USING (job, nominal, series)
            WHERE r.job IS NULL OR r.attempt < a.number",
    )
}
