//! The jobs of a list as JSON, kept from one list to the next: most jobs are as they were when somebody
//! looked last, and to write a row takes ten times as long as to see that.
//!
//! ```text
//! job, mark, armed, load ─▶ the row kept, if it was written of the same ─┐
//!                         └▶ describe::job ─▶ JSON, kept ────────────────┴─▶ text without how the last run went
//! ```
//!
//! How the last run of a job went is in the store, so it is added behind: see [`with_last`].
//!
//! After the number of jobs has changed, the loop writes the rows of all jobs when it has nothing else to do,
//! some at a time. So the first who asks for a list waits no longer than the second.
//!
//! Cost: some comparisons for a row that is kept. About a kilobyte for each of at most [`MAX_ROWS`] jobs that
//! were listed.
//!
//! Does not know which jobs there are.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use mainspring_job::{Job, JobName, Load, Mark, Work};

use crate::protocol::{JobWire, RunWire};

/// How many rows are kept: 16 MB or so. Rows of jobs beyond that are written for each list.
pub(super) const MAX_ROWS: usize = 16_384;

/// How the row of a job without a last run ends.
const NO_LAST: &str = ",\"last\":null}";

/// What a row says beside the definition of its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    /// When the planner looks at it next.
    pub(super) armed: Option<Timestamp>,
    /// Its open runs.
    pub(super) load: Load,
    /// Since when no run has succeeded, if that is too long.
    pub(super) silent_since: Option<Timestamp>,
    /// On which line of its file it begins.
    pub(super) source_line: Option<usize>,
    /// Whether everything is paused.
    pub(super) is_all_paused: bool,
}

/// A row, and what it was written of.
struct Row {
    work: Arc<Work>,
    labels: BTreeMap<String, String>,
    source: String,
    max_runs: Option<u64>,
    /// The timetable's text is in it.
    mark: Mark,
    facts: Facts,
    /// From when on it is true, and before when: up to the next time of the job.
    written: Timestamp,
    until: Timestamp,
    text: Arc<str>,
}

impl Row {
    fn is_of(&self, job: &Job, mark: &Mark, facts: Facts, now: Timestamp) -> bool {
        // Work does not change behind its `Arc`, and the row keeps that, so no other work gets its address.
        Arc::ptr_eq(&self.work, &job.work)
            && self.facts == facts
            && (self.written <= now && now < self.until)
            && self.max_runs == job.max_runs
            && self.mark == *mark
            && self.source == job.source
            && self.labels == job.labels
    }
}

/// The rows of all jobs that were listed.
#[derive(Default)]
pub(super) struct JobRows {
    rows: RefCell<HashMap<JobName, Row>>,
    /// For how many jobs rows were written ahead.
    job_count: Cell<usize>,
    ahead: RefCell<Ahead>,
}

/// How far rows are written that nobody has asked for.
#[derive(Clone, Debug, Default)]
pub(super) enum Ahead {
    #[default]
    Done,
    /// All after this job are left, or all.
    After(Option<JobName>),
}

impl JobRows {
    /// The row of a job without how its last run went. `describe` is asked when it has to be written.
    pub(super) fn row(
        &self,
        (job, mark): (&Job, &Mark),
        facts: Facts,
        now: Timestamp,
        describe: impl FnOnce() -> JobWire,
    ) -> Arc<str> {
        let mut rows = self.rows.borrow_mut();
        let kept = rows.get(&job.name);
        if let Some(row) = kept.filter(|row| row.is_of(job, mark, facts, now)) {
            return row.text.clone();
        }
        let has_room = kept.is_some() || rows.len() < MAX_ROWS;
        let wire = describe();
        let text = start_of(&wire);
        let next = || wire.next.as_ref().and_then(|next| next.parse().ok());
        // A job that is not paused and has no next time may get one when the clock alone moves.
        let until = if mark.pause.is_some() { Some(Timestamp::MAX) } else { next() };
        if let Some(until) = until.filter(|_| has_room) {
            let (work, labels, source) = (job.work.clone(), job.labels.clone(), job.source.clone());
            let (max_runs, mark, text) = (job.max_runs, mark.clone(), text.clone());
            let row = Row { work, labels, source, max_runs, mark, facts, written: now, until, text };
            rows.insert(job.name.clone(), row);
        }
        text
    }

    /// So many jobs are there: if they were not as many before, their rows are to be written ahead.
    pub(super) fn go_ahead(&self, job_count: usize) {
        if self.job_count.replace(job_count) != job_count {
            self.ahead.replace(Ahead::After(None));
        }
    }

    /// Takes out how far rows are written ahead; the caller goes on from there, and says how far it came.
    pub(super) fn take_ahead(&self) -> Ahead {
        self.ahead.take()
    }

    /// Rows are written ahead up to a job, and there are more.
    pub(super) fn ahead_to(&self, job: JobName) {
        let is_full = self.rows.borrow().len() == MAX_ROWS;
        self.ahead.replace(if is_full { Ahead::Done } else { Ahead::After(Some(job)) });
    }

    /// Drops the rows of jobs that are gone, when there is no room for others.
    pub(super) fn forget_others(&self, is_there: impl Fn(&JobName) -> bool) {
        let mut rows = self.rows.borrow_mut();
        if rows.len() == MAX_ROWS {
            rows.retain(|name, _| is_there(name));
        }
    }
}

/// A job as JSON up to how its last run went.
fn start_of(wire: &JobWire) -> Arc<str> {
    let text = serde_json::to_string(wire).expect("wire types have string keys and finite numbers");
    text.strip_suffix(NO_LAST).expect("a list tells neither of definitions nor, yet, of last runs").into()
}

/// Adds a row to the text of a list, with how the last run of the job went.
pub(super) fn with_last(list: &mut Vec<u8>, start: &str, last: Option<&RunWire>) {
    if !list.is_empty() {
        list.push(b',');
    }
    list.extend_from_slice(start.as_bytes());
    let Some(last) = last else { return list.extend_from_slice(NO_LAST.as_bytes()) };
    list.extend_from_slice(b",\"last\":");
    serde_json::to_writer(&mut *list, last).expect("wire types have string keys and finite numbers");
    list.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_action::body::{Body, ProcessBody};
    use mainspring_job::{After, Ending, Pause, Timetable};

    fn time(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    fn mark_of(job: &Job) -> Mark {
        Mark::new(job.name.clone(), time("2026-11-22T11:00:00Z"), "after j".to_owned())
    }

    fn job(name: &str) -> Job {
        let name = JobName::new(name).expect("a name");
        let body = Body::Process(ProcessBody { shell: Some("true".to_owned()), ..ProcessBody::default() });
        let timetable = Timetable::new([After::new(name.clone(), Ending::Any)]).expect("one trigger");
        Job::new(name, timetable, Work::new(body.encode().expect("a small body")))
    }

    fn facts() -> Facts {
        Facts {
            armed: None,
            load: Load::default(),
            silent_since: None,
            source_line: None,
            is_all_paused: false,
        }
    }

    fn job_with(job: &Job, change: impl FnOnce(&mut Job)) -> Job {
        let mut changed = job.clone();
        change(&mut changed);
        changed
    }

    fn mark_with(mark: &Mark, change: impl FnOnce(&mut Mark)) -> Mark {
        let mut changed = mark.clone();
        change(&mut changed);
        changed
    }

    /// Whether a row had to be written.
    fn is_written(
        rows: &JobRows,
        job: &Job,
        mark: &Mark,
        facts: Facts,
        now: &str,
        next: Option<&str>,
    ) -> bool {
        let mut is_written = false;
        rows.row((job, mark), facts, time(now), || {
            is_written = true;
            JobWire { next: next.map(str::to_owned), ..JobWire::default() }
        });
        is_written
    }

    #[test]
    fn a_row_is_written_anew_when_anything_in_it_may_be_other() {
        let (first, noon, next) = (job("j"), "2026-11-22T12:00:00Z", Some("2026-11-22T13:00:00Z"));
        let mark = Mark::new(first.name.clone(), time("2026-11-22T11:00:00Z"), "after j".to_owned());
        let armed = Facts { armed: Some(time(noon)), ..facts() };
        let mut busy = facts();
        busy.load.queued = 1;
        let silent = Facts { silent_since: Some(time(noon)), ..facts() };
        let moved = Facts { source_line: Some(3), ..facts() };
        let paused = Facts { is_all_paused: true, ..facts() };
        let work = job("j");
        let source = job_with(&first, |job| job.source = "other.toml".to_owned());
        let labels = job_with(&first, |job| job.labels = [("team".to_owned(), "a".to_owned())].into());
        let limited = job_with(&first, |job| job.max_runs = Some(3));
        let ran = mark_with(&mark, |mark| mark.runs = 1);
        let rested = mark_with(&mark, |mark| mark.pause = Some(Pause::Failures));
        let retimed = mark_with(&mark, |mark| mark.timetable = "after k".to_owned());
        for (job, mark, known, now, is_anew) in [
            (&first, &mark, facts(), noon, false),
            (&first, &mark, facts(), "2026-11-22T12:59:59.999Z", false),
            (&first, &mark, facts(), "2026-11-22T13:00:00Z", true),
            (&first, &mark, facts(), "2026-11-22T11:59:59Z", true),
            (&first, &mark, armed, noon, true),
            (&first, &mark, busy, noon, true),
            (&first, &mark, silent, noon, true),
            (&first, &mark, moved, noon, true),
            (&first, &mark, paused, noon, true),
            (&work, &mark, facts(), noon, true),
            (&source, &mark, facts(), noon, true),
            (&labels, &mark, facts(), noon, true),
            (&limited, &mark, facts(), noon, true),
            (&first, &ran, facts(), noon, true),
            (&first, &rested, facts(), noon, true),
            (&first, &retimed, facts(), noon, true),
        ] {
            let rows = JobRows::default();
            assert!(is_written(&rows, &first, &mark_of(&first), facts(), noon, next), "the first time");
            assert_eq!(is_written(&rows, job, mark, known, now, next), is_anew, "{mark:?} {known:?} {now}");
        }
    }

    #[test]
    fn a_job_without_a_next_time_is_described_each_time_unless_it_is_paused() {
        let (job, rows) = (job("j"), JobRows::default());
        let paused = mark_with(&mark_of(&job), |mark| mark.pause = Some(Pause::Asked));
        assert!(is_written(&rows, &job, &paused, facts(), "2026-11-22T12:00:00Z", None));
        assert!(!is_written(&rows, &job, &paused, facts(), "2027-11-22T12:00:00Z", None));
        for _ in 0..2 {
            assert!(is_written(&rows, &job, &mark_of(&job), facts(), "2026-11-22T12:00:00Z", None));
        }
    }

    #[test]
    fn rows_of_jobs_that_are_gone_make_room() {
        let (rows, next) = (JobRows::default(), Some("2026-11-22T13:00:00Z"));
        let model = job("j");
        let listed = |name: String| {
            let name = JobName::new(&name).expect("a name");
            let job = job_with(&model, |job| job.name = name);
            is_written(&rows, &job, &mark_of(&job), facts(), "2026-11-22T12:00:00Z", next)
        };
        for index in 0..=MAX_ROWS {
            assert!(listed(format!("j{index}")));
        }
        assert!(!listed("j7".to_owned()), "it is kept");
        assert!(listed(format!("j{MAX_ROWS}")), "there was no room for it");
        rows.forget_others(|name| name.as_str() != "j7");
        assert!(listed(format!("j{MAX_ROWS}")) && !listed(format!("j{MAX_ROWS}")), "now there is");
    }

    #[test]
    fn a_row_is_what_serde_would_write() {
        let run = RunWire { run: "j@now".to_owned(), ..RunWire::default() };
        let job = JobWire { name: "j".to_owned(), action: "say \"so\"".to_owned(), ..JobWire::default() };
        for last in [None, Some(run)] {
            let mut list = Vec::new();
            for _ in 0..2 {
                with_last(&mut list, &start_of(&job), last.as_ref());
            }
            let whole = JobWire { last, ..job.clone() };
            let expected = serde_json::to_string(&[whole.clone(), whole]).expect("JSON");
            assert_eq!(format!("[{}]", String::from_utf8(list).expect("UTF-8")), expected);
        }
    }

    #[test]
    fn rows_are_written_ahead_once_for_each_number_of_jobs() {
        let (rows, name) = (JobRows::default(), job("j").name);
        assert!(matches!(rows.take_ahead(), Ahead::Done), "there are no jobs");
        rows.go_ahead(2);
        assert!(matches!(rows.take_ahead(), Ahead::After(None)));
        rows.ahead_to(name.clone());
        rows.go_ahead(2);
        assert!(matches!(rows.take_ahead(), Ahead::After(Some(after)) if after == name), "it goes on");
        rows.go_ahead(2);
        assert!(matches!(rows.take_ahead(), Ahead::Done), "all are written, whatever changed in them");
        rows.go_ahead(3);
        assert!(matches!(rows.take_ahead(), Ahead::After(None)));
    }
}
