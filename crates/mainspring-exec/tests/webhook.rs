//! Webhooks against a server on 127.0.0.1 that is part of the test.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mainspring_action::body::WebhookBody;
use mainspring_action::secret::SecretBody;
use mainspring_action::template::{Template, Values};
use mainspring_exec::clock::Moment;
use mainspring_exec::deliveries::{Deliveries, MAX_DELIVERIES, NotSent};
use mainspring_exec::end::{End, KillCause, Outcome, Reports};
use mainspring_exec::output::Piece;
use mainspring_exec::output::Stream;
use mainspring_exec::webhook::{WebhookSpec, deliver};
use mainspring_exec::webhook_specs;
use mainspring_job::Policies;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use ureq::http::Method;

/// Reached only by a hang.
const BOUND: Duration = Duration::from_secs(60);

/// A POST with nothing special about it.
fn post(url: Template) -> WebhookSpec {
    let usual = webhook_specs::webhook(&WebhookBody::default(), &Policies::default()).unwrap();
    WebhookSpec { url, ..usual }
}

/// Answers one connection with `answer`, and returns the request that came over it.
fn serve_once(answer: &str) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = answer.to_owned();
    let serve = move || {
        let (stream, _) = listener.accept().unwrap();
        exchange(stream, &answer)
    };
    (url, thread::Builder::new().spawn(serve).unwrap())
}

fn exchange(stream: impl Read + Write, answer: &str) -> String {
    let mut reader = BufReader::new(stream);
    let (mut request, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
        request.push_str(&line);
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    // A client that has seen enough may be gone.
    let _ = reader.get_mut().write_all(answer.as_bytes());
    let _ = reader.get_mut().flush();
    request + &String::from_utf8(body).unwrap()
}

fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn template(text: &str) -> Template {
    Template::parse(text, &["TOKEN"]).unwrap()
}

fn values() -> Values {
    let nominal = "2026-01-01T03:00:00Z";
    Values {
        job: "backup".into(),
        run: "7".into(),
        nominal: nominal.into(),
        attempt: "2".into(),
        key: format!("backup/{nominal}"),
        ..Values::default()
    }
}

fn file(name: &str, text: &str) -> PathBuf {
    let path = crate::scratch::path(&format!("webhook-{name}"));
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_request_carries_what_its_spec_says() {
    let (url, server) = serve_once(&answer("200 OK", "thanks"));
    let token = SecretBody { name: "TOKEN".into(), path: file("token", "hunter22"), is_path: false };
    let spec = WebhookSpec {
        method: Method::PUT,
        headers: vec![
            ("Authorization".into(), template("Bearer {secret.TOKEN}")),
            ("X-Attempt".into(), template("{attempt}")),
        ],
        body: template(r#"{"job": "{job}", "due": "{nominal}", "run": {run}}"#),
        secrets: vec![token],
        signing: Some(file("signing", "a key of 16 bytes\n")),
        ..post(template(&format!("{url}/hooks/{{job}}?n={{run}}&of={{key}}")))
    };
    let delivered = deliver(&spec, values(), 1_767_225_600);
    assert_eq!((delivered.outcome, delivered.is_success), (Outcome::Status(200), true));
    assert_eq!(delivered.answer, b"thanks");
    let request = server.join().unwrap();
    let lower = request.to_ascii_lowercase();
    assert!(
        request.starts_with("PUT /hooks/backup?n=7&of=backup%2F2026-01-01T03%3A00%3A00Z HTTP/1.1\r\n"),
        "{request}"
    );
    for header in [
        "authorization: bearer hunter22",
        "x-attempt: 2",
        "idempotency-key: backup/2026-01-01t03:00:00z",
        "content-type: application/json",
        "user-agent: mainspring/",
    ] {
        assert!(lower.contains(&format!("\r\n{header}")), "{header} in {request}");
    }
    assert!(lower.contains("\r\nmainspring-signature: t=1767225600,v1="), "{request}");
    assert!(request.ends_with(r#"{"job": "backup", "due": "2026-01-01T03:00:00Z", "run": 7}"#), "{request}");
}

#[test]
fn an_answer_is_not_cut_within_a_secret() {
    let token = SecretBody { name: "TOKEN".into(), path: file("echoed", "hunter22"), is_path: false };
    let (text, masked) = ("AAAhunter22hunter22BBB", "AAA******BBB");
    // The database may hold any cap.
    for answer_bytes_max in (0..=22).chain([u64::MAX]) {
        let (url, server) = serve_once(&answer("200 OK", text));
        let spec = WebhookSpec { secrets: vec![token.clone()], answer_bytes_max, ..post(template(&url)) };
        let delivered = deliver(&spec, values(), 0);
        server.join().unwrap();
        let kept = String::from_utf8(delivered.answer).unwrap();
        assert!(
            masked.starts_with(&kept) && kept.len() as u64 <= answer_bytes_max,
            "{answer_bytes_max}: {kept}"
        );
        assert_eq!(0 < delivered.dropped_bytes, kept != masked, "{answer_bytes_max}");
    }
}

#[test]
fn the_success_rule_decides_and_redirects_are_answers() {
    type Ranges = &'static [(u16, u16)];
    let cases: [(&str, Ranges, bool); 5] = [
        ("204 No Content", &[(200, 299)], true),
        ("302 Found\r\nLocation: http://127.0.0.1:1/", &[(200, 299)], false),
        ("302 Found\r\nLocation: http://127.0.0.1:1/", &[(200, 399)], true),
        ("404 Not Found", &[(200, 299), (404, 404)], true),
        ("500 Oops", &[(200, 299)], false),
    ];
    for (status, success, expected) in cases {
        let (url, server) = serve_once(&answer(status, ""));
        let spec = WebhookSpec { success: success.to_vec(), ..post(template(&url)) };
        let delivered = deliver(&spec, values(), 0);
        assert_eq!(delivered.is_success, expected, "{status} {:?}", delivered.outcome);
        server.join().unwrap();
    }
}

#[test]
fn what_retry_after_says_is_taken_from_an_answer() {
    let now = "2026-11-21T12:00:00Z".parse().unwrap();
    let cases = [
        ("4", Some("2026-11-21T12:00:04Z")),
        ("Sat, 21 Nov 2026 12:00:09 GMT", Some("2026-11-21T12:00:09Z")),
        // No longer than a day.
        ("1000000", Some("2026-11-22T12:00:00Z")),
        ("9999999999999", Some("2026-11-22T12:00:00Z")),
        ("soon", None),
        ("-1", None),
    ];
    for (text, expected) in cases {
        let header =
            format!("HTTP/1.1 429 Too Many Requests\r\nRetry-After: {text}\r\nContent-Length: 0\r\n\r\n");
        let (url, server) = serve_once(&header);
        let delivered = deliver(&post(template(&url)), values(), 0);
        let found = delivered.retry_after.map(|after| after.resolve(now).to_string());
        assert_eq!(found.as_deref(), expected, "{text}");
        server.join().unwrap();
    }
}

#[test]
fn an_answer_beyond_the_cap_is_cut() {
    let (url, server) = serve_once(&answer("200 OK", &"x".repeat(1000)));
    let spec = WebhookSpec { answer_bytes_max: 10, ..post(template(&url)) };
    let delivered = deliver(&spec, values(), 0);
    assert_eq!((delivered.answer.len(), delivered.dropped_bytes), (10, 990));
    server.join().unwrap();
}

#[test]
fn a_receiver_that_is_not_there_or_says_nothing_is_no_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let spec = WebhookSpec { timeout: Duration::from_millis(50), ..post(template(&url)) };
    let delivered = deliver(&spec, values(), 0);
    assert_eq!(delivered.outcome, Outcome::NoAnswer("the timeout is over".into()));
    assert!(delivered.is_timeout && !delivered.is_success);
    // A port at which no process listens, and that no other is given: it is this end of a connection.
    let held = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let url = format!("http://{}", held.local_addr().unwrap());
    let spec = WebhookSpec { timeout: BOUND, ..post(template(&url)) };
    let delivered = deliver(&spec, values(), 0);
    assert!(!delivered.is_timeout);
    assert!(delivered.outcome.to_string().starts_with("no answer: "), "{:?}", delivered.outcome);
}

#[test]
fn a_secret_in_the_url_is_in_no_message() {
    let token = SecretBody { name: "TOKEN".into(), path: file("url", "hunter 22"), is_path: false };
    let spec = WebhookSpec { secrets: vec![token], ..post(template("http://x/{secret.TOKEN}")) };
    let delivered = deliver(&spec, values(), 0);
    assert!(!format!("{delivered:?} {spec:?}").contains("hunter"), "{delivered:?}");
}

#[test]
fn certificates_are_checked() {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
    let serve = move || {
        // The first connection breaks off in the handshake, because no authority vouches for the certificate.
        let (mut stream, _) = listener.accept().unwrap();
        let mut connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
        let refused = connection.complete_io(&mut stream).is_err();
        let (stream, _) = listener.accept().unwrap();
        let connection = rustls::ServerConnection::new(config).unwrap();
        (refused, exchange(rustls::StreamOwned::new(connection, stream), &answer("200 OK", "safe")))
    };
    let server = thread::Builder::new().spawn(serve).unwrap();
    let spec = post(template(&url));
    let delivered = deliver(&spec, values(), 0);
    assert!(delivered.outcome.to_string().contains("certificate"), "{:?}", delivered.outcome);
    let ca_file = Some(file("ca.pem", &made.cert.pem()));
    let delivered = deliver(&WebhookSpec { ca_file, ..spec }, values(), 0);
    assert_eq!((delivered.outcome, delivered.answer), (Outcome::Status(200), b"safe".to_vec()));
    let (was_refused, request) = server.join().unwrap();
    assert!(was_refused && request.starts_with("POST / HTTP/1.1"), "{request}");
}

#[test]
fn a_receiver_that_shows_the_certificate_of_a_ca_is_told_from_one_that_is_not_known() {
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let signing_key = rcgen::KeyPair::generate().unwrap();
    let made = params.self_signed(&signing_key).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
    let serve = move || {
        let (mut stream, _) = listener.accept().unwrap();
        rustls::ServerConnection::new(Arc::new(config)).unwrap().complete_io(&mut stream).is_err()
    };
    let server = thread::Builder::new().spawn(serve).unwrap();
    let ca_file = Some(file("self.pem", &made.pem()));
    let delivered = deliver(&WebhookSpec { ca_file, ..post(template(&url)) }, values(), 0);
    let said = delivered.outcome.to_string();
    assert!(said.contains("is that of a CA: give it one that this CA has signed"), "{said}");
    assert!(server.join().unwrap());
}

#[derive(Default)]
struct RunRecorder {
    lines: Vec<String>,
    ends: Vec<(u32, End)>,
}

impl Reports<u32> for RunRecorder {
    fn line(&mut self, run: &u32, _stream: Stream, piece: &Piece<'_>) {
        self.lines.push(format!("{run} {}", piece.text));
    }

    fn ended(&mut self, run: &u32, end: &End) {
        self.ends.push((*run, end.clone()));
    }
}

fn turn_until_idle(deliveries: &mut Deliveries<u32>, heard: &mut RunRecorder) {
    let start = Moment::now();
    while 0 < deliveries.running_count() {
        assert!(Moment::now().since(start) < BOUND, "the webhooks end");
        let mut fds = [PollFd::new(std::os::fd::AsFd::as_fd(deliveries), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::from(1000_u16)).unwrap();
        deliveries.turn(Moment::now(), heard);
    }
}

#[test]
fn deliveries_report_into_the_loop() {
    let (url, server) = serve_once(&answer("200 OK", "one\ntwo hunter22"));
    let token = SecretBody { name: "TOKEN".into(), path: file("loop", "hunter22"), is_path: false };
    let spec = Arc::new(WebhookSpec { secrets: vec![token], ..post(template(&url)) });
    let (mut deliveries, mut heard) =
        (Deliveries::of_at_most(MAX_DELIVERIES).unwrap(), RunRecorder::default());
    deliveries.start(None, &spec, values(), 5, Moment::now()).unwrap();
    turn_until_idle(&mut deliveries, &mut heard);
    assert_eq!(heard.lines, ["5 one", "5 two ***"]);
    assert_eq!((heard.ends[0].0, heard.ends[0].1.is_success), (5, true));
    server.join().unwrap();
}

#[test]
#[cfg(debug_assertions)]
fn a_delivery_that_panics_has_an_end_and_gives_its_place_back() {
    // A secret that is not among those of the webhook fails an assertion in the thread.
    let spec = Arc::new(post(template("http://127.0.0.1:1/{secret.TOKEN}")));
    let (mut deliveries, mut heard) = (Deliveries::of_at_most(1).unwrap(), RunRecorder::default());
    deliveries.start(None, &spec, values(), 5, Moment::now()).unwrap();
    turn_until_idle(&mut deliveries, &mut heard);
    let why = Some(Outcome::NoAnswer("the delivery panicked".to_owned()));
    assert_eq!((heard.ends[0].0, &heard.ends[0].1.outcome), (5, &why));
    assert!(!deliveries.is_full());
}

#[test]
fn a_delivery_that_is_killed_ends_at_once_and_keeps_its_place() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let spec = Arc::new(WebhookSpec { timeout: BOUND, ..post(template(&url)) });
    let (mut deliveries, mut heard) =
        (Deliveries::of_at_most(MAX_DELIVERIES).unwrap(), RunRecorder::default());
    for key in 0..MAX_DELIVERIES as u32 {
        deliveries.start(None, &spec, values(), key, Moment::now()).unwrap();
    }
    assert!(matches!(
        deliveries.start(None, &spec, values(), 99, Moment::now()),
        Err(NotSent::Full(MAX_DELIVERIES))
    ));
    assert!(deliveries.kill(&3, Moment::now(), &mut heard));
    assert!(!deliveries.kill(&3, Moment::now(), &mut heard));
    assert_eq!((heard.ends[0].0, heard.ends[0].1.cause), (3, Some(KillCause::Requested)));
    assert!(deliveries.is_full());
    assert_eq!(deliveries.running_count(), MAX_DELIVERIES - 1);
    // The receiver goes away, so that every thread ends.
    drop(listener);
    deliveries.kill_all(Moment::now(), &mut heard);
    assert_eq!((deliveries.running_count(), heard.ends.len()), (0, MAX_DELIVERIES));
}
