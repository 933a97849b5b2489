//! Runs whose author says that they may run twice, at workers that are cut off, stand still or are killed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::asked::until;
use crate::cluster::{JOBS, Member, is_gone, prepared, started_twice};
use crate::database::Database;
use crate::program::comes_true;
use crate::test_server::write;

/// Far beyond what is waited for.
const MAX_TRIES: u32 = 3_000;

/// Two more jobs, which read a word, write more than a pipe holds, and leave a file with the word behind.
fn jobs_that_are_left(folder: &Path) -> String {
    let folder = folder.display();
    let job = |name: &str, on_server_death: &str| {
        format!(
            "[jobs.{name}]\nat = 2100-01-01T00:00:00Z\ncwd = '{folder}'\non_lease_loss = 'leave'\n\
             on_server_death = '{on_server_death}'\n\
             shell = 'sleep 1000 & echo ready $!; read word < {name}.go; seq 100000 && echo $word > {name}.done; wait'\n"
        )
    };
    [JOBS.to_owned(), job("free", "leave"), job("bound", "kill")].concat()
}

/// Processes that no server ends: they are ended with the test.
struct Leftover([u32; 2]);

impl Drop for Leftover {
    fn drop(&mut self) {
        for pid in self.0 {
            let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
        }
    }
}

#[test]
fn a_worker_that_is_cut_off_ends_what_runs_but_for_what_says_that_it_may_run_twice() {
    let Some((folder, database)) = prepared("cluster-leave") else { return };
    write(&folder.join("jobs.toml"), &jobs_that_are_left(&folder));
    for name in ["free.go", "bound.go"] {
        assert!(Command::new("mkfifo").arg(folder.join(name)).status().unwrap().success());
    }
    // The way of the worker to the database, which the planner does not need.
    let way = folder.join("way");
    symlink(database.socket().parent().unwrap(), &way).unwrap();
    let mut one = Member::planner(&folder, "one", &database);
    one.begins_with("4 jobs");
    let mut worker = Member::by_way_of(&Database::url_at(&way), "true", &folder, "worker", &["--no-plan"]);
    worker.joins(&database);
    one.says(&["show", "free"], "on_lease_loss = \"leave\"");
    one.says(&["run", "long"], "long@");
    let long = worker.runs_as("stdout ready");
    one.says(&["run", "free"], "free@");
    let free = worker.runs("free", "stdout ready");
    let _leftover = Leftover(free);
    fs::remove_file(&way).unwrap();
    database.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()");
    worker.running.wait_for(&["what runs is asked to end (1)"]);
    worker.running.wait_for_all(&[
        &["long", "end "],
        &["free", "note ", "the server has lost the jobs: this continues without it"],
        &["this worker's lease could not be renewed in time: SIGKILL to what runs"],
    ]);
    one.running.wait_for(&["free", "abandoned: ", "the server died while it ran"]);
    assert_eq!(long.map(is_gone), [true; 2], "the run was over before another worker could have it");
    assert_eq!(free.map(is_gone), [false; 2], "it says that it may run twice");
    // Its first server reads what it writes, though it keeps nothing of it.
    fs::write(folder.join("free.go"), "went\n").unwrap();
    let done = || fs::read_to_string(folder.join("free.done")).unwrap_or_default();
    assert!(comes_true(MAX_TRIES, || done() == "went\n"), "it continues to its end");
    // A stop in good order ends it as any other.
    let mut other = Member::worker(&folder, "other", &database);
    one.says(&["run", "free"], "free@");
    let again = other.runs("free", "stdout ready");
    assert_eq!(other.running.stop().0.code(), Some(0));
    assert_eq!(again.map(is_gone), [true; 2], "a stop leaves nothing");
    assert_eq!(worker.running.stop().0.code(), Some(0));
    assert_eq!(one.running.stop().0.code(), Some(0));
    assert_eq!(started_twice(&database), "0");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn nothing_has_changed_for_what_may_run_twice_if_the_lease_is_renewed_before_it_is_lost() {
    // A machine that stands still for three seconds is taken for lost instead, and it is tried again.
    const MAX_ROUNDS: u32 = 5;
    let Some((folder, database)) = prepared("cluster-renewed") else { return };
    write(&folder.join("jobs.toml"), &jobs_that_are_left(&folder));
    assert!(Command::new("mkfifo").arg(folder.join("free.go")).status().unwrap().success());
    let (way, goal) = (folder.join("way"), database.socket().parent().unwrap().to_owned());
    symlink(&goal, &way).unwrap();
    let mut one = Member::planner(&folder, "one", &database);
    one.begins_with("4 jobs");
    let mut worker = Member::by_way_of(&Database::url_at(&way), "true", &folder, "worker", &["--no-plan"]);
    let round = |_| {
        one.says(&["run", "free"], "free@");
        let free = Leftover(worker.runs("free", "stdout ready"));
        fs::remove_file(&way).unwrap();
        database.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()");
        worker.running.wait_for(&["what runs is asked to end (0)"]);
        symlink(&goal, &way).unwrap();
        loop {
            match worker.running.wait_for(&["note "]) {
                line if line.contains("the database answers again") => return Some(free),
                line if line.contains("SIGKILL to what runs") => return None,
                _ => {}
            }
        }
    };
    let free = (0..MAX_ROUNDS).find_map(round).expect("the lease is renewed in time");
    assert_eq!(free.0.map(is_gone), [false; 2], "it was not asked to end");
    fs::write(folder.join("free.go"), "went\n").unwrap();
    worker.running.wait_for(&["free", "stdout 1"]);
    // The shell waits for what is in its background.
    kill(Pid::from_raw(free.0[1].cast_signed()), Signal::SIGKILL).unwrap();
    worker.running.wait_for(&["free", "end ", "exit status 0"]);
    until(
        &database,
        "SELECT state FROM mainspring.history WHERE job = 'free' AND state = 'succeeded'",
        "succeeded",
    );
    assert_eq!(worker.running.stop().0.code(), Some(0));
    assert_eq!(one.running.stop().0.code(), Some(0));
    assert_eq!(started_twice(&database), "0");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn what_may_run_twice_outlives_a_stopped_worker_and_a_killed_one_only_if_it_says_that_too() {
    let Some((folder, database)) = prepared("cluster-left-dead") else { return };
    write(&folder.join("jobs.toml"), &jobs_that_are_left(&folder));
    for name in ["free.go", "bound.go"] {
        assert!(Command::new("mkfifo").arg(folder.join(name)).status().unwrap().success());
    }
    let mut one = Member::planner(&folder, "one", &database);
    one.begins_with("4 jobs");
    let mut worker = Member::worker(&folder, "worker", &database);
    let [long, free, bound] = ["long", "free", "bound"].map(|job| {
        one.says(&["run", job], &format!("{job}@"));
        worker.runs(job, "stdout ready")
    });
    let _leftover = Leftover(free);
    worker.running.signal(Signal::SIGSTOP);
    one.running.wait_for_all(&[
        &["long", "abandoned: "],
        &["free", "abandoned: "],
        &["bound", "abandoned: "],
    ]);
    assert_eq!(long.map(is_gone), [true; 2], "the run was over before another worker could have it");
    assert_eq!([free, bound].map(|pids| pids.map(is_gone)), [[false; 2]; 2], "these may run twice");
    worker.running.signal(Signal::SIGKILL);
    assert_eq!(worker.running.end().0.code(), None);
    // The keeper ends all of a group, and not the program alone.
    assert!(comes_true(MAX_TRIES, || bound.map(is_gone) == [true; 2]), "it ends with its server");
    assert_eq!(free.map(is_gone), [false; 2], "it says that it may outlive its server");
    assert_eq!(one.running.stop().0.code(), Some(0));
    assert_eq!(started_twice(&database), "0");
    let _ = fs::remove_dir_all(&folder);
}
