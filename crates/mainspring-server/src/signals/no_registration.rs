//! Windows has no signals: a program there asks its loop to stop by a call.
//!
//! Cost: none.

use std::io;

use mainspring_exec::notifier::Notifications;

/// Nothing is registered.
#[derive(Debug, Default)]
pub(super) struct Registration(());

pub(super) fn register() -> io::Result<([Notifications; 3], Registration)> {
    Err(io::ErrorKind::Unsupported.into())
}
