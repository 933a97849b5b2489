//! The jobs of a list as JSON, kept from one list to the next: most jobs are as they were when somebody
//! looked last, and to write a row takes ten times as long as to see that.
//!
//! ```text
//! job, mark, armed ─▶ the start kept, if it was written of the same ─┐
//!                   └▶ describe::job ─▶ JSON, kept ──────────────────┴─▶ Listed: start, counts, last run
//! batches ─▶ what they touch ─▶ the last run is not known ─▶ the store is asked ─▶ learn
//! ```
//!
//! The parts of a row are those of [`listed`](super::listed). How the last run went is in the store; what the
//! store told of it is kept by the rules of [`last_run`](super::last_run).
//!
//! After jobs have changed, the loop writes the rows of all jobs when it has nothing else to do, some at a
//! time, and asks the store for their last runs: see [`rows_ahead`](super::rows_ahead). So the first who asks
//! for a list waits no longer than the second.
//!
//! Cost: some comparisons for a row that is kept. About a kilobyte for each of at most [`MAX_ROWS`] jobs that
//! were listed, and as much again for its last run.
//!
//! Does not know which jobs there are.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Arc, Weak};

use jiff::Timestamp;
use mainspring_job::{Batch, Job, JobName, Load, Mark, Pause, PauseTerms};

use super::last_run::{BatchCount, LastRun, Told, Touch};
use super::listed::{Listed, start_of};
use super::rows_ahead::RowsAhead;
use crate::protocol::{JobCounts, JobWire};

/// How many rows are kept: 32 MB or so. Rows of jobs beyond that are written for each list.
pub(super) const MAX_ROWS: usize = 16_384;

/// How long the start of a row is that is kept: four times as long as most. A longer one is written for each
/// list.
const MAX_START_BYTES: usize = 4 << 10;

/// What a row says beside the definition of its job and its mark.
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

impl Facts {
    /// The numbers of the row.
    fn counts(&self, mark: &Mark) -> JobCounts {
        let Load { running, queued, .. } = self.load;
        let Mark { runs, failures, .. } = *mark;
        JobCounts { source_line: self.source_line, runs, failures, running, queued }
    }
}

/// What is kept of a row, and what its start was written of.
struct Row {
    /// It does not change behind its `Arc`, and while this is kept no other has its address.
    job: Weak<Job>,
    /// Of the mark, all that stands in the start or moves the next time.
    watermark: Timestamp,
    crashes: u32,
    pause: Option<Pause>,
    pause_terms: PauseTerms,
    is_done: bool,
    armed: Option<Timestamp>,
    silent_since: Option<Timestamp>,
    is_all_paused: bool,
    /// From when on it is true, and before when: up to the next time of the job.
    written: Timestamp,
    until: Timestamp,
    start: Arc<str>,
    last: LastRun,
}

impl Row {
    fn is_of(&self, job: &Arc<Job>, mark: &Mark, facts: Facts, now: Timestamp) -> bool {
        std::ptr::eq(self.job.as_ptr(), Arc::as_ptr(job))
            && (self.written <= now && now < self.until)
            && self.watermark == mark.watermark
            && self.crashes == mark.crashes
            && self.pause == mark.pause
            && self.pause_terms == mark.pause_terms
            && self.is_done == is_done(job, mark)
            && self.armed == facts.armed
            && self.silent_since == facts.silent_since
            && self.is_all_paused == facts.is_all_paused
    }
}

/// Whether it has had as many runs as it may.
fn is_done(job: &Job, mark: &Mark) -> bool {
    job.max_runs.is_some_and(|max| max <= mark.runs)
}

/// The rows of all jobs that were listed.
#[derive(Default)]
pub(super) struct JobRows {
    rows: RefCell<HashMap<JobName, Row>>,
    /// How many batches were given to the store, and the last of them that may have touched any job.
    given: Cell<BatchCount>,
    all_touched: Cell<BatchCount>,
    pub(super) ahead: RowsAhead,
}

impl JobRows {
    /// The row of a job. `describe` is asked when its start has to be written.
    pub(super) fn row(
        &self,
        (job, mark): (&Arc<Job>, &Mark),
        facts: Facts,
        now: Timestamp,
        describe: impl FnOnce() -> JobWire,
    ) -> Listed {
        let (mut rows, all_touched) = (self.rows.borrow_mut(), self.all_touched.get());
        let kept = rows.get_mut(&job.name);
        let (name, counts) = (job.name.clone(), facts.counts(mark));
        if let Some(row) = kept.as_ref().filter(|row| row.is_of(job, mark, facts, now)) {
            return Listed { name, start: row.start.clone(), counts, last: row.last.known(all_touched) };
        }
        let wire = describe();
        let start = start_of(&wire);
        debug_assert_eq!(wire.counts(), counts, "a row is described by the same facts");
        let next = || wire.next.as_ref().and_then(|next| next.parse().ok());
        // A job that is not paused and has no next time may get one when the clock alone moves: its start is
        // true for no time, and is written for each list.
        let until = if mark.pause.is_some() { Timestamp::MAX } else { next().unwrap_or(now) };
        let last = kept.map_or_else(
            || LastRun::unknown(self.given.get()),
            |row| std::mem::replace(&mut row.last, LastRun::unknown(0)),
        );
        let known = last.known(all_touched);
        if MAX_START_BYTES < start.len() {
            rows.remove(&job.name);
        } else if rows.len() < MAX_ROWS || rows.contains_key(&job.name) {
            let row = Row {
                job: Arc::downgrade(job),
                watermark: mark.watermark,
                crashes: mark.crashes,
                pause: mark.pause,
                pause_terms: mark.pause_terms.clone(),
                is_done: is_done(job, mark),
                armed: facts.armed,
                silent_since: facts.silent_since,
                is_all_paused: facts.is_all_paused,
                written: now,
                until,
                start: start.clone(),
                last,
            };
            rows.insert(name.clone(), row);
        }
        Listed { name, start, counts, last: known }
    }

    /// A batch is given to the store.
    pub(super) fn note(&self, batch: &Batch) {
        self.given.set(self.given.get() + 1);
        let mut rows = self.rows.borrow_mut();
        for operation in &batch.operations {
            match Touch::of(operation) {
                Touch::Nobody => {}
                Touch::Anybody => {
                    self.all_touched.set(self.given.get());
                    self.ahead.touch();
                }
                Touch::Job(name) => {
                    if let Some(row) = rows.get_mut(name) {
                        row.last.touch(self.given.get());
                        self.ahead.touch();
                    }
                }
            }
        }
    }

    /// Whether there is no room for the row of another job.
    pub(super) fn is_full(&self) -> bool {
        MAX_ROWS <= self.rows.borrow().len()
    }

    /// How many batches were given to the store.
    pub(super) fn given(&self) -> BatchCount {
        self.given.get()
    }

    /// Takes in what the store has told when all was on disk that was given before it was asked.
    pub(super) fn learn(&self, told: Told) {
        let mut rows = self.rows.borrow_mut();
        for (name, text) in told.lasts {
            rows.get_mut(&name).into_iter().for_each(|row| row.last.learn(text.clone(), told.asked));
        }
    }

    /// Drops the rows of jobs that are gone, when there is no room for others.
    pub(super) fn forget_others(&self, is_there: impl Fn(&JobName) -> bool) {
        let mut rows = self.rows.borrow_mut();
        if rows.len() == MAX_ROWS {
            rows.retain(|name, _| is_there(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_action::body::{Body, ProcessBody};
    use mainspring_job::{After, Ending, Operation, RunKey, RunState, Timetable, Work};

    fn time(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    fn mark_of(job: &Job) -> Mark {
        Mark::new(job.name.clone(), time("2026-11-22T11:00:00Z"), "after j".to_owned())
    }

    fn job(name: &str) -> Arc<Job> {
        let name = JobName::new(name).expect("a name");
        let body = Body::Process(ProcessBody { shell: Some("true".to_owned()), ..ProcessBody::default() });
        let timetable = Timetable::new([After::new(name.clone(), Ending::Any)]).expect("one trigger");
        Arc::new(Job::new(name, timetable, Work::new(body.encode().expect("a small body"))))
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

    fn job_with(job: &Job, change: impl FnOnce(&mut Job)) -> Arc<Job> {
        let mut changed = job.clone();
        change(&mut changed);
        Arc::new(changed)
    }

    fn mark_with(mark: &Mark, change: impl FnOnce(&mut Mark)) -> Mark {
        let mut changed = mark.clone();
        change(&mut changed);
        changed
    }

    fn described(mark: &Mark, facts: Facts, next: Option<&str>) -> JobWire {
        let JobCounts { source_line, runs, failures, running, queued } = facts.counts(mark);
        let next = next.map(str::to_owned);
        JobWire { next, source_line, runs, failures, running, queued, ..JobWire::default() }
    }

    /// Whether the start of a row had to be written.
    fn is_written(
        rows: &JobRows,
        job: &Arc<Job>,
        mark: &Mark,
        facts: Facts,
        now: &str,
        next: Option<&str>,
    ) -> bool {
        let mut is_written = false;
        rows.row((job, mark), facts, time(now), || {
            is_written = true;
            described(mark, facts, next)
        });
        is_written
    }

    #[test]
    fn the_start_of_a_row_is_written_anew_when_anything_in_it_may_be_other() {
        let (first, noon, next) = (job("j"), "2026-11-22T12:00:00Z", Some("2026-11-22T13:00:00Z"));
        let mark = Mark::new(first.name.clone(), time("2026-11-22T11:00:00Z"), "after j".to_owned());
        let armed = Facts { armed: Some(time(noon)), ..facts() };
        let silent = Facts { silent_since: Some(time(noon)), ..facts() };
        let paused = Facts { is_all_paused: true, ..facts() };
        let work = job("j");
        let source = job_with(&first, |job| job.source = "other.toml".to_owned());
        let labels = job_with(&first, |job| job.labels = [("team".to_owned(), "a".to_owned())].into());
        let limited = job_with(&first, |job| job.max_runs = Some(3));
        let crashed = mark_with(&mark, |mark| mark.crashes = 1);
        let passed = mark_with(&mark, |mark| mark.watermark = time(noon));
        let noted = mark_with(&mark, |mark| mark.pause_terms.note = "why".to_owned());
        let rested = mark_with(&mark, |mark| mark.pause = Some(Pause::Failures));
        for (job, mark, known, now, is_anew) in [
            (&first, &mark, facts(), noon, false),
            (&first, &mark, facts(), "2026-11-22T12:59:59.999Z", false),
            (&first, &mark, facts(), "2026-11-22T13:00:00Z", true),
            (&first, &mark, facts(), "2026-11-22T11:59:59Z", true),
            (&first, &mark, armed, noon, true),
            (&first, &mark, silent, noon, true),
            (&first, &mark, paused, noon, true),
            (&work, &mark, facts(), noon, true),
            (&source, &mark, facts(), noon, true),
            (&labels, &mark, facts(), noon, true),
            (&limited, &mark, facts(), noon, true),
            (&first, &crashed, facts(), noon, true),
            (&first, &passed, facts(), noon, true),
            (&first, &noted, facts(), noon, true),
            (&first, &rested, facts(), noon, true),
        ] {
            let rows = JobRows::default();
            assert!(is_written(&rows, &first, &mark_of(&first), facts(), noon, next), "the first time");
            assert_eq!(is_written(&rows, job, mark, known, now, next), is_anew, "{mark:?} {known:?} {now}");
        }
    }

    #[test]
    fn numbers_are_those_of_now_and_do_not_have_the_row_written() {
        let (job, rows, noon) = (job("j"), JobRows::default(), "2026-11-22T12:00:00Z");
        let next = Some("2026-11-22T13:00:00Z");
        assert!(is_written(&rows, &job, &mark_of(&job), facts(), noon, next));
        let mut busy = Facts { source_line: Some(3), ..facts() };
        (busy.load.queued, busy.load.running) = (1, 2);
        let ran = mark_with(&mark_of(&job), |mark| (mark.runs, mark.failures) = (4, 5));
        let row = rows.row((&job, &ran), busy, time(noon), || panic!("it is kept"));
        let counts = JobCounts { source_line: Some(3), runs: 4, failures: 5, running: 2, queued: 1 };
        assert_eq!(row.counts, counts);
    }

    #[test]
    fn a_job_that_has_had_all_its_runs_is_written_anew() {
        let (job, noon) = (job_with(&job("j"), |job| job.max_runs = Some(3)), "2026-11-22T12:00:00Z");
        let (rows, next) = (JobRows::default(), Some("2026-11-22T13:00:00Z"));
        for (runs, is_anew) in [(1, true), (2, false), (3, true)] {
            let mark = mark_with(&mark_of(&job), |mark| mark.runs = runs);
            assert_eq!(is_written(&rows, &job, &mark, facts(), noon, next), is_anew, "{runs}");
        }
    }

    #[test]
    fn the_last_run_stays_known_when_the_start_is_written_anew_and_not_when_a_batch_ends_a_run() {
        let (job, rows) = (job("j"), JobRows::default());
        let listed = |now: &str| {
            let mark = mark_of(&job);
            rows.row((&job, &mark), facts(), time(now), || described(&mark, facts(), None)).last
        };
        let told = |asked| {
            rows.learn(Told { asked, lasts: vec![(job.name.clone(), Some("{}".into()))] });
        };
        assert_eq!(listed("2026-11-22T12:00:00Z"), None);
        told(rows.given());
        assert_eq!(listed("2026-11-22T12:00:01Z"), Some(Some("{}".into())));
        let end = |name: &JobName| Operation::End {
            key: RunKey::new(name.clone(), time("2026-11-22T11:00:00Z")),
            attempt: 1,
            state: RunState::Succeeded,
            at: time("2026-11-22T12:00:02Z"),
            outcome: None,
            crashes: 0,
            reason: None,
        };
        let other = JobName::new("other").expect("a name");
        rows.note(&Batch::new(1, vec![end(&other), Operation::PauseAll(None)]));
        assert_eq!(listed("2026-11-22T12:00:02Z"), Some(Some("{}".into())), "another job");
        for (number, operation) in
            [end(&job.name), Operation::Prune { job: None, keep: 1, before: Timestamp::MIN }]
                .into_iter()
                .enumerate()
        {
            let asked = rows.given();
            rows.note(&Batch::new(number as u64 + 2, vec![operation]));
            assert_eq!(listed("2026-11-22T12:00:03Z"), None);
            told(asked);
            assert_eq!(listed("2026-11-22T12:00:04Z"), None, "it was asked before");
            told(rows.given());
            assert_eq!(listed("2026-11-22T12:00:05Z"), Some(Some("{}".into())));
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
    fn a_row_that_is_very_long_is_not_kept() {
        let (job, rows, noon) = (job("j"), JobRows::default(), "2026-11-22T12:00:00Z");
        let mark = mark_of(&job);
        let mut written_count = 0;
        for length in [1, 1, MAX_START_BYTES, MAX_START_BYTES, 1] {
            // The next time has come, so that the row is written anew unless it is kept.
            let now = if length == 1 { noon } else { "2026-11-22T13:00:00Z" };
            rows.row((&job, &mark), facts(), time(now), || {
                written_count += 1;
                let action = "x".repeat(length);
                JobWire { action, ..described(&mark, facts(), Some("2026-11-22T12:30:00Z")) }
            });
        }
        assert_eq!(written_count, 4, "the first was kept once, and is gone after the long one");
    }

    #[test]
    fn rows_of_jobs_that_are_gone_make_room() {
        let (rows, next) = (JobRows::default(), Some("2026-11-22T13:00:00Z"));
        let model = job("j");
        let named = |index: usize| {
            let name = JobName::new(&format!("j{index}")).expect("a name");
            job_with(&model, |job| job.name = name)
        };
        let jobs: Vec<Arc<Job>> = (0..=MAX_ROWS).map(named).collect();
        let listed = |index: usize| {
            let job = &jobs[index];
            is_written(&rows, job, &mark_of(job), facts(), "2026-11-22T12:00:00Z", next)
        };
        for index in 0..=MAX_ROWS {
            assert!(listed(index));
        }
        assert!(!listed(7), "it is kept");
        assert!(listed(MAX_ROWS), "there was no room for it");
        rows.forget_others(|name| name.as_str() != "j7");
        assert!(listed(MAX_ROWS) && !listed(MAX_ROWS), "now there is");
    }
}
