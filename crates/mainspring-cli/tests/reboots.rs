//! Jobs that are due at the start of the machine, and at that of the server.

use std::fs;

use crate::test_server::TestServer;

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
