//! Answers for a loop that is not there: from the store alone, to what only looks.
//!
//! ```text
//! request ─▶ records, open runs, counts, the planner's status ─▶ the same queries, and the same answers, as of the loop
//! ```
//!
//! All that a loop has acknowledged is in the store, so nothing is missing. What the store has as running may
//! be over: a planner finds out.
//!
//! Cost: for a page of jobs its records, and a page of open runs for each job at most; for `health`, and for
//! a group, all records.
//!
//! Does not write, and does not know what the planner will do: a job's next time is that of its definition.

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring_job::{
    Job, JobName, JobRecord, Load, MAX_PAGE, PauseTerms, Reader, RunKey, RunState, StoreError,
};

use super::describe::JobDetail;
use super::disk_reserve::free_bytes;
use super::feed::Feed;
use super::next_step::{job_name, named_run, run_key, usage};
use super::output::path;
use super::planner_status::PlannerStatus;
use super::progress_table::ProgressTable;
use super::queries::OneShot;
use super::store_contents::kept_job;
use super::views::{MAX_LISTED, MAX_PAGE_BYTES};
use super::{describe, health, queries};
use crate::data_directory::DataDirectory;
use crate::error::Error;
use crate::protocol::{
    Backend, ErrorKind, ErrorWire, HealthWire, HistoryWire, JobWire, ListWire, MAX_ROWS, Request, Response,
    StatusWire,
};
use mainspring_file::jobfile::Selector;

/// What `status` says while no server has the planner's lease.
const NO_PLANNER: &str = "no server plans now: nothing new starts until one does";

/// Answers from the store.
pub struct ReadOnlyBackend<'s> {
    /// The store.
    pub reader: &'s mut dyn Reader,
    /// Whether servers share the store: another owner comes, and what is open may run.
    pub is_shared: bool,
    /// Why the server that answers does not plan; empty if it is not known.
    pub why_not: &'s str,
    /// Where copies of outputs go, and what `status` calls the data directory.
    pub data: &'s DataDirectory,
    /// What `status` calls the begin of the server.
    pub began: Timestamp,
    /// When it is asked.
    pub now: Timestamp,
}

impl ReadOnlyBackend<'_> {
    /// Answers a request that only looks, and that has one answer.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, there is nothing of that name, or only a loop can answer.
    pub fn ask(&mut self, request: &Request) -> Result<Response, Error> {
        if Backend::Pool < request.row().backend {
            return Err(no_server().into());
        }
        match request {
            Request::Status => self.status(),
            Request::Health => Ok(Response::Health(Box::new(self.health()?))),
            Request::Recount => Ok(queries::recount(self.reader)?),
            Request::List(wire) => self.list(wire),
            Request::Pending { after, limit } => {
                let after = queries::pending_start(after.as_deref())?;
                Ok(queries::pending(self.reader, after, *limit)?)
            }
            Request::Show { job } => self.show(job),
            Request::History(wire) => self.history(wire),
            Request::Audit(wire) => Ok(queries::audit(self.reader, &queries::audit_query(wire)?)?),
            Request::Export { after } => self.export(after.as_deref()),
            Request::Find { run } => self.find(run),
            _ => Err(no_server().into()),
        }
    }

    /// What a job's latest run, or a certain run, wrote, as far as it is kept: each line to `each`.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, there is nothing of that name, or `each` fails.
    pub fn logs(
        &mut self,
        of: &str,
        each: &mut dyn FnMut(Response) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let outputs = self.data.output();
        let (key, cause) = match run_key(of) {
            Some(key) => queries::logs_of_run(self.reader, key, &outputs)?,
            None => {
                let name = job_name(of)?;
                let job = self.is_job(&name)?.then_some(&name);
                queries::logs_of_job(self.reader, &name, job, &outputs)?
            }
        };
        let path = path(&outputs, &key, cause);
        let mut feed = Feed::new(0, key, None, path);
        while let Some(line) = feed.next_line() {
            each(line)?;
        }
        Ok(())
    }

    /// The jobs that were not removed, in the order of their names, and how long all of them are paused, if
    /// they are.
    fn records(&mut self) -> Result<(Vec<JobRecord>, Option<PauseTerms>), Error> {
        let (mut records, paused) = self.reader.jobs()?;
        records.retain(|record| record.source.is_some());
        records.sort_by(|a, b| a.mark.job.cmp(&b.mark.job));
        Ok((records, paused))
    }

    /// A job that is defined.
    pub(super) fn record(&mut self, name: &JobName) -> Result<Option<JobRecord>, Error> {
        let found = self.reader.defined_from(Bound::Included(name), 1)?;
        Ok(found.into_iter().next().filter(|record| record.mark.job == *name))
    }

    fn is_job(&mut self, name: &JobName) -> Result<bool, Error> {
        Ok(self.record(name)?.is_some())
    }

    fn status(&mut self) -> Result<Response, Error> {
        let mut known = PlannerStatus::read(self.reader).status;
        if known.version.is_empty() {
            // No server has planned here.
            known.version = env!("CARGO_PKG_VERSION").to_owned();
            known.data = self.data.shown();
            (known.pid, known.started) = (std::process::id(), self.began);
            (known.state, known.is_kept) = ("running".to_owned(), true);
        }
        let paused = self.reader.pause()?;
        let mut query = mainspring_job::Query::new(MAX_PAGE);
        query.states = vec![RunState::Running];
        let running = self.reader.find(&query)?.len();
        let next = known.next.filter(|_| paused.is_none()).map(|next| next.max(self.now));
        let mut status = queries::status(self.reader, known, next)?;
        let plans = status.cluster.as_ref().is_some_and(|cluster| 0 < cluster.lease_left_ms);
        if !plans {
            // Those of a planner that is gone are over, or the next one tells them.
            status.troubles = vec![NO_PLANNER.to_owned()];
            let stands_by = || format!("this server stands by: {}", self.why_not);
            status.troubles.extend((!self.why_not.is_empty()).then(stands_by));
        }
        Ok(Response::Status(Box::new(StatusWire {
            paused: paused.is_some(),
            pause_terms: paused.as_ref().map(|terms| describe::pause_terms(terms, &TimeZone::system())),
            running: running as u64,
            ..status
        })))
    }

    /// How the store is, and what the planner has said of itself.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn health(&mut self) -> Result<HealthWire, Error> {
        let known = PlannerStatus::read(self.reader).health;
        let (records, paused) = self.records()?;
        let counts = self.reader.counts()?;
        let health = health::of_marks(known, records.iter().map(|record| &record.mark), self.now);
        let free_bytes = free_bytes(self.data.directory());
        Ok(HealthWire { is_all_paused: paused.is_some(), dead: counts.dead, free_bytes, ..health })
    }

    fn list(&mut self, wire: &ListWire) -> Result<Response, Error> {
        let selector = Selector::parse(&wire.labels).map_err(usage)?;
        let paused = self.reader.pause()?;
        let lines = PlannerStatus::lines(self.reader);
        let found = |record: JobRecord| {
            defined(&record).filter(|job| selector.holds(&job.labels)).map(|job| (record, job))
        };
        let (page, after) = self.page(wire.after.as_deref(), found, |(record, _)| record)?;
        let names: Vec<&JobName> = page.iter().map(|(_, job)| &job.name).collect();
        let loads = self.loads(&names)?;
        let row = |(record, job): (JobRecord, Job)| {
            let load = loads.get(&job.name).copied().unwrap_or_default();
            let source_line = lines.get(&job.name).copied();
            JobWire { source_line, ..self.wire(job, &record, load, paused.as_ref()) }
        };
        let jobs = page.into_iter().map(row).collect();
        Ok(queries::list(self.reader, jobs, after, idle())?)
    }

    fn show(&mut self, text: &str) -> Result<Response, Error> {
        let name = job_name(text)?;
        let found = self.record(&name)?.and_then(|record| Some((defined(&record)?, record)));
        if let Some((job, record)) = found {
            let job = self.known(job, record)?;
            return Ok(queries::show(self.reader, job, idle())?);
        }
        Ok(match queries::one_shot(self.reader, &name)? {
            OneShot::Pending(once) => queries::show_pending(&once, self.pending_holds()?, self.now),
            OneShot::Fired(run) => {
                let holds = self.run_holds(&run)?;
                queries::found(self.reader, &run, holds, idle())?
            }
        })
    }

    fn find(&mut self, text: &str) -> Result<Response, Error> {
        let key = named_run(text)?;
        let run = queries::run(self.reader, &key)?;
        queries::fetch_output(self.reader, &run, &self.data.output());
        let holds = self.run_holds(&run)?;
        Ok(queries::found(self.reader, &run, holds, idle())?)
    }

    /// A job but for its last run.
    fn known(&mut self, job: Job, record: JobRecord) -> Result<JobWire, StoreError> {
        let (name, paused) = (job.name.clone(), self.reader.pause()?);
        let source_line = PlannerStatus::lines(self.reader).remove(&name);
        let (open, now) = (self.open_runs(&name, |_| true)?, self.now);
        let holds =
            self.holds(&job.work, Some(&record.mark), open.in_the_way, |rows| rows.holds(&job, now))?;
        let holds = describe::holds(holds, &name);
        let wire = self.wire(job, &record, open.load, paused.as_ref());
        let (waiting, waiting_count) = (open.waiting, open.waiting_count);
        Ok(JobWire { definition: record.text, holds, waiting, waiting_count, source_line, ..wire })
    }

    fn history(&mut self, wire: &HistoryWire) -> Result<Response, Error> {
        let mut members = Vec::new();
        if let Some(group) = wire.group.as_deref() {
            let is_member = |job: &Job| job.work.group.as_ref().is_some_and(|its| its.as_str() == group);
            let (records, _) = self.records()?;
            members = records.iter().filter_map(defined).filter(is_member).map(|job| job.name).collect();
        }
        let query = queries::history_query(wire, members)?;
        let unknown = match &query.job {
            Some(job) if !self.is_job(job)? => Some(job),
            _ => None,
        };
        Ok(queries::history(self.reader, &query, unknown, idle())?)
    }

    fn export(&mut self, place: Option<&str>) -> Result<Response, Error> {
        let (page, after) = self.page(place, Some, |record| record)?;
        Ok(Response::Export { texts: page.into_iter().map(|record| record.text).collect(), after })
    }

    /// The first jobs after a name that are found and one answer has room for, and the name after which the
    /// next answer continues.
    fn page<T>(
        &mut self,
        after: Option<&str>,
        found: impl Fn(JobRecord) -> Option<T>,
        record: impl Fn(&T) -> &JobRecord,
    ) -> Result<(Vec<T>, Option<String>), Error> {
        // A text that is no name is from no page of ours: the list begins again.
        let mut after = after.and_then(|after| JobName::new(after).ok());
        let (mut bytes, mut page): (usize, Vec<T>) = (0, Vec::new());
        loop {
            let first = after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
            let records = self.reader.defined_from(first, MAX_LISTED)?;
            let is_last = records.len() < MAX_LISTED;
            let is_after = |found: &JobName| after.as_ref().is_none_or(|after| after < found);
            debug_assert!(records.iter().all(|it| is_after(&it.mark.job)), "a page is after the last one");
            after = records.last().map(|last| last.mark.job.clone());
            for one in records.into_iter().filter_map(&found) {
                if page.len() == MAX_LISTED || MAX_PAGE_BYTES <= bytes {
                    let after = page.last().map(|last| record(last).mark.job.to_string());
                    return Ok((page, after));
                }
                bytes += record(&one).text.len();
                page.push(one);
            }
            if is_last {
                return Ok((page, None));
            }
        }
    }

    /// What is known of a job, but for its last run.
    fn wire(&self, job: Job, record: &JobRecord, load: Load, paused: Option<&PauseTerms>) -> JobWire {
        let mark = &record.mark;
        // The owner that comes looks at it then.
        let armed = if self.is_shared { describe::next(&job, mark, self.now) } else { None };
        let silent_since = self.silent_since(&job, record);
        let (job, mark, is_all_paused) = (Arc::new(job), mark.clone(), paused.is_some());
        let known = JobDetail { job, mark, armed, load, silent_since, source_line: None, is_all_paused };
        describe::job(&known, self.now)
    }

    /// Since when no run has succeeded, if that is longer than the definition allows.
    fn silent_since(&self, job: &Job, record: &JobRecord) -> Option<Timestamp> {
        // Of a folder that no server has no client expects news.
        let since = Some(record.silent_since()).filter(|_| self.is_shared)?;
        let most = job.hooks.as_ref()?.hook().silent_after()?;
        since.checked_add(most).is_ok_and(|end| end <= self.now).then_some(since)
    }

    /// The open runs of these jobs, which are in order. Of a folder that no server has none is open. Runs of
    /// jobs between them are passed over.
    fn loads(&mut self, names: &[&JobName]) -> Result<HashMap<JobName, Load>, StoreError> {
        debug_assert!(names.is_sorted(), "a job is found among them by halves");
        let mut loads: HashMap<JobName, Load> = HashMap::new();
        let before = |name: &JobName| RunKey::new(name.clone(), Timestamp::MIN);
        let mut next = names.first().filter(|_| self.is_shared).map(|name| before(name));
        while let Some(after) = next.take() {
            let runs = self.reader.open_runs(Some(&after), MAX_ROWS)?;
            for run in &runs {
                if names.binary_search(&&run.key.job).is_ok() {
                    let load = loads.entry(run.key.job.clone()).or_default();
                    match run.state {
                        RunState::Running => load.running += 1,
                        RunState::Queued => load.queued += 1,
                        _ => {}
                    }
                }
            }
            next = runs.last().filter(|_| runs.len() == MAX_ROWS).and_then(|last| {
                let later = names.get(names.partition_point(|name| **name < last.key.job))?;
                Some(if **later == last.key.job { last.key.clone() } else { before(later) })
            });
            debug_assert!(next.as_ref().is_none_or(|next| after < *next), "a page is after the last one");
        }
        Ok(loads)
    }
}

/// Nothing runs in what answers from a store.
fn idle() -> ProgressTable {
    ProgressTable::default()
}

pub(super) fn no_server() -> ErrorWire {
    ErrorWire::new(ErrorKind::Temporary, "no server is running")
}

/// A job by its kept definition, which names its zones.
pub(super) fn defined(record: &JobRecord) -> Option<Job> {
    kept_job(record, &TimeZone::UTC)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_job::{Batch, Cause, Mark, MemoryStore, Operation, Owner, Run, Store};

    fn name(number: usize) -> JobName {
        JobName::new(&format!("j{number:04}")).unwrap()
    }

    fn define(number: usize) -> Operation {
        let (name, at) = (name(number), Timestamp::UNIX_EPOCH);
        let text = format!("[jobs.{name}]\nevery = \"1h\"\nshell = \"true\"\n");
        let mark = Mark::new(name, at, "every 1h".to_owned());
        Operation::Define { mark, source: "serve:/jobs.toml".to_owned(), text }
    }

    fn open(job: usize, series: u32, state: RunState) -> Operation {
        let at = Timestamp::UNIX_EPOCH;
        let key = RunKey { series, ..RunKey::new(name(job), at) };
        Operation::Plan(Run::new(key, Cause::Backfill, state, at, at))
    }

    fn filled(operations: &[Operation]) -> MemoryStore {
        let mut store = MemoryStore::new();
        let lease = store.acquire(&Owner::new("test")).unwrap();
        for (number, part) in (1..).zip(operations.chunks(1_000)) {
            store.commit(lease, &Batch::new(number, part.to_vec())).unwrap();
        }
        store
    }

    /// All jobs of a list, page by page.
    fn listed(store: &mut MemoryStore) -> Vec<JobWire> {
        let data = DataDirectory::find(Some("/nowhere".as_ref()));
        let at = Timestamp::UNIX_EPOCH;
        let mut backend =
            ReadOnlyBackend { reader: store, is_shared: true, why_not: "", data: &data, began: at, now: at };
        let (mut jobs, mut next) = (Vec::new(), None);
        loop {
            let list = Request::List(ListWire { after: next, ..ListWire::default() });
            let Response::Jobs { jobs: page, after } = backend.ask(&list).unwrap() else { panic!("a list") };
            assert!(page.len() <= MAX_LISTED);
            jobs.extend(page);
            next = after;
            if next.is_none() {
                return jobs;
            }
        }
    }

    #[test]
    fn each_job_is_on_one_page_with_all_its_open_runs() {
        let mut operations: Vec<Operation> = (0..600).step_by(2).map(define).collect();
        // More than a page of open runs, of a job and of one that is not defined.
        operations.extend((0..2_500).map(|series| open(100, series, RunState::Queued)));
        operations.extend((0..2_500).map(|series| open(101, series, RunState::Queued)));
        operations.push(open(102, 0, RunState::Queued));
        operations.push(open(598, 0, RunState::Queued));
        let mut store = filled(&operations);
        let jobs = listed(&mut store);
        let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        let all: Vec<JobName> = (0..600).step_by(2).map(name).collect();
        assert_eq!(names, all.iter().map(JobName::as_str).collect::<Vec<&str>>());
        let queued: Vec<(&str, usize)> =
            jobs.iter().filter(|job| 0 < job.queued).map(|job| (job.name.as_str(), job.queued)).collect();
        assert_eq!(queued, [("j0100", 2_500), ("j0102", 1), ("j0598", 1)]);
    }
}
