//! Several servers on one database: who owns the jobs, and what happens when it cannot any more.
//!
//! A takeover waits for a lease of 15 s, as in earnest: its length is no option.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::asked::until;
use crate::database::Database;
use crate::program::{EndedProgram, Running, mainspring};
use crate::test_server::{folder, write};

const JOBS: &str = "[jobs.long]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'sleep 1000 & echo ready $MAINSPRING_FENCE $!; wait'\n\
    [jobs.often]\nevery = '1s'\nretention = 'keep=100000'\nshell = 'true'\n";

/// A server with a data directory of its own.
pub(crate) struct Member {
    pub(crate) data: PathBuf,
    pub(crate) running: Running,
}

impl Member {
    pub(crate) fn start(folder: &Path, name: &str, database: &Database) -> Member {
        Member::serving(folder, name, database, &["jobs.toml"])
    }

    /// One that was given these files of the folder.
    pub(crate) fn serving(folder: &Path, name: &str, database: &Database, files: &[&str]) -> Member {
        Member::after("true", folder, name, database, files)
    }

    /// The same from a shell that has done something to itself before.
    fn after(shell_text: &str, folder: &Path, name: &str, database: &Database, files: &[&str]) -> Member {
        Member::by_way_of(&database.url(), shell_text, folder, name, files)
    }

    /// The same that connects to the database by this.
    fn by_way_of(url: &str, shell_text: &str, folder: &Path, name: &str, files: &[&str]) -> Member {
        let (data, store) = (folder.join(name), folder.join(format!("{name}.store")));
        fs::write(&store, format!("{url}\n")).unwrap();
        let paths = [&data, &store].map(|path| path.to_str().unwrap().to_owned());
        let files: Vec<String> =
            files.iter().map(|file| folder.join(file).to_str().unwrap().to_owned()).collect();
        let mut arguments = vec!["serve", "--data", &paths[0], "--store-file", &paths[1]];
        arguments.extend(files.iter().map(String::as_str));
        let running = Running::after(shell_text, &arguments);
        Member { data, running }
    }

    pub(crate) fn ask(&self, arguments: &[&str]) -> EndedProgram {
        mainspring(&[&[arguments[0], "--data", self.data.to_str().unwrap()], &arguments[1..]].concat())
    }

    pub(crate) fn says(&self, arguments: &[&str], part: &str) {
        let EndedProgram { code, stdout, stderr } = self.ask(arguments);
        assert_eq!(code, 0, "{arguments:?}: {stderr}");
        assert!(format!("{stdout}{stderr}").contains(part), "{arguments:?}: {stdout}{stderr}");
    }

    /// Waits for the line of a run of the job `long` with that beginning. Returns its process, and one in its
    /// background.
    fn runs_as(&mut self, ready: &str) -> [u32; 2] {
        self.runs("long", ready)
    }

    /// The same of another job.
    fn runs(&mut self, job: &str, ready: &str) -> [u32; 2] {
        let start = self.running.wait_for(&[job, "start  pid "]);
        let pid = start.split("pid ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
        let line = self.running.wait_for(&[job, ready]);
        [pid, line.rsplit(' ').next().unwrap().parse().unwrap()]
    }

    pub(crate) fn begins(&mut self) {
        self.begins_with("2 jobs");
    }

    fn begins_with(&mut self, count: &str) {
        self.running.wait_for(&["this server owns the jobs now"]);
        self.running.wait_for(&["mainspring", count]);
    }
}

/// Whether a process has ended, also if its parent has not looked at it yet.
pub(crate) fn is_gone(pid: u32) -> bool {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    text.rsplit(") ").next().unwrap_or_default().chars().next().is_none_or(|state| "ZX".contains(state))
}

pub(crate) fn prepared(name: &str) -> Option<(PathBuf, Database)> {
    let database = Database::start()?;
    let folder = folder(name);
    write(&folder.join("jobs.toml"), JOBS);
    Some((folder, database))
}

#[test]
fn a_standby_says_who_owns_the_jobs_and_takes_over_when_that_is_killed() {
    let Some((folder, database)) = prepared("cluster-kill") else { return };
    let mut one = Member::start(&folder, "one", &database);
    one.begins();
    let mut other = Member::start(&folder, "other", &database);
    other.running.wait_for(&["note ", "standing by: process"]);
    one.says(&["at", "+1h", "--name", "later", "--", "true"], "later");
    one.says(&["run", "long"], "long@");
    let pids = one.runs_as("stdout ready 0.1");
    // What the owner runs is read at any server.
    other.says(&["logs", "long"], "ready 0.1");
    one.running.signal(Signal::SIGKILL);
    assert_eq!(one.running.end().0.code(), None);
    other.begins();
    assert_eq!(pids.map(is_gone), [true; 2], "the run was over before another server had the jobs");
    other.running.wait_for(&["long", "abandoned: ", "the server died while it ran"]);
    other.says(&["show", "later"], "pending");
    other.says(&["run", "long"], "long@");
    other.running.wait_for(&["long", "stdout ready 0.2"]);
    other.says(&["cancel", "long"], "");
    other.running.wait_for(&["long", "end "]);
    // One that leaves in good order is not waited for.
    let mut third = Member::start(&folder, "third", &database);
    third.running.wait_for(&["note ", "standing by: process"]);
    assert_eq!(other.running.stop().0.code(), Some(0));
    // It is asked to stop before it has read what there is.
    third.running.wait_for(&["this server owns the jobs now"]);
    assert_eq!(third.running.stop().0.code(), Some(0));
    assert_eq!(started_twice(&database), "0");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_server_that_is_too_old_for_the_database_stands_by_until_it_is_not() {
    let Some((folder, database)) = prepared("cluster-old") else { return };
    let mut one = Member::start(&folder, "one", &database);
    one.begins();
    assert_eq!(one.running.stop().0.code(), Some(0));
    database.ask("UPDATE mainspring.planner SET version = version + 93, floor = version + 92");
    let mut old = Member::start(&folder, "old", &database);
    old.running.wait_for(&["note ", "standing by: the store has format", "install the version"]);
    let told = old.ask(&["list"]);
    assert_ne!(told.code, 0);
    assert!(told.stderr.contains("this server stands by: the store has format"), "{}", told.stderr);
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.inbox"), "0", "it writes nothing");
    database.ask("UPDATE mainspring.planner SET version = version - 93, floor = 1");
    old.begins();
    assert_eq!(old.running.stop().0.code(), Some(0));
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn an_owner_that_stood_still_for_longer_than_its_lease_ends_what_runs_and_stands_by() {
    let Some((folder, database)) = prepared("cluster-stop") else { return };
    let mut one = Member::start(&folder, "one", &database);
    one.begins();
    let mut other = Member::start(&folder, "other", &database);
    other.running.wait_for(&["note ", "standing by: process"]);
    one.says(&["run", "long"], "long@");
    let pids = one.runs_as("stdout ready");
    one.running.signal(Signal::SIGSTOP);
    other.begins();
    assert_eq!(pids.map(is_gone), [true; 2], "the run was over before another server had the jobs");
    one.running.signal(Signal::SIGCONT);
    one.running.wait_for(&["SIGKILL to what runs"]);
    one.running.wait_for(&["the jobs were given up"]);
    one.running.wait_for(&["note ", "standing by: process"]);
    let told = one.ask(&["open", "--print"]).stderr;
    assert!(told.contains("this server stands by"), "{told}");
    // It may be the owner again, and hears a request to stop.
    assert_eq!(other.running.stop().0.code(), Some(0));
    one.begins();
    assert_eq!(one.running.stop().0.code(), Some(0));
    assert_eq!(started_twice(&database), "0");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn an_owner_that_loses_the_database_ends_what_runs_before_its_lease_does() {
    let Some((folder, mut database)) = prepared("cluster-outage") else { return };
    let mut one = Member::start(&folder, "one", &database);
    one.begins();
    one.says(&["run", "long"], "long@");
    one.running.wait_for(&["long", "stdout ready"]);
    // A restart is lateness and no more.
    database.kill();
    database.begin();
    one.says(&["at", "+1h", "--name", "later", "--", "true"], "later");
    database.kill();
    one.running.wait_for(&["the lease could not be renewed for", "what runs is asked to end"]);
    one.running.wait_for(&["long", "end "]);
    one.running.wait_for(&["the jobs were given up"]);
    database.begin();
    one.begins();
    one.says(&["show", "later"], "pending");
    assert_eq!(one.running.stop().0.code(), Some(0));
    assert_eq!(started_twice(&database), "0");
    let _ = fs::remove_dir_all(&folder);
}

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

/// Waits until that is so. The database is asked in between, which takes some milliseconds.
fn until_so(database: &Database, is_so: impl Fn() -> bool, what: &str) {
    assert!((0..MAX_TRIES).any(|_| is_so() || database.ask("SELECT 1").is_empty()), "{what}");
}

#[test]
fn an_owner_that_is_cut_off_ends_what_runs_but_for_what_says_that_it_may_run_twice() {
    let Some((folder, database)) = prepared("cluster-leave") else { return };
    write(&folder.join("jobs.toml"), &jobs_that_are_left(&folder));
    for name in ["free.go", "bound.go"] {
        assert!(Command::new("mkfifo").arg(folder.join(name)).status().unwrap().success());
    }
    // The way of one of them to the database, which the other does not need.
    let way = folder.join("way");
    symlink(database.socket().parent().unwrap(), &way).unwrap();
    let mut one = Member::by_way_of(&Database::url_at(&way), "true", &folder, "one", &["jobs.toml"]);
    one.begins_with("4 jobs");
    let mut other = Member::start(&folder, "other", &database);
    other.running.wait_for(&["note ", "standing by: process"]);
    one.says(&["show", "free"], "on_lease_loss = \"leave\"");
    one.says(&["run", "long"], "long@");
    let long = one.runs_as("stdout ready");
    one.says(&["run", "free"], "free@");
    let free = one.runs("free", "stdout ready");
    let _leftover = Leftover(free);
    fs::remove_file(&way).unwrap();
    database.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()");
    one.running.wait_for(&["what runs is asked to end (1); what says on_lease_loss", "goes on (1)"]);
    one.running.wait_for_all(&[
        &["long", "end "],
        &["free", "note ", "the server has lost the jobs: this goes on without it"],
        &["goes on (1): SIGKILL to what runs"],
        &["the jobs were given up"],
    ]);
    other.begins_with("4 jobs");
    assert_eq!(long.map(is_gone), [true; 2], "the run was over before another server had the jobs");
    assert_eq!(free.map(is_gone), [false; 2], "it says that it may run twice");
    other.running.wait_for(&["free", "abandoned: ", "the server died while it ran"]);
    // Its first server reads what it writes, though it keeps nothing of it.
    fs::write(folder.join("free.go"), "went\n").unwrap();
    let done = || fs::read_to_string(folder.join("free.done")).unwrap_or_default();
    until_so(&database, || done() == "went\n", "it goes on to its end");
    // A stop in good order ends it as any other.
    other.says(&["run", "free"], "free@");
    let again = other.runs("free", "stdout ready");
    assert_eq!(other.running.stop().0.code(), Some(0));
    assert_eq!(again.map(is_gone), [true; 2], "a stop leaves nothing");
    assert_eq!(one.running.stop().0.code(), Some(0));
    assert_eq!(started_twice(&database), "0");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn nothing_has_changed_for_what_may_run_twice_if_the_lease_is_renewed_before_it_is_lost() {
    // A machine that stands still for three seconds loses the jobs instead, and it is tried again.
    const MAX_ROUNDS: u32 = 5;
    let Some((folder, database)) = prepared("cluster-renewed") else { return };
    write(&folder.join("jobs.toml"), &jobs_that_are_left(&folder));
    assert!(Command::new("mkfifo").arg(folder.join("free.go")).status().unwrap().success());
    let (way, goal) = (folder.join("way"), database.socket().parent().unwrap().to_owned());
    symlink(&goal, &way).unwrap();
    let mut one = Member::by_way_of(&Database::url_at(&way), "true", &folder, "one", &["jobs.toml"]);
    let round = |_| {
        one.begins_with("4 jobs");
        one.says(&["run", "free"], "free@");
        let free = Leftover(one.runs("free", "stdout ready"));
        fs::remove_file(&way).unwrap();
        database.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()");
        one.running.wait_for(&["what runs is asked to end (0); what says on_lease_loss", "goes on (1)"]);
        symlink(&goal, &way).unwrap();
        loop {
            match one.running.wait_for(&["note "]) {
                line if line.contains("the store answers again") => return Some(free),
                line if line.contains("the jobs were given up") => return None,
                _ => {}
            }
        }
    };
    let free = (0..MAX_ROUNDS).find_map(round).expect("the lease is renewed in time");
    assert_eq!(free.0.map(is_gone), [false; 2], "it was not asked to end");
    fs::write(folder.join("free.go"), "went\n").unwrap();
    one.running.wait_for(&["free", "stdout 1"]);
    // The shell waits for what is in its background.
    kill(Pid::from_raw(free.0[1].cast_signed()), Signal::SIGKILL).unwrap();
    one.running.wait_for(&["free", "end ", "exit status 0"]);
    one.says(&["history", "free"], "succeeded");
    assert_eq!(one.running.stop().0.code(), Some(0));
    assert_eq!(started_twice(&database), "0");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn what_may_run_twice_outlives_a_stopped_owner_and_a_killed_one_only_if_it_says_that_too() {
    let Some((folder, database)) = prepared("cluster-left-dead") else { return };
    write(&folder.join("jobs.toml"), &jobs_that_are_left(&folder));
    for name in ["free.go", "bound.go"] {
        assert!(Command::new("mkfifo").arg(folder.join(name)).status().unwrap().success());
    }
    let mut one = Member::start(&folder, "one", &database);
    one.begins_with("4 jobs");
    let mut other = Member::start(&folder, "other", &database);
    other.running.wait_for(&["note ", "standing by: process"]);
    let [long, free, bound] = ["long", "free", "bound"].map(|job| {
        one.says(&["run", job], &format!("{job}@"));
        one.runs(job, "stdout ready")
    });
    let _leftover = Leftover(free);
    one.running.signal(Signal::SIGSTOP);
    other.begins_with("4 jobs");
    assert_eq!(long.map(is_gone), [true; 2], "the run was over before another server had the jobs");
    assert_eq!([free, bound].map(|pids| pids.map(is_gone)), [[false; 2]; 2], "these may run twice");
    one.running.signal(Signal::SIGKILL);
    assert_eq!(one.running.end().0.code(), None);
    // The keeper ends all of a group, and not the program alone.
    until_so(&database, || bound.map(is_gone) == [true; 2], "it ends with its server");
    assert_eq!(free.map(is_gone), [false; 2], "it says that it may outlive its server");
    assert_eq!(other.running.stop().0.code(), Some(0));
    assert_eq!(started_twice(&database), "0");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_new_owner_keeps_the_jobs_of_the_store_and_its_old_files_bring_none_back() {
    let Some((folder, database)) = prepared("cluster-files") else { return };
    let file = folder.join("jobs.toml");
    let path = file.to_str().unwrap().to_owned();
    write(&folder.join("more.toml"), "[jobs.more]\nat = 2100-01-01T00:00:00Z\nshell = 'true'\n");
    write(&folder.join("gone.toml"), "[jobs.gone]\nat = 2100-01-01T00:00:00Z\nshell = 'true'\n");
    let mut one = Member::serving(&folder, "one", &database, &["jobs.toml", "more.toml", "gone.toml"]);
    one.begins_with("4 jobs");
    // The other has files of an older release, and was not given all.
    let mut other = Member::serving(&folder, "other", &database, &["jobs.toml", "gone.toml"]);
    other.running.wait_for(&["note ", "standing by: process"]);
    write(&file, "[jobs.newer]\nat = 2100-01-01T00:00:00Z\nshell = 'true'\n");
    write(&folder.join("gone.toml"), "");
    one.running.wait_for(&["jobs.toml", "1 added"]);
    one.running.wait_for(&["gone.toml", "1 removed"]);
    other.running.signal(Signal::SIGSTOP);
    assert_eq!(one.running.stop().0.code(), Some(0));
    write(&file, JOBS);
    write(&folder.join("gone.toml"), "[jobs.gone]\nat = 2100-01-01T00:00:00Z\nshell = 'true'\n");
    other.running.signal(Signal::SIGCONT);
    other.begins_with("2 jobs");
    let listed = other.ask(&["list"]).stdout;
    for (name, is_there) in [("newer", true), ("more", true), ("gone", false), ("often", false)] {
        assert_eq!(listed.contains(name), is_there, "{name}: {listed}");
    }
    other.says(&["status"], "differs from what the database holds, which stays in force");
    // A person may say that the file is right after all. What it does not say stays, so that it still
    // differs.
    other.says(&["apply", &path], "added");
    other.says(&["status"], &format!("{path} differs"));
    other.says(&["apply", "--prune", &path], "removed");
    let (listed, status) = (other.ask(&["list"]).stdout, other.ask(&["status"]).stdout);
    assert!(listed.contains("often") && !listed.contains("newer"), "{listed}");
    assert!(!status.contains(&format!("{path} differs")), "{status}");
    // So it does when the file changes under the owner.
    write(&file, "[jobs.last]\nat = 2100-01-01T00:00:00Z\nshell = 'true'\n");
    other.running.wait_for(&["jobs.toml", "1 added"]);
    assert_eq!(other.running.stop().0.code(), Some(0));
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn commands_work_from_a_standby_and_transactions_submit_what_they_commit() {
    let Some((folder, database)) = prepared("cluster-inbox") else { return };
    let mut one = Member::start(&folder, "one", &database);
    one.begins();
    let mut other = Member::start(&folder, "other", &database);
    other.running.wait_for(&["note ", "standing by: process"]);
    other.says(&["list"], "often");
    other.says(&["at", "+1h", "--name", "later", "--", "true"], "later");
    one.says(&["show", "later"], "pending");
    other.says(&["run", "long"], "long@");
    one.running.wait_for(&["long", "stdout ready"]);
    // What has several answers comes through the database as well: the end of a run, and what it writes
    // until then.
    let ended = other.ask(&["run", "--wait", "often"]);
    assert!(ended.code == 0 && ended.stdout.contains("succeeded"), "{} {}", ended.stdout, ended.stderr);
    let run = other.ask(&["history", "long"]).stdout;
    let run = run.split_whitespace().find(|word| word.starts_with("long@")).unwrap().to_owned();
    let mut following = Running::any(&["logs", "-f", &run, "--data", other.data.to_str().unwrap()]);
    following.wait_for(&["ready"]);
    other.says(&["cancel", &run], "");
    assert_eq!(following.end().0.code(), Some(0), "it ends with the run");
    assert_eq!(other.ask(&["show", "nothing"]).code, 4, "there is no such job");
    one.says(&["audit"], "asked for by process");
    // Each says what the servers are like, the standby as the owner sees it.
    other.says(&["status"], "taken over: 1 clean");
    one.says(&["doctor"], "whose lease lasts");
    one.says(&["doctor"], "synchronous_commit on, no standby");
    let submit = |text: &str, rest: &str| {
        format!(
            "SELECT mainspring.submit('{{\"process\": {{\"run\": [\"/bin/echo\", \"{text}\"]}}}}' {rest})"
        )
    };
    database.ask(&format!("BEGIN; {}; ROLLBACK", submit("never", ", key => 'never'")));
    assert_eq!(database.ask(&submit("via sql", ", key => 'k'")), "k");
    one.running.wait_for(&["stdout via sql"]);
    database.ask(&submit("via sql", ", key => 'k'"));
    database.ask(&submit("refused", "::jsonb || '{\"policies\": \"nonsense=1\"}'"));
    until(&database, "SELECT count(*) FROM mainspring.inbox WHERE refusal = ''", "0");
    assert_ne!(database.ask("SELECT refusal FROM mainspring.inbox"), "", "what cannot be done is kept");
    // Other work under a known key is refused, on record and in the log.
    database.ask(&submit("other work", ", key => 'k'"));
    one.running.wait_for(&["cannot be done", "is taken"]);
    until(&database, "SELECT count(*) FROM mainspring.inbox WHERE refusal LIKE '%is taken%'", "1");
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.run WHERE body LIKE '%other work%'"), "0");
    assert_eq!(
        database.ask(
            "SELECT string_agg(key, ' ' ORDER BY key) FROM mainspring.once_key WHERE key IN ('k', 'never')"
        ),
        "k"
    );
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.run WHERE body LIKE '%via sql%'"), "1");
    // Without an owner it waits for one.
    assert_eq!(other.running.stop().0.code(), Some(0));
    assert_eq!(one.running.stop().0.code(), Some(0));
    database.ask(&submit("at last", ""));
    let mut third = Member::start(&folder, "third", &database);
    third.begins();
    third.running.wait_for(&["stdout at last"]);
    assert_eq!(third.running.stop().0.code(), Some(0));
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_server_with_another_clock_starts_jobs_by_that_of_the_database() {
    let Some(library) = crate::live::faketime_or_skip() else { return };
    let Some((folder, database)) = prepared("cluster-clock") else { return };
    let shifted = |shift: &str, name: &str| {
        let text = format!(
            "export LD_PRELOAD={} FAKETIME={shift} FAKETIME_DONT_FAKE_MONOTONIC=1",
            library.display()
        );
        Member::after(&text, &folder, name, &database, &["jobs.toml"])
    };
    let mut ahead = shifted("+3600", "ahead");
    ahead.begins();
    ahead.running.wait_for(&["the clock of this machine is", "ahead of the store's"]);
    ahead.says(&["at", "+30m", "--name", "later", "--", "true"], "later");
    for _ in 0..2 {
        ahead.running.wait_for(&["often", "end "]);
    }
    ahead.says(&["show", "later"], "pending");
    assert_eq!(ahead.running.stop().0.code(), Some(0));
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.attempt WHERE started < nominal"), "0", "early");
    assert_eq!(
        database.ask("SELECT count(*) FROM mainspring.attempt WHERE mainspring.now_ns() < started"),
        "0"
    );
    let mut behind = shifted("-3600", "behind");
    behind.begins();
    behind.running.wait_for(&["the clock of this machine is", "behind the store's"]);
    behind.says(&["at", "now", "--", "echo", "at", "last"], "");
    behind.running.wait_for(&["stdout at last"]);
    assert_eq!(behind.running.stop().0.code(), Some(0));
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.attempt WHERE started < nominal"), "0", "early");
    let _ = fs::remove_dir_all(&folder);
}

/// Far beyond what is waited for: each question takes some milliseconds.
const MAX_TRIES: u32 = 3_000;

/// Ends these servers, of which no run is asked to end.
pub(crate) fn stopped(members: Vec<Member>) {
    for member in members {
        assert_eq!(member.running.stop().0.code(), Some(0));
    }
}

/// How many attempts are beside a run that knows nothing of them. Of one attempt there cannot be two records.
pub(crate) fn started_twice(database: &Database) -> String {
    database.ask(
        "SELECT count(*) FROM mainspring.attempt AS a LEFT JOIN mainspring.run AS r USING (job, nominal, series)
            WHERE r.job IS NULL OR r.attempt < a.number",
    )
}
