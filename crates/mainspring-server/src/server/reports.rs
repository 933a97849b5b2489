//! What executors tell, on its way to the log, the files of output, and the planner.
//!
//! Cost: a line is formatted twice: for the log and for the file.
//!
//! Does not hold a run up because nobody reads the log: lines that do not fit there are in the files all the same.
//!
//! Source: own.

use std::collections::HashMap;
use std::io::Stdout;

use jiff::Timestamp;
use mainspring_job::{Failure, Outcome};

use super::Attempted;
use super::effects::Started;
use super::output::{Outputs, lost_text};
use crate::executor::process;
use crate::executor::run::{End, KillCause, Reports, Stream};
use crate::log::{Kind, Log};

/// Hears the executors for one turn.
pub(super) struct Heard<'s> {
    now: Timestamp,
    log: &'s mut Log<Stdout>,
    outputs: &'s mut Outputs,
    started: &'s HashMap<Attempted, Started>,
    ends: Vec<(Attempted, Outcome)>,
}

impl<'s> Heard<'s> {
    pub(super) fn new(
        now: Timestamp,
        log: &'s mut Log<Stdout>,
        outputs: &'s mut Outputs,
        started: &'s HashMap<Attempted, Started>,
    ) -> Heard<'s> {
        Heard { now, log, outputs, started, ends: Vec::new() }
    }

    pub(super) fn into_ends(self) -> Vec<(Attempted, Outcome)> {
        self.ends
    }
}

impl Reports<Attempted> for Heard<'_> {
    fn line(&mut self, run: &Attempted, stream: Stream, text: &str) {
        let (key, attempt) = run;
        let is_once = self.started.get(run).is_some_and(|started| started.is_once);
        if let Err(error) = self.outputs.line(key, is_once, *attempt, self.now, stream, text) {
            self.log.line(self.now, &subject(run), Kind::Note, &lost_text(&error));
        }
        if self.log.is_full() {
            return self.log.leave_out();
        }
        let kind = if stream == Stream::Stdout { Kind::Stdout } else { Kind::Stderr };
        self.log.line(self.now, &subject(run), kind, text);
    }

    fn ended(&mut self, run: &Attempted, end: &End) {
        self.log.line(self.now, &subject(run), Kind::End, &end.to_string());
        self.ends.push((run.clone(), outcome(end)));
    }
}

/// What a run is called in the log: its job, and the number of the attempt if it is not the first.
pub(super) fn subject((key, attempt): &Attempted) -> String {
    if *attempt == 1 { key.job.to_string() } else { format!("{}#{attempt}", key.job) }
}

/// The end of a run in the planner's words.
fn outcome(end: &End) -> Outcome {
    match (end.cause, &end.outcome) {
        _ if end.is_success => Outcome::Succeeded,
        (Some(KillCause::Timeout), _) => Outcome::TimedOut,
        (Some(KillCause::Asked), _) => Outcome::Killed,
        (None, Some(process::Outcome::Exited(code))) => Outcome::Failed(Failure::Exit(*code)),
        (None, Some(process::Outcome::Killed(signal))) => Outcome::Failed(Failure::Signal(*signal)),
        (None, Some(process::Outcome::Status(status))) => Outcome::Failed(Failure::Status(*status)),
        (None, Some(process::Outcome::NoAnswer(reason))) => Outcome::Failed(Failure::Other(reason.clone())),
        (None, None) => {
            Outcome::Failed(Failure::Other("it could not be ended and is left behind".to_owned()))
        }
    }
}
