//! A few kilobytes of requests cost a server neither its memory nor its time.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;

use crate::program::Running;
use crate::trial_fixture::TrialFixture;

const JOB_COUNT: usize = 1_000;

fn many_jobs() -> String {
    let job = |number| format!("[jobs.j{number}]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'true'\n");
    (0..JOB_COUNT).map(job).collect()
}

fn answer(stream: &UnixStream) -> String {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line
}

/// The most memory that a server had, in kilobytes.
fn most_memory(server: &Running) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The time that a server has computed, in hundredths of a second.
fn ticks(server: &Running) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", server.pid())).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    [11, 12].iter().map(|&index| fields[index].parse::<u64>().unwrap()).sum()
}

#[test]
fn answers_that_nobody_reads_are_not_made() {
    let fixture = TrialFixture::of_ours("unread");
    let server = fixture.serve(&many_jobs());
    let before = most_memory(&server);
    let mut greedy = fixture.connect();
    greedy.write_all("{\"command\":\"list\"}\n".repeat(1_024).as_bytes()).unwrap();
    let mut other = fixture.connect();
    for id in 0..20 {
        other.write_all(format!("{{\"id\":{id},\"command\":\"status\"}}\n").as_bytes()).unwrap();
        assert!(answer(&other).contains("status"));
    }
    // All answers together would be sixty megabytes.
    let more = most_memory(&server) - before;
    assert!(more < 32 << 10, "{more} kB");
    // A client that reads gets all of them.
    let lists =
        BufReader::new(greedy).lines().take(1_024).filter(|line| line.as_ref().unwrap().contains("after"));
    assert_eq!(lists.count(), 1_024);
    server.stop();
}

#[test]
fn a_request_that_comes_drop_by_drop_is_not_looked_through_again_and_again() {
    let fixture = TrialFixture::of_ours("drip");
    let server = fixture.serve(&many_jobs());
    let (mut drip, mut other) = (fixture.connect(), fixture.connect());
    drip.write_all(&vec![b' '; 15 << 20]).unwrap();
    let before = ticks(&server);
    for id in 0..300 {
        drip.write_all(b" ").unwrap();
        other.write_all(format!("{{\"id\":{id},\"command\":\"status\"}}\n").as_bytes()).unwrap();
        assert!(answer(&other).contains("status"));
    }
    let took = ticks(&server) - before;
    assert!(took < 150, "{took} hundredths of a second for 300 bytes");
    drip.write_all(b"{\"id\":7,\"command\":\"status\"}\n").unwrap();
    assert!(answer(&drip).contains("\"id\":7"));
    server.stop();
}

#[test]
fn a_false_server_fills_no_memory_of_a_client() {
    let fixture = TrialFixture::of_ours("endless");
    fs::create_dir(fixture.path("ms")).unwrap();
    let listener = UnixListener::bind(fixture.path("ms/mainspring.sock")).unwrap();
    let server = thread::Builder::new()
        .spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let part = vec![b'['; 1 << 20];
            // Until the client has had enough; four times as much as it may have.
            (0..4 << 10).take_while(|_| stream.write_all(&part).is_ok()).count()
        })
        .unwrap();
    let said = fixture.root("ulimit -v 1500000; timeout -s KILL 60 \"$M\" status --data ms");
    assert!(said.code == Some(3) && said.stderr.contains("longer than 256 MiB"), "{said:?}");
    assert!(server.join().unwrap() < 4 << 10);
}
