//! The owner of a lease: a server, with the start of its machine.
//!
//! Cost: two texts.
//!
//! Does not hold the lease: see [`Lease`](super::Lease).

use crate::operation::Takeover;

/// What takes the lease: a server, by its name.
///
/// # Example
/// ```
/// use mainspring_job::{Owner, Takeover};
///
/// // With the boot id of the machine a power cut is told from a crash.
/// let owner = Owner::new("process 4711").with_machine_start("8f2c");
/// assert_eq!(owner.takeover_from("8f2c"), Takeover::Unclean);
/// assert_eq!(owner.takeover_from("1d07"), Takeover::Rebooted);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Owner {
    /// For people.
    pub name: String,
    /// Names the time since the machine was last started, such as the boot id of Linux: two owners with
    /// different ones did not run on the same machine without a restart in between. Empty if it is not known.
    pub machine_start: String,
}

impl Owner {
    /// An owner on a machine of which nothing is known.
    pub fn new(name: impl Into<String>) -> Owner {
        Owner { name: name.into(), machine_start: String::new() }
    }

    /// The same owner on a machine whose start is known: see [`Owner::machine_start`].
    #[must_use]
    pub fn with_machine_start(self, machine_start: impl Into<String>) -> Owner {
        Owner { machine_start: machine_start.into(), ..self }
    }

    /// How the owner before ended that did not release its lease, as far as this one can tell.
    pub fn takeover_from(&self, machine_start: &str) -> Takeover {
        let is_known = !self.machine_start.is_empty() && !machine_start.is_empty();
        if is_known && self.machine_start != machine_start { Takeover::Rebooted } else { Takeover::Unclean }
    }
}
