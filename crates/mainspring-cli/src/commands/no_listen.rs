//! The listener of `serve`, in a program that was made without it: none.
//!
//! Cost: none.
//!
//! Does not listen.

use jiff::tz::TimeZone;

use crate::cli::listen::ListenArgs;
use mainspring_server::activation::ActivatedSockets;
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::error::Error;
use mainspring_server::server::listener::Listener;

/// What serves beside the loop: nothing.
#[derive(Default)]
pub(super) struct HttpListener {}

/// Nothing listens on sockets of the service manager, but on the control socket.
///
/// # Errors
///
/// When it handed another one over.
pub(super) fn check(_: &ListenArgs, handed: &ActivatedSockets) -> Result<(), Error> {
    handed.check(|_| false)
}

/// There is no address to be typed.
pub(super) fn public_url(_: &ListenArgs) -> Option<String> {
    None
}

impl HttpListener {
    /// There is nothing to begin.
    #[expect(
        clippy::unnecessary_wraps,
        clippy::unused_self,
        reason = "it is called as the one that can fail"
    )]
    pub(super) fn begin(
        &mut self,
        _: &ListenArgs,
        _: &ActivatedSockets,
        _: &DataDirectory,
        _: &TimeZone,
    ) -> Result<Listener, Error> {
        Ok(Listener::default())
    }

    /// There is nothing to wait for.
    pub(super) fn finish(self) {}
}
