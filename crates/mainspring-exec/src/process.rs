//! One process group, in a session of its own: a program, often a shell, and all that it starts.
//!
//! ```text
//! spawn ──▶ running ──exits──▶ unreaped ──reap──▶ gone
//!   │        signal() reaches the whole group, here and here
//!   └─ what fails within START_WAIT is an error of spawn; later it is how the process ended
//! ```
//!
//! The program stays unreaped until its run is over. As long as it is, the kernel gives its number to no
//! other process and no other group, so that a signal to the group can never reach a stranger.
//!
//! Cost: one child, see [`starter`](crate::starter); `outcome` is one system call.
//!
//! Does not follow a process that leaves the group (`setsid`): the cgroup of the run does, where it has one.
//!
//! Source: cron's do_command.c does the same with a session; waitid(2), WNOWAIT.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, killpg};
use nix::sys::stat::{SFlag, fstat};
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, fchown};
use thiserror::Error;

use crate::attributes::SETTINGS;
use crate::end::Outcome;
use crate::kernel::EndWatch;
use crate::launch;
use crate::outputs::Outputs;
use crate::pipe::{InputPipe, OutputPipe};
use crate::secret::SecretError;
use crate::shortage::is_shortage;
use crate::spec::ProcessSpec;
use crate::starter::{LOOK, StartedChild, Starter};
use crate::sys::{self, Step};
use mainspring_host::accounts::Identity;

/// How long a start is waited for. A program is executed within a millisecond or two; its user can make that
/// last as long as that user likes, and no other run waits for it.
pub const START_WAIT: Duration = Duration::from_millis(50);

/// The same while others have been waited for in vain: many of them must not add up.
pub const LATER_START_WAIT: Duration = Duration::from_millis(2);

const _: () = assert!(LATER_START_WAIT.as_nanos() < START_WAIT.as_nanos());
const _: () = assert!(LOOK.as_nanos() < LATER_START_WAIT.as_nanos(), "a child that is late is seen in time");

/// A started program and its group.
#[derive(Debug)]
pub struct Process {
    pid: Pid,
    /// The number of the group, which is the program's own; `None` once it is reaped and the number may be
    /// another's.
    group: Option<Pid>,
    /// Where it tells what failed, and the names for that, until it has executed the program.
    starting: Option<(File, StartNames)>,
    /// What failed.
    failed: Option<StartError>,
}

/// What an error of the start names.
#[derive(Debug)]
struct StartNames {
    program: String,
    directory: PathBuf,
    user: String,
}

impl Process {
    /// Starts what `spec` says, in this cgroup if there is one. `variables` come on top of its environment.
    /// Returned with it are our ends of its pipes: for what it reads if it has input, and for what it writes.
    ///
    /// # Errors
    ///
    /// See [`StartError`]; the run is over then. What fails after `wait` is told by
    /// [`outcome`](Process::outcome).
    pub(crate) fn spawn(
        starter: &mut Starter,
        spec: &ProcessSpec,
        variables: &[(String, String)],
        cgroup: Option<BorrowedFd<'_>>,
        wait: Duration,
    ) -> Result<(Process, Option<InputPipe>, Outputs), StartError> {
        let (environment, masks) = launch::environment(spec, variables).map_err(StartError::Secret)?;
        let launch = launch::launch(spec, &environment)
            .map_err(|error| StartError::Program(spec.program_text(), error))?;
        let pipe = || match io::pipe() {
            Ok((reader, writer)) => Ok((OwnedFd::from(reader), OwnedFd::from(writer))),
            Err(error) => Err(StartError::Pipe(error)),
        };
        let (stdout, its_stdout) = pipe()?;
        let (stderr, its_stderr) = pipe()?;
        let (its_stdin, input) = match &spec.body.stdin {
            Some(text) => {
                let (reader, writer) = pipe()?;
                (reader, Some(InputPipe::new(writer, text).map_err(StartError::Pipe)?))
            }
            // A container may lack it; a pipe that nothing writes to is as empty.
            None => match File::open("/dev/null") {
                Ok(empty) => (empty.into(), None),
                Err(_) => (pipe()?.0, None),
            },
        };
        let output = |pipe| OutputPipe::new(pipe, &masks).map_err(StartError::Pipe);
        let outputs = Outputs::new(output(stdout)?, output(stderr)?, spec.output_bytes_max);
        let streams = [its_stdin.as_fd(), its_stdout.as_fd(), its_stderr.as_fd()];
        if let Some(identity) = &spec.account.identity {
            streams.iter().for_each(|stream| give(stream, identity));
        }
        let StartedChild { pid, program, failure, wait } = starter
            .start(launch, streams, cgroup, wait)
            .map_err(|error| StartError::Program(spec.program_text(), error))?;
        assert!(1 < pid.as_raw(), "a signal to its group reaches no other");
        let named = StartNames {
            program: spec.program_text(),
            directory: spec.directory.clone(),
            user: spec.account.name.clone(),
        };
        let starting = Some((File::from(failure), named));
        let mut process = Process { pid, group: Some(pid), starting, failed: None };
        process.hear_of_start(wait);
        if let Some(error) = process.failed.take() {
            // It is about to end, unless its user has stopped it.
            let _ = kill(pid, Signal::SIGKILL);
            let _ = waitpid(pid, None);
            return Err(error);
        }
        if process.starting.is_none() {
            starter.learn(program);
        }
        Ok((process, input, outputs))
    }

    /// The number of the program, which is also the number of its group.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw().unsigned_abs()
    }

    /// Whether it has not executed its program yet.
    pub fn is_starting(&mut self) -> bool {
        self.hear_of_start(Duration::ZERO);
        self.starting.is_some()
    }

    /// How the program ended, if it has. Does not reap it.
    pub fn outcome(&mut self) -> Option<Outcome> {
        self.hear_of_start(Duration::ZERO);
        let group = self.group?;
        let outcome = match sys::ended(group)? {
            (libc::CLD_EXITED, code) => Outcome::Exited(code),
            (_, signal @ 1..) => Outcome::Killed(signal),
            // macOS does not say the signal here; the plain wait knows it.
            _ => {
                let status = sys::reap(group)?;
                self.group = None;
                Outcome::from(status)
            }
        };
        Some(self.failed.take().map_or(outcome, |error| Outcome::NotStarted(error.to_string())))
    }

    /// Waits so long for the program to be executed, or for what keeps it from that.
    fn hear_of_start(&mut self, wait: Duration) {
        let Some((mut failure, named)) = self.starting.take() else { return };
        debug_assert!(self.failed.is_none(), "what has failed does not start any more");
        let mut fds = [PollFd::new(failure.as_fd(), PollFlags::POLLIN)];
        // No signal cuts the wait short: another child may end just now.
        let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK);
        let polled = poll(&mut fds, PollTimeout::try_from(wait).unwrap_or(PollTimeout::MAX));
        let _ = before.and_then(|before| before.thread_set_mask());
        if !polled.is_ok_and(|count| 0 < count) {
            self.starting = Some((failure, named));
            return;
        }
        // It comes in one piece. What comes after it, the end, is not waited for: the user could have stopped
        // the process.
        let mut report = [0; sys::FAILURE_BYTES];
        let count = failure.read(&mut report).unwrap_or(0);
        self.failed = sys::failure(&report[..count]).map(|(step, error)| named.error(step, error));
    }

    /// Sends a signal to the whole group, if any of it is left.
    pub fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // The only error is that no process is left to get it, or that all of them became another user;
            // or that the child has not come to make the group.
            if killpg(group, signal).is_err() {
                let _ = kill(group, signal);
            }
        }
    }

    /// Gives up the right to signal the group, and returns what tells when the program has ended, by which it
    /// is reaped. `None` if it is reaped, or on a kernel before 5.3.
    pub(crate) fn leave(self) -> Option<EndWatch> {
        EndWatch::of(self.group?)
    }

    /// Frees the number of a program that has ended; harmless before that.
    pub fn reap(self) {
        if let Some(group) = self.group {
            let _ = sys::reap(group);
        }
    }
}

impl StartNames {
    fn error(self, step: Step, error: io::Error) -> StartError {
        match step {
            Step::Directory => StartError::Directory(self.directory, error),
            Step::Program | Step::Settings => StartError::Program(self.program, error),
            Step::User => StartError::User(self.user, error),
            Step::Attribute(index) => StartError::Attribute(SETTINGS[index].key, error),
        }
    }
}

impl From<ExitStatus> for Outcome {
    fn from(status: ExitStatus) -> Outcome {
        match status.code() {
            Some(code) => Outcome::Exited(code),
            None => Outcome::Killed(status.signal().expect("what did not exit was ended by a signal")),
        }
    }
}

/// Why a command could not be started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The directory is none that we can enter.
    #[error("cannot enter the directory {0}: {1}")]
    Directory(PathBuf, #[source] io::Error),
    /// The program cannot be executed.
    #[error("cannot execute {0}: {1}")]
    Program(String, #[source] io::Error),
    /// The process may not have what this key of its job says.
    #[error("cannot set {0}: {1}")]
    Attribute(&'static str, #[source] io::Error),
    /// The change of user failed: their name, and the operating system's answer.
    #[error("cannot become the user {0}: {1}")]
    User(String, #[source] io::Error),
    /// A secret is not to be had.
    #[error("{0}")]
    Secret(#[source] SecretError),
    /// A pipe could not be made ready.
    #[error("cannot set up a pipe: {0}")]
    Pipe(#[source] io::Error),
    /// There is no cgroup that could hold it to what it may have.
    #[error("cannot keep memory_max or cpu_max: {0}")]
    Cgroup(#[source] io::Error),
}

impl StartError {
    /// Whether the operating system lacks something that other runs may give back.
    pub(crate) fn is_shortage(&self) -> bool {
        match self {
            StartError::Program(_, error)
            | StartError::Attribute(_, error)
            | StartError::User(_, error)
            | StartError::Pipe(error)
            | StartError::Cgroup(error) => is_shortage(error),
            // That a file or a folder lets no process wait for it is no shortage.
            StartError::Directory(_, error) => is_shortage(error) && !would_block(error),
            StartError::Secret(error) => is_shortage(&error.source) && !would_block(&error.source),
        }
    }
}

/// Gives a pipe to the user of a run, who may then open it as `/dev/stdout`. Where that fails, as in a user
/// namespace without that user, the stream is written to as ever.
fn give(stream: &BorrowedFd<'_>, identity: &Identity) {
    let is_pipe =
        fstat(stream).is_ok_and(|found| found.st_mode & SFlag::S_IFMT.bits() == SFlag::S_IFIFO.bits());
    if is_pipe {
        let _ = fchown(stream, Some(identity.uid), Some(identity.gid));
    }
}

fn would_block(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}
