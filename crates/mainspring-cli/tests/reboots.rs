//! Jobs that are due at the start of the machine, and at that of the server.

use std::fs;

use crate::asked::until;
use crate::cluster::{Member, prepared};
use crate::test_server::{TestServer, write};

const JOBS: &str = "[jobs.machine]\nat_boot = true\ncwd = '/'\nshell = 'echo ran'\n\
                    [jobs.server]\nat_server_start = true\ncwd = '/'\nshell = 'echo ran'\n";

/// How many runs each job has had, once the one of this start of the server has ended: both are recorded
/// together.
fn runs(served: &mut TestServer) -> [usize; 2] {
    served.running.wait_for(&["server", "end    exit status 0"]);
    ["machine", "server"]
        .map(|job| served.ask(&["history", job, "--json"]).stdout.matches("\"run\":").count())
}

#[test]
fn a_job_of_the_machines_start_runs_once_until_the_machine_is_started_again() {
    let mut served = TestServer::start("reboots", JOBS);
    assert_eq!(runs(&mut served), [1, 1]);
    let folder = served.folder.clone();
    served.running.stop();
    let mut served = TestServer::start_in(folder.clone(), &[]);
    assert_eq!(runs(&mut served), [1, 2]);
    let mut served = served.crash_and_start();
    assert_eq!(runs(&mut served), [1, 3]);
    served.running.stop();
    // What another start of the machine leaves.
    let kept = folder.join("data/reboot");
    let current = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert_eq!(fs::read_to_string(&kept).unwrap(), current);
    fs::write(&kept, "another\n").unwrap();
    let mut served = TestServer::start_in(folder, &[]);
    assert_eq!(runs(&mut served), [2, 4]);
    served.stop();
}

#[test]
fn a_job_of_the_machines_start_runs_once_whichever_server_plans() {
    let Some((folder, database)) = prepared("cluster-boot") else { return };
    let job = |name: &str, key: &str| format!("[jobs.{name}]\n{key} = true\ncwd = '/'\nshell = 'true'\n");
    write(&folder.join("jobs.toml"), &(job("machine", "at_boot") + &job("server", "at_server_start")));
    let runs = |job: &str| format!("SELECT count(*) FROM mainspring.run WHERE job = '{job}'");
    let plans = |name: &str, count: &str| {
        let mut member = Member::start(&folder, name, &database);
        member.begins();
        // Both are recorded together.
        until(&database, &runs("server"), count);
        assert_eq!(member.running.stop().0.code(), Some(0));
        database.ask(&runs("machine"))
    };
    assert_eq!(plans("one", "1"), "1");
    assert_eq!(plans("other", "2"), "1", "it has run since this machine was started");
    // What a machine finds that was started since.
    database.ask("UPDATE mainspring.history SET nominal = 1 WHERE job = 'machine'");
    database.ask("UPDATE mainspring.job SET since = 1 WHERE name = 'machine'");
    assert_eq!(plans("one", "3"), "1", "this one had it");
    assert_eq!(plans("third", "4"), "2");
    let _ = fs::remove_dir_all(&folder);
}
