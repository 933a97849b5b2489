//! Taking a mutex.
//!
//! Cost: that of the mutex, which one thread takes most of the time.
//!
//! Does not wait over an `await`: what it returns cannot be held there.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a mutex; a thread that panicked left what it guards whole.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
