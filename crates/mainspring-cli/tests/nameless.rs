//! Crontabs whose entries say no names, at servers that share a database.

use std::fs;

use nix::sys::signal::Signal;

use crate::asked::until;
use crate::cluster::{self, Member};
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

/// Ends these servers, of which no run is asked to end.
fn stopped(members: Vec<Member>) {
    for member in members {
        assert_eq!(member.running.stop().0.code(), Some(0));
    }
}

#[test]
fn a_crontab_without_names_that_is_in_force_is_not_told_as_another() {
    let Some((folder, database)) = cluster::prepared("nameless-one") else { return };
    let file = folder.join("crontab");
    write(&file, CRONTAB);
    let mut one = Member::serving(&folder, "one", &database, &["crontab"]);
    one.running.wait_for(&["this server plans now"]);
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
        next.running.wait_for(&["this server plans now"]);
        next.running.wait_for(&["mainspring", "7 jobs"]);
        let status = next.ask(&["status"]).stdout;
        assert!(status.contains("7 jobs") && !status.contains("differs"), "{name}: {status}");
        next.says(&["pause", "rotate"], "");
        stopped(vec![next]);
    }
    let _ = fs::remove_dir_all(&folder);
}
