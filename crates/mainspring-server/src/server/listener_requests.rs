//! Requests that have to do with the listener of the server, and its lines in the log.
//!
//! Cost: none.
//!
//! Does not believe an actor that a client names.

use mainspring_job::Audit;

use super::Server;
use super::next_step::{Next, NextResult, RequestId, look};
use super::queries;
use crate::protocol::{MAX_METERED_JOBS, MetricsWire, Response};
use mainspring_exec::clock::Moment;

impl Server {
    /// What was counted and measured since the server began.
    pub(super) fn metrics(&mut self, jobs_max: usize) -> NextResult {
        let jobs = self.owner.planner().jobs().map(|(job, _)| &job.name);
        let metrics = MetricsWire {
            commit: self.owner.writer().commits.clone(),
            output_lost_bytes: self.work.outputs.lost_bytes,
            ..self.listener.meters.wire(jobs, jobs_max.min(MAX_METERED_JOBS))
        };
        look(move |reader| {
            let metrics = MetricsWire { waiting: queries::waiting(reader)?, ..metrics };
            Ok(Response::Metrics(Box::new(metrics)))
        })
    }

    /// What changes next.
    pub(super) fn watch(&mut self, request_id: RequestId) -> NextResult {
        self.listener.changes.watch(request_id);
        Ok(Next::Nothing)
    }

    /// Keeps the caller of a change until it is a command, and says in the log who the caller is over the
    /// listener.
    pub(super) fn begin_audit(&mut self, request_id: RequestId, audit: Option<Audit>) {
        if let Some(audit) = audit.as_ref().filter(|_| self.clients.is_listener(request_id)) {
            let Audit { actor, action, target, .. } = audit;
            let of = if target.is_empty() { String::new() } else { format!(" {target}") };
            self.note(audit.at, &format!("{actor} asked over HTTP: {action}{of}"));
        }
        self.clients.begin_audit(request_id, audit);
    }

    /// Tells the listener what has changed, if it waits for that.
    pub(super) fn tell_changes(&mut self, now: Moment) {
        if let Some((request_id, changes)) = self.listener.changes.take(now) {
            self.clients.answer(request_id, Response::Changes(changes));
        }
    }
}
