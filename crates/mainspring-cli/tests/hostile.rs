//! The server continues to answer while a hostile client is slow, connects ten thousand times or writes
//! strange text.

use std::fs;
use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use mainspring_exec::clock::Moment;
use mainspring_web::event_stream::MAX_STREAMS_OF_IDENTITY;
use mainspring_web::memory_budget::{MAX_IDENTITY_BYTES, SHORT_BYTES};
use mainspring_web::routes::ROUTES;
use mainspring_web::scope::Scope;
use nix::sys::signal::Signal;
use serde_json::json;

use crate::program::{Running, pause};
use crate::site::{Site, read_answer, read_head};
use crate::test_server::{IDLE, TestServer, folder, write};

/// How many connections are made one after the other and left open: as many as the operating system lets one
/// process have, of those that a crowd would make.
const CROWD: usize = 10_000;

/// How many of them this process keeps open at a time: below the usual limit of open files.
const KEPT: usize = 800;

/// Waits until the server has closed a connection, and returns what it said before.
fn until_closed(stream: &mut TcpStream) -> Vec<u8> {
    let mut said = Vec::new();
    // A connection that is cut is one that has ended.
    let _ = stream.read_to_end(&mut said);
    said
}

#[test]
fn a_crowd_of_ten_thousand_connections_leaves_room_for_who_asks() {
    let site = Site::start("hostile-crowd", IDLE, &[]);
    let token = site.token("mara", Scope::Look);
    let mut kept = std::collections::VecDeque::new();
    for number in 0..CROWD {
        let mut stream = site.connect();
        // Each third says something and does not go on.
        if number % 3 == 0 {
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nX-Half: ");
        }
        kept.push_back(stream);
        if KEPT < kept.len() {
            kept.pop_front();
        }
        if number % 2_000 == 1_999 {
            assert_eq!(site.get("/api/v1/status", &token).status, 200, "after {number}");
            site.served.says(&["status"], 0, "running");
        }
    }
    drop(kept);
    assert_eq!(site.get("/api/v1/status", &token).status, 200);
    site.stop();
}

#[test]
fn who_is_slow_is_left_and_holds_nobody_up() {
    let site = Site::start("hostile-slow", IDLE, &[]);
    let token = site.token("mara", Scope::Look);
    // Headers that do not end: closed after ten seconds.
    let mut heads: Vec<TcpStream> = (0..40).map(|_| site.connect()).collect();
    for head in &mut heads {
        write!(head, "GET /api/v1/status HTTP/1.1\r\nHost: {}\r\nX-Slow: 1", site.host).unwrap();
    }
    // A body that does not come: answered with 408 after thirty.
    let mut body = site.connect();
    write!(
        body,
        "POST /api/v1/check HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Content-Length: 100\r\n\r\n{{",
        site.host
    )
    .unwrap();
    assert_eq!(site.get("/api/v1/status", &token).status, 200, "others are answered meanwhile");
    for head in &mut heads {
        let said = String::from_utf8_lossy(&until_closed(head)).into_owned();
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 408"), "{said}");
    }
    let answer = read_answer(&mut BufReader::new(body));
    assert_eq!((answer.status, answer.json()["type"].as_str()), (408, Some("urn:mainspring:problem:slow")));
    site.stop();
}

/// A request of which the body does not come.
fn stalled(site: &Site, method: &str, path: &str, token: Option<&str>) -> TcpStream {
    let mut stream = site.connect();
    let token = token.map_or_else(String::new, |token| format!("Authorization: Bearer {token}\r\n"));
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {}\r\n{token}Sec-Fetch-Site: same-origin\r\n\
         Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{",
        site.host
    );
    // One that was ended for another cannot be written to.
    let _ = stream.write_all(head.as_bytes());
    stream
}

/// How many connections are held on each route: with some sixty routes, more than there is room for.
const HELD_ON_EACH_ROUTE: usize = 8;

#[test]
fn a_client_without_an_identity_keeps_no_other_out_whatever_it_does_not_send() {
    let site = Site::start("hostile-nobody", IDLE, &[]);
    let token = site.token("mara", Scope::Look);
    let mut held = Vec::new();
    for route in ROUTES {
        for _ in 0..HELD_ON_EACH_ROUTE {
            held.push(stalled(&site, route.method.as_str(), route.path, None));
        }
        let answer = site.get("/api/v1/status", &token);
        assert_eq!(answer.status, 200, "beside {} {}: {answer:?}", route.method, route.path);
    }
    assert!(site.cookie(&json!({ "token": token })).is_ok(), "others sign in");
    drop(held);
    site.stop();
}

#[test]
fn a_token_at_its_limits_costs_another_nothing() {
    let site = Site::start("hostile-greedy", IDLE, &[]);
    let (greedy, other) = (site.token("mara", Scope::Look), site.token("ada", Scope::Look));
    let stream = |token: &str| {
        let mut reader = site.stream("/api/v1/events", token);
        (read_head(&mut reader).0, reader)
    };
    let streams: Vec<_> = (0..MAX_STREAMS_OF_IDENTITY).map(|_| stream(&greedy)).collect();
    assert!(streams.iter().all(|(status, _)| *status == 200));
    assert_eq!(stream(&greedy).0, 429);
    let held: Vec<TcpStream> =
        (0..200).map(|_| stalled(&site, "POST", "/api/v1/check", Some(&greedy))).collect();
    let is_at_its_limit = || site.get("/api/v1/status", &greedy).status == 429;
    assert!((0..1_000).any(|_| is_at_its_limit()), "all its connections are busy");
    assert_eq!(site.get("/api/v1/status", &other).status, 200);
    let others = stream(&other);
    assert_eq!(others.0, 200);
    assert!(site.cookie(&json!({ "token": other })).is_ok());
    drop((held, streams, others));
    site.stop();
}

#[test]
fn bodies_and_answers_of_an_identity_take_its_own_room() {
    let job = |index: usize| format!("[jobs.idle-{index}]\nat = 2100-01-01T00:00:00Z\nrun = ['true']\n");
    let site = Site::start("hostile-room", &(0..200).map(job).collect::<String>(), &[]);
    let (greedy, other) = (site.token("mara", Scope::Look), site.token("ada", Scope::Look));
    let long = "/api/v1/jobs?limit=200";
    assert!(SHORT_BYTES < site.get(long, &greedy).body.len());
    // Bodies that are announced and do not come: as many as there is room for.
    let stalled = |bytes: usize| {
        let mut stream = site.connect();
        write!(
            stream,
            "POST /api/v1/check HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {greedy}\r\n\
             Content-Type: application/json\r\nContent-Length: {bytes}\r\n\r\n{{",
            site.host
        )
        .unwrap();
        stream
    };
    let held: Vec<TcpStream> = (0..4).map(|_| stalled(MAX_IDENTITY_BYTES / 4)).collect();
    let refused = (0..10_000).map(|_| site.get(long, &greedy)).find(|answer| answer.status != 200).unwrap();
    assert_eq!(refused.status, 429, "{refused:?}");
    assert!(refused.header("retry-after").is_some(), "{}", refused.head);
    assert!(refused.json()["detail"].as_str().unwrap().contains("64 MiB"), "{}", refused.json());
    let more = read_answer(&mut BufReader::new(stalled(SHORT_BYTES + 1)));
    assert_eq!(more.status, 429, "{more:?}");
    assert_eq!(site.get("/api/v1/status", &greedy).status, 200, "what is short is answered still");
    assert_eq!(site.get(long, &other).status, 200, "others have room");
    // A client that goes away takes its part with it.
    drop(held);
    assert!((0..10_000).any(|_| site.get(long, &greedy).status == 200), "the room is given back");
    site.stop();
}

#[test]
fn who_reads_nothing_is_left() {
    // More than the buffers of both sides of a connection take.
    let jobs = "[jobs.idle]\nat = 2100-01-01T00:00:00Z\noutput_bytes = 60000000\nshell = 'seq 1 5000000'\n";
    let site = Site::start("hostile-reader", jobs, &[]);
    let token = site.token("mara", Scope::Look);
    site.served.says(&["run", "idle", "--wait"], 0, "succeeded");
    let runs = site.get("/api/v1/runs", &token).json();
    let path = format!("/api/v1/runs/idle/{}/0/output", runs["items"][0]["nominal"].as_str().unwrap());
    let mut stream = site.connect();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\r\n", site.host)
        .unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (status, head) = read_head(&mut reader);
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    assert_eq!(status, 200);
    let length: usize = length.trim().parse().unwrap();
    // The same output as it comes, of which no length is known.
    let mut follower = site.connect();
    write!(
        follower,
        "GET {path}/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\r\n",
        site.host
    )
    .unwrap();
    assert_eq!(read_head(&mut BufReader::with_capacity(1, &follower)).0, 200);
    // Nothing is read until the server has left: its side of the connection is closed then, long before all
    // was sent.
    let is_left = || {
        let metrics = String::from_utf8(site.get("/metrics", &token).body).unwrap();
        ["http_connections 1.0", "sse_clients 0.0"]
            .iter()
            .all(|line| metrics.contains(&format!("mainspring_{line}\n")))
    };
    let begun = Moment::now();
    while !is_left() {
        assert!(
            Moment::now().since(begun) < Duration::from_secs(60),
            "a reader that reads nothing keeps its place"
        );
        pause();
    }
    let mut rest = Vec::new();
    let _ = reader.read_to_end(&mut rest);
    assert!(rest.len() < length, "{} of {length} bytes were sent to who read nothing", rest.len());
    let told = until_closed(&mut follower);
    assert!(!told.is_empty() && told.len() < length, "{} of {length} bytes were told", told.len());
    assert!(!String::from_utf8_lossy(&told).contains("event: end"));
    site.stop();
}

#[test]
fn strange_text_stays_text_wherever_it_is_told() {
    let jobs = "[jobs.idle]\nat = 2100-01-01T00:00:00Z\nshell = '''printf '<script>x</script>\\033]0;owned\\007\\000\\342\\200\\256end'; exit 3'''\n";
    let site = Site::start("hostile-text", jobs, &[]);
    let token = site.token("mara", Scope::Operate);
    site.served.says(&["run", "idle", "--wait"], 1, "failed");
    let document = site.get("/api/v1/runs", &token);
    let line = document.json()["items"][0]["last_line"].as_str().unwrap().to_owned();
    assert!(line.contains("<script>x</script>") && line.contains("owned"), "{line:?}");
    // In the document itself every control character is escaped.
    assert!(document.body.iter().all(|byte| 32 <= *byte && *byte != 127), "{document:?}");
    assert_eq!(document.header("content-type"), Some("application/json"));
    for strange in ["<script>", "a\u{0}b", "\u{1b}[31m", "..", "../../etc/passwd", "a/b", "\u{202e}abc", ""] {
        let toml = format!("[jobs.{}]\nat = 2100-01-01T00:00:00Z\nrun = [\"true\"]\n", json!(strange));
        let body = json!({ "files": [{ "path": "a.toml", "text": toml }] }).to_string();
        let found = site.post("/api/v1/check", &token, &body);
        assert_eq!(found.status, 200, "{strange:?}: {found:?}");
        let file = &found.json()["files"][0];
        assert_eq!(file["jobs"], json!([]), "{strange:?} is no name: {file}");
        assert!(found.body.iter().all(|byte| 32 <= *byte && *byte != 127), "{strange:?}");
    }
    let note = |text: &str| json!({ "note": text }).to_string();
    let refused = site.post("/api/v1/jobs/idle/pause", &token, &note("\u{1b}[2J"));
    assert_eq!(refused.status, 422, "a note has no control characters: {refused:?}");
    let taken = site.post("/api/v1/jobs/idle/pause", &token, &note("<img src=x onerror=alert(1)>\u{202e}"));
    assert_eq!(taken.status, 200, "{taken:?}");
    let audit = site.get("/api/v1/audit", &token);
    assert!(audit.body.iter().all(|byte| 32 <= *byte && *byte != 127), "{audit:?}");
    let (_, lines, _) = site.served.running.stop();
    assert!(lines.iter().all(|line| !line.contains('\u{1b}') && !line.contains('\u{0}')), "{lines:#?}");
}

#[test]
fn no_path_leads_out_however_it_is_written() {
    let site = Site::start("hostile-paths", IDLE, &[]);
    let token = site.token("mara", Scope::Operate);
    let secret = fs::read_to_string(site.served.folder.join("data/tokens")).unwrap();
    let parts = [
        "..",
        "%2e%2e",
        "..%2f..",
        "%2e%2e%2ftokens",
        "..%5c..",
        "%252e%252e",
        ".%00.",
        "%c0%ae%c0%ae",
        "....//",
    ];
    for part in parts {
        for path in [
            format!("/api/v1/jobs/{part}"),
            format!("/api/v1/jobs/{part}/next"),
            format!("/api/v1/runs/{part}/2100-01-01T00:00:00Z/0/output"),
            format!("/api/v1/runs/idle/{part}/0/output"),
            format!("/api/v1/runs/idle/2100-01-01T00:00:00Z/{part}/output"),
            format!("/assets/{part}/tokens"),
            format!("/assets/x/{part}%2ftokens"),
            format!("/{part}/tokens"),
        ] {
            let answer = site.get(&path, &token);
            assert!(matches!(answer.status, 400 | 404), "{path}: {answer:?}");
            let hash = secret.split_whitespace().last().unwrap();
            assert!(!String::from_utf8_lossy(&answer.body).contains(hash), "{path}");
        }
    }
    site.stop();
}

/// Makes what is written of people's requests slow: each row has a column that takes long to compute. A view
/// would not be run.
fn make_slow(store: &rusqlite::Connection) {
    store
        .execute_batch(
            "BEGIN;
             ALTER TABLE audit RENAME TO audit_kept;
             CREATE TABLE audit (number INTEGER PRIMARY KEY, at INTEGER NOT NULL,
                 actor TEXT AS (CAST(length(hex(zeroblob(125000 + number))) AS TEXT)),
                 action TEXT NOT NULL, target TEXT NOT NULL, note TEXT NOT NULL);
             WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 20000)
                 INSERT INTO audit (number, at, action, target, note) SELECT x, x, 'run', 'a', '' FROM n;
             COMMIT",
        )
        .unwrap();
}

#[test]
fn a_question_that_takes_too_long_is_given_up_and_others_are_answered() {
    let site = Site::start("hostile-endless", IDLE, &[]);
    let token = site.token("mara", Scope::Look);
    site.served.says(&["run", "idle", "--wait"], 0, "succeeded");
    assert_eq!(site.get("/api/v1/audit", &token).json()["items"].as_array().unwrap().len(), 1);
    let store = rusqlite::Connection::open(site.served.folder.join("data/mainspring.db")).unwrap();
    store.busy_timeout(Duration::from_secs(30)).unwrap();
    make_slow(&store);
    let began = Moment::now();
    let answer = site.get("/api/v1/audit?actor=eve", &token);
    assert_eq!(answer.status, 503, "{}", answer.head);
    assert!(answer.header("retry-after").is_some(), "{}", answer.head);
    assert!(answer.json()["detail"].as_str().unwrap().contains("took too long"), "{}", answer.json());
    // Never early. How late depends on what else the machine does.
    assert!(Duration::from_secs(2) <= Moment::now().since(began));
    assert_eq!(site.get("/api/v1/status", &token).status, 200);
    store.execute_batch("BEGIN; DROP TABLE audit; ALTER TABLE audit_kept RENAME TO audit; COMMIT").unwrap();
    assert_eq!(site.get("/api/v1/audit", &token).json()["items"].as_array().unwrap().len(), 1);
    site.stop();
}

#[test]
fn a_server_that_is_killed_ends_its_streams() {
    let site = Site::start("hostile-kill", IDLE, &[]);
    let token = site.token("mara", Scope::Look);
    let mut streams: Vec<BufReader<TcpStream>> = (0..8)
        .map(|_| {
            let mut reader = site.stream("/api/v1/events", &token);
            assert_eq!(read_head(&mut reader).0, 200);
            reader
        })
        .collect();
    site.served.running.signal(Signal::SIGKILL);
    for stream in &mut streams {
        until_closed(stream.get_mut());
    }
}

/// How long the line is.
const LINE_BYTES: u64 = 1_000_000_000;

/// How long the server may take to answer for the first time: only a test that hangs needs it.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the server may need while it takes such a line, with its store and its listener.
const MEMORY_KIB: u64 = 96 << 10;

/// The most that the server has had in memory, in KiB.
fn peak_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn a_line_of_a_gigabyte_fills_neither_memory_nor_disk_nor_a_page() {
    let folder = folder("http-gigabyte");
    let job = format!("head -c {LINE_BYTES} /dev/zero | tr '\\0' x");
    write(
        &folder.join("jobs.toml"),
        &format!("[jobs.long]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = {job:?}\n"),
    );
    let (data, file) = (folder.join("data"), folder.join("jobs.toml"));
    let args = ["serve", "--data", data.to_str().unwrap(), "--listen=127.0.0.1:0", file.to_str().unwrap()];
    // The log of the server has the line as well.
    let running = Running::after("exec >/dev/null", &args);
    let served = TestServer { folder, running };
    let begun = Moment::now();
    while served.ask(&["status"]).code != 0 {
        assert!(Moment::now().since(begun) < PATIENCE, "the server answers");
        pause();
    }
    let site = Site::of(served);
    let token = site.token("mara", Scope::Operate);
    site.served.says(&["run", "long", "--wait"], 0, "");
    let run = &site.get("/api/v1/runs?job=long", &token).json()["items"][0];
    let nominal = run["nominal"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/runs/long/{nominal}/{}/output", run["series"]);
    // By default a mebibyte of a run is kept, its beginning and its end, and how much is left out is said.
    let kept = site.get(&path, &token);
    assert_eq!(kept.status, 200, "{path}");
    assert!((1 << 20..2 << 20).contains(&kept.body.len()), "{} bytes are kept", kept.body.len());
    let text = String::from_utf8(kept.body).unwrap();
    assert!(text.contains(" note ") && text.contains("left out"), "{}", &text[text.len() - 1_000..]);
    let shown = site.get(&format!("{path}?tail=10"), &token);
    assert!(shown.status == 206 && shown.body.len() < 1 << 20, "{} bytes are shown", shown.body.len());
    let peak = peak_kib(site.served.running.pid());
    assert!(peak < MEMORY_KIB, "the server had {peak} KiB in memory");
    let (status, _, errors) = site.served.running.stop();
    assert_eq!(status.code(), Some(0), "{errors}");
    let _ = fs::remove_dir_all(&site.served.folder);
}
