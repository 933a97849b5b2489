//! The durable server: a loop on one thread. It turns facts into decisions, decisions into records, and
//! records into actions.
//!
//! ```text
//!  due, ended, requests, signals, files ─▶ planner.handle ─▶ take_batch ─▶ store's thread ─▶ Committed ─▶ outputs
//!            ▲                              all that waits                    on disk               │
//!            └──────────────────────── poll ◀────────── start, kill, reply, load ◀─────────────────┘
//! ```
//!
//! Nothing is started and no client is answered before the record of it is on disk: the planner hands out its
//! outputs only with `Committed`. All that happens while a batch is written shares the next batch. The loop
//! neither writes nor reads the store, and waits for neither. Two threads do: `writer.rs` for the planner and
//! `questions.rs` for people. So signals, timeouts and kills are served while another program has the store
//! locked.
//!
//! `stop` describes how the server ends.
//!
//! Cost: a turn is a handful of system calls, and a few for each running process and connection. An idle loop
//! wakes only for a look around every [`LOOK_INTERVAL`].
//!
//! Does not know policies: the planner does.

use std::fs::File;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use mainspring_job::{Input, Note, RunState};

use crate::alarm::Alarm;
use crate::data_directory::DataDirectory;
use crate::error::Error;
use crate::log::{Level, Line, Log};
use crate::machine_start::MachineStart;
use crate::signals::Signals;
use crate::supervisor;
use crate::waiting::{wait_for, wait_for_any};
use mainspring_exec::clock::{Moment, boot_time};
use mainspring_host::net::{AsFd, BorrowedFd};

mod actions;
mod apply;
mod boot;
mod changes;
mod client_text;
mod clients;
mod clock_steps;
#[cfg(feature = "commands")]
pub mod commands;
mod describe;
pub mod disk_reserve;
mod early_start;
pub mod execution;
mod feed;
mod files;
mod folder_watch;
mod folders;
mod health;
mod host;
mod lease;
mod lease_state;
pub mod listener;
mod listener_requests;
pub mod login_codes;
mod looks;
mod meters;
mod next_step;
mod note_line;
#[cfg(feature = "sqlite")]
pub mod offline;
pub mod output;
mod owner;
mod parser;
mod peer;
mod peers;
mod phase;
mod planner_status;
mod program;
pub mod program_calls;
pub mod progress_table;
mod purpose;
mod queries;
mod questions;
pub mod rate;
pub mod read_only_backend;
mod record;
mod reload;
pub mod remote_output;
mod removal;
mod reports;
mod requests;
mod served_file;
mod sources;
pub mod standby;
mod start_backlog;
pub mod start_pause;
mod stop;
mod store_contents;
mod store_holds;
mod store_thread;
pub mod unawaited;
mod views;
mod work;
pub mod worker;
mod writer;
pub mod zone_watch;
mod zones;

pub use boot::{Keeping, Serving, Stores};
use clients::Clients;
use clock_steps::ClockSteps;
use disk_reserve::DiskReserve;
use files::Files;
use host::HostKind;
pub use host::{Host, standard_output};
use lease_state::LeaseState;
use listener::ListenerState;
use owner::Owner;
use parser::Parser;
pub use peers::MAX_CONNECTIONS;
use phase::Phase;
pub use phase::Stopping;
use planner_status::KeptStatus;
use program_calls::Calls;
pub use requests::submission;
use work::Work;

/// How often the server looks at what nothing tells it of: its files, and what it has on disk.
pub const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// How long the end waits for a reader of the log that reads nothing.
pub const LOG_WAIT: Duration = Duration::from_secs(5);

/// How many rounds of facts and commits one turn has, before sockets and processes are looked at again.
const MAX_ROUNDS_PER_TURN: usize = 16;

/// The server.
pub struct Server {
    data: DataDirectory,
    owner: Owner,
    reserve: DiskReserve,
    /// What the log says already of the socket.
    socket_note: Option<String>,
    /// Whether the log says already that nothing can be recorded.
    is_said_full: bool,
    work: Work,
    clients: Clients,
    parser: Parser,
    files: Files,
    signals: Signals,
    alarm: Alarm,
    log: Log<File>,
    /// What the program around the loop asks; none where the process is the server's own.
    calls: Option<Calls>,
    host_kind: HostKind,
    began: Moment,
    clock_steps: ClockSteps,
    /// When it last looked around.
    looked: Moment,
    /// How many batches were on disk then.
    looked_count: u64,
    stopping: Stopping,
    keeping: Keeping,
    listener: ListenerState,
    phase: Phase,
    holding: LeaseState,
    /// To be kept when the runs of `@reboot` are on disk.
    machine_start: Option<MachineStart>,
    /// What the other servers of a pool were told of this one last.
    kept_status: Option<KeptStatus>,
}

impl Server {
    /// Runs until a signal asks to stop and nothing runs any more, or until the store fails.
    ///
    /// # Errors
    ///
    /// When the store fails, or polling.
    pub fn run(mut self) -> Result<(), Error> {
        // The planner takes its jobs in first: a client that came before the server, whose connection the
        // service manager kept, asks for them in the first turn.
        self.act(Moment::now())?;
        loop {
            let mut now = Moment::now();
            let began = now;
            self.hear(now);
            self.act(now)?;
            // What clients ask meanwhile is read when they have their answers: what they ask for next comes
            // with it.
            while !self.is_done(now) && self.owner.linger(Moment::now()) {
                now = Moment::now();
                self.act(now)?;
            }
            if self.is_done(now) {
                return self.finish();
            }
            self.listener.meters.turn(|| Moment::now().since(began));
            self.wait(now)?;
        }
    }

    /// Takes in what has happened, but for what the store's thread has done.
    fn hear(&mut self, now: Moment) {
        self.take_waits(now);
        self.take_signals(now);
        self.begin_due(now);
        // What executors have to tell becomes facts for the planner.
        self.owner.tell_all(self.work.turn(now, &mut self.log));
        for key in self.work.take_progress(now) {
            // What another server tells may be older than the end.
            if self.owner.planner().run(&key).is_some_and(|run| run.state == RunState::Running) {
                self.listener.changes.tell_progress(&key, now);
            }
        }
        self.owner.tell_all(self.work.facts());
        self.take_answers();
        self.take_parsed();
        self.take_requests(now);
        self.take_calls(now);
        self.take_files(now);
        self.alarm.clear();
    }

    /// Decides, and does what rests on what is on disk.
    fn act(&mut self, now: Moment) -> Result<(), Error> {
        self.keep_lease(now);
        self.settle(now)?;
        self.say_late(now);
        self.answer_waiters();
        self.tell_changes(now);
        self.keep_status(now);
        self.work.flush(now, &mut self.log);
        self.feed_peers(now);
        self.owner.ask_questions(now);
        self.clients.peers.write(now);
        self.log.flush(now.wall);
        self.end_if_nobody_reads(now);
        let next = self.owner.next_tick(Moment::now());
        self.alarm.set(next).map_err(Error::setup("the alarm"))
    }

    /// Tells the planner all that waits, commits what it wants written, and does what it wants done, until it
    /// is quiet.
    fn settle(&mut self, now: Moment) -> Result<(), Error> {
        for _ in 0..MAX_ROUNDS_PER_TURN {
            let read = Moment::now();
            self.look_at_clocks(read);
            let now = Moment { wall: read.wall, ..now };
            let mut outputs = Vec::new();
            let has_committed = self.take_news(now, &mut outputs)?;
            if self.owner.writer().is_full() {
                self.perform(outputs);
                return Ok(());
            }
            self.owner.tick(now);
            if self.owner.has_inputs() {
                self.clients.look_for_ends();
            }
            for (worker, attempted) in self.owner.take_in(now, &mut outputs) {
                self.work.ask_to_end(worker, &attempted, now);
            }
            if has_committed {
                // Clients get their answers first: what they ask for next shares the next batch.
                self.owner.hold_batches();
                self.perform(outputs);
                return Ok(());
            }
            let (listener, work) = (&mut self.listener, &mut self.work);
            self.owner.send_batches(now, |planner, batch| {
                batch.assignments =
                    planner.last_starts().filter_map(|start| work.execution().assignment(start)).collect();
                work.outputs.note(batch);
                listener.changes.note(batch, now);
                listener.meters.note(batch, |name| planner.job(name).is_some());
            });
            let is_quiet = outputs.is_empty();
            self.perform(outputs);
            if is_quiet && self.owner.is_quiet(now) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Does what was to wait until now. For all other deadlines the turn itself compares the time.
    fn take_waits(&mut self, now: Moment) {
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now.monotonic);
        if is_due(self.look_deadline()) {
            self.look_around(now);
        }
        if is_due(self.owner.writer().room_deadline()) {
            self.owner.write_again(now);
        }
        if is_due(self.work.deadline()) {
            self.owner.tell_all(self.work.start_postponed(now, &mut self.log));
        }
    }

    /// Looks at what nothing tells of.
    fn look_around(&mut self, now: Moment) {
        (self.looked, self.looked_count) = (now, self.owner.writer().committed_count);
        self.tell_supervisor(supervisor::ALIVE);
        self.files.compare();
        self.look_at_room(now);
        self.look_at_store(now);
    }

    /// Says why times were passed over, before the planner says which. The clock can be set within a turn, so
    /// this comes before each time that the planner is told.
    fn look_at_clocks(&mut self, now: Moment) {
        let Some(step) = self.clock_steps.look(now, boot_time) else { return };
        self.listener.meters.step(step.ahead);
        self.listener.changes.clock_was_set();
        // Lengths of time that are waited for end by it, though nothing is due by what the clock shows.
        self.owner.tell(Input::Tick);
        if let Some(text) = step.text().filter(|_| !step.is_back()) {
            self.note(now.wall, &text);
        }
    }

    fn note(&mut self, now: Timestamp, text: &str) {
        self.note_at(now, Level::Notice, text);
    }

    fn note_at(&mut self, now: Timestamp, level: Level, text: &str) {
        self.log.line(Line { level, ..Line::note(now, text) });
    }

    fn note_of_planner(&mut self, now: Timestamp, note: &Note) {
        if let Note::Purged(job) | Note::Forgotten(job) = note {
            self.work.outputs.drop_all(job);
        }
        self.log.line(note_line::of(note, now));
    }

    fn finish(mut self) -> Result<(), Error> {
        let now = Moment::now();
        if self.holding.is_lost {
            return self.finish_lost(now);
        }
        self.settle(now)?;
        self.work.close(now, &mut self.log);
        self.work.flush(now, &mut self.log);
        self.clients.peers.write(now);
        // The socket says that there is a server, and there is none any more.
        self.clients.peers.remove_socket();
        if let Some(why) = self.release_store()? {
            // The next owner finds what was recorded, and takes this one for dead.
            self.note_at(now.wall, Level::Error, &format!("the end could not be recorded: {why}"));
        }
        self.note(now.wall, "stopped");
        finish_log(&mut self.log, now)?;
        match self.log.into_failure() {
            Some(error) if self.keeping == Keeping::InMemory => Err(Error::Output(error)),
            _ => Ok(()),
        }
    }

    /// When the loop is to wake if nothing else wakes it. The waits of processes, such as timeouts and steps
    /// of killing, are in the executor's own queue.
    fn next_deadline(&self, now: Moment) -> Option<Instant> {
        let deadlines = [
            // Files, room and store are looked at.
            self.look_deadline(),
            // The drain, the grace or the last wait of the end is over: see `stop`.
            self.phase_deadline(),
            // The end has waited long enough for the store.
            self.store_deadline(),
            // A batch that found the disk full is tried again.
            self.owner.writer().room_deadline(),
            // People are told that a batch is late.
            self.owner.writer().late_deadline(),
            // Starts that lacked something are tried again.
            self.work.deadline(),
            // A changed file was left alone for long enough. One that is not read now turns no loop.
            self.files.deadline().filter(|_| self.takes_files()),
            // A connection that could not be taken is tried again.
            self.clients.peers.deadline(),
            // The store is asked again for what another server wrote.
            self.clients.peers.feed_deadline(),
            // The lease is renewed, or what runs is ended, as it is too old.
            self.lease_deadline(now),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// Waits for anything to do.
    fn wait(&mut self, now: Moment) -> Result<(), Error> {
        let has_work = !self.owner.writer().is_full() && self.owner.has_inputs();
        let has_request = self.clients.peers.has_request() && self.takes_requests(now);
        // What was left for this moment is given after a look at what has come meanwhile.
        let has_batch = self.owner.holds_batch();
        if has_work || has_request {
            self.clients.peers.hear_all();
            return Ok(());
        }
        let until = self.next_deadline(now).map(|at| at.saturating_duration_since(now.monotonic));
        let waits = [self.work.wait(now), until, self.alarm.wait(now)];
        let wait = waits.into_iter().flatten().min();
        let mut readable: Vec<BorrowedFd<'_>> = self.alarm.fd().into_iter().collect();
        readable.extend(self.owner.fds());
        readable.push(self.parser.parsed.as_fd());
        readable.extend(self.calls.as_ref().map(AsFd::as_fd));
        let mut writable = Vec::new();
        readable.extend(self.signals.fds());
        readable.extend(self.files.fd());
        self.work.watch(&mut readable, &mut writable);
        let mut left = Vec::new();
        self.clients.peers.watch(&mut readable, &mut writable, &mut left);
        writable.extend(self.log.fd());
        let wait = if has_batch { Some(Duration::ZERO) } else { wait };
        let ready = wait_for_any(&readable, &writable, &left, wait).map_err(Error::setup("polling"))?;
        self.clients.peers.hear(&ready);
        Ok(())
    }
}

/// Writes the last lines as fast as the reader of the log takes them.
fn finish_log(log: &mut Log<File>, now: Moment) -> Result<(), Error> {
    let (mut waiting_bytes, mut since) = (usize::MAX, now);
    loop {
        let now = Moment::now();
        log.flush(now.wall);
        if log.pending_bytes() < waiting_bytes {
            (waiting_bytes, since) = (log.pending_bytes(), now);
        }
        let rest = LOG_WAIT.saturating_sub(now.since(since));
        let Some(fd) = log.fd().filter(|_| !rest.is_zero()) else { return Ok(()) };
        wait_for(&[], &[fd], Some(rest)).map_err(Error::setup("polling"))?;
    }
}
