//! Doing what the planner wants done.
//!
//! | output | becomes |
//! |---|---|
//! | `Start` | a process or a webhook; if that cannot be, an end at once: `not started: ..`; if it cannot be now, it waits |
//! | `Kill` | the kill sequence of its process group; a webhook is given up |
//! | `Reply` | an answer on a connection |
//! | `Load` | a page of pending one-shot jobs from the store |
//! | `Note` | a line of the log |
//!
//! A process gets the variables MAINSPRING_JOB, MAINSPRING_RUN, MAINSPRING_NOMINAL, MAINSPRING_ATTEMPT and MAINSPRING_KEY;
//! the last is the same for all attempts of a run. A webhook has the same as variables of its templates.
//!
//! Cost: a spawn, or a thread, per start.
//!
//! Does not decide anything.
//!
//! Source: own.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use mainspring_job::{Failure, Input, Outcome, Output, Start};

use super::Server;
use super::postponed::MAX_WAIT;
use super::reports::{Ended, Heard, Started, subject};
use crate::log::Kind;
use mainspring_action::body::Body;
use mainspring_action::template::Values;
use mainspring_exec::clock::Moment;
use mainspring_exec::run::KillCause;
use mainspring_exec::span::Span;
use mainspring_exec::specs;

impl Server {
    pub(super) fn perform(&mut self, outputs: Vec<Output>) {
        for output in outputs {
            // Read again for each: a start takes a millisecond, and hundreds may be due at once.
            let now = Moment::now();
            match output {
                Output::Start(start) => self.start(start, now, now),
                Output::Kill { key, attempt, .. } => {
                    // How is in the spec that it was started with.
                    let attempted = (key, attempt);
                    if self.postponed.remove(&attempted.0, attempt) {
                        self.end_all(vec![Ended::new(attempted, Outcome::Killed)]);
                    } else if !self.executor.kill(&attempted, KillCause::Asked, now) {
                        let mut heard = Heard::new(now.wall, &mut self.log, &mut self.outputs, &self.started);
                        self.deliveries.kill(&attempted, now, &mut heard);
                        let ends = heard.into_ends();
                        self.end_all(ends);
                    }
                }
                Output::Reply { ticket, reply } => self.reply(ticket, reply, now),
                Output::Load { up_to, limit } => self.writer.load(up_to, limit),
                Output::LoadIds { after, up_to, limit } => self.writer.load_ids(after, up_to, limit),
                Output::Note(note) => self.note_of_planner(now.wall, &note),
            }
        }
    }

    /// Tries again what could not be started before.
    pub(super) fn start_postponed(&mut self, now: Moment) {
        for (start, since) in self.postponed.take_starts() {
            self.start(start, since, now);
        }
    }

    /// Starts an attempt that has waited since then.
    fn start(&mut self, start: Start, since: Moment, now: Moment) {
        let attempted = (start.key.clone(), start.attempt);
        let keep = usize::try_from(start.work.policies.retention.keep).unwrap_or(usize::MAX);
        let is_once = start.cause == mainspring_job::Cause::Once;
        let late_ms = now.wall.as_millisecond() - start.due.as_millisecond();
        let late = Span(std::time::Duration::from_millis(u64::try_from(late_ms).unwrap_or(0)));
        match self.execute(&start, now) {
            Ok(what) => {
                let text = format!("{what}, due {:.3}, {late} late", start.due);
                self.log.line(now.wall, &subject(&attempted), Kind::Start, &text);
                self.started.insert(attempted, Started { is_once, keep });
                if !is_once {
                    self.latest.insert(start.key.job.clone(), start.key.clone());
                }
            }
            Err(NotStarted::Now(reason)) if now.since(since) < MAX_WAIT => {
                if since == now {
                    let text = format!("waits until it can be started: {reason}");
                    self.log.line(now.wall, &subject(&attempted), Kind::Note, &text);
                }
                self.postponed.add(start, since, now);
            }
            Err(NotStarted::Now(reason) | NotStarted::Ever(reason)) => {
                self.log.line(now.wall, &subject(&attempted), Kind::Refuse, &reason);
                self.end_all(vec![Ended::new(attempted, Outcome::Failed(Failure::NotStarted(reason)))]);
            }
        }
    }

    fn execute(&mut self, start: &Start, now: Moment) -> Result<String, NotStarted> {
        let attempted = (start.key.clone(), start.attempt);
        let policies = &start.work.policies;
        let values = values(start);
        match Body::decode(&start.work.action).map_err(never)? {
            Body::Process(body) => {
                let spec = specs::process(&body, &self.users, policies).map_err(never)?;
                let variables = variables(&values);
                if self.executor.is_full() {
                    let mut heard = Heard::new(now.wall, &mut self.log, &mut self.outputs, &self.started);
                    self.executor.make_room(now, &mut heard);
                }
                let started = self.executor.start(&spec, &variables, attempted, now);
                let pid = started.map_err(|error| not_started(error.is_shortage(), &error))?;
                Ok(format!("pid {pid}"))
            }
            Body::Webhook(body) => {
                let spec = Arc::new(specs::webhook(&body, policies).map_err(never)?);
                let sent = self.deliveries.start(&spec, values, attempted, now);
                sent.map_err(|error| not_started(error.is_shortage(), &error))?;
                Ok("webhook".to_owned())
            }
        }
    }

    /// Tells the planner what has ended, and closes its output.
    pub(super) fn end_all(&mut self, ends: Vec<Ended>) {
        for Ended { attempted, outcome, retry_at } in ends {
            let started = self.started.remove(&attempted);
            let (key, attempt) = attempted;
            if let Some(started) = started {
                self.outputs.close(&key, started.is_once, started.keep);
            }
            if let Some(until) = retry_at {
                self.inputs.push_back(Input::Defer { key: key.clone(), until });
            }
            self.inputs.push_back(Input::Ended { key, attempt, outcome });
        }
    }
}

/// Why an attempt is not started.
enum NotStarted {
    /// The operating system lacks something that others may give back.
    Now(String),
    /// It cannot be.
    Ever(String),
}

fn not_started(is_shortage: bool, why: &dyn fmt::Display) -> NotStarted {
    if is_shortage { NotStarted::Now(why.to_string()) } else { NotStarted::Ever(why.to_string()) }
}

fn never(why: impl fmt::Display) -> NotStarted {
    NotStarted::Ever(why.to_string())
}

fn values(start: &Start) -> Values {
    Values {
        job: start.key.job.to_string(),
        run: start.key.to_string(),
        nominal: start.key.nominal.to_string(),
        attempt: start.attempt.to_string(),
        key: start.key.to_string(),
        secrets: BTreeMap::new(),
    }
}

fn variables(values: &Values) -> Vec<(String, String)> {
    let pairs = [
        ("MAINSPRING_JOB", &values.job),
        ("MAINSPRING_RUN", &values.run),
        ("MAINSPRING_NOMINAL", &values.nominal),
        ("MAINSPRING_ATTEMPT", &values.attempt),
        ("MAINSPRING_KEY", &values.key),
    ];
    pairs.map(|(name, value)| (name.to_owned(), value.clone())).to_vec()
}
