//! A server that listens, and what a program that speaks HTTP asks it.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use mainspring_web::scope::Scope;
use serde_json::Value;

use crate::test_server::{TestServer, folder, write};

/// How long an answer, or a part of one, is waited for: only a test that hangs needs it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that listens.
pub(crate) struct Site {
    pub(crate) served: TestServer,
    pub(crate) host: String,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.head, String::from_utf8_lossy(&self.body)))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

/// The address that a reference in an answer leads to, as RFC 3986 has a client resolve it.
pub(crate) fn resolved(asked: &str, reference: &str) -> String {
    let mut segments: Vec<&str> = asked.split('/').skip(1).collect();
    segments.pop();
    for segment in reference.split('/') {
        match segment {
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    format!("/{}", segments.join("/"))
}

impl Site {
    pub(crate) fn start(name: &str, jobs: &str, args: &[&str]) -> Site {
        let folder = folder(name);
        write(&folder.join("jobs.toml"), jobs);
        Site::of(TestServer::start_in(folder, &[&["--listen=127.0.0.1:0"], args].concat()))
    }

    /// Of a server that listens already.
    pub(crate) fn of(served: TestServer) -> Site {
        let opened = served.ask(&["open", "--print"]);
        let address = opened.stdout.trim().strip_prefix("http://").unwrap().to_owned();
        let host = address.split('/').next().unwrap().to_owned();
        Site { served, host }
    }

    pub(crate) fn token(&self, name: &str, scope: Scope) -> String {
        let ended = self.served.ask(&["token", "add", name, "--scope", scope.name()]);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        ended.stdout.trim().to_owned()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Asks for what is reported as it happens. Its head comes first.
    pub(crate) fn stream(&self, path: &str, token: &str) -> BufReader<TcpStream> {
        let mut stream = self.connect();
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\r\n", self.host);
        stream.write_all(request.as_bytes()).unwrap();
        BufReader::new(stream)
    }

    /// Sends bytes as they are, and reads the one answer.
    pub(crate) fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect();
        // A server that has seen enough may close before all is written.
        let _ = stream.write_all(request);
        read_answer(&mut BufReader::new(stream))
    }

    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut text = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            text.push_str(&format!("Host: {}\r\n", self.host));
        }
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            text.push_str(&format!("Content-Length: {}\r\nContent-Type: application/json\r\n", body.len()));
        }
        self.raw(format!("{text}\r\n{body}").as_bytes())
    }

    pub(crate) fn get(&self, path: &str, token: &str) -> Answer {
        self.send("GET", path, &[("Authorization", &format!("Bearer {token}"))], "")
    }

    pub(crate) fn post(&self, path: &str, token: &str, body: &str) -> Answer {
        self.send("POST", path, &[("Authorization", &format!("Bearer {token}"))], body)
    }

    /// Signs in, and returns the cookie.
    pub(crate) fn cookie(&self, proof: &Value) -> Result<String, u16> {
        let own = [("Sec-Fetch-Site", "same-origin")];
        let answer = self.send("POST", "/api/v1/session", &own, &proof.to_string());
        let cookie = answer.header("set-cookie").map(|value| value.split(';').next().unwrap().to_owned());
        if answer.status == 204 { Ok(cookie.unwrap()) } else { Err(answer.status) }
    }

    pub(crate) fn stop(self) {
        self.served.stop();
    }
}

/// Reads the head of an answer.
pub(crate) fn read_head(reader: &mut impl BufRead) -> (u16, String) {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(0 < reader.read_line(&mut head).unwrap(), "the connection ended: {head}");
    }
    (head.split(' ').nth(1).unwrap().parse().unwrap(), head)
}

/// Reads lines until one of these parts is in them, which it returns. A stream that continues for ever with
/// other things fails.
#[expect(clippy::disallowed_methods, reason = "a stream that continues without the part is a hang too")]
pub(crate) fn read_until(reader: &mut impl BufRead, parts: &[&str]) -> String {
    let began = Instant::now();
    let mut text = String::new();
    while !parts.iter().any(|part| text.contains(part)) {
        assert!(0 < reader.read_line(&mut text).unwrap(), "it ended before {parts:?}: {text}");
        assert!(began.elapsed() < PATIENCE, "only others came, and not {parts:?}: {text}");
    }
    text
}

/// Reads a whole answer.
pub(crate) fn read_answer(reader: &mut impl BufRead) -> Answer {
    let (status, head) = read_head(reader);
    let mut answer = Answer { status, head, body: Vec::new() };
    let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
    answer.body.resize(length, 0);
    reader.read_exact(&mut answer.body).unwrap();
    answer
}
