//! The work that runs: processes, webhooks, starts that wait, and the output of all of them.
//!
//! ```text
//! Start ─▶ process or webhook ─┬─ line ─▶ log, file of output
//!            │ cannot be now   └─ end ──▶ Input::Ended, for the planner
//!            └─▶ postponed
//! ```
//!
//! A process gets the variables MAINSPRING_JOB, MAINSPRING_RUN, MAINSPRING_NOMINAL, MAINSPRING_ATTEMPT and
//! MAINSPRING_KEY. The key is the same for all attempts of a run. A webhook has the same values as variables
//! of its templates.
//!
//! Cost: a spawn, or a thread, per start; a turn is a few system calls for each process.
//!
//! Does not decide anything, and does not know the planner: it returns ends as facts for it.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::{self, Stdout};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mainspring_job::{Failure, Input, JobName, Outcome, RunKey, Start};

use super::output::{Outputs, lost_text};
use super::postponed::{MAX_WAIT, Postponed};
use super::reports::{Attempted, Ended, Heard, Started, subject};
use crate::log::{Kind, Log};
use mainspring_action::body::Body;
use mainspring_action::template::Values;
use mainspring_exec::cgroup::Cgroups;
use mainspring_exec::clock::Moment;
use mainspring_exec::deliveries::Deliveries;
use mainspring_exec::executor::Executor;
use mainspring_exec::orphans;
use mainspring_exec::run::KillCause;
use mainspring_exec::span::Span;
use mainspring_exec::specs;
use mainspring_host::accounts::users::Users;

/// How much of a run's output a mail has: what people read of it, and mailers take.
const MAX_MAILED_BYTES: usize = 64 * 1_024;

/// What runs, and what is known of it.
pub(super) struct Work {
    executor: Executor<Attempted>,
    deliveries: Deliveries<Attempted>,
    /// What could not be started yet.
    postponed: Postponed,
    /// What runs, by its attempt.
    started: HashMap<Attempted, Started>,
    /// The run of each job that started last, for clients that follow its output.
    latest: HashMap<JobName, RunKey>,
    outputs: Outputs,
    users: Users,
    /// Whether what jobs leave behind becomes a child of this process.
    reaps_orphans: bool,
}

impl Work {
    /// Nothing runs, and so many processes and as many webhooks may; each process in a cgroup, if there are any.
    ///
    /// # Errors
    ///
    /// When the operating system gives no socket pair.
    pub(super) fn new(
        capacity: usize,
        outputs: PathBuf,
        users: Users,
        cgroups: Option<Cgroups>,
    ) -> io::Result<Work> {
        Ok(Work {
            executor: Executor::of_at_most(capacity).with_cgroups(cgroups),
            deliveries: Deliveries::of_at_most(capacity)?,
            postponed: Postponed::default(),
            started: HashMap::new(),
            latest: HashMap::new(),
            outputs: Outputs::new(outputs),
            users,
            reaps_orphans: orphans::fall_to_us(),
        })
    }

    /// Does all that can be done without waiting. Returns what has ended.
    pub(super) fn turn(&mut self, now: Moment, log: &mut Log<Stdout>) -> Vec<Input> {
        let mut heard = Heard::new(now.wall, log, &mut self.outputs, &self.started);
        self.executor.turn(now, &mut heard);
        self.deliveries.turn(now, &mut heard);
        let ends = heard.into_ends();
        // What has ended may have made room.
        let mut inputs = if ends.is_empty() { Vec::new() } else { self.start_postponed(now, log) };
        inputs.extend(self.end_all(ends));
        inputs
    }

    /// Tries again what could not be started before. Returns what has ended.
    pub(super) fn start_postponed(&mut self, now: Moment, log: &mut Log<Stdout>) -> Vec<Input> {
        let starts = self.postponed.take_starts();
        starts.into_iter().flat_map(|(start, since)| self.start(start, since, now, log)).collect()
    }

    /// Starts an attempt that has waited since then.
    pub(super) fn start(
        &mut self,
        start: Start,
        since: Moment,
        now: Moment,
        log: &mut Log<Stdout>,
    ) -> Vec<Input> {
        let attempted = (start.key.clone(), start.attempt);
        let keep = usize::try_from(start.work.policies.retention.keep).unwrap_or(usize::MAX);
        let is_once = start.cause == mainspring_job::Cause::Once;
        let late_ms = now.wall.as_millisecond() - start.due.as_millisecond();
        let late = Span(Duration::from_millis(u64::try_from(late_ms).unwrap_or(0)));
        match self.execute(&start, now, log) {
            Ok(Begun::Nothing) => return self.end_all(vec![Ended::new(attempted, Outcome::Succeeded)]),
            Ok(Begun::As(what)) => {
                let text = format!("{what}, due {:.3}, {late} late", start.due);
                log.line(now.wall, &subject(&attempted), Kind::Start, &text);
                let replaced = self.started.insert(attempted, Started { is_once, keep });
                debug_assert!(replaced.is_none(), "an attempt is started once");
                if !is_once {
                    self.latest.insert(start.key.job.clone(), start.key.clone());
                }
            }
            Err(NotStarted::Now(reason)) if now.since(since) < MAX_WAIT => {
                if since == now {
                    let text = format!("waits until it can be started: {reason}");
                    log.line(now.wall, &subject(&attempted), Kind::Note, &text);
                }
                self.postponed.add(start, since, now);
            }
            Err(NotStarted::Now(reason) | NotStarted::Ever(reason)) => {
                log.line(now.wall, &subject(&attempted), Kind::Refuse, &reason);
                return self
                    .end_all(vec![Ended::new(attempted, Outcome::Failed(Failure::NotStarted(reason)))]);
            }
        }
        Vec::new()
    }

    fn execute(&mut self, start: &Start, now: Moment, log: &mut Log<Stdout>) -> Result<Begun, NotStarted> {
        let attempted = (start.key.clone(), start.attempt);
        let policies = &start.work.policies;
        let values = values(start);
        match Body::decode(&start.work.action).map_err(never)? {
            Body::Process(body) => {
                let spec = specs::process(&body, &self.users, policies).map_err(never)?;
                let variables = variables(&values);
                if self.executor.is_full() {
                    let mut heard = Heard::new(now.wall, log, &mut self.outputs, &self.started);
                    self.executor.make_room(now, &mut heard);
                }
                let started = self.executor.start(&spec, &variables, attempted, now);
                let pid = started.map_err(|error| not_started(error.is_shortage(), &error))?;
                Ok(Begun::As(format!("pid {pid}")))
            }
            Body::Mail(body) => {
                let output = body.output_of.as_deref().map(|run| self.output_text(run)).unwrap_or_default();
                if body.needs_output && output.is_empty() {
                    return Ok(Begun::Nothing);
                }
                let spec = specs::mail(&body, &output, &self.users, policies).map_err(never)?;
                let started = self.executor.start(&spec, &variables(&values), attempted, now);
                let pid = started.map_err(|error| not_started(error.is_shortage(), &error))?;
                Ok(Begun::As(format!("pid {pid}")))
            }
            Body::Webhook(body) => {
                let spec = Arc::new(specs::webhook(&body, policies).map_err(never)?);
                let sent = self.deliveries.start(&spec, values, attempted, now);
                sent.map_err(|error| not_started(error.is_shortage(), &error))?;
                Ok(Begun::As("webhook".to_owned()))
            }
        }
    }

    /// What a run of a job wrote in its last attempt: the last of it, up to [`MAX_MAILED_BYTES`].
    fn output_text(&self, run: &str) -> String {
        let Ok(key) = run.parse::<RunKey>() else { return String::new() };
        let lines = super::output::last_attempt(&self.outputs.path(&key, false));
        let from = lines.len().saturating_sub(MAX_MAILED_BYTES);
        let from = lines.ceil_char_boundary(from);
        let mark = if from == 0 { "" } else { "[..]\n" };
        format!("{mark}{}", &lines[from..])
    }

    /// Begins to kill an attempt, by the policy that it was started with. Returns what has ended.
    pub(super) fn kill(&mut self, attempted: Attempted, now: Moment, log: &mut Log<Stdout>) -> Vec<Input> {
        if self.postponed.remove(&attempted.0, attempted.1) {
            return self.end_all(vec![Ended::new(attempted, Outcome::Killed)]);
        }
        if self.kill_process(&attempted, now) {
            return Vec::new();
        }
        let mut heard = Heard::new(now.wall, log, &mut self.outputs, &self.started);
        self.deliveries.kill(&attempted, now, &mut heard);
        let ends = heard.into_ends();
        self.end_all(ends)
    }

    /// The same of a process alone. Returns whether there is such a process.
    pub(super) fn kill_process(&mut self, attempted: &Attempted, now: Moment) -> bool {
        self.executor.kill(attempted, KillCause::Asked, now)
    }

    /// Processes get their kill signal, and what still waits to be started is not started. Returns what has ended.
    pub(super) fn ask_all_to_end(&mut self, now: Moment) -> Vec<Input> {
        self.executor.kill_all(KillCause::Asked, now);
        let postponed = self.postponed.take_all();
        self.end_all(postponed.into_iter().map(|attempted| Ended::new(attempted, Outcome::Killed)).collect())
    }

    /// Processes get SIGKILL.
    pub(super) fn kill_processes_at_once(&mut self, now: Moment) {
        self.executor.kill_all_at_once(now);
    }

    /// The same, and webhooks are given up. Returns what has ended.
    pub(super) fn kill_all_at_once(&mut self, now: Moment, log: &mut Log<Stdout>) -> Vec<Input> {
        let mut inputs = self.ask_all_to_end(now);
        self.kill_processes_at_once(now);
        let mut heard = Heard::new(now.wall, log, &mut self.outputs, &self.started);
        self.deliveries.kill_all(now, &mut heard);
        let ends = heard.into_ends();
        inputs.extend(self.end_all(ends));
        inputs
    }

    /// Lets go of all processes whatever their state.
    pub(super) fn close(&mut self, now: Moment, log: &mut Log<Stdout>) {
        let mut heard = Heard::new(now.wall, log, &mut self.outputs, &self.started);
        self.executor.close(now, &mut heard);
    }

    /// A child has ended: waits for what jobs have left behind.
    pub(super) fn reap_orphans(&self) {
        if self.reaps_orphans {
            orphans::reap(self.executor.pids());
        }
    }

    /// How many runs have a start on disk and no end.
    pub(super) fn running_count(&self) -> usize {
        self.executor.running_count() + self.deliveries.running_count() + self.postponed.count()
    }

    /// How many processes there are.
    pub(super) fn process_count(&self) -> usize {
        self.executor.running_count()
    }

    /// Whether nothing has an end that is still to come. Something in the background may hold the output of what has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.executor.unended_count() == 0 && self.deliveries.running_count() == 0
    }

    /// Whether an attempt runs.
    pub(super) fn is_running(&self, attempted: &Attempted) -> bool {
        self.started.contains_key(attempted)
    }

    /// The run of a job that started last.
    pub(super) fn latest(&self, job: &JobName) -> Option<&RunKey> {
        self.latest.get(job)
    }

    /// Where the output of a run is.
    pub(super) fn output_path(&self, key: &RunKey, is_once: bool) -> PathBuf {
        self.outputs.path(key, is_once)
    }

    /// Says whether output is kept from now on.
    pub(super) fn keep_output(&mut self, keeps: bool) {
        self.outputs.keeps = keeps;
    }

    /// Removes the oldest kept output, at least so much if there is. Returns how many files.
    pub(super) fn remove_oldest_output(&self, bytes: u64) -> usize {
        self.outputs.remove_oldest(bytes)
    }

    /// Writes the output that waits.
    pub(super) fn flush(&mut self, now: Moment, log: &mut Log<Stdout>) {
        for (key, error) in self.outputs.flush() {
            log.line(now.wall, &key.job, Kind::Note, &lost_text(&error));
        }
    }

    /// How long the loop may sleep for the sake of processes.
    pub(super) fn wait(&self, now: Moment) -> Option<Duration> {
        self.executor.wait(now)
    }

    /// When starts that wait are tried again.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.postponed.deadline()
    }

    /// Adds what to poll.
    pub(super) fn watch<'a>(
        &'a self,
        readable: &mut Vec<BorrowedFd<'a>>,
        writable: &mut Vec<BorrowedFd<'a>>,
    ) {
        readable.push(self.deliveries.as_fd());
        self.executor.watch(readable, writable);
    }

    /// Closes the output of what has ended, and makes facts of it.
    fn end_all(&mut self, ends: Vec<Ended>) -> Vec<Input> {
        let mut inputs = Vec::new();
        for Ended { attempted, outcome, retry_at } in ends {
            // What could not be started has an end, and was never among these.
            let started = self.started.remove(&attempted);
            let (key, attempt) = attempted;
            if let Some(started) = started {
                self.outputs.close(&key, started.is_once, started.keep);
            }
            if let Some(until) = retry_at {
                inputs.push(Input::Defer { key: key.clone(), until });
            }
            inputs.push(Input::Ended { key, attempt, outcome });
        }
        inputs
    }
}

/// What an attempt became.
enum Begun {
    /// A process or a request, in words.
    As(String),
    /// There is nothing to be done: a mail of output, and there is none.
    Nothing,
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
