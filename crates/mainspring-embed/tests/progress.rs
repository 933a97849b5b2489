//! The progress of runs, as people see it who look: over the API, in its stream of events, and with commands.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

use mainspring_embed::{Cron, Options, Run};
use serde_json::{Value, json};

use super::*;

/// What the test has its handler do next.
enum Step {
    Tell(u64, u64),
    /// All from 1 to this, of as many.
    Count(u64),
    End(Done),
}

/// A program with a page, and a handler that does as it is told.
struct Site {
    jobs: Jobs,
    folder: PathBuf,
    /// Where the page is, and the proof of who looks.
    host: String,
    cookie: String,
    steps: Sender<Step>,
    /// Each attempt that has begun.
    runs: Receiver<Run>,
}

impl Site {
    fn start(name: &str) -> Site {
        let folder = folder(name);
        let ((steps, told), (began, runs)) = (channel(), channel());
        let (told, began) = (Mutex::new(told), Mutex::new(began));
        let handler = move |run: &Run| -> Done {
            began.lock().unwrap().send(run.clone()).unwrap();
            loop {
                match heard(&told.lock().unwrap()) {
                    Step::Tell(done, of) => run.progress(done, of),
                    Step::Count(of) => (1..=of).for_each(|done| run.progress(done, of)),
                    Step::End(done) => return done,
                }
            }
        };
        let rules = Options::new("copy").retry(1).backoff(Duration::from_millis(1));
        let jobs = Jobs::open(&folder)
            .unwrap()
            .job(rules, Cron::parse("0 0 29 2 *").unwrap(), handler)
            .page("127.0.0.1:0")
            .start()
            .unwrap();
        let mut site = Site { jobs, folder, host: String::new(), cookie: String::new(), steps, runs };
        let login = &site.command("login_code", "")["login_code"];
        let address = login["addresses"][0].as_str().unwrap().trim_start_matches("http://");
        site.host = address.trim_end_matches('/').to_owned();
        let body = json!({ "code": login["code"] }).to_string();
        let head = format!(
            "Sec-Fetch-Site: same-origin\r\nContent-Length: {}\r\nContent-Type: application/json",
            body.len()
        );
        let mut signed = String::new();
        site.http("POST", "session", &head, &body).read_to_string(&mut signed).unwrap();
        let cookie = signed.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect(&signed);
        site.cookie = format!("Cookie: {}", cookie.split(';').next().unwrap());
        site
    }

    fn http(&self, method: &str, path: &str, headers: &str, body: &str) -> TcpStream {
        let (mut stream, host) = (TcpStream::connect(&self.host).unwrap(), &self.host);
        let head = format!("{method} /api/v1/{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
        write!(stream, "{head}{headers}\r\n\r\n{body}").unwrap();
        stream
    }

    fn get(&self, path: &str) -> Value {
        let mut answer = String::new();
        self.http("GET", path, &self.cookie, "").read_to_string(&mut answer).unwrap();
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).expect(&answer)
    }

    /// The answer to what a command of `mainspring` asks over the socket.
    fn command(&self, command: &str, more: &str) -> Value {
        let mut stream = UnixStream::connect(self.folder.join("mainspring.sock")).unwrap();
        writeln!(stream, r#"{{"id":1,"command":"{command}"{more}}}"#).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// The progress of the run while it runs, until it is this; all that was seen before.
    fn progress_until(&self, wanted: &Value) -> Vec<Value> {
        let mut seen = Vec::new();
        loop {
            let run = self.get("runs?state=running")["items"][0].clone();
            if run["progress"] == *wanted {
                return seen;
            }
            seen.push(run);
            let _ = self.runs.recv_timeout(Duration::from_millis(5));
            assert!(seen.len() < 10_000, "{:?}", seen.last());
        }
    }

    fn tell(&self, step: Step) {
        self.steps.send(step).unwrap();
    }
}

#[test]
fn a_run_shows_its_progress_while_it_goes_on_and_no_other_run_does() {
    let site = Site::start("progress");
    site.jobs.run_now("copy").unwrap();
    let first = heard(&site.runs);
    assert_eq!(site.get("runs?state=running")["items"][0].get("progress"), None, "it has told none");
    site.tell(Step::Tell(42, 100));
    site.progress_until(&json!({ "done": 42, "of": 100 }));
    for (command, more, place) in
        [("history", "", "/runs/runs/0"), ("list", "", "/jobs/jobs/0"), ("show", r#","job":"copy""#, "/job")]
    {
        let answer = site.command(command, more);
        let shown = answer.pointer(place).map(|shown| &shown["progress"]);
        assert_eq!(shown, Some(&json!({ "done": 42, "of": 100 })), "{answer}");
    }
    assert_eq!(site.get("jobs/copy")["progress"], json!({ "done": 42, "of": 100 }));

    // Somebody who listens is told, though nothing is written.
    let mut events = BufReader::new(site.http("GET", "events", &site.cookie, "")).lines();
    assert!(events.any(|line| line.unwrap().starts_with("event: hello")));
    // A thousand times a thousand calls are one update or a few, and the last of them counts.
    site.tell(Step::Count(1_000_000));
    let seen = site.progress_until(&json!({ "done": 1_000_000, "of": 1_000_000 }));
    assert!(seen.iter().all(|run| run["state"] == "running"), "{seen:?}");
    assert!(events.any(|line| line.unwrap().starts_with("event: run.changed")));

    // Of how many is not known; more than there are; all that a number may be.
    site.tell(Step::Tell(7, 0));
    site.progress_until(&json!({ "done": 7 }));
    site.tell(Step::Tell(101, 100));
    site.progress_until(&json!({ "done": 100, "of": 100 }));
    site.tell(Step::Tell(u64::MAX, u64::MAX));
    site.progress_until(&json!({ "done": u64::MAX, "of": u64::MAX }));

    // Another attempt begins without, whatever the one before still tells.
    site.tell(Step::End(Err("again".to_owned())));
    let second = heard(&site.runs);
    assert_eq!((first.attempt(), second.attempt()), (1, 2));
    assert_eq!(site.get("runs?state=running")["items"][0].get("progress"), None);
    first.progress(1, 2);
    site.tell(Step::Tell(5, 6));
    let seen = site.progress_until(&json!({ "done": 5, "of": 6 }));
    assert!(seen.iter().all(|run| run.get("progress").is_none()), "{seen:?}");

    // And what is over has none.
    site.tell(Step::End(Ok(())));
    assert_eq!(wait_until("copy", &site.jobs, |run| !run.state.is_open()).state, RunState::Succeeded);
    second.progress(5, 6);
    assert_eq!(site.get("runs")["items"][0].get("progress"), None);
    assert_eq!(site.command("list", "").pointer("/jobs/jobs/0/progress"), None);
    site.jobs.shutdown(LONG).unwrap();
}
