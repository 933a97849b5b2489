//! A server to which a cgroup is delegated. Where none can be made (without root, without cgroup2) the tests
//! say so and end.

use std::fs;
use std::path::{Path, PathBuf};

use mainspring_exec::clock::Moment;
use nix::unistd::Uid;

use crate::program::{BOUND, Running, mainspring};
use crate::test_server::{folder, skipped, write};

/// A cgroup that is marked as systemd marks one with Delegate=yes.
struct DelegatedCgroup(PathBuf);

impl DelegatedCgroup {
    fn new(name: &str) -> Option<DelegatedCgroup> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let tree = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
        let tree = Path::new(tree.split(' ').nth(4)?);
        let group = tree.join(format!("mainspring-test-{}-{name}", std::process::id()));
        fs::create_dir(&group).ok()?;
        let group = DelegatedCgroup(group);
        let flags = rustix::fs::XattrFlags::empty();
        rustix::fs::setxattr(&group.0, "user.delegate", b"1", flags).ok()?;
        Some(group)
    }

    /// Starts a server in it.
    fn serve(&self, place: &Path, jobs: &str) -> Running {
        let (data, file) = (place.join("data"), place.join("jobs.toml"));
        write(&file, jobs);
        let enter = format!("echo $$ > '{}/cgroup.procs'", self.0.display());
        let args = ["serve", "--data", data.to_str().unwrap(), file.to_str().unwrap()];
        let mut running = Running::after(&enter, &args);
        running.wait_for(&["each run has a cgroup of its own"]);
        running
    }

    fn groups_of_runs(&self) -> usize {
        let entries = fs::read_dir(&self.0).unwrap().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("run-")).count()
    }
}

impl Drop for DelegatedCgroup {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join("cgroup.kill"), "1");
        let events = self.0.join("cgroup.events");
        wait_until("what was killed is gone", || {
            !fs::read_to_string(&events).is_ok_and(|text| text.contains("populated 1"))
        });
        for entry in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            let _ = fs::remove_dir(entry.path());
        }
        let _ = fs::remove_dir(&self.0);
    }
}

fn delegated(name: &str) -> Option<DelegatedCgroup> {
    let found = DelegatedCgroup::new(name).filter(|_| Uid::effective().is_root());
    if found.is_none() {
        skipped("cgroups", "none can be delegated here, which takes root and a writable cgroup2");
    }
    found
}

/// Whether a process is there and no zombie.
fn is_alive(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|text| !text.contains(") Z "))
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Moment::now();
    while !is_so() {
        assert!(Moment::now().since(start) < BOUND, "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn what_leaves_its_session_is_killed_with_its_run() {
    let Some(group) = delegated("timeout") else { return };
    let place = folder("cgroup-timeout");
    let jobs = "[jobs.a]\nat_boot = true\ncwd = '/'\ntimeout = '1s,grace=1s'\n\
                shell = 'setsid sleep 1000 > /dev/null 2>&1 & echo left $!; exec sleep 1000'\n";
    let mut running = group.serve(&place, jobs);
    let line = running.wait_for(&["a@", "left "]);
    let pid = line.rsplit(' ').next().unwrap();
    assert!(is_alive(pid), "{line}");
    running.wait_for(&["a@", "end ", "timeout"]);
    wait_until("the process that left its session is killed", || !is_alive(pid));
    wait_until("its cgroup is removed", || {
        // A group that was not empty goes with the next start.
        let _ = mainspring(&["run", "a", "--data", place.join("data").to_str().unwrap()]);
        group.groups_of_runs() <= 2
    });
    running.stop();
    let _ = fs::remove_dir_all(&place);
}

#[test]
fn what_a_run_leaves_that_ends_by_itself_goes_on() {
    let Some(group) = delegated("daemon") else { return };
    let place = folder("cgroup-daemon");
    let jobs =
        "[jobs.a]\nat_boot = true\ncwd = '/'\nshell = 'setsid sleep 1000 > /dev/null 2>&1 & echo left $!'\n";
    let mut running = group.serve(&place, jobs);
    let line = running.wait_for(&["a@", "left "]);
    let pid = line.rsplit(' ').next().unwrap().to_owned();
    running.wait_for(&["a@", "end ", "exit status 0"]);
    running.stop();
    assert!(is_alive(&pid), "a daemon that a job has started outlives the server as well");
    let _ = fs::remove_dir_all(&place);
}

#[test]
fn a_limit_that_cannot_be_kept_starts_nothing() {
    let place = folder("cgroup-none");
    let file = place.join("jobs.toml");
    write(&file, "[jobs.a]\nat_boot = true\ncwd = '/'\nmemory_max = '64M'\nrun = ['true']\n");
    let data = place.join("data");
    let mut running = Running::any(&["serve", "--data", data.to_str().unwrap(), file.to_str().unwrap()]);
    let line = running.wait_for(&["a@", "refuse"]);
    // Where a cgroup is delegated to whatever runs the tests it may have no such controller.
    assert!(line.contains("cannot keep memory_max or cpu_max"), "{line}");
    running.stop();
    let _ = fs::remove_dir_all(&place);
}
