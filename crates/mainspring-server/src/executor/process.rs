//! One process group: a shell with a command and all that they start.
//!
//! ```text
//! spawn ──▶ running ──exits──▶ unreaped ──reap──▶ gone
//!            signal() reaches the whole group, here and here
//! ```
//!
//! The shell stays unreaped until its run is over. As long as it is, the kernel gives its number to no other process and
//! no other group, so that a signal to the group can never reach a stranger.
//!
//! Cost: one spawn; `outcome` is one system call.
//!
//! Does not follow a process that leaves the group (`setsid`): nothing can signal it as a part of the run.
//!
//! Source: cron's do_command.c does the same with a session; waitid(2), WNOWAIT.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::{fmt, io};

use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use super::sys;
use crate::job::Job;

/// A started shell and its group.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// The number of the group, which is the shell's own; `None` once the shell is reaped and the number may be another's.
    group: Option<Pid>,
}

impl Process {
    /// Starts the command of `job` with pipes for what it writes, and for what it reads if the job has input.
    ///
    /// # Errors
    ///
    /// See [`StartError`]; the run is over then.
    pub fn spawn(job: &Job) -> Result<Process, StartError> {
        let mut command = Command::new(job.shell());
        command.arg("-c").arg(&job.command.shell_text);
        command.env_clear().envs(job.environment.iter());
        command.process_group(0);
        command.stdin(if job.command.input.is_some() { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let home = job.home();
        match &job.account.identity {
            None => {
                // Without this look the error for a missing directory and for a missing shell would be the same. The
                // dot asks for a directory that we may enter.
                std::fs::metadata(home.join("."))
                    .map_err(|error| StartError::Home(home.to_owned(), error))?;
                command.current_dir(home);
            }
            Some(identity) => {
                let directory =
                    CString::new(home.as_os_str().as_bytes()).expect("a setting holds no NUL byte");
                sys::run_as(&mut command, identity.clone(), directory);
            }
        }
        let child = command.spawn().map_err(|error| match &job.account.identity {
            None => StartError::Shell(job.shell().to_owned(), error),
            Some(_) => StartError::User { user: job.account.name.clone(), home: home.to_owned(), error },
        })?;
        let group = Pid::from_raw(child.id().cast_signed());
        Ok(Process { child, group: Some(group) })
    }

    /// The number of the shell, which is also the number of its group.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The process as the standard library knows it: for its pipes.
    pub(super) fn child_mut(&mut self) -> &mut Child {
        &mut self.child
    }

    /// How the shell ended, if it has. Does not reap it.
    pub fn outcome(&mut self) -> Option<Outcome> {
        let group = self.group?;
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        match waitid(Id::Pid(group), flags) {
            Ok(WaitStatus::Exited(_, code)) => Some(Outcome::Exited(code)),
            Ok(WaitStatus::Signaled(_, signal, _)) => Some(Outcome::Killed(signal as i32)),
            Ok(_) => None,
            // nix has no name for real-time signals and reports an error for them; the plain wait knows the number.
            Err(_) => {
                let status = self.child.try_wait().ok()??;
                self.group = None;
                Some(Outcome::from(status))
            }
        }
    }

    /// Sends a signal to the whole group, if any of it is left.
    pub fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // The only error is that nobody is left to get it, or that all of them became another user.
            let _ = killpg(group, signal);
        }
    }

    /// Frees the number of a shell that has ended; harmless before that.
    pub fn reap(mut self) {
        let _ = self.child.try_wait();
    }
}

/// How a shell ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It returned this status.
    Exited(i32),
    /// This signal ended it.
    Killed(i32),
}

impl From<ExitStatus> for Outcome {
    fn from(status: ExitStatus) -> Outcome {
        match status.code() {
            Some(code) => Outcome::Exited(code),
            None => Outcome::Killed(status.signal().expect("what did not exit was ended by a signal")),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Outcome::Exited(code) => write!(f, "exit status {code}"),
            Outcome::Killed(number) => match Signal::try_from(number) {
                Ok(signal) => write!(f, "killed by {signal}"),
                Err(_) => write!(f, "killed by signal {number}"),
            },
        }
    }
}

/// Why a command could not be started.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// HOME is not a directory that we can enter.
    Home(PathBuf, io::Error),
    /// SHELL cannot be executed.
    Shell(String, io::Error),
    /// One of the steps to another user failed: the change of user, entering its HOME, or executing its SHELL.
    User {
        /// The user's name.
        user: String,
        /// HOME.
        home: PathBuf,
        /// The operating system's answer.
        error: io::Error,
    },
    /// A pipe could not be made ready.
    Pipe(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Home(home, error) => {
                write!(f, "cannot enter HOME={}: {error}; set HOME in the crontab", home.display())
            }
            StartError::Shell(shell, error) => write!(f, "cannot execute SHELL={shell}: {error}"),
            StartError::User { user, home, error } => {
                let home = home.display();
                write!(
                    f,
                    "cannot start as user {user} in HOME={home}: {error}; the crontab can set HOME and SHELL"
                )
            }
            StartError::Pipe(error) => write!(f, "cannot set up a pipe: {error}"),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StartError::Home(_, error)
            | StartError::Shell(_, error)
            | StartError::User { error, .. }
            | StartError::Pipe(error) => Some(error),
        }
    }
}
