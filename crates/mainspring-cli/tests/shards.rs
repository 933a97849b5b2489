//! Several servers whose jobs are spread over several shards: each job runs once, wherever it is asked for.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use mainspring_web::scope::Scope;
use nix::sys::signal::Signal;

use crate::asked::until;
use crate::cluster::{Member, is_gone, started_twice};
use crate::database::Database;
use crate::program::{EndedProgram, Running, mainspring};
use crate::site::{Site, read_until};
use crate::test_server::{TestServer, folder, write};

/// Two of them are in one shard, and of the others most are not.
const JOBS: &str = "[groups.g]\nlimit = 1\n\
    [jobs.often]\nevery = '1s'\nretention = 'keep=100000'\nshell = 'true'\n\
    [jobs.again]\nevery = '1s'\nretention = 'keep=100000'\nshell = 'true'\ngroup = 'g'\n\
    [jobs.follows]\nafter = 'often'\nretention = 'keep=100000'\nshell = 'true'\n\
    [jobs.long]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'echo ready $$; exec sleep 1000'\n\
    [jobs.quiet]\nat = 2100-01-01T00:00:00Z\nshell = 'echo quiet'\n";

/// A folder with a file of jobs, and an empty database with so many shards.
pub(crate) fn prepared(name: &str, count: u16) -> Option<(PathBuf, Database)> {
    let database = Database::start()?;
    let folder = folder(name);
    write(&folder.join("jobs.toml"), JOBS);
    fs::write(folder.join("store"), database.url() + "\n").unwrap();
    let told = spread(&folder, Some(count));
    assert_eq!(told.code, 0, "{}", told.stderr);
    Some((folder, database))
}

fn spread(folder: &Path, count: Option<u16>) -> EndedProgram {
    let (store, count) = (folder.join("store"), count.map(|count| count.to_string()));
    let given = ["store", "shards", "--store-file", store.to_str().unwrap()];
    mainspring(&given.into_iter().chain(count.as_deref()).collect::<Vec<_>>())
}

/// Waits until so many shards have an owner, and each of these servers owns so many at least.
pub(crate) fn shared(database: &Database, servers: usize, least: usize, all: usize) {
    let sql = format!(
        "SELECT count(*) FILTER (WHERE {least} <= n) || ' ' || sum(n) FROM (SELECT server, count(*) AS n
            FROM mainspring.shard WHERE owner <> '' AND clock_timestamp() < until GROUP BY server) AS s"
    );
    until(database, &sql, &format!("{servers} {all}"));
}

/// The servers of which no run is asked to end.
pub(crate) fn stopped(members: Vec<Member>) {
    for member in members {
        assert_eq!(member.running.stop().0.code(), Some(0));
    }
}

#[test]
fn servers_share_the_shards_and_each_of_them_answers_for_all() {
    let Some((folder, database)) = prepared("shards-share", 4) else { return };
    let mut one = Member::start(&folder, "one", &database);
    one.running.wait_for(&["the jobs are spread over 4 shards"]);
    shared(&database, 1, 4, 4);
    let other = Member::start(&folder, "other", &database);
    shared(&database, 2, 2, 4);
    let both = [&one, &other];
    for member in both {
        let listed = member.ask(&["list"]).stdout;
        for name in ["often", "again", "follows", "long", "quiet"] {
            assert!(listed.contains(name), "{name}: {listed}");
        }
        for name in ["often", "again", "follows", "long", "quiet"] {
            member.says(&["show", name], name);
        }
        member.says(&["status"], "jobs           5");
        member.says(&["doctor"], "ok       shards");
        member.says(&["export"], "[jobs.long]");
        assert_eq!(member.ask(&["show", "nothing"]).code, 4, "there is no such job");
    }
    // What one submits the other knows, wherever it waits.
    for number in 0..8 {
        let name = format!("later-{number}");
        both[number % 2].says(&["at", "+1h", "--name", &name, "--", "true"], &name);
    }
    for member in both {
        let listed = member.ask(&["list", "--pending"]).stdout;
        assert_eq!(listed.matches("later-").count(), 8, "{listed}");
    }
    assert_ne!(database.ask("SELECT count(DISTINCT shard) FROM mainspring.pending"), "1");
    one.says(&["cancel", "later-3"], "");
    let taken = other.ask(&["at", "+1h", "--name", "later-4", "--", "true"]);
    assert!(taken.code == 5 && taken.stderr.contains("`later-4` is pending, due"), "{}", taken.stderr);
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.pending"), "7");
    // What is done to all is done in all shards.
    other.says(&["pause", "--all"], "");
    one.says(&["status"], "paused");
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.shard WHERE is_paused"), "4");
    one.says(&["resume", "--all"], "");
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.shard WHERE is_paused"), "0");
    // A job is asked for at either.
    for member in both {
        member.says(&["run", "quiet"], "quiet@");
        member.says(&["history", "quiet"], "quiet@");
    }
    one.says(&["every", "1h", "--name", "hourly", "--", "true"], "hourly");
    other.says(&["remove", "hourly"], "");
    assert_eq!(one.ask(&["show", "hourly"]).code, 4);
    database.ask("SELECT mainspring.submit('{\"process\": {\"run\": [\"/bin/true\"]}}', key => 'k')");
    until(&database, "SELECT count(*) FROM mainspring.inbox", "0");
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.once_key WHERE key = 'k'"), "1");
    stopped(vec![one, other]);
    // Each second that was planned ran once.
    assert_eq!(started_twice(&database), "0");
    let counted = database.ask(
        "SELECT count(*) FROM mainspring.run WHERE job IN ('often', 'again') AND state NOT IN ('succeeded', 'skipped_overlap', 'missed', 'skipped_paused')",
    );
    assert_eq!(counted, "0");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn shards_of_a_server_that_was_killed_are_taken_by_the_others_when_its_leases_are_over() {
    let Some((folder, database)) = prepared("shards-kill", 3) else { return };
    let mut one = Member::start(&folder, "one", &database);
    one.running.wait_for(&["the jobs are spread over 3 shards"]);
    shared(&database, 1, 3, 3);
    // What it has written is known to the others when the run is over.
    one.says(&["run", "--wait", "quiet"], "succeeded");
    until(&database, "SELECT count(*) FROM mainspring.output WHERE job = 'quiet'", "1");
    one.says(&["run", "long"], "long@");
    let line = one.running.wait_for(&["long", "stdout ready"]);
    let pid: u32 = line.rsplit(' ').next().unwrap().parse().unwrap();
    let mut other = Member::start(&folder, "other", &database);
    // Two are idle, and one of them changes hands.
    shared(&database, 2, 1, 3);
    one.running.signal(Signal::SIGKILL);
    assert_eq!(one.running.end().0.code(), None);
    shared(&database, 1, 3, 3);
    assert!(is_gone(pid), "the run was over before another server had its job");
    other.says(&["logs", "quiet"], "quiet");
    other.running.wait_for(&["long", "abandoned: ", "the server died while it ran"]);
    other.says(&["run", "long"], "long@");
    other.running.wait_for(&["long", "stdout ready"]);
    other.says(&["cancel", "long"], "");
    other.running.wait_for(&["long", "end "]);
    stopped(vec![other]);
    assert_eq!(started_twice(&database), "0");
    // A second that passed while no server owned the shard is there once.
    let twice = "SELECT count(*) - count(DISTINCT (job, nominal, series)) FROM mainspring.run";
    assert_eq!(database.ask(twice), "0");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn each_shard_has_its_part_of_a_file_and_a_job_goes_where_its_group_is() {
    let Some((folder, database)) = prepared("shards-files", 4) else { return };
    let file = folder.join("jobs.toml");
    let path = file.to_str().unwrap().to_owned();
    let mut one = Member::start(&folder, "one", &database);
    one.running.wait_for(&["the jobs are spread over 4 shards"]);
    shared(&database, 1, 4, 4);
    let of = |job: &str| database.ask(&format!("SELECT shard FROM mainspring.job WHERE name = '{job}'"));
    until(&database, "SELECT count(*) FROM mainspring.job WHERE source IS NOT NULL", "5");
    assert_eq!(of("follows"), of("often"), "who follows is where the other is");
    one.says(&["status"], &format!("{path}: good, 5 jobs"));
    // A new group moves the job. Which groups there are in the other shards is tried.
    let before = of("quiet");
    let moved = (0..20).map(|number| format!("g{number}")).find(|group| {
        let text = JOBS.replace(
            "[jobs.quiet]",
            &format!("[groups.{group}]\nlimit = 1\n[jobs.quiet]\ngroup = '{group}'"),
        );
        write(&folder.join("moved.toml"), &text);
        write(&file, &text);
        let change =
            format!("SELECT count(*) FROM mainspring.job WHERE name = 'quiet' AND text LIKE '%{group}%'");
        until(&database, &change, "1");
        of("quiet") != before
    });
    assert!(moved.is_some(), "there are names of four shards among twenty");
    one.says(&["run", "quiet"], "quiet@");
    one.running.wait_for(&["quiet", "stdout quiet"]);
    assert_eq!(database.ask("SELECT sum(jobs) FROM mainspring.shard"), "5");
    // An old server brings nothing back, in no shard.
    write(&file, "[jobs.last]\nat = 2100-01-01T00:00:00Z\nshell = 'true'\n");
    until(&database, "SELECT string_agg(name, ' ') FROM mainspring.job WHERE source IS NOT NULL", "last");
    stopped(vec![one]);
    write(&file, JOBS);
    let mut old = Member::start(&folder, "old", &database);
    old.running.wait_for(&["the jobs are spread over 4 shards"]);
    shared(&database, 1, 4, 4);
    old.says(&["status"], "differs from what the database holds, which stays in force");
    assert_eq!(
        database.ask("SELECT string_agg(name, ' ') FROM mainspring.job WHERE source IS NOT NULL"),
        "last"
    );
    old.says(&["apply", "--prune", &path], "added");
    until(&database, "SELECT count(*) FROM mainspring.job WHERE source IS NOT NULL", "5");
    stopped(vec![old]);
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn jobs_are_spread_and_brought_together_while_no_server_runs() {
    let Some((folder, database)) = prepared("shards-spread", 1) else { return };
    assert_eq!(spread(&folder, None).stdout, "1\n");
    let mut one = Member::start(&folder, "one", &database);
    one.running.wait_for(&["this server owns the jobs now"]);
    one.running.wait_for(&["mainspring", "5 jobs"]);
    one.says(&["at", "+1h", "--name", "later", "--", "true"], "later");
    let told = spread(&folder, Some(4));
    assert_eq!(told.code, 75, "{}", told.stderr);
    assert!(told.stderr.contains("stop all servers first"), "{}", told.stderr);
    stopped(vec![one]);
    let told = spread(&folder, Some(4));
    assert!(told.code == 0 && told.stdout.contains("from 1 to 4 shards"), "{}", told.stdout);
    let mut four = Member::start(&folder, "four", &database);
    four.running.wait_for(&["the jobs are spread over 4 shards"]);
    shared(&database, 1, 4, 4);
    four.says(&["show", "later"], "pending");
    four.says(&["status"], "jobs           5");
    four.says(&["run", "quiet"], "quiet@");
    four.running.wait_for(&["quiet", "stdout quiet"]);
    stopped(vec![four]);
    assert_eq!(spread(&folder, Some(1)).code, 0);
    assert_eq!(spread(&folder, Some(65)).code, 2, "so many there are not");
    let mut last = Member::start(&folder, "last", &database);
    last.running.wait_for(&["this server owns the jobs now"]);
    last.running.wait_for(&["mainspring", "5 jobs"]);
    last.says(&["show", "later"], "pending");
    last.says(&["history"], "quiet@");
    stopped(vec![last]);
    assert_eq!(started_twice(&database), "0");
    let _ = fs::remove_dir_all(&folder);
}

/// A server that listens, with a folder of its own below that of all, and more arguments.
pub(crate) fn listening(folder: &Path, name: &str, more: &[&str]) -> Site {
    let own = folder.join(name);
    fs::create_dir_all(&own).unwrap();
    let [data, store, jobs] = [own.join("data"), folder.join("store"), folder.join("jobs.toml")]
        .map(|path| path.to_str().unwrap().to_owned());
    let host = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let listen = format!("--listen={host}");
    let arguments = ["serve", "--data", &data, "--store-file", &store, &jobs, &listen];
    let mut running = Running::any(&[&arguments, more].concat());
    running.wait_for(&["the jobs are spread over 4 shards"]);
    Site { served: TestServer { folder: own, running }, host }
}

/// What a server measures, by series.
fn scraped(site: &Site, token: &str) -> BTreeMap<String, f64> {
    let answer = site.get("/metrics", token);
    let text = String::from_utf8(answer.body).unwrap();
    assert_eq!(answer.status, 200, "{text}");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.rsplit_once(' ').unwrap()).map(|(of, n)| (of.into(), n.parse().unwrap())).collect()
}

#[test]
fn metrics_of_all_servers_add_up_and_each_job_is_told_of_by_its_owner_alone() {
    let Some((folder, database)) = prepared("shards-metrics", 4) else { return };
    let at = "at = 2100-01-01T00:00:00Z\ncwd = '/'\n";
    let mut jobs: String =
        (0..9).map(|number| format!("[jobs.j{number}]\n{at}zone = 'Asia/Tokyo'\nrun = ['true']\n")).collect();
    jobs.push_str(&format!("[jobs.dies]\n{at}dead_letters = 'always'\nrun = ['false']\n"));
    write(&folder.join("jobs.toml"), &jobs);
    let one = listening(&folder, "one", &[]);
    shared(&database, 1, 4, 4);
    let other = listening(&folder, "other", &[]);
    shared(&database, 2, 2, 4);
    for number in 0..8 {
        let by = [&one, &other][number % 2];
        assert_eq!(by.served.ask(&["at", "+1h", "--name", &format!("l{number}"), "--", "true"]).code, 0);
    }
    assert_ne!(one.served.ask(&["run", "dies", "--wait"]).code, 0);
    let numbers = "SELECT concat_ws(' ', sum(jobs), sum(pending), sum(open), sum(runs), sum(dead)) FROM mainspring.shard";
    until(&database, numbers, "10 8 0 1 1");
    let (token, other_token) = (one.token("ada", Scope::Look), other.token("ada", Scope::Look));
    let told = begun(&[(&one, &token), (&other, &other_token)]);
    adds_up(&told);
    let is_of_job = |series: &&String| series.contains("job=\"") && !series.contains("job=\"_");
    let twice: Vec<_> = told[0].keys().filter(is_of_job).filter(|of| told[1].contains_key(*of)).collect();
    assert_eq!(twice, Vec::<&String>::new());
    // What is known of the database is told once as well.
    for of_all in ["mainspring_servers", "mainspring_fenced_total", "mainspring_inbox_oldest_seconds"] {
        assert_eq!(told.iter().filter(|told| told.contains_key(of_all)).count(), 1, "{of_all}");
    }
    // Each still answers people for all.
    assert_eq!(other.get("/api/v1/status", &other_token).json()["jobs"], 10);
    // A server that leaves leaves all to the other.
    one.stop();
    shared(&database, 1, 4, 4);
    adds_up(&begun(&[(&other, &other_token)]));
    other.stop();
    let _ = fs::remove_dir_all(&folder);
}

/// What these servers measure when the loops of all shards have begun: the database knows an owner before.
fn begun(sites: &[(&Site, &str)]) -> Vec<BTreeMap<String, f64>> {
    let scrapes = || -> Vec<_> { sites.iter().map(|(site, token)| scraped(site, token)).collect() };
    let have_begun = |told: &[BTreeMap<String, f64>]| -> bool {
        10.0 <= told.iter().filter_map(|told| told.get("mainspring_jobs")).sum::<f64>()
    };
    while !have_begun(&scrapes()) {}
    // A loop may have begun in the middle of that scrape, after it was asked what waits there.
    scrapes()
}

/// Ten jobs, of which one has left a dead letter, and eight that run once.
fn adds_up(told: &[BTreeMap<String, f64>]) {
    let sum = |named: &dyn Fn(&str) -> bool| -> f64 {
        told.iter().flatten().filter(|(series, _)| named(series)).map(|(_, value)| value).sum()
    };
    for (name, value) in [
        ("mainspring_jobs", 10.0),
        ("mainspring_once_pending", 8.0),
        ("mainspring_runs_open", 0.0),
        ("mainspring_runs_kept", 1.0),
        ("mainspring_shards_owned", 4.0),
        ("mainspring_dead_letters{job_name=\"dies\"}", 1.0),
    ] {
        assert!((sum(&|series| series == name) - value).abs() < 0.1, "{name} is not {value}: {told:?}");
    }
    let all_dead = sum(&|series| series.starts_with("mainspring_dead_letters{"));
    assert!((all_dead - 1.0).abs() < 0.1, "{told:?}");
    let of_zone = |series: &str| series.starts_with("mainspring_job_info{") && series.contains("Asia/Tokyo");
    assert!((sum(&of_zone) - 9.0).abs() < 0.1, "definitions are read: {told:?}");
}

#[test]
fn a_server_of_several_shards_answers_over_http_for_all_and_measures_its_own() {
    let Some((folder, database)) = prepared("shards-http", 4) else { return };
    let site = listening(&folder, "one", &[]);
    shared(&database, 1, 4, 4);
    let other = Member::start(&folder, "other", &database);
    shared(&database, 2, 2, 4);
    let token = site.token("ada", Scope::Operate);
    let status = site.get("/api/v1/status", &token);
    let status = status.json();
    assert_eq!(status["jobs"], 5, "{status}");
    let shards = status["cluster"]["shards"].as_array().unwrap();
    assert_eq!((shards.len(), shards.iter().filter(|shard| shard["is_here"] == true).count()), (4, 2));
    let listed = site.get("/api/v1/jobs", &token).json().to_string();
    for name in ["often", "again", "follows", "long", "quiet"] {
        assert!(listed.contains(&format!("\"name\":\"{name}\"")), "{name}: {listed}");
        assert_eq!(site.get(&format!("/api/v1/jobs/{name}"), &token).status, 200, "{name}");
    }
    let begun = site.post("/api/v1/jobs/quiet/run", &token, "{}");
    assert!((200..300).contains(&begun.status), "{begun:?}");
    until(&database, "SELECT count(*) FROM mainspring.run WHERE job = 'quiet' AND state = 'succeeded'", "1");
    // Who asked is known, wherever it was done.
    assert!(other.ask(&["audit"]).stdout.contains("ada"));
    // So is what a run wrote.
    other.says(&["at", "now", "--name", "there", "--", "echo", "written there"], "there");
    until(&database, "SELECT count(*) FROM mainspring.run WHERE job = 'there' AND state = 'succeeded'", "1");
    let runs = site.get("/api/v1/runs?q=there", &token).json();
    let nominal = runs["items"][0]["nominal"].as_str().unwrap_or_else(|| panic!("{runs}"));
    let output = site.get(&format!("/api/v1/runs/there/{nominal}/0/output"), &token);
    assert!(String::from_utf8_lossy(&output.body).contains("stdout written there"), "{output:?}");
    // A stream of events has those of this server at once, and soon that others have changed something.
    let mut events = site.stream("/api/v1/events", &token);
    read_until(&mut events, &["event: reset"]);
    // Of so many some are in its shards, and some in the other's, whichever those are.
    for number in 0..16 {
        let name = format!("spread-{number}");
        assert_eq!(site.served.ask(&["at", "now", "--name", &name, "--", "true"]).code, 0);
    }
    let mut text = String::new();
    while !text.contains("\"job\":\"spread-") || !text.contains("event: reset") {
        text.push_str(&read_until(&mut events, &["\"job\":\"spread-", "event: reset"]));
    }
    drop(events);
    let metrics = site.get("/metrics", &token);
    assert_eq!(metrics.status, 200, "{metrics:?}");
    let text = String::from_utf8_lossy(&metrics.body);
    assert!(text.contains("\nmainspring_shards_owned 2"), "{text}");
    assert_eq!(text.matches("\nmainspring_lease_seconds_left{").count(), 2);
    // A way in is given by a loop of this server.
    assert!(site.served.ask(&["open", "--print"]).stdout.contains("#code="));
    site.stop();
    stopped(vec![other]);
    let _ = fs::remove_dir_all(&folder);
}
