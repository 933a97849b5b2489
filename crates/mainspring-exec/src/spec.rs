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

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::attributes::Attributes;
use crate::cgroup::Share;
use mainspring_action::names::Fate;
use mainspring_action::secret::SecretBody;
use mainspring_host::accounts::Account;

/// A process to be.
#[derive(Clone, Debug)]
pub struct ProcessSpec {
    /// What runs.
    pub program: Program,
    /// Who runs it.
    pub account: Account,
    /// Where it starts.
    pub directory: PathBuf,
    /// Where it starts if that cannot be entered.
    pub directory_else: Option<PathBuf>,
    /// Whether its environment begins with the server's, or with nothing.
    pub inherits_env: bool,
    /// Files of names and values that PAM gives a session, read when it starts.
    pub pam_files: Vec<PathBuf>,
    /// Names and values on top of that.
    pub environment: Vec<(String, String)>,
    /// Files of more names and values, read when it starts; they count for more, and the later one most.
    pub env_files: Vec<PathBuf>,
    /// Names and values that count for more than those.
    pub settings: Vec<(String, String)>,
    /// Variables whose values are never shown.
    pub secrets: Vec<SecretBody>,
    /// What it sets of itself before the program is executed.
    pub attributes: Attributes,
    /// How much it may have with all that it starts, which needs a cgroup.
    pub share: Share,
    /// Its standard input.
    pub input: Option<String>,
    /// How long it may run before it is killed.
    pub timeout: Option<Duration>,
    /// How it is killed.
    pub kill: KillSequence,
    /// How much of its output is kept.
    pub output_bytes_max: u64,
    /// What becomes of it when the server cannot renew its lease of the jobs.
    pub on_lease_loss: Fate,
}

/// What is executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// A program and its arguments, with no shell in between. Not empty; the first is looked up in PATH.
    Argv(Vec<String>),
    /// Text for a shell.
    Shell {
        /// The shell, such as `/bin/sh`; it is given `-c` and the text.
        shell: String,
        /// The text.
        text: String,
    },
}

impl Program {
    /// The file that is executed.
    pub fn file(&self) -> &str {
        match self {
            Program::Argv(words) => words.first().map_or("", String::as_str),
            Program::Shell { shell, .. } => shell,
        }
    }
}

/// The file that is executed, and whether it is a shell.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if matches!(self, Program::Shell { .. }) { "the shell " } else { "" };
        write!(f, "{kind}{}", self.file())
    }
}

/// How a process group is ended: by a signal, and by SIGKILL if that is not the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KillSequence {
    /// What the group is sent first.
    pub signal: Signal,
    /// How long it has from then until SIGKILL.
    pub wait: Duration,
}
