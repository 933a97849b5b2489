//! Jobs that follow others, over several shards: they are beside them, or are refused.

use std::fs;

use mainspring_job::Shard;
use mainspring_web::scope::Scope;

use crate::asked::until;
use crate::database::Database;
use crate::shards::{listening, prepared, shared};
use crate::test_server::{TestServer, write};

/// A name that belongs in a shard, of four.
fn named(shard: u16) -> String {
    let mut names = (0..).map(|number| format!("n{number}"));
    names.find(|name| Shard::of(&name.parse().unwrap(), 4) == Shard(shard)).unwrap()
}

/// Waits until there are so many jobs in the shards.
fn spread(database: &Database, expected: &str) {
    let sql = "SELECT string_agg(s.shard || ': ' || s.jobs, ', ' ORDER BY s.shard) FROM mainspring.shard AS s
        WHERE s.jobs <> 0";
    until(database, sql, expected);
}

/// Waits until the shard that has a job says what was noted of it. For a moment its old shard may answer yet.
fn until_noted(database: &Database, served: &TestServer, job: &str) {
    const NOTE: &str = "until it is mended";
    let sql = format!("SELECT pause_note FROM mainspring.job WHERE name = '{job}'");
    assert_eq!(database.ask(&sql), NOTE, "it was never gone");
    let mut told = (0..100).map(|_| served.ask(&["show", job]));
    assert!(told.any(|told| told.stdout.contains(NOTE)), "nobody says what is noted");
}

#[test]
fn a_job_that_follows_two_has_both_beside_it_and_goes_where_their_group_is() {
    let Some((folder, database)) = prepared("followers", 4) else { return };
    let file = folder.join("jobs.toml");
    let [first, second, third] = [0, 1, 2].map(named);
    let two = format!(
        "[jobs.{first}]\nat = 2100-01-01T00:00:00Z\nshell = 'echo one'\n\
        [jobs.{second}]\nat = 2100-01-01T00:00:00Z\nshell = 'echo two'\n"
    );
    write(&file, &two);
    let mut site = listening(&folder, "one", &["--define-over-http"]);
    shared(&database, 1, 4, 4);
    spread(&database, "0: 1, 1: 1");
    // It follows jobs that belonged to two shards, and hears of each. What was said of one goes along.
    assert_eq!(site.served.ask(&["pause", &second, "--note", "until it is mended"]).code, 0);
    let both = format!("[jobs.both]\nafter = ['{first}', '{second}']\nshell = 'echo both'\n");
    write(&file, &format!("{two}{both}"));
    let home = if first < second { 0 } else { 1 };
    spread(&database, &format!("{home}: 3"));
    for job in [&first, &second] {
        assert_eq!(site.served.ask(&["run", job]).code, 0);
        site.served.running.wait_for(&["both", "stdout both"]);
    }
    // One of a group has the others come to it.
    let grouped = format!("[groups.{third}]\nlimit = 1\n{both}group = '{third}'\n");
    write(&file, &format!("{two}{grouped}"));
    spread(&database, "2: 3");
    until_noted(&database, &site.served, &second);
    assert_eq!(site.served.ask(&["run", &first]).code, 0);
    site.served.running.wait_for(&["both", "stdout both"]);
    // Groups of two shards cannot be brought together: all is refused, and what was in force stays.
    let divided = folder.join("divided.toml");
    write(&divided, &format!("{two}group = '{first}'\n[groups.{first}]\nlimit = 1\n{grouped}"));
    let told = site.served.ask(&["apply", "--prune", divided.to_str().unwrap()]);
    let refusal =
        "`both` follows jobs of several shards, or is in a group of another shard than a job that it follows";
    assert_eq!(told.code, 5, "{}", told.stderr);
    assert!(told.stderr.contains(refusal), "{}", told.stderr);
    assert!(told.stderr.contains("| [jobs.both]\n"), "it stands below with its line: {}", told.stderr);
    spread(&database, "2: 3");
    // So is a job by itself.
    let token = site.token("ada", Scope::Define);
    let asked =
        format!(r#"{{"name": "more", "job": {{"after": ["{first}", "{second}"], "run": ["/bin/true"]}}}}"#);
    let told = site.post("/api/v1/jobs", &token, &asked);
    assert_eq!(told.status, 409, "{told:?}");
    assert!(told.json().to_string().contains("`more` follows jobs of several shards"), "{told:?}");
    // Without the job that follows them, each is where it was.
    write(&file, &two);
    spread(&database, "0: 1, 1: 1");
    until_noted(&database, &site.served, &second);
    site.stop();
    let _ = fs::remove_dir_all(&folder);
}
