//! A pool of servers and programs: each asks the one that plans, of whichever kind that is.
//!
//! ```text
//!  program ─ commands ─▶ inbox ─▶ server that plans        server ─ requests ─▶ inbox ─▶ program that plans
//! ```

use std::fs;
use std::time::Duration;

use mainspring_embed::mainspring_job::Refusal;
use mainspring_embed::{Error, Every, Jobs, Options, Run, RunState};

use crate::asked::until;
use crate::cluster::{Member, prepared};
use crate::database::Database;

/// What only a hang reaches.
const LONG: Duration = Duration::from_secs(60);

fn program(database: &Database) -> Jobs {
    Jobs::connect(&database.url())
        .unwrap()
        .job("tick", Every::hours(24 * 365), |_: &Run| Ok::<(), String>(()))
        .handler(Options::new("greet"), |_: &Run, _: String| Ok::<(), String>(()))
        .start()
        .unwrap()
}

/// All that a program asks, and what it is answered.
fn asks(program: &Jobs, database: &Database, known: &str) {
    let hour = Duration::from_secs(3_600);
    let once = || program.once("greet").after(hour).payload(&"ada".to_owned());
    let keyed = once().key(known).submit().unwrap();
    assert!(keyed.is_new);
    let again = once().key(known).submit().unwrap();
    assert_eq!((again.id, again.is_new), (keyed.id, false));
    let other = program.once("greet").key(known).payload(&"eve".to_owned()).submit();
    assert!(matches!(other, Err(Error::Taken(_))), "{other:?}");
    program.withdraw(keyed.id.unwrap()).unwrap();
    let gone = program.withdraw(keyed.id.unwrap());
    assert!(matches!(gone, Err(Error::Refused(Refusal::NoSuchOnce))), "{gone:?}");
    let plain = once().submit().unwrap();
    program.withdraw(plain.id.unwrap()).unwrap();
    let now = program.once("greet").payload(&"ada".to_owned()).submit().unwrap();
    until(database, &format!("SELECT state FROM mainspring.run WHERE job = '{}'", now.job()), "succeeded");
    // A job of the servers.
    let run = program.run_now("often").unwrap();
    let of_run = format!("SELECT state FROM mainspring.run WHERE cause = 'request' AND job = '{}'", run.job);
    until(database, &format!("SELECT count(*) FROM ({of_run}) AS r WHERE state = 'succeeded'"), "1");
    program.pause("often").unwrap();
    program.resume("often").unwrap();
    let none = program.run_now("none");
    assert!(matches!(none, Err(Error::Refused(Refusal::NoSuchJob))), "{none:?}");
}

#[test]
fn servers_and_programs_ask_each_other_whichever_of_them_plans() {
    let Some((folder, database)) = prepared("mixed") else { return };
    let mut first = Member::start(&folder, "first", &database);
    first.begins();
    let jobs = program(&database);
    asks(&jobs, &database, "by a server");
    assert_eq!(first.running.stop().0.code(), Some(0));

    // The program plans, and keeps the jobs of the servers.
    until(&database, "SELECT (owner <> '')::text FROM mainspring.planner", "true");
    let mut second = Member::start(&folder, "second", &database);
    second.running.wait_for(&["note ", "standing by: process"]);
    second.joins(&database);
    second.says(&["list"], "often");
    second.says(&["list"], "handler tick");
    second.says(&["run", "tick", "--wait"], "succeeded");
    let ended = second.ask(&["run", "--wait", "often"]);
    assert!(ended.code == 0 && ended.stdout.contains("succeeded"), "{} {}", ended.stdout, ended.stderr);
    second.says(&["pause", "often"], "");
    second.says(&["show", "often"], "paused");
    second.says(&["resume", "often"], "");
    second.says(&["at", "+1h", "--name", "later", "--", "true"], "later");
    second.says(&["cancel", "later"], "");
    second.says(&["every", "1h", "--name", "hourly", "--", "true"], "added");
    second.says(&["at", "now", "--name", "soon", "--", "/bin/echo", "by a worker"], "soon");
    until(&database, "SELECT state FROM mainspring.run WHERE job = 'soon'", "succeeded");
    second.says(&["logs", "soon"], "by a worker");
    second.says(&["audit"], "asked for by process");
    second.says(&["doctor"], "taken over: 2 clean");
    assert_eq!(second.ask(&["show", "nothing"]).code, 4, "there is no such job");
    let found = jobs.runs(100).unwrap();
    assert!(found.iter().any(|run| run.key.job.as_str() == "soon" && run.state == RunState::Succeeded));

    // And back.
    jobs.shutdown(LONG).unwrap();
    second.running.wait_for(&["this server plans now"]);
    let jobs = program(&database);
    jobs.forget("hourly").unwrap();
    jobs.shutdown(LONG).unwrap();
    assert_eq!(second.running.stop().0.code(), Some(0));
    let _ = fs::remove_dir_all(&folder);
}
