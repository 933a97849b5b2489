//! The limit of the files that this process may open.
//!
//! The limit is the process's, and so is what it was before: it is kept here once for all.
//!
//! Cost: a system call.
//!
//! Does not count what is open.
//!
//! Source: getrlimit(2); "File Descriptor Limits", <https://0pointer.net/blog/file-descriptor-limits.html>: a
//! program that can have more raises its soft limit, and gives its children the old one, because some of them
//! use select(2).

use std::sync::OnceLock;

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

use crate::descriptors::NEEDED;

/// The soft limit before it was raised.
static BEFORE: OnceLock<rlim_t> = OnceLock::new();

/// Raises the limit to what the most runs need, as far as the system lets us. Where it cannot be raised,
/// fewer run at once.
pub fn raise() {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return };
    let wanted = narrowed(NEEDED).unwrap_or(hard).min(hard);
    if soft < wanted && setrlimit(Resource::RLIMIT_NOFILE, wanted, hard).is_ok() {
        BEFORE.get_or_init(|| soft);
    }
}

/// The soft limit that a process of a job gets, where it is not this process's.
pub(crate) fn before() -> Option<rlim_t> {
    BEFORE.get().copied()
}

/// The limit as it is now.
pub fn limit() -> u64 {
    getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(soft, _)| widened(soft))
}

/// A number as the kernel has it, which is of 32 bits on some systems; if it fits.
pub(crate) fn narrowed<T: TryFrom<u64>>(limit: u64) -> Option<T> {
    T::try_from(limit).ok()
}

fn widened(limit: impl Into<u64>) -> u64 {
    limit.into()
}
