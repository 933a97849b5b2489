//! The HTTP API and the page of a real server: who may ask, what is answered, and what a hostile client gets.

use std::io::{BufReader, Write};
use std::net::TcpStream;

use mainspring_web::route::Access;
use mainspring_web::routes::ROUTES;
use mainspring_web::scope::Scope;
use serde_json::json;

use crate::site::{Site, read_head, read_until, resolved};
use crate::test_server::{IDLE, TestServer, folder, write};

/// A path of the table with something in it.
pub(crate) fn filled(path: &str) -> String {
    path.replace("{job}", "idle")
        .replace("{nominal}", "2100-01-01T00:00:00Z")
        .replace("{series}", "0")
        .replace("{id}", "1")
        .replace("{hash}", "x")
        .replace("{name}", "main.js")
}

#[test]
fn every_route_asks_for_its_scope() {
    let site = Site::start("http-scopes", IDLE, &["--define-over-http"]);
    let tokens: Vec<(Scope, String)> =
        Scope::ALL.into_iter().map(|scope| (scope, site.token(scope.name(), scope))).collect();
    for route in ROUTES {
        let (method, path) = (route.method.as_str(), filled(route.path));
        let body = if matches!(method, "POST" | "PUT") { "{}" } else { "" };
        let alone = site.send(method, &path, &[], body);
        let Access::Needs(scope) = route.access else {
            let is_open = !matches!(alone.status, 401 | 421) || path.ends_with("/session");
            assert!(is_open, "{method} {path}: {}", alone.status);
            continue;
        };
        assert_eq!(alone.status, 401, "{method} {path} without anything");
        let own = [("Cookie", "mainspring=0123"), ("Sec-Fetch-Site", "same-origin")];
        assert_eq!(site.send(method, &path, &own, body).status, 401, "{method} {path} with a false cookie");
        for (have, token) in &tokens {
            let bearer = [("Authorization", format!("Bearer {token}"))];
            let bearer = [(bearer[0].0, bearer[0].1.as_str())];
            if path.ends_with("/events") && scope <= *have {
                continue;
            }
            let status = site.send(method, &path, &bearer, body).status;
            assert_eq!(status == 403, *have < scope, "{method} {path} with {have}: {status}");
            assert_ne!(status, 401, "{method} {path} with {have}");
        }
    }
    site.stop();
}

#[test]
fn only_our_own_hosts_are_answered() {
    let site = Site::start("http-hosts", IDLE, &[]);
    let port = site.host.split(':').nth(1).unwrap().to_owned();
    let own = [format!("localhost:{port}"), format!("[::1]:{port}")];
    // Of a tunnel, of a container, and of another address of this machine.
    for host in own.iter().map(String::as_str).chain(["localhost:8080", "10.1.2.3:7411", "127.0.0.2"]) {
        assert_eq!(site.send("GET", "/", &[("Host", host)], "").status, 200, "{host}");
    }
    let evil = ["evil.example", "127.0.0.1.evil.example", "", "127.0.0.1@evil.example"];
    for path in ["/", "/metrics", "/api/v1/status", "/nothing", "/livez/", "//livez"] {
        for host in evil {
            let answer = site.send("GET", path, &[("Host", host)], "");
            assert!(matches!(answer.status, 400 | 421), "{path} {host}: {}", answer.status);
        }
    }
    let twice = format!("GET / HTTP/1.1\r\nHost: {0}\r\nHost: evil.example\r\n\r\n", site.host);
    assert!(matches!(site.raw(twice.as_bytes()).status, 400 | 421));
    let whole = format!("GET http://evil.example/ HTTP/1.1\r\nHost: {}\r\n\r\n", site.host);
    assert_eq!(site.raw(whole.as_bytes()).status, 421);
    assert_eq!(site.raw(b"GET / HTTP/1.0\r\n\r\n").status, 421);
    // A balancer asks as HTTP/1.0, without a host. It learns no more than that.
    for path in ["/livez", "/readyz"] {
        let answer = site.raw(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes());
        assert_eq!((answer.status, answer.body), (200, b"ok\n".to_vec()), "{path}");
    }
    site.stop();
}

#[test]
fn a_cookie_acts_from_our_own_page_alone() {
    let site = Site::start("http-csrf", IDLE, &[]);
    let token = site.token("mara", Scope::Operate);
    let cookie = site.cookie(&json!({ "token": token })).unwrap();
    let origin = format!("http://{}", site.host);
    let run = |headers: &[(&str, &str)]| {
        site.send(
            "POST",
            "/api/v1/jobs/idle/pause",
            &[&[("Cookie", cookie.as_str())], headers].concat(),
            "{}",
        )
        .status
    };
    assert_eq!(run(&[("Sec-Fetch-Site", "same-origin")]), 200);
    assert_eq!(run(&[("Origin", &origin)]), 200);
    assert_eq!(run(&[]), 403, "nothing says where from");
    for site in ["cross-site", "same-site", "none", ""] {
        assert_eq!(run(&[("Sec-Fetch-Site", site), ("Origin", &origin)]), 403, "{site}");
    }
    for origin in ["null", "http://evil.example", "https://127.0.0.1", ""] {
        assert_eq!(run(&[("Origin", origin)]), 403, "{origin}");
    }
    assert_eq!(run(&[("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "same-origin")]), 403);
    let form = format!(
        "POST /api/v1/jobs/idle/pause HTTP/1.1\r\nHost: {}\r\nCookie: {cookie}\r\nSec-Fetch-Site: same-origin\r\n\
         Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{{}}",
        site.host
    );
    assert_eq!(site.raw(form.as_bytes()).status, 415);
    let cross = [("Sec-Fetch-Site", "cross-site")];
    let body = json!({ "token": token }).to_string();
    assert_eq!(
        site.send("POST", "/api/v1/session", &cross, &body).status,
        403,
        "nobody is signed in from elsewhere"
    );
    let answer =
        site.send("GET", "/api/v1/status", &[("Cookie", &cookie), ("Origin", "http://evil.example")], "");
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, None));
    for name in ["content-security-policy", "x-content-type-options", "referrer-policy"] {
        assert!(answer.header(name).is_some(), "{name}: {}", answer.head);
    }
    site.stop();
}

#[test]
fn a_session_begins_with_a_code_or_token_and_ends_with_the_token() {
    let site = Site::start("http-session", IDLE, &[]);
    let token = site.token("mara", Scope::Look);
    let opened = site.served.ask(&["open", "--print"]).stdout;
    let code = opened.trim().split_once("#code=").unwrap().1;
    assert_eq!(site.cookie(&json!({ "code": "0".repeat(64) })), Err(401));
    let local = site.cookie(&json!({ "code": code })).unwrap();
    assert_eq!(site.cookie(&json!({ "code": code })), Err(401), "only once");
    let mara = site.cookie(&json!({ "token": token })).unwrap();
    let who = |cookie: &str| site.send("GET", "/api/v1/status", &[("Cookie", cookie)], "");
    assert_eq!(who(&local).json()["you"], json!({ "name": "local user", "scope": "operate" }));
    assert_eq!(who(&mara).json()["you"], json!({ "name": "token mara", "scope": "look" }));
    assert_eq!(site.served.ask(&["token", "remove", "mara"]).code, 0);
    assert_eq!(who(&mara).status, 401, "its token is gone");
    assert_eq!(site.get("/api/v1/status", &token).status, 401);
    let out = [("Cookie", local.as_str()), ("Sec-Fetch-Site", "same-origin")];
    assert_eq!(site.send("DELETE", "/api/v1/session", &out, "").status, 204);
    assert_eq!(who(&local).status, 401);
    let tries: Vec<Result<String, u16>> = (0..20).map(|_| site.cookie(&json!({ "token": "x" }))).collect();
    assert!(tries.contains(&Err(429)), "{tries:?}");
    let ada = site.token("ada", Scope::Look);
    assert!(site.cookie(&json!({ "token": ada })).is_ok(), "wrong tries keep nobody out who has a token");
    site.stop();
}

#[test]
fn jobs_are_run_paused_and_resumed_and_the_log_says_who_asked() {
    let site = Site::start("http-acts", IDLE, &[]);
    let token = site.token("mara", Scope::Operate);
    let at = site.get("/api/v1/status", &token).json()["now"].clone();
    let first = site.post("/api/v1/jobs/idle/run", &token, &json!({ "at": at }).to_string());
    assert_eq!(first.status, 202, "{first:?}");
    let again = site.post("/api/v1/jobs/idle/run", &token, &json!({ "at": at }).to_string());
    assert_eq!((again.status, &again.json()["run"]), (200, &first.json()["run"]), "one click is one run");
    let early = json!({ "at": "2026-01-01T00:00:00Z" }).to_string();
    assert_eq!(site.post("/api/v1/jobs/idle/run", &token, &early).status, 422);
    assert_eq!(site.post("/api/v1/jobs/none/run", &token, "{}").status, 404);
    assert_eq!(site.post("/api/v1/jobs/idle/run", &token, r#"{"when":1}"#).status, 422, "an unknown field");
    let paused = site.post("/api/v1/jobs/idle/pause", &token, r#"{"note":"for a while"}"#);
    assert_eq!((paused.status, &paused.json()["state_code"]), (200, &json!("paused")));
    site.served.says(&["list"], 0, "paused");
    assert_eq!(site.post("/api/v1/jobs/idle/resume", &token, "{}").json()["state_code"], "active");
    assert_eq!(site.post("/api/v1/pause", &token, "{}").json()["paused"], true);
    assert_eq!(site.post("/api/v1/resume", &token, "{}").json()["paused"], false);
    let audit = site.get("/api/v1/audit?job=idle", &token).json();
    let codes: Vec<&str> =
        audit["items"].as_array().unwrap().iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    assert_eq!(codes, ["resume", "pause", "run"]);
    let everything = site.get("/api/v1/audit?q=everything", &token).json();
    assert_eq!(everything["items"].as_array().unwrap().len(), 2, "{everything}");
    assert_eq!(everything["items"][0]["text"], "resume everything");
    assert_eq!(audit["items"][1]["note"], "for a while");
    let all = json!({ "do": "run", "of": "jobs", "filter": { "q": "id" }, "preview": true }).to_string();
    assert_eq!(
        site.post("/api/v1/actions", &token, &all).json(),
        json!({ "count": 1, "examples": ["idle"] })
    );
    let wrong =
        json!({ "do": "run", "of": "jobs", "filter": {}, "preview": false, "expected": 2 }).to_string();
    assert_eq!(site.post("/api/v1/actions", &token, &wrong).json()["type"], "urn:mainspring:problem:changed");
    let (_, lines, _) = site.served.running.stop();
    assert!(lines.iter().any(|line| line.contains("token mara asked over HTTP: run idle")), "{lines:#?}");
}

#[test]
fn a_pause_has_a_note_and_an_end_for_one_for_many_and_for_everything() {
    let jobs = format!(
        "{IDLE}[jobs.b]\nat = 2100-01-01T00:00:00Z\nzone = 'Asia/Tokyo'\nrun = ['true']\nlabels = {{ team = 'ops' }}\n"
    );
    let site = Site::start("http-pause", &jobs, &[]);
    let token = site.token("mara", Scope::Operate);
    let until = "2099-01-01T00:00:00Z";
    let rest = json!({ "note": "new disk", "until": until });
    let paused = site.post("/api/v1/jobs/b/pause", &token, &rest.to_string()).json();
    assert_eq!(paused["pause_terms"], site.served.json(&["show", "b", "--json"])["job"]["pause_terms"]);
    let pause = &paused["pause"];
    assert_eq!(
        [&pause["note"], &pause["until"], &pause["by"], &pause["civil"]["until"]],
        ["new disk", until, "token mara", "2099-01-01T09:00:00+09:00[Asia/Tokyo]"]
    );
    site.served.says(&["show", "b"], 0, "new disk");
    for wrong in [r#"{"until":"2000-01-01T00:00:00Z"}"#, r#"{"until":"soon"}"#, r#"{"note":"a\nb"}"#] {
        assert_eq!(site.post("/api/v1/jobs/b/pause", &token, wrong).status, 422, "{wrong}");
        assert_eq!(site.post("/api/v1/pause", &token, wrong).status, 422, "{wrong}");
    }
    let everything = site.post("/api/v1/pause", &token, &rest.to_string()).json();
    assert_eq!(
        (&everything["pause"]["until"], &everything["pause"]["by"]),
        (&json!(until), &json!("token mara"))
    );
    assert_eq!(everything["pause_terms"], site.served.json(&["status", "--json"])["status"]["pause_terms"]);
    site.post("/api/v1/resume", &token, r#"{"note":"it is in"}"#);
    let many = json!({
        "do": "pause", "of": "jobs", "filter": { "label": "team=ops" }, "note": "again", "until": until, "expected": 1
    });
    let accepted = site.post("/api/v1/actions", &token, &many.to_string()).json();
    let path = resolved("/api/v1/actions", accepted["href"].as_str().unwrap());
    while site.get(&path, &token).json()["state"] == "running" {}
    assert_eq!(site.get("/api/v1/jobs/b", &token).json()["pause"]["note"], "again");
    let audit = site.served.json(&["audit", "--json"])["audit"]["rows"].clone();
    assert_eq!((&audit[0]["actor"], &audit[0]["note"]), (&json!("token mara"), &json!("again")), "{audit}");
    assert_eq!(audit[1]["note"], "it is in", "{audit}");
    site.stop();
}

#[test]
fn a_run_that_waits_for_its_next_attempt_is_told_once() {
    let jobs =
        "[jobs.again]\nat = 2100-01-01T00:00:00Z\nrun = ['false']\nretry = { max = 1, backoff = '1h' }\n";
    let site = Site::start("http-retry", jobs, &[]);
    let token = site.token("mara", Scope::Look);
    site.served.says(&["run", "again"], 0, "again@");
    let runs = || site.get("/api/v1/runs?job=again", &token).json();
    while runs()["items"][0]["ended"].is_null() {}
    let found = runs();
    assert_eq!((&found["total"], &found["items"][0]["state"]), (&json!(1), &json!("scheduled")), "{found}");
    let year = site.get("/api/v1/jobs/again/heatmap", &token).json();
    assert_eq!(year["days"], json!([]), "a day has what has ended for good");
    site.stop();
}

#[test]
fn a_run_that_goes_on_says_how_long_it_usually_takes_though_nobody_asked_for_the_job() {
    let jobs = "[jobs.usual]\nat = 2100-01-01T00:00:00Z\nshell = '[ -e go ] && exec sleep 3600; exit 0'\n";
    let folder = folder("http-usual");
    let place = format!("cwd = '{}'\n", folder.display());
    write(&folder.join("jobs.toml"), &format!("{jobs}{place}"));
    let site = Site::of(TestServer::start_in(folder.clone(), &["--listen=127.0.0.1:0"]));
    let token = site.token("mara", Scope::Look);
    site.served.says(&["run", "usual", "--wait"], 0, "succeeded");
    std::fs::write(folder.join("go"), "").unwrap();
    site.served.says(&["run", "usual"], 0, "");
    let running =
        || site.get("/api/v1/runs?state=running", &token).json()["items"].as_array().unwrap().clone();
    while running().is_empty() {}
    assert!(running()[0]["usual_ms"].is_u64(), "{:?}", running());
    site.served.says(&["cancel", running()[0]["run"].as_str().unwrap()], 0, "");
    while !running().is_empty() {}
    site.stop();
}

#[test]
fn runs_are_told_by_their_ends_page_by_page() {
    let site = Site::start("http-order", IDLE, &[]);
    let token = site.token("mara", Scope::Look);
    (0..5).for_each(|_| site.served.says(&["run", "idle", "--wait"], 0, "succeeded"));
    let all = site.get("/api/v1/runs?state=succeeded", &token).json();
    let name = |run: &serde_json::Value| run["run"].as_str().unwrap().to_owned();
    let wanted: Vec<String> = all["items"].as_array().unwrap().iter().map(name).collect();
    assert_eq!((wanted.len(), &all["total"]), (5, &json!(5)));
    for order in ["ended", "nominal"] {
        let (mut found, mut after) = (Vec::new(), String::new());
        loop {
            let after_text = after.replace('|', "%7C").replace('+', "%2B").replace('#', "%23");
            let path = format!("/api/v1/runs?job=idle&order={order}&limit=2&after={after_text}");
            let page = site.get(&path, &token).json();
            found.extend(page["items"].as_array().unwrap().iter().map(name));
            let Some(next) = page["next"].as_str() else { break };
            after = next.to_owned();
        }
        found.retain(|run| wanted.contains(run));
        assert_eq!(found.len(), 5, "{order}: {found:?}");
        let ends: Vec<&String> = wanted.iter().collect();
        assert_eq!(found.iter().collect::<Vec<_>>(), ends, "{order}");
    }
    let third = &all["items"][2]["ended"];
    let count = |query: String| site.get(&query, &token).json()["items"].as_array().unwrap().len();
    assert_eq!(count(format!("/api/v1/runs?since={}", third.as_str().unwrap())), 3);
    assert_eq!(count(format!("/api/v1/runs?until={}", third.as_str().unwrap())), 2);
    assert_eq!((count("/api/v1/runs?cause=request".into()), count("/api/v1/runs?cause=once".into())), (5, 0));
    assert_eq!(site.get("/api/v1/runs?cause=luck", &token).status, 400);
    site.stop();
}

#[test]
fn output_is_bytes_and_never_a_page() {
    let jobs = "[jobs.idle]\nat = 2100-01-01T00:00:00Z\nshell = '''printf '<script>alert(1)</script>\\033[31m\\000x\\n2\\n3\\n' '''\n";
    let site = Site::start("http-output", jobs, &[]);
    let token = site.token("mara", Scope::Look);
    site.served.says(&["run", "idle", "--wait"], 0, "succeeded");
    let runs = site.get("/api/v1/runs", &token).json();
    let path = format!("/api/v1/runs/idle/{}/0/output", runs["items"][0]["nominal"].as_str().unwrap());
    let whole = site.get(&path, &token);
    assert_eq!((whole.status, whole.header("content-type")), (200, Some("text/plain; charset=utf-8")));
    assert_eq!(
        (whole.header("x-content-type-options"), whole.header("x-complete")),
        (Some("nosniff"), Some("true"))
    );
    assert!(String::from_utf8_lossy(&whole.body).contains("<script>alert(1)</script>"), "{whole:?}");
    let tail = site.get(&format!("{path}?tail=1"), &token);
    assert!(tail.status == 206 && tail.body.ends_with(b" 3\n") && !tail.body.contains(&b'<'), "{tail:?}");
    assert_eq!(site.get(&format!("{path}?attempt=1"), &token).body, whole.body);
    assert_eq!(site.get(&format!("{path}?attempt=2"), &token).status, 404, "there was one attempt");
    assert!(site.get(&format!("{path}?attempt=1&tail=1"), &token).body.ends_with(b" 3\n"));
    assert_eq!(site.get(&format!("{path}?attempt=0"), &token).status, 400);
    let bearer = format!("Bearer {token}");
    let range = |range: &str| site.send("GET", &path, &[("Authorization", &bearer), ("Range", range)], "");
    assert_eq!(range("bytes=0-3").body, whole.body[..4]);
    assert_eq!(range("bytes=999999-").status, 416);
    let mut stream = site.connect();
    write!(stream, "GET {path}/events HTTP/1.1\r\nHost: {}\r\nAuthorization: {bearer}\r\n\r\n", site.host)
        .unwrap();
    let mut reader = BufReader::new(stream);
    assert_eq!(read_head(&mut reader).0, 200);
    let text = read_until(&mut reader, &["event: end"]);
    assert!(text.contains(r#""text":"#) && text.contains("<script>"), "{text}");
    site.stop();
}

#[test]
fn strange_requests_are_refused_and_the_next_is_answered() {
    let site = Site::start("http-strange", IDLE, &[]);
    let token = site.token("mara", Scope::Operate);
    for path in [
        "/api/v1/jobs/..%2f..%2fetc%2fpasswd",
        "/api/v1/jobs/%00",
        "/api/v1/runs/../x/0/output",
        "/api/v1/runs/..%2f..%2ftokens/2100-01-01T00:00:00Z/0/output",
        "/assets/../Cargo.toml",
        "/assets/x/..%2f..%2ftokens",
        "/../../etc/passwd",
        "/tokens",
        "/api/v1/",
        "//evil.example/",
    ] {
        let answer = site.get(path, &token);
        assert!(matches!(answer.status, 400 | 404), "{path}: {answer:?}");
        assert!(!String::from_utf8_lossy(&answer.body).contains("root:"), "{path}");
    }
    assert_eq!(site.get("/api/v1/jobs?colour=red", &token).status, 400);
    assert_eq!(site.get("/api/v1/jobs?limit=0", &token).status, 400);
    assert_eq!(site.get("/api/v1/jobs?state=active,nope", &token).status, 400);
    assert_eq!(site.get("/api/v1/jobs?limit=1&limit=2", &token).status, 400);
    assert_eq!(site.send("PUT", "/api/v1/status", &[], "").status, 405);
    assert_eq!(site.send("OPTIONS", "/api/v1/status", &[("Origin", "http://evil.example")], "").status, 405);
    let long = format!(
        "POST /api/v1/explain HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        site.host,
        5 << 20
    );
    assert_eq!(site.raw(long.as_bytes()).status, 413);
    let own = [("Sec-Fetch-Site", "same-origin")];
    let proof = |length: usize| format!("{:length$}", json!({ "token": "x" }).to_string());
    let sign_in = |length| site.send("POST", "/api/v1/session", &own, &proof(length)).status;
    assert_eq!((sign_in(4_096), sign_in(4_097)), (401, 413), "who has not signed in says little");
    let huge = format!("GET / HTTP/1.1\r\nHost: {}\r\nX: {}\r\n\r\n", site.host, "x".repeat(100_000));
    assert_eq!(site.raw(huge.as_bytes()).status, 431);
    let crowd: Vec<TcpStream> = (0..300).map(|_| site.connect()).collect();
    assert_eq!(site.get("/api/v1/status", &token).status, 200, "idle connections make room");
    drop(crowd);
    site.served.says(&["status"], 0, "running");
    site.stop();
}

#[test]
fn a_stream_tells_what_changes_and_that_the_server_ends() {
    let site = Site::start("http-events", IDLE, &[]);
    let token = site.token("mara", Scope::Operate);
    let mut reader = site.stream("/api/v1/events", &token);
    assert_eq!(read_head(&mut reader).0, 200);
    let mut text = String::new();
    let mut until = |part: &str| {
        if !text.contains(part) {
            text.push_str(&read_until(&mut reader, &[part]));
        }
    };
    until("event: hello");
    // From here on the loop knows that somebody listens, and what changes is told.
    until("event: reset");
    site.served.says(&["run", "idle", "--wait"], 0, "succeeded");
    until("event: run.changed");
    until("\"state\":\"succeeded\"");
    site.stop();
    until("event: server.ending");
}

#[test]
fn without_a_proxy_other_machines_are_not_listened_to() {
    let folder = folder("http-open");
    let data = folder.join("data");
    let serve = ["serve", "--data", data.to_str().unwrap(), "--listen=0.0.0.0:0"];
    let ended = crate::program::mainspring(&serve);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains("--behind-proxy"), "{}", ended.stderr);
}

#[test]
fn nothing_is_changed_over_a_server_that_is_for_reading() {
    let site = Site::start("http-reading", IDLE, &["--read-only"]);
    let token = site.token("mara", Scope::Define);
    assert_eq!(site.get("/api/v1/status", &token).json()["you"]["scope"], "look");
    assert_eq!(site.post("/api/v1/jobs/idle/run", &token, "{}").status, 403);
    let metrics = String::from_utf8(site.get("/metrics", &token).body).unwrap();
    assert!(metrics.contains("mainspring_job_runs_total{job_name=\"idle\"} 0\n"), "{metrics}");
    site.stop();
}

#[test]
fn a_silent_job_is_in_trouble_and_jobs_beyond_the_limit_are_metered_together() {
    let job = |name: &str, more: &str| {
        format!("[jobs.{name}]\nat = 2100-01-01T00:00:00Z\nrun = ['true']\n{more}\n")
    };
    let dies = job("c", "dead_letters = 'always'").replace("true", "false");
    let jobs = [job("a", "silent_after = '1s'"), job("b", ""), dies].concat();
    let site = Site::start("http-silent", &jobs, &["--metrics-max-jobs=2"]);
    let token = site.token("mara", Scope::Look);
    let troubled = || site.get("/api/v1/jobs?state=troubled", &token).json();
    while troubled()["items"].as_array().unwrap().is_empty() {}
    let found = troubled();
    assert_eq!(
        (found["items"][0]["name"].as_str(), found["total"].as_u64()),
        (Some("a"), Some(1)),
        "{found}"
    );
    assert_eq!(found["items"][0]["troubles"][0]["code"], "silent");
    site.served.says(&["run", "b", "--wait"], 0, "");
    assert_ne!(site.served.ask(&["run", "c", "--wait"]).code, 0);
    let metrics = String::from_utf8(site.get("/metrics", &token).body).unwrap();
    let value = |name: &str| metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    assert_eq!(value("mainspring_job_silent{job_name=\"a\"}"), Some("1.0"));
    assert_eq!(value("mainspring_job_silent{job_name=\"b\"}"), Some("0.0"));
    assert_eq!(value("mainspring_job_silent{job_name=\"c\"}"), None, "beyond --metrics-max-jobs");
    assert_eq!(value("mainspring_clock_jumps_total{direction=\"back\"}"), Some("0"));
    assert_eq!(value("mainspring_output_lost_bytes_total"), Some("0"));
    // Those that only servers have which share a database.
    let of_cluster = [
        "planner",
        "lease_seconds_left",
        "takeovers",
        "fenced",
        "inbox_oldest_seconds",
        "clock_offset_seconds",
        "servers",
        "server_runs",
        "server_capacity",
    ];
    let own = |row: &[&str; 4]| !of_cluster.contains(&row[0]);
    for [name, kind, _, _] in mainspring_web::metric_rows::rows().filter(own) {
        let told =
            format!("# TYPE mainspring_{name}{} {kind}", if kind == "counter" { "_total" } else { "" });
        assert!(metrics.lines().any(|line| line == told), "{told} is not in {metrics}");
    }
    let once = "mainspring_once_oldest_overdue_seconds";
    assert_eq!((value(once), value("mainspring_dead_letters{job_name=\"b\"}")), (Some("0.0"), Some("0.0")));
    assert_eq!(
        value("mainspring_dead_letters{job_name=\"_other\"}"),
        Some("1.0"),
        "that of a job without a series"
    );
    for name in [
        "reader_query_seconds_count{query=\"status\"}",
        "store_bytes{part=\"database\"}",
        "http_request_duration_seconds_count{route=\"/api/v1/jobs\"}",
        "commit_batch_operations_sum",
        "process_open_fds",
        "process_cpu_seconds_total",
    ] {
        let value: f64 =
            value(&format!("mainspring_{name}")).unwrap_or_else(|| panic!("{metrics}")).parse().unwrap();
        assert!(0.0 < value, "{name}");
    }
    assert!(metrics.contains("mainspring_tzdata_info{version="), "{metrics}");
    site.stop();
}
