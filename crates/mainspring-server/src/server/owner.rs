//! The owner of the jobs: the planner, the facts that wait for it, and the two threads that wait for the
//! store.
//!
//! ```text
//! tell ─▶ inputs ─ take_in ─▶ planner ─ send_batches ─▶ writer ─▶ store's thread ─▶ next_report: Committed ─▶ outputs
//!                                                       questions ─▶ reader's thread ─▶ answers
//! ```
//!
//! No other part changes the planner or gives the store anything to write. Other parts tell it facts, and
//! read the planner.
//!
//! Cost: that of the planner, and of [`writer`](super::writer) and [`questions`](super::questions).
//!
//! Does not perform the planner's outputs: see `perform`.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::Timestamp;
use mainspring_job::{
    Batch, Command, Input, Lease, Limits, MAX_BATCH_OPERATIONS, Output, Planner, Reader, RunState, Store,
    StoreError, Ticket, WorkerId,
};

use super::execution::AttemptKey;
use super::next_step::{Question, QuestionAnswer};
use super::questions::Questions;
use super::store_thread::{CommittedBatch, RenewedAt, Report};
use super::writer::Writer;
use crate::error::Error;
use mainspring_action::needs;
use mainspring_exec::clock::{Moment, boot_time, follow};
use mainspring_exec::notified_channel::NotifiedReceiver;
use mainspring_host::net::{AsFd, BorrowedFd};

/// How many commands may wait for a place in a batch: four batches of them, some megabytes.
const MAX_BACKLOG: usize = 4_096;
const _: () = assert!(MAX_BATCH_OPERATIONS <= MAX_BACKLOG, "a batch can be filled with what waits");

/// See the head of this file.
pub(super) struct Owner {
    /// It ends before the writer does.
    questions: Questions,
    writer: Writer,
    lease: Lease,
    /// The boot time from which on the lease lasts, as the store's thread has it.
    renewed: RenewedAt,
    planner: Planner,
    /// Facts that the planner is still to be told.
    inputs: VecDeque<Input>,
    /// How the lease was given up.
    pub(super) released: Option<Result<(), StoreError>>,
}

impl Owner {
    /// Starts the threads, and plans nothing yet.
    ///
    /// # Errors
    ///
    /// When the operating system gives no thread or no socket pair.
    pub(super) fn start(
        store: Box<dyn Store + Send>,
        reader: Option<Box<dyn Reader + Send>>,
        lease: Lease,
        asked_at: Duration,
        limits: Limits,
    ) -> Result<Owner, Error> {
        let renewed = RenewedAt::new(asked_at);
        Ok(Owner {
            writer: Writer::start(store, lease, renewed.clone())
                .map_err(Error::setup("a thread for the store"))?,
            questions: Questions::start(reader).map_err(Error::setup("a thread for questions"))?,
            planner: Planner::new(lease.epoch, limits).requiring(needs::needs).following(lease.silent),
            lease,
            renewed,
            inputs: VecDeque::new(),
            released: None,
        })
    }

    /// What is planned, to be read.
    pub(super) fn planner(&self) -> &Planner {
        &self.planner
    }

    /// What is given to the store, to be read, and to be asked for what changes nothing that is planned.
    pub(super) fn writer(&self) -> &Writer {
        &self.writer
    }

    /// The answers of the store to what was asked.
    pub(super) fn answers(&self) -> &NotifiedReceiver<QuestionAnswer> {
        &self.questions.answers
    }

    /// By what the jobs are owned.
    pub(super) fn lease(&self) -> Lease {
        self.lease
    }

    /// How old the lease is since it was last renewed, and how long it lasts; `None` if it lasts as long as
    /// the store is open.
    pub(super) fn lease_age(&self) -> Option<(Duration, Duration)> {
        Some((boot_time().saturating_sub(self.renewed.get()), self.lease.lasts?))
    }

    /// A fact that the planner is told in the next round.
    pub(super) fn tell(&mut self, input: Input) {
        self.inputs.push_back(input);
    }

    /// The same of several.
    pub(super) fn tell_all(&mut self, facts: Vec<impl Into<Input>>) {
        self.inputs.extend(facts.into_iter().map(Into::into));
    }

    /// A command whose reply comes under this ticket.
    pub(super) fn command(&mut self, ticket: Ticket, command: Command) {
        self.tell(Input::Command { ticket, command });
    }

    /// When the machine was started, for jobs with `@reboot`.
    pub(super) fn set_machine_start(&mut self, at: Timestamp) {
        self.planner.set_machine_start(at);
    }

    /// Whether all that was decided is on disk.
    pub(super) fn has_recorded_all(&self) -> bool {
        !self.has_inputs() && !self.planner.has_batch() && self.writer.is_idle() && !self.writer.is_full()
    }

    /// Whether the planner is still to be told something.
    pub(super) fn has_inputs(&self) -> bool {
        !self.inputs.is_empty()
    }

    /// Tells the planner that time has passed, if something is due.
    pub(super) fn tick(&mut self, now: Moment) {
        if self.planner.next_due().is_some_and(|due| due <= now.wall) {
            self.tell(Input::Tick);
        }
    }

    /// When the next tick is due that would do something.
    pub(super) fn next_tick(&self, now: Moment) -> Option<Timestamp> {
        self.planner.next_due().filter(|due| self.can_tick(*due, now))
    }

    /// Whether a tick that is due then would do something. While the store is full nothing is planned; and
    /// what is due already and was not planned while the store is behind waits until it has caught up.
    fn can_tick(&self, due: Timestamp, now: Moment) -> bool {
        !self.writer.is_full() && (self.writer.is_idle() || now.wall < due)
    }

    /// Whether nothing is left to be told or planned now.
    pub(super) fn is_quiet(&self, now: Moment) -> bool {
        !self.has_inputs() && self.next_tick(now).is_none_or(|due| now.wall < due)
    }

    /// Tells the planner all that waits. Returns the attempts whose end was asked for, each with its worker:
    /// the planner wants it as well, when all that came before is on disk; a run whose start is on disk need
    /// not wait for that.
    pub(super) fn take_in(&mut self, now: Moment, outputs: &mut Vec<Output>) -> Vec<(WorkerId, AttemptKey)> {
        let mut cancelled = Vec::new();
        while let Some(input) = self.inputs.pop_front() {
            if let Input::Command { command: Command::Cancel(key), .. } = &input {
                let running = self.planner.run(key).filter(|run| run.state == RunState::Running);
                cancelled.extend(running.and_then(|run| Some((run.worker?, (key.clone(), run.attempt)))));
            }
            self.writer.backlog_count += usize::from(matches!(input, Input::Command { .. }));
            self.planner.handle(now.wall, input, outputs);
        }
        debug_assert!(!self.has_inputs(), "the planner was told all that waited");
        cancelled
    }

    /// Gives the store's thread all that the planner has decided, as far as the thread takes it.
    /// `watch` sees each batch before, with the planner that decided it, and adds what goes with it.
    pub(super) fn send_batches(&mut self, now: Moment, mut watch: impl FnMut(&mut Planner, &mut Batch)) {
        while self.writer.takes_batch() {
            let Some(mut batch) = self.planner.take_batch() else {
                (self.writer.has_more, self.writer.backlog_count) = (false, 0);
                return;
            };
            debug_assert!(batch.operations.len() <= MAX_BATCH_OPERATIONS, "a batch keeps its limit");
            let count = self.writer.backlog_count.saturating_sub(batch.operations.len());
            self.writer.backlog_count = count;
            watch(&mut self.planner, &mut batch);
            debug_assert!(batch.assignments.len() <= batch.operations.len(), "what is assigned is begun");
            self.writer.commit(batch, now);
        }
        self.writer.has_more = true;
    }

    /// Leaves what the planner has decided for a later [`send_batches`](Self::send_batches).
    pub(super) fn hold_batches(&mut self) {
        self.writer.has_more = self.planner.has_batch();
    }

    /// Whether a batch was left that the thread would take now.
    pub(super) fn holds_batch(&self) -> bool {
        self.writer.has_more && self.writer.is_idle() && !self.writer.is_full()
    }

    /// What the store's thread has done next, if anything. The clock follows what the store's showed.
    pub(super) fn next_report(&mut self, now: Moment) -> Option<Report> {
        let report = self.writer.next_report(now)?;
        if let Report::Committed(_, reading) | Report::Renewed(reading) = &report {
            reading.iter().copied().for_each(follow);
        }
        Some(report)
    }

    /// Tells the planner that a batch is on disk. What rests on it is added to `outputs`.
    pub(super) fn take_committed(&mut self, batch: CommittedBatch, now: Moment, outputs: &mut Vec<Output>) {
        let CommittedBatch { number, answers, holders } = batch;
        debug_assert!(holders.iter().all(|(index, _)| *index < answers.len()), "of its answers");
        if !holders.is_empty() {
            self.planner.handle(now.wall, Input::Holders(holders), outputs);
        }
        self.planner.handle(now.wall, Input::Committed { number, answers }, outputs);
    }

    /// Has the batch tried again for which there was no room.
    pub(super) fn write_again(&mut self, now: Moment) {
        self.writer.again(now);
    }

    /// Asks the store, when all is on disk that was decided before.
    pub(super) fn add_question(&mut self, question: Question) {
        self.questions.add(&self.writer, question);
    }

    /// Gives the questions to the store whose time has come.
    pub(super) fn ask_questions(&mut self, now: Moment) {
        self.questions.ask(&self.writer, now);
    }

    /// Whether all that was told is planned and on disk.
    pub(super) fn is_settled(&self) -> bool {
        self.writer.is_settled() && !self.has_inputs()
    }

    /// Whether the store is behind by so much that no more is taken.
    pub(super) fn is_backlogged(&self) -> bool {
        MAX_BACKLOG <= self.writer.backlog_count
    }

    /// What there is to say since the last call: that the store does not answer, or that it does again.
    pub(super) fn lateness_news(&mut self, now: Moment) -> Option<String> {
        self.writer.news(now)
    }

    /// Waits for the store alone, for as long as that is worth it and nothing is due. Returns whether it has
    /// reported.
    pub(super) fn linger(&mut self, now: Moment) -> bool {
        let due = self.planner.next_due().filter(|due| now.wall < *due);
        let left = due.map_or(Duration::MAX, |due| due.duration_since(now.wall).unsigned_abs());
        self.writer.linger(now, left)
    }

    /// What to poll: one for what the store's thread reports, one for answers.
    pub(super) fn fds(&self) -> [BorrowedFd<'_>; 2] {
        [self.writer.reports.as_fd(), self.questions.answers.as_fd()]
    }
}
