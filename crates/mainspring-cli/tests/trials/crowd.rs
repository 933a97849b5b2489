//! No number of clients locks others out, whatever they wait for.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use serde_json::Value;

use crate::trial_fixture::TrialFixture;

const LONG: &str =
    "[jobs.long]\nat = 2100-01-01T00:00:00Z\noverlap = 'queue-all'\ncwd = '/'\nshell = 'exec sleep 1000'\n";

/// More connections than a server takes.
const CROWD: usize = 66;

/// Asks for a run and its end, and returns the first answer.
fn wait_for_run(stream: &mut UnixStream) -> Value {
    stream.write_all(b"{\"id\":1,\"command\":\"run\",\"job\":\"long\",\"wait\":true}\n").unwrap();
    answer(stream)
}

fn answer(stream: &UnixStream) -> Value {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

#[test]
fn clients_that_were_interrupted_leave_room() {
    let fixture = TrialFixture::of_ours("interrupted");
    let server = fixture.serve(LONG);
    for number in 0..CROWD {
        assert!(wait_for_run(&mut fixture.connect())["planned"].is_object(), "{number}");
    }
    assert_eq!(fixture.ask(&["list"]).code, Some(0));
    assert_eq!(fixture.ask(&["cancel", "long"]).code, Some(0));
    assert_eq!(fixture.ask(&["doctor"]).code, Some(0));
    // And leave nothing behind.
    let sockets = fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap().count();
    assert!(sockets < CROWD, "{sockets}");
    server.stop();
}

#[test]
fn a_client_that_has_said_all_hears_the_end_of_its_run() {
    let fixture = TrialFixture::of_ours("half-closed");
    let server = fixture.serve(&LONG.replace("exec sleep 1000", "echo done"));
    let mut stream = fixture.connect();
    stream.write_all(b"{\"id\":1,\"command\":\"run\",\"job\":\"long\",\"wait\":true}\n").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let answers: Vec<String> = BufReader::new(stream).lines().map(Result::unwrap).collect();
    assert_eq!(answers.len(), 2, "{answers:?}");
    assert!(answers[1].contains("succeeded"), "{answers:?}");
    server.stop();
}

#[test]
fn idle_connections_make_room() {
    let fixture = TrialFixture::of_ours("idle");
    let server = fixture.serve(LONG);
    let mut idle: Vec<UnixStream> = (0..CROWD).map(|_| fixture.connect()).collect();
    assert_eq!(fixture.ask(&["list"]).code, Some(0));
    let said = answer(&idle[0]);
    assert_eq!(said["error"]["kind"], "temporary", "{said}");
    // The youngest of them still works.
    let last = idle.last_mut().unwrap();
    last.write_all(b"{\"id\":1,\"command\":\"status\"}\n").unwrap();
    assert!(answer(last)["status"].is_object());
    server.stop();
}

#[test]
fn clients_that_wait_leave_room_for_who_comes_to_cancel() {
    let fixture = TrialFixture::of_ours("waiting");
    let server = fixture.serve(LONG);
    let mut streams: Vec<UnixStream> = (0..CROWD).map(|_| fixture.connect()).collect();
    // The first ones have made room for the last ones.
    streams.drain(..8);
    let answers: Vec<Value> = streams.iter_mut().map(wait_for_run).collect();
    let planned = answers.iter().filter(|answer| answer["planned"].is_object()).count();
    let refused: Vec<&Value> = answers.iter().filter(|answer| answer["error"].is_object()).collect();
    assert_eq!((planned, refused.len()), (48, CROWD - 8 - 48), "{answers:?}");
    assert!(refused[0]["error"]["message"].as_str().unwrap().contains("48 connections wait"), "{refused:?}");
    for _ in 0..CROWD {
        assert_eq!(fixture.ask(&["list"]).code, Some(0));
    }
    assert_eq!(fixture.ask(&["cancel", "long"]).code, Some(0));
    server.stop();
}

#[test]
fn clients_that_ask_at_once_for_output_to_follow_are_counted_before_it_is_found() {
    let fixture = TrialFixture::of_ours("following");
    let server = fixture.serve(LONG);
    assert_eq!(fixture.ask(&["run", "long"]).code, Some(0));
    let mut streams: Vec<UnixStream> = (0..CROWD).map(|_| fixture.connect()).collect();
    streams.drain(..8);
    for stream in &mut streams {
        stream.write_all(b"{\"id\":1,\"command\":\"logs\",\"of\":\"long\",\"follow\":true}\n").unwrap();
    }
    // Whose place it is to be refused depends on who is read first. One that follows is told nothing yet.
    let refused = |stream: &UnixStream| {
        stream.set_nonblocking(true).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).is_ok() && line.contains("48 connections wait")
    };
    assert_eq!(fixture.ask(&["list"]).code, Some(0));
    assert_eq!(streams.iter().filter(|stream| refused(stream)).count(), CROWD - 8 - 48);
    assert_eq!(fixture.ask(&["cancel", "long"]).code, Some(0));
    server.stop();
}
