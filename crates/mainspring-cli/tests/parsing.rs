//! Long texts of clients: while one is parsed, other clients are answered.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::{Value, json};

use crate::test_server::{IDLE, TestServer};

/// So many jobs take a while.
const JOBS: usize = 9_000;

#[test]
fn others_are_answered_while_what_a_client_applies_or_defines_is_parsed() {
    let served = TestServer::start("parsing", IDLE);
    let socket = Path::new(&served.data()).join("mainspring.sock");
    let jobs = |index| format!("[jobs.j{index}]\ncron = '{} * * * *'\nrun = ['true']\n", index % 60);
    let text: String = (0..JOBS).map(jobs).collect();
    let file = json!({"name": "/a.toml", "text": text, "system": false});
    let long = [
        json!({"id": 1, "command": "apply", "files": [file], "prune": false, "preview": true}),
        json!({"id": 1, "command": "define", "text": text, "replace": false}),
    ];
    for (asked, told) in long.into_iter().zip(["applied", "error"]) {
        let mut slow = UnixStream::connect(&socket).unwrap();
        slow.write_all(format!("{asked}\n").as_bytes()).unwrap();
        let mut other = UnixStream::connect(&socket).unwrap();
        other.write_all(b"{\"id\": 2, \"command\": \"status\"}\n").unwrap();
        assert!(answer(&other)["status"].is_object());
        // The loop that parsed the text itself would have answered that first.
        slow.set_nonblocking(true).unwrap();
        let early = (&slow).read(&mut [0; 1]).map_err(|error| error.kind());
        assert_eq!(early, Err(ErrorKind::WouldBlock), "{told}");
        slow.set_nonblocking(false).unwrap();
        let answer = answer(&slow);
        assert!(answer.get(told).is_some(), "{answer}");
    }
    served.stop();
}

fn answer(stream: &UnixStream) -> Value {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}
