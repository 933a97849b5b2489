//! Sockets in folders that others may have prepared: the way to a server, and the way of a server to its
//! clients.
//!
//! ```text
//! connect  path ─▶ walk ─▶ the socket, held ─▶ connect to what is held ─▶ is the server the folder's owner?
//! listen   folder ─▶ walk, judge ─▶ remove what was left ─▶ bind ─▶ what was bound, held ─▶ its mode
//! ```
//!
//! No name is looked up twice. A link that another user made leads to no server but that user's, and the mode
//! of nothing but a socket is changed.
//!
//! Cost: see [`walk`](crate::walk), and some ten system calls.
//!
//! Does not say anything to the server.
//!
//! Source: unix(7), for `SO_PEERCRED`.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::libc::sockaddr_un;
use nix::sys::socket::sockopt::SndBuf;
use nix::sys::socket::{Backlog, UnixAddr, bind, connect as dial_to, listen as begin_to_listen, setsockopt};
use nix::sys::stat::SFlag;
use nix::unistd::{UnlinkatFlags, unlinkat};

use crate::doubt::denied;
use crate::folder::Folder;
pub use crate::stale_socket::StaleSocket;
use crate::sys::{self, Entry, MAX_ADDRESS_BYTES, mode, new_socket, peer_uid, way_into};
use crate::walk::{End, Walk, hold, kind};

const _: () = assert!(MAX_ADDRESS_BYTES + 3 <= size_of::<sockaddr_un>(), "beside the family and a NUL");

/// How long it is waited for a place among the connections that a server has not taken. One that is stopped
/// or hangs takes none, and thousands may wait already.
const PLACE_WAIT: Duration = Duration::from_secs(15);

/// Connects to the server that listens at a path.
///
/// # Errors
///
/// The operating system's, and one of the kind `PermissionDenied` where another user could have chosen that
/// server: the way to the socket, or the user that the server runs as, says so. Nothing was sent then. One of
/// the kind `TimedOut` where the server takes no connections.
pub fn connect(path: &Path) -> io::Result<UnixStream> {
    let mut walk = Walk::to(path)?;
    let found = walk.run(End::Socket)?;
    let owner = walk.found.st_uid;
    if let Some(doubt) = walk.doubt(Some(found.st_uid)) {
        return Err(doubt.into());
    }
    let held = hold(&walk.folder, &walk.last)?.ok_or(Errno::ENOENT)?;
    let now = &held.found;
    if (now.st_dev, now.st_ino) != (found.st_dev, found.st_ino) {
        return Err(io::Error::other("it was replaced on the way to it"));
    }
    let dial = |path: &Path| dial(path, PLACE_WAIT);
    let (stream, is_held) = match held.connect(dial)? {
        Some(stream) => (stream, true),
        // By the name, which may lead to another server by now.
        None => (dial(&walk.path)?, false),
    };
    let server = peer_uid(&stream)?;
    // The service manager is root, listens in place of the server, and gives the socket to its user.
    let is_manager = is_held && server == 0 && found.st_uid == owner;
    if server != owner && !is_manager {
        let folder = walk.path.parent().unwrap_or(&walk.path).display();
        let text =
            format!("the folder {folder} belongs to user {owner}, and its server runs as user {server}");
        return Err(denied(text));
    }
    Ok(stream)
}

/// Listens at a path whose folder is there. Afterwards the socket has the permission bits `bits`, and before
/// never more, whatever the umask is.
///
/// # Errors
///
/// The operating system's, those of [`Folder::judge`] of the folder, and `AddrInUse` where something stands
/// that is not removed.
pub fn listen(path: &Path, bits: u32, left: StaleSocket) -> io::Result<UnixListener> {
    assert_eq!(bits & !0o777, 0, "a mode has no bits that change who runs what");
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it names no file"));
    };
    let mut walk = Walk::to(parent)?;
    let folder = Folder::walked(&mut walk)?;
    folder.judge()?;
    if let Some(entry) = hold(&walk.folder, name)?
        && (left == StaleSocket::Ours || is_unanswered(&entry, &walk.path.join(name)))
    {
        unlinkat(&walk.folder, name, UnlinkatFlags::NoRemoveDir)?;
    }
    let listener = new_socket(bits)?;
    bind(listener.as_raw_fd(), &UnixAddr::new(&address(&walk, &folder, name)?)?)?;
    let bound = hold(&walk.folder, name)?.ok_or(Errno::ENOENT)?;
    let found = &bound.found;
    if kind(found) != SFlag::S_IFSOCK {
        return Err(io::Error::other("it was replaced while it was bound"));
    }
    if mode(found) != bits {
        bound.set_mode(bits)?;
    }
    begin_to_listen(&listener, Backlog::MAXCONN)?;
    Ok(listener.into())
}

/// What tells the socket at a path from another; `None` if nothing is there.
pub fn file_id(path: &Path) -> Option<(u64, u64)> {
    std::fs::symlink_metadata(path).ok().as_ref().map(sys::file_id)
}

/// Asks the kernel for so much room between both ends. A socket with less is slower, and as good.
pub fn widen(stream: &UnixStream, bytes: usize) {
    let _ = setsockopt(stream, SndBuf, &bytes);
}

/// Connects to the socket at a path. A place among those whom its server has not taken is waited for so long.
fn dial(path: &Path, longest: Duration) -> io::Result<UnixStream> {
    // The mode of what is not bound means nothing.
    let stream = UnixStream::from(new_socket(0)?);
    // It bounds a connect as well.
    stream.set_write_timeout(Some(longest))?;
    let address = UnixAddr::new(path)?;
    // With a bound for the wait the kernel does not begin it again after a signal.
    let dialled = loop {
        match dial_to(stream.as_raw_fd(), &address) {
            Err(Errno::EINTR) => {}
            dialled => break dialled,
        }
    };
    match dialled {
        Err(Errno::EAGAIN) => {
            let text =
                "it takes no connection, and too many wait already; kill -CONT wakes it if it was stopped";
            return Err(io::Error::new(io::ErrorKind::TimedOut, text));
        }
        dialled => dialled?,
    }
    stream.set_write_timeout(None)?;
    Ok(stream)
}

/// Where to bind: the path without links, or where that is too long, through the descriptor of the folder.
fn address(walk: &Walk, folder: &Folder, name: &OsStr) -> io::Result<PathBuf> {
    let whole = folder.path.join(name);
    match whole.as_os_str().len() <= MAX_ADDRESS_BYTES {
        true => Ok(whole),
        false => Ok(way_into(&walk.folder)?.join(name)),
    }
}

/// Whether it is a socket on which no process answers. Its folder was judged, so that its name may be used.
fn is_unanswered(entry: &Entry, path: &Path) -> bool {
    let is_refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    let dial = |path: &Path| dial(path, PLACE_WAIT);
    let connect = || entry.connect(dial).and_then(|held| held.map_or_else(|| dial(path), Ok));
    kind(&entry.found) == SFlag::S_IFSOCK && connect().is_err_and(is_refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;
    use std::fs::{self, Permissions};
    use std::io::Read;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use nix::unistd::Uid;

    /// Another user, who prepares a folder.
    const BOB: u32 = 65534;

    /// How often a race is run. Where a path was used twice it was won in some hundred.
    const RACES: usize = 1_000;

    fn folder(name: &str) -> PathBuf {
        let folder = scratch::path(&format!("socket-{name}"));
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        fs::canonicalize(folder).unwrap()
    }

    fn bits(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn is_root() -> bool {
        let is_root = Uid::effective().is_root();
        assert!(is_root || std::env::var_os("CI").is_none(), "this needs root");
        if !is_root {
            eprintln!("SKIPPED: only root can give a folder to another user");
        }
        is_root
    }

    /// Does this again and again beside so many tries; returns how many of them did it.
    fn beside(act: impl Fn() + Sync, attempt: impl Fn() -> bool) -> usize {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    act();
                }
            });
            let count = (0..RACES).filter(|_| attempt()).count();
            is_over.store(true, Ordering::Relaxed);
            count
        })
    }

    #[test]
    fn a_place_in_the_line_is_waited_for_so_long_and_not_for_ever() {
        let folder = scratch::path("line");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        begin_to_listen(&listener, Backlog::new(0).unwrap()).unwrap();
        let wait = Duration::from_millis(50);
        let mut waiting = Vec::new();
        let error = loop {
            match dial(&path, wait) {
                Ok(stream) => waiting.push(stream),
                Err(error) => break error,
            }
            assert!(waiting.len() < 10, "no place is left at some time");
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        listener.accept().unwrap();
        dial(&path, wait).unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_socket_has_its_mode_and_is_connected_to() {
        let folder = folder("mode");
        for mode in [0o600, 0o660] {
            let path = folder.join(format!("{mode:o}"));
            let listener = listen(&path, mode, StaleSocket::Unanswered).unwrap();
            assert_eq!(bits(&path), mode);
            connect(&path).unwrap();
            assert_eq!(
                listen(&path, mode, StaleSocket::Unanswered).unwrap_err().kind(),
                io::ErrorKind::AddrInUse
            );
            drop(listener);
            assert_eq!(connect(&path).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
            let _again = listen(&path, mode, StaleSocket::Unanswered).unwrap();
            let _taken = listen(&path, mode, StaleSocket::Ours).unwrap();
        }
        fs::write(folder.join("file"), "").unwrap();
        let error = listen(&folder.join("file"), 0o600, StaleSocket::Unanswered).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        assert_eq!(connect(&folder.join("file")).unwrap_err().to_string(), "it is no socket");
        assert_eq!(connect(&folder.join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_path_is_as_long_as_its_folder() {
        let deep = folder("deep").join("x".repeat(MAX_ADDRESS_BYTES));
        fs::create_dir(&deep).unwrap();
        let listened = listen(&deep.join("socket"), 0o600, StaleSocket::Ours);
        if cfg!(all(target_os = "linux", not(mainspring_posix))) {
            let _listener = listened.unwrap();
            connect(&deep.join("socket")).unwrap();
        } else {
            assert_eq!(listened.unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn a_folder_that_others_may_write_is_listened_in_by_nobody() {
        let folder = folder("open");
        fs::set_permissions(&folder, Permissions::from_mode(0o1777)).unwrap();
        let error = listen(&folder.join("socket"), 0o660, StaleSocket::Unanswered).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
        assert!(fs::read_dir(&folder).unwrap().next().is_none());
    }

    #[test]
    fn links_of_our_own_are_followed_to_a_server() {
        let folder = folder("links");
        fs::create_dir(folder.join("real")).unwrap();
        let _listener = listen(&folder.join("real/socket"), 0o600, StaleSocket::Ours).unwrap();
        symlink("real", folder.join("link")).unwrap();
        symlink("link/socket", folder.join("way")).unwrap();
        connect(&folder.join("way")).unwrap();
    }

    #[test]
    fn a_link_of_another_user_leads_to_no_server_of_ours() {
        if !is_root() {
            return;
        }
        let folder = folder("others");
        let ours = listen(&folder.join("socket"), 0o600, StaleSocket::Ours).unwrap();
        ours.set_nonblocking(true).unwrap();
        let bobs = folder.join("bob");
        fs::create_dir(&bobs).unwrap();
        symlink(folder.join("socket"), bobs.join("socket")).unwrap();
        symlink(&folder, bobs.join("ms")).unwrap();
        chown(&bobs, Some(BOB), Some(BOB)).unwrap();
        for way in ["socket", "ms/socket"] {
            let error = connect(&bobs.join(way)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{way}: {error}");
            assert!(error.to_string().contains("belongs to user 65534"), "{way}: {error}");
        }
        // A name that is no link: what listens there is asked who it is.
        fs::hard_link(folder.join("socket"), bobs.join("name")).unwrap();
        let error = connect(&bobs.join("name")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
        let _ = fs::remove_file(bobs.join("socket"));
        let led = beside(
            || {
                // In turn a link to ours, and a socket of bob's where no process listens.
                let (link, own) = (bobs.join("link"), bobs.join("own"));
                let _ = symlink(folder.join("socket"), &link);
                let _ = fs::rename(&link, bobs.join("turn"));
                let _ = UnixListener::bind(&own).and_then(|_| chown(&own, Some(BOB), Some(BOB)));
                let _ = fs::rename(&own, bobs.join("turn"));
            },
            || connect(&bobs.join("turn")).is_ok(),
        );
        assert_eq!(led, 0);
        // Only the name that is no link had led there. Where a socket is connected to by its name, a link may
        // lead there too, and nothing is said.
        let mut came: Vec<_> = std::iter::from_fn(|| ours.accept().ok()).collect();
        let is_held = cfg!(all(target_os = "linux", not(mainspring_posix)));
        assert!(!is_held || came.len() <= 1, "{} connections", came.len());
        assert!(came.iter_mut().all(|(stream, _)| matches!(stream.read(&mut [0]), Ok(0))));
    }

    #[test]
    fn the_mode_of_a_socket_is_given_to_nothing_else_however_often_its_name_changes_hands() {
        let folder = folder("race");
        let (path, victim) = (folder.join("socket"), folder.join("victim"));
        fs::write(&victim, "").unwrap();
        fs::set_permissions(&victim, Permissions::from_mode(0o600)).unwrap();
        beside(
            || {
                let link = folder.join("link");
                let _ = symlink(&victim, &link);
                let _ = fs::rename(&link, &path);
                let _ = fs::remove_file(&path);
            },
            || listen(&path, 0o660, StaleSocket::Ours).is_ok(),
        );
        assert_eq!(bits(&victim), 0o600);
    }
}
