//! The JSON documents that `--json` prints: one type for each, whose fields are the names in the document.
//!
//! ```text
//! next       Times        { expression, dialect, zone, dst, day_rule, from, until, count, is_cut_short, times, explanation? }
//! explain    Explained    { expression, dialect, zone, dst, day_rule, from, explanation }
//! translate  TranslationDocument   { expression, dialect, to, translation, notes, reason }
//! simulate   see simulation::report
//! check      Checked      { files: [{ file, jobs, problems, warnings, findings, left_out }] }
//! next JOB   JobTimes     { job, zone, from, times }
//! list       Listed       { jobs: { jobs, after, pending, has_more_pending } }
//! any        Unreadable   { expression, problem }          for an expression that cannot be read
//! ```
//!
//! Times are RFC 3339 with the offset of the zone. Fields are only added, never renamed: other programs read
//! them.
//!
//! Cost: one string per time.
//!
//! Does not read JSON.
//!
//! Source: <https://www.rfc-editor.org/rfc/rfc8259>.

use serde::Serialize;

use mainspring_cron::Language;
use mainspring_file::problem::{Fault, Problem};
use mainspring_server::protocol::{ExplanationWire, JobWire, OnceWire, Question, TranslationWire};

/// The document of `check`.
#[derive(Clone, Debug, Serialize)]
pub struct CheckDocument {
    /// In the order of the command line.
    pub files: Vec<CheckedFile>,
}

/// What was found in one file.
#[derive(Clone, Debug, Serialize)]
pub struct CheckedFile {
    /// Its name as it was given.
    pub file: String,
    /// How many jobs can be understood.
    pub jobs: usize,
    /// How many problems there are.
    pub problems: usize,
    /// How many warnings there are.
    pub warnings: usize,
    /// All in the order of the lines.
    pub findings: Vec<CheckFinding>,
    /// How many are not among the findings.
    pub left_out: usize,
}

/// A problem, a warning or a note.
#[derive(Clone, Debug, Serialize)]
pub struct CheckFinding {
    /// `problem`, `warning` or `note`.
    pub severity: &'static str,
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it, or null.
    pub hint: Option<String>,
}

impl From<&Problem> for CheckFinding {
    fn from(problem: &Problem) -> CheckFinding {
        CheckFinding {
            severity: problem.severity.name(),
            line: problem.line_number,
            column: problem.column(),
            message: problem.fault.message.clone(),
            hint: problem.fault.hint.clone(),
        }
    }
}

/// The document of `list`.
#[derive(Clone, Debug, Serialize)]
pub struct ListDocument {
    /// All of it.
    pub jobs: ListedJobs,
}

/// What `list` lists.
#[derive(Clone, Debug, Serialize)]
pub struct ListedJobs {
    /// In the order of their names.
    pub jobs: Vec<JobWire>,
    /// Always null: no job is left out.
    pub after: Option<String>,
    /// One-shot jobs that wait, the next due first.
    pub pending: Vec<OnceWire>,
    /// Whether more of them wait than were asked for.
    pub has_more_pending: bool,
}

/// The document of `next`.
#[derive(Clone, Debug, Serialize)]
pub struct Times {
    /// Its fields are fields of the document itself.
    #[serde(flatten)]
    pub question: Question,
    /// The last time asked for, or null.
    pub until: Option<String>,
    /// How many times were asked for, or null.
    pub count: Option<u32>,
    /// Whether a limit of the program left out times that were asked for.
    pub is_cut_short: bool,
    /// In ascending order.
    pub times: Vec<String>,
    /// With `--explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<ExplanationWire>,
}

/// The document of `next` for a job.
#[derive(Clone, Debug, Serialize)]
pub struct JobTimes {
    /// Its name.
    pub job: String,
    /// That of the times.
    pub zone: String,
    /// They are later than this.
    pub from: String,
    /// In ascending order.
    pub times: Vec<String>,
}

/// The document of `explain`.
#[derive(Clone, Debug, Serialize)]
pub struct ExplainDocument {
    /// Its fields are fields of the document itself.
    #[serde(flatten)]
    pub question: Question,
    /// In words.
    pub explanation: ExplanationWire,
}

/// The document of `translate`.
#[derive(Clone, Debug, Serialize)]
pub struct TranslationDocument {
    /// As it was given.
    pub expression: String,
    /// Its language.
    pub dialect: Language,
    /// Its fields are fields of the document itself.
    #[serde(flatten)]
    pub translation: TranslationWire,
}

/// The document for an expression that cannot be read.
#[derive(Clone, Debug, Serialize)]
pub struct Unreadable {
    /// As it was given.
    pub expression: String,
    /// The first thing that is wrong.
    pub problem: Mark,
}

/// Something about a part of the expression.
#[derive(Clone, Debug, Serialize)]
pub struct Mark {
    /// What is said about it: lower case, no full stop.
    pub message: String,
    /// The first byte of the part.
    pub start: usize,
    /// The byte after the part.
    pub end: usize,
    /// What to do, or null.
    pub hint: Option<String>,
}

impl From<Fault> for Mark {
    fn from(fault: Fault) -> Mark {
        Mark { message: fault.message, start: fault.span.start, end: fault.span.end, hint: fault.hint }
    }
}
