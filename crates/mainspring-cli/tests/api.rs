//! The API of a real server, held to what its documents promise beyond each route's answer.

use std::io::{BufReader, Write};

use mainspring_web::route::Access;
use mainspring_web::routes::ROUTES;
use mainspring_web::scope::Scope;
use serde_json::json;

use crate::http::filled;
use crate::site::{Site, read_answer, read_head, read_until};
use crate::test_server::IDLE;

/// What a browser sends from our own page.
const OWN: (&str, &str) = ("Sec-Fetch-Site", "same-origin");

/// How many streams one identity may have.
const STREAMS: usize = 12;

#[test]
fn who_is_told_to_wait_for_a_stream_has_started_no_run() {
    let site = Site::start("api-places", IDLE, &[]);
    let token = site.token("mara", Scope::Operate);
    let open: Vec<_> = (0..STREAMS)
        .map(|_| {
            let mut stream = site.stream("/api/v1/events", &token);
            assert_eq!(read_head(&mut stream).0, 200);
            stream
        })
        .collect();
    let run = json!({ "command": "run", "job": "idle", "wait": true }).to_string();
    assert_eq!(site.post("/api/v1/requests", &token, &run).status, 429);
    assert_eq!(site.get("/api/v1/runs", &token).json()["items"], json!([]), "nothing has happened");
    drop(open);
    site.stop();
}

#[test]
fn a_run_that_waits_for_its_next_attempt_is_not_over_and_is_cancelled() {
    let jobs =
        "[jobs.again]\nat = 2100-01-01T00:00:00Z\nrun = ['false']\nretry = { max = 1, backoff = '1h' }\n";
    let site = Site::start("api-waiting", jobs, &[]);
    let token = site.token("mara", Scope::Operate);
    let started = site.post("/api/v1/jobs/again/run", &token, "{}").json();
    let run = format!("/api/v1/runs/{}", started["run"].as_str().unwrap().replace('@', "/") + "/0");
    while site.get(&run, &token).json()["ended"].is_null() {}
    assert_eq!(site.get(&format!("{run}/output"), &token).header("x-complete"), Some("false"));
    let mut output = site.stream(&format!("{run}/output/events"), &token);
    assert_eq!(read_head(&mut output).0, 200);
    assert_eq!(site.post(&format!("{run}/cancel"), &token, "{}").status, 202);
    let end = read_until(&mut output, &["event: end", "data: {\"state"]);
    let end = end + &read_until(&mut output, &["}"]);
    assert!(end.contains("cancelled"), "{end}");
    assert_eq!(site.post(&format!("{run}/cancel"), &token, "{}").status, 409, "it is over");
    site.stop();
}

#[test]
fn a_parameter_that_a_route_does_not_have_is_refused_before_anything_is_done() {
    let site = Site::start("api-parameters", IDLE, &["--define-over-http"]);
    let token = site.token("ada", Scope::Define);
    let bearer = [("Authorization", format!("Bearer {token}"))];
    let bearer = [(bearer[0].0, bearer[0].1.as_str())];
    for route in ROUTES.iter().filter(|route| route.path != "/") {
        let path = format!("{}?colour=red", filled(route.path));
        let is_open = route.access == Access::Anybody;
        let headers = if is_open { &[OWN] } else { &bearer };
        let body = if route.body.is_some() { "{}" } else { "" };
        let answer = site.send(route.method.as_str(), &path, headers, body);
        assert_eq!(answer.status, 400, "{} {path}", route.method);
        assert!(answer.json()["detail"].as_str().unwrap().starts_with("there is no parameter `colour`: "));
    }
    let status = site.get("/api/v1/status", &token).json();
    assert_eq!(status["paused"], false, "nothing has happened");
    assert_eq!(site.send("GET", "/?page=now", &[], "").status, 200, "the page has parameters of its own");
    site.stop();
}

#[test]
fn a_code_gives_operate_also_where_tokens_may_define() {
    let site = Site::start("api-code", IDLE, &["--define-over-http"]);
    let opened = site.served.ask(&["open", "--print"]).stdout;
    let cookie = site.cookie(&json!({ "code": opened.trim().split_once("#code=").unwrap().1 })).unwrap();
    let headers = [("Cookie", cookie.as_str()), OWN];
    let you = site.send("GET", "/api/v1/status", &headers, "").json()["you"].clone();
    assert_eq!(you, json!({ "name": "local user", "scope": "operate" }));
    assert_eq!(site.send("POST", "/api/v1/jobs", &headers, "{}").status, 403);
    site.stop();
}

#[test]
fn what_no_client_may_do_is_refused_with_the_option_that_says_so() {
    for (args, path, part) in [
        (
            &["--read-only"][..],
            "/api/v1/jobs/idle/pause",
            "no client has here: the server runs with --read-only",
        ),
        (&[], "/api/v1/jobs", "the server runs without --define-over-http"),
        (&["--define-over-http"], "/api/v1/apply", "and token mara has operate"),
    ] {
        let site = Site::start("api-most", IDLE, args);
        let token = site.token("mara", Scope::Operate);
        let refused = site.post(path, &token, "{}");
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        assert_eq!((refused.status, detail.contains(part)), (403, true), "{detail}");
        site.stop();
    }
}

#[test]
fn a_stream_ends_with_its_token_and_with_its_session() {
    let site = Site::start("api-stream-end", IDLE, &[]);
    let token = site.token("mara", Scope::Look);
    let cookie = site.cookie(&json!({ "token": site.token("ada", Scope::Look) })).unwrap();
    let mut of_token = site.stream("/api/v1/events", &token);
    let mut of_session = BufReader::new(site.connect());
    let request = format!("GET /api/v1/events HTTP/1.1\r\nHost: {}\r\nCookie: {cookie}\r\n\r\n", site.host);
    of_session.get_mut().write_all(request.as_bytes()).unwrap();
    for stream in [&mut of_token, &mut of_session] {
        read_until(stream, &["event: hello"]);
    }
    assert_eq!(site.served.ask(&["token", "remove", "mara"]).code, 0);
    let out = [("Cookie", cookie.as_str()), OWN];
    assert_eq!(site.send("DELETE", "/api/v1/session", &out, "").status, 204);
    // Something to tell.
    site.served.says(&["pause", "idle"], 0, "");
    for stream in [&mut of_token, &mut of_session] {
        // The last chunk of the body.
        let rest = read_until(stream, &["\r\n0\r\n"]);
        assert!(!rest.contains("job.changed") && !rest.contains("server.ending"), "{rest}");
    }
    site.stop();
}

#[test]
fn the_audit_of_a_job_has_who_defined_it() {
    let site = Site::start("api-audit", IDLE, &["--define-over-http"]);
    let token = site.token("ada", Scope::Define);
    let job = json!({ "job": { "at": "2100-01-01T00:00:00Z", "run": ["true"] } }).to_string();
    let bearer = format!("Bearer {token}");
    let put = site.send("PUT", "/api/v1/jobs/new", &[("Authorization", &bearer)], &job);
    assert_eq!(put.status, 201, "{put:?}");
    let audit = site.get("/api/v1/audit?job=new", &token).json();
    assert_eq!(audit["items"][0]["action"], "define", "{audit}");
    assert_eq!(audit["items"][0]["note"], "", "the name is no note");
    site.stop();
}

#[test]
fn once_with_a_job_is_as_the_run_of_that_job() {
    let site = Site::start("api-once", IDLE, &[]);
    let token = site.token("mara", Scope::Operate);
    let (path, due) = ("/api/v1/once", json!("2100-02-01T04:00:00Z"));
    let later = json!({ "job": "idle", "at": due, "key": "k" }).to_string();
    for status in [201, 200] {
        let answer = site.post(path, &token, &later);
        assert_eq!((answer.status, &answer.json()["due"]), (status, &due), "{answer:?}");
    }
    assert_eq!(site.post(path, &token, r#"{ "job": "idle" }"#).status, 201, "without a time it is now");
    assert_eq!(site.post(path, &token, r#"{ "job": "idle", "in": "1d" }"#).status, 201);
    for late in [r#"{"job":"idle","at":"2020-01-01T00:00:00Z"}"#, r#"{"job":"idle","in":"-5h","key":"l"}"#] {
        assert_eq!(site.post(path, &token, late).status, 422, "{late}");
    }
    let late = r#"{"at":"2020-01-01T00:00:00Z","key":"l"}"#;
    assert_eq!(site.post("/api/v1/jobs/idle/run", &token, late).status, 422, "with a key as without");
    site.stop();
}

#[test]
fn an_action_on_many_is_done_to_all_however_fast_the_loop_is() {
    let site = Site::start("api-many", IDLE, &["--define-over-http"]);
    let token = site.token("ada", Scope::Define);
    let item = json!({ "at": "2100-01-01T00:00:00Z", "work": { "process": { "run": ["true"] } } });
    let batch = json!({ "items": vec![item; 800] }).to_string();
    let mut ids = Vec::new();
    for _ in 0..3 {
        let answer = site.post("/api/v1/once/batch", &token, &batch).json();
        ids.extend(answer["items"].as_array().unwrap().iter().map(|item| item["id"].clone()));
    }
    assert!(ids.iter().all(serde_json::Value::is_string), "each was taken");
    let action = json!({ "do": "cancel", "of": "runs", "ids": ids }).to_string();
    let begun = site.post("/api/v1/actions", &token, &action).json();
    let path = format!("/api/v1/actions/{}", begun["id"].as_str().unwrap());
    let mut state = begun;
    while state["state"] != "done" {
        state = site.get(&path, &token).json();
    }
    assert_eq!((&state["done"], &state["failed"]), (&json!(ids.len()), &json!(0)), "{state}");
    site.stop();
}

#[test]
fn one_of_many_changes_of_the_version_that_all_have_seen_is_made() {
    let site = Site::start("api-match", IDLE, &["--define-over-http"]);
    let token = site.token("ada", Scope::Define);
    let begin = |number: usize, header: &str| {
        let job = json!({ "job": { "at": "2100-01-01T00:00:00Z", "run": ["echo", number.to_string()] } });
        let (body, mut stream) = (job.to_string(), BufReader::new(site.connect()));
        let head =
            format!("PUT /api/v1/jobs/new HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}", site.host);
        let head =
            format!("{head}\r\n{header}Content-Type: application/json\r\nContent-Length: {}", body.len());
        stream.get_mut().write_all(format!("{head}\r\n\r\n{body}").as_bytes()).unwrap();
        stream
    };
    let tag = read_answer(&mut begin(0, "")).header("etag").unwrap().to_owned();
    let mut begun: Vec<_> = (1..=10).map(|number| begin(number, &format!("If-Match: {tag}\r\n"))).collect();
    let statuses: Vec<u16> = begun.iter_mut().map(|stream| read_answer(stream).status).collect();
    let count = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
    assert_eq!((count(200), count(412)), (1, 9), "{statuses:?}");
    site.stop();
}

#[test]
fn a_follower_that_comes_back_goes_on_where_it_was() {
    let site = Site::start("api-back", IDLE, &[]);
    let token = site.token("mara", Scope::Operate);
    let started = site.post("/api/v1/jobs/idle/run", &token, "{}").json();
    let run = format!("/api/v1/runs/{}/0", started["run"].as_str().unwrap().replace('@', "/"));
    let path = format!("{run}/output/events?after=0");
    let first = read_until(&mut site.stream(&path, &token), &["event: end"]);
    let id = first.lines().rev().find_map(|line| line.strip_prefix("id: ")).unwrap();
    let mut again = BufReader::new(site.connect());
    let head = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n", site.host);
    again.get_mut().write_all(format!("{head}Last-Event-ID: {id}\r\n\r\n").as_bytes()).unwrap();
    let rest = read_until(&mut again, &["event: end"]);
    assert!(first.contains("event: text") && !rest.contains("event: text"), "{rest}");
    site.stop();
}

#[test]
fn what_is_done_to_many_takes_no_key_and_is_done_once_to_each() {
    let site = Site::start("api-keys", IDLE, &[]);
    let token = site.token("mara", Scope::Operate);
    let bearer = format!("Bearer {token}");
    let keyed = [("Authorization", bearer.as_str()), ("Idempotency-Key", "k")];
    for path in ["once/batch", "actions", "jobs/idle/backfill"] {
        assert_eq!(site.send("POST", &format!("/api/v1/{path}"), &keyed, "{}").status, 400, "{path}");
    }
    let twice = r#"{"do":"run","of":"jobs","ids":["idle","idle"],"preview":true}"#;
    assert_eq!(site.post("/api/v1/actions", &token, twice).json()["count"], 1);
    site.stop();
}

#[test]
fn the_tag_of_a_job_covers_its_pause_and_a_job_is_made_only_where_there_is_none() {
    let site = Site::start("api-tags", IDLE, &["--define-over-http"]);
    let token = site.token("ada", Scope::Define);
    let bearer = format!("Bearer {token}");
    let job = json!({ "job": { "at": "2100-01-01T00:00:00Z", "run": ["true"] } }).to_string();
    let put = |path: &str, name: &str, value: &str| {
        let answer = site.send("PUT", path, &[("Authorization", bearer.as_str()), (name, value)], &job);
        (answer.status, String::from_utf8_lossy(&answer.body).into_owned())
    };
    let new = "/api/v1/jobs/new";
    assert_eq!([put(new, "If-None-Match", "*").0, put(new, "If-None-Match", "*").0], [201, 412]);
    let pause = |note: &str| {
        let paused = site.post(&format!("{new}/pause"), &token, &json!({ "note": note }).to_string());
        paused.header("etag").unwrap().to_owned()
    };
    let first = pause("a");
    assert_ne!(pause("b"), first, "another note is another pause");
    assert_eq!(put(new, "If-Match", &first).0, 412);
    let (status, text) = put("/api/v1/jobs/idle", "Accept", "*/*");
    assert!(status == 409 && text.contains("change it there"), "{status} {text}");
    let list = site.get("/api/v1/files", &token).header("etag").unwrap().to_owned();
    let packed = [("Authorization", bearer.as_str()), ("If-None-Match", &*format!("W/{list}"))];
    assert_eq!(site.send("GET", "/api/v1/files", &packed, "").status, 304, "a proxy has packed it");
    site.stop();
}

#[test]
fn a_page_of_jobs_begins_behind_one_that_is_gone_or_matches_no_more() {
    let site = Site::start("api-pages", IDLE, &["--define-over-http"]);
    let token = site.token("ada", Scope::Define);
    let bearer = format!("Bearer {token}");
    let define = |name: &str| {
        let job = json!({ "at": format!("2100-01-0{}T00:00:00Z", &name[2..]), "run": ["true"] });
        assert_eq!(
            site.post("/api/v1/jobs", &token, &json!({ "name": name, "job": job }).to_string()).status,
            201
        );
    };
    let remove =
        |name: &str| site.send("DELETE", &format!("/api/v1/jobs/{name}"), &[("Authorization", &bearer)], "");
    let act = |name: &str, what: &str| site.post(&format!("/api/v1/jobs/{name}/{what}"), &token, "{}");
    let page = |query: &str| {
        let page = site.get(&format!("/api/v1/jobs?q=zp&{query}"), &token).json();
        let items = page["items"].as_array().unwrap().iter();
        let names: Vec<String> = items.map(|job| job["name"].as_str().unwrap().to_owned()).collect();
        (names, page["next"].as_str().unwrap_or_default().replace('|', "%7C"))
    };
    (1..=9).for_each(|number| define(&format!("zp{number}")));
    for order in ["name", "-name", "next", "-next", "state", "-last", "median", "-p95"] {
        let all = page(&format!("sort={order}")).0;
        let (first, next) = page(&format!("sort={order}&limit=3"));
        assert_eq!((all.len(), &first[..]), (9, &all[..3]), "{order}");
        assert_eq!(remove(&first[2]).status, 204);
        assert_eq!(page(&format!("sort={order}&limit=3&after={next}")).0, all[3..6], "{order}");
        define(&first[2]);
    }
    let (all, (first, next)) = (page("state=active").0, page("state=active&limit=3"));
    assert_eq!(act(&first[2], "pause").status, 200);
    assert_eq!(page(&format!("state=active&limit=3&after={next}")).0, all[3..6]);
    assert_eq!(site.get("/api/v1/jobs?sort=next&after=zp3", &token).status, 400, "it is of another order");
    site.stop();
}

#[test]
fn two_keys_of_one_request_are_one_or_refused() {
    let site = Site::start("api-two-keys", IDLE, &[]);
    let token = site.token("mara", Scope::Operate);
    let bearer = format!("Bearer {token}");
    let keyed = [("Authorization", bearer.as_str()), ("Idempotency-Key", "a")];
    for (path, body) in [
        ("/api/v1/jobs/idle/run", json!({ "in": "1h", "key": "b" })),
        ("/api/v1/once", json!({ "job": "idle", "in": "1h", "key": "b" })),
    ] {
        assert_eq!(site.send("POST", path, &keyed, &body.to_string()).status, 400, "{path}");
    }
    let both = json!({ "job": "idle", "in": "1h", "key": "a" }).to_string();
    assert_eq!(site.send("POST", "/api/v1/once", &keyed, &both).status, 201, "they are the same");
    site.stop();
}
