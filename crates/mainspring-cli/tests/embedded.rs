//! The folder of a program with jobs of its own, looked at by the commands while the program runs and when it
//! does not.

use std::io::{BufReader, Write};
use std::sync::mpsc::channel;
use std::time::Duration;

use mainspring_embed::{Cron, Every, Jobs, Options, Run};

use crate::database::Database;
use crate::program::{Running, mainspring, pause};
use crate::scratch;
use crate::site::read_answer;

/// What only a hang reaches.
const LONG: Duration = Duration::from_secs(60);

fn asked(data: &str, words: &[&str]) -> String {
    let ended = mainspring(&[words, &["--data", data]].concat());
    assert_eq!(ended.code, 0, "{words:?}: {}", ended.stderr);
    ended.stdout
}

#[test]
fn the_commands_know_the_jobs_of_a_program_also_when_it_does_not_run() {
    let folder = scratch::path("embedded");
    let data = folder.to_str().unwrap();
    let (sender, receiver) = channel();
    let nightly = Cron::parse("0 3 * * mon-fri").unwrap().zone("Europe/Berlin").unwrap();
    let jobs = Jobs::open(&folder)
        .unwrap()
        .job("invoices", nightly, move |run: &Run| {
            run.say("17 invoices");
            sender.send(run.key().to_string())
        })
        .handler(Options::new("charge").retry(1).backoff(Duration::from_millis(1)), |_: &Run, card: u32| {
            Err::<(), _>(format!("card {card} is declined"))
        })
        .start()
        .unwrap();
    // With the program: it answers at its socket.
    let status = asked(data, &["status"]);
    assert!(status.contains(&std::process::id().to_string()), "{status}");
    let ran = asked(data, &["run", "invoices", "--wait"]);
    let key = receiver.recv_timeout(LONG).unwrap();
    assert!(ran.contains(&key), "{ran} {key}");
    assert!(asked(data, &["logs", "invoices"]).contains("17 invoices"));
    let charge = jobs.once("charge").payload(&7).name("charge-7").submit().unwrap();
    let record = || jobs.runs_of(charge.job(), 1).unwrap().pop();
    let (_keep, never) = channel::<()>();
    while record().is_none_or(|record| record.state.is_open()) {
        let _ = never.recv_timeout(Duration::from_millis(2));
    }
    let refused = mainspring(&["every", "1h", "--data", data, "--name", "x", "--", "true"]);
    assert!(refused.stderr.contains("functions of a program"), "{}", refused.stderr);
    // And in both cases:
    let look = || {
        let list = asked(data, &["list"]);
        assert!(list.contains("invoices") && list.contains("handler invoices"), "{list}");
        let show = asked(data, &["show", "invoices"]);
        assert!(show.contains("handler = { name = \"invoices\" }") && show.contains("the program"), "{show}");
        assert!(asked(data, &["history", "invoices"]).contains("succeeded"));
        let dead = asked(data, &["dead", "list"]);
        assert!(dead.contains("charge-7") && dead.contains("card 7 is declined"), "{dead}");
    };
    look();
    jobs.shutdown(LONG).unwrap();
    drop(jobs);
    look();
}

#[test]
fn a_program_that_does_not_plan_has_its_socket_and_its_page() {
    let Some(database) = Database::start() else { return };
    let folder = scratch::path("embedded-pool");
    let open = |name: &str| {
        let builder = Jobs::connect(&database.url()).unwrap().folder(folder.join(name)).page("127.0.0.1:0");
        builder.job("tick", Every::hours(24 * 365), |_: &Run| Ok::<(), String>(())).start().unwrap()
    };
    let (first, second) = (open("one"), open("two"));
    let data = folder.join("two");
    let data = data.to_str().unwrap();
    let looks = || {
        assert!(asked(data, &["list"]).contains("tick"));
        assert!(asked(data, &["run", "tick", "--wait"]).contains("succeeded"));
        let opened = asked(data, &["open", "--print"]);
        let (address, code) = opened.trim().split_once("#code=").unwrap();
        let host = address.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let sign_in = |code: &str| {
            let body = format!("{{\"code\": \"{code}\"}}");
            let mut stream = std::net::TcpStream::connect(&host).unwrap();
            let head =
                format!("Host: {host}\r\nContent-Type: application/json\r\nSec-Fetch-Site: same-origin");
            write!(
                stream,
                "POST /api/v1/session HTTP/1.1\r\n{head}\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
            .unwrap();
            read_answer(&mut BufReader::new(stream)).status
        };
        assert_eq!((sign_in(&"0".repeat(64)), sign_in(code) / 100, sign_in(code)), (401, 2, 401));
        host
    };
    let host = looks();
    first.shutdown(LONG).unwrap();
    // It plans now, and people find it where it was.
    let planner = || mainspring(&["status", "--data", data]).stdout;
    while !planner().contains("embedded-pool/two") {
        pause();
    }
    assert_eq!(looks(), host);
    second.shutdown(LONG).unwrap();
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn one_program_at_a_time_has_a_folder_and_a_server_keeps_it_while_it_is_away() {
    let folder = scratch::path("kept");
    let data = folder.to_str().unwrap();
    let (sender, receiver) = channel();
    let open = || {
        let sender = sender.clone();
        let tick = move |run: &Run| sender.send(run.key().to_string());
        Jobs::open(&folder)
            .unwrap()
            .job("tick", Every::hours(24 * 365), tick)
            .handler("remind", |_: &Run, _: String| Ok::<(), String>(()))
            .start()
            .unwrap()
    };
    let refused = |words: &[&str], code: i32, part: &str| {
        let ended = mainspring(&[words, &["--data", data]].concat());
        assert_eq!(ended.code, code, "{words:?}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains(part), "{words:?}: {}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{words:?}: {}", ended.stderr);
    };
    let jobs = open();
    jobs.once("remind").payload("pay").name("rent").after(LONG * 60).submit().unwrap();
    let owner = format!("another program (process {}) uses the data directory", std::process::id());
    assert!(Jobs::open(&folder).unwrap_err().to_string().starts_with(&owner));
    refused(&["serve"], 5, &owner);
    refused(&["open"], 5, "--listen");
    for words in [&["doctor"][..], &["health"]] {
        asked(data, words);
    }
    asked(data, &["pause", "tick", "--note", "rest"]);
    let look = || {
        assert!(asked(data, &["list"]).contains("paused"));
        assert!(asked(data, &["list", "--pending"]).contains("rent"));
        assert!(asked(data, &["show", "rent"]).contains("handler"));
        let audit = asked(data, &["audit"]);
        assert!(audit.contains("pause") && audit.contains("tick") && audit.contains("rest"), "{audit}");
    };
    look();
    jobs.shutdown(LONG).unwrap();
    drop(jobs);
    // No server has it: what looks reads the store, and what acts says so.
    look();
    asked(data, &["doctor"]);
    for words in [&["run", "tick"][..], &["resume", "tick"], &["dead", "retry", "--all"], &["open"]] {
        refused(words, 3, "no server answers at");
    }
    kept_by_a_server(data, &look);
    assert!(receiver.try_recv().is_err(), "the server has no handlers");
    let jobs = open();
    let key = receiver.recv_timeout(LONG).unwrap();
    assert!(key.starts_with("tick@"), "{key}");
    jobs.shutdown(LONG).unwrap();
    let _ = std::fs::remove_dir_all(&folder);
}

/// What a server makes of the folder: it shows everything, and runs wait for the program.
fn kept_by_a_server(data: &str, look: &dyn Fn()) {
    let mut server = Running::any(&["serve", "--data", data, "--listen=127.0.0.1:0"]);
    server.wait_for(&[", data in "]);
    look();
    asked(data, &["resume", "tick"]);
    asked(data, &["run", "tick"]);
    let status = asked(data, &["status"]);
    assert!(status.contains("tick") && status.contains("handler"), "what waits, and for what: {status}");
    assert!(asked(data, &["open", "--print"]).starts_with("http://127.0.0.1:"));
    let (status, lines, _) = server.stop();
    assert_eq!(status.code(), Some(0), "{lines:#?}");
}
