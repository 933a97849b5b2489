//! The operations of a batch, each within its transaction. Each is guarded as the table of
//! `mainspring_job::Operation` says.

use std::sync::LazyLock;

use jiff::Timestamp;
use mainspring_job::{
    Answer, Audit, Forgiveness, JobName, MAX_AUDIT_ROWS, MAX_PRUNED, Mark, Once, OnceId, Operation, Outcome,
    Pause, Reason, Run, RunKey, RunState, StoreError, Work, WorkerId,
};
use rusqlite::{Connection, Params, params};

use super::connection::{execute, first};
use super::last_run;
use super::read::{AskedConnection, pending};
use super::row_counts::RowCounts;
use mainspring_rows::questions::Database;
use mainspring_rows::{PENDING, RUN, column_count, nanoseconds, number, time, unreadable, unsigned};

const DELETE_PENDING: &str = "DELETE FROM pending WHERE due = ?1 AND number = ?2";

const _: () = assert!(column_count(PENDING) + 1 == 11, "each column has a place");

/// Written once, because a batch has hundreds of them.
static INSERT_PENDING: LazyLock<String> = LazyLock::new(|| {
    format!(
        "INSERT INTO pending (is_named, {PENDING}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
            ON CONFLICT DO NOTHING"
    )
});

/// The same of a run.
static INSERT_RUN: LazyLock<String> = LazyLock::new(|| {
    const { assert!(column_count(RUN) == 23, "`insert` has a value for each") };
    let places: Vec<String> = (1..=23).map(|place| format!("?{place}")).collect();
    format!("INSERT INTO run ({RUN}) VALUES ({}) ON CONFLICT DO NOTHING", places.join(", "))
});

type ApplyResult = Result<Answer, StoreError>;

/// Writes the operations of a batch, and counts the rows that come and go.
pub(super) struct BatchWriter<'c> {
    connection: &'c Connection,
    pub(super) counts: RowCounts,
}

impl BatchWriter<'_> {
    /// Within a transaction of this connection.
    pub(super) fn new(connection: &Connection) -> BatchWriter<'_> {
        BatchWriter { connection, counts: RowCounts::default() }
    }

    pub(super) fn apply(&mut self, operation: &Operation) -> ApplyResult {
        match operation {
            Operation::Submit(once) => self.submit(once),
            Operation::Fire { id, run } => match self.take_pending(*id)? {
                Some(_) => self.insert(run),
                None => Ok(Answer::Gone),
            },
            Operation::Withdraw { id, at } => match self.take_pending(*id)? {
                Some(once) => self.insert(&withdrawn(&once, *at)),
                None => Ok(Answer::Gone),
            },
            Operation::Plan(run) => self.insert(run),
            Operation::Begin { key, attempt, at, worker } => self.begin(key, *attempt, *at, *worker),
            Operation::End { .. } => self.end(operation),
            Operation::Clear { key, attempt } => self.clear(key, *attempt),
            Operation::Move { .. } => self.change_state(operation),
            Operation::Define { mark, source, text } => self.define(mark, source, text),
            Operation::Mark(mark) => self.keep_mark(mark),
            Operation::Rewind(mark) => self.rewind(mark),
            Operation::Forget { job, absence, retention } => {
                self.counts.jobs -= i64::from(self.is_defined(job)? == Some(true));
                let sql = "UPDATE job SET source = NULL, text = ?2 WHERE name = ?1";
                let text = mainspring_rows::left(absence.as_ref(), *retention);
                Ok(new_or_missing(self.execute(sql, params![job.as_str(), text])?))
            }
            Operation::Prune { job, keep, before } => self.prune(job.as_ref(), *keep, *before),
            Operation::PauseAll(terms) => {
                let sql = "UPDATE head SET is_paused = ?1, pause_until = ?2, pause_note = ?3";
                let (until, note) =
                    terms.as_ref().map_or((None, ""), |terms| (terms.until, terms.note.as_str()));
                self.execute(sql, params![terms.is_some(), until.map(nanoseconds), note])?;
                Ok(Answer::New)
            }
            Operation::Audit(audit) => self.keep_audit(audit),
        }
    }

    fn execute(&self, sql: &str, values: impl Params) -> Result<usize, StoreError> {
        execute(self.connection, sql, values)
    }

    /// Adds a row, and drops what is older than the newest [`MAX_AUDIT_ROWS`].
    fn keep_audit(&self, audit: &Audit) -> ApplyResult {
        let sql = "INSERT INTO audit (at, actor, action, target, note) VALUES (?1, ?2, ?3, ?4, ?5)";
        let Audit { at, actor, action, target, note, .. } = audit;
        self.execute(sql, params![nanoseconds(*at), actor, action, target, note])?;
        let sql = "DELETE FROM audit WHERE number <= ?1";
        self.execute(sql, params![self.connection.last_insert_rowid() - number(MAX_AUDIT_ROWS)])?;
        Ok(Answer::New)
    }

    /// A one-shot job's id out of a row of `due, number`.
    fn holder(&self, sql: &str, values: impl Params) -> Result<Option<Answer>, StoreError> {
        let found = first(self.connection, sql, values, |row| Ok((row.get(0)?, row.get(1)?)))?;
        let id = |(due, number)| OnceId { due: time(due), number: unsigned(number) };
        Ok(found.map(|found| Answer::Duplicate(Some(id(found)))))
    }

    fn submit(&mut self, once: &Once) -> ApplyResult {
        let (due, id_number) = (nanoseconds(once.id.due), number(once.id.number));
        let is_named = once.name.as_str().parse::<OnceId>().is_err();
        if let Some(key) = &once.key {
            let sql = "SELECT due, number FROM once_key WHERE key = ?1";
            if let Some(answer) = self.holder(sql, params![key])? {
                return Ok(answer);
            }
        }
        // Most are new, so it is added before anything else is asked.
        let Work { action, policies, group, priority, .. } = &*once.work;
        let values = params![
            is_named,
            due,
            id_number,
            once.name.as_str(),
            once.key,
            nanoseconds(once.submitted),
            action.kind(),
            action.body(),
            policies.to_string(),
            group.as_ref().map(JobName::as_str),
            priority
        ];
        if self.execute(&INSERT_PENDING, values)? == 0 {
            if is_named {
                let sql = "SELECT due, number FROM pending WHERE name = ?1 AND is_named = 1";
                if let Some(answer) = self.holder(sql, params![once.name.as_str()])? {
                    return Ok(answer);
                }
            }
            return Ok(Answer::Duplicate(Some(once.id)));
        }
        if self.progress(&RunKey::new(once.name.clone(), once.id.due))?.is_some() {
            self.execute(DELETE_PENDING, params![due, id_number])?;
            return Ok(Answer::Duplicate(None));
        }
        if let Some(key) = &once.key {
            let sql = "INSERT INTO once_key (key, due, number, name) VALUES (?1, ?2, ?3, ?4)";
            self.execute(sql, params![key, due, id_number, once.name.as_str()])?;
        }
        self.counts.pending += 1;
        Ok(Answer::New)
    }

    fn take_pending(&mut self, id: OnceId) -> Result<Option<Once>, StoreError> {
        let found = pending(&mut AskedConnection(self.connection), id)?;
        if found.is_some() {
            self.counts.pending -= 1;
            self.execute(DELETE_PENDING, params![nanoseconds(id.due), number(id.number)])?;
        }
        Ok(found)
    }

    fn insert(&mut self, run: &Run) -> ApplyResult {
        let (job, nominal, series) = parts(&run.key);
        let work = run.work.as_deref();
        let values = params![
            job,
            nominal,
            series,
            run.cause.name(),
            run.state.name(),
            run.attempt,
            nanoseconds(run.due),
            nanoseconds(run.planned),
            run.started.map(nanoseconds),
            run.ended.map(nanoseconds),
            run.outcome.as_ref().map(ToString::to_string),
            stored(run.reason.as_ref()),
            run.span.map(|span| nanoseconds(span.last)),
            run.span.map(|span| number(span.count)),
            run.span.map(|span| span.is_exact),
            work.map(|work| work.action.kind()),
            work.map(|work| work.action.body()),
            work.map(|work| work.policies.to_string()),
            work.and_then(|work| work.group.as_ref()).map(JobName::as_str),
            work.map(|work| work.priority),
            run.crashes,
            run.forgiven,
            run.worker.map(|worker| number(worker.0))
        ];
        if self.execute(&INSERT_RUN, values)? == 0 {
            return Ok(Answer::Duplicate(None));
        }
        self.counts.add_run(run.state);
        if !run.state.is_open() {
            last_run::record(self.connection, &run.key, run.state, run.ended.unwrap_or(run.planned))?;
        }
        if run.state == RunState::Running {
            self.add_attempt(&run.key, run.attempt, run.started.unwrap_or(run.planned), run.worker)?;
        }
        Ok(Answer::New)
    }

    fn add_attempt(
        &self,
        key: &RunKey,
        attempt: u32,
        started: Timestamp,
        worker: Option<WorkerId>,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO attempt (job, nominal, series, number, started, worker)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let (job, nominal, series) = parts(key);
        let worker = worker.map(|worker| number(worker.0));
        self.execute(sql, params![job, nominal, series, attempt, nanoseconds(started), worker]).map(drop)
    }

    fn progress(&self, key: &RunKey) -> Result<Option<RunProgress>, StoreError> {
        let sql = "SELECT state, attempt FROM run WHERE job = ?1 AND nominal = ?2 AND series = ?3";
        let found =
            first(self.connection, sql, parts(key), |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
        let Some((state, attempt)) = found else { return Ok(None) };
        let unreadable = || unreadable("state of a run", &state);
        Ok(Some(RunProgress { state: RunState::from_name(&state).ok_or_else(unreadable)?, attempt }))
    }

    fn begin(&mut self, key: &RunKey, attempt: u32, at: Timestamp, worker: Option<WorkerId>) -> ApplyResult {
        let Some(run) = self.progress(key)? else { return Ok(Answer::Missing) };
        if attempt <= run.attempt {
            return Ok(Answer::Duplicate(None));
        }
        if attempt != run.attempt + 1 || !run.state.may_become(RunState::Running) {
            return Ok(Answer::Gone);
        }
        let sql = "UPDATE run SET state = 'running', attempt = ?4, started = ?5, ended = NULL, outcome = NULL, worker = ?6,
            reason = CASE reason WHEN 'retry_requested' THEN reason ELSE '' END
            WHERE job = ?1 AND nominal = ?2 AND series = ?3";
        let (job, nominal, series) = parts(key);
        let id = worker.map(|worker| number(worker.0));
        self.execute(sql, params![job, nominal, series, attempt, nanoseconds(at), id])?;
        self.add_attempt(key, attempt, at, worker)?;
        self.counts.move_run(run.state, RunState::Running);
        Ok(Answer::New)
    }

    fn end(&mut self, operation: &Operation) -> ApplyResult {
        let Operation::End { key, attempt, state, at, outcome, crashes, reason } = operation else {
            unreachable!("the operation is an end");
        };
        let Some(run) = self.progress(key)? else { return Ok(Answer::Missing) };
        let is_running = run.attempt == *attempt && run.state == RunState::Running;
        if !is_running || !state.is_end_of_attempt() {
            return Ok(Answer::Gone);
        }
        let (job, nominal, series) = parts(key);
        let sql = "UPDATE run SET state = ?4, ended = ?5, outcome = ?6, reason = ?7, deaths = ?8
            WHERE job = ?1 AND nominal = ?2 AND series = ?3";
        let (ended, text) = (nanoseconds(*at), outcome.as_ref().map(ToString::to_string));
        let values =
            params![job, nominal, series, state.name(), ended, text, stored(reason.as_ref()), crashes];
        self.execute(sql, values)?;
        self.end_record(key, *attempt, *at, *state, outcome.as_ref())?;
        self.counts.move_run(run.state, *state);
        if !state.is_open() {
            last_run::record(self.connection, key, *state, *at)?;
        }
        Ok(Answer::New)
    }

    /// The record of an attempt says how that ended.
    fn end_record(
        &self,
        key: &RunKey,
        attempt: u32,
        at: Timestamp,
        state: RunState,
        outcome: Option<&Outcome>,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE attempt SET ended = ?5, state = ?6, outcome = ?7
            WHERE job = ?1 AND nominal = ?2 AND series = ?3 AND number = ?4";
        let (job, nominal, series) = parts(key);
        let outcome = outcome.map(ToString::to_string);
        let values = params![job, nominal, series, attempt, nanoseconds(at), state.name(), outcome];
        self.execute(sql, values).map(drop)
    }

    fn change_state(&mut self, operation: &Operation) -> ApplyResult {
        let Operation::Move { key, from, to, due, at, reason } = operation else {
            unreachable!("the operation is a move");
        };
        let Some(run) = self.progress(key)? else { return Ok(Answer::Missing) };
        if run.state != *from || !from.may_become(*to) || *to == RunState::Running {
            return Ok(Answer::Gone);
        }
        let sql = "UPDATE run SET state = ?4, due = ?5, reason = ?6, ended = coalesce(?7, ended),
            forgiven = CASE ?8 WHEN 2 THEN attempt WHEN 1 THEN forgiven + 1 ELSE forgiven END
            WHERE job = ?1 AND nominal = ?2 AND series = ?3";
        let ended = if to.is_open() { None } else { Some(nanoseconds(*at)) };
        let (job, nominal, series) = parts(key);
        let (due, reason, forgiveness) = (nanoseconds(*due), stored(reason.as_ref()), from.forgives(*to));
        let values = params![job, nominal, series, to.name(), due, reason, ended, forgiveness.code()];
        self.execute(sql, values)?;
        if forgiveness == Forgiveness::Last {
            self.end_record(key, run.attempt, *at, *to, Some(&Outcome::Returned))?;
        }
        self.counts.move_run(*from, *to);
        match (from.is_open(), to.is_open()) {
            (_, false) => last_run::record(self.connection, key, *to, *at)?,
            (false, true) => last_run::replace(self.connection, key)?,
            (true, true) => {}
        }
        Ok(Answer::New)
    }

    fn clear(&self, key: &RunKey, attempt: u32) -> ApplyResult {
        let Some(run) = self.progress(key)? else { return Ok(Answer::Missing) };
        if run.attempt != attempt || run.state != RunState::Running {
            return Ok(Answer::Gone);
        }
        let sql = "UPDATE run SET deaths = 0 WHERE job = ?1 AND nominal = ?2 AND series = ?3";
        self.execute(sql, parts(key))?;
        Ok(Answer::New)
    }

    /// Whether a job has a definition; `None` if it has no row.
    fn is_defined(&self, name: &JobName) -> Result<Option<bool>, StoreError> {
        let sql = "SELECT source IS NOT NULL FROM job WHERE name = ?1";
        first(self.connection, sql, params![name.as_str()], |row| row.get(0))
    }

    fn define(&mut self, mark: &Mark, source: &str, text: &str) -> ApplyResult {
        let is_defined = self.is_defined(&mark.job)?;
        self.counts.jobs += i64::from(is_defined != Some(true));
        if is_defined.is_none() {
            let sql = "INSERT INTO job (name, source, text, watermark, timetable, runs, failures, max_series)
                VALUES (?1, ?2, ?3, ?4, ?5, 0, 0, 0)";
            let (job, watermark) = (mark.job.as_str(), nanoseconds(mark.watermark));
            self.execute(sql, params![job, source, text, watermark, mark.timetable])?;
            self.keep_mark(mark)?;
            last_run::look(self.connection, &mark.job)?;
        } else {
            let sql = "UPDATE job SET source = ?2, text = ?3 WHERE name = ?1";
            self.execute(sql, params![mark.job.as_str(), source, text])?;
        }
        Ok(Answer::New)
    }

    fn keep_mark(&self, mark: &Mark) -> ApplyResult {
        let sql = "UPDATE job SET watermark = CASE timetable WHEN ?7 THEN max(watermark, ?2) ELSE ?2 END, runs = ?3,
            failures = ?4, max_series = ?5, pause = ?6, timetable = ?7, deaths = ?8, pause_until = ?9, pause_note = ?10,
            since = ?11 WHERE name = ?1";
        let values = params![
            mark.job.as_str(),
            nanoseconds(mark.watermark),
            number(mark.runs),
            mark.failures,
            mark.max_series,
            mark.pause.map(Pause::name),
            mark.timetable,
            mark.crashes,
            mark.pause_terms.until.map(nanoseconds),
            mark.pause_terms.note,
            nanoseconds(mark.since)
        ];
        Ok(new_or_missing(self.execute(sql, values)?))
    }

    /// A mark whose watermark may lie before the one that is kept.
    fn rewind(&self, mark: &Mark) -> ApplyResult {
        let sql = "UPDATE job SET watermark = ?2 WHERE name = ?1";
        self.execute(sql, params![mark.job.as_str(), nanoseconds(mark.watermark)])?;
        self.keep_mark(mark)
    }

    /// What ended first goes first, at most [`MAX_PRUNED`].
    fn prune(&mut self, job: Option<&JobName>, keep: u32, before: Timestamp) -> ApplyResult {
        let over = "state NOT IN ('scheduled', 'queued', 'running', 'dead')";
        let (theirs, name) = match job {
            Some(name) => ("job = ?1 AND cause <> 'once'", name.as_str()),
            None => ("?1 = '' AND cause = 'once'", ""),
        };
        // The first that is within the number to keep; what comes before it is surplus. Materialized, lest it
        // be sought again for each row: with 4,000 runs kept that took 4.5 s instead of 3 ms.
        let sql = format!(
            "WITH kept AS MATERIALIZED (SELECT ended, job, nominal, series FROM run WHERE {theirs} AND {over}
                ORDER BY ended DESC, job DESC, nominal DESC, series DESC LIMIT 1 OFFSET ?2)
            SELECT {RUN} FROM run WHERE {theirs} AND {over} AND (ended < ?3 OR EXISTS (SELECT 1 FROM kept
                WHERE (run.ended, run.job, run.nominal, run.series) <= (kept.ended, kept.job, kept.nominal, kept.series)))
            ORDER BY ended, job, nominal, series LIMIT ?4"
        );
        let limit = i64::try_from(MAX_PRUNED).expect("it is small");
        let values = vec![name.to_owned().into(), keep.into(), nanoseconds(before).into(), limit.into()];
        for run in AskedConnection(self.connection).rows("prune", &sql, values, mainspring_rows::run)? {
            self.drop_run(&run)?;
        }
        let sql = "DELETE FROM job WHERE name = ?1 AND source IS NULL AND watermark < ?2
            AND NOT EXISTS (SELECT 1 FROM run WHERE job = ?1)";
        let dropped_count = self.execute(sql, params![name, nanoseconds(before)])?;
        Ok(if dropped_count == 0 { Answer::New } else { Answer::Gone })
    }

    fn drop_run(&mut self, run: &Run) -> Result<(), StoreError> {
        let (job, nominal, series) = parts(&run.key);
        for table in ["run", "attempt"] {
            let sql = format!("DELETE FROM {table} WHERE job = ?1 AND nominal = ?2 AND series = ?3");
            self.execute(&sql, params![job, nominal, series])?;
        }
        if series == 0 {
            self.execute("DELETE FROM once_key WHERE name = ?1 AND due = ?2", params![job, nominal])?;
        }
        self.counts.drop_run(run.state);
        last_run::replace(self.connection, &run.key)
    }
}

/// How far a run is.
struct RunProgress {
    state: RunState,
    attempt: u32,
}

/// The run of a one-shot job that was withdrawn.
fn withdrawn(once: &Once, at: Timestamp) -> Run {
    let mut run = once.run(RunState::Cancelled, once.id.due, at);
    run.ended = Some(at);
    run.reason = Some(Reason::Withdrawn);
    run
}

/// The column `reason`: a code, and empty if there is none.
fn stored(reason: Option<&Reason>) -> String {
    reason.map(Reason::stored).unwrap_or_default()
}

fn new_or_missing(changed_count: usize) -> Answer {
    if changed_count == 0 { Answer::Missing } else { Answer::New }
}

fn parts(key: &RunKey) -> (&str, i64, u32) {
    (key.job.as_str(), nanoseconds(key.nominal), key.series)
}
