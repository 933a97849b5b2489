//! Requests that only look, and the files of output on their way to those who read them.
//!
//! Cost: a query of the store of a page at most.
//!
//! Does not change anything.
//!
//! Source: own.

use std::collections::{BTreeSet, HashMap};

use jiff::{Span, Timestamp};
use mainspring_job::{Cause, Job, JobName, Mark, OnceId, Query, Run, RunKey, RunState, StoreError};

use super::ask::{Asking, Next, job_name, not_found, run_key, store_failed, usage};
use super::feed::Feed;
use super::phase::Phase;
use super::{Keeping, Server, describe};
use crate::protocol::{ErrorWire, JobWire, MAX_ROWS, Response, StatusWire};
use mainspring_exec::clock::Moment;

/// How many runs that did not start are passed over to find the latest that did.
pub(super) const MAX_UNSTARTED: usize = 100;

/// The most jobs of one answer: when each is due next takes some microseconds to find, and all other work waits meanwhile.
const MAX_LISTED: usize = 250;

const _: () = assert!(MAX_LISTED <= MAX_ROWS, "the protocol has room for them");

/// How long the definitions of one answer are together, but for the last of them.
const MAX_PAGE_BYTES: usize = 256 << 10;

impl Server {
    pub(super) fn status(&mut self, now: Moment) -> Asking {
        let counts = self.store.counts(self.shard()).map_err(store_failed)?;
        Ok(Next::Answer(Response::Status(Box::new(StatusWire {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            data: self.place.directory().display().to_string(),
            started: self.began.wall.to_string(),
            state: if self.phase == Phase::Running { "running" } else { "stopping" }.to_owned(),
            paused: self.planner.is_paused(),
            jobs: self.planner.jobs().count() as u64,
            pending: counts.pending,
            open: self.planner.open_count() as u64,
            running: self.planner.running_count() as u64,
            runs: counts.runs,
            dead: counts.dead,
            quarantined: self.planner.quarantined().count() as u64,
            next: self.next_run(now),
            files: self.files.served.iter().map(describe::file).collect(),
            is_kept: self.keeping == Keeping::OnDisk,
            changes_max: self.rates.total,
            connection_changes_max: self.rates.connection,
            refused: self.refused_count,
            troubles: self.troubles(),
        }))))
    }

    fn next_run(&self, now: Moment) -> Option<String> {
        let of_jobs = self.planner.jobs().filter_map(|(job, mark)| describe::next(job, mark, now.wall));
        of_jobs.min().map(|next| next.to_string())
    }

    pub(super) fn list(&mut self, after: Option<&str>, now: Moment) -> Result<Response, ErrorWire> {
        let (page, after) = self.page(after);
        let mut jobs: Vec<JobWire> =
            page.into_iter().map(|(job, mark)| describe::job(job, mark, now.wall)).collect();
        self.add_runs(&mut jobs)?;
        Ok(Response::Jobs { jobs, after })
    }

    /// How many runs of jobs are open, and how their last ones went: one look at all open runs, and one question.
    fn add_runs(&mut self, jobs: &mut [JobWire]) -> Result<(), ErrorWire> {
        let mut open: HashMap<&str, (usize, usize)> = HashMap::new();
        for run in self.planner.open_runs() {
            let (running, queued) = open.entry(run.key.job.as_str()).or_default();
            *running += usize::from(run.state == RunState::Running);
            *queued += usize::from(run.state == RunState::Queued);
        }
        for job in jobs.iter_mut() {
            (job.running, job.queued) = open.get(job.name.as_str()).copied().unwrap_or_default();
        }
        let names: Vec<JobName> = jobs.iter().map(|job| job_name(&job.name)).collect::<Result<_, _>>()?;
        let last = self.store.last_ended(self.shard(), &names).map_err(store_failed)?;
        let last: HashMap<&str, &Run> = last.iter().map(|run| (run.key.job.as_str(), run)).collect();
        for job in jobs {
            job.last = last.get(job.name.as_str()).map(|run| describe::run(run));
        }
        Ok(())
    }

    pub(super) fn show(&mut self, text: &str, now: Moment) -> Asking {
        let name = job_name(text)?;
        let found = self.planner.jobs().find(|(job, _)| job.name == name).map(|(job, mark)| {
            let definition = job.text.clone();
            JobWire { definition, ..describe::job(job, mark, now.wall) }
        });
        if let Some(mut wire) = found {
            self.add_runs(std::slice::from_mut(&mut wire))?;
            return Ok(Next::Answer(Response::Job(Box::new(wire))));
        }
        let once = self.store.pending_named(self.shard(), &name).map_err(store_failed)?;
        let once = once.ok_or_else(|| not_found(&format!("job `{text}`")))?;
        Ok(Next::Answer(Response::Once(describe::once(&once))))
    }

    pub(super) fn history(
        &mut self,
        job: Option<&str>,
        states: &[String],
        limit: usize,
        cursor: Option<&str>,
    ) -> Asking {
        let state = |name: &String| {
            RunState::from_name(name).ok_or_else(|| usage(format!("there is no state `{name}`")))
        };
        let no_run = |text: &str| usage(format!("`{text}` is no run"));
        let query = Query {
            job: job.map(job_name).transpose()?,
            states: states.iter().map(state).collect::<Result<_, _>>()?,
            cursor: cursor.map(|text| run_key(text).ok_or_else(|| no_run(text))).transpose()?,
            limit: limit.clamp(1, MAX_ROWS),
        };
        let runs = self.store.find(self.shard(), &query).map_err(store_failed)?;
        let is_full = runs.len() == query.limit;
        let cursor = runs.last().filter(|_| is_full).map(|run| run.key.to_string());
        Ok(Next::Answer(Response::Runs { runs: runs.iter().map(describe::run).collect(), cursor }))
    }

    pub(super) fn logs(&mut self, of: &str) -> Asking {
        if let Some(key) = run_key(of) {
            let run = self.store.run(self.shard(), &key).map_err(store_failed)?;
            return run.map(|_| Next::Feed(key, None)).ok_or_else(|| not_found(&format!("run `{of}`")));
        }
        let name = job_name(of)?;
        let is_job = self.planner.jobs().any(|(job, _)| job.name == name);
        let job = is_job.then(|| name.clone());
        if let Some(key) = self.latest.get(&name) {
            return Ok(Next::Feed(key.clone(), job));
        }
        let query = Query { job: Some(name.clone()), limit: MAX_UNSTARTED, ..Query::default() };
        let runs = self.store.find(self.shard(), &query).map_err(store_failed)?;
        match runs.into_iter().find(|run| run.started.is_some()) {
            Some(run) => Ok(Next::Feed(run.key, job)),
            None if is_job => Ok(Next::Feed(RunKey::new(name, Timestamp::UNIX_EPOCH), job)),
            None => Err(not_found(&format!("job `{of}`"))),
        }
    }

    /// Whether a run is one of a one-shot job: those have no definition.
    pub(super) fn is_once(&mut self, key: &RunKey) -> bool {
        let run = self.store.run(self.shard(), key);
        run.ok().flatten().is_some_and(|run| run.cause == Cause::Once)
    }

    /// The name of a one-shot job that is pending, or has become a run that is kept. `None` where several runs could be it.
    pub(super) fn name_of(&mut self, id: OnceId) -> Result<Option<String>, StoreError> {
        let before = OnceId { number: id.number.saturating_sub(1), ..id };
        let pending = self.store.load(self.shard(), before, id.due, 1)?;
        if let Some(once) = pending.first().filter(|once| once.id == id) {
            return Ok(Some(once.name.to_string()));
        }
        let later = id.due.saturating_add(Span::new().nanoseconds(1)).unwrap_or(id.due);
        let cursor = Some(RunKey::new(id.name(), later));
        let query = Query { cursor, limit: MAX_ROWS, ..Query::default() };
        let runs = self.store.find(self.shard(), &query)?;
        let names: Vec<&JobName> = runs
            .iter()
            .filter(|run| run.key.nominal == id.due && run.cause == Cause::Once)
            .map(|run| &run.key.job)
            .collect();
        let known =
            names.iter().find(|name| ***name == id.name()).or(names.first().filter(|_| names.len() == 1));
        Ok(known.map(ToString::to_string))
    }

    pub(super) fn export(&self, after: Option<&str>) -> Response {
        let (page, after) = self.page(after);
        Response::Export { texts: page.into_iter().map(|(job, _)| job.text.clone()).collect(), after }
    }

    /// The jobs after a name that one answer has room for, and the name after which the next answer goes on.
    fn page(&self, after: Option<&str>) -> (Vec<(&Job, &Mark)>, Option<String>) {
        let jobs = self.planner.jobs().filter(|(job, _)| after.is_none_or(|after| after < job.name.as_str()));
        let mut bytes = 0;
        let mut page: Vec<(&Job, &Mark)> = Vec::new();
        for found in jobs {
            if page.len() == MAX_LISTED || MAX_PAGE_BYTES <= bytes {
                let after = page.last().map(|(job, _)| job.name.to_string());
                return (page, after);
            }
            // What a list says of a job is in its definition as well.
            bytes += found.0.text.len();
            page.push(found);
        }
        (page, None)
    }

    /// Sends more of the files of output that clients read.
    pub(super) fn feed_peers(&mut self) {
        let open: BTreeSet<RunKey> = self.started.keys().map(|(key, _)| key.clone()).collect();
        let (outputs, latest) = (&self.outputs, &self.latest);
        for peer in self.peers.iter_mut() {
            while peer.feed_lines() {
                let Some(feed) = &peer.feed else { break };
                let next = feed.job.as_ref().filter(|_| feed.follows).and_then(|job| latest.get(job));
                match next {
                    Some(next) if *next != feed.key => {
                        let path = outputs.path(next, false);
                        peer.feed = Some(Feed::new(feed.id, next.clone(), feed.job.clone(), true, &path));
                    }
                    // There is nothing yet, and there may be.
                    Some(_) if feed.is_empty() => {
                        let path = outputs.path(&feed.key, false);
                        peer.feed = Some(Feed::new(feed.id, feed.key.clone(), feed.job.clone(), true, &path));
                        if peer.feed.as_ref().is_none_or(Feed::is_empty) {
                            break;
                        }
                    }
                    _ if feed.follows && (feed.job.is_some() || open.contains(&feed.key)) => break,
                    _ => peer.end_feed(),
                }
            }
        }
    }
}
