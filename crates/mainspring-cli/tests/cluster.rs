//! Several servers on one database: which plans, which carries out, and what happens when one cannot.
//!
//! A lost worker is waited for as in earnest, 16 s: the length of its lease is no option.

use std::fs;
use std::path::{Path, PathBuf};

use nix::sys::signal::Signal;

use crate::asked::until;
use crate::database::Database;
use crate::program::{EndedProgram, Running, mainspring};
use crate::test_server::{folder, write};

pub(crate) const JOBS: &str = "[jobs.long]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'sleep 1000 & echo ready $MAINSPRING_FENCE $!; wait'\n\
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

    /// One that plans and carries nothing out.
    pub(crate) fn planner(folder: &Path, name: &str, database: &Database) -> Member {
        Member::by_way_of(&database.url(), "true", folder, name, &["--no-work", "jobs.toml"])
    }

    /// One that carries out and never plans.
    pub(crate) fn worker(folder: &Path, name: &str, database: &Database) -> Member {
        Member::by_way_of(&database.url(), "true", folder, name, &["--no-plan"])
    }

    /// Waits until it has joined the pool.
    pub(crate) fn joins(&self, database: &Database) {
        let address = self.data.display();
        until(database, &format!("SELECT count(*) FROM mainspring.worker WHERE address = '{address}'"), "1");
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
    pub(crate) fn by_way_of(
        url: &str,
        shell_text: &str,
        folder: &Path,
        name: &str,
        files: &[&str],
    ) -> Member {
        let (data, store) = (folder.join(name), folder.join(format!("{name}.store")));
        fs::write(&store, format!("{url}\n")).unwrap();
        let paths = [&data, &store].map(|path| path.to_str().unwrap().to_owned());
        let named = |file: &&str| match file.starts_with("--") {
            true => (*file).to_owned(),
            false => folder.join(file).to_str().unwrap().to_owned(),
        };
        let files: Vec<String> = files.iter().map(named).collect();
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
    pub(crate) fn runs_as(&mut self, ready: &str) -> [u32; 2] {
        self.runs("long", ready)
    }

    /// The same of another job.
    pub(crate) fn runs(&mut self, job: &str, ready: &str) -> [u32; 2] {
        let start = self.running.wait_for(&[job, "start  pid "]);
        let pid = start.split("pid ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
        let line = self.running.wait_for(&[job, ready]);
        [pid, line.rsplit(' ').next().unwrap().parse().unwrap()]
    }

    pub(crate) fn begins(&mut self) {
        self.begins_with("2 jobs");
    }

    pub(crate) fn begins_with(&mut self, count: &str) {
        self.running.wait_for(&["this server plans now"]);
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
fn a_run_goes_on_at_its_worker_when_the_planner_is_killed() {
    let Some((folder, database)) = prepared("cluster-kill") else { return };
    let mut one = Member::planner(&folder, "one", &database);
    one.begins();
    let mut other = Member::planner(&folder, "other", &database);
    other.running.wait_for(&["note ", "standing by: process"]);
    one.says(&["at", "+1h", "--name", "later", "--", "true"], "later");
    one.says(&["run", "long"], "long@");
    // Nothing carries it out yet.
    let told = one.ask(&["doctor"]).stdout;
    assert!(told.contains("nothing starts: start a server without --no-work"), "{told}");
    let mut worker = Member::worker(&folder, "worker", &database);
    let pids = worker.runs_as("stdout ready ");
    // What it writes is read at another server while it runs, by each command.
    let mut shown = std::iter::repeat_with(|| other.ask(&["logs", "long"]).stdout).take(100);
    assert!(shown.any(|text| text.contains("ready ")), "its lines are brought");
    let mut following = Running::any(&["logs", "-f", "long", "--data", one.data.to_str().unwrap()]);
    following.wait_for(&["ready "]);
    drop(following);
    one.running.signal(Signal::SIGKILL);
    assert_eq!(one.running.end().0.code(), None);
    other.begins();
    assert_eq!(pids.map(is_gone), [false; 2], "the fall of a planner ends no run");
    other.says(&["show", "later"], "pending");
    other.says(&["list"], "long   active");
    // A run that began before this planner did is followed too.
    let run = other.ask(&["history", "long"]).stdout;
    let run = run.split_whitespace().find(|word| word.starts_with("long@")).unwrap().to_owned();
    let mut following = Running::any(&["logs", "-f", &run, "--data", other.data.to_str().unwrap()]);
    following.wait_for(&["ready "]);
    other.says(&["cancel", "long"], "");
    assert_eq!(following.end().0.code(), Some(0), "it ends with the run");
    worker.running.wait_for(&["long", "end "]);
    until(&database, "SELECT state FROM mainspring.history WHERE job = 'long'", "cancelled");
    other.says(&["logs", "long"], "ready ");
    // One that leaves in good order is not waited for.
    let mut third = Member::planner(&folder, "third", &database);
    third.running.wait_for(&["note ", "standing by: process"]);
    assert_eq!(other.running.stop().0.code(), Some(0));
    third.running.wait_for(&["this server plans now"]);
    assert_eq!(third.running.stop().0.code(), Some(0));
    // What ends while no server plans is on record when one comes.
    assert_eq!(worker.running.stop().0.code(), Some(0));
    assert_eq!(started_twice(&database), "0");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn each_server_shows_what_all_attempts_of_a_run_wrote_wherever_they_were() {
    let Some((folder, database)) = prepared("cluster-walks") else { return };
    let walks = "[jobs.walks]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nretry = '3,backoff=100ms'\n\
        shell = 'echo here $MAINSPRING_ATTEMPT; test $MAINSPRING_ATTEMPT = 4 || exit 1; \
        while ! test -e $GO; do sleep 0.1; done; echo gone'\n";
    let go = folder.join("go");
    write(&folder.join("jobs.toml"), &format!("{walks}env.GO = '{}'\n", go.display()));
    let mut planner = Member::planner(&folder, "planner", &database);
    planner.begins_with("1 job");
    // The next attempt is at the one that has started fewer.
    let members = ["one", "other"].map(|name| Member::worker(&folder, name, &database));
    members.iter().for_each(|member| member.joins(&database));
    planner.says(&["run", "walks"], "walks@");
    until(&database, "SELECT attempt FROM mainspring.open_run WHERE state = 'running' AND attempt = 4", "4");
    let sorted = "SELECT count(DISTINCT worker) FROM mainspring.past_attempt";
    assert_eq!(database.ask(sorted), "2", "they were at both");
    let run = planner.ask(&["history", "walks"]).stdout;
    let run = run.split_whitespace().find(|word| word.starts_with("walks@")).unwrap().to_owned();
    let written = |last: &str| format!("here 1\nhere 2\nhere 3\nhere 4\n{last}");
    for member in members.iter().chain([&planner]) {
        let mut shown = std::iter::repeat_with(|| member.ask(&["logs", "walks"]).stdout).take(100);
        assert!(shown.any(|text| text == written("")), "{}", member.ask(&["logs", &run]).stdout);
    }
    let follow =
        |member: &Member| Running::any(&["logs", "-f", &run, "--data", member.data.to_str().unwrap()]);
    let following = members.each_ref().map(follow);
    fs::write(&go, "").unwrap();
    let ends = following.map(|following| following.end().1.join("\n") + "\n");
    assert_eq!(ends, [written("gone\n"), written("gone\n")]);
    for member in members.iter().chain([&planner]) {
        member.says(&["logs", "walks"], &written("gone\n"));
    }
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
    let rows = "SELECT (SELECT count(*) FROM mainspring.inbox) + (SELECT count(*) FROM mainspring.worker WHERE address LIKE '%/old')";
    assert_eq!(database.ask(rows), "0", "this one writes nothing, and takes nothing to carry out");
    database.ask("UPDATE mainspring.planner SET version = version - 93, floor = 1");
    old.begins();
    old.joins(&database);
    // One that has become too old runs nothing any more.
    database.ask("UPDATE mainspring.planner SET version = version + 93, floor = version + 92");
    old.running.wait_for(&["SIGKILL to what runs"]);
    assert_eq!(old.running.stop().0.code(), Some(0));
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_worker_that_stood_still_for_longer_than_its_lease_ends_what_runs_and_joins_as_another() {
    let Some((folder, database)) = prepared("cluster-stop") else { return };
    let mut one = Member::planner(&folder, "one", &database);
    one.begins();
    let mut worker = Member::worker(&folder, "worker", &database);
    one.says(&["run", "long"], "long@");
    let pids = worker.runs_as("stdout ready");
    worker.running.signal(Signal::SIGSTOP);
    one.running.wait_for(&["long", "abandoned: ", "the server died while it ran"]);
    assert_eq!(pids.map(is_gone), [true; 2], "the run was over before another worker could have it");
    worker.running.signal(Signal::SIGCONT);
    worker.running.wait_for(&["SIGKILL to what runs"]);
    one.says(&["run", "long"], "long@");
    worker.runs_as("stdout ready");
    let told = worker.ask(&["open", "--print"]).stderr;
    assert!(told.contains("the server has no page"), "{told}");
    assert_eq!(worker.running.stop().0.code(), Some(0));
    assert_eq!(one.running.stop().0.code(), Some(0));
    assert_eq!(started_twice(&database), "0");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_server_that_loses_the_database_ends_what_runs_before_its_lease_does() {
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
    one.running.wait_for(&["this worker's lease could not be renewed for", "what runs is asked to end"]);
    database.begin();
    one.begins();
    one.says(&["show", "later"], "pending");
    until(&database, "SELECT state FROM mainspring.history WHERE job = 'long'", "abandoned");
    assert_eq!(one.running.stop().0.code(), Some(0));
    assert_eq!(started_twice(&database), "0");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_job_runs_where_its_labels_are_or_at_each_server_that_has_them() {
    let Some((folder, database)) = prepared("cluster-labels") else { return };
    let jobs = "[jobs.render]\nat = 2100-01-01T00:00:00Z\non = ['gpu', 'region=eu']\nshell = 'echo rendered'\n\
        [groups.each]\nlimit = 9\non = 'all'\n\
        [jobs.sweep]\nat = 2100-01-01T00:00:00Z\ngroup = 'each'\nshell = 'echo swept'\n\
        [jobs.claim]\nat = 2100-01-01T00:00:00Z\ngroup = 'each'\nshell = 'mkdir FOLDER/claimed'\n\
        [jobs.scan]\nat = 2100-01-01T00:00:00Z\non = ['all', 'gpu']\nshell = 'echo scanned'\n";
    let jobs = jobs.replace("FOLDER", folder.to_str().unwrap());
    write(&folder.join("jobs.toml"), &format!("{JOBS}{jobs}"));
    let mut one = Member::start(&folder, "one", &database);
    one.begins_with("6 jobs");
    // It has joined, so that what is lacking is what the job asks for.
    one.running.wait_for(&["often", "end "]);
    one.says(&["run", "render"], "render@");
    one.says(&["show", "render"], "no server has gpu, region=eu");
    let refused = one.ask(&["run", "scan"]);
    assert!(
        refused.code != 0 && refused.stderr.contains("no server has what the job needs"),
        "{}",
        refused.stderr
    );
    let arguments = ["--no-plan", "--label=gpu", "--label=region=eu"];
    let mut worker = Member::by_way_of(&database.url(), "true", &folder, "worker", &arguments);
    worker.running.wait_for(&["render", "stdout rendered"]);
    let swept = one.ask(&["run", "sweep", "--wait"]);
    assert_eq!((swept.code, swept.stdout.matches("succeeded").count()), (0, 2), "{}", swept.stdout);
    one.running.wait_for(&["sweep", "stdout swept"]);
    worker.running.wait_for(&["sweep", "stdout swept"]);
    // One of them can make it, and the command tells of the other.
    let claimed = one.ask(&["run", "claim", "--wait"]);
    let said = ["succeeded", "failed"].map(|word| claimed.stdout.matches(word).count());
    assert_eq!((claimed.code, said), (1, [1, 1]), "{}", claimed.stdout);
    worker.says(&["run", "scan", "--wait"], "scan@");
    worker.running.wait_for(&["scan", "stdout scanned"]);
    until(
        &database,
        "SELECT string_agg(job, ' ' ORDER BY job) FROM mainspring.history WHERE job IN ('sweep', 'scan')",
        "scan sweep sweep",
    );
    // A server that has gone is still known where it ran something, with the number that `status` had.
    let servers =
        database.ask("SELECT string_agg(host || ' #' || id, ',' ORDER BY id) FROM mainspring.worker");
    let [here, there] = servers.split(',').collect::<Vec<_>>()[..] else { panic!("two servers: {servers}") };
    let status = one.ask(&["status"]).stdout;
    for number in [here, there].map(|server| server.rsplit(' ').next().unwrap()) {
        assert!(status.contains(&format!("\n  {number} process ")), "{number}: {status}");
    }
    assert_eq!(worker.running.stop().0.code(), Some(0));
    [&["list"][..], &["history", "render"]].iter().for_each(|ask| one.says(ask, there));
    let swept = one.ask(&["history", "sweep"]).stdout;
    assert!(swept.contains("SERVER") && swept.contains(here) && swept.contains(there), "{swept}");
    let rendered = one.ask(&["history", "render", "--json"]).stdout;
    let (host, number) = there.split_once(" #").unwrap();
    for field in [format!("\"host\": \"{host}\""), format!("\"server\": {number}")] {
        assert!(rendered.contains(&field), "{field}: {rendered}");
    }
    let bad = mainspring(&["serve", "--store", &database.url(), "--label", "handler=x"]);
    assert!(bad.code == 2 && bad.stderr.contains("is what a server says of itself"), "{}", bad.stderr);
    assert_eq!(one.running.stop().0.code(), Some(0));
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_new_planner_keeps_the_jobs_of_the_store_and_its_old_files_bring_none_back() {
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
    // So it does when the file changes under the planner.
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
    let mut other = Member::planner(&folder, "other", &database);
    other.running.wait_for(&["note ", "standing by: process"]);
    other.says(&["list"], "often");
    other.says(&["at", "+1h", "--name", "later", "--", "true"], "later");
    one.says(&["show", "later"], "pending");
    other.says(&["run", "long"], "long@");
    one.running.wait_for(&["long", "stdout ready"]);
    // What has several answers comes through the database as well.
    let ended = other.ask(&["run", "--wait", "often"]);
    assert!(ended.code == 0 && ended.stdout.contains("succeeded"), "{} {}", ended.stdout, ended.stderr);
    let run = other.ask(&["history", "long"]).stdout;
    let run = run.split_whitespace().find(|word| word.starts_with("long@")).unwrap().to_owned();
    let mut following = Running::any(&["logs", "-f", &run, "--data", other.data.to_str().unwrap()]);
    following.wait_for(&["ready"]);
    other.says(&["cancel", &run], "");
    assert_eq!(following.end().0.code(), Some(0), "it ends with the run");
    assert_eq!(other.ask(&["show", "nothing"]).code, 4, "there is no such job");
    other.says(&["pause", "often", "--note", "a new disk"], "");
    one.says(&["audit"], ": a new disk");
    what_the_database_has_is_asked_of_no_planner(&other, &database, &run);
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

fn what_the_database_has_is_asked_of_no_planner(member: &Member, database: &Database, run: &str) {
    let asked_count =
        || database.ask("SELECT last_value FROM pg_sequences WHERE sequencename = 'inbox_id_seq'");
    let before = asked_count();
    member.says(&["history"], run);
    member.says(&["history", "often"], "succeeded");
    member.says(&["audit"], "cancel");
    member.says(&["logs", run], "ready");
    member.says(&["export"], "[jobs.often]");
    assert_eq!(member.ask(&["history", "nothing"]).code, 4, "there is no such job");
    assert_eq!(asked_count(), before, "the planner was asked");
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

/// How many attempts are beside a run that knows nothing of them. Of one attempt there cannot be two records.
pub(crate) fn started_twice(database: &Database) -> String {
    database.ask(
        "SELECT count(*) FROM mainspring.attempt AS a LEFT JOIN mainspring.run AS r USING (job, nominal, series)
            WHERE r.job IS NULL OR r.attempt < a.number",
    )
}
