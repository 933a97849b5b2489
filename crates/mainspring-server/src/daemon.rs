//! The loop of `run`: one thread that starts what is due and ends in order.
//!
//! ```text
//! Running ──SIGTERM, SIGINT──▶ Gathering ──GATHER──▶ Stopping ──grace over, or a second signal──▶ Killed
//!    │ starts what is due                     │ SIGTERM to all groups            │ SIGKILL to all groups
//!    └── the log's reader went away ──────────┘          └── nothing runs ──▶ end ◀── nothing runs, or KILL_WAIT
//! ```
//!
//! When as many commands run as may, due runs wait for a place, at most [`MAX_WAIT`]; one that gets none is refused, and the
//! log says so.
//!
//! A turn: read the clock, take signals and due runs, serve the running commands, write the log, then poll until a pipe,
//! a signal, a due run or a deadline needs the next turn. While nothing happens, nothing wakes the loop.
//!
//! Cost: see the executor; a turn without runs is a handful of system calls.
//!
//! Does not know when a job is due: due runs come through a channel. Does not prevent a job from running twice at the
//! same time, as cron does not.
//!
//! Source: own.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use jiff::Timestamp;
use nix::sys::signal::Signal;

use crate::clock::Moment;
use crate::due::{Due, DueReceiver, MAX_WAITING};
use crate::executor::run::{End, Reports, Stream};
use crate::executor::span::Span;
use crate::executor::{Executor, MAX_RUNNING, orphans};
use crate::job::Job;
use crate::log::{Kind, Log, rfc3339};
use crate::message::PROGRAM;
use crate::signals::Signals;
use crate::waiting::wait_for;

/// How long requests to stop count as one. `timeout` and a terminal's process group deliver the same one twice.
pub const GATHER: Duration = Duration::from_millis(20);

/// How long to wait for commands after SIGKILL. Only a process that hangs in the kernel, or one that left its group and
/// holds a pipe, needs longer.
pub const KILL_WAIT: Duration = Duration::from_secs(1);

/// How long a due run waits for a place among the running commands before it is refused.
pub const MAX_WAIT: Duration = Duration::from_secs(60);

/// How long the end waits for a slow reader of the log.
pub const LOG_WAIT: Duration = Duration::from_secs(2);

/// The most jobs whose next time is logged at the start.
pub const MAX_LISTED: usize = 20;

/// The widest subject column; a longer name pushes the rest of its line to the right.
const MAX_SUBJECT_WIDTH: usize = 24;

/// The name of one run in the log: the job's name and the run's number, which counts the runs of this job from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunName {
    /// The job's name.
    pub job: String,
    /// The run's number.
    pub number: u64,
}

impl fmt::Display for RunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.job, self.number)
    }
}

/// Runs as lines of the log.
struct Logged<'a, W> {
    now: Timestamp,
    log: &'a mut Log<W>,
}

impl<W: Write + AsFd> Reports<RunName> for Logged<'_, W> {
    fn line(&mut self, run: &RunName, stream: Stream, text: &str) {
        let kind = match stream {
            Stream::Stdout => Kind::Stdout,
            Stream::Stderr => Kind::Stderr,
        };
        self.log.line(self.now, run, kind, text);
    }

    fn ended(&mut self, run: &RunName, end: &End) {
        self.log.line(self.now, run, Kind::End, &end.to_string());
    }

    fn is_full(&self) -> bool {
        self.log.is_full()
    }
}

/// What the loop needs.
#[derive(Debug)]
pub struct Daemon<W> {
    jobs: Vec<Job>,
    /// Per job, how many of its runs were due so far.
    run_counts: Vec<u64>,
    executor: Executor<RunName>,
    /// Due runs for which there was no place yet, with the time of their arrival: at most [`MAX_WAITING`]. Not empty
    /// only while the executor is full.
    waiting: VecDeque<(Due, Moment)>,
    log: Log<W>,
    due: DueReceiver,
    signals: Signals,
    grace: Duration,
    reaps_orphans: bool,
    phase: Phase,
}

/// See the drawing at the head of this file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    Gathering { since: Moment },
    Stopping { since: Moment },
    Killed { since: Moment },
}

impl<W: Write + AsFd> Daemon<W> {
    /// Makes a loop that has started nothing yet. `grace` is the time from SIGTERM to SIGKILL.
    pub fn new(jobs: Vec<Job>, due: DueReceiver, signals: Signals, grace: Duration, writer: W) -> Daemon<W> {
        // Room for "#" and a run number of three digits.
        let width =
            jobs.iter().map(|job| job.name.len() + 4).chain([PROGRAM.len()]).max().unwrap_or_default();
        Daemon {
            run_counts: vec![0; jobs.len()],
            jobs,
            executor: Executor::default(),
            waiting: VecDeque::new(),
            log: Log::new(writer, width.min(MAX_SUBJECT_WIDTH)),
            due,
            signals,
            grace,
            reaps_orphans: orphans::fall_to_us(),
            phase: Phase::Running,
        }
    }

    /// Runs until a signal asks to stop and all commands have ended. `timetable` is whatever sends the due runs; it is
    /// dropped when no more are wanted. `title` is the first line of the log.
    ///
    /// # Errors
    ///
    /// When the log's reader went away, or when polling fails.
    pub fn run<T>(mut self, timetable: T, title: &str) -> io::Result<()> {
        let mut timetable = Some(timetable);
        let now = Moment::now();
        self.log.line(now.wall, &PROGRAM, Kind::Note, title);
        self.list_next(now.wall);
        self.admit_reboot_jobs(now);
        loop {
            let now = Moment::now();
            self.turn(now);
            if matches!(self.phase, Phase::Stopping { .. } | Phase::Killed { .. }) {
                timetable = None;
            }
            if self.is_done(now) {
                break;
            }
            self.log.flush(now.wall);
            self.wait(now)?;
        }
        drop(timetable);
        let now = Moment::now();
        self.executor.close(now, &mut Logged { now: now.wall, log: &mut self.log });
        self.log.line(now.wall, &PROGRAM, Kind::Note, "stopped");
        self.finish_log(now)?;
        self.log.into_failure().map_or(Ok(()), Err)
    }

    /// Writes the last lines, for which a slow reader gets [`LOG_WAIT`].
    fn finish_log(&mut self, since: Moment) -> io::Result<()> {
        loop {
            let now = Moment::now();
            self.log.flush(now.wall);
            let rest = LOG_WAIT.saturating_sub(now.since(since));
            if !self.log.has_pending() || rest.is_zero() {
                return Ok(());
            }
            wait_for(&[], &Vec::from_iter(self.log.fd()), Some(rest))?;
        }
    }

    fn turn(&mut self, now: Moment) {
        if 0 < self.signals.clear_child() && self.reaps_orphans {
            orphans::reap(self.executor.pids());
        }
        let requests = match self.phase {
            // What comes while requests are gathered is taken when the time is over.
            Phase::Gathering { since } if now.since(since) < GATHER => 0,
            _ => self.signals.stop_requests(),
        };
        let (arrived, lost_count) = self.due.drain();
        for due in arrived {
            self.admit(due, now);
        }
        if 0 < lost_count {
            let text = format!("{lost_count} runs were due and not started: too many were waiting");
            self.log.line(now.wall, &PROGRAM, Kind::Refuse, &text);
        }
        // First the runs that ended: they make room for those that wait.
        self.executor.turn(now, &mut Logged { now: now.wall, log: &mut self.log });
        self.start_waiting();
        self.advance_phase(now, requests);
    }

    fn admit(&mut self, due: Due, now: Moment) {
        if self.waiting.len() < MAX_WAITING {
            self.waiting.push_back((due, now));
        } else {
            self.refuse(&due, now, &format!("{MAX_WAITING} runs are waiting already, which is the limit"));
        }
    }

    fn admit_reboot_jobs(&mut self, now: Moment) {
        // Nobody needs the nanoseconds of a time that nobody chose.
        let start =
            Timestamp::from_millisecond(now.wall.as_millisecond()).expect("it is earlier than a timestamp");
        for job_index in 0..self.jobs.len() {
            let schedule = &self.jobs[job_index].schedule;
            if schedule.is_reboot() {
                let nominal = start.to_zoned(schedule.zone().clone());
                self.admit(Due { job_index, nominal, lateness: Duration::ZERO, missed_count: 0 }, now);
            }
        }
    }

    /// Starts what waits, as far as there is room.
    fn start_waiting(&mut self) {
        while let Some((due, arrived)) = self.waiting.pop_front() {
            // Read again for each run: starting takes about a millisecond, and hundreds may be due at once.
            let now = Moment::now();
            if self.phase != Phase::Running {
                self.refuse(&due, now, "the scheduler is stopping");
            } else if !self.executor.is_full() {
                self.start(&due, arrived, now);
            } else if MAX_WAIT <= now.since(arrived) {
                let text =
                    format!("there was no place for {}: {MAX_RUNNING} commands are running", Span(MAX_WAIT));
                self.refuse(&due, now, &text);
            } else {
                return self.waiting.push_front((due, arrived));
            }
        }
    }

    fn start(&mut self, due: &Due, arrived: Moment, now: Moment) {
        let name = self.name_run(due.job_index);
        let spec = self.jobs[due.job_index].process_spec();
        match self.executor.start(&spec, &[], name.clone(), now) {
            Ok(pid) => {
                let missed = match due.missed_count {
                    0 => String::new(),
                    count => format!(", {count} earlier missed"),
                };
                let lateness = Span(due.lateness + now.since(arrived));
                let text = format!("pid {pid}, due {}, {lateness} late{missed}", rfc3339(&due.nominal));
                self.log.line(now.wall, &name, Kind::Start, &text);
            }
            Err(refused) => self.log_refusal(due, &name, now, &refused.to_string()),
        }
    }

    fn refuse(&mut self, due: &Due, now: Moment, why: &str) {
        let name = self.name_run(due.job_index);
        self.log_refusal(due, &name, now, why);
    }

    fn log_refusal(&mut self, due: &Due, name: &RunName, now: Moment, why: &str) {
        self.log.line(now.wall, name, Kind::Refuse, &format!("due {}: {why}", rfc3339(&due.nominal)));
    }

    /// The name of the next run of a job.
    fn name_run(&mut self, job_index: usize) -> RunName {
        self.run_counts[job_index] += 1;
        RunName { job: self.jobs[job_index].name.clone(), number: self.run_counts[job_index] }
    }

    fn list_next(&mut self, now: Timestamp) {
        for job in self.jobs.iter().filter(|job| !job.schedule.is_reboot()).take(MAX_LISTED) {
            let text = match job.schedule.next_after(now) {
                Some(next) => rfc3339(&next),
                None => "never".to_owned(),
            };
            self.log.line(now, &job.name, Kind::Next, &text);
        }
        if MAX_LISTED < self.jobs.len() {
            let text = format!("of {} jobs the first {MAX_LISTED} are listed", self.jobs.len());
            self.log.line(now, &PROGRAM, Kind::Note, &text);
        }
    }

    fn advance_phase(&mut self, now: Moment, requests: usize) {
        match self.phase {
            Phase::Running if self.log.is_closed() => self.stop(now),
            Phase::Running if 0 < requests => self.phase = Phase::Gathering { since: now },
            Phase::Gathering { since } if GATHER <= now.since(since) => self.stop(now),
            Phase::Stopping { .. } if 0 < requests => self.kill(now, "a second signal came"),
            Phase::Stopping { since } if self.grace <= now.since(since) => {
                self.kill(now, "the grace period is over");
            }
            Phase::Running | Phase::Gathering { .. } | Phase::Stopping { .. } | Phase::Killed { .. } => {}
        }
    }

    fn stop(&mut self, now: Moment) {
        let text = match self.executor.running_count() {
            0 => "stopping".to_owned(),
            1 => format!("stopping: 1 command gets SIGTERM and {} to end", Span(self.grace)),
            count => format!("stopping: {count} commands get SIGTERM and {} to end", Span(self.grace)),
        };
        self.log.line(now.wall, &PROGRAM, Kind::Note, &text);
        self.executor.signal_all(Signal::SIGTERM);
        // A stopped process sees SIGTERM only when it is continued.
        self.executor.signal_all(Signal::SIGCONT);
        self.phase = Phase::Stopping { since: now };
    }

    fn kill(&mut self, now: Moment, why: &str) {
        let text = format!("{why}: SIGKILL to what runs ({})", self.executor.running_count());
        self.log.line(now.wall, &PROGRAM, Kind::Note, &text);
        self.executor.signal_all(Signal::SIGKILL);
        self.phase = Phase::Killed { since: now };
    }

    fn is_done(&self, now: Moment) -> bool {
        match self.phase {
            Phase::Running | Phase::Gathering { .. } => false,
            Phase::Stopping { .. } => self.executor.running_count() == 0,
            Phase::Killed { since } => self.executor.running_count() == 0 || KILL_WAIT <= now.since(since),
        }
    }

    /// Waits for anything to do.
    fn wait(&self, now: Moment) -> io::Result<()> {
        let mut readable: Vec<BorrowedFd<'_>> = vec![self.due.as_fd()];
        let mut writable = Vec::new();
        let [stop, child] = self.signals.fds();
        readable.push(child);
        // While requests are gathered their stream is left alone, or poll would return at once again and again.
        if !matches!(self.phase, Phase::Gathering { .. }) {
            readable.push(stop);
        }
        let mut outputs = Vec::new();
        self.executor.watch(&mut outputs, &mut writable);
        // While the log is full nothing is read, so nothing may wake the loop to read it.
        if !self.log.is_full() {
            readable.append(&mut outputs);
        }
        writable.extend(self.log.fd());
        wait_for(&readable, &writable, self.longest_wait(now))
    }

    fn longest_wait(&self, now: Moment) -> Option<Duration> {
        let phase_wait = match self.phase {
            Phase::Running => None,
            Phase::Gathering { since } => Some(GATHER.saturating_sub(now.since(since))),
            Phase::Stopping { since } => Some(self.grace.saturating_sub(now.since(since))),
            Phase::Killed { since } => Some(KILL_WAIT.saturating_sub(now.since(since))),
        };
        let executor_wait = match self.log.is_full() {
            false => self.executor.wait(now),
            true => self.executor.wait_without_output(now),
        };
        let place_wait =
            self.waiting.front().map(|(_, arrived)| MAX_WAIT.saturating_sub(now.since(*arrived)));
        phase_wait.into_iter().chain(executor_wait).chain(place_wait).min()
    }
}
