//! The clients: they submit one-shot jobs, and insist until they are told that a job is on disk.
//!
//! A submission whose answer was lost is sent again with the same key. Three clients speak the protocol of
//! the socket, one runs `mainspring at`. Half of the jobs have a name, half may be repeated after they were
//! abandoned.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use jiff::Timestamp;
use mainspring_action::body::ProcessBody;
use mainspring_cli::client::{Address, Client};
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::error::Error;
use mainspring_server::protocol::{ErrorKind, Request, Response, SubmitWire, WorkWire};

use crate::clock;
use crate::crash_server::CrashServer;
use crate::dice::Dice;

const WIRE_CLIENTS: u64 = 3;

/// How often a client may be refused or cut off before it gives up: far more often than there are rounds.
const MAX_TRIES: u32 = 1_000_000;

/// The most retries of a job that may be repeated.
pub(crate) const MAX_RETRIES: u32 = 50;

/// A job that was submitted.
#[derive(Clone, Debug)]
pub(crate) struct Submission {
    pub(crate) key: String,
    /// What the job is called, as far as that is known.
    pub(crate) name: Option<String>,
    /// When it is due; by the command line it may be due later, because the program computes it.
    pub(crate) due_ns: i64,
    pub(crate) is_due_exact: bool,
    /// Whether it is started again after it was abandoned.
    pub(crate) is_repeated: bool,
    pub(crate) is_acknowledged: bool,
}

/// What all clients share.
#[derive(Default)]
struct Board {
    /// How many more jobs may be submitted.
    allowed: AtomicU64,
    is_over: AtomicBool,
    submissions: Mutex<Vec<Submission>>,
    complaints: Mutex<Vec<String>>,
}

/// All clients.
pub(crate) struct Clients {
    board: Arc<Board>,
    threads: Vec<JoinHandle<()>>,
}

impl Clients {
    pub(crate) fn start(served: &CrashServer, seed: u64) -> Result<Clients, String> {
        let board = Arc::new(Board::default());
        let mut threads = Vec::new();
        for number in 0..=WIRE_CLIENTS {
            let writer = Writer {
                number,
                dice: Dice::new(seed ^ (number + 1) << 32),
                served: CrashServer::clone(served),
                board: Arc::clone(&board),
                count: 0,
                client: None,
            };
            let thread = thread::Builder::new().name(format!("client {number}"));
            threads.push(thread.spawn(move || writer.work()).map_err(|error| error.to_string())?);
        }
        Ok(Clients { board, threads })
    }

    /// Lets the clients submit so many more.
    pub(crate) fn allow(&self, count: u64) {
        self.board.allowed.store(count, Ordering::Relaxed);
    }

    pub(crate) fn acknowledged_count(&self) -> usize {
        self.board.submissions.lock().expect("no client panics").len()
    }

    /// Waits until all that was submitted is acknowledged. A server must run.
    pub(crate) fn finish(self) -> Result<Vec<Submission>, String> {
        self.board.allowed.store(0, Ordering::Relaxed);
        self.board.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().map_err(|_| "a client panicked".to_owned())?;
        }
        let complaints = std::mem::take(&mut *self.board.complaints.lock().expect("no client panics"));
        if let Some(complaint) = complaints.into_iter().next() {
            return Err(complaint);
        }
        Ok(std::mem::take(&mut *self.board.submissions.lock().expect("no client panics")))
    }
}

struct Writer {
    number: u64,
    dice: Dice,
    served: CrashServer,
    board: Arc<Board>,
    count: u64,
    client: Option<Client>,
}

/// What came of one try.
enum TryOutcome {
    Acknowledged(Option<String>),
    Again,
    Refused(String),
}

impl Writer {
    fn work(mut self) {
        loop {
            let take = |left: u64| left.checked_sub(1);
            if self.board.allowed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
                if self.board.is_over.load(Ordering::Relaxed) {
                    return;
                }
                clock::sleep_ms(1);
                continue;
            }
            self.count += 1;
            if !self.submit() {
                return;
            }
            clock::sleep_us(self.dice.below(10_000));
        }
    }

    /// Submits one job, until it is acknowledged.
    fn submit(&mut self) -> bool {
        let key = format!("key-{}-{}", self.number, self.count);
        let by_command = self.number == WIRE_CLIENTS;
        let delay_ms = self.dice.below(2_500);
        let mut submission = Submission {
            name: (self.dice.below(2) == 0).then(|| format!("named-{}-{}", self.number, self.count)),
            due_ns: clock::now_ns() + i64::try_from(delay_ms).unwrap_or(0) * 1_000_000,
            is_due_exact: !by_command,
            is_repeated: self.dice.below(2) == 0,
            is_acknowledged: false,
            key,
        };
        let sleep_ms = if self.dice.below(4) == 0 { self.dice.below(600) } else { 0 };
        for _ in 0..MAX_TRIES {
            let tried = match by_command {
                true => self.by_command(&submission, delay_ms, sleep_ms),
                false => self.by_wire(&submission, sleep_ms),
            };
            match tried {
                TryOutcome::Acknowledged(name) => {
                    submission.name = submission.name.or(name);
                    submission.is_acknowledged = true;
                    self.board.submissions.lock().expect("no client panics").push(submission);
                    return true;
                }
                TryOutcome::Again => clock::sleep_ms(2),
                TryOutcome::Refused(reason) => {
                    let text = format!("{} was refused: {reason}", submission.key);
                    self.board.complaints.lock().expect("no client panics").push(text);
                    return false;
                }
            }
        }
        false
    }

    fn by_wire(&mut self, submission: &Submission, sleep_ms: u64) -> TryOutcome {
        let Some(mut client) = self.client.take().or_else(|| connect(&self.served.data())) else {
            return TryOutcome::Again;
        };
        let due = Timestamp::from_nanosecond(submission.due_ns.into()).expect("it is not far from now");
        let request = Request::Submit(Box::new(SubmitWire {
            due: due.to_string(),
            name: submission.name.clone(),
            key: Some(submission.key.clone()),
            work: WorkWire {
                process: ProcessBody {
                    run: self.served.command(&submission.key, sleep_ms),
                    cwd: Some("/".into()),
                    ..ProcessBody::default()
                },
                webhook: None,
                handler: None,
                policies: policies(submission),
            },
            ..SubmitWire::default()
        }));
        let tried = match client.ask(request) {
            Ok(Response::Submitted { name, .. }) => TryOutcome::Acknowledged(Some(name)),
            Ok(Response::Duplicate { name, .. }) => TryOutcome::Acknowledged(name),
            Err(Error::Refused(error)) if error.kind != ErrorKind::Temporary => {
                TryOutcome::Refused(error.message)
            }
            Err(_) => return TryOutcome::Again,
            Ok(other) => TryOutcome::Refused(format!("{other:?}")),
        };
        self.client = Some(client);
        tried
    }

    fn by_command(&self, submission: &Submission, delay_ms: u64, sleep_ms: u64) -> TryOutcome {
        let due = format!("+{delay_ms}ms");
        let policies = policies(submission);
        let mut words = vec!["at", &due, "--json", "--key", &submission.key];
        for policy in policies.split_whitespace() {
            words.extend(["--policy", policy]);
        }
        if let Some(name) = &submission.name {
            words.extend(["--name", name]);
        }
        let command = self.served.command(&submission.key, sleep_ms);
        words.push("--");
        words.extend(command.iter().map(String::as_str));
        let output = match self.served.ask(&words) {
            Ok(output) => output,
            Err(reason) => return TryOutcome::Refused(reason),
        };
        let text = String::from_utf8_lossy(&output.stdout);
        match output.status.code() {
            Some(0) => {
                let document: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
                let name = ["submitted", "duplicate"].iter().find_map(|kind| document[kind]["name"].as_str());
                TryOutcome::Acknowledged(name.map(str::to_owned))
            }
            // No server answers, or it broke off, or it is stopping.
            Some(3 | 75) => TryOutcome::Again,
            _ => {
                TryOutcome::Refused(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)))
            }
        }
    }
}

fn connect(data: &DataDirectory) -> Option<Client> {
    Client::connect(&Address::Here(data.clone())).ok()
}

fn policies(submission: &Submission) -> String {
    if submission.is_repeated {
        format!("retry={MAX_RETRIES},backoff=50ms,factor=1,on=failed+abandoned dead-letters=never")
    } else {
        String::new()
    }
}
