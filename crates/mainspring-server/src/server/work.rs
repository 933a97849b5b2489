//! The work that runs, starts that wait, and the output of all of them.
//!
//! ```text
//! Start ─▶ Execution ──────────┬─ line ─▶ log, file of output
//!  │         │ cannot be now   └─ end ──▶ AttemptEnd, for the planner
//!  └▶ early  └─▶ postponed
//! ```
//!
//! Cost: that of the [`Execution`]: processes and webhooks, or functions of a program.
//!
//! Does not decide anything, and does not know the planner: it returns ends as facts for it.

use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use mainspring_job::{
    AttemptEnd, Cause, Failure, Input, JobName, Outcome, RunKey, Start, Worker, WorkerEvent, WorkerId,
};

use super::early_start::EarlyStarts;
use super::execution::{AttemptKey, Execution, StartFailure, StartOutcome};
use super::output::{Outputs, last_attempt, lost_text};
use super::progress_table::ProgressTable;
use super::reports::{ReportCollector, StartedAttempt, of_attempt};
use super::start_backlog::{StartBacklog, wait_max};
use crate::log::{Kind, Level, Line, Log, Subject};
use mainspring_exec::clock::Moment;
use mainspring_exec::end::Reports;
use mainspring_exec::span::Span;
use mainspring_host::net::BorrowedFd;

/// How much of a run's output a mail has: what people read of it, and mailers take. A receiver at a URL has
/// a limit of its own, and gets the last of this.
const MAX_MAILED_BYTES: usize = 64 * 1_024;

/// What runs, and what is known of it.
pub(super) struct Work {
    execution: Box<dyn Execution>,
    /// The worker that it is, as the planner knows it, where this server plans for itself.
    worker: Option<Worker>,
    /// How many more may be started, as the planner was told.
    ahead: usize,
    /// Whether nothing begins any more.
    is_ending: bool,
    /// What is not to begin yet.
    early_starts: EarlyStarts,
    /// What could not be started yet.
    backlog: StartBacklog,
    /// What runs, by its attempt.
    started: HashMap<AttemptKey, StartedAttempt>,
    /// The run of each job that started last, for clients that follow its output.
    pub(super) latest: HashMap<JobName, RunKey>,
    /// The files of what runs here.
    pub(super) outputs: Outputs,
}

impl Work {
    /// Nothing runs. What writes lines writes them into files of this folder.
    pub(super) fn new(execution: Box<dyn Execution>, outputs: PathBuf) -> Work {
        Work {
            ahead: execution.ahead(),
            execution,
            worker: None,
            is_ending: false,
            early_starts: EarlyStarts::default(),
            backlog: StartBacklog::default(),
            started: HashMap::new(),
            latest: HashMap::new(),
            outputs: Outputs::new(outputs),
        }
    }

    /// How what starts is carried out, to be asked.
    pub(super) fn execution(&self) -> &dyn Execution {
        &*self.execution
    }

    /// What runs is to be over at this boot time, whatever becomes of the server.
    pub(super) fn holds_until(&mut self, until: Duration) {
        self.execution.holds_until(until);
    }

    /// The worker that this server is for its own planner, under this id.
    pub(super) fn join(&mut self, id: WorkerId) -> Vec<Input> {
        debug_assert!(self.worker.is_none(), "a server is one worker");
        self.worker = self.execution.worker(id);
        self.worker.clone().map(|worker| Input::Worker(WorkerEvent::Present(worker))).into_iter().collect()
    }

    /// What others have reported since the last call, and this server as a worker, if that is another.
    pub(super) fn facts(&mut self) -> Vec<Input> {
        let mut facts = self.execution.facts();
        if let Some(ahead) = self.new_ahead()
            && let Some(worker) = &mut self.worker
        {
            worker.ahead = ahead;
            facts.push(Input::Worker(WorkerEvent::Present(worker.clone())));
        }
        facts
    }

    /// How many runs may be started beyond those that may go on, if that is another number than before.
    pub(super) fn new_ahead(&mut self) -> Option<usize> {
        let ahead = self.execution.ahead();
        (std::mem::replace(&mut self.ahead, ahead) != ahead).then_some(ahead)
    }

    /// Does all that can be done without waiting. Returns what has ended.
    pub(super) fn turn(&mut self, now: Moment, log: &mut Log<File>) -> Vec<AttemptEnd> {
        let ends = self.collect(now, log, |execution, reports| execution.turn(now, reports));
        // What has ended may have made room.
        let mut all = if ends.is_empty() { Vec::new() } else { self.start_postponed(now, log) };
        all.extend(ends);
        all
    }

    /// Has the execution do something. Returns what that has ended.
    fn collect(
        &mut self,
        now: Moment,
        log: &mut Log<File>,
        act: impl FnOnce(&mut dyn Execution, &mut dyn Reports<AttemptKey>),
    ) -> Vec<AttemptEnd> {
        let mut collector = ReportCollector::new(now.wall, log, &mut self.outputs, &self.started);
        act(&mut *self.execution, &mut collector);
        let ends = collector.ends;
        self.end_all(ends)
    }

    /// Takes what runs have told of their progress. Returns whose is new.
    pub(super) fn take_progress(&mut self, now: Moment) -> Vec<RunKey> {
        let reported = self.execution.progress(now);
        for (attempted, progress) in &reported {
            self.started.get_mut(attempted).into_iter().for_each(|it| it.progress = Some(*progress));
        }
        reported.into_iter().map(|((key, _), _)| key).collect()
    }

    /// How far the runs are that go on here, of those that tell it.
    pub(super) fn progress(&self) -> ProgressTable {
        let rows = self.started.iter();
        rows.filter_map(|(attempted, started)| Some((attempted.clone(), started.progress?))).collect()
    }

    /// Tries again what could not be started before. Returns what has ended.
    pub(super) fn start_postponed(&mut self, now: Moment, log: &mut Log<File>) -> Vec<AttemptEnd> {
        let starts = self.backlog.take_starts();
        starts.into_iter().flat_map(|(start, since)| self.start(start, since, now, log)).collect()
    }

    /// Holds a start whose time has not come, unless the execution does. Returns any other.
    pub(super) fn hold_early(&mut self, start: Start, now: Moment) -> Option<Start> {
        let is_held = !self.is_ending && !self.execution.waits_for_starts();
        if is_held { self.early_starts.hold(start, now) } else { Some(start) }
    }

    /// Takes what was held until now.
    pub(super) fn take_due(&mut self, now: Moment) -> Vec<Start> {
        debug_assert!(!self.is_ending || self.early_starts.count() == 0, "nothing is held at the end");
        self.early_starts.take_due(now)
    }

    /// Starts an attempt that has waited since then, or gives it back at the end.
    pub(super) fn start(
        &mut self,
        start: Start,
        since: Moment,
        now: Moment,
        log: &mut Log<File>,
    ) -> Vec<AttemptEnd> {
        let attempted = (start.key.clone(), start.attempt);
        debug_assert!(!self.started.contains_key(&attempted), "an attempt is started once");
        if self.is_ending && !self.execution.is_elsewhere() {
            return self.end_all(vec![end_of(attempted, Outcome::Returned)]);
        }
        let keep = usize::try_from(start.work.policies.retention.keep).unwrap_or(usize::MAX);
        let late_ms = now.wall.as_millisecond() - start.due.as_millisecond();
        let lateness = Duration::from_millis(u64::try_from(late_ms).unwrap_or(0));
        let late = match start.not_before {
            Some(at) if now.wall < at => "which it waits for".to_owned(),
            _ => format!("{} late", Span(lateness)),
        };
        let (cause, due) = (Some(start.cause), Some(start.due));
        match self.execute(&start, now, log) {
            Ok(StartOutcome::Elsewhere) => {}
            Ok(StartOutcome::Nothing) => {
                return self.end_all(vec![end_of(attempted, Outcome::Succeeded)]);
            }
            Ok(StartOutcome::As(what)) => {
                let text = format!("{what}, due {:.3}, {late}", start.due);
                let line = of_attempt(now.wall, &attempted, Kind::Start, text);
                log.line(Line { cause, due, lateness: Some(lateness), ..line });
                let started = StartedAttempt { cause: start.cause, due: start.due, keep, progress: None };
                self.started.insert(attempted, started);
                if start.cause != Cause::Once {
                    self.latest.insert(start.key.job.clone(), start.key.clone());
                }
            }
            Err(StartFailure::Now(reason)) if now.since(since) < wait_max(&start) => {
                if since == now {
                    let text = format!("waits until it can be started: {reason}");
                    log.line(Line { due, ..of_attempt(now.wall, &attempted, Kind::Note, text) });
                }
                self.backlog.add(start, since, now);
            }
            Err(StartFailure::Now(reason) | StartFailure::Ever(reason)) => {
                let outcome = Outcome::Failed(Failure::NotStarted(reason.clone()));
                let line = of_attempt(now.wall, &attempted, Kind::Refuse, reason);
                log.line(Line { cause, due, outcome: Some(&outcome), ..line });
                return self.end_all(vec![end_of(attempted, outcome)]);
            }
        }
        Vec::new()
    }

    fn execute(
        &mut self,
        start: &Start,
        now: Moment,
        log: &mut Log<File>,
    ) -> Result<StartOutcome, StartFailure> {
        let action = &start.work.action;
        let ends = self.collect(now, log, |execution, reports| execution.make_room(action, now, reports));
        debug_assert!(ends.is_empty(), "what makes room has ended before");
        let outputs = &self.outputs;
        self.execution.start(start, &|run| output_text(outputs, run), now)
    }

    /// Begins to kill an attempt, by the policy that it was started with. Returns what has ended.
    pub(super) fn kill(
        &mut self,
        worker: WorkerId,
        attempted: AttemptKey,
        now: Moment,
        log: &mut Log<File>,
    ) -> Vec<AttemptEnd> {
        if self.early_starts.remove(&attempted) || self.backlog.remove(&attempted.0, attempted.1) {
            return self.end_all(vec![end_of(attempted, Outcome::Killed)]);
        }
        if self.ask_to_end(worker, &attempted, now) {
            return Vec::new();
        }
        self.collect(now, log, |execution, reports| execution.give_up(&attempted, now, reports))
    }

    /// The same of an attempt that ends by itself when asked, as a process does. Returns whether it is one.
    pub(super) fn ask_to_end(&mut self, worker: WorkerId, attempted: &AttemptKey, now: Moment) -> bool {
        self.execution.ask_to_end(worker, attempted, now)
    }

    /// Nothing begins from now on: what waits, and what was decided and comes later, is given back. Returns
    /// what has ended.
    pub(super) fn end(&mut self) -> Vec<AttemptEnd> {
        self.is_ending = true;
        self.end_waiting()
    }

    /// What runs is asked to end, and what still waits to be started is given back. Returns what has ended.
    pub(super) fn ask_all_to_end(&mut self, now: Moment) -> Vec<AttemptEnd> {
        self.execution.ask_all_to_end(now);
        self.end_waiting()
    }

    /// The same before the server loses the jobs: what its job has go on then is not asked.
    pub(super) fn ask_all_to_end_before_loss(&mut self, now: Moment) -> Vec<AttemptEnd> {
        self.execution.ask_all_to_end_before_loss(now);
        self.end_waiting()
    }

    /// The server has lost the jobs: releases these. Returns what has ended.
    pub(super) fn leave(&mut self, now: Moment, log: &mut Log<File>) -> Vec<AttemptEnd> {
        let mut left = Vec::new();
        let ends = self.collect(now, log, |execution, reports| left = execution.leave(reports));
        for attempted in left {
            if let Some(started) = self.started.remove(&attempted) {
                self.outputs.close(&attempted.0, started.cause, started.keep);
            }
        }
        ends
    }

    /// What waits to be started is not started here.
    fn end_waiting(&mut self) -> Vec<AttemptEnd> {
        let waiting = self.early_starts.take_all().into_iter().chain(self.backlog.take_all());
        self.end_all(waiting.map(|attempted| end_of(attempted, Outcome::Returned)).collect())
    }

    /// Processes get SIGKILL.
    pub(super) fn kill_processes_at_once(&mut self, now: Moment) {
        self.execution.kill_processes_at_once(now);
    }

    /// The same, and what cannot be killed is given up. Returns what has ended.
    pub(super) fn kill_all_at_once(&mut self, now: Moment, log: &mut Log<File>) -> Vec<AttemptEnd> {
        // First, because a process that is killed already is not asked: it would answer if it were quick.
        self.kill_processes_at_once(now);
        let mut all = self.ask_all_to_end(now);
        all.extend(self.collect(now, log, |execution, reports| execution.give_all_up(now, reports)));
        all
    }

    /// Releases all that runs whatever its state. Returns what did.
    pub(super) fn close(&mut self, now: Moment, log: &mut Log<File>) -> Vec<AttemptKey> {
        let mut collector = ReportCollector::new(now.wall, log, &mut self.outputs, &self.started);
        self.execution.close(now, &mut collector);
        self.started.keys().cloned().collect()
    }

    /// A child has ended: waits for what jobs have left behind.
    pub(super) fn reap_orphans(&mut self) {
        self.execution.reap();
    }

    /// How many runs have a start on disk and no end.
    pub(super) fn running_count(&self) -> usize {
        self.execution.running_count() + self.early_starts.count() + self.backlog.count()
    }

    /// Writes the output that waits.
    pub(super) fn flush(&mut self, now: Moment, log: &mut Log<File>) {
        for (key, error) in self.outputs.flush() {
            let line = Line::new(now.wall, Subject::Run(&key), Kind::Note, lost_text(&error));
            log.line(Line { level: Level::Warning, ..line });
        }
    }

    /// How long the loop may sleep for the sake of processes and of starts.
    pub(super) fn wait(&self, now: Moment) -> Option<Duration> {
        self.execution.wait(now).into_iter().chain(self.early_starts.wait(now)).min()
    }

    /// When starts that wait are tried again.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.backlog.deadline()
    }

    /// Adds what to poll.
    pub(super) fn watch<'a>(
        &'a self,
        readable: &mut Vec<BorrowedFd<'a>>,
        writable: &mut Vec<BorrowedFd<'a>>,
    ) {
        self.execution.watch(readable, writable);
    }

    /// Closes the output of what has ended.
    fn end_all(&mut self, ends: Vec<AttemptEnd>) -> Vec<AttemptEnd> {
        for end in &ends {
            // What could not be started has an end, and was never among these.
            if let Some(started) = self.started.remove(&(end.key.clone(), end.attempt)) {
                self.outputs.close(&end.key, started.cause, started.keep);
            }
        }
        ends
    }
}

fn end_of((key, attempt): AttemptKey, outcome: Outcome) -> AttemptEnd {
    AttemptEnd::new(key, attempt, outcome)
}

/// What a run of a job wrote in its last attempt: the last of it, up to [`MAX_MAILED_BYTES`].
fn output_text(outputs: &Outputs, run: &str) -> String {
    let Ok(key) = run.parse::<RunKey>() else { return String::new() };
    if outputs.is_removed(&key) {
        return "[its output is not kept any more]\n".to_owned();
    }
    let lines = last_attempt(&outputs.path(&key, Cause::Trigger));
    let from = lines.ceil_char_boundary(lines.len().saturating_sub(MAX_MAILED_BYTES));
    let mark = if from == 0 { "" } else { "[..]\n" };
    format!("{mark}{}", &lines[from..])
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mainspring_host::accounts::Account;
    use mainspring_host::accounts::users::Users;

    use super::super::commands::Commands;
    use super::*;
    use crate::scratch;
    use mainspring_exec::output::{Piece, Stream};

    #[test]
    fn a_mail_of_output_that_is_gone_says_so() {
        let root = scratch::path("mail-of-gone");
        let mut outputs = Outputs::new(root.clone());
        let key = |second: u32| -> RunKey { format!("a@2026-01-01T00:00:0{second}Z").parse().unwrap() };
        for second in 1..4 {
            let now = Moment::now().wall;
            outputs.line(&key(second), Cause::Trigger, 1, now, Stream::Stdout, &Piece::line("x")).unwrap();
            outputs.close(&key(second), Cause::Trigger, 1);
        }
        let text = |second| output_text(&outputs, &key(second).to_string());
        assert_eq!((text(1).as_str(), text(3).as_str()), ("[its output is not kept any more]\n", "x\n"));
        assert_eq!(text(4), "", "it wrote nothing");
        let _ = std::fs::remove_dir_all(root);
    }

    /// Others carry out what starts.
    #[derive(Debug)]
    struct Elsewhere;

    impl Execution for Elsewhere {
        fn is_elsewhere(&self) -> bool {
            true
        }
        fn start(
            &mut self,
            _start: &Start,
            _outputs: &dyn Fn(&str) -> String,
            _now: Moment,
        ) -> Result<StartOutcome, StartFailure> {
            Ok(StartOutcome::Elsewhere)
        }
        fn watch<'a>(&'a self, _readable: &mut Vec<BorrowedFd<'a>>, _writable: &mut Vec<BorrowedFd<'a>>) {}
    }

    fn start(job: &str, at: Moment) -> Start {
        let action = mainspring_job::Action::new("process", "{}").unwrap();
        let key = RunKey::new(JobName::new(job).unwrap(), at.wall);
        let work = Arc::new(mainspring_job::Work::new(action));
        let mut start = Start::new(key, 1, WorkerId(1), work);
        start.not_before = Some(at.wall);
        start
    }

    #[test]
    fn what_another_carries_out_is_not_given_back_at_the_end_of_the_planner() {
        let mut log = Log::new(File::open("/dev/null").unwrap());
        let mut work = Work::new(Box::new(Elsewhere), scratch::path("work-elsewhere"));
        let now = Moment::now();
        let decided = start("decided-before", now.after(Duration::from_millis(20)));
        assert_eq!(work.end(), []);
        assert_eq!(work.hold_early(decided.clone(), now).as_ref(), Some(&decided));
        assert_eq!(work.start(decided, now, now, &mut log), []);
    }

    #[test]
    fn nothing_begins_at_the_end_and_all_of_it_is_given_back() {
        let mut log = Log::new(File::open("/dev/null").unwrap());
        let commands = Commands::new(4, Users::new(Account::ourselves().unwrap())).unwrap();
        let mut work = Work::new(Box::new(commands), scratch::path("work-end"));
        let now = Moment::now();
        let returned = |start: &Start| AttemptEnd::new(start.key.clone(), 1, Outcome::Returned);
        let early = start("early", now.after(Duration::from_millis(20)));
        assert_eq!(work.hold_early(early.clone(), now), None);
        assert_eq!(work.end(), [returned(&early)]);
        let decided = start("decided-before", now.after(Duration::from_millis(20)));
        assert_eq!(work.hold_early(decided.clone(), now).as_ref(), Some(&decided));
        assert_eq!(work.start(decided.clone(), now, now, &mut log), [returned(&decided)]);
        assert_eq!((work.running_count(), work.execution().process_count()), (0, 0));
    }
}
