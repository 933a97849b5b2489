//! State survives the death of a server, and its successor continues from it.

use std::fs::{self, File};
use std::io::{Read, Write};

use jiff::Timestamp;
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::Value;

use crate::program::{Running, mainspring};
use crate::test_server::{IDLE, TestServer, folder, write};

#[test]
fn what_is_acknowledged_survives_a_kill_and_can_be_read_without_a_server() {
    let jobs = format!(
        "{IDLE}[jobs.long]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'echo ready; sleep 1000'\nretry = {{ max = 1, backoff = '0s', on = ['abandoned'] }}\n"
    );
    let mut served = TestServer::start("kill", &jobs);
    served.says(&["at", "+1h", "--name", "later", "--", "true"], 0, "later");
    served.says(&["every", "1h", "--name", "kept", "--", "true"], 0, "+ kept");
    served.says(&["run", "idle", "--wait"], 0, "succeeded");
    served.says(&["pause", "kept"], 0, "");
    served.says(&["run", "long"], 0, "long@");
    let start = served.running.wait_for(&["long", "start  pid "]);
    let pid = start.split("pid ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    served.running.wait_for(&["long", "stdout ready"]);
    served.running.signal(Signal::SIGKILL);
    let (status, _, _) = served.running.end();
    assert_eq!(status.code(), None);
    // What it left behind belongs to no process any more.
    nix::sys::signal::killpg(nix::unistd::Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    let data = served.folder.join("data").to_str().unwrap().to_owned();
    let alone = |args: &[&str]| mainspring(&[&[args[0], "--data", &data], &args[1..]].concat());
    assert!(alone(&["list"]).stdout.contains("kept"), "{}", alone(&["list"]).stderr);
    assert!(alone(&["show", "later"]).stdout.contains("pending"));
    assert!(alone(&["history", "idle"]).stdout.contains("succeeded"));
    assert!(alone(&["history", "long"]).stdout.contains("running"));
    assert_eq!(alone(&["show", "nobody"]).code, 4);
    assert_eq!(alone(&["logs", "idle"]).stdout, "ran\n");
    assert_eq!(alone(&["logs", "long", "--json"]).stdout.matches("\"text\":\"ready\"").count(), 1);
    let none = alone(&["logs", "kept"]);
    assert_eq!(none.stdout, "");
    assert!(none.stderr.contains("there is no output of kept: it wrote nothing"), "{}", none.stderr);
    assert_eq!(alone(&["logs", "nobody"]).code, 4);
    assert_eq!(alone(&["logs", "idle@2100-01-01T00:00:00Z"]).code, 4);
    let follow = alone(&["logs", "-f", "idle"]);
    assert_eq!(follow.code, 3);
    assert!(follow.stderr.contains("no server answers at"), "{}", follow.stderr);
    let mut served = TestServer::start_in(served.folder, &[]);
    served.running.wait_for(&["long", "abandoned"]);
    served.running.wait_for(&["long@", "Z/2 ", "stdout ready"]);
    served.says(&["show", "later"], 0, "pending");
    served.says(&["show", "kept"], 0, "paused");
    served.says(&["cancel", "long"], 0, "");
    served.running.wait_for(&["long@", "Z/2 ", "end "]);
    served.stop();
}

#[test]
fn what_only_looks_is_answered_while_131_jobs_are_in_quarantine() {
    const COUNT: usize = 131;
    let rest = "at_server_start = true\ncwd = '/'\non_server_death = 'kill'\nshell = 'exec sleep 1000'\n";
    let job = |index| format!("[jobs.j-{index}]\n{rest}");
    let served = TestServer::start("crowd", &(0..COUNT).map(job).collect::<String>());
    let count = |served: &TestServer, what: &str| {
        served.json(&["status", "--json"])["status"][what].as_u64().unwrap()
    };
    while count(&served, "running") < COUNT as u64 {}
    let mut served = served.crash_and_start();
    served.running.wait_for(&["in quarantine: 131, because the server died"]);
    for args in [&["status"][..], &["list"], &["show", "j-0"], &["history"], &["doctor"], &["health"]] {
        let ended = served.ask(args);
        assert!(!ended.stdout.is_empty() && ended.stderr.is_empty(), "{args:?}: {}", ended.stderr);
    }
    assert!(0 < count(&served, "quarantined"));
    served.running.signal(Signal::SIGKILL);
    served.running.end();
}

#[test]
fn what_ran_when_the_server_died_is_shown_to_be_in_quarantine() {
    let job = "[jobs.cut]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\non_server_death = 'kill'\nshell = 'echo ready; exec sleep 1000'\n";
    let mut served = TestServer::start("quarantine", job);
    served.says(&["run", "cut"], 0, "cut@");
    served.running.wait_for(&["cut", "stdout ready"]);
    served.running.signal(Signal::SIGKILL);
    assert_eq!(served.running.end().0.code(), None);
    let mut served = TestServer::start_in(served.folder, &[]);
    served.running.wait_for(&["cut", "abandoned: ", "the server died while it ran"]);
    served.running.wait_for(&["in quarantine: 1, because the server died"]);
    served.says(&["list"], 0, "in quarantine");
    served.says(&["show", "cut"], 0, "in quarantine");
    served.says(&["status"], 0, "in quarantine");
    served.says(&["doctor"], 0, "they ran when the server died");
    served.says(&["history", "cut"], 0, "the server died while it ran");
    // A person knows better, and says so.
    served.says(&["pause", "cut"], 0, "");
    served.says(&["resume", "cut"], 0, "");
    served.running.wait_for(&["quarantine is over"]);
    served.says(&["list"], 0, "active");
    served.stop();
}

#[test]
fn a_file_that_went_bad_while_no_server_ran_keeps_its_old_set() {
    let second = "[jobs.second]\nat = 2100-01-01T00:00:00Z\nshell = 'true'\n";
    let served = TestServer::start("went-bad", &format!("{IDLE}{second}"));
    let folder = served.folder.clone();
    assert_eq!(served.running.stop().0.code(), Some(0));
    let broken = second.replace("shell", "shel");
    write(
        &folder.join("jobs.toml"),
        &format!("{IDLE}{broken}[jobs.third]\nat = 2100-01-01T00:00:00Z\nshell = 'true'\n"),
    );
    let served = TestServer::start_in(folder, &[]);
    served.says(&["show", "second"], 0, "shell = \"true\"");
    // Not even what is good in the new one.
    served.says(&["show", "third"], 4, "there is no job `third`");
    served.says(&["status"], 0, "HAS PROBLEMS, 2 jobs");
    served.says(&["doctor"], 1, "hint: the old set is in force");
    served.stop();
}

#[test]
fn what_was_due_by_a_timetable_that_changed_meanwhile_is_on_record() {
    let job =
        |every: &str| format!("[jobs.tick]\nevery = '{every}'\nretention = 'keep=1000000'\nshell = 'true'\n");
    let served = TestServer::start("changed", &job("1ms"));
    let folder = served.folder.clone();
    assert_eq!(served.running.stop().0.code(), Some(0));
    write(&folder.join("jobs.toml"), &job("1000h"));
    // At least the millisecond that the start of a process takes has passed.
    let mut served = TestServer::start_in(folder, &[]);
    served.running.wait_for(&["tick", "missed: ", "its timetable was changed before it could run"]);
    served.says(&["history", "tick", "--state", "missed"], 0, "its timetable was changed");
    served.stop();
}

#[test]
fn a_process_hears_every_signal_although_its_server_was_started_to_ignore_some() {
    let folder = folder("signals");
    let jobs = "[jobs.masks]\nat_boot = true\ncwd = '/'\nrun = ['grep', '-E', '^Sig(Blk|Ign)', '/proc/self/status']\n\
                [jobs.trap]\nat_boot = true\ncwd = '/'\nshell = 'trap \"echo heard\" INT HUP; kill -INT $$; kill -HUP $$'\n";
    write(&folder.join("jobs.toml"), jobs);
    let (data, file) = (folder.join("data"), folder.join("jobs.toml"));
    let args = ["serve", "--data", data.to_str().unwrap(), file.to_str().unwrap()];
    let mut running = Running::after("trap '' INT HUP QUIT USR1 USR2 TSTP PIPE", &args);
    running.wait_for_all(&[&["masks", "end    exit status 0"], &["trap", "end    exit status 0"]]);
    let (status, lines, _) = running.stop();
    assert_eq!(status.code(), Some(0));
    for mask in ["SigBlk:", "SigIgn:"] {
        let line = lines.iter().find(|line| line.contains(mask)).unwrap();
        let bits = u64::from_str_radix(line.split('\t').nth(1).unwrap(), 16).unwrap();
        // 32 and 33 are the C library's own, which cannot be changed.
        assert_eq!(bits & !(0b11 << 31), 0, "{line}");
    }
    assert_eq!(lines.iter().filter(|line| line.ends_with("stdout heard")).count(), 2, "{lines:#?}");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn what_becomes_of_a_process_whose_server_is_killed_is_for_its_job_to_say() {
    let folder = folder("deaths");
    let pipe = |name: &str| {
        let path = folder.join(name);
        mkfifo(&path, Mode::S_IRWXU).unwrap();
        path
    };
    let (goes, stays, word) = (pipe("goes"), pipe("stays"), pipe("word"));
    let jobs = format!(
        "[jobs.goes]\nat_boot = true\ncwd = '/'\non_server_death = 'kill'\nshell = 'exec 3>{}; exec sleep 1000'\n\
         [jobs.stays]\nat_boot = true\ncwd = '/'\nshell = 'exec 3>{}; read word <{}; echo $word >&3'\n",
        goes.display(),
        stays.display(),
        word.display()
    );
    write(&folder.join("jobs.toml"), &jobs);
    let served = TestServer::start_in(folder.clone(), &[]);
    served.says(&["show", "goes"], 0, "on_server_death = \"kill\"");
    // Both are there once their ends of the pipes are.
    let (mut goes, mut stays) = (File::open(goes).unwrap(), File::open(stays).unwrap());
    served.running.signal(Signal::SIGKILL);
    served.running.end();
    let mut said = String::new();
    goes.read_to_string(&mut said).unwrap();
    fs::OpenOptions::new().write(true).open(word).unwrap().write_all(b"alive\n").unwrap();
    stays.read_to_string(&mut said).unwrap();
    assert_eq!(said, "alive\n");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn at_sends_a_webhook_and_refuses_what_could_not_be_sent() {
    let served = TestServer::start("hook", "");
    let url = "http://127.0.0.1:1/{job}";
    served.says(&["at", "+1h", "--name", "hook", "--webhook", url, "--body", "it is {nominal}"], 0, "hook");
    served.says(&["show", "hook"], 0, "POST http://127.0.0.1:1/{job}");
    served.says(&["show", "hook"], 0, "body = \"it is {nominal}\"");
    served.says(&["at", "+1h", "--webhook", "ftp://a/"], 2, "begins with http:// or https://");
    served.says(&["at", "+1h", "--webhook", "http://a/{nothing}"], 2, "nothing");
    served.says(&["at", "+1h", "--webhook", url, "--", "true"], 2, "cannot be used with");
    served.stop();
}

#[test]
fn a_repeated_key_is_answered_with_the_name_of_the_job_that_has_it() {
    let mut served = TestServer::start("keys", IDLE);
    let due = "2100-01-01T00:00:00Z";
    served.says(&["at", due, "--name", "tea", "--key", "k1", "--", "true"], 0, "tea is due");
    served.says(&["at", due, "--name", "milk", "--key", "k2", "--", "true"], 0, "milk is due");
    served.says(&["at", "+5h", "--name", "other", "--key", "k1", "--", "true"], 0, "tea is there already");
    served.says(&["at", "+5h", "--key", "k2", "--", "true"], 0, "milk is there already");
    // Other work under a known key, and a known name under another key or none, are another's.
    for (name, key, work) in [("other", "k1", "false"), ("tea", "k9", "true"), ("milk", "k1", "false")] {
        let asked = served.ask(&["at", due, "--name", name, "--key", key, "--", work]);
        assert_eq!(asked.code, 5, "{name} {key}: {} {}", asked.stdout, asked.stderr);
        assert!(asked.stderr.contains("`tea` with the key `k1` is pending, due"), "{}", asked.stderr);
    }
    let unkeyed = served.ask(&["at", due, "--name", "tea", "--", "true"]);
    assert_eq!(unkeyed.code, 5, "{}", unkeyed.stderr);
    served.says(&["at", due, "--name", "plain", "--", "true"], 0, "plain is due");
    served.says(&["at", due, "--name", "plain", "--", "true"], 0, "plain is there already, due");
    assert_eq!(served.ask(&["at", "+9h", "--name", "plain", "--", "true"]).code, 5, "at another time");
    served.says(&["cancel", "plain"], 0, "");
    // One that was withdrawn keeps its key, and the answer says so.
    served.says(&["at", due, "--name", "never", "--key", "k5", "--", "true"], 0, "never is due");
    served.says(&["cancel", "never"], 0, "");
    let again = ["at", due, "--name", "never", "--key", "k5", "--", "true"];
    served.says(&again, 0, "never is there already, cancelled (it was withdrawn");
    let unnamed = served.json(&["at", due, "--key", "k3", "--json", "--", "true"]);
    let again = served.json(&["at", "+5h", "--key", "k3", "--json", "--", "true"]);
    for part in ["name", "due"] {
        assert_eq!(unnamed["submitted"][part], again["duplicate"][part], "{part}: {again}");
    }
    // Its key is kept as long as its run is.
    served.says(&["at", "now", "--name", "soon", "--key", "k4", "--", "true"], 0, "soon is due");
    served.running.wait_for(&["soon", "end    exit status 0"]);
    served.says(&["at", "+5h", "--key", "k4", "--", "true"], 0, "soon is there already");
    served.stop();
}

/// The nominal seconds that a record stands for.
fn seconds(run: &Value) -> Vec<i64> {
    let time = |name: &str| run[name].as_str().unwrap().parse::<Timestamp>().unwrap();
    let first = time("nominal").as_second();
    let last = if run["last"].is_null() { first } else { time("last").as_second() };
    assert_eq!(run["count"].as_i64().unwrap(), last - first + 1, "{run}");
    (first..=last).collect()
}

#[test]
fn a_server_that_was_stopped_makes_good_for_what_it_missed_and_doubles_nothing() {
    let job = |name: &str, misfire: &str| {
        format!(
            "[jobs.{name}]\ncron = '* * * * * *'\ncwd = '/'\nshell = 'echo'\nmisfire = '{misfire}'\nretention = 'keep=10000'\n"
        )
    };
    let jobs = format!("{}{}", job("all", "all,cap=1000,window=1h,spread=0s"), job("none", "none"));
    let mut served = TestServer::start("stopped", &jobs);
    served.running.wait_for_all(&[&["all", "end "], &["none", "end "]]);
    served.running.signal(Signal::SIGSTOP);
    // Another server says when enough time has passed.
    let mut witness = Running::start(&[], "@every 1s echo tick\n");
    let due = |line: &str| -> Timestamp {
        line.split("due ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap()
    };
    for _ in 0..4 {
        witness.wait_for(&["echo", "start "]);
    }
    let passed = due(&witness.wait_for(&["echo", "start "]));
    served.running.signal(Signal::SIGCONT);
    // Each job has run for a later time, so what was missed is planned.
    let mut is_late = [false; 2];
    while is_late != [true; 2] {
        let line = served.running.wait_for(&["start "]);
        let index = usize::from(line.contains(" none@"));
        is_late[index] |= passed < due(&line);
    }
    served.says(&["pause", "--all"], 0, "");
    let history = |job: &str| -> Vec<Value> {
        let history = served.json(&["history", job, "-n", "10000", "--json"]);
        history["runs"]["runs"].as_array().unwrap().clone()
    };
    for name in ["all", "none"] {
        let runs = history(name);
        let mut covered: Vec<i64> = runs.iter().flat_map(seconds).collect();
        covered.sort_unstable();
        let expected: Vec<i64> = (covered[0]..=*covered.last().unwrap()).collect();
        assert_eq!(covered, expected, "{name}: each second has one record");
        let is_missed = runs.iter().any(|run| run["state"] == "missed");
        assert_eq!(is_missed, name == "none", "{name}: {runs:#?}");
        for run in &runs {
            let at = |name: &str| run[name].as_str().and_then(|text| text.parse::<Timestamp>().ok());
            assert!(at("started").is_none_or(|started| at("nominal").unwrap() <= started), "early: {run}");
        }
    }
    served.stop();
}
