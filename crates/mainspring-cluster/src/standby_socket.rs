//! The control socket of a program that does not plan, on a thread of its own.
//!
//! ```text
//!  client ─▶ socket ─▶ RequestProxy, on a thread for each client          dropped ─▶ the socket is removed
//! ```
//!
//! `mainspring serve` waits at its socket itself: [`standby`](mainspring_server::server::standby).
//!
//! Cost: a thread that sleeps, and what [`RequestProxy`] costs.
//!
//! Does not listen while this program plans: its loop does.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use mainspring_exec::notifier::{Notifications, Notifier, pair};
use mainspring_host::net::{AsFd, AsRawFd, LocalListener};
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::error::Error;
use mainspring_server::server::standby::{accept, listen};
use mainspring_server::waiting::wait_for_any;

use super::request_proxy::{RequestProxy, StandbyState};

/// See the head of this file.
#[derive(Debug)]
pub struct StandbySocket {
    path: PathBuf,
    notifier: Notifier,
    thread: Option<JoinHandle<()>>,
}

impl StandbySocket {
    /// Listens in this directory, whose lock is held.
    ///
    /// # Errors
    /// When the socket cannot be made, or the operating system gives no thread.
    pub fn start(data: &DataDirectory, standing: Arc<StandbyState>) -> Result<StandbySocket, Error> {
        let setup = Error::setup("a thread for clients");
        let (notifier, ended) = pair().map_err(setup)?;
        let listener = listen(data)?;
        let answer = move || answer(&listener, &ended, &standing);
        let thread = thread::Builder::new().name("clients".to_owned()).spawn(answer).map_err(setup)?;
        Ok(StandbySocket { path: data.socket(), notifier, thread: Some(thread) })
    }
}

impl Drop for StandbySocket {
    fn drop(&mut self) {
        self.notifier.notify();
        // A panic is on standard error.
        let _ = self.thread.take().map(JoinHandle::join);
        let _ = fs::remove_file(&self.path);
    }
}

fn answer(listener: &LocalListener, ended: &Notifications, standing: &Arc<StandbyState>) {
    loop {
        // Polling fails where the system has no memory left: there is no socket then.
        let Ok(ready) = wait_for_any(&[listener.as_fd(), ended.as_fd()], &[], &[], None) else { return };
        if ready.contains(&ended.as_fd().as_raw_fd()) {
            return;
        }
        if let Some(client) = accept(listener) {
            RequestProxy::new(standing).serve_client(client);
        }
    }
}
