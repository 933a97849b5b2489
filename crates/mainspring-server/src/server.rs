//! The durable server: a loop on one thread that turns facts into decisions, decisions into records, and records into deeds.
//!
//! ```text
//!  due, ended, requests, signals, files ─▶ planner.handle ─▶ take_batch ─▶ store's thread ─▶ Committed ─▶ outputs
//!            ▲                              all that waits                    on disk               │
//!            └──────────────────────── poll ◀────────── start, kill, reply, load ◀─────────────────┘
//! ```
//!
//! Nothing is started and nobody is answered before what it rests on is on disk: the planner hands its outputs out only with
//! `Committed`. All that has happened while a batch was written shares the next. The loop neither writes nor reads the store and
//! waits for neither: two threads do, `writer.rs` for the planner and `questions.rs` for people. So signals, timeouts and kills are
//! served while another program has the store locked.
//!
//! How it ends is told in `stop`.
//!
//! Cost: a turn is a handful of system calls, and a few for each running process and connection. While nothing happens, nothing wakes the loop but a look around every [`LOOK_INTERVAL`].
//!
//! Does not know policies: the planner does.
//!
//! Source: own.

use std::collections::{HashMap, VecDeque};
use std::io::{Stdout, stdout};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use mainspring_job::{Input, JobName, Lease, Note, Planner, RunKey, Ticket};

use crate::alarm::Alarm;
use crate::error::Error;
use crate::log::{Kind, Log};
use crate::message::PROGRAM;
use crate::place::Place;
use crate::signals::Signals;
use crate::waiting::{wait_for, wait_for_any};
use mainspring_exec::clock::Moment;
use mainspring_exec::deliveries::Deliveries;
use mainspring_exec::executor::Executor;
use mainspring_host::accounts::users::Users;

pub mod alone;
mod apply;
mod ask;
mod asking;
mod awaiting;
mod boot;
mod changes;
mod describe;
pub mod door;
mod effects;
mod feed;
mod files;
mod hand;
mod health;
pub mod inside;
mod look;
pub mod output;
mod peer;
mod phase;
mod postponed;
mod purpose;
mod queries;
mod questions;
pub mod rate;
mod record;
mod reload;
mod reports;
pub mod room;
mod stop;
mod waiters;
mod waits;
mod within;
mod writer;

pub use boot::{Keeping, Serving, Stores};
use files::Files;
use inside::Inside;
use output::Outputs;
use peer::Peers;
use phase::Phase;
pub use phase::Stopping;
use postponed::Postponed;
use purpose::Purpose;
use questions::Questions;
use rate::{Bucket, Rates};
use reports::{Attempted, Heard, Started};
use room::Room;
use waiters::Waiters;
use waits::{LoopWaits, Wait};
use writer::Writer;

/// How often the server looks at what nothing tells it of: its files, and what it has on disk.
pub const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// How long the end waits for a reader of the log who reads nothing.
pub const LOG_WAIT: Duration = Duration::from_secs(5);

/// How many rounds of facts and commits one turn has, before sockets and processes are looked at again.
const MAX_ROUNDS_PER_TURN: usize = 16;

/// The server.
pub struct Server {
    place: Place,
    /// It ends before the writer does.
    questions: Questions,
    writer: Writer,
    lease: Lease,
    room: Room,
    /// What the log says already of the socket.
    socket_note: Option<String>,
    /// Whether the log says already that nothing can be recorded.
    is_said_full: bool,
    planner: Planner,
    /// Facts that the planner is still to be told.
    inputs: VecDeque<Input>,
    executor: Executor<Attempted>,
    deliveries: Deliveries<Attempted>,
    /// What could not be started yet.
    postponed: Postponed,
    /// What runs, by its attempt.
    started: HashMap<Attempted, Started>,
    /// The run of each job that started last, for those who follow its output.
    latest: HashMap<JobName, RunKey>,
    outputs: Outputs,
    peers: Peers,
    /// Who waits for which answer.
    asked: HashMap<Ticket, Purpose>,
    last_ticket: u64,
    /// Who waits for the end of which run.
    waiters: Waiters,
    files: Files,
    signals: Signals,
    waits: LoopWaits,
    alarm: Alarm,
    log: Log<Stdout>,
    users: Users,
    began: Moment,
    /// When it last looked around.
    looked: Moment,
    stopping: Stopping,
    keeping: Keeping,
    rates: Rates,
    /// What clients may change now, all together.
    bucket: Bucket,
    /// How many requests were refused because there were too many.
    refused_count: u64,
    inside: Inside,
    phase: Phase,
    reaps_orphans: bool,
}

impl Server {
    /// Runs until a signal asks to stop and nothing runs any more, or until the store fails.
    ///
    /// # Errors
    ///
    /// When the store fails, or polling.
    pub fn run(mut self) -> Result<(), Error> {
        loop {
            let now = Moment::now();
            self.turn(now)?;
            if self.is_done(now) {
                break;
            }
            if !self.lingers() {
                self.wait(now)?;
            }
        }
        self.finish()
    }

    fn turn(&mut self, now: Moment) -> Result<(), Error> {
        self.take_waits(now);
        self.take_signals(now);
        self.take_ends(now);
        self.take_answers();
        self.take_requests(now);
        self.take_files(now);
        self.alarm.quiet();
        self.settle(now)?;
        self.say_late(now);
        self.answer_waiters();
        self.tell_changes(now);
        self.questions.ask(&self.writer, now);
        self.flush_outputs(now);
        self.feed_peers();
        self.peers.write(now);
        self.log.flush(now.wall);
        self.end_if_nobody_reads(now);
        let next = self.planner.next_due().filter(|due| self.can_tick(*due, Moment::now()));
        self.alarm.set(next).map_err(|source| Error::Setup { what: "the alarm", source })
    }

    /// Tells the planner all that waits, commits what it wants written, and does what it wants done, until it is quiet.
    fn settle(&mut self, now: Moment) -> Result<(), Error> {
        for _ in 0..MAX_ROUNDS_PER_TURN {
            let now = Moment { wall: Moment::now().wall, ..now };
            let mut outputs = Vec::new();
            let has_committed = self.take_reports(now, &mut outputs)?;
            if self.writer.is_full() {
                self.perform(outputs);
                return Ok(());
            }
            if self.planner.next_due().is_some_and(|due| due <= now.wall) {
                self.inputs.push_back(Input::Tick);
            }
            self.tell_planner(now, &mut outputs);
            if has_committed {
                // Clients get their answers first: what they ask for next shares the next batch.
                self.writer.has_more = true;
                self.perform(outputs);
                return Ok(());
            }
            self.send_batches(now);
            let is_quiet = outputs.is_empty();
            self.perform(outputs);
            let is_due = |due| due <= now.wall && self.can_tick(due, now);
            if is_quiet && self.inputs.is_empty() && !self.planner.next_due().is_some_and(is_due) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether a tick that is due then would do something. While the store is full nothing is planned; and what is due already
    /// and was not planned while the store is behind waits until it has caught up.
    fn can_tick(&self, due: Timestamp, now: Moment) -> bool {
        !self.writer.is_full() && (self.writer.is_idle() || now.wall < due)
    }

    /// What the executors have to tell becomes facts for the planner.
    fn take_ends(&mut self, now: Moment) {
        let mut heard = Heard::new(now.wall, &mut self.log, &mut self.outputs, &self.started);
        self.executor.turn(now, &mut heard);
        self.deliveries.turn(now, &mut heard);
        let ends = heard.into_ends();
        if !ends.is_empty() {
            self.start_postponed(now);
        }
        self.end_all(ends);
    }

    /// Does what was to wait until now. What is not named here the turn does in any case.
    fn take_waits(&mut self, now: Moment) {
        while let Some(wait) = self.waits.due(now) {
            match wait {
                Wait::Look => self.look_around(now),
                Wait::Room => self.writer.again(now),
                Wait::Postponed => self.start_postponed(now),
                Wait::Phase | Wait::Store | Wait::Late | Wait::Settle | Wait::Accept => {}
            }
        }
    }

    /// Looks at what nothing tells of.
    fn look_around(&mut self, now: Moment) {
        self.looked = now;
        self.files.compare(now);
        self.look_at_room(now);
        self.look_at_store(now);
    }

    fn note(&mut self, now: Timestamp, text: &str) {
        self.log.line(now, &PROGRAM, Kind::Note, text);
    }

    fn note_of_planner(&mut self, now: Timestamp, note: &Note) {
        let (job, text) = describe::note(note);
        self.log.line(now, &job, Kind::Note, &text);
    }

    fn flush_outputs(&mut self, now: Moment) {
        for (key, error) in self.outputs.flush() {
            self.log.line(now.wall, &key.job, Kind::Note, &output::lost_text(&error));
        }
    }

    fn ticket(&mut self, purpose: Purpose) -> Ticket {
        self.last_ticket += 1;
        let ticket = Ticket(self.last_ticket);
        self.asked.insert(ticket, purpose);
        ticket
    }

    fn finish(mut self) -> Result<(), Error> {
        let now = Moment::now();
        self.settle(now)?;
        let mut heard = Heard::new(now.wall, &mut self.log, &mut self.outputs, &self.started);
        self.executor.close(now, &mut heard);
        self.flush_outputs(now);
        self.peers.write(now);
        // The socket says that there is a server, and there is none any more.
        let _ = std::fs::remove_file(self.place.socket());
        if let Some(why) = self.release_store()? {
            // The next owner finds what was recorded, and takes this one for dead.
            self.note(now.wall, &format!("the end could not be recorded: {why}"));
        }
        self.note(now.wall, "stopped");
        self.finish_log(now)?;
        match self.log.into_failure() {
            Some(error) if self.keeping == Keeping::InMemory => Err(Error::Output(error)),
            _ => Ok(()),
        }
    }

    /// Writes the last lines as fast as the reader of the log takes them.
    fn finish_log(&mut self, now: Moment) -> Result<(), Error> {
        let (mut waiting_bytes, mut since) = (usize::MAX, now);
        loop {
            let now = Moment::now();
            self.log.flush(now.wall);
            if self.log.pending_bytes() < waiting_bytes {
                (waiting_bytes, since) = (self.log.pending_bytes(), now);
            }
            let rest = LOG_WAIT.saturating_sub(now.since(since));
            let Some(fd) = self.log.fd().filter(|_| !rest.is_zero()) else { return Ok(()) };
            wait_for(&[], &[fd], Some(rest)).map_err(polling)?;
        }
    }

    /// Waits for the store alone, for as long as that is worth it and nothing is due. Returns whether it has reported.
    fn lingers(&mut self) -> bool {
        let now = Moment::now();
        let due = self.planner.next_due().filter(|due| now.wall < *due);
        let left = due.map_or(Duration::MAX, |due| due.duration_since(now.wall).unsigned_abs());
        self.writer.linger(now, left)
    }

    /// When the loop is to wake if nothing else wakes it.
    fn deadlines(&self) -> [(Wait, Option<Instant>); waits::COUNT] {
        [
            (Wait::Look, self.looked.monotonic.checked_add(LOOK_INTERVAL)),
            (Wait::Phase, self.phase_deadline()),
            (Wait::Store, self.store_deadline()),
            (Wait::Room, self.writer.room_deadline()),
            (Wait::Late, self.writer.late_deadline()),
            (Wait::Postponed, self.postponed.deadline()),
            // Files that are not read now must not keep the loop turning.
            (Wait::Settle, self.files.deadline().filter(|_| self.takes_files())),
            (Wait::Accept, self.peers.deadline()),
        ]
    }

    /// Waits for anything to do.
    fn wait(&mut self, now: Moment) -> Result<(), Error> {
        let has_work = !self.writer.is_full() && !self.inputs.is_empty();
        let has_request = self.peers.has_request() && self.takes_requests(now);
        // What was left for this moment is given after a look at what has come meanwhile.
        let has_batch = self.writer.has_more && self.writer.is_idle() && !self.writer.is_full();
        if has_work || has_request {
            return Ok(());
        }
        self.waits.arm(self.deadlines(), now);
        let wait = self.executor.wait(now).into_iter().chain(self.waits.wait(now)).min();
        let mut readable: Vec<BorrowedFd<'_>> =
            vec![self.alarm.as_fd(), self.deliveries.as_fd(), self.writer.as_fd(), self.questions.as_fd()];
        let mut writable = Vec::new();
        readable.extend(self.signals.fds());
        readable.extend(self.files.fd());
        self.executor.watch(&mut readable, &mut writable);
        let mut left = Vec::new();
        self.peers.watch(&mut readable, &mut writable, &mut left);
        writable.extend(self.log.fd());
        let wait = if has_batch { Some(Duration::ZERO) } else { wait };
        wait_for_any(&readable, &writable, &left, wait).map_err(polling)
    }
}

fn polling(source: std::io::Error) -> Error {
    Error::Setup { what: "polling", source }
}

fn log_to_stdout(width: usize) -> Log<Stdout> {
    Log::new(stdout(), width)
}
