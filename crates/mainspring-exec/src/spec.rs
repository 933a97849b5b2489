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
use crate::cgroup::Share;
use mainspring_action::names::{DEFAULT_OUTPUT_BYTES, OnLeaseLoss};
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
    /// What its environment begins with.
    pub inheritance: Inheritance,
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
    pub on_lease_loss: OnLeaseLoss,
}

impl ProcessSpec {
    /// A spec with nothing special about it: clean environment, no input, no timeout.
    pub fn new(program: Program, account: Account) -> ProcessSpec {
        assert!(program != Program::Argv(Vec::new()), "a process has a program");
        ProcessSpec {
            directory: account.home.clone(),
            directory_else: None,
            pam_files: Vec::new(),
            program,
            account,
            inheritance: Inheritance::Clean,
            environment: Vec::new(),
            env_files: Vec::new(),
            settings: Vec::new(),
            secrets: Vec::new(),
            attributes: Attributes::default(),
            share: Share::default(),
            input: None,
            timeout: None,
            kill: KillSequence::default(),
            output_bytes_max: DEFAULT_OUTPUT_BYTES,
            on_lease_loss: OnLeaseLoss::default(),
        }
    }
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

/// What an environment begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inheritance {
    /// With nothing but what the job sets.
    #[default]
    Clean,
    /// The server's own environment.
    Inherited,
}

/// How a process group is ended: each step's signal, and how long to wait for the end before the next. After
/// the last step comes SIGKILL, unless that was the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KillSequence(pub Vec<KillStep>);

/// The time between SIGTERM and SIGKILL where nothing else is said: the same as docker's.
pub const DEFAULT_KILL_WAIT: Duration = Duration::from_secs(10);

impl Default for KillSequence {
    fn default() -> KillSequence {
        KillSequence(vec![KillStep { signal: Signal::SIGTERM, wait: DEFAULT_KILL_WAIT }])
    }
}

/// One signal of a [`KillSequence`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KillStep {
    /// What the group is sent.
    pub signal: Signal,
    /// How long it has from then.
    pub wait: Duration,
}

impl KillSequence {
    /// The step with this index; SIGKILL after the last one, and then nothing.
    pub fn step(&self, index: usize) -> Option<KillStep> {
        let ends_with_kill = self.0.last().is_some_and(|step| step.signal == Signal::SIGKILL);
        let last = (index == self.0.len() && !ends_with_kill)
            .then_some(KillStep { signal: Signal::SIGKILL, wait: Duration::MAX });
        self.0.get(index).copied().or(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sequence_ends_with_sigkill_and_only_once() {
        let step = |signal| KillStep { signal, wait: Duration::ZERO };
        let signals = |steps: &[Signal]| -> Vec<Signal> {
            let sequence = KillSequence(steps.iter().map(|&signal| step(signal)).collect());
            (0..).map_while(|index| sequence.step(index)).map(|step| step.signal).collect()
        };
        assert_eq!(signals(&[]), [Signal::SIGKILL]);
        assert_eq!(signals(&[Signal::SIGKILL]), [Signal::SIGKILL]);
        assert_eq!(
            signals(&[Signal::SIGINT, Signal::SIGTERM]),
            [Signal::SIGINT, Signal::SIGTERM, Signal::SIGKILL]
        );
    }
}
