//! Requests that the listener of the server may make and clients of the socket may not, and their lines in
//! the log.
//!
//! Cost: a comparison for each request.
//!
//! Does not believe an actor that a client names.

use mainspring_job::Audit;

use super::Server;
use super::asking::{Asker, Asking, Next, query};
use super::queries;
use crate::protocol::{ErrorKind, ErrorWire, LoginWire, MAX_METERED_JOBS, MetricsWire, Request, Response};
use mainspring_exec::clock::Moment;

impl Server {
    /// Answers what has to do with the listener; `None` if the request has not.
    pub(super) fn ask_of_listener(&mut self, asker: Asker, request: &Request, now: Moment) -> Option<Asking> {
        let denied = || {
            let text = "only the listener of the server may ask that";
            Some(Err(ErrorWire::new(ErrorKind::Denied, text)))
        };
        match request {
            Request::LoginCode => {
                Some(self.listener.codes.give(now).map(|login| Next::Answer(Response::LoginCode(login))))
            }
            Request::Metrics { .. } | Request::Redeem { .. } | Request::Watch
                if !self.clients.is_listener(asker) =>
            {
                denied()
            }
            Request::Redeem { code } => Some(match self.listener.codes.redeem(code, now) {
                true => Ok(Next::Answer(Response::LoginCode(LoginWire {
                    code: String::new(),
                    addresses: Vec::new(),
                }))),
                false => Err(ErrorWire::new(ErrorKind::Denied, "the code is not known, or was used")),
            }),
            Request::Metrics { jobs_max } => {
                let jobs = self.owner.planner().jobs().map(|(job, _)| &job.name);
                let told = MetricsWire {
                    commit: self.owner.commits().clone(),
                    output_lost_bytes: self.work.output_lost_bytes(),
                    is_part: self.files.share().is_part(),
                    ..self.listener.meters.told(jobs, (*jobs_max).min(MAX_METERED_JOBS))
                };
                let shard = self.owner.lease().shard;
                Some(query(move |reader| {
                    let told = MetricsWire { waiting: queries::waiting(reader, shard)?, ..told };
                    Ok(Next::Answer(Response::Metrics(Box::new(told))))
                }))
            }
            Request::Watch => {
                self.listener.changes.watch(asker);
                Some(Ok(Next::Nothing))
            }
            _ => None,
        }
    }

    /// Keeps who asks for a change until it is a command, and says in the log who asks over the listener.
    pub(super) fn begin_audit(&mut self, asker: Asker, audit: Option<Audit>) {
        if let Some(audit) = audit.as_ref().filter(|_| self.clients.is_listener(asker)) {
            let Audit { actor, action, target, .. } = audit;
            let of = if target.is_empty() { String::new() } else { format!(" {target}") };
            self.note(audit.at, &format!("{actor} asked over HTTP: {action}{of}"));
        }
        self.clients.begin_audit(asker, audit);
    }

    /// Tells the listener what has changed, if it waits for that.
    pub(super) fn tell_changes(&mut self, now: Moment) {
        if let Some((asker, changes)) = self.listener.changes.take(now) {
            self.clients.answer(asker, Response::Changes(changes));
        }
    }
}
