//! Windows has no signals: a program there asks its loop to stop by a call.
//!
//! Cost: none.

use std::io;

use mainspring_exec::notifier::{Notifications, Notifier};

/// Nothing is registered.
#[derive(Debug, Default)]
pub(super) struct Registration(());

/// There is no such limit.
///
/// # Errors
///
/// None.
pub fn outlive_file_limit() -> io::Result<()> {
    Ok(())
}

pub(super) fn at_ends_of_processes(_: &Notifier) -> io::Result<Registration> {
    Ok(Registration::default())
}

pub(super) fn register() -> io::Result<([Notifications; 3], Registration)> {
    Err(io::ErrorKind::Unsupported.into())
}
