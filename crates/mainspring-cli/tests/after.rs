//! Jobs that follow others.

use crate::program::mainspring;
use crate::test_server::{IDLE, TestServer, folder, write};

const CHAIN: &str = "[jobs.extract]\nat_boot = true\ncwd = '/'\nshell = 'exit 3'\nretry = '1,backoff=1ms'\n\
    [jobs.alarm]\nafter = [{ job = 'extract', on = 'failed' }]\ncwd = '/'\nshell = 'echo alarm'\n\
    [jobs.load]\nafter = ['extract', 'alarm']\ncwd = '/'\nshell = 'echo loaded'\n";

#[test]
fn a_job_follows_the_end_of_another_that_it_names() {
    let mut served = TestServer::start("after", CHAIN);
    served.running.wait_for(&["load", "end    exit status 0"]);
    let runs = served.json(&["history", "--json"]);
    let of = |job: &str| {
        let runs = runs["runs"]["runs"].as_array().unwrap().iter();
        let its = runs.filter(|run| run["job"] == job);
        its.map(|run| (run["cause"].clone(), run["state"].clone(), run["attempt"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(of("extract"), [("boot".into(), "dead".into(), 2.into())], "{runs}");
    assert_eq!(
        of("alarm"),
        [("after".into(), "succeeded".into(), 1.into())],
        "once, though it was tried twice"
    );
    assert_eq!(
        of("load"),
        [("after".into(), "succeeded".into(), 1.into())],
        "it follows the success of alarm"
    );
    let list = served.ask(&["list"]).stdout;
    let row = list.lines().find(|line| line.starts_with("alarm")).unwrap();
    assert!(row.contains("active") && row.contains("after extract:failed"), "{list}");
    served.says(&["show", "load"], 0, "after extract:succeeded");
    served.says(&["show", "load"], 0, "after = [\"extract\", \"alarm\"]");
    let next = served.ask(&["next", "load"]);
    assert!(next.stderr.contains("no time: alarm:succeeded"), "{}", next.stderr);
    served.stop();
}

#[test]
fn what_the_death_of_the_server_cut_off_is_followed_once() {
    let jobs = "[jobs.long]\nat = 2020-01-01T00:00:00Z\ncwd = '/'\nrun = ['sleep', '1000']\non_server_death = 'kill'\n\
                [jobs.then]\nafter = { job = 'long', on = 'failed' }\ncwd = '/'\nshell = 'echo then'\n";
    let mut served = TestServer::start("after-crash", jobs);
    served.says(&["run", "long"], 0, "");
    served.running.wait_for(&["long", "start"]);
    let mut served = served.crash_and_start();
    served.running.wait_for(&["then", "end    exit status 0"]);
    let served = served.crash_and_start();
    let runs = served.json(&["history", "then", "--json"]);
    assert_eq!(runs["runs"]["runs"].as_array().unwrap().len(), 1, "{runs}");
    served.stop();
}

#[test]
fn a_circle_is_refused_at_its_place_and_a_name_that_is_none_is_warned_of() {
    let folder = folder("after-circle");
    let job = |name: &str, after: &str| format!("[jobs.{name}]\nafter = {after}\nshell = 'true'\n");
    let (one, other) = (folder.join("one.toml"), folder.join("other.toml"));
    let paths = [one.to_str().unwrap(), other.to_str().unwrap()];
    write(&one, &job("a", "'b'"));
    write(&other, &job("b", "['nope', { job = 'a', on = 'any' }]"));
    let check = |paths: &[&str]| mainspring(&[&["check"], paths].concat());
    let found = check(&paths);
    let circle = format!("{}:2:26: the job would follow itself: `b` follows `a` follows `b`", paths[1]);
    assert!(found.code == 6 && found.stdout.contains(&circle), "{}", found.stdout);
    let nope = format!("{}:2:10: warning: there is no job `nope`, so nothing follows", paths[1]);
    assert!(found.stdout.contains(&nope), "{}", found.stdout);
    // The name may be in a file that is not given.
    let alone = check(&paths[..1]);
    assert!(alone.code == 0 && alone.stdout.contains("1 job, no problems, 1 warning"), "{}", alone.stdout);
    let data = folder.join("data");
    let served = mainspring(&["serve", "--data", data.to_str().unwrap(), paths[0], paths[1]]);
    assert!(served.code == 6 && served.stderr.contains(&circle), "{}", served.stderr);
    write(
        &one,
        "[jobs.x]\nafter = [{ job = 'y', on = 'ended' }, { on = 'any' }, { job = 'y', when = 1 }]\nshell = 'true'\n",
    );
    let found = check(&paths[..1]).stdout;
    for message in [
        "expected \"succeeded\", \"failed\" or \"any\"",
        "the job that is followed is missing",
        "unknown key `when`",
    ] {
        assert!(found.contains(message), "{found}");
    }
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn who_follows_a_name_that_is_none_is_said_when_it_comes_into_force() {
    let jobs = format!("{IDLE}[jobs.report]\nafter = 'extract'\ncwd = '/'\nshell = 'true'\n");
    let mut served = TestServer::start("after-none", &jobs);
    let warning = ["report", "follows `extract`, and there is no job of that name"];
    served.running.wait_for(&warning);
    served.says(&["doctor"], 0, "never due, because there is no such job: 1 job (report after extract)");
    served.says(&["health"], 0, "warning  after");
    write(&served.file(), &format!("{jobs}[jobs.extract]\nevery = '9h'\nshell = 'true'\n"));
    served.running.wait_for(&["was read again: 1 added"]);
    write(&served.file(), &jobs);
    served.running.wait_for(&warning);
    served.stop();
}

#[test]
fn a_simulation_runs_what_follows() {
    let folder = folder("after-simulated");
    let file = folder.join("jobs.toml");
    let jobs = "[jobs.extract]\ncron = '0 2 * * *'\nzone = 'UTC'\nshell = 'true'\n[jobs.load]\nafter = 'extract'\nshell = 'true'\n";
    write(&file, jobs);
    let day =
        ["--from", "2026-03-01T00:00:00Z", "--to", "2026-03-02T00:00:00Z", "--durations", "extract=10m"];
    let found = mainspring(&[&["simulate", file.to_str().unwrap()], &day[..]].concat());
    assert_eq!(found.code, 0, "{}", found.stderr);
    let line = found.stdout.lines().find(|line| line.contains("load")).unwrap_or_default();
    assert!(line.contains("02:10:00"), "{}", found.stdout);
    let _ = std::fs::remove_dir_all(&folder);
}
