//! The specification of a process: everything that is settled before the fork.
//!
//! | part | when it is left out |
//! |---|---|
//! | environment | clean: nothing but what stands here |
//! | secrets | none; read again from their files for each run, see [`secret`](crate::secret) |
//! | umask, nice, limits | the server's own, see [`attributes`](crate::attributes) |
//! | input | standard input is empty |
//! | timeout | none |
//! | kill | SIGTERM, ten seconds, SIGKILL |
//! | when the server dies | it continues |
//! | when the lease of the jobs is lost | it is ended |
//! | new privileges | programs may take them on, as `sudo` does |
//!
//! Cost: a few strings per job; a run borrows them.
//!
//! Does not know jobs, triggers or policies.
//!
//! Source: the list follows what systemd.exec(5) calls the execution environment.

use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::attributes::Attributes;
use mainspring_action::names::{DEFAULT_SHELL, Fate};
use mainspring_action::process::ProcessBody;
use mainspring_host::accounts::Account;

/// A process to be.
#[derive(Clone, Debug)]
pub struct ProcessSpec {
    /// What its job says, which names a program. The files in it are read, and its variables and secrets put
    /// together, when it starts.
    pub body: ProcessBody,
    /// Who runs it.
    pub account: Account,
    /// Where it starts, unless that cannot be entered and the job names another.
    pub directory: PathBuf,
    /// Names and values on top of those of PAM; all others count for more.
    pub environment: Vec<(String, String)>,
    /// What it sets of itself before the program is executed.
    pub attributes: Attributes,
    /// How long it may run before it is killed.
    pub timeout: Option<Duration>,
    /// How it is killed.
    pub kill: KillSequence,
    /// How much of its output is kept.
    pub output_bytes_max: u64,
    /// What becomes of it when the server cannot renew its lease of the jobs.
    pub on_lease_loss: Fate,
}

impl ProcessSpec {
    /// What is executed: the program, which is looked up in PATH, and its arguments.
    pub(crate) fn arguments(&self) -> Vec<&str> {
        match &self.body.shell {
            Some(text) => vec![shell_of(&self.body), "-c", text],
            None => self.body.run.iter().map(String::as_str).collect(),
        }
    }

    /// What the program is called where it cannot be executed.
    pub(crate) fn program_text(&self) -> String {
        let kind = if self.body.shell.is_some() { "the shell " } else { "" };
        format!("{kind}{}", self.arguments()[0])
    }
}

/// The shell for a line of a job.
pub(crate) fn shell_of(body: &ProcessBody) -> &str {
    body.interpreter.as_deref().unwrap_or(DEFAULT_SHELL)
}

/// How a process group is ended: by a signal, and by SIGKILL if that is not the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KillSequence {
    /// What the group is sent first.
    pub signal: Signal,
    /// How long it has from then until SIGKILL.
    pub wait: Duration,
}
