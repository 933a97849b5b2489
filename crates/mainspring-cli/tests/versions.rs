//! A client and a server of two versions of the wire: the later one has a field, a command or an answer that
//! the other does not know.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;

use serde_json::Value;

use crate::program::{EndedProgram, mainspring};
use crate::test_server::{IDLE, TestServer, folder};

/// Sends one document over the socket, and returns the first answer.
fn asked(data: &str, document: &str) -> Value {
    let mut stream = UnixStream::connect(Path::new(data).join("mainspring.sock")).unwrap();
    stream.write_all(format!("{document}\n").as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

#[test]
fn a_later_client_is_refused_and_an_earlier_one_is_served() {
    let served = TestServer::start("versions", IDLE);
    let data = served.data();
    let later = [
        (r#"{"id":1,"command":"pause","job":"idle","for_ever":true}"#, "for_ever"),
        (r#"{"id":1,"command":"pause","job":"idle","mode":null}"#, "mode"),
        (r#"{"id":1,"command":"run","job":"idle","wait":false,"with":{"a":1}}"#, "with"),
        (
            r#"{"id":1,"command":"submit","due":"2100-01-01T00:00:00Z","process":{"run":["true"],"vm":1}}"#,
            "vm",
        ),
        (r#"{"id":1,"command":"status","deep":true}"#, "deep"),
        (r#"{"id":1,"command":"teleport","job":"idle"}"#, "teleport"),
    ];
    for (document, name) in later {
        let answer = asked(&data, document);
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(answer["error"]["kind"], "usage", "{document}: {answer}");
        assert!(message.contains(&format!("does not know `{name}`, and has done nothing")), "{message}");
    }
    let status = served.json(&["status", "--json"]);
    assert_eq!((&status["status"]["pending"], &status["status"]["runs"]), (&0.into(), &0.into()), "{status}");
    let idle = |state: &str| {
        let shown = served.json(&["show", "idle", "--json"]);
        assert_eq!(shown["job"]["state"], state, "{shown}");
    };
    idle("active");
    // Before a pause had an end and a note, this was all of it.
    assert!(asked(&data, r#"{"command":"pause","job":"idle"}"#).get("done").is_some());
    idle("paused");
    served.stop();
}

/// Runs a command at a server that has this to say and nothing else.
fn told(name: &str, line: &str, args: &[&str]) -> EndedProgram {
    let folder = folder(name);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    let listener = UnixListener::bind(folder.join("mainspring.sock")).unwrap();
    let ended = thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = String::new();
            BufReader::new(stream.try_clone().unwrap()).read_line(&mut request).unwrap();
            stream.write_all(format!("{line}\n").as_bytes()).unwrap();
        });
        mainspring(&[args, &["--data", folder.to_str().unwrap()]].concat())
    });
    let _ = fs::remove_dir_all(&folder);
    ended
}

#[test]
fn a_client_reads_what_it_knows_of_a_later_answer_and_says_what_it_cannot_read() {
    let served = TestServer::start("versions-answers", IDLE);
    let mut answer = asked(&served.data(), r#"{"id":1,"command":"status"}"#);
    served.stop();
    answer["status"]["mood"] = "good".into();
    let ended = told("versions-later", &answer.to_string(), &["status"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let ended = told("versions-unknown", r#"{"id":1,"hologram":{"of":"idle"}}"#, &["status"]);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("cannot be read by this client, version "), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
}
