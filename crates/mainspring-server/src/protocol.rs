//! The messages between a client and the server over the socket: one JSON document a line, in both
//! directions.
//!
//! ```text
//! {"id": 1, "command": "run", "job": "backup", "wait": true}
//!                                              {"id": 1, "planned": {"run": "backup@2026-11-21T03:00:00Z"}}
//!                                              {"id": 1, "ended": {"run": .., "state": "succeeded", ..}}
//! ```
//!
//! Requests of a connection may be sent without waiting for answers; an answer carries the id of its request.
//! A request has one answer, except for `logs` with `follow` and `run` with `wait`, which have several and
//! end with `done` or `ended`. Times are RFC 3339. Fields and commands are only added, never renamed. A
//! request with something in it that the server does not know is refused, see [`IdentifiedRequest::read`]; a
//! client ignores what it does not know of an answer.
//!
//! Answers are values here: times, keys, and each [`Word`] of a list. What a client names in a request, as a
//! time, is its text: the server refuses a wrong one with an answer of its own, and reads the next request.
//! An outcome and a reason are sentences beside their codes.
//!
//! Cost: one line.
//!
//! Does not carry secrets: a definition names files.
//!
//! Source: newline-delimited JSON, <https://github.com/ndjson/ndjson-spec>.

use jiff::Timestamp;
use mainspring_file::plain;
use mainspring_job::{Cause, JobName, RunKey, RunState};
use serde::{Deserialize, Serialize};

use crate::exit::Exit;

mod audit;
mod cluster;
mod expression;
mod health;
mod job;
mod line;
mod metrics;
mod page;
mod progress;
mod question;
mod reading;
mod request;
mod row;
#[cfg(feature = "schema")]
pub mod schema;
mod word;
mod work;

pub use audit::{AuditAskWire, AuditWire};
pub use cluster::{ClusterWire, DatabaseWire, LostServerWire, MemberWire};
pub use expression::{
    ChangeWire, ExplanationWire, ExpressionRequest, FieldWire, Question, TranslationWire, WarningWire,
    read_expression, zone_name,
};
pub use health::{ClockStepWire, HealthWire, MAX_NAMED, NamesWire};
pub use job::{HoldWire, JobState, JobWire, MAX_WAITING_SHOWN, PauseTermsWire, SourceCode};
pub use metrics::{
    BOUNDS_OPERATIONS, BOUNDS_S, HistogramWire, JobMetricsWire, MAX_METERED_JOBS, METERED_JOBS, MetricsWire,
    WaitingWire,
};
pub use page::{AttemptWire, ChangesWire, FoundWire, LoginWire, RunChangeWire};
pub use progress::ProgressWire;
pub use question::{ALL_CAUSES, HistoryWire, ListWire, NOTIFY_CAUSE, PauseWire};
pub use reading::{IdentifiedRequest, MAX_VALUES, check_values};
pub use request::{FileWire, Request};
pub use row::{Answers, Backend, Effect, Power, Row};
pub use word::Word;
pub use work::{EveryWire, HandlerWire, SubmitWire, WorkWire};

/// The longest request: the longest file of jobs, as JSON writes it.
pub const MAX_REQUEST_BYTES: usize = 16 << 20;

/// The most files of one `apply`.
pub const MAX_APPLIED_FILES: usize = 256;

/// The most rows of one page of runs or jobs.
pub const MAX_ROWS: usize = 1_000;

const _: () = assert!(MAX_ROWS <= mainspring_job::MAX_PAGE, "a store gives as many as it is asked for");

/// An answer with the id of its request, which comes first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IdentifiedResponse {
    /// That of the request.
    pub id: u64,
    /// The answer.
    #[serde(flatten)]
    pub response: Response,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the documents that --json prints")]
pub enum Response {
    /// It is so, or there is no more.
    Done(Done),
    Error(ErrorWire),
    Status(Box<StatusWire>),
    Health(Box<HealthWire>),
    /// `None`: the store does not count.
    Recounted(Option<Vec<String>>),
    Jobs {
        jobs: Vec<JobWire>,
        after: Option<String>,
    },
    /// A page of one-shot jobs that wait; `after` is the place at which the next page begins.
    Pending {
        pending: Vec<OnceWire>,
        after: Option<String>,
    },
    Job(Box<JobWire>),
    Once(OnceWire),
    Runs {
        runs: Vec<RunWire>,
        cursor: Option<String>,
    },
    Line(LineWire),
    Planned {
        run: RunKey,
    },
    Ended(Box<RunWire>),
    Submitted {
        name: String,
        due: Timestamp,
    },
    /// The very submission is there already. A server before this had no more than the name.
    Duplicate {
        name: Option<String>,
        due: Option<Timestamp>,
        /// `pending`, or the state of its run.
        state: Option<String>,
        why: Option<String>,
    },
    Preview {
        times: Vec<Timestamp>,
    },
    Backfilled {
        count: usize,
        series: u32,
    },
    /// What a rewind would let run: the first times, and how many there are, those that do not run again
    /// among them.
    Rewinding {
        times: Vec<Timestamp>,
        count: u64,
        planned: Timestamp,
    },
    Rewound {
        from: Timestamp,
    },
    Applied(AppliedWire),
    Export {
        texts: Vec<String>,
        after: Option<String>,
    },
    Found(Box<FoundWire>),
    /// A page of rows; `before` is the place at which the next page begins.
    Audit {
        rows: Vec<AuditWire>,
        before: Option<u64>,
    },
    Metrics(Box<MetricsWire>),
    LoginCode(LoginWire),
    Changes(ChangesWire),
}

/// Nothing more to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ErrorWire {
    /// Which kind of error; its number is the exit code of the client.
    pub kind: ErrorKind,
    /// For people.
    pub message: String,
}

/// The kinds of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "see the exit codes of the same names")]
pub enum ErrorKind {
    Failed,
    Usage,
    NotFound,
    Conflict,
    Invalid,
    Denied,
    Temporary,
}

impl From<ErrorKind> for Exit {
    fn from(kind: ErrorKind) -> Exit {
        match kind {
            ErrorKind::Failed => Exit::Failed,
            ErrorKind::Usage => Exit::Usage,
            ErrorKind::NotFound => Exit::NotFound,
            ErrorKind::Conflict => Exit::Conflict,
            ErrorKind::Invalid => Exit::Invalid,
            ErrorKind::Denied => Exit::Denied,
            ErrorKind::Temporary => Exit::Temporary,
        }
    }
}

impl ErrorWire {
    /// What went wrong.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> ErrorWire {
        ErrorWire { kind, message: message.into() }
    }

    /// An answer that says what went wrong.
    pub fn response(kind: ErrorKind, message: impl Into<String>) -> Response {
        Response::Error(ErrorWire::new(kind, message))
    }
}

/// How the server is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the fields are those of `status`")]
pub struct StatusWire {
    pub version: String,
    pub pid: u32,
    pub data: String,
    pub started: Timestamp,
    pub state: String,
    pub paused: bool,
    /// How long everything is paused, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_terms: Option<PauseTermsWire>,
    pub jobs: u64,
    pub pending: u64,
    pub open: u64,
    pub running: u64,
    pub runs: u64,
    pub dead: u64,
    /// Jobs that start a few at a time, because the server died while they ran.
    #[serde(default)]
    pub quarantined: u64,
    pub next: Option<Timestamp>,
    pub files: Vec<FileStateWire>,
    /// Whether anything outlives the server.
    #[serde(default = "is_so")]
    pub is_kept: bool,
    /// How many changes a second are taken of all clients; 0 is without a limit.
    #[serde(default)]
    pub changes_max: u32,
    /// The same of one connection.
    #[serde(default)]
    pub connection_changes_max: u32,
    /// How many were refused because there were more.
    #[serde(default)]
    pub refused: u64,
    /// What keeps the server from doing all that it should; empty if nothing does.
    #[serde(default)]
    pub troubles: Vec<String>,
    /// The servers that share the store, if several may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterWire>,
}

fn is_so() -> bool {
    true
}

/// A file that is served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct FileStateWire {
    /// Its path.
    pub name: String,
    /// When the set that is in force was read.
    pub read: Option<Timestamp>,
    /// How many jobs it gave.
    pub jobs: usize,
    /// What is wrong with it as it is now, as the text that `check` prints; empty if nothing is.
    pub problems: String,
    /// What is to be known of it beside that, as that it has lost most of its jobs; left out if nothing is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub notice: String,
}

/// A pending one-shot job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the fields are those of `show`")]
pub struct OnceWire {
    pub name: String,
    pub due: Timestamp,
    pub key: Option<String>,
    pub submitted: Timestamp,
    pub action: String,
    pub policies: String,
    /// The definition as a table of a job file; not in `list`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub definition: String,
    /// Each reason why it does not run now; in `show` alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<HoldWire>,
}

/// A run, or several that did not run in one record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PlainRun"))]
#[expect(missing_docs, reason = "the fields are those of `history`")]
pub struct RunWire {
    /// `job@nominal`, `#series` after it if that is not 0.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub run: RunKey,
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub job: JobName,
    pub nominal: Timestamp,
    pub cause: Word<Cause>,
    pub state: Word<RunState>,
    pub attempt: u32,
    pub due: Timestamp,
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    /// How far it is, while it runs and if its handler tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressWire>,
    /// The machine of the server where its last attempt runs or ran, or that it waits for; left out where
    /// servers do not share a database, and for those that are long gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The number of that server's life, as `status` has it; left out where servers do not share a database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<u64>,
    /// The text for people: `exit 3`.
    pub outcome: Option<String>,
    /// Which kind of outcome: `succeeded`, `exit`, `signal`, `status`, `not_started`, `final`, `failed`,
    /// `timed_out`, `killed`.
    #[serde(default)]
    pub outcome_code: Option<String>,
    /// The number of an exit status, of a signal or of a server's answer, where the outcome is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome_number: Option<i32>,
    /// The sentence for people; empty if the state says it all.
    pub reason: String,
    /// Which reason: `server_down`, `earlier_running`, `paused`, `cancelled`, ..; empty if the state says it
    /// all.
    #[serde(default)]
    pub reason_code: String,
    /// What is done, in short, for a one-shot job: its name does not say it, and no definition does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// More than 1 for a record of several occurrences.
    pub count: u64,
    /// The last of them.
    pub last: Option<Timestamp>,
}

impl RunWire {
    /// Its server for people, with the number that `status` has; nothing where no server has begun it.
    pub fn server_text(&self) -> String {
        let host = self.host.as_deref().map(|host| plain::line(host).to_string());
        let number = self.server.map(|number| format!("#{number}"));
        host.into_iter().chain(number).collect::<Vec<_>>().join(" ")
    }

    /// How long its last attempt took. `None` where no server saw the end of that, or the run itself ended
    /// later: while it waited to be tried again, or as a dead letter.
    pub fn took_ms(&self) -> Option<u64> {
        let (started, ended) = self.started.zip(self.ended)?;
        let is_open = self.state.known().is_some_and(RunState::is_open);
        let is_of_attempt = self.outcome.is_some() && (is_open || self.due <= started);
        let took = || u64::try_from(ended.as_millisecond() - started.as_millisecond()).unwrap_or(0);
        is_of_attempt.then(took)
    }
}

/// A line that a run wrote, or that says something of its output: the stream `note`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of `logs`")]
pub struct LineWire {
    pub run: String,
    pub attempt: u32,
    pub time: String,
    pub stream: String,
    /// Whether the line was too long for one piece, and the next of this stream continues with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
    pub text: String,
}

/// What a set of definitions changed, or would.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the fields are those of `apply`")]
pub struct AppliedWire {
    pub added: Vec<String>,
    pub changed: Vec<String>,
    pub removed: Vec<String>,
    pub refused: Vec<String>,
    pub unchanged: usize,
    pub problems: String,
}

impl AppliedWire {
    /// Adds what another set changed.
    pub fn add(&mut self, more: AppliedWire) {
        self.added.extend(more.added);
        self.changed.extend(more.changed);
        self.removed.extend(more.removed);
        self.refused.extend(more.refused);
        self.unchanged += more.unchanged;
        self.problems.push_str(&more.problems);
    }
}

/// Whether a field has the value that it has where it is left out.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_job::Run;

    #[test]
    fn requests_and_answers_are_plain_documents() {
        let request = IdentifiedRequest {
            id: 7,
            actor: None,
            comment: None,
            request: Request::Run { job: "a".into(), wait: true, due: None, key: None },
        };
        let text = serde_json::to_string(&request).unwrap();
        assert_eq!(text, r#"{"id":7,"command":"run","job":"a","wait":true}"#);
        assert_eq!(serde_json::from_str::<IdentifiedRequest>(&text).unwrap(), request);
        let answered = IdentifiedResponse { id: 7, response: ErrorWire::response(ErrorKind::NotFound, "no") };
        let text = serde_json::to_string(&answered).unwrap();
        assert_eq!(text, r#"{"id":7,"error":{"kind":"not_found","message":"no"}}"#);
        assert_eq!(serde_json::from_str::<IdentifiedResponse>(&text).unwrap(), answered);
        let key: RunKey = "a@2026-11-21T03:00:00.5Z#2".parse().unwrap();
        let due = key.nominal;
        let run = RunWire::from(&Run::new(key, Cause::Trigger, RunState::Running, due, due));
        let answers = [
            Response::Done(Done {}),
            ErrorWire::response(ErrorKind::Usage, "a \"quoted\" word"),
            Response::Jobs { jobs: vec![JobWire { last: Some(run), ..JobWire::default() }], after: None },
            Response::Planned { run: "a@2026-11-21T03:00:00Z".parse().unwrap() },
        ];
        for response in answers {
            let mut unsent = b"before\n".to_vec();
            response.write_line(7, &mut unsent);
            let line = serde_json::to_string(&IdentifiedResponse { id: 7, response }).unwrap();
            assert_eq!(String::from_utf8(unsent).unwrap(), format!("before\n{line}\n"));
        }
        let done = IdentifiedResponse { id: 0, response: Response::Done(Done {}) };
        assert_eq!(
            serde_json::from_str::<IdentifiedResponse>(&serde_json::to_string(&done).unwrap()).unwrap(),
            done
        );
    }

    #[test]
    fn a_run_is_the_same_text_again_also_with_words_of_another_version() {
        let text = r#"{"run":"user@host@2026-11-21T03:00:00.5Z#2","job":"user@host","nominal":"2026-11-21T03:00:00.5Z","cause":"CAUSE","state":"STATE","attempt":1,"due":"2026-11-21T03:00:01Z","started":"2026-11-21T03:00:01.000000009Z","ended":null,"outcome":null,"outcome_code":null,"reason":"","reason_code":"","count":1,"last":null}"#;
        for (cause, state, known) in
            [("catch_up", "timed_out", Some(RunState::TimedOut)), ("a_whim", "teleported", None)]
        {
            let text = text.replace("CAUSE", cause).replace("STATE", state);
            let run: RunWire = serde_json::from_str(&text).unwrap();
            assert_eq!(serde_json::to_string(&run).unwrap(), text);
            assert_eq!((run.state.known(), run.run.series), (known, 2));
        }
    }

    #[test]
    fn what_is_left_out_of_a_request_has_a_default() {
        let identified = IdentifiedRequest::read(br#"{"command":"status"}"#).unwrap();
        let request = Request::Status;
        assert_eq!(identified, IdentifiedRequest { id: 0, actor: None, comment: None, request });
        let identified = IdentifiedRequest::read(br#"{"command":"pause"}"#).unwrap();
        assert_eq!(identified.request, Request::Pause(PauseWire::default()));
    }
}
