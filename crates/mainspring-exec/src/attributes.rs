//! The attributes that a process gives itself between fork and exec, as keys of its job say.
//!
//! ```text
//! ProcessBody ── Attributes::of ──▶ ProcessSpec, Launch: carried as it is ──▶ SETTINGS, in the child: one after the other
//! ```
//!
//! A new attribute is a field, a line of [`Attributes::of`] and a row of `SETTINGS`. The row names the key,
//! so that a process that may not have it fails with that name: `cannot set nice: Permission denied`.
//!
//! Cost: at most a system call for each row, and one for each limit.
//!
//! Does not allocate and takes no lock in the child: what is to be looked up or put together is in
//! [`Attributes::of`].
//!
//! Source: setpriority(2), setrlimit(2), umask(2), proc_pid_oom_score_adj(5), PR_SET_PDEATHSIG(2const),
//! PR_SET_NO_NEW_PRIVS(2const).

use nix::errno::Errno;
use nix::sys::resource::{Resource, rlim_t, setrlimit};
use nix::sys::stat::{Mode, umask};
use nix::unistd::Pid;
use rustix::process::setpriority_process;

use crate::{kernel, open_file_limit};
use mainspring_action::names::{Fate, LIMIT_NAMES};
use mainspring_action::process::ProcessBody;

/// What a process sets of itself; what is `None` or empty is the server's own.
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    /// Its niceness, -20 to 19.
    pub nice: Option<i32>,
    /// Its resource limits.
    pub limits: Vec<Limit>,
    /// How much sooner the kernel ends it when memory is short, as text for /proc.
    pub oom_score_adj: Option<String>,
    /// The bits that its new files do not get.
    pub umask: Option<Mode>,
    /// What becomes of it when the server is killed.
    pub on_server_death: Fate,
    /// Whether no program in it takes on rights when it is executed, such as `sudo` does.
    pub no_new_privileges: bool,
}

impl Attributes {
    /// Whether they are a child's own while it has the memory of the server: a score for the lack of memory
    /// is that of the memory, and the signal at the end of the parent one at the end of its thread.
    pub(crate) fn may_borrow(&self) -> bool {
        self.oom_score_adj.is_none() && self.on_server_death == Fate::Leave
    }

    /// Those of a body.
    ///
    /// # Errors
    /// What the body names and this version does not know, or this system does not have.
    pub fn of(body: &ProcessBody) -> Result<Attributes, String> {
        if let Some(key) = needs_linux(body).filter(|_| !kernel::KEEPS_ALL) {
            return Err(format!("{key} needs Linux"));
        }
        Ok(Attributes {
            nice: body.nice,
            limits: body.limits.iter().map(limit).collect::<Result<_, _>>()?,
            oom_score_adj: body.oom_score_adj.map(|score| score.to_string()),
            umask: body.umask.map(|bits| Mode::from_bits_truncate(bits as libc::mode_t)),
            on_server_death: on_server_death(body)?,
            no_new_privileges: body.no_new_privileges,
        })
    }
}

fn on_server_death(body: &ProcessBody) -> Result<Fate, String> {
    Fate::of("on_server_death", body.on_server_death.as_deref(), Fate::Leave)
}

/// The first key of a body that only Linux can keep.
fn needs_linux(body: &ProcessBody) -> Option<&'static str> {
    let keys = [
        ("oom_score_adj", body.oom_score_adj.is_some()),
        ("no_new_privileges", body.no_new_privileges),
        ("on_server_death", on_server_death(body) == Ok(Fate::Kill)),
        ("memory_max", body.memory_max.is_some()),
        ("cpu_max", body.cpu_max.is_some()),
    ];
    keys.into_iter().find_map(|(key, is_asked)| is_asked.then_some(key))
}

/// When a child sets an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SetPhase {
    /// While it is still the server's user, who may be root and alone may do so.
    BeforeUser,
    /// As its own user, in its directory: a change of user would take it back, or forbid it.
    AfterUser,
}

/// One attribute in the child.
pub(crate) struct Setting {
    /// The key of the job file.
    pub(crate) key: &'static str,
    pub(crate) when: SetPhase,
    /// Sets it, given the number of the server.
    pub(crate) set: fn(&Attributes, Pid) -> Result<(), Errno>,
}

/// The attributes in the order in which they are set.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting { key: "nice", when: SetPhase::BeforeUser, set: |of, _| of.nice.map_or(Ok(()), set_nice) },
    Setting {
        key: "limits",
        when: SetPhase::BeforeUser,
        set: |of, _| of.limits.iter().try_for_each(set_limit),
    },
    Setting {
        key: "oom_score_adj",
        when: SetPhase::BeforeUser,
        set: |of, _| of.oom_score_adj.as_deref().map_or(Ok(()), kernel::set_oom_score),
    },
    Setting { key: "umask", when: SetPhase::AfterUser, set: |of, _| set_umask(of.umask) },
    Setting { key: "on_server_death", when: SetPhase::AfterUser, set: |of, server| die_with(of, server) },
    Setting {
        key: "no_new_privileges",
        when: SetPhase::AfterUser,
        set: |of, _| if of.no_new_privileges { kernel::set_no_new_privs() } else { Ok(()) },
    },
];

fn set_nice(nice: i32) -> Result<(), Errno> {
    setpriority_process(None, nice).map_err(|error| Errno::from_raw(error.raw_os_error()))
}

#[expect(clippy::unnecessary_wraps, reason = "a setting may fail; this one never does")]
fn set_umask(mask: Option<Mode>) -> Result<(), Errno> {
    mask.map(umask);
    Ok(())
}

fn set_limit(limit: &Limit) -> Result<(), Errno> {
    setrlimit(limit.resource, limit.value, limit.value)
}

fn die_with(attributes: &Attributes, server: Pid) -> Result<(), Errno> {
    match attributes.on_server_death {
        Fate::Leave => Ok(()),
        Fate::Kill => kernel::die_with(server),
    }
}

/// A resource limit, soft and hard alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The resource that is limited.
    pub resource: Resource,
    /// In the unit of setrlimit(2).
    pub value: rlim_t,
}

/// What the names of [`LIMIT_NAMES`] are to the kernel, in the same order.
const RESOURCES: [Option<Resource>; LIMIT_NAMES.len()] = [
    Some(Resource::RLIMIT_CPU),
    Some(Resource::RLIMIT_FSIZE),
    Some(Resource::RLIMIT_DATA),
    Some(Resource::RLIMIT_STACK),
    Some(Resource::RLIMIT_CORE),
    Some(Resource::RLIMIT_AS),
    Some(Resource::RLIMIT_NOFILE),
    kernel::PROCESSES,
    kernel::LOCKED_BYTES,
];

fn limit((name, value): &(String, u64)) -> Result<Limit, String> {
    let index = LIMIT_NAMES.iter().position(|known| known == name);
    let index = index.ok_or_else(|| format!("there is no limit called {name}"))?;
    let resource = RESOURCES[index].ok_or_else(|| format!("the limit {name} needs Linux"))?;
    let counted = match *value {
        u64::MAX => Some(libc::RLIM_INFINITY),
        value => open_file_limit::narrowed(value),
    };
    let value =
        counted.ok_or_else(|| format!("the limit {name} is beyond {}, this system's most", rlim_t::MAX))?;
    Ok(Limit { resource, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_cannot_be_kept_is_named() {
        let usual = ProcessBody::default();
        assert_eq!(needs_linux(&usual), None);
        let leave = ProcessBody { on_server_death: Some("leave".to_owned()), ..usual.clone() };
        assert_eq!(needs_linux(&leave), None);
        let kill = ProcessBody { on_server_death: Some("kill".to_owned()), ..usual.clone() };
        assert_eq!(needs_linux(&kill), Some("on_server_death"));
        let memory = ProcessBody { memory_max: Some(1 << 20), ..usual };
        assert_eq!(needs_linux(&memory), Some("memory_max"));
        let result = Attributes::of(&memory).map(drop);
        assert_eq!(result, if kernel::KEEPS_ALL { Ok(()) } else { Err("memory_max needs Linux".to_owned()) });
    }
}
