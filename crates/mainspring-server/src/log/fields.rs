//! The fields of a line: names, forms, the kinds of line that have them, and what they say.
//!
//! ```text
//!            ┌─▶ a JSON object, a datagram of journald    forms
//!  FIELDS ───┼─▶ docs/reference/log.schema.json           a test of `forms` writes and compares it
//!            └─▶ docs/reference/log.md                    cargo xtask reference
//! ```
//!
//! Cost: a pass over the table for each line.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use mainspring_job::{Cause, RunKey};
use serde::{Serialize, Serializer};

use super::line::{Answer, Kind, Level, Line};
use Kind::{End, Note, Refuse, Start, Stderr, Stdout};

/// Which values a field has.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// RFC 3339, in UTC.
    Instant,
    /// A whole number.
    Number,
    /// A text.
    Text,
    /// A word that the schema lists.
    Word(fn() -> Vec<&'static str>),
}

/// A value of a field.
#[derive(Clone, Copy, Debug)]
pub enum Value<'l> {
    /// A time to the millisecond.
    Stamp(Timestamp),
    /// A time as exact as it is known.
    Instant(Timestamp),
    /// A whole number.
    Number(i64),
    /// A text or a word.
    Text(&'l str),
    /// The name of a run.
    Run(&'l RunKey),
}

impl Value<'_> {
    fn ms(duration: Duration) -> Value<'static> {
        Value::Number(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX))
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Stamp(time) => write!(f, "{time:.3}"),
            Value::Instant(time) => time.fmt(f),
            Value::Number(number) => number.fmt(f),
            Value::Text(text) => f.write_str(text),
            Value::Run(key) => key.fmt(f),
        }
    }
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Number(number) => serializer.serialize_i64(*number),
            Value::Text(text) => serializer.serialize_str(text),
            Value::Stamp(_) | Value::Instant(_) | Value::Run(_) => serializer.collect_str(self),
        }
    }
}

/// A row of [`FIELDS`].
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name in a JSON object.
    pub name: &'static str,
    /// The name in the journal; empty for what the journal has of its own.
    pub journal_name: &'static str,
    /// Which values it has.
    pub form: Form,
    /// Each line of these kinds has it.
    pub kinds: &'static [Kind],
    /// Lines of these kinds have it if it is known.
    pub other_kinds: &'static [Kind],
    /// The value, if the line has it.
    pub value: for<'l> fn(&'l Line<'l>) -> Option<Value<'l>>,
}

/// `_says` is what the manual's table says of the field: `cargo xtask reference` reads it here.
const fn field(
    (name, journal_name): (&'static str, &'static str),
    form: Form,
    [kinds, other_kinds]: [&'static [Kind]; 2],
    _says: &'static str,
    value: for<'l> fn(&'l Line<'l>) -> Option<Value<'l>>,
) -> Field {
    Field { name, journal_name, form, kinds, other_kinds, value }
}

const EVERY: &[Kind] = &[Start, Stdout, Stderr, End, Refuse, Note];
const OF_RUNS: &[Kind] = &[Start, Stdout, Stderr, End, Refuse];

/// All fields, in the order in which they are written.
pub const FIELDS: &[Field] = &[
    field(("time", ""), Form::Instant, [EVERY, &[]], "When it was logged, to the millisecond", |line| {
        Some(Value::Stamp(line.time))
    }),
    field(
        ("level", "PRIORITY"),
        Form::Word(|| Level::ALL.map(Level::name).to_vec()),
        [EVERY, &[]],
        "What a person has to do: `debug` output, `info` nothing, `notice` know it, `warning` look at it, `error` act. In the \
         journal the number of syslog: 7 to 3",
        |line| Some(Value::Text(line.level.name())),
    ),
    field(
        ("kind", "MAINSPRING_KIND"),
        Form::Word(|| Kind::ALL.map(Kind::name).to_vec()),
        [EVERY, &[]],
        "What it is about",
        |line| Some(Value::Text(line.kind.name())),
    ),
    field(("job", "MAINSPRING_JOB"), Form::Text, [OF_RUNS, &[Note]], "The job's name", |line| {
        line.subject.job().map(|job| Value::Text(job.as_str()))
    }),
    field(
        ("run", "MAINSPRING_RUN"),
        Form::Text,
        [OF_RUNS, &[Note]],
        "The run's name, as `mainspring logs` takes it",
        |line| line.subject.run().map(Value::Run),
    ),
    field(
        ("attempt", "MAINSPRING_ATTEMPT"),
        Form::Number,
        [OF_RUNS, &[Note]],
        "Which attempt of the run, from 1",
        |line| line.subject.attempt().map(|attempt| Value::Number(i64::from(attempt))),
    ),
    field(
        ("cause", "MAINSPRING_CAUSE"),
        Form::Word(|| Cause::ALL.map(Cause::name).to_vec()),
        [&[Start, Refuse], &[End]],
        "Why there is a run",
        |line| line.cause.map(|cause| Value::Text(cause.name())),
    ),
    field(
        ("due", "MAINSPRING_DUE"),
        Form::Instant,
        [&[Start, Refuse], &[End, Note]],
        "When the attempt is or was due; of a missed run its time",
        |line| line.due.map(Value::Instant),
    ),
    field(
        ("lateness_ms", "MAINSPRING_LATENESS_MS"),
        Form::Number,
        [&[Start], &[]],
        "Milliseconds from then to the start",
        |line| line.lateness.map(Value::ms),
    ),
    field(
        ("outcome", "MAINSPRING_OUTCOME"),
        Form::Text,
        [&[End, Refuse], &[Note]],
        "How the attempt ended: an `outcome_code`, see [codes](codes.md)",
        |line| line.outcome.map(|outcome| Value::Text(outcome.code())),
    ),
    field(
        ("exit_code", "MAINSPRING_EXIT_CODE"),
        Form::Number,
        [&[], &[End, Note]],
        "The exit status of a process",
        |line| match line.answer {
            Some(Answer::Exit(code)) => Some(Value::Number(i64::from(code))),
            _ => None,
        },
    ),
    field(
        ("signal", "MAINSPRING_SIGNAL"),
        Form::Number,
        [&[], &[End, Note]],
        "The number of the signal that ended a process",
        |line| match line.answer {
            Some(Answer::Signal(signal)) => Some(Value::Number(i64::from(signal))),
            _ => None,
        },
    ),
    field(
        ("status", "MAINSPRING_STATUS"),
        Form::Number,
        [&[], &[End, Note]],
        "The HTTP status that a webhook was answered with",
        |line| match line.answer {
            Some(Answer::Status(status)) => Some(Value::Number(i64::from(status))),
            _ => None,
        },
    ),
    field(
        ("duration_ms", "MAINSPRING_DURATION_MS"),
        Form::Number,
        [&[End], &[]],
        "Milliseconds that the attempt took",
        |line| line.duration.map(Value::ms),
    ),
    field(
        ("reason", "MAINSPRING_REASON"),
        Form::Text,
        [&[], &[Note]],
        "Why occurrences were missed or skipped, or a run was cut off: a `reason_code`, see [codes](codes.md)",
        |line| line.reason.map(|reason| Value::Text(reason.code())),
    ),
    field(
        ("count", "MAINSPRING_COUNT"),
        Form::Number,
        [&[], &[Note]],
        "How many occurrences were missed, or jobs are in quarantine",
        |line| line.count.map(|count| Value::Number(i64::try_from(count).unwrap_or(i64::MAX))),
    ),
    field(
        ("worker", "MAINSPRING_WORKER"),
        Form::Text,
        [&[], EVERY],
        "In a pool: the server that ran it",
        |line| line.worker.map(Value::Text),
    ),
    field(
        ("text", "MESSAGE"),
        Form::Text,
        [EVERY, &[]],
        "A sentence for people, or a line of output",
        |line| Some(Value::Text(&line.text)),
    ),
];
