//! Single routes of the HTTP API, beside the checks that all of them have in common: see `http`.

use std::fs;
use std::io::{BufReader, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::thread;

use mainspring_exec::clock::Moment;
use mainspring_server::protocol::MAX_APPLIED_FILES;
use mainspring_web::scope::Scope;
use serde_json::{Value, json};

use crate::program::{BOUND, Running};
use crate::site::{Site, read_answer, read_head, read_until, resolved};
use crate::test_server::{IDLE, folder, write};

/// How often something is asked for that comes at once: a question takes a millisecond.
const MAX_ASKED: usize = 20_000;

#[test]
fn what_is_due_says_how_long_it_takes_however_many_jobs_there_are() {
    let never: Vec<String> =
        (0..200).map(|index| format!("[jobs.a-{index:03}]\nevery = '1h'\nrun = ['true']\n")).collect();
    let jobs = format!("{}[jobs.z]\nevery = '1h'\nrun = ['true']\n", never.concat());
    let site = Site::start("http-lanes", &jobs, &[]);
    let token = site.token("mara", Scope::Look);
    site.served.says(&["run", "z", "--wait"], 0, "succeeded");
    let upcoming = site.get("/api/v1/upcoming", &token).json();
    let lane = upcoming["lanes"].as_array().unwrap().iter().find(|lane| lane["job"] == "z").unwrap();
    assert!(lane["median_ms"].is_number(), "{lane}");
    site.stop();
}

#[test]
fn a_list_a_job_and_its_statistics_have_the_same_median_and_95th_percentile() {
    let jobs = "[jobs.z]\nat = 2100-01-01T00:00:00Z\nshell = 'sleep 0.0$MAINSPRING_ATTEMPT'\n";
    let site = Site::start("http-median", jobs, &[]);
    let token = site.token("mara", Scope::Look);
    for _ in 0..5 {
        site.served.says(&["run", "z", "--wait"], 0, "succeeded");
    }
    let of = |value: &Value| (value["median_ms"].clone(), value["p95_ms"].clone());
    let list = site.get("/api/v1/jobs", &token).json();
    let job = of(&site.get("/api/v1/jobs/z", &token).json());
    assert!(job.0.is_number() && job.1.is_number(), "{job:?}");
    assert_eq!(of(&list["items"][0]), job);
    assert_eq!(of(&site.get("/api/v1/jobs/z/stats", &token).json()["duration"]), job);
    site.stop();
}

#[test]
fn the_same_click_that_comes_twice_at_once_is_one_run() {
    let site = Site::start("http-click", IDLE, &[]);
    let token = site.token("mara", Scope::Operate);
    let at = site.get("/api/v1/status", &token).json()["now"].clone();
    let body = json!({ "at": at }).to_string();
    let click = || {
        let mut stream = site.connect();
        write!(
            stream,
            "POST /api/v1/jobs/idle/run HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            site.host,
            body.len()
        )
        .unwrap();
        stream
    };
    let streams: Vec<_> = (0..6).map(|_| click()).collect();
    let answers: Vec<_> =
        streams.into_iter().map(|stream| read_answer(&mut BufReader::new(stream))).collect();
    let first = answers.iter().find(|answer| answer.status == 202).unwrap();
    assert!(answers.iter().all(|answer| answer.json()["run"] == first.json()["run"]), "{answers:#?}");
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 5);
    assert_eq!(first.header("location"), first.json()["href"].as_str());
    let runs = site.get("/api/v1/runs?job=idle&cause=request", &token).json();
    assert_eq!(runs["items"].as_array().unwrap().len(), 1, "{runs:#}");
    site.stop();
}

#[test]
fn what_was_made_is_where_its_location_leads() {
    let site = Site::start("http-location", IDLE, &["--define-over-http"]);
    let token = site.token("mara", Scope::Define);
    let own = json!({ "in": "1h", "work": { "process": { "run": ["true"] } } });
    let made = [
        ("/api/v1/jobs/idle/run", json!({ "in": "1h" })),
        ("/api/v1/once", json!({ "job": "idle", "in": "2h" })),
        ("/api/v1/once", own),
        ("/api/v1/jobs", json!({ "name": "new", "job": { "every": "1h", "run": ["true"] } })),
    ];
    for (path, body) in made {
        let answer = site.post(path, &token, &body.to_string());
        let place = resolved(path, answer.header("location").unwrap_or_else(|| panic!("{path}: {answer:?}")));
        assert_eq!(site.get(&place, &token).status, 200, "{path}: {place}");
    }
    site.stop();
}

#[test]
fn what_is_done_with_a_run_is_refused_where_its_state_forbids_it() {
    let jobs = "[jobs.fails]\nat = 2100-01-01T00:00:00Z\nrun = ['false']\ndead_letters = 'always'\n\
                [jobs.long]\nat = 2100-01-01T00:00:00Z\nrun = ['sleep', '600']\n";
    let site = Site::start("http-states", jobs, &[]);
    let token = site.token("mara", Scope::Operate);
    let act = |run: &Value, what: &str| {
        let nominal = run["nominal"].as_str().unwrap();
        let path = format!("/api/v1/runs/{}/{nominal}/0/{what}", run["job"].as_str().unwrap());
        site.post(&path, &token, "{}").status
    };
    let newest = |job: &str| site.get(&format!("/api/v1/runs?job={job}"), &token).json()["items"][0].clone();
    site.served.says(&["run", "long"], 0, "long@");
    let long = newest("long");
    assert_eq!((act(&long, "retry"), act(&long, "drop")), (409, 409), "it is open");
    assert_eq!(act(&long, "cancel"), 202);
    assert!((0..MAX_ASKED).any(|_| !newest("long")["ended"].is_null()), "it ends");
    assert_eq!((act(&long, "cancel"), act(&long, "retry")), (409, 409), "it is cancelled");
    site.served.says(&["run", "fails", "--wait"], 1, "dead");
    let dead = newest("fails");
    assert_eq!((act(&dead, "cancel"), act(&dead, "drop")), (409, 202));
    assert_eq!((act(&dead, "drop"), act(&dead, "retry")), (409, 409), "it is let go of");
    assert_eq!(act(&json!({ "job": "long", "nominal": "2000-01-01T00:00:00Z" }), "cancel"), 404);
    let stats = site.get("/api/v1/jobs/long/stats", &token);
    assert_eq!(stats.status, 200, "{stats:?}");
    let past = json!({ "from": "2100-01-01T00:00:00Z", "to": "2100-01-02T00:00:00Z", "expected": 7 });
    let backfill = site.post("/api/v1/jobs/long/backfill", &token, &past.to_string());
    assert!(matches!(backfill.status, 409 | 422), "what is not past is not made up for: {backfill:?}");
    let page = site.get("/", &token);
    for (name, value) in [
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(page.header(name), Some(value), "{name}");
    }
    site.stop();
}

#[test]
fn a_log_that_is_followed_again_goes_on_behind_what_was_read() {
    let jobs = "[jobs.idle]\nat = 2100-01-01T00:00:00Z\nshell = 'echo first; echo second'\n";
    let site = Site::start("http-again", jobs, &[]);
    let token = site.token("mara", Scope::Look);
    site.served.says(&["run", "idle", "--wait"], 0, "succeeded");
    let runs = site.get("/api/v1/runs", &token).json();
    let path = format!("/api/v1/runs/idle/{}/0/output", runs["items"][0]["nominal"].as_str().unwrap());
    let whole = site.get(&path, &token).body;
    let read = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let mut stream = site.connect();
    write!(
        stream,
        "GET {path}/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nLast-Event-ID: {read}\r\n\r\n",
        site.host
    )
    .unwrap();
    let mut reader = BufReader::new(stream);
    let (status, head) = read_head(&mut reader);
    assert_eq!(status, 200);
    let head = head.to_lowercase();
    assert!(head.contains("cache-control: no-store") && head.contains("x-accel-buffering: no"), "{head}");
    let text = read_until(&mut reader, &["event: end"]);
    assert!(text.contains("second") && !text.contains("first"), "{text}");
    assert!(text.contains(&format!("id: {}", whole.len())), "{text}");
    site.stop();
}

#[test]
fn a_one_shot_job_that_is_pending_is_next_and_its_run_says_what_it_did() {
    let site = Site::start("http-once", IDLE, &[]);
    let token = site.token("mara", Scope::Look);
    site.served.says(&["at", "2099-01-01T00:00:00Z", "--name", "far", "--", "false"], 0, "far");
    assert_eq!(site.get("/api/v1/status", &token).json()["next"], "2099-01-01T00:00:00Z");
    site.served.says(&["at", "now", "--", "test", "-d", "/"], 0, "once-");
    let ended = || {
        let runs = site.get("/api/v1/runs?cause=once&state=succeeded", &token).json();
        runs["items"].as_array().unwrap().first().cloned()
    };
    let run = std::iter::repeat_with(ended).take(MAX_ASKED).flatten().next().unwrap();
    assert_eq!(run["action"], "test -d /");
    site.served.says(&["history"], 0, "test -d /");
    site.stop();
}

#[test]
fn once_of_a_job_is_a_run_of_that_job_at_a_time() {
    let site = Site::start("http-once-of-a-job", IDLE, &[]);
    let token = site.token("mara", Scope::Operate);
    let ask = |path: &str, body: Value| site.post(path, &token, &body.to_string());
    let asked = ask("/api/v1/once", json!({ "job": "idle", "in": "1h", "key": "ticket 7" }));
    assert_eq!(asked.status, 201, "{:?}", asked.json());
    let run = asked.json()["id"].as_str().unwrap().to_owned();
    assert!(run.starts_with("idle@"), "{run}");
    assert_eq!(asked.json()["run"], asked.json()["id"], "it is a run, and no one-shot job");
    let once_again = ask("/api/v1/once", json!({ "job": "idle", "in": "1h", "key": "ticket 7" }));
    assert_eq!((once_again.status, &once_again.json()["is_new"]), (200, &json!(false)));
    assert_ne!(asked.json()["due"], json!(null));
    for field in ["id", "state", "due"] {
        assert_eq!(once_again.json()[field], asked.json()[field], "{field}");
    }
    assert_eq!(ask("/api/v1/once", json!({ "job": "idle", "in": "1h", "key": "" })).status, 400);
    // Under its key, whatever is asked in which way.
    let again = ask("/api/v1/jobs/idle/run", json!({ "in": "2h", "key": "ticket 7" }));
    assert_eq!((again.status, again.json()["run"].as_str()), (200, Some(run.as_str())));
    site.served.says(&["run", "idle", "--at", "+3h", "--key", "ticket 7"], 0, &run);
    // It waits as a run of the job, which everybody sees and may take back.
    let waiting = site.get("/api/v1/runs?job=idle&state=scheduled", &token).json();
    let items = waiting["items"].as_array().unwrap();
    assert_eq!(
        (items.len(), items[0]["run"].as_str(), items[0]["cause"].as_str()),
        (1, Some(&*run), Some("request"))
    );
    assert_eq!(site.get("/api/v1/once", &token).json()["items"], json!([]));
    site.served.says(&["show", "idle"], 0, &run);
    site.served.says(&["run", "idle", "--in", "90m"], 0, "idle@");
    site.served.says(&["cancel", &run], 0, "");
    let waiting = site.get("/api/v1/runs?job=idle&state=scheduled", &token).json();
    assert_eq!(waiting["items"].as_array().unwrap().len(), 1, "the other still waits");
    for wrong in [
        json!({ "job": "idle", "in": "1h", "policies": "retry=3" }),
        json!({ "job": "idle", "in": "1h", "name": "other" }),
        json!({ "job": "idle", "in": "1h", "at": "2099-01-01T00:00:00Z" }),
    ] {
        assert_eq!(ask("/api/v1/once", wrong.clone()).status, 422, "{wrong}");
    }
    assert_eq!(ask("/api/v1/jobs/idle/run", json!({ "at": "2020-01-01T00:00:00Z" })).status, 422);
    assert_eq!(ask("/api/v1/once", json!({ "job": "none", "in": "1h" })).status, 404);
    site.stop();
}

/// As many streams of one token as the manual says.
const MAX_STREAMS: usize = 12;

#[test]
fn there_are_so_many_streams_and_no_more_and_one_that_ends_makes_room() {
    let site = Site::start("http-streams", IDLE, &[]);
    let token = site.token("mara", Scope::Look);
    let opened = || {
        let mut reader = site.stream("/api/v1/events", &token);
        let status = read_head(&mut reader).0;
        (status, reader)
    };
    let mut streams: Vec<_> = (0..MAX_STREAMS).map(|_| opened()).collect();
    assert!(streams.iter().all(|(status, _)| *status == 200));
    assert_eq!(opened().0, 429);
    assert_eq!(site.get("/api/v1/status", &token).status, 200, "questions are answered meanwhile");
    streams.pop();
    let is_room = (0..MAX_ASKED).any(|_| opened().0 == 200);
    assert!(is_room, "the server sees that a stream has ended");
    drop(streams);
    site.stop();
}

#[test]
fn a_backfill_tells_first_what_it_would_do_and_does_that_and_nothing_else() {
    let jobs = "[jobs.hourly]\ncron = '0 * * * *'\nrun = ['true']\noverlap = 'queue-all'\n";
    let site = Site::start("http-backfill", jobs, &[]);
    let token = site.token("mara", Scope::Operate);
    let ask = |body: Value| site.post("/api/v1/jobs/hourly/backfill", &token, &body.to_string());
    let range = json!({ "from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z" });
    let with = |name: &str, value: Value| {
        let mut body = range.clone();
        body[name] = value;
        body
    };
    let preview = ask(with("preview", json!(true)));
    assert_eq!(preview.status, 200, "{preview:?}");
    let preview = preview.json();
    let count = preview["count"].as_u64().unwrap();
    assert!((24..=25).contains(&count), "{preview}");
    let times = preview["times"].as_array().unwrap();
    assert_eq!(
        (times.len(), &times[0]["at"]),
        (20, &json!("2026-01-01T00:00:00Z")),
        "the first of them: {preview}"
    );
    assert_eq!(ask(with("expected", json!(count + 1))).status, 409, "it is not what was previewed");
    let none = site.get("/api/v1/runs?job=hourly&cause=backfill", &token).json();
    assert_eq!(none["items"].as_array().unwrap().len(), 0);
    let done = ask(with("expected", json!(count)));
    assert_eq!(done.status, 202, "{done:?}");
    let found = || {
        let runs = site.get("/api/v1/runs?job=hourly&cause=backfill", &token).json();
        runs["items"].as_array().unwrap().len() as u64
    };
    assert!((0..MAX_ASKED).any(|_| found() == count), "each time has its run");
    site.stop();
}

#[test]
fn a_socket_in_a_folder_is_for_its_owner_and_its_group() {
    let folder = folder("http-socket");
    write(&folder.join("jobs.toml"), IDLE);
    let path = folder.join("page.sock");
    let listen = format!("--listen=unix:{}", path.display());
    // Whatever the mask of the server's own files is, a looser and a stricter one.
    for mask in ["000", "077"] {
        let (data, file) = (folder.join("data"), folder.join("jobs.toml"));
        let args = ["serve", "--data", data.to_str().unwrap(), &listen, file.to_str().unwrap()];
        let mut running = Running::after(&format!("umask {mask}"), &args);
        running.wait_for(&[", data in "]);
        let found = fs::symlink_metadata(&path).unwrap();
        assert!(found.file_type().is_socket());
        assert_eq!(found.permissions().mode() & 0o7777, 0o660, "umask {mask}");
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        assert_eq!(read_answer(&mut BufReader::new(stream)).status, 200);
        let (status, lines, errors) = running.stop();
        assert_eq!(status.code(), Some(0), "{lines:#?} {errors}");
    }
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn root_is_warned_of_tokens_that_define_and_nobody_is_of_others() {
    if !nix::unistd::Uid::effective().is_root() {
        let _ = std::io::stderr().write_all(b"SKIPPED: only root's server has the warning\n");
        return;
    }
    let said = |name: &str, args: &[&str]| {
        let site = Site::start(name, IDLE, args);
        let (status, lines, errors) = site.served.running.stop();
        assert_eq!(status.code(), Some(0), "{lines:#?} {errors}");
        let _ = fs::remove_dir_all(&site.served.folder);
        errors
    };
    let wanted = "mainspring: warning: tokens of the scope define run any command as root: \
                  serve without --define-over-http, or not as root\n";
    let errors = said("http-root", &["--define-over-http"]);
    assert!(errors.contains(wanted), "{errors}");
    let errors = said("http-root-bare", &[]);
    assert!(!errors.contains("warning"), "{errors}");
}

/// The longest body with files of jobs, as the manual says.
const MAX_FILES_BYTES: usize = 16 << 20;

/// So many files are filled up, each with less than a file may have.
const FILLED: usize = 5;

#[test]
fn files_of_sixteen_mebibytes_are_applied_and_of_a_byte_more_are_not() {
    let site = Site::start("http-apply", IDLE, &["--define-over-http"]);
    let token = site.token("mara", Scope::Define);
    // As many files as there may be; a comment fills each of the first up: a file has at most 4 MiB.
    let body = |name: &str, length: usize| {
        let filled = |count: usize| {
            let job = format!("[jobs.{name}]\nat = 2100-01-01T00:00:00Z\nrun = ['true']\n#");
            let rest = |number: usize| match number {
                1..FILLED => format!("#{}", "x".repeat(count / FILLED)),
                _ => String::new(),
            };
            let others = (1..MAX_APPLIED_FILES).map(|number| (format!("{number}.toml"), rest(number)));
            let first = job + &"x".repeat(count - (FILLED - 1) * (count / FILLED));
            let files = std::iter::once(("a.toml".to_owned(), first)).chain(others);
            let files: Vec<Value> = files.map(|(path, text)| json!({ "path": path, "text": text })).collect();
            json!({ "files": files }).to_string()
        };
        filled(length - filled(0).len())
    };
    let asked = |length: &str, body: &str| {
        let head = format!(
            "POST /api/v1/apply HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\n{length}\r\n\r\n",
            site.host
        );
        site.raw(format!("{head}{body}").as_bytes())
    };
    let long = body("long", MAX_FILES_BYTES + 1);
    // By what is said of the length, before a byte of it is read; and by what comes, if nothing is said.
    let told = asked(&format!("Content-Length: {}", long.len()), "");
    assert_eq!((told.status, told.json()["type"].as_str()), (413, Some("urn:mainspring:problem:too_large")));
    assert!(told.json()["detail"].as_str().unwrap().contains("16777216 bytes"), "{told:?}");
    let chunks = format!("{:x}\r\n{long}\r\n0\r\n\r\n", long.len());
    assert_eq!(asked("Transfer-Encoding: chunked", &chunks).status, 413);
    let names = || {
        let jobs = site.get("/api/v1/jobs", &token).json();
        let names: Vec<String> = jobs["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|job| job["name"].as_str().unwrap().into())
            .collect();
        names
    };
    assert_eq!(names(), ["idle"]);
    let most = body("most", MAX_FILES_BYTES);
    // On a machine that is busy it may take longer than an answer may.
    let taken = asked(&format!("Content-Length: {}", most.len()), &most);
    assert!([200, 503].contains(&taken.status), "{taken:?}");
    let began = Moment::now();
    while names() != ["idle", "most"] {
        assert!(Moment::now().since(began) < BOUND, "they are not applied");
        thread::yield_now();
    }
    site.stop();
}

/// The names under which a route takes a time in its query.
const TIMES: [&str; 4] = ["from", "to", "since", "until"];

#[test]
fn every_time_in_a_query_is_understood_as_a_whole_or_refused() {
    let site = Site::start("routes-times", IDLE, &[]);
    let token = site.token("mara", Scope::Look);
    let described = site.get("/api/v1/openapi.json", &token).json();
    let mut tried = Vec::new();
    for (path, methods) in described["paths"].as_object().unwrap() {
        let parameters = methods["get"]["parameters"].as_array().into_iter().flatten();
        let names = parameters.filter_map(|parameter| parameter["name"].as_str());
        for name in names.filter(|name| TIMES.contains(name)) {
            let path = path.replace("{job}", "idle");
            let ask = |time: &str| {
                // Behind the `from` of a span, `to` lies.
                let rest = if name == "to" { "&from=2027-01-05T00:00:00Z" } else { "" };
                let time = time.replace('+', "%2B").replace('[', "%5B").replace(']', "%5D");
                site.get(&format!("{path}?{name}={time}{rest}"), &token)
            };
            for time in ["2027-01-05T09:00:00Z", "2027-01-05T09:00:00[America/New_York]"] {
                let answer = ask(time);
                assert_eq!(answer.status, 200, "{path} {name}={time}: {}", answer.json());
            }
            for time in [
                "2027-01-05T09:00:00Z[Nowhere/Zone]",
                "2027-01-05T09:00:00+01:00[America/New_York]",
                "2027-01-05T09:00:00Z[u-ca=gregory]",
                "2027-01-05T09:00:00",
                "2027-01-05",
            ] {
                assert_eq!(ask(time).status, 400, "{path} {name}={time}");
            }
            tried.push(format!("{path}?{name}"));
        }
    }
    assert!(6 <= tried.len(), "{tried:?}");
    site.stop();
}

#[test]
fn a_job_is_shown_as_it_is_at_once_however_it_was_changed() {
    let site = Site::start("routes-fresh", IDLE, &[]);
    let token = site.token("mara", Scope::Look);
    // Changes are watched from the first look on.
    assert_eq!(site.get("/api/v1/jobs/idle", &token).json()["pause"], json!(null));
    for until in ["2100-01-01T00:00:00Z", "2100-01-02T00:00:00Z", "2100-01-03T00:00:00Z"] {
        site.served.says(&["pause", "idle", "--until", until], 0, "");
        assert_eq!(site.get("/api/v1/jobs/idle", &token).json()["pause"]["until"], until);
    }
    site.stop();
}
