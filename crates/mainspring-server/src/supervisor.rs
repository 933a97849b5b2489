//! Messages to the service manager: the server is ready, continues, or stops.
//!
//! | message | is sent |
//! |---|---|
//! | `READY=1`, `STATUS=` | when clients are answered, and jobs may start or the server stands by; it has which |
//! | `WATCHDOG=1` | at each look around and each question for the lease, every few seconds: a loop that hangs sends nothing |
//! | `STOPPING=1` | when the server was asked to end |
//!
//! A unit with `Type=notify` waits for the first. One with `WatchdogSec=` kills and restarts a server that
//! does not send the second in time.
//!
//! Cost: one datagram for each; none if there is no service manager.
//!
//! Does not fail: a server that cannot send a message continues.
//!
//! Source: sd_notify(3).

#[cfg(unix)]
use std::os::unix::net::{SocketAddr, UnixDatagram};
#[cfg(unix)]
use std::{env, io};

/// The variable that names the socket: a path, or `@` and an abstract name.
#[cfg(unix)]
const VARIABLE: &str = "NOTIFY_SOCKET";

/// The server may start jobs.
pub const READY: &str = "READY=1";

/// The server continues.
pub const ALIVE: &str = "WATCHDOG=1";

/// The server ends.
pub const STOPPING: &str = "STOPPING=1";

#[cfg(target_os = "linux")]
fn abstract_address(name: &str) -> io::Result<SocketAddr> {
    <SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(name)
}

/// Elsewhere no socket has such a name.
#[cfg(all(unix, not(target_os = "linux")))]
fn abstract_address(_: &str) -> io::Result<SocketAddr> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Tells the service manager, if it listens.
#[cfg(unix)]
pub fn tell(state: &str) {
    let Ok(name) = env::var(VARIABLE) else { return };
    let address = match name.strip_prefix('@') {
        Some(name) => abstract_address(name),
        None => SocketAddr::from_pathname(&name),
    };
    let Ok(address) = address else { return };
    // It must not wait for a manager that does not read.
    let socket = UnixDatagram::unbound().and_then(|socket| socket.set_nonblocking(true).map(|()| socket));
    if let Ok(socket) = socket {
        let _ = socket.send_to_addr(state.as_bytes(), &address);
    }
}

/// Windows has another one, which is not told.
#[cfg(windows)]
pub fn tell(_: &str) {}
