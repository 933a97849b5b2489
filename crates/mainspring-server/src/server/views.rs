//! Requests that only look. The planner's part of the answer is taken here, and the store is asked for the
//! rest. The files of output are here as well, on their way to the clients that read them.
//!
//! Cost: a page of jobs at most, each found by its name; then a query of the store: see [`queries`].
//!
//! Does not change anything.

use std::sync::Arc;

use jiff::Timestamp;
use mainspring_job::{Cause, Job, JobName, Load, Mark, Reader, RunKey, RunPhase, RunState};

use super::describe::JobDetail;
use super::feed::{AtEnd, Feed};
use super::next_step::{
    Next, NextResult, QuestionAnswer, RequestId, job_name, look, named_run, query, run_key, usage,
};
use super::progress_table::ProgressTable;
use super::queries::OneShot;
use super::remote_output::bring;
use super::{Server, describe, queries};
use crate::protocol::{
    ClusterWire, HistoryWire, HoldWire, JobWire, ListWire, MAX_ROWS, MAX_WAITING_SHOWN, Response, RunWire,
    StatusWire,
};
use mainspring_exec::clock::{Moment, ahead};
use mainspring_file::job_source::JobSource;
use mainspring_file::jobfile::Selector;

/// The most jobs of one answer: all other work waits while the loop takes what it knows of them. The thread
/// that reads makes the rows of that.
pub(super) const MAX_LISTED: usize = 250;

const _: () = assert!(MAX_LISTED <= MAX_ROWS, "the protocol has room for them");

/// How long the definitions of one answer are together, but for the last of them.
pub(super) const MAX_PAGE_BYTES: usize = 256 << 10;

/// A job, how far it is, and when it is looked at next.
type JobRow<'p> = (&'p Arc<Job>, &'p Mark, Option<Timestamp>);

impl Server {
    pub(super) fn status(&self, now: Moment) -> NextResult {
        let status = StatusWire {
            paused: self.owner.planner().is_paused(),
            pause_terms: self
                .owner
                .planner()
                .pause_terms()
                .map(|terms| describe::pause_terms(terms, &self.files.reader.zone)),
            running: self.owner.planner().running_count() as u64,
            ..self.planner_status(now).status
        };
        let (jobs, open) = (self.owner.planner().jobs().count(), self.owner.planner().open_count());
        let lease_left = self.owner.lease_age().map(|(age, lasts)| lasts.saturating_sub(age));
        let (clock_ahead, next_of_jobs) = (ahead(), self.next_run(now));
        look(move |reader| {
            let status = queries::status(reader, status, next_of_jobs)?;
            let cluster = status.cluster.map(|cluster| ClusterWire {
                lease_left_ms: lease_left.map_or(0, |left| u64::try_from(left.as_millis()).unwrap_or(0)),
                clock_ahead_ms: clock_ahead
                    .map_or(0, |ahead| i64::try_from(ahead.as_millis()).unwrap_or(i64::MAX)),
                ..cluster
            });
            let status = StatusWire { jobs: jobs as u64, open: open as u64, cluster, ..status };
            Ok(Response::Status(Box::new(status)))
        })
    }

    /// When the next job is due that is defined. The calendar is searched only for a job that is looked at
    /// before the best so far.
    pub(super) fn next_run(&self, now: Moment) -> Option<Timestamp> {
        let mut best = None;
        for (job, mark, looked_at) in self.owner.planner().looks_after(None) {
            if looked_at.is_some_and(|at| best.is_none_or(|best| at < best)) {
                let next = describe::next(job, mark, now.wall);
                best = best.into_iter().chain(next).min();
            }
        }
        best
    }

    pub(super) fn list(&self, wire: &ListWire, now: Moment) -> NextResult {
        let selector = Selector::parse(&wire.labels).map_err(usage)?;
        let (page, after) = self.page(wire.after.as_deref(), &selector);
        let (jobs, local) = (self.all_known(page, now), self.work.progress());
        look(move |reader| {
            let jobs = jobs.iter().map(|known| describe::job(known, now.wall)).collect();
            queries::list(reader, jobs, after, local)
        })
    }

    /// Takes the answers of the store to what was asked.
    pub(super) fn take_answers(&mut self) {
        self.owner.answers().clear();
        while let Some(answered) = self.owner.answers().next() {
            self.take_answer(answered);
        }
    }

    pub(super) fn take_answer(&mut self, answered: QuestionAnswer) {
        let QuestionAnswer { request_id, asking, took } = answered;
        self.listener.meters.query(request_id.what, took);
        self.clients.end_question(request_id);
        self.go_on(request_id, asking);
    }

    /// What is known of these jobs, which are in the order of their names.
    fn all_known(&self, page: Vec<JobRow<'_>>, now: Moment) -> Vec<JobDetail> {
        debug_assert!(page.is_sorted_by(|a, b| a.0.name < b.0.name), "loads are so too: one walk meets all");
        let first = page.first().map(|(job, ..)| &job.name);
        let mut loads = first.into_iter().flat_map(|name| self.owner.planner().loads_from(name)).peekable();
        let known = |(job, mark, armed): JobRow<'_>| {
            while loads.next_if(|(name, _)| **name < job.name).is_some() {}
            let load = loads.next_if(|(name, _)| **name == job.name).map(|(_, load)| load);
            self.known_of((job, mark, armed), load.unwrap_or_default(), now)
        };
        page.into_iter().map(known).collect()
    }

    fn known_of(&self, (job, mark, armed): JobRow<'_>, load: Load, now: Moment) -> JobDetail {
        let planner = self.owner.planner();
        // A list asks for each job, and few have hooks.
        let silent_since = job.hooks.as_ref().and_then(|_| planner.silent_since(&job.name, now.wall));
        let source_line = self.files.line_of(&JobSource::of(&job.source), &job.name);
        let (job, mark, is_all_paused) = (Arc::clone(job), mark.clone(), planner.is_paused());
        JobDetail { job, mark, armed, load, silent_since, source_line, is_all_paused }
    }

    pub(super) fn show(&self, text: &str, now: Moment) -> NextResult {
        let name = job_name(text)?;
        let known = self.owner.planner().job(&name).map(|(job, mark)| {
            let definition = job.text.clone();
            let armed = self.owner.planner().next_of(&name);
            let planner = self.owner.planner();
            let job = Arc::new(job.clone());
            let known = self.known_of((&job, mark, armed), planner.load(&name), now);
            let holds = describe::holds(planner.holds(&name, now.wall), &name);
            let waiting = || planner.runs_of(&name).filter(|run| run.state == RunState::Scheduled);
            let (waiting_count, first) = (waiting().count(), waiting().take(MAX_WAITING_SHOWN));
            let waiting = first.map(RunWire::from).collect();
            let wire = describe::job(&known, now.wall);
            JobWire { definition, holds, waiting, waiting_count, ..wire }
        });
        let local = self.work.progress();
        match known {
            Some(job) => look(move |reader| queries::show(reader, job, local)),
            None => self.show_one_shot(name, local, now),
        }
    }

    fn show_one_shot(&self, name: JobName, local: ProgressTable, now: Moment) -> NextResult {
        let planner = self.owner.planner();
        let pending = planner.pending_holds();
        let last = planner.runs_of(&name).last().map(|run| (run.key.clone(), self.run_holds(&run.key, now)));
        look(move |reader| match queries::one_shot(reader, &name)? {
            OneShot::Pending(once) => Ok(queries::show_pending(&once, pending, now.wall)),
            OneShot::Fired(run) => {
                let holds = last.filter(|(key, _)| *key == run.key).map(|(_, holds)| holds);
                queries::found(reader, &run, holds.unwrap_or_default(), local)
            }
        })
    }

    pub(super) fn find(&self, text: &str, now: Moment) -> NextResult {
        let key = named_run(text)?;
        let holds = self.run_holds(&key, now);
        let (outputs, local) = (self.data.output(), self.work.progress());
        look(move |reader| {
            let run = queries::run(reader, &key)?;
            queries::fetch_output(reader, &run, &outputs);
            queries::found(reader, &run, holds, local)
        })
    }

    /// Each reason why a run does not start now, if it waits.
    fn run_holds(&self, key: &RunKey, now: Moment) -> Vec<HoldWire> {
        describe::holds(self.owner.planner().run_holds(key, now.wall), &key.job)
    }

    pub(super) fn history(&self, wire: &HistoryWire) -> NextResult {
        let job = wire.job.as_deref().map(job_name).transpose()?;
        let unknown = job.filter(|name| self.owner.planner().job(name).is_none());
        let group = wire.group.as_deref().map(queries::group_name).transpose()?;
        let is_member = |(job, _): &(&Job, &Mark)| job.work.group == group;
        let members = self.owner.planner().jobs().filter(|_| group.is_some()).filter(is_member);
        let members = members.map(|(job, _)| job.name.clone()).collect();
        let history_query = queries::history_query(wire, members)?;
        let local = self.work.progress();
        look(move |reader| queries::history(reader, &history_query, unknown.as_ref(), local))
    }

    pub(super) fn logs(&self, of: &str) -> NextResult {
        let outputs = self.data.output();
        if let Some(key) = run_key(of) {
            return query(move |reader| {
                let (key, cause) = queries::logs_of_run(reader, key, &outputs)?;
                Ok(Next::Feed { key, cause, job: None })
            });
        }
        let name = job_name(of)?;
        let job = self.owner.planner().job(&name).map(|(job, _)| job.name.clone());
        if let Some(key) = self.work.latest.get(&name) {
            return Ok(Next::Feed { key: key.clone(), cause: Cause::Trigger, job });
        }
        query(move |reader| {
            let (key, cause) = queries::logs_of_job(reader, &name, job.as_ref(), &outputs)?;
            Ok(Next::Feed { key, cause, job })
        })
    }

    pub(super) fn export(&self, after: Option<&str>) -> Response {
        let (page, after) = self.page(after, &Selector::default());
        Response::Export { texts: page.into_iter().map(|(job, ..)| job.text.clone()).collect(), after }
    }

    /// The jobs after a name that one answer has room for, and the name after which the next answer
    /// continues.
    fn page(&self, after: Option<&str>, selector: &Selector) -> (Vec<JobRow<'_>>, Option<String>) {
        // A text that is no name is from no page of ours: the list begins again.
        let after = after.and_then(|after| JobName::new(after).ok());
        let jobs = self.owner.planner().looks_after(after.as_ref());
        let mut bytes = 0;
        let mut page: Vec<JobRow<'_>> = Vec::new();
        for found in jobs.filter(|(job, ..)| selector.holds(&job.labels)) {
            if page.len() == MAX_LISTED || MAX_PAGE_BYTES <= bytes {
                let after = page.last().map(|(job, ..)| job.name.to_string());
                return (page, after);
            }
            // What a list says of a job is in its definition as well.
            bytes += found.0.text.len();
            page.push(found);
        }
        (page, None)
    }

    /// Sends more of the files of output that clients read.
    pub(super) fn feed_peers(&mut self, now: Moment) {
        let (work, planner) = (&self.work, self.owner.planner());
        let mut questions = Vec::new();
        for peer in self.clients.peers.iter_mut() {
            while peer.feed_lines() {
                let asking_count = peer.asking_count;
                let Some(feed) = &mut peer.feed else { break };
                let phase = planner.run(&feed.key).map_or(RunPhase::Over, |_| RunPhase::Open);
                let next = feed.job.as_ref().filter(|_| feed.follows).and_then(|job| work.latest.get(job));
                match feed.at_end(phase, asking_count, now) {
                    AtEnd::End => peer.end_feed(),
                    // What the one before wrote last is here, or is being brought.
                    AtEnd::Wait => match next.filter(|next| asking_count == 0 && **next != feed.key) {
                        Some(next) => {
                            let path = work.outputs.path(next, Cause::Trigger);
                            *feed = Feed::new(feed.id, next.clone(), feed.job.clone(), path);
                            (feed.follows, feed.is_shared) = (true, work.execution().is_elsewhere());
                        }
                        None => break,
                    },
                    AtEnd::Ask => {
                        let (key, path) = (feed.key.clone(), feed.path.clone());
                        questions.push((peer.number, feed.id, key, phase, path));
                        break;
                    }
                }
            }
        }
        for (client, id, key, phase, path) in questions {
            let request_id = RequestId { client, id, follows: true, what: "logs" };
            let ask = move |reader: &mut dyn Reader| {
                bring(reader, &key, phase, &path);
                Ok(Next::Nothing)
            };
            self.ask_store(request_id, Box::new(ask));
        }
    }
}
