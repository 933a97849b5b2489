//! Crontabs whose entries say no names, at servers that share a database.

use std::fs;

use nix::sys::signal::Signal;

use crate::asked::until;
use crate::cluster::{self, Member};
use crate::shards::{self, shared, stopped};
use crate::test_server::write;

const CRONTAB: &str = "MAILTO=\"\"\n\
    0 0 1 1 * backup --all\n\
    0 0 1 1 * backup\n\
    0 0 2 1 * backup\n\
    0 0 1 1 * report\n\
    0 0 1 1 * [ -x /usr/bin/rotate ] && rotate\n\
    # mainspring: name=named\n\
    0 0 1 1 * report --monthly\n";

/// The names of all jobs of the crontab.
const NAMES: &str = "SELECT coalesce(string_agg(name, ' ' ORDER BY name), '') FROM mainspring.job WHERE source LIKE '%crontab'";

#[test]
fn all_shards_call_an_entry_without_a_name_the_same() {
    let Some((folder, database)) = shards::prepared("nameless-shards", 4) else { return };
    let file = folder.join("crontab");
    let path = file.to_str().unwrap().to_owned();
    write(&file, CRONTAB);
    let files = ["jobs.toml", "crontab"];
    let mut one = Member::serving(&folder, "one", &database, &files);
    one.running.wait_for(&["the jobs are spread over 4 shards"]);
    shared(&database, 1, 4, 4);
    let count = "SELECT count(*) FROM mainspring.job WHERE source LIKE '%crontab'";
    until(&database, count, "6");
    let first = database.ask(NAMES);
    let begins: Vec<&str> = first.split(' ').map(|name| name.split('-').next().unwrap()).collect();
    assert_eq!(begins, ["backup", "backup", "backup", "named", "report", "rotate"], "{first}");
    let other = Member::serving(&folder, "other", &database, &files);
    shared(&database, 2, 2, 4);
    one.says(&["status"], &format!("{path}: good, 6 jobs"));
    let name_of = |command: &str| {
        let with_it = format!("text LIKE '%shell = \"{command}\"%'");
        database.ask(&format!("SELECT name FROM mainspring.job WHERE source LIKE '%crontab' AND {with_it}"))
    };
    let report = name_of("report");
    other.says(&["pause", &report], "");
    // Lines come, go and change their places, and a schedule is another: the job and its pause stay.
    let rest = CRONTAB.replace("0 0 1 1 * report\n", "").replace("0 0 1 1 * backup --all\n", "");
    write(&file, &format!("5 5 5 5 * report\n0 0 1 1 * mail\n{rest}"));
    for part in ["name LIKE 'mail-%'", "text LIKE '%5 5 5 5%'"] {
        until(&database, &format!("{count} AND {part}"), "1");
    }
    until(&database, count, "6");
    assert_eq!(name_of("report"), report);
    one.says(&["show", &report], "paused");
    let second = database.ask(NAMES);
    other.says(&["apply", "--prune", &path], "6 jobs unchanged");
    assert_eq!(database.ask(NAMES), second);
    for member in [&one, &other] {
        let status = member.ask(&["status"]).stdout;
        assert!(!status.contains("differs"), "{status}");
    }
    stopped(vec![one, other]);
    // A server that starts later finds the file as it is.
    let mut late = Member::serving(&folder, "late", &database, &files);
    late.running.wait_for(&["the jobs are spread over 4 shards"]);
    shared(&database, 1, 4, 4);
    let status = late.ask(&["status"]).stdout;
    assert!(!status.contains("differs"), "{status}");
    assert_eq!(database.ask(NAMES), second);
    stopped(vec![late]);
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_crontab_without_names_that_is_in_force_is_not_told_as_another() {
    let Some((folder, database)) = cluster::prepared("nameless-one") else { return };
    let file = folder.join("crontab");
    write(&file, CRONTAB);
    let mut one = Member::serving(&folder, "one", &database, &["crontab"]);
    one.running.wait_for(&["this server owns the jobs now"]);
    until(&database, NAMES, "backup backup-2 backup-3 named report rotate");
    write(&file, &format!("0 0 1 1 * mail\n{CRONTAB}"));
    one.running.wait_for(&["crontab", "1 added"]);
    one.running.signal(Signal::SIGHUP);
    one.running.wait_for(&["crontab", "0 added"]);
    let status = one.ask(&["status"]).stdout;
    assert!(status.contains("7 jobs") && !status.contains("differs"), "{status}");
    assert_eq!(database.ask(NAMES), "backup backup-2 backup-3 mail named report rotate");
    one.says(&["apply", "--prune", file.to_str().unwrap()], "7 jobs unchanged");
    let status = one.ask(&["status"]).stdout;
    assert!(!status.contains("differs"), "{status}");
    stopped(vec![one]);
    // What a later owner writes of a job is the text that was there.
    for name in ["two", "three"] {
        let mut next = Member::serving(&folder, name, &database, &["crontab"]);
        next.running.wait_for(&["this server owns the jobs now"]);
        next.running.wait_for(&["mainspring", "7 jobs"]);
        let status = next.ask(&["status"]).stdout;
        assert!(status.contains("7 jobs") && !status.contains("differs"), "{name}: {status}");
        next.says(&["pause", "rotate"], "");
        stopped(vec![next]);
    }
    let _ = fs::remove_dir_all(&folder);
}
