//! A process as a job has it: a program or a line for a shell, and all that is settled before it is executed.
//!
//! [`KEYS`] has a row for each key, in the order in which a job's table is written. A new key is a field of
//! [`ProcessBody`] and a row; what becomes of it stands in mainspring-exec: `attributes.rs`, if the process
//! sets it of itself between fork and exec.
//!
//! Cost: one small JSON document for each definition and each start, in the order of the fields.
//!
//! Does not look anything up: users, files of secrets and limits are names until a run starts.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::key::Form::{
    Bytes, Flag, Input, Limits, Mask, Memory, Number, OneOf, Path, Paths, Percent, Secrets, Text, Variables,
    Words,
};
use crate::key::{Key, check, field, key};
use crate::names::{CPU_PERCENT, MAX_OUTPUT_BYTES, MIN_MEMORY_BYTES};
use crate::secret::SecretBody;

/// The keys of a process.
pub const KEYS: &[Key<ProcessBody>] = &[
    key("run", Words(field!(run)), "", "the program and its arguments, with no shell in between"),
    key("shell", Text(field!(shell)), "", "a line for `/bin/sh -c`, or for `interpreter`"),
    key("interpreter", Text(field!(interpreter)), "`/bin/sh`", "gets `-c` and the text of `shell`"),
    key(
        "user",
        Text(field!(user)),
        "the server's",
        "`NAME` or `NAME:GROUP`: who runs it; only if the server runs as root",
    ),
    key("stdin", Input(field!(stdin)), "empty", "standard input"),
    key(
        "on_server_death",
        OneOf(field!(on_server_death), ["leave", "kill"]),
        "`leave`",
        "what becomes of it when the server is killed",
    ),
    key(
        "on_lease_loss",
        OneOf(field!(on_lease_loss), ["kill", "leave"]),
        "`kill`",
        "what becomes of it when its server, of several on one database, loses the lease; with one server it means nothing",
    ),
    key("cwd", Path(field!(cwd)), "the user's home", "where it starts"),
    key(
        "cwd_else",
        Path(field!(cwd_else)),
        "none",
        "where it starts if its user cannot enter `cwd`, as with a user without a home",
    ),
    key(
        "env",
        Variables(field!(env)),
        "`HOME`, `USER`, `LOGNAME`, `SHELL`, `PATH=/usr/bin:/bin`, `TZ` with the job's zone",
        "variables",
    ),
    key(
        "env_file",
        Paths(field!(env_file)),
        "none",
        "files of `NAME=value` lines, read at each start by the rules for secret files; not masked; `env` takes precedence",
    ),
    key(
        "pam_env",
        Paths(field!(pam_env)),
        "none",
        "files such as `/etc/environment`, read at each start as `pam_env` reads them, and not missed; all other variables take precedence",
    ),
    key(
        "inherit_env",
        Flag(field!(inherit_env)),
        "`false`",
        "the process also has all variables of the server; `check` warns of it beside `user`",
    ),
    key(
        "no_new_privileges",
        Flag(field!(no_new_privileges)),
        "`false`",
        "no program in the job gains privileges when it is executed, as `sudo` and set-user-id programs do",
    ),
    key("umask", Mask(field!(umask)), "the server's", "as its name says"),
    key(
        "memory_max",
        Memory(field!(memory_max), MIN_MEMORY_BYTES),
        "none",
        "how much memory the run and all that it starts may have; a run with more is killed as a whole. It needs a cgroup",
    ),
    key(
        "cpu_max",
        Percent(field!(cpu_max), CPU_PERCENT),
        "none",
        "how much processor time; `150%` is one and a half processors. It needs a cgroup",
    ),
    key(
        "nice",
        Number(field!(nice), -20..=19),
        "the server's",
        "as its name says; what may not be lowered fails the run",
    ),
    key(
        "oom_score_adj",
        Number(field!(oom_score_adj), -1000..=1000),
        "the server's, for another user at least 0",
        "how much sooner than others the kernel ends it when memory is short; less than the server's needs root, and fails the run without it",
    ),
    key(
        "output_bytes",
        Bytes(field!(output_bytes), MAX_OUTPUT_BYTES),
        "1 MiB",
        "how much output of a run is kept: its beginning and, once the run has ended, its end (64 KiB, or half if that is less); a line in between says how much is left out; bytes that are no UTF-8 become U+FFFD",
    ),
    key(
        "secrets",
        Secrets(field!(secrets)),
        "none",
        "the content of a file, or its path, in a variable; masked in the output from 4 characters on, and in no log, history or answer",
    ),
    key("limits", Limits(field!(limits)), "the server's", "limits of the process, as `ulimit` sets them"),
];

/// A process, by names: what they stand for is looked up when it starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "the fields are the keys of the job file")]
pub struct ProcessBody {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub run: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd_else: Option<PathBuf>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub inherit_env: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env_file: Vec<PathBuf>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pam_env: Vec<PathBuf>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<SecretBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub umask: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nice: Option<i32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<(String, u64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_max: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_max: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_server_death: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_lease_loss: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_new_privileges: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oom_score_adj: Option<i32>,
}

impl ProcessBody {
    /// Checks that a reader of files could have read it.
    ///
    /// # Errors
    /// The first mistake: lower case, no full stop.
    pub(crate) fn check(&self) -> Result<(), String> {
        match &self.shell {
            None if self.run.first().is_none_or(String::is_empty) => {
                return Err("run: expected the name of a program first".to_owned());
            }
            Some(_) if !self.run.is_empty() => {
                return Err("a job does one thing: it has both `run` and `shell`".to_owned());
            }
            _ => (),
        }
        check(KEYS, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_a_field_of_its_name_and_each_field_a_key() {
        crate::key::tests::assert_complete(KEYS);
    }
}
