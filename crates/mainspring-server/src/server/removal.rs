//! Jobs that are removed, and the histories that are dropped with them.
//!
//! ```text
//! remove ─▶ Command::Remove
//! purge  ─▶ store: a dead letter? ─no─▶ Command::Purge ─ reply ─▶ store: an ended run left? ─no─▶ Done
//!                                              ▲─────────────────────────────────yes─┘
//! ```
//!
//! A portion is a commit of its own, so that nothing else waits for a long history. If the client or the
//! server ends in between, the job is gone and the rest of its history is there; the same request drops it.
//!
//! Cost: a question and a commit for each thousand runs.
//!
//! Does not drop dead letters, which a person has to decide about, nor runs of one-shot jobs.

use mainspring_job::{Cause, Command, JobName, Query, Reader, Reply, Run, RunState};

use super::next_step::{Next, NextResult, RequestId, job_name, not_found, query};
use super::purpose::Purpose;
use super::{Server, describe};
use crate::message::counted;
use crate::protocol::{Done, ErrorKind, ErrorWire, Response};
use mainspring_file::job_source::JobSource;

impl Server {
    pub(super) fn remove(&self, text: &str) -> NextResult {
        let name = job_name(text)?;
        if !self.may_go(&name)? {
            return Err(not_found(&format!("job `{text}`")));
        }
        Ok(Next::Command(Command::Remove(name)))
    }

    pub(super) fn purge(&self, text: &str) -> NextResult {
        let name = job_name(text)?;
        let is_defined = self.may_go(&name)?;
        self.check_ended(&name)?;
        query(move |reader| match is_defined || any_run(reader, &name, &[])?.is_some() {
            true => first_portion(reader, name),
            false => Err(not_found(&format!("job `{name}`, nor a run of it"))),
        })
    }

    /// Whether a job is defined or absent, where it may be removed: what a file that is there says would be
    /// read again.
    fn may_go(&self, name: &JobName) -> Result<bool, ErrorWire> {
        let planner = self.owner.planner();
        // One that is absent may come back as it was, unless a person says that it is not to.
        let Some((job, _)) = planner.job(name) else { return Ok(planner.absence(name).is_some()) };
        let job_source = JobSource::of(&job.source);
        if self.files.are_there(&job_source) {
            let message = format!("the job comes from {job_source}: remove it there");
            return Err(ErrorWire::new(ErrorKind::Conflict, message));
        }
        Ok(true)
    }

    fn check_ended(&self, name: &JobName) -> Result<(), ErrorWire> {
        let count = self.owner.planner().runs_of(name).filter(|run| run.cause != Cause::Once).count();
        if count == 0 {
            return Ok(());
        }
        let message = format!(
            "`{name}` has {} that did not end yet: wait, or cancel first, and drop its history then",
            counted(count, "run")
        );
        Err(ErrorWire::new(ErrorKind::Conflict, message))
    }

    /// Has the planner drop a portion, which it refuses while a run is open.
    pub(super) fn purge_portion(&mut self, request_id: RequestId, job: JobName) {
        self.command(Purpose::Purge { request_id, job: job.clone() }, Command::Purge(job));
    }

    /// A portion is dropped, or was refused.
    pub(super) fn purged(&mut self, request_id: RequestId, job: JobName, reply: &Reply) {
        if *reply != Reply::Done {
            return self.clients.answer_awaited(request_id, describe::reply(reply));
        }
        self.clients.await_less(request_id);
        // A job that was defined again meanwhile is another one, and its runs are not to go.
        if self.owner.planner().job(&job).is_some() {
            return self.clients.answer(request_id, Response::Done(Done {}));
        }
        self.ask_store(request_id, Box::new(move |reader: &mut dyn Reader| next_portion(reader, job)));
    }
}

/// What there is to drop, if nothing forbids it.
fn first_portion(reader: &mut dyn Reader, name: JobName) -> NextResult {
    if let Some(dead) = any_run(reader, &name, &[RunState::Dead])? {
        let message = format!(
            "`{name}` has dead letters, such as {}: retry or drop them first (mainspring dead list)",
            dead.key
        );
        return Err(ErrorWire::new(ErrorKind::Conflict, message));
    }
    Ok(Next::Purge(name))
}

fn next_portion(reader: &mut dyn Reader, name: JobName) -> NextResult {
    Ok(match any_run(reader, &name, &ended())? {
        Some(_) => Next::Purge(name),
        None => Next::Answer(Response::Done(Done {})),
    })
}

/// The states in which a prune drops a run.
fn ended() -> Vec<RunState> {
    RunState::ALL.into_iter().filter(|state| !state.is_open() && *state != RunState::Dead).collect()
}

/// A run of a job itself, and not of a one-shot job with its name; in one of these states, or in any if there
/// are none.
fn any_run(reader: &mut dyn Reader, name: &JobName, states: &[RunState]) -> Result<Option<Run>, ErrorWire> {
    for cause in Cause::ALL.into_iter().filter(|cause| *cause != Cause::Once) {
        let mut query = Query::new(1).of(name.clone());
        (query.cause, query.states) = (Some(cause), states.to_vec());
        let found = reader.find(&query)?;
        if let Some(run) = found.into_iter().next() {
            return Ok(Some(run));
        }
    }
    Ok(None)
}
