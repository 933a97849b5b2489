//! `mainspring serve`, and the commands that talk to it.
//!
//! Each test has a server of its own, with a data directory of its own.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::program::{Running, mainspring, mainspring_with_input};
use crate::test_server::{IDLE, TestServer, folder, write};

#[test]
fn jobs_run_and_can_be_looked_at() {
    let mut served = TestServer::start(
        "look",
        "[jobs.tick]\nat_boot = true\nevery = '1h'\ncwd = '/'\nshell = 'echo tick; echo tock >&2'\n",
    );
    served.running.wait_for(&["tick", "end    exit status 0"]);
    served.says(&["list"], 0, "NAME  STATE   NEXT");
    served.says(&["show", "tick"], 0, "every = \"1h\"");
    served.says(&["history"], 0, "succeeded");
    served.says(&["status"], 0, "good, 1 job");
    served.says(&["logs", "tick"], 0, "tick\n");
    let runs = served.json(&["history", "tick", "-n", "1", "--state", "succeeded", "--json"]);
    let run = &runs["runs"]["runs"][0];
    assert_eq!((&run["outcome"], &run["attempt"]), (&"succeeded".into(), &1.into()), "{runs}");
    let logs = served.ask(&["logs", run["run"].as_str().unwrap(), "--json"]);
    let lines: Vec<Value> = logs.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // Two pipes have no order among each other.
    let mut texts: Vec<(&str, &str)> =
        lines.iter().map(|line| (line["stream"].as_str().unwrap(), line["text"].as_str().unwrap())).collect();
    texts.sort_unstable();
    assert_eq!(texts, [("stderr", "tock"), ("stdout", "tick")]);
    let jobs = served.json(&["list", "--json"]);
    assert_eq!(jobs["jobs"]["jobs"][0]["name"], "tick");
    served.stop();
}

#[test]
fn a_run_by_hand_tells_how_it_ended() {
    let jobs = format!(
        "{IDLE}[jobs.bad]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'exit 3'\n\
         [jobs.slow]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'sleep 60'\ntimeout = '100ms'\n\
         [jobs.gone]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nrun = ['no-such-program']\n"
    );
    let served = TestServer::start("run", &jobs);
    served.says(&["run", "idle"], 0, "idle@");
    served.says(&["run", "idle", "--wait"], 0, "succeeded");
    served.says(&["run", "bad", "--wait"], 1, "failed: exit 3");
    served.says(&["run", "slow", "--wait"], 124, "timed out");
    served.says(&["run", "gone", "--wait"], 1, "not started: cannot execute no-such-program");
    served.says(&["run", "nobody"], 4, "there is no job `nobody`");
    served.says(&["show", "nobody"], 4, "there is no job `nobody`");
    served.says(&["logs", "nobody"], 4, "there is no job `nobody`");
    served.stop();
}

#[test]
fn commands_run_once_at_their_time() {
    let mut served = TestServer::start("at", IDLE);
    served.says(&["at", "now", "--name", "tea", "--key", "k1", "--", "echo", "a  b"], 0, "tea is due");
    served.running.wait_for(&["tea", "stdout a  b"]);
    served.says(&["logs", "tea"], 0, "a  b");
    served.says(&["at", "+1h", "--name", "later", "--key", "k2", "--", "true"], 0, "later is due in 59m");
    served.says(&["at", "+1h", "--key", "k2", "--", "true"], 0, "nothing changed");
    served.says(&["show", "later"], 0, "pending");
    assert_eq!(served.json(&["status", "--json"])["status"]["pending"], 1);
    served.says(&["cancel", "later"], 0, "");
    served.says(&["cancel", "later"], 4, "there is no");
    served.says(&["at", "soon", "--", "true"], 2, "a time is written as");
    served.says(&["at", "+1h", "--policy", "retry=x", "--", "true"], 2, "is no retry");
    served.stop();
}

#[test]
fn jobs_come_and_go_by_command() {
    let mut served = TestServer::start("every", IDLE);
    served.says(&["every", "1s", "--name", "pong", "--policy", "retry=2", "--", "echo", "pong"], 0, "+ pong");
    served.running.wait_for(&["pong", "stdout pong"]);
    served.says(&["every", "1s", "--name", "pong", "--", "true"], 5, "--replace replaces it");
    served.says(&["every", "1h", "--name", "pong", "--replace", "--", "true"], 0, "~ pong");
    served.says(
        &["every", "1h", "--name", "idle", "--replace", "--", "true"],
        5,
        "there is a job `idle` already",
    );
    served.says(&["pause", "pong"], 0, "");
    served.says(&["show", "pong"], 0, "paused");
    served.says(&["resume", "pong"], 0, "");
    served.says(&["show", "pong"], 0, "active");
    served.says(&["pause", "--all"], 0, "");
    served.says(&["status"], 0, "everything");
    served.says(&["resume", "--all"], 0, "");
    served.says(&["remove", "pong"], 0, "");
    served.says(&["remove", "pong"], 4, "there is no job");
    served.says(&["remove", "idle"], 5, "remove it there");
    served.stop();
}

#[test]
fn a_cancelled_run_ends_with_its_whole_group() {
    let jobs = "[jobs.long]\nat_boot = true\ncwd = '/'\nshell = '(trap \"echo inner; exit\" TERM; echo ready; while :; do sleep 0.1; done) & wait'\n";
    let mut served = TestServer::start("cancel", jobs);
    served.running.wait_for(&["long", "stdout ready"]);
    served.says(&["cancel", "long"], 0, "");
    // On a busy machine the shell may be seen to have ended before what it left behind has written its last
    // line.
    served.running.wait_for_all(&[&["long", "stdout inner"], &["long", "end    killed by SIGTERM"]]);
    served.says(&["history", "long"], 0, "cancelled");
    served.stop();
}

#[test]
fn a_range_is_run_again_after_a_preview() {
    let served = TestServer::start(
        "backfill",
        "[jobs.day]\ncron = '0 3 * * *'\nzone = 'UTC'\ncwd = '/'\nshell = 'echo $MAINSPRING_NOMINAL'\n",
    );
    let range = ["2026-01-01T00:00:00Z", "2026-01-03T23:00:00Z"];
    served.says(
        &["backfill", "day", range[0], range[1]],
        0,
        "2026-01-03T03:00:00Z\nmainspring: 3 runs of day would be added",
    );
    assert_eq!(served.json(&["status", "--json"])["status"]["runs"], 0);
    served.says(&["backfill", "day", range[0], range[1], "--yes"], 0, "3 runs of backfill 1 are on disk");
    served.says(&["backfill", "nobody", range[0], range[1], "--yes"], 4, "there is no such job");
    served.says(
        &["backfill", "day", range[0], range[1], "--yes", "--wait"],
        0,
        "3 runs of backfill 2 are on disk",
    );
    for rewind in [&["rewind", "day"][..], &["rewind", "day", "--yes"]] {
        served.says(rewind, 5, "the job does not rest for the clock");
    }
    served.says(&["rewind", "nobody", "--yes"], 4, "there is no such job");
    let runs = served.json(&["history", "day", "--state", "succeeded", "--json"]);
    let ended = runs["runs"]["runs"].as_array().unwrap();
    assert_eq!(ended.iter().filter(|run| run["run"].as_str().unwrap().ends_with("#2")).count(), 3, "{runs}");
    served.stop();
}

#[test]
fn dead_letters_wait_until_somebody_looks() {
    let jobs = "[jobs.bad]\nat_boot = true\ncwd = '/'\nshell = 'exit 3'\ndead_letters = 'always'\n";
    let mut served = TestServer::start("dead", jobs);
    served.running.wait_for(&["is a dead letter"]);
    let dead = served.json(&["dead", "list", "--json"]);
    let run = dead["runs"]["runs"][0]["run"].as_str().unwrap().to_owned();
    served.says(&["dead", "retry", &run], 0, "");
    served.running.wait_for(&["is a dead letter"]);
    served.says(&["dead", "drop", &run], 0, "");
    served.says(&["dead", "drop", &run], 4, "there is no dead letter");
    served.says(&["dead", "list"], 0, "there are no runs");
    for _ in 0..2 {
        served.says(&["run", "bad"], 0, "bad@");
        served.running.wait_for(&["is a dead letter"]);
    }
    served.says(&["dead", "retry", "--all"], 0, "2 dead letters retried");
    for _ in 0..2 {
        served.running.wait_for(&["is a dead letter"]);
    }
    assert_eq!(served.json(&["dead", "drop", "--all", "--json"])["dropped"], 2);
    served.says(&["dead", "drop", "--all"], 0, "0 dead letters dropped");
    served.says(&["dead", "drop"], 2, "required");
    served.stop();
}

#[test]
fn files_are_applied_pruned_and_exported() {
    let served = TestServer::start("apply", IDLE);
    let other = served.folder.join("other.toml");
    let name = other.to_str().unwrap().to_owned();
    let job = |name: &str, period: &str| {
        format!("[jobs.{name}]\nevery = '{period}'\nshell = 'true'\ngroup = 'g'\n")
    };
    let group = "[groups.g]\nlimit = 2\n";
    write(&other, &format!("{group}{}{}", job("a", "1h"), job("b", "1h")));
    served.says(&["apply", "--diff", &name], 0, "+ a  (added)");
    served.says(&["show", "a"], 4, "");
    served.says(&["apply", &name], 0, "+ b  (added)");
    write(&other, &format!("{group}{}", job("a", "2h")));
    served.says(&["apply", "--diff", "--prune", &name], 0, "~ a  (changed)\n- b  (removed)");
    served.says(&["apply", &name], 0, "~ a");
    served.says(&["show", "b"], 0, "every = \"1h\"");
    let more = served.folder.join("more.toml").to_str().unwrap().to_owned();
    write(&served.folder.join("more.toml"), &IDLE.replace("idle", "more"));
    served.says(&["apply", "--prune", &more, &name], 0, "+ more  (added)\n- b");
    served.says(&["apply", "--prune", &name, &more], 0, "2 jobs unchanged");
    write(&other, "[jobs.a]\nevry = '1h'\nshell = 'true'\n");
    served.says(&["apply", &name], 6, "did you mean `every`?");
    write(&other, IDLE);
    let both = format!("{name}:1:1: the name `idle` is that of {}", served.file().display());
    served.says(&["apply", &name], 5, &both);
    served.says(&["apply", "--diff", &name], 5, &both);
    let exported = served.ask(&["export"]);
    let checked = mainspring_with_input(&["check", "-"], exported.stdout.as_bytes());
    assert_eq!(
        (checked.code, checked.stdout.as_str()),
        (0, "standard input: 3 jobs, no problems\n"),
        "{}",
        exported.stdout
    );
    served.says(&["run", "a", "--wait"], 0, "");
    let history = served.ask(&["export", "--history"]);
    assert_eq!(serde_json::from_str::<Value>(history.stdout.lines().next().unwrap()).unwrap()["job"], "a");
    served.stop();
}

#[test]
fn a_changed_file_is_read_again_and_a_bad_one_changes_nothing() {
    let mut served = TestServer::start("reload", IDLE);
    let second = "[jobs.second]\nat = 2100-01-01T00:00:00Z\nshell = 'true'\n";
    write(&served.file(), &format!("{IDLE}{second}"));
    served.running.wait_for(&["was read again: 1 added, 0 changed, 0 removed"]);
    write(&served.file(), &format!("{IDLE}{second}evry = 1\n"));
    served.running.wait_for(&["has problems, and what was read before stays in force"]);
    served.says(&["status"], 0, "HAS PROBLEMS");
    served.says(&["status"], 0, "did you mean `every`?");
    served.says(&["show", "second"], 0, "active");
    write(&served.file(), IDLE);
    served.running.wait_for(&["was read again: 0 added, 0 changed, 1 removed"]);
    served.running.signal(Signal::SIGHUP);
    served.running.wait_for(&["was read again: 0 added, 0 changed, 0 removed"]);
    served.says(&["status"], 0, "good, 1 job");
    served.stop();
}

#[test]
fn one_server_at_a_time_has_the_data_directory() {
    let served = TestServer::start("lock", IDLE);
    let data = served.data();
    let second = mainspring(&["serve", "--data", &data]);
    assert_eq!(second.code, 5, "{}", second.stderr);
    assert!(second.stderr.contains(&served.running.pid().to_string()), "{}", second.stderr);
    let mut standby = Running::any(&["serve", "--data", &data, "--standby"]);
    let owner = format!("standing by: another program (process {})", served.running.pid());
    standby.wait_for(&["mainspring ", "note ", &owner]);
    served.says(&["list"], 0, "idle");
    let (status, _, _) = served.running.stop();
    assert_eq!(status.code(), Some(0));
    standby.wait_for(&[", data in "]);
    let (status, _, _) = standby.stop();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_standby_whose_address_is_taken_has_the_jobs_all_the_same() {
    let served = TestServer::start("standby-address", IDLE);
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = format!("--listen={}", other.local_addr().unwrap());
    let data = served.data();
    let mut standby = Running::any(&["serve", "--data", &data, "--standby", &listen]);
    standby.wait_for(&["standing by: another program"]);
    served.running.stop();
    standby.wait_for(&["nothing is served over HTTP: ", "in use"]);
    standby.wait_for(&[", data in "]);
    let (status, _, _) = standby.stop();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_standby_that_is_asked_to_stop_ends_as_a_server_does() {
    let served = TestServer::start("standby-stop", IDLE);
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let mut standby = Running::any(&["serve", "--data", &served.data(), "--standby"]);
        standby.wait_for(&["standing by: another program"]);
        standby.signal(signal);
        let (status, lines, errors) = standby.end();
        assert_eq!((status.code(), errors.as_str()), (Some(0), ""), "{signal}: {lines:#?}");
        assert!(lines.last().unwrap().ends_with("stopped"), "{lines:#?}");
    }
    served.says(&["list"], 0, "idle");
    served.stop();
}

#[test]
fn without_a_server_the_commands_say_so() {
    let data = folder("none").to_str().unwrap().to_owned();
    assert_eq!(mainspring(&["run", "--data", &data, "x"]).code, 3);
    for command in ["list", "status"] {
        let ended = mainspring(&[command, "--data", &data]);
        assert_eq!(ended.code, 3, "{}", ended.stderr);
        assert!(ended.stderr.contains("no server answers at"), "{}", ended.stderr);
    }
    assert_eq!(mainspring(&["logs", "-f", "x", "--data", &data]).code, 3);
    let missing = mainspring(&["serve", "--data", &data, "no/such/file.toml"]);
    assert_eq!(missing.code, 1, "{}", missing.stderr);
}

/// A job that hears SIGTERM, says so, and continues.
const DEAF: &str = "[jobs.long]\nat_boot = true\ncwd = '/'\nshell = 'trap \"echo asked\" TERM; echo ready; while :; do sleep 0.1; done'\ntimeout = { after = '9h', grace = '1h' }\n";

#[test]
fn the_end_waits_for_what_runs_and_a_second_signal_does_not() {
    let folder = folder("stop");
    write(&folder.join("jobs.toml"), DEAF);
    let mut served = TestServer::start_in(folder, &["--drain", "1h"]);
    served.running.wait_for(&["long", "stdout ready"]);
    served.running.signal(Signal::SIGTERM);
    served.running.wait_for(&["stopping: 1 run has 1 h 0 min to end by itself"]);
    served.says(&["run", "long"], 75, "the server is stopping");
    served.says(&["status"], 0, "stopping");
    served.running.signal(Signal::SIGTERM);
    let (status, lines, _) = served.running.end();
    assert_eq!(status.code(), Some(0));
    assert!(lines.iter().any(|line| line.contains("a second signal came: SIGKILL")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("end    killed by SIGKILL")), "{lines:#?}");
    assert!(lines.iter().all(|line| !line.contains("stdout asked")), "{lines:#?}");
}

#[test]
fn who_is_stopped_is_asked_at_once_and_what_is_killed_is_on_record() {
    let folder = folder("asked");
    write(
        &folder.join("jobs.toml"),
        &format!("{DEAF}retry = {{ max = 1, backoff = '0s', on = ['abandoned'] }}\n"),
    );
    let mut served = TestServer::start_in(folder.clone(), &[]);
    served.running.wait_for(&["long", "stdout ready"]);
    served.running.signal(Signal::SIGTERM);
    // The grace period is an hour.
    served.running.wait_for(&["stopping: 1 run is asked to end, and has at most 1 h 0 min"]);
    served.running.wait_for(&["long", "stdout asked"]);
    served.running.signal(Signal::SIGTERM);
    let data = served.data();
    assert_eq!(served.running.end().0.code(), Some(0));
    let history = |served: &str| {
        let ended = mainspring(&["history", "--data", served, "--json", "long"]);
        serde_json::from_str::<Value>(&ended.stdout).unwrap()["runs"]["runs"].as_array().unwrap().clone()
    };
    let run = history(&data)[0].clone();
    // Its retry is on record as well.
    assert_eq!((&run["state"], &run["outcome"]), (&"scheduled".into(), &"killed".into()), "{run}");
    assert!(run["ended"].is_string(), "{run}");
    write(&folder.join("jobs.toml"), &DEAF.replace("at_boot = true", "at = 2100-01-01T00:00:00Z"));
    let mut served = TestServer::start_in(folder, &[]);
    served.running.wait_for(&["long@", "Z/2 ", "stdout ready"]);
    served.running.signal(Signal::SIGTERM);
    served.running.wait_for(&["stdout asked"]);
    assert_eq!(served.running.stop().0.code(), Some(0));
    let run = history(&data)[0].clone();
    let reason = "the server was stopped while it ran";
    assert_eq!((&run["state"], &run["reason"]), (&"abandoned".into(), &reason.into()), "{run}");
}

#[test]
fn the_socket_is_for_its_owner_and_bad_requests_end_their_connection() {
    let served = TestServer::start("socket", IDLE);
    let data = PathBuf::from(served.data());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&data.join("mainspring.sock")), mode(&data)), (0o600, 0o700));
    let mut stream = UnixStream::connect(data.join("mainspring.sock")).unwrap();
    stream.write_all(b"{\"id\": 5, \"command\": \"status\"}\n{\"command\": \"dance\"}\n").unwrap();
    let answers: Vec<Value> =
        BufReader::new(stream).lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert_eq!((&answers[0]["id"], answers.len()), (&5.into(), 2));
    assert_eq!(answers[1]["error"]["kind"], "usage");
    let message = answers[1]["error"]["message"].as_str().unwrap();
    let (said, version) = ("does not know `dance`", env!("CARGO_PKG_VERSION"));
    assert!(message.contains(said) && message.contains(&format!("server, version {version}")), "{message}");
    // A request without an end, beyond the limit.
    let mut stream = UnixStream::connect(data.join("mainspring.sock")).unwrap();
    let piece = vec![b'x'; 1 << 20];
    let sent = (0..20).all(|_| stream.write_all(&piece).is_ok());
    let mut answer = String::new();
    let read = BufReader::new(stream).read_line(&mut answer);
    assert!(!sent || read.is_err() || answer.contains("a request has at most"), "{answer}");
    served.says(&["list"], 0, "idle");
    served.stop();
}

#[test]
fn many_requests_of_one_connection_share_commits_and_keep_their_order() {
    let served = TestServer::start("pipeline", IDLE);
    let mut stream = UnixStream::connect(Path::new(&served.data()).join("mainspring.sock")).unwrap();
    let count = 3_000;
    let requests: String = (0..count)
        .map(|id| format!("{{\"id\":{id},\"command\":\"submit\",\"due\":\"2100-01-01T00:00:00Z\",\"process\":{{\"run\":[\"true\"]}}}}\n"))
        .collect();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let writer =
        std::thread::Builder::new().spawn(move || stream.write_all(requests.as_bytes()).unwrap()).unwrap();
    for id in 0..count {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&answer["id"], answer["submitted"].is_object()), (&id.into(), true), "{answer}");
    }
    writer.join().unwrap();
    assert_eq!(served.json(&["status", "--json"])["status"]["pending"], count);
    served.stop();
}

#[test]
fn output_is_followed_from_run_to_run() {
    let mut served = TestServer::start(
        "follow",
        "[jobs.tick]\nevery = '1s'\ncwd = '/'\nshell = 'echo at $MAINSPRING_NOMINAL'\n",
    );
    served.running.wait_for(&["tick", "stdout at"]);
    let data = served.data();
    let mut follower = Running::any(&["logs", "-f", "--data", &data, "tick"]);
    let first = follower.wait_for(&["at 2"]);
    let second = follower.wait_for(&["at 2"]);
    let third = follower.wait_for(&["at 2"]);
    assert!(first < second && second < third, "{first} {second} {third}");
    drop(follower);
    served.stop();
}

#[test]
fn secrets_are_in_no_file_and_no_answer() {
    let folder = folder("secret");
    let secret = folder.join("token");
    write(&secret, "hunter22-hunter22\n");
    let jobs = format!(
        "[jobs.leak]\nat_boot = true\ncwd = '/'\nshell = 'echo ${{#TOKEN}} $TOKEN'\nsecrets = {{ TOKEN = '{}' }}\n",
        secret.display()
    );
    write(&folder.join("jobs.toml"), &jobs);
    let mut served = TestServer::start_in(folder.clone(), &[]);
    served.running.wait_for(&["leak", "stdout 17 ***"]);
    served.running.wait_for(&["leak", "end "]);
    let answers: String = [["show", "leak"], ["logs", "leak"], ["history", "leak"]]
        .iter()
        .map(|args| served.ask(args).stdout)
        .collect();
    assert!(answers.contains("17 ***") && !answers.contains("hunter22"), "{answers}");
    let (_, lines, _) = served.running.stop();
    assert!(!lines.join("\n").contains("hunter22"));
    let mut folders = vec![folder.join("data")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else if entry.path().is_file() {
                let bytes = fs::read(entry.path()).unwrap();
                assert!(!bytes.windows(8).any(|window| window == b"hunter22"), "{:?}", entry.path());
            }
        }
    }
}

#[test]
fn requests_beyond_the_rate_are_refused_and_counted() {
    let folder = folder("rate");
    write(&folder.join("jobs.toml"), IDLE);
    let served = TestServer::start_in(folder, &["--max-connection-changes", "1", "--max-changes", "1000"]);
    let mut stream = UnixStream::connect(Path::new(&served.data()).join("mainspring.sock")).unwrap();
    // They arrive together and are looked at together, so that no time passes between them.
    let request = |id| format!("{{\"id\":{id},\"command\":\"pause\",\"job\":\"idle\"}}\n");
    stream.write_all((1..=3).map(request).collect::<String>().as_bytes()).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut answers = std::collections::BTreeMap::new();
    for _ in 1..=3 {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        answers.insert(answer["id"].as_u64().unwrap(), answer["error"].clone());
    }
    assert_eq!(answers[&1], Value::Null);
    for id in [2, 3] {
        assert_eq!(answers[&id]["kind"], "temporary");
        let message = "too fast: the limit is 1 changes a second over one connection";
        assert!(answers[&id]["message"].as_str().unwrap().starts_with(message), "{answers:?}");
    }
    served.says(&["status"], 0, "1000 a second at most, 1 over a connection; 2 refused");
    // Who only looks is not counted.
    stream.write_all("{\"command\":\"status\"}\n".repeat(100).as_bytes()).unwrap();
    let looked = reader.lines().take(100).filter(|line| line.as_ref().unwrap().contains("\"status\""));
    assert_eq!(looked.count(), 100);
    served.says(&["doctor"], 0, "2 requests were refused");
    served.stop();
}
