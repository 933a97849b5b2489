//! Receivers of notifications that answer as the documents of the services say, and keep what a person there
//! reads.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::Value;

use crate::program::BOUND;

/// The check that the watchdog knows.
pub(crate) const CHECK: &str = "/ping/5bf66975-d4c7-4bf5-bcc8-b8d8a82ea278";

/// A request, and what the service made of it.
#[derive(Debug)]
pub(crate) struct SeenRequest {
    /// `POST /path`.
    pub(crate) line: String,
    /// The headers, with small letters for their names.
    pub(crate) headers: String,
    pub(crate) body: String,
    /// What a person reads, or the status and the answer of the refusal.
    pub(crate) read: Result<String, (u16, String)>,
}

impl SeenRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// A server that is each of the services, below a path of its name.
pub(crate) struct Services {
    pub(crate) host: SocketAddr,
    seen: Receiver<SeenRequest>,
}

impl Services {
    pub(crate) fn start() -> Services {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap();
        let (sender, seen) = channel();
        let serve = move || {
            for stream in listener.incoming() {
                let Ok(request) = answered(&stream.unwrap()) else { continue };
                if sender.send(request).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("services".to_owned()).spawn(serve).unwrap();
        Services { host, seen }
    }

    /// The next request.
    pub(crate) fn next(&self) -> SeenRequest {
        self.seen.recv_timeout(BOUND).expect("a request comes")
    }
}

fn answered(mut stream: &TcpStream) -> std::io::Result<SeenRequest> {
    let mut reader = BufReader::new(stream);
    let (mut line, mut headers, mut length) = (String::new(), String::new(), 0);
    reader.read_line(&mut line)?;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        if header.trim().is_empty() {
            break;
        }
        let (name, value) = header.split_once(':').expect("a header has a colon");
        let (name, value) = (name.to_lowercase(), value.trim());
        if name == "content-length" {
            length = value.parse().expect("a length is a number");
        }
        headers.push_str(&format!("{name}: {value}\n"));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = String::from_utf8(body).expect("it is text");
    let line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    let request = SeenRequest { line, headers, body, read: Ok(String::new()) };
    let read = judged(&request);
    let (status, answer) = match &read {
        Ok(_) => (200, String::new()),
        Err((status, answer)) => (*status, answer.clone()),
    };
    let more = if status == 429 { "retry-after: 3600\r\n" } else { "" };
    let length = answer.len();
    let head = format!("HTTP/1.1 {status} x\r\n{more}content-length: {length}\r\nconnection: close\r\n\r\n");
    stream.write_all(format!("{head}{answer}").as_bytes())?;
    Ok(SeenRequest { read, ..request })
}

/// What the service at the path makes of a request.
fn judged(request: &SeenRequest) -> Result<String, (u16, String)> {
    let path = request.line.split(' ').nth(1).unwrap_or_default();
    let refused = |answer: &str| (400, answer.to_owned());
    let json = || serde_json::from_str::<Value>(&request.body).map_err(|_| refused("invalid_payload"));
    match path.split('/').nth(1).unwrap_or_default() {
        // "no_text", "invalid_payload"; a text of more than 40,000 characters is cut.
        "slack" => match json()?["text"].as_str() {
            None | Some("") => Err(refused("no_text")),
            Some(text) if 40_000 < text.chars().count() => Err(refused("msg_too_long")),
            Some(text) => Ok(text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")),
        },
        "discord" if path.ends_with("/busy") => {
            Err((429, r#"{"message": "You are being rate limited.", "retry_after": 3600.0}"#.to_owned()))
        }
        "discord" => match json()?["content"].as_str() {
            None | Some("") => Err(refused(r#"{"message": "Cannot send an empty message", "code": 50006}"#)),
            Some(text) if 2_000 < text.chars().count() => {
                Err(refused(r#"{"content": ["BASE_TYPE_MAX_LENGTH"]}"#))
            }
            Some(text) => Ok(text.to_owned()),
        },
        "teams" => teams(&json()?, request.body.len()).map_err(|why| refused(&why)),
        "google-chat" => match json()?["text"].as_str() {
            None | Some("") => Err(refused("INVALID_ARGUMENT")),
            Some(_) if 32_000 < request.body.len() => Err(refused("INVALID_ARGUMENT")),
            Some(text) => Ok(text.to_owned()),
        },
        // A longer message would be shown as the file attachment.txt.
        "ntfy" if 4_096 < request.body.len() => Ok("You received a file: attachment.txt".to_owned()),
        "ntfy" => {
            let header = |name: &str| request.header(name).unwrap_or_default().to_owned();
            Ok(format!("{}\n{}\n{}", header("title"), request.body, header("click")))
        }
        "ping" => watchdog(path, &request.body),
        _ => Ok(request.body.clone()),
    }
}

fn teams(message: &Value, length: usize) -> Result<String, String> {
    if 28 * 1_024 < length {
        return Err("Message size too large".to_owned());
    }
    let attachment = &message["attachments"][0];
    let card = &attachment["content"];
    let is_card = message["type"] == "message"
        && attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
        && card["type"] == "AdaptiveCard";
    let elements =
        card["body"].as_array().filter(|_| is_card).ok_or("Bad payload received by generic webhook")?;
    let line = |element: &Value| match element["type"].as_str() {
        Some("TextBlock") => element["text"].as_str().map(str::to_owned),
        Some("RichTextBlock") => element["inlines"][0]["text"].as_str().map(str::to_owned),
        _ => None,
    };
    let lines: Option<Vec<String>> = elements.iter().map(line).collect();
    let lines = lines.ok_or("an element has no type")?;
    Ok(format!("{}\n{}", lines.join("\n"), card["actions"][0]["url"].as_str().unwrap_or_default()))
}

/// What is seen of a ping: `start`, `success` or the exit status, and the run's id.
fn watchdog(path: &str, body: &str) -> Result<String, (u16, String)> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let event = path.strip_prefix(CHECK).ok_or((404, "not found".to_owned()))?;
    let event = match event {
        "" => "success",
        "/start" | "/fail" => &event[1..],
        code if code[1..].parse::<u8>().is_ok() => &code[1..],
        _ => return Err((404, "not found".to_owned())),
    };
    let id = query.strip_prefix("rid=").unwrap_or_default();
    let is_uuid = id.len() == 36 && id.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    match is_uuid && body.len() <= 100_000 {
        true => Ok(format!("{event} {id}\n{body}")),
        false => Err((400, "invalid uuid format".to_owned())),
    }
}
