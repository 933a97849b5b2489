//! A server of a pool that listens while it stands by: it answers by way of the owner, and no connection is
//! refused when it takes over.

use std::fs;
use std::io::{BufRead, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mainspring_web::scope::Scope;
use nix::sys::signal::Signal;

use crate::cluster::{Member, prepared};
use crate::database::Database;
use crate::program::{Running, mainspring};
use crate::site::Site;
use crate::test_server::{IDLE, TestServer, folder, write};

/// How often a stream may say that nothing has happened, each 15 s, before that is believed: a change is told
/// within six.
const MAX_BEATS: usize = 4;

/// A server of a pool with a folder of its own.
fn member(folder: &Path, name: &str, args: &[&str]) -> TestServer {
    let own = folder.join(name);
    fs::create_dir_all(&own).unwrap();
    let [data, store, jobs] = [own.join("data"), folder.join("store"), folder.join("jobs.toml")]
        .map(|path| path.to_str().unwrap().to_owned());
    let arguments = [&["serve", "--data", &data, "--store-file", &store, &jobs], args].concat();
    TestServer { folder: own, running: Running::any(&arguments) }
}

/// Connects and asks again and again until `is_over`. Returns how often it was answered; each connection must
/// be made.
fn asked_until(host: &str, is_over: &AtomicBool, answers: &AtomicUsize) {
    while !is_over.load(Ordering::SeqCst) {
        let mut stream = TcpStream::connect(host).expect("no connection is refused");
        let request = format!("GET /livez HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let mut answer = String::new();
        // What was accepted by a listener that ends may get no answer.
        let _ = stream.write_all(request.as_bytes()).and_then(|()| stream.read_to_string(&mut answer));
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 200 "), "{answer}");
        answers.fetch_add(usize::from(!answer.is_empty()), Ordering::SeqCst);
    }
}

/// A server with an idle job, and one that listens, carries nothing out and plans when the first is gone.
pub(crate) struct Pair {
    pub(crate) folder: PathBuf,
    pub(crate) owner: TestServer,
    pub(crate) site: Site,
    pub(crate) database: Database,
}

impl Pair {
    fn start(name: &str) -> Option<Pair> {
        Pair::with(name, |_| IDLE.to_owned())
    }

    /// The same with other jobs, told in which folder.
    pub(crate) fn with(name: &str, jobs: impl FnOnce(&Path) -> String) -> Option<Pair> {
        let database = Database::start()?;
        let folder = folder(name);
        write(&folder.join("jobs.toml"), &jobs(&folder));
        fs::write(folder.join("store"), database.url() + "\n").unwrap();
        let mut owner = member(&folder, "owner", &[]);
        owner.running.wait_for(&["this server plans now"]);
        owner.running.wait_for(&["mainspring", ", data in "]);
        let host = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let mut standby = member(&folder, "standby", &["--no-work", &format!("--listen={host}")]);
        standby.running.wait_for(&["standing by: process"]);
        standby.running.wait_for_error("the page is at");
        Some(Pair { folder, owner, site: Site { served: standby, host }, database })
    }
}

#[test]
fn a_standby_answers_over_http_by_way_of_the_owner_and_refuses_nobody_when_it_takes_over() {
    let Some(Pair { folder, mut owner, mut site, database }) = Pair::start("standing") else { return };
    let token = site.token("ada", Scope::Operate);

    for path in ["/", "/livez", "/readyz"] {
        assert_eq!(site.get(path, &token).status, 200, "{path}");
    }
    let jobs = site.get("/api/v1/jobs", &token);
    assert!(jobs.status == 200 && jobs.json().to_string().contains("\"name\":\"idle\""), "{jobs:?}");
    assert_eq!(site.get("/api/v1/jobs", "mst_wrong").status, 401);
    let begun = site.post("/api/v1/jobs/idle/run", &token, "{}");
    assert!((200..300).contains(&begun.status), "{begun:?}");
    owner.running.wait_for(&["idle", "stdout ran"]);
    let audit = owner.ask(&["audit"]).stdout;
    assert!(audit.contains("asked for by token ada at process"), "{audit}");
    // The metrics are each server's own.
    let metrics = site.get("/metrics", &token);
    let text = String::from_utf8_lossy(&metrics.body);
    assert_eq!(metrics.status, 200, "{text}");
    assert!(text.contains("\nmainspring_planner 0"), "{text}");
    for own in ["build_info{", "process_resident_memory_bytes ", "http_requests_total{", "refused_total{"] {
        assert!(text.contains(&format!("\nmainspring_{own}")), "{own}: {text}");
    }
    assert!(
        !text.contains("mainspring_job") && !text.contains("mainspring_runs"),
        "those are the owner's: {text}"
    );

    let (is_over, answers) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| asked_until(&site.host, &is_over, &answers));
        assert_eq!(owner.running.stop().0.code(), Some(0));
        let mut seen = || site.served.running.wait_for(&["this server plans now"]);
        seen();
        site.served.running.wait_for(&["mainspring", "1 job"]);
        let before = answers.load(Ordering::SeqCst);
        while answers.load(Ordering::SeqCst) < before + 10 {
            std::thread::yield_now();
        }
        is_over.store(true, Ordering::SeqCst);
    });
    let metrics = site.get("/metrics", &token);
    assert_eq!(metrics.status, 200, "{metrics:?}");
    site.stop();
    drop(database);
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn clients_that_wait_at_a_standby_leave_room_for_those_that_look() {
    let held = |_: &Path| {
        "[jobs.held]\nevery = \"24h\"\ncwd = \"/\"\nshell = \"sleep 600\"\noverlap = \"allow\"\n".to_owned()
    };
    let Some(Pair { folder, mut owner, site, database }) = Pair::with("standing-crowd", held) else { return };
    let standby = &site.served;
    std::thread::scope(|scope| {
        let data = standby.data();
        let wait = move || mainspring(&["run", "held", "--wait", "--data", &data]).code;
        let waiting: Vec<_> = (0..8).map(|_| scope.spawn(wait.clone())).collect();
        for _ in 0..8 {
            owner.running.wait_for(&["held@", "start"]);
        }
        assert_eq!(standby.ask(&["health"]).code, 0);
        assert!(standby.ask(&["list"]).stdout.contains("held"));
        let refused = standby.ask(&["pause", "held"]);
        assert_eq!(refused.code, 75, "{}", refused.stderr);
        let why = "8 clients of this server ask the planner";
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
        owner.says(&["cancel", "held"], 0, "");
        assert!(waiting.into_iter().all(|waiting| waiting.join().unwrap() != 0));
    });
    site.stop();
    assert_eq!(owner.running.stop().0.code(), Some(0));
    drop(database);
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_page_at_a_standby_hears_that_the_owner_has_changed_something() {
    let Some(Pair { folder, owner, site, database }) = Pair::start("standing-page") else { return };
    let token = site.token("ada", Scope::Look);
    let mut events = site.stream("/api/v1/events", &token);
    let mut until_reset = || {
        let mut text = String::new();
        while !text.contains("event: reset") {
            assert!(0 < events.read_line(&mut text).unwrap(), "{text}");
            assert!(text.matches("event: beat").count() < MAX_BEATS, "nothing was heard: {text}");
        }
    };
    // One that the stream begins with, and one of the first look.
    until_reset();
    for number in 0..3 {
        assert_eq!(owner.ask(&["at", "+1h", "--name", &format!("later-{number}"), "--", "true"]).code, 0);
        until_reset();
    }
    let listed = site.get("/api/v1/once", &token).json().to_string();
    assert!(listed.contains("later-2"), "{listed}");
    // It ends with the server, whatever it waits for.
    site.stop();
    assert_eq!(owner.running.stop().0.code(), Some(0));
    drop(database);
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_standby_that_listens_ends_when_the_store_cannot_be_used() {
    let Some(Pair { folder, owner, site, database }) = Pair::start("standing-error") else { return };
    let dropped = database.psql("mainspring", "DROP SCHEMA mainspring CASCADE");
    assert!(dropped.status.success(), "{dropped:?}");
    for server in [site.served, owner] {
        let (status, lines, errors) = server.running.end();
        assert_ne!(status.code(), Some(0), "{lines:?} {errors}");
    }
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn systemd_is_told_that_a_standby_is_ready_and_continues() {
    let Some((folder, database)) = prepared("standing-systemd") else { return };
    let mut owner = Member::start(&folder, "owner", &database);
    owner.begins();
    let path = folder.join("notify.sock");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(crate::program::BOUND)).unwrap();
    let own = folder.join("standby");
    fs::create_dir_all(&own).unwrap();
    let url = database.url();
    let arguments = ["serve", "--data", own.to_str().unwrap(), "--store", &url, "--no-plan"];
    let standby = Running::any_with(&[("NOTIFY_SOCKET", path.to_str().unwrap())], &arguments);
    let mut wanted = ["READY=1\nSTATUS=standing by: ", "WATCHDOG=1", "WATCHDOG=1", "STOPPING=1"].into_iter();
    let mut next = wanted.next();
    while let Some(message) = next {
        let mut buffer = [0; 256];
        let count = socket.recv(&mut buffer).unwrap_or_default();
        assert!(0 < count, "systemd was not told {message}");
        if buffer.starts_with(message.as_bytes()) {
            next = wanted.next();
            if next == Some("STOPPING=1") {
                standby.signal(Signal::SIGTERM);
            }
        }
    }
    assert_eq!(standby.end().0.code(), Some(0));
    assert_eq!(owner.running.stop().0.code(), Some(0));
    let _ = fs::remove_dir_all(&folder);
}

/// A request to stop is for the program, whatever it is doing: here it has lost the jobs, and is about to
/// stand by. Chaos found it forgotten.
#[test]
fn a_request_to_stop_that_comes_while_the_jobs_are_given_up_is_heard() {
    let Some((folder, database)) = prepared("standing-stop") else { return };
    let mut one = Member::start(&folder, "one", &database);
    one.begins();
    let mut other = Member::start(&folder, "other", &database);
    other.running.wait_for(&["note ", "standing by: process"]);
    one.running.signal(Signal::SIGSTOP);
    other.begins();
    one.running.signal(Signal::SIGCONT);
    one.running.wait_for(&["this server plans no more, and what runs continues"]);
    assert_eq!(one.running.stop().0.code(), Some(0));
    assert_eq!(other.running.stop().0.code(), Some(0));
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn the_output_of_a_run_is_read_at_a_server_that_stands_by_while_it_runs_and_when_it_is_over() {
    let jobs = |folder: &Path| {
        let script =
            format!("echo one; until [ -e {} ]; do sleep 0.05; done; echo two", folder.join("go").display());
        format!("[jobs.long]\ncron = '0 0 1 1 *'\nshell = '{script}'\n")
    };
    let Some(Pair { folder, owner, site, database: _database }) = Pair::with("standing-output", jobs) else {
        return;
    };
    let go = folder.join("go");
    let token = site.token("ada", Scope::Operate);
    let begun = site.post("/api/v1/jobs/long/run", &token, "{}").json();
    let nominal = begun["run"].as_str().unwrap().split('@').nth(1).unwrap().to_owned();
    let path = format!("/api/v1/runs/long/{nominal}/0/output");

    let (mut events, mut text) = (site.stream(&format!("{path}/events"), &token), String::new());
    let mut until = |part: &str| {
        while !text.contains(part) {
            assert!(0 < events.read_line(&mut text).unwrap(), "{part} in {text}");
        }
        text.clone()
    };
    until("stdout one");
    fs::write(&go, "").unwrap();
    let text = until("event: end");
    assert_eq!((text.matches("stdout one").count(), text.matches("stdout two").count()), (1, 1), "{text}");
    let output = site.get(&path, &token);
    let text = String::from_utf8_lossy(&output.body).into_owned();
    assert!(output.header("x-complete") == Some("true") && text.lines().count() == 2, "{text}");
    site.stop();
    assert_eq!(owner.running.stop().0.code(), Some(0));
    let _ = fs::remove_dir_all(&folder);
}
