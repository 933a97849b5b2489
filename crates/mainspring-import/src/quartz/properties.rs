//! Properties files: names with expressions.
//!
//! Cost: one pass.
//!
//! Does not fill in `${..}`: such a value is told and left out.
//!
//! Source: `load` of
//! [java.util.Properties](https://docs.oracle.com/en/java/javase/21/docs/api/java.base/java/util/Properties.html).

use mainspring_file::jobfile::MAX_JOBS;

use super::due::due;
use crate::facts::JobFacts;
use crate::finding::{Findings, Place};

/// Last parts of a name that say what the value is, and not what is due.
const SUFFIXES: [&str; 8] = [
    "cron",
    "cronexpression",
    "cron-expression",
    "cron_expression",
    "expression",
    "schedule",
    "cronexp",
    "trigger",
];

/// Values that switch a job off, in Spring.
const OFF: [&str; 2] = ["-", "disabled"];

/// The jobs of a text.
pub(super) fn read(text: &str, file: usize, findings: &mut Findings) -> Vec<JobFacts> {
    let mut jobs = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches(['\n', '\r']);
        let place = Place { file, span: start..start + bare.len() };
        start += line.len();
        let trimmed = bare.trim();
        // One more than a job file takes, so that it is refused.
        if MAX_JOBS < jobs.len() {
            break;
        }
        if !trimmed.is_empty() && !trimmed.starts_with(['#', '!']) {
            jobs.extend(pair(bare, &place, findings));
        }
    }
    jobs
}

fn pair(line: &str, place: &Place, findings: &mut Findings) -> Option<JobFacts> {
    let Some(at) = line.find(['=', ':']) else {
        findings.problem(place, "expected name = expression");
        return None;
    };
    let name = line[..at].trim();
    let value = line[at + 1..].trim().trim_matches(['"', '\'']);
    let offset = line.len() - line[at + 1..].trim_start().trim_start_matches(['"', '\'']).len();
    let value_start = place.span.start + offset;
    let value_place = place.moved(value_start..value_start + value.len());
    let (before, last) = name.rsplit_once('.').unwrap_or(("", name));
    let is_said = SUFFIXES.iter().any(|suffix| last.to_ascii_lowercase().ends_with(suffix));
    let bare = if is_said && !before.is_empty() { before } else { name };
    let mut job = JobFacts::new(bare, place.clone());
    if value.contains("${") {
        let message = "a variable is not filled in, and the line is left out";
        findings.warn(&value_place, message, "write the expression in its place");
        return None;
    }
    if is_said && OFF.contains(&value) {
        findings.warn(&value_place, "the job is switched off, and left out", "nothing has to be done");
        return None;
    }
    match due(&mut job, value) {
        Ok(()) => {
            job.comment(format!("{name} = {value}"));
            Some(job)
        }
        Err(error) if is_said || looks_like_fields(value) => {
            findings.fault(&value_place, error.into());
            None
        }
        Err(_) => {
            findings.remark(place, format!("`{name}` is no expression, and is left out"));
            None
        }
    }
}

/// Whether a value was meant as an expression.
fn looks_like_fields(value: &str) -> bool {
    let fields: Vec<&str> = value.split_whitespace().collect();
    let is_field = |field: &&str| field.starts_with(|c: char| c.is_ascii_digit() || "*?".contains(c));
    matches!(fields.len(), 6 | 7) && fields[..3].iter().all(is_field)
}
