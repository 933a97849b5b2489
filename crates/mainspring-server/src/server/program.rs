//! The loop inside another program: what that program asks of it, and what the loop leaves to it.
//!
//! | | the server's own process | another program's |
//! |---|---|---|
//! | signals | end it, or have the files read again | are the program's |
//! | log | standard output | what the program gives |
//! | service manager | is told how the server is | is the program's |
//! | jobs | of files, and by command | of the program as well |
//! | a look around | every few seconds | only after something was written |
//!
//! A call is told like a request of a client: refused while the loop ends or the disk is full, put off while
//! the store is behind, and answered when what it says is on disk.
//!
//! Cost: see [`program_calls`](super::program_calls).
//!
//! Does not start a thread: the program does.

use std::collections::{BTreeSet, HashSet};
use std::time::{Duration, Instant};

use mainspring_job::{Command, Definitions, Input, JobName, JobRecord};

use super::host::HostKind;
use super::peer::TURN_TIME;
use super::phase::{Phase, Stopping};
use super::program_calls::{Answer, Call, CallRefusal, Calls, audit};
use super::purpose::Purpose;
use super::{LOOK_INTERVAL, Server};
use crate::error::Error;
use crate::message::{agreeing, counted};
use crate::protocol::{Effect, ErrorKind, ErrorWire, MAX_NAMED, Power, Row};
use crate::supervisor;
use mainspring_exec::clock::{Moment, ahead};
use mainspring_file::job_source::JobSource;

impl Server {
    /// Takes calls, until there is none or the time of this turn is over.
    pub(super) fn take_calls(&mut self, now: Moment) {
        self.calls.iter().for_each(Calls::clear);
        while self.takes_requests(now)
            && let Some(call) = self.calls.as_ref().and_then(Calls::next)
        {
            match call {
                Call::Stop { patience } => self.stop_within(patience, now),
                Call::Command(command, answer) => self.take_command(command, answer, now),
            }
            if TURN_TIME <= Moment::now().since(now) {
                // What is left is looked for in the next turn.
                self.calls.iter().for_each(Calls::look_again);
                break;
            }
        }
    }

    fn take_command(&mut self, command: Command, mut answer: Answer, now: Moment) {
        let refused = if self.phase != Phase::Running {
            Some(CallRefusal::Stopping)
        } else if self.owner.writer().is_full() || self.owner.is_backlogged() || self.reserve.is_full() {
            Some(CallRefusal::Now(self.troubles(now).join("; ")))
        } else {
            None
        };
        if let Some(refused) = refused {
            return answer.give(Err(refused));
        }
        if let Some(audit) = audit(&command, now.wall) {
            self.owner.tell(Input::Audit(audit));
        }
        answer.tell();
        self.command(Purpose::Call(answer), due_now(command, Moment::now()));
    }

    /// The jobs are lost: who has submitted is told the id by which the next owner knows whether that is on
    /// record.
    pub(super) fn answer_lost(&mut self, now: Moment) {
        // What waits to be planned gets an id too, and is not on record.
        drop(self.owner.take_in(now, &mut Vec::new()));
        for (ticket, id) in self.owner.planner().unconfirmed() {
            if let Some(Purpose::Call(answer)) = self.clients.take_purpose(ticket) {
                answer.give(Err(CallRefusal::Lost(Some(id))));
            }
        }
    }

    /// The program around the loop asks for its end: what runs is told at once.
    pub(super) fn stop_within(&mut self, patience: Duration, now: Moment) {
        if self.phase == Phase::Running {
            self.stopping = Stopping { drain: Duration::ZERO, grace: patience };
            self.drain(now);
        }
    }

    /// In a program its own code says what there is to do: what came over the socket would wait for ever.
    /// Servers may share its database, and do it.
    pub(super) fn may_define(&self, row: &Row<'_>) -> Result<(), ErrorWire> {
        let adds = row.power == Power::Defines && row.effect != Effect::Changes;
        match self.host_kind == HostKind::Program && adds && !self.files.is_shared {
            true => {
                let text = "the jobs here are functions of a program, which alone defines and submits them";
                Err(ErrorWire::new(ErrorKind::Conflict, text))
            }
            false => Ok(()),
        }
    }

    /// Which runs wait for something that no server has, for people.
    pub(super) fn unserved(&self) -> Option<String> {
        let needs: Vec<String> =
            self.owner.planner().unserved().map(|(_, needs)| needs.to_string()).collect();
        let (runs, wait) = (counted(needs.len(), "run"), agreeing(needs.len(), "waits", "wait"));
        let lacked: BTreeSet<String> = needs.into_iter().collect();
        let shown: Vec<&str> = lacked.iter().take(MAX_NAMED).map(String::as_str).collect();
        let more = if MAX_NAMED < lacked.len() { ", .." } else { "" };
        let remedy = "start a server or a program that has it";
        (!shown.is_empty())
            .then(|| format!("{runs} {wait} for what no server has: {}{more}; {remedy}", shown.join(", ")))
    }

    /// When there is another look around. In a program nothing wakes a loop that has nothing to do: it serves
    /// no files, and the disk is of interest when something is written.
    pub(super) fn look_deadline(&self) -> Option<Instant> {
        let is_idle =
            self.looked_count == self.owner.writer().committed_count && self.reserve.trouble().is_none();
        let rests = self.host_kind == HostKind::Program && is_idle;
        self.looked.monotonic.checked_add(LOOK_INTERVAL).filter(|_| !rests)
    }

    /// Tells the service manager, unless the process is another program's: that tells what it likes.
    pub(super) fn tell_supervisor(&self, state: &str) {
        if self.host_kind == HostKind::Process {
            supervisor::tell(state);
        }
    }
}

/// What is due by the clock of the program is due: the clock of the store, which the loop follows, is behind
/// it by as long as the store takes to answer, and the start would wait for that. A name is told from
/// another by its due time as well, and keeps it.
fn due_now(command: Command, now: Moment) -> Command {
    let Command::Submit(mut submission) = command else { return command };
    let by_program = ahead().and_then(|ahead| now.wall.checked_add(ahead).ok());
    if submission.name.is_none() && by_program.is_some_and(|by_program| submission.due <= by_program) {
        submission.due = submission.due.min(now.wall);
    }
    Command::Submit(submission)
}

/// Refuses names of a program's jobs that others have.
pub(super) fn check_own(records: &[JobRecord], own: Option<&Definitions>) -> Result<(), Error> {
    let Some(own) = own else { return Ok(()) };
    let names: HashSet<&JobName> = own.jobs.iter().map(|job| &job.name).collect();
    let is_taken = |record: &&JobRecord| {
        let is_others = record.source.as_ref().is_some_and(|source| *source != own.source);
        is_others && names.contains(&record.mark.job)
    };
    let Some(record) = records.iter().find(is_taken) else { return Ok(()) };
    let job_source = record.source.as_deref().map_or(JobSource::Command, JobSource::of);
    let text = format!("there is a job `{}` already, from {job_source}", record.mark.job);
    Err(Error::Refused(ErrorWire::new(ErrorKind::Conflict, text)))
}

/// What a program says of its jobs counts, and not what was kept of them.
pub(super) fn leave_own_out(sets: &mut [Definitions], own: Option<&Definitions>) {
    let Some(own) = own else { return };
    let names: HashSet<&JobName> = own.jobs.iter().map(|job| &job.name).collect();
    for set in sets.iter_mut().filter(|set| set.source == own.source) {
        set.jobs.retain(|job| !names.contains(&job.name));
    }
}
