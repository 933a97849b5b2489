//! One run of a job, from its start to the end of its output.
//!
//! ```text
//! started ──shell exits──▶ draining ──both pipes closed──▶ over
//!                              └─OUTPUT_WAIT──▶ lingering ──┘      a process in the background still holds a pipe
//! ```
//!
//! The end is logged when the shell has exited and all its output was read. If something that it left in the background
//! keeps the output open, the end is logged after [`OUTPUT_WAIT`] all the same; lines that come later are still logged,
//! and the run keeps its place among the running ones until the output is closed.
//!
//! Cost: at most five system calls per turn of the loop.
//!
//! Does not decide when to signal: the executor does.
//!
//! Source: own.

use std::fmt;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::sys::signal::Signal;

use super::pipe::{InputPipe, OutputPipe};
use super::process::{Outcome, Process, StartError};
use crate::clock::Moment;
use crate::job::Job;
use crate::log::{Kind, Log};

/// How long after the end of a command its output may still be held open before its end is logged.
pub const OUTPUT_WAIT: Duration = Duration::from_secs(1);

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

/// A command that runs, or whose output is not at its end.
#[derive(Debug)]
pub struct Run {
    name: RunName,
    process: Process,
    input: Option<InputPipe>,
    stdout: OutputPipe,
    stderr: OutputPipe,
    started: Moment,
    /// How and when the shell ended, or was first seen to have ended.
    ended: Option<(Outcome, Moment)>,
    end_is_logged: bool,
}

impl Run {
    /// Starts the command of `job`.
    ///
    /// # Errors
    ///
    /// See [`StartError`]; nothing runs then.
    pub fn start(job: &Job, name: RunName, now: Moment) -> Result<Run, StartError> {
        let mut process = Process::spawn(job)?;
        let child = process.child_mut();
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let stdout = OutputPipe::new(stdout.expect("stdout is piped")).map_err(StartError::Pipe)?;
        let stderr = OutputPipe::new(stderr.expect("stderr is piped")).map_err(StartError::Pipe)?;
        let input = match (child.stdin.take(), &job.command.input) {
            (Some(pipe), Some(input)) => Some(InputPipe::new(pipe, input).map_err(StartError::Pipe)?),
            _ => None,
        };
        Ok(Run { name, process, input, stdout, stderr, started: now, ended: None, end_is_logged: false })
    }

    /// The number of the shell.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Does what can be done without waiting: feeds the input, logs the output, and logs the end when it has come. While
    /// the log is full, the output stays in its pipes, and the command waits when they are full too.
    pub fn advance<W: Write + AsFd>(&mut self, now: Moment, buffer: &mut [u8], log: &mut Log<W>) {
        // The end is looked for before the output is read: what the command wrote before it ended is in the pipe by now.
        if self.ended.is_none() {
            self.ended = self.process.outcome().map(|outcome| (outcome, now));
        }
        if let Some(input) = &mut self.input {
            input.write();
        }
        if log.is_full() {
            return;
        }
        let Run { name, stdout, stderr, .. } = self;
        stdout.read(buffer, &mut |line| log.line(now.wall, name, Kind::Stdout, &line));
        stderr.read(buffer, &mut |line| log.line(now.wall, name, Kind::Stderr, &line));
        if self.end_is_logged {
            return;
        }
        if let Some((outcome, at)) = self.ended {
            if self.output_is_closed() {
                self.log_end(now, outcome, at, "", log);
            } else if OUTPUT_WAIT <= now.since(at) {
                // What the command itself wrote is to stand before its end, also without a line end.
                let Run { name, stdout, stderr, .. } = self;
                stdout.finish_line(&mut |line| log.line(now.wall, name, Kind::Stdout, &line));
                stderr.finish_line(&mut |line| log.line(now.wall, name, Kind::Stderr, &line));
                self.log_end(now, outcome, at, "; a process in the background holds its output open", log);
            }
        }
    }

    /// Whether nothing more can come of this run.
    pub fn is_over(&self) -> bool {
        self.ended.is_some() && self.output_is_closed()
    }

    /// How long the loop may wait before it must look again; `None`: until a pipe or a signal says so.
    pub fn wait(&self, now: Moment) -> Option<Duration> {
        let (_, at) = self.ended.filter(|_| !self.end_is_logged)?;
        Some(OUTPUT_WAIT.saturating_sub(now.since(at)))
    }

    /// Signals the whole process group.
    pub fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// Adds what to poll: pipes with output to read, then a pipe that takes input.
    pub fn watch<'a>(&'a self, readable: &mut Vec<BorrowedFd<'a>>, writable: &mut Vec<BorrowedFd<'a>>) {
        readable.extend(self.stdout.fd());
        readable.extend(self.stderr.fd());
        writable.extend(self.input.as_ref().and_then(InputPipe::fd));
    }

    /// Ends the run whatever its state, and frees the number of its group.
    pub fn close<W: Write + AsFd>(mut self, now: Moment, log: &mut Log<W>) {
        let Run { name, stdout, stderr, .. } = &mut self;
        stdout.close(&mut |line| log.line(now.wall, name, Kind::Stdout, &line));
        stderr.close(&mut |line| log.line(now.wall, name, Kind::Stderr, &line));
        match self.ended {
            Some((outcome, at)) if !self.end_is_logged => self.log_end(now, outcome, at, "", log),
            Some(_) => {}
            None => {
                log.line(
                    now.wall,
                    &self.name,
                    Kind::End,
                    "the command could not be ended and is left behind",
                );
            }
        }
        self.process.reap();
    }

    fn output_is_closed(&self) -> bool {
        self.stdout.is_closed() && self.stderr.is_closed()
    }

    fn log_end<W: Write + AsFd>(
        &mut self,
        now: Moment,
        outcome: Outcome,
        at: Moment,
        remark: &str,
        log: &mut Log<W>,
    ) {
        self.end_is_logged = true;
        let text = format!("{outcome} after {}{remark}", Span(at.since(self.started)));
        log.line(now.wall, &self.name, Kind::End, &text);
    }
}

/// A duration for reading: milliseconds below a minute's worth of seconds, then larger units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        match seconds {
            0 => write!(f, "{} ms", self.0.as_millis()),
            1..60 if self.0.subsec_millis() == 0 => write!(f, "{seconds} s"),
            1..60 => write!(f, "{seconds}.{:03} s", self.0.subsec_millis()),
            60..3600 => write!(f, "{} min {} s", seconds / 60, seconds % 60),
            _ => write!(f, "{} h {} min", seconds / 3600, seconds % 3600 / 60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_shown_in_fitting_units() {
        let shown = |ms| Span(Duration::from_millis(ms)).to_string();
        assert_eq!([shown(0), shown(999), shown(1000)], ["0 ms", "999 ms", "1 s"]);
        assert_eq!([shown(59_999), shown(61_000)], ["59.999 s", "1 min 1 s"]);
        assert_eq!([shown(3_600_000), shown(90_061_000)], ["1 h 0 min", "25 h 1 min"]);
    }
}
