//! A burst of requests, pipelined by several clients: each that is acknowledged is a run of its own.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;

use serde_json::{Value, json};

use crate::test_server::TestServer;

const CLIENTS: usize = 8;

/// How many runs each client asks for without waiting for an answer.
const REQUESTS: usize = 2_000;

/// Asks for all its runs at once, and again for those that are refused because the machine is slow. Returns
/// what each is called.
fn asked(socket: &Path) -> Vec<String> {
    let mut names = Vec::new();
    while names.len() < REQUESTS {
        names.extend(asked_once(socket, REQUESTS - names.len()));
    }
    names
}

/// Asks for so many runs at once. Returns what each is called that was not refused.
fn asked_once(socket: &Path, count: usize) -> Vec<String> {
    let mut stream = UnixStream::connect(socket).unwrap();
    let reader = BufReader::new(stream.try_clone().unwrap());
    let name = |line: String| {
        let answer: Value = serde_json::from_str(&line).unwrap();
        let name = answer["planned"]["run"].as_str().map(str::to_owned);
        assert!(name.is_some() || answer["error"]["kind"] == "temporary", "{line}");
        name
    };
    let request =
        |id: usize| format!("{}\n", json!({"id": id, "command": "run", "job": "hand", "wait": false}));
    let text: String = (1..=count).map(request).collect();
    thread::scope(|scope| {
        scope.spawn(|| stream.write_all(text.as_bytes()).unwrap());
        reader.lines().take(count).filter_map(|line| name(line.unwrap())).collect()
    })
}

#[test]
fn sixteen_thousand_runs_by_hand_of_eight_clients_at_once_are_as_many_runs() {
    let served = TestServer::start("burst", "[jobs.hand]\nat = 2100-01-01T00:00:00Z\nrun = ['true']\n");
    // None of them starts: it is the names that count.
    served.says(&["pause", "--all"], 0, "");
    let socket = Path::new(&served.data()).join("mainspring.sock");
    let told: Vec<String> = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(|| asked(&socket))).collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    let names: BTreeSet<&String> = told.iter().collect();
    assert_eq!((told.len(), names.len()), (CLIENTS * REQUESTS, CLIENTS * REQUESTS));
    let status = served.json(&["status", "--json"]);
    assert_eq!(status["status"]["open"], CLIENTS * REQUESTS, "{status}");
    served.stop();
}
