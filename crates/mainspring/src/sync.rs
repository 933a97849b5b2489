//! Locks, atomics and threads: the standard library's, or loom's where a model of the threads is being
//! checked.
//!
//! With `--cfg mainspring_loom` every lock and atomic in clocks and drivers is loom's, and `tests/loom.rs`
//! runs each protocol through every interleaving. (The usual `--cfg loom` would change dependencies of the
//! tests as well.) Threads that drivers start are loom's then too. It does not replace `Arc`s, which are no
//! part of the protocols.

#[cfg(mainspring_loom)]
pub(crate) use loom::{
    sync::{Condvar, Mutex, MutexGuard, atomic},
    thread, thread_local,
};
#[cfg(not(mainspring_loom))]
pub(crate) use std::{
    sync::{Condvar, Mutex, MutexGuard, atomic},
    thread, thread_local,
};

pub(crate) use std::sync::PoisonError;

/// Locks a mutex, also after a panic under it. No code of the owner runs under a lock of this crate that
/// could leave half a change behind; a closure's own state after a panic is its affair.
#[inline]
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
