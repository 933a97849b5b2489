//! A line of the log, before it has a form: when, of which kind and level, about what, and its facts.
//!
//! | level | what a person has to do |
//! |---|---|
//! | `debug` | nothing: a line of output |
//! | `info` | nothing: an attempt started, or ended as it should |
//! | `notice` | know it: a note of the server, an attempt that was killed on request, the time of a retry |
//! | `warning` | look when there is time: an attempt that failed or could not start, an occurrence that was missed, skipped or cut off |
//! | `error` | act: a run that failed for good, a dead letter, a fault of the server |
//!
//! A failed attempt is a warning whatever follows. If nothing follows, the planner's note of the run is the
//! error: one for each run, in a pool at the planner.
//!
//! Cost: none; what a line is about is borrowed.
//!
//! Does not know how it is written: see [`fields`](super::fields) and [`forms`](super::forms).

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use mainspring_job::{Cause, Failure, JobName, Outcome, Reason, RunKey};

use mainspring_exec::output::Stream;

/// The program's name, in messages and as a subject of the log.
pub const PROGRAM: &str = "mainspring";

/// What a line is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// An attempt started.
    Start,
    /// A line that a run wrote to its standard output.
    Stdout,
    /// A line that a run wrote to its standard error.
    Stderr,
    /// An attempt ended.
    End,
    /// An attempt was due and cannot be started.
    Refuse,
    /// Anything else that the scheduler has to say.
    #[default]
    Note,
}

impl Kind {
    /// That of what a run writes to a stream, or of what is said of its output.
    pub const fn of(stream: Stream) -> Kind {
        match stream {
            Stream::Stdout => Kind::Stdout,
            Stream::Stderr => Kind::Stderr,
            Stream::Note => Kind::Note,
        }
    }

    /// All of them.
    pub const ALL: [Kind; 6] = [Kind::Start, Kind::Stdout, Kind::Stderr, Kind::End, Kind::Refuse, Kind::Note];

    /// The word in the log.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Start => "start",
            Kind::Stdout => "stdout",
            Kind::Stderr => "stderr",
            Kind::End => "end",
            Kind::Refuse => "refuse",
            Kind::Note => "note",
        }
    }

    /// The level of a line of which nothing else is known.
    const fn level(self) -> Level {
        match self {
            Kind::Stdout | Kind::Stderr => Level::Debug,
            Kind::Start | Kind::End => Level::Info,
            Kind::Note => Level::Notice,
            Kind::Refuse => Level::Warning,
        }
    }
}

/// How much a line matters, the least first: see the table in the head of this file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What runs write.
    #[default]
    Debug,
    /// What goes as it should.
    Info,
    /// What is to be known.
    Notice,
    /// What is to be looked at.
    Warning,
    /// What a person has to act on.
    Error,
}

impl Level {
    /// All of them.
    pub const ALL: [Level; 5] = [Level::Debug, Level::Info, Level::Notice, Level::Warning, Level::Error];

    /// The word in the log and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Notice => "notice",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }

    /// The number of syslog(3).
    pub const fn priority(self) -> i64 {
        match self {
            Level::Debug => 7,
            Level::Info => 6,
            Level::Notice => 5,
            Level::Warning => 4,
            Level::Error => 3,
        }
    }

    /// That of an attempt which ended so.
    pub const fn of(outcome: &Outcome) -> Level {
        match outcome {
            Outcome::Succeeded | Outcome::Returned => Level::Info,
            Outcome::Killed | Outcome::CutOff(_) => Level::Notice,
            Outcome::Failed(_) | Outcome::TimedOut => Level::Warning,
        }
    }
}

/// Whom a line is about.
#[derive(Clone, Copy, Debug, Default)]
pub enum Subject<'l> {
    /// The server itself.
    #[default]
    Server,
    /// A job.
    Job(&'l JobName),
    /// A run.
    Run(&'l RunKey),
    /// An attempt of a run, from 1.
    Attempt(&'l RunKey, u32),
}

impl<'l> Subject<'l> {
    pub(super) fn job(self) -> Option<&'l JobName> {
        match self {
            Subject::Server => None,
            Subject::Job(job) => Some(job),
            Subject::Run(key) | Subject::Attempt(key, _) => Some(&key.job),
        }
    }

    pub(super) fn run(self) -> Option<&'l RunKey> {
        match self {
            Subject::Server | Subject::Job(_) => None,
            Subject::Run(key) | Subject::Attempt(key, _) => Some(key),
        }
    }

    pub(super) fn attempt(self) -> Option<u32> {
        match self {
            Subject::Attempt(_, attempt) => Some(attempt),
            _ => None,
        }
    }
}

/// One word: the name of the job or of the run, with `/2` behind it in the second attempt.
impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Server => f.write_str(PROGRAM),
            Subject::Job(job) => job.fmt(f),
            Subject::Run(key) | Subject::Attempt(key, 1) => key.fmt(f),
            Subject::Attempt(key, attempt) => write!(f, "{key}/{attempt}"),
        }
    }
}

/// What a process or a receiver gave back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The exit status.
    Exit(i32),
    /// The signal that ended it.
    Signal(i32),
    /// The HTTP status.
    Status(u16),
}

impl Answer {
    /// That of an attempt which ended so, if the record says it.
    pub fn of(outcome: &Outcome) -> Option<Answer> {
        match outcome {
            Outcome::Failed(Failure::Exit(code)) => Some(Answer::Exit(*code)),
            Outcome::Failed(Failure::Signal(number)) => Some(Answer::Signal(*number)),
            Outcome::Failed(Failure::Status(status)) => Some(Answer::Status(*status)),
            _ => None,
        }
    }
}

/// A line of the log. Each fact is there if it is known.
#[derive(Clone, Debug, Default)]
pub struct Line<'l> {
    /// When it was logged.
    pub time: Timestamp,
    /// How much it matters.
    pub level: Level,
    /// What it is about.
    pub kind: Kind,
    /// Whom it is about.
    pub subject: Subject<'l>,
    /// A sentence, or a line of output.
    pub text: Cow<'l, str>,
    /// Why there is a run.
    pub cause: Option<Cause>,
    /// When the attempt is or was due.
    pub due: Option<Timestamp>,
    /// How long after that it started.
    pub lateness: Option<Duration>,
    /// How the attempt ended.
    pub outcome: Option<&'l Outcome>,
    /// What it gave back.
    pub answer: Option<Answer>,
    /// How long it took.
    pub duration: Option<Duration>,
    /// Why a run is not what was planned.
    pub reason: Option<&'l Reason>,
    /// How many occurrences or jobs it is about.
    pub count: Option<u64>,
    /// The worker of a pool that logs it.
    pub worker: Option<&'l str>,
}

impl<'l> Line<'l> {
    /// A line without facts, at the level of its kind.
    pub fn new(time: Timestamp, subject: Subject<'l>, kind: Kind, text: impl Into<Cow<'l, str>>) -> Line<'l> {
        Line { time, level: kind.level(), kind, subject, text: text.into(), ..Line::default() }
    }

    /// A note of the server itself.
    pub fn note(time: Timestamp, text: impl Into<Cow<'l, str>>) -> Line<'l> {
        Line::new(time, Subject::Server, Kind::Note, text)
    }
}
