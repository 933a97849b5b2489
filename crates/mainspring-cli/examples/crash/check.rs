//! The judge: it knows what was acknowledged, what the history says, and what happened, and compares them.
//!
//! | word | is said of |
//! |---|---|
//! | lost | an acknowledged job without a run; a run without an end, or that succeeded without an effect; an occurrence of a scheduled job that no record covers; a run whose retries were owed |
//! | doubled | two records of one run; two effects of one attempt; two runs of one key; an effect without its start record |
//! | early | an effect before its due time, or before its start record |

use std::collections::{BTreeMap, BTreeSet};

use mainspring_job::MAX_CRASHES;

use crate::clients::{MAX_RETRIES, Submission};
use crate::effect::Line;
use crate::jobs::{JOBS, ScheduledJob};
use crate::settle::Record;

const SECOND_NS: i64 = 1_000_000_000;

/// What the judge says.
#[derive(Default)]
pub(crate) struct Verdict {
    pub(crate) complaints: Vec<String>,
    pub(crate) acknowledged_count: usize,
    pub(crate) lost_count: usize,
    pub(crate) doubled_count: usize,
    pub(crate) early_count: usize,
    pub(crate) summary: String,
}

impl Verdict {
    fn lost(&mut self, text: &str) {
        self.lost_count += 1;
        self.complaints.push(format!("lost: {text}"));
    }

    fn doubled(&mut self, text: &str) {
        self.doubled_count += 1;
        self.complaints.push(format!("doubled: {text}"));
    }

    fn early(&mut self, text: &str) {
        self.early_count += 1;
        self.complaints.push(format!("early: {text}"));
    }
}

/// Compares everything. No run can be older than `began_ns`, but by its nominal time.
pub(crate) fn check(
    submissions: &[Submission],
    records: &[Record],
    lines: &[Line],
    began_ns: i64,
) -> Verdict {
    let mut verdict = Verdict { acknowledged_count: submissions.len(), ..Verdict::default() };
    let by_run = by_run(records, &mut verdict);
    let effects = effects(lines, &by_run, began_ns, &mut verdict);
    for submission in submissions {
        check_submission(submission, &by_run, &effects, &mut verdict);
    }
    for job in JOBS {
        check_occurrences(job, records, &mut verdict);
    }
    for record in records {
        check_end(record, submissions, &effects, &mut verdict);
    }
    verdict.summary = summary(records, lines);
    verdict
}

fn by_run<'r>(records: &'r [Record], verdict: &mut Verdict) -> BTreeMap<&'r str, &'r Record> {
    let mut by_run = BTreeMap::new();
    for record in records {
        if by_run.insert(record.text("run"), record).is_some() {
            verdict.doubled(&format!("{} has two records", record.text("run")));
        }
    }
    by_run
}

/// The attempts of each run that had an effect. Each is held against its record.
fn effects<'l>(
    lines: &'l [Line],
    by_run: &BTreeMap<&str, &Record>,
    began_ns: i64,
    verdict: &mut Verdict,
) -> BTreeMap<&'l str, BTreeSet<u32>> {
    let mut effects: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    let mut runs_of_word: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in lines {
        let Line { word, run, attempt, at_ns } = line;
        if !effects.entry(run).or_default().insert(*attempt) {
            verdict.doubled(&format!("attempt {attempt} of {run} had two effects"));
        }
        runs_of_word.entry(word).or_default().insert(run);
        let Some(record) = by_run.get(run.as_str()) else {
            verdict.doubled(&format!("{run} had an effect and has no record"));
            continue;
        };
        if record.number("attempt") < i64::from(*attempt) {
            verdict.doubled(&format!(
                "attempt {attempt} of {run} had an effect and no start record: {}",
                record.0
            ));
        }
        let is_last = record.number("attempt") == i64::from(*attempt);
        let bounds = [
            record.time_ns("nominal"),
            record.time_ns("due").filter(|_| is_last),
            record.time_ns("started").filter(|_| is_last),
            Some(began_ns),
        ];
        if bounds.into_iter().flatten().any(|bound_ns| *at_ns < bound_ns) {
            verdict.early(&format!("attempt {attempt} of {run} at {at_ns} ns: {}", record.0));
        }
    }
    for (word, runs) in runs_of_word {
        if 1 < runs.len() && JOBS.iter().all(|job| job.name != word) {
            verdict.doubled(&format!("{word} had several runs: {runs:?}"));
        }
    }
    effects
}

fn check_submission(
    submission: &Submission,
    by_run: &BTreeMap<&str, &Record>,
    effects: &BTreeMap<&str, BTreeSet<u32>>,
    verdict: &mut Verdict,
) {
    let Some(name) = &submission.name else {
        return verdict.lost(&format!("{} was acknowledged without a name", submission.key));
    };
    let begin = format!("{name}@");
    let mut runs = by_run.range(begin.as_str()..).take_while(|(run, _)| run.starts_with(&begin));
    let Some((run, record)) = runs.next() else {
        return verdict
            .lost(&format!("{} ({name}) was acknowledged and is not in the history", submission.key));
    };
    if runs.next().is_some() {
        verdict.doubled(&format!("{} ({name}) has two runs", submission.key));
    }
    let nominal_ns = record.time_ns("nominal").unwrap_or_default();
    let is_right = if submission.is_due_exact {
        nominal_ns == submission.due_ns
    } else {
        submission.due_ns <= nominal_ns
    };
    if !is_right {
        verdict.early(&format!("{run} was asked for at {} ns", submission.due_ns));
    }
    let state = record.text("state");
    if state != "succeeded" && state != "abandoned" {
        verdict.lost(&format!("{run} is {state}: {}", record.0));
    }
    if !submission.is_repeated && effects.get(run).is_some_and(|attempts| 1 < attempts.len()) {
        verdict.doubled(&format!("{run} may not be repeated, and was"));
    }
}

/// Every occurrence of a scheduled job, from the first to the last, is in exactly one record.
fn check_occurrences(job: &ScheduledJob, records: &[Record], verdict: &mut Verdict) {
    let mut spans: Vec<(i64, i64, &Record)> = records
        .iter()
        .filter(|record| record.text("job") == job.name)
        .filter_map(|record| {
            let first = record.time_ns("nominal")?;
            Some((first, record.time_ns("last").unwrap_or(first), record))
        })
        .collect();
    spans.sort_by_key(|(first, last, _)| (*first, *last));
    let period_ns = job.period_s * SECOND_NS;
    if spans.is_empty() {
        verdict.lost(&format!("{} never ran", job.name));
    }
    for pair in spans.windows(2) {
        let ((_, last, one), (first, _, other)) = (&pair[0], &pair[1]);
        let text = || format!("between {} and {}", one.0, other.0);
        if *first <= *last {
            verdict.doubled(&format!("an occurrence of {}, {}", job.name, text()));
        }
        if last + period_ns < *first {
            verdict.lost(&format!("an occurrence of {}, {}", job.name, text()));
        }
    }
}

/// Every run has an end that its policy allows.
fn check_end(
    record: &Record,
    submissions: &[Submission],
    effects: &BTreeMap<&str, BTreeSet<u32>>,
    verdict: &mut Verdict,
) {
    let (run, state, attempt) = (record.text("run"), record.text("state"), record.number("attempt"));
    let scheduled = JOBS.iter().find(|job| job.name == record.text("job"));
    let (retries, retries_abandoned) = match scheduled {
        Some(job) => (job.retries, job.retries_abandoned),
        None => {
            let name = Some(record.text("job"));
            let is_repeated = submissions.iter().any(|one| one.is_repeated && one.name.as_deref() == name);
            if is_repeated { (MAX_RETRIES, true) } else { (0, false) }
        }
    };
    let is_last = attempt == 1 + i64::from(retries);
    // What the server dies in so often is not tried again; that it is said too early would be a retry that
    // was owed.
    let is_crash_loop = record.text("reason") == format!("the server died in it {MAX_CRASHES} times")
        && (scheduled.is_some() || i64::from(MAX_CRASHES) <= attempt);
    let is_owed = match state {
        "succeeded" => false,
        "abandoned" | "dead" if is_crash_loop => false,
        "abandoned" => retries_abandoned && !is_last,
        "failed" => !is_last,
        "dead" => retries == 0 || !is_last,
        "missed" | "skipped_overlap" | "skipped_paused" => attempt != 0,
        _ => true,
    };
    if is_owed {
        verdict.lost(&format!("{run} ended against its policy: {}", record.0));
    }
    let has_effect = effects.get(run).is_some_and(|attempts| i64::from(attempts.len() as u32) <= attempt);
    let had_last =
        effects.get(run).is_some_and(|attempts| attempts.iter().any(|one| i64::from(*one) == attempt));
    if state == "succeeded" && !(has_effect && had_last) {
        verdict.lost(&format!("{run} succeeded and had no effect: {}", record.0));
    }
}

/// How the runs ended, so that a reader sees that there was something to judge.
fn summary(records: &[Record], lines: &[Line]) -> String {
    let mut states: BTreeMap<&str, usize> = BTreeMap::new();
    for record in records {
        *states.entry(record.text("state")).or_default() += 1;
    }
    let retried_count = records.iter().filter(|record| 1 < record.number("attempt")).count();
    let states: Vec<String> = states.iter().map(|(state, count)| format!("{count} {state}")).collect();
    format!("{} effects; {} retried; {}", lines.len(), retried_count, states.join(", "))
}
