//! A server that may open few files runs what it can, loses nothing without a word, and does not turn for
//! nothing.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::program::Running;
use crate::trial_fixture::TrialFixture;

fn jobs(count: usize, when: &str, shell: &str) -> String {
    let job = |number| format!("[jobs.j{number}]\n{when}\ncwd = '/'\nshell = '{shell}'\n");
    (0..count).map(job).collect()
}

#[test]
fn every_run_is_run_and_its_output_kept_however_few_files_may_be_open() {
    let fixture = TrialFixture::of_ours("few-files");
    let mut server = fixture.serve_after("ulimit -n 64", &jobs(24, "at_boot = true", "echo done"));
    server.wait_for(&["the limit of open files is 64, so at most 1 runs go on at a time"]);
    for _ in 0..24 {
        let line = server.wait_for(&["end    "]);
        assert!(line.contains("exit status 0"), "{line}");
    }
    for number in 0..24 {
        assert_eq!(fixture.ask(&["logs", &format!("j{number}")]).stdout, "done\n", "{number}");
    }
    assert!(fixture.ask(&["doctor"]).stdout.contains("at most 1 run at a time"));
    let (_, lines, _) = server.stop();
    assert!(!lines.iter().any(|line| line.contains("refuse")), "{lines:#?}");
}

#[test]
fn the_limit_is_raised_for_the_server_and_not_for_its_jobs() {
    let fixture = TrialFixture::of_ours("raised");
    let job = jobs(1, "at_boot = true", "ulimit -Sn; ulimit -Hn");
    let server = fixture.serve_after("ulimit -Sn 100; ulimit -Hn 4000", &job);
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    assert_eq!(line.split_whitespace().nth(3), Some("1728"), "{line}");
    fixture.ask(&["run", "j0", "--wait"]);
    assert_eq!(fixture.ask(&["logs", "j0"]).stdout, "100\n4000\n");
    server.stop();
}

/// Follows output of a job that has none, and makes sure that the server has understood.
fn follow(fixture: &TrialFixture) -> UnixStream {
    let mut stream = fixture.connect();
    let request =
        "{\"id\":1,\"command\":\"logs\",\"of\":\"j0\",\"follow\":true}\n{\"id\":2,\"command\":\"status\"}\n";
    stream.write_all(request.as_bytes()).unwrap();
    BufReader::new(&stream).read_line(&mut String::new()).unwrap();
    stream
}

/// How many descriptors below a limit are open; those above were handed down by the program that runs the
/// tests.
fn open_count(server: &Running, limit: usize) -> usize {
    let names = crate::trial_fixture::names(format!("/proc/{}/fd", server.pid()).as_ref());
    names.iter().filter(|name| name.parse::<usize>().unwrap() < limit).count()
}

#[test]
fn a_run_waits_until_there_are_files_for_it() {
    let fixture = TrialFixture::of_ours("no-files");
    let job = jobs(1, "at = 2100-01-01T00:00:00Z", "echo done");
    let mut server = fixture.serve_after("ulimit -n 64", &job);
    let mut control = fixture.connect();
    let mut followers = Vec::new();
    while open_count(&server, 64) < 60 {
        followers.push(follow(&fixture));
    }
    control.write_all(b"{\"id\":1,\"command\":\"run\",\"job\":\"j0\",\"wait\":true}\n").unwrap();
    server.wait_for(&["j0", "waits until it can be started", "Too many open files"]);
    drop(followers);
    server.wait_for(&["j0", "start  pid"]);
    let answers: Vec<String> = BufReader::new(&control).lines().take(2).map(Result::unwrap).collect();
    assert!(answers[1].contains("succeeded"), "{answers:?}");
    server.stop();
}

#[test]
fn a_connection_that_cannot_be_taken_keeps_nothing_busy() {
    let fixture = TrialFixture::of_ours("no-accept");
    let job = jobs(1, "at = 2100-01-01T00:00:00Z", "echo done");
    let server = fixture.serve_after("ulimit -n 40", &job);
    let mut followers = Vec::new();
    while open_count(&server, 40) < 40 {
        followers.push(follow(&fixture));
    }
    let ticks = || -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", server.pid())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        [11, 12].iter().map(|&index| fields[index].parse::<u64>().unwrap()).sum()
    };
    let mut waiting = fixture.connect();
    waiting.write_all(b"{\"id\":1,\"command\":\"status\"}\n").unwrap();
    let before = ticks();
    // No thread answers meanwhile: all others are in use.
    waiting.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    assert!(waiting.read(&mut [0]).is_err());
    // A hundredth of a second each: a loop that turns for nothing takes two hundred of them.
    assert!(ticks() - before < 100, "{}", ticks() - before);
    drop(followers.pop());
    waiting.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut answer = String::new();
    BufReader::new(&waiting).read_line(&mut answer).unwrap();
    assert!(answer.contains("status"), "{answer}");
    server.stop();
}

#[test]
fn a_limit_of_the_size_of_files_is_a_full_disk_to_the_server_and_a_signal_to_its_jobs() {
    let fixture = TrialFixture::of_ours("file-size");
    let job = jobs(1, "at = 2100-01-01T00:00:00Z", "echo begun; exec head -c 2000000 /dev/zero > too-long");
    let job = job.replace("cwd = '/'", &format!("cwd = '{}'", fixture.folder.display()));
    // In blocks of 512 bytes, of which the log of the store has several times as many.
    let mut server = fixture.serve_after("ulimit -f 1000", &job);
    let mut control = BufReader::new(fixture.connect());
    let submit = |control: &mut BufReader<UnixStream>, text: &str| {
        let process = format!(r#"{{"run":["cat"],"stdin":"{text}","cwd":"/"}}"#);
        let request =
            format!(r#"{{"id":1,"command":"submit","due":"2100-01-01T00:00:00Z","process":{process}}}"#);
        control.get_mut().write_all(format!("{request}\n").as_bytes()).unwrap();
    };
    for number in 0..200 {
        submit(&mut control, &number.to_string());
        let mut answer = String::new();
        control.read_line(&mut answer).unwrap();
        assert!(answer.contains("submitted"), "{answer}");
    }
    fixture.ask(&["run", "j0", "--wait"]);
    server.wait_for(&["j0", "end ", "SIGXFSZ"]);
    // Together longer than the store and its log may be.
    (0..24).for_each(|number| submit(&mut control, &"x".repeat(60_000 + number)));
    server.wait_for(&["the disk is full: nothing can be recorded"]);
    // Nothing is given up that makes no room.
    assert!(fixture.ask(&["logs", "j0"]).stdout.starts_with("begun\n"));
    let (status, lines, _) = server.stop();
    assert_eq!(status.code(), Some(0), "{lines:#?}");
}
