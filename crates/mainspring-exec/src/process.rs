//! One process group, in a session of its own: a program, often a shell, and all that it starts.
//!
//! ```text
//! spawn ──▶ running ──exits──▶ unreaped ──reap──▶ gone
//!            signal() reaches the whole group, here and here
//! ```
//!
//! The program stays unreaped until its run is over. As long as it is, the kernel gives its number to no other process and
//! no other group, so that a signal to the group can never reach a stranger.
//!
//! Cost: one spawn; `outcome` is one system call.
//!
//! Does not follow a process that leaves the group (`setsid`): nothing can signal it as a part of the run.
//!
//! Source: cron's do_command.c does the same with a session; waitid(2), WNOWAIT.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::{fmt, io};

use nix::sys::resource::{Resource, getrlimit};
use nix::sys::signal::{Signal, killpg};
use nix::sys::stat::Mode;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use crate::descriptors;
use crate::secret::{Masks, SecretError};
use crate::shortage::is_shortage;
use crate::spec::{Inheritance, ProcessSpec, Program};
use crate::sys::{self, Preparation};

/// A started program and its group.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// The number of the group, which is the program's own; `None` once it is reaped and the number may be another's.
    group: Option<Pid>,
}

impl Process {
    /// Starts what `spec` says with pipes for what it writes, and for what it reads if it has input. `variables` come on
    /// top of its environment. Returned with it is what must be taken out of its output.
    ///
    /// # Errors
    ///
    /// See [`StartError`]; the run is over then.
    pub fn spawn(spec: &ProcessSpec, variables: &[(String, String)]) -> Result<(Process, Masks), StartError> {
        let mut command = command(&spec.program);
        if spec.inheritance == Inheritance::Clean {
            command.env_clear();
        }
        command.envs(spec.environment.iter().chain(variables).map(|(name, value)| (name, value)));
        let mut masks = Masks::default();
        let user = spec.account.identity.as_ref().map(|identity| identity.uid.as_raw());
        for secret in &spec.secrets {
            let content = secret.content(user).map_err(StartError::Secret)?;
            command.env(&secret.name, secret.value(&content));
            masks.add(&content);
        }
        command.stdin(if spec.input.is_some() { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        enter_directory(&mut command, spec)?;
        sys::prepare(&mut command, preparation(spec));
        let child = command.spawn().map_err(|error| start_error(spec, error))?;
        let group = Pid::from_raw(child.id().cast_signed());
        Ok((Process { child, group: Some(group) }, masks))
    }

    /// The number of the program, which is also the number of its group.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The process as the standard library knows it: for its pipes.
    pub(crate) fn child_mut(&mut self) -> &mut Child {
        &mut self.child
    }

    /// How the program ended, if it has. Does not reap it.
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

    /// Frees the number of a program that has ended; harmless before that.
    pub fn reap(mut self) {
        let _ = self.child.try_wait();
    }
}

fn command(program: &Program) -> Command {
    let mut command = Command::new(program.file());
    match program {
        Program::Argv(words) => command.args(words.iter().skip(1)),
        Program::Shell { text, .. } => command.arg("-c").arg(text),
    };
    command
}

/// Sets where a command of our own user starts; that of another is entered by the child, as that user.
fn enter_directory(command: &mut Command, spec: &ProcessSpec) -> Result<(), StartError> {
    if spec.account.identity.is_none() {
        // Without this look the error for a missing directory and for a missing program would be the same. The dot asks
        // for a directory that we may enter.
        std::fs::metadata(spec.directory.join("."))
            .map_err(|error| StartError::Directory(spec.directory.clone(), error))?;
        command.current_dir(&spec.directory);
    }
    Ok(())
}

fn preparation(spec: &ProcessSpec) -> Preparation {
    let directory = || CString::new(spec.directory.as_os_str().as_bytes()).expect("a path holds no NUL byte");
    let hard = || getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(_, hard)| hard);
    Preparation {
        identity: spec.account.identity.clone().map(|identity| (identity, directory())),
        umask: spec.umask.map(Mode::from_bits_truncate),
        nice: spec.nice,
        files: descriptors::before().map(|soft| (soft, hard())),
        limits: spec.limits.clone(),
        on_server_death: spec.on_server_death,
        no_new_privileges: spec.no_new_privileges,
    }
}

fn start_error(spec: &ProcessSpec, error: io::Error) -> StartError {
    match &spec.account.identity {
        Some(_) => {
            StartError::User { user: spec.account.name.clone(), directory: spec.directory.clone(), error }
        }
        None => StartError::Program(spec.program.clone(), error),
    }
}

/// How a program or a webhook ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It returned this status.
    Exited(i32),
    /// This signal ended it.
    Killed(i32),
    /// The webhook was answered with this status.
    Status(u16),
    /// The webhook was not answered, for this reason.
    NoAnswer(String),
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
        match self {
            Outcome::Exited(code) => write!(f, "exit status {code}"),
            Outcome::Killed(number) => match Signal::try_from(*number) {
                Ok(signal) => write!(f, "killed by {signal}"),
                Err(_) => write!(f, "killed by signal {number}"),
            },
            Outcome::Status(status) => write!(f, "status {status}"),
            Outcome::NoAnswer(reason) => write!(f, "no answer: {reason}"),
        }
    }
}

/// Why a command could not be started.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The directory is none that we can enter.
    Directory(PathBuf, io::Error),
    /// The program cannot be executed, or the child could not take on its niceness or a limit.
    Program(Program, io::Error),
    /// One of the steps to another user failed: the change of user, entering the directory, or executing the program.
    User {
        /// The user's name.
        user: String,
        /// Where it was to start.
        directory: PathBuf,
        /// The operating system's answer.
        error: io::Error,
    },
    /// A secret is not to be had.
    Secret(SecretError),
    /// A pipe could not be made ready.
    Pipe(io::Error),
}

impl StartError {
    /// Whether the operating system lacks something that other runs may give back.
    pub(crate) fn is_shortage(&self) -> bool {
        match self {
            StartError::Directory(_, error)
            | StartError::Program(_, error)
            | StartError::User { error, .. }
            | StartError::Pipe(error) => is_shortage(error),
            StartError::Secret(error) => is_shortage(error.cause()),
        }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Directory(directory, error) => {
                write!(f, "cannot enter the directory {}: {error}", directory.display())
            }
            StartError::Program(Program::Shell { shell, .. }, error) => {
                write!(f, "cannot execute the shell {shell}: {error}")
            }
            StartError::Program(program, error) => write!(f, "cannot execute {}: {error}", program.file()),
            StartError::User { user, directory, error } => {
                write!(f, "cannot start as user {user} in {}: {error}", directory.display())
            }
            StartError::Secret(error) => error.fmt(f),
            StartError::Pipe(error) => write!(f, "cannot set up a pipe: {error}"),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StartError::Directory(_, error)
            | StartError::Program(_, error)
            | StartError::User { error, .. }
            | StartError::Pipe(error) => Some(error),
            StartError::Secret(error) => Some(error),
        }
    }
}
