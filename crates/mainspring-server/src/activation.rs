//! The listening sockets that a service manager made and handed over: socket activation.
//!
//! ```text
//! mainspring.socket ── LISTEN_FDS, LISTEN_PID, LISTEN_FDNAMES ──▶ ActivatedSockets ─┬─▶ at DATA/mainspring.sock: the control socket
//!                                                                         └─▶ any other: serve --listen=systemd
//! ```
//!
//! The service manager listens before the server runs, so the first connection starts it, and connections
//! wait while it restarts. The server gives clones away: a server that loses its lease and stands by listens
//! again on the same sockets.
//!
//! Cost: some system calls, once; nothing where no socket was handed over.
//!
//! Does not remove the file of a socket: it belongs to the service manager, which listens on after the end.
//!
//! Source: sd_listen_fds(3), systemd.socket(5).

use std::env;
use std::fmt;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use listenfd::ListenFd;
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::AcceptConn;

use crate::data_directory::{DataDirectory, SOCKET_MODE};
use crate::error::Error;

/// For which process the sockets are. One that is inherited through a shell has another number.
const PROCESS: &str = "LISTEN_PID";

/// The names of the sockets, with colons between.
const NAMES: &str = "LISTEN_FDNAMES";

/// The most sockets that are looked at: the unit has one for commands and some for HTTP.
const MAX_SOCKETS: usize = 64;

/// The permissions of others by which they could connect: a connection needs the right to write.
const OF_OTHERS: u32 = 0o022;

const _: () = assert!(SOCKET_MODE & OF_OTHERS == 0, "a socket that the server makes would do");

/// A socket that listens already.
#[derive(Debug)]
pub enum Listening {
    /// In a folder.
    Unix(UnixListener),
    /// At a port.
    Tcp(TcpListener),
}

/// A socket with the name that its unit gives it.
#[derive(Debug)]
pub struct HandedSocket {
    name: String,
    socket: Listening,
}

/// The sockets that were handed over.
#[derive(Debug, Default)]
pub struct ActivatedSockets {
    control: Option<UnixListener>,
    others: Vec<HandedSocket>,
}

impl Listening {
    /// Another descriptor of the same socket.
    ///
    /// # Errors
    ///
    /// When there is no descriptor left.
    pub fn try_clone(&self) -> io::Result<Listening> {
        match self {
            Listening::Unix(listener) => listener.try_clone().map(Listening::Unix),
            Listening::Tcp(listener) => listener.try_clone().map(Listening::Tcp),
        }
    }

    /// The path of a socket in a folder.
    fn path(&self) -> Option<PathBuf> {
        match self {
            Listening::Unix(listener) => Some(listener.local_addr().ok()?.as_pathname()?.to_owned()),
            Listening::Tcp(_) => None,
        }
    }
}

impl AsFd for Listening {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listening::Unix(listener) => listener.as_fd(),
            Listening::Tcp(listener) => listener.as_fd(),
        }
    }
}

impl HandedSocket {
    /// The socket itself.
    pub fn socket(&self) -> &Listening {
        &self.socket
    }

    /// Whether it has this name; each has the name `None`.
    pub fn is_named(&self, name: Option<&str>) -> bool {
        name.is_none_or(|name| name == self.name)
    }
}

/// Its address and its name, for people.
impl fmt::Display for HandedSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.socket, self.socket.path()) {
            (Listening::Tcp(listener), _) => match listener.local_addr() {
                Ok(address) => write!(f, "{address}")?,
                Err(_) => f.write_str("an unknown address")?,
            },
            (Listening::Unix(_), Some(path)) => write!(f, "{}", path.display())?,
            (Listening::Unix(_), None) => f.write_str("a socket without a path")?,
        }
        if self.name.is_empty() { Ok(()) } else { write!(f, " (`{}`)", self.name) }
    }
}

impl ActivatedSockets {
    /// Takes the sockets over that the environment announces, once in the life of the process. The one at the
    /// path of the control socket of `place` is the control socket, whatever its name is. `None` is a server
    /// whose folder has no name yet.
    ///
    /// Call it while the process has one thread: the variables are removed from the environment.
    ///
    /// # Errors
    ///
    /// When a descriptor is no listening stream socket, or others than its owner may connect to the control
    /// socket.
    pub fn take(data: Option<&DataDirectory>) -> Result<ActivatedSockets, Error> {
        let is_announced = env::var(PROCESS).is_ok_and(|process| !process.is_empty());
        if !is_announced {
            return Ok(ActivatedSockets::default());
        }
        let names = env::var(NAMES).unwrap_or_default();
        let mut names = names.split(':');
        let mut descriptors = ListenFd::from_env();
        let mut handed = ActivatedSockets::default();
        for index in 0..descriptors.len().min(MAX_SOCKETS) {
            let name = names.next().unwrap_or_default().to_owned();
            let socket = listening(&mut descriptors, index).map_err(|error| {
                let number = 3 + index;
                Error::Usage(format!("what the service manager handed over as descriptor {number}: {error}"))
            })?;
            match (socket, data.map(DataDirectory::socket)) {
                (Listening::Unix(listener), Some(path)) if is_at(&listener, &path) => {
                    check_mode(&path)?;
                    handed.control = Some(listener);
                }
                (socket, _) => handed.others.push(HandedSocket { name, socket }),
            }
        }
        Ok(handed)
    }

    /// A clone of the control socket, if it was handed over.
    ///
    /// # Errors
    ///
    /// When there is no descriptor left.
    pub fn control(&self) -> Result<Option<UnixListener>, Error> {
        let cloned = self.control.as_ref().map(UnixListener::try_clone).transpose();
        cloned.map_err(Error::setup("the control socket"))
    }

    /// All sockets but the control socket.
    pub fn others(&self) -> &[HandedSocket] {
        &self.others
    }

    /// Refuses sockets that nothing here listens on: their clients would wait for ever.
    ///
    /// # Errors
    ///
    /// When there is one that `is_used` does not know.
    pub fn check(&self, is_used: impl Fn(&HandedSocket) -> bool) -> Result<(), Error> {
        match self.others.iter().find(|socket| !is_used(socket)) {
            None => Ok(()),
            Some(socket) => Err(Error::Usage(format!(
                "the service manager handed over {socket}, and nothing here listens there: with --listen=systemd the page \
                 and the HTTP API do; the control socket is mainspring.sock in the data directory"
            ))),
        }
    }
}

fn listening(descriptors: &mut ListenFd, index: usize) -> io::Result<Listening> {
    let unix = descriptors.take_unix_listener(index).ok().flatten().map(Listening::Unix);
    let found = unix.or_else(|| descriptors.take_tcp_listener(index).ok().flatten().map(Listening::Tcp));
    let wrong = |text| io::Error::new(io::ErrorKind::InvalidInput, text);
    let socket = found.ok_or_else(|| wrong("expected a stream socket of a path or of a port"))?;
    // A unit with Accept=yes hands over a connection.
    if !getsockopt(&socket, AcceptConn)? {
        return Err(wrong("the socket does not listen: its unit needs Accept=no"));
    }
    Ok(socket)
}

/// Whether it listens at a path, however that is written.
fn is_at(listener: &UnixListener, path: &Path) -> bool {
    let Ok(address) = listener.local_addr() else { return false };
    let whole = |path: &Path| {
        let folder = fs::canonicalize(path.parent()?).ok()?;
        Some(folder.join(path.file_name()?))
    };
    let found = address.as_pathname().and_then(whole);
    found.is_some() && found == whole(path)
}

/// Who may connect may have commands run.
fn check_mode(path: &Path) -> Result<(), Error> {
    let failed = |source| Error::Data { path: path.to_owned(), source };
    let found = fs::symlink_metadata(path).map_err(failed)?;
    let mode = found.permissions().mode() & 0o777;
    if found.mode() & OF_OTHERS == 0 {
        return Ok(());
    }
    let text = format!("others may connect to it (mode {mode:03o}): its unit needs SocketMode=0600");
    Err(failed(io::Error::new(io::ErrorKind::PermissionDenied, text)))
}
