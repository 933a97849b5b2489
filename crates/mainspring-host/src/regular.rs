//! Opens a regular file by a path that others may have prepared.
//!
//! ```text
//! secrets, certificates, files of jobs, files of output ─▶ walk ─▶ a regular file, open for reading, and any doubt about it
//! ```
//!
//! A path is opened only if it leads to a regular file, and without waiting: a FIFO, a device, a terminal and
//! a file on which another process has a lease are errors.
//!
//! Which users may own the file depends on its purpose: [`Regular::judge`] is for secrets and certificates;
//! for files of jobs their reader has a rule.
//!
//! Cost: see [`walk`](crate::walk), and two system calls.
//!
//! Does not read.
//!
//! Source: open(2); F_SETLEASE in fcntl(2).

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::{Mode, SFlag, fstat};
use nix::unistd::Uid;

use crate::doubt::{OTHERS_MAY_WRITE, denied};
pub use crate::regular_file::{Ownership, Regular, read_whole};
use crate::sys::{FOLDER, link_count, mode};
use crate::walk::{End, Walk, hold, kind};

/// The permission bit that lets everybody write.
const ALL_MAY_WRITE: u32 = 0o002;

/// The permission bits of everybody but the owner.
const OF_OTHERS: u32 = 0o077;

const _: () = assert!(ALL_MAY_WRITE & !OTHERS_MAY_WRITE == 0, "everybody is others too");
const _: () = assert!(OTHERS_MAY_WRITE & !OF_OTHERS == 0, "nobody writes a file that is closed to others");

impl Regular {
    /// Whether no user but root, we and the user `also` could have chosen or written what is in it. Where we
    /// are not root, another owner may have written it, because we were allowed to read it and no user gets
    /// more by that.
    ///
    /// # Errors
    ///
    /// Who else could have, as an error of the kind `PermissionDenied`.
    pub fn judge(&self, also: Option<u32>) -> io::Result<()> {
        let Ownership { uid, mode, doubt, .. } = &self.ownership;
        if let Some(doubt) = doubt {
            return Err(doubt.clone().into());
        }
        let us = Uid::effective();
        if us.is_root() && *uid != 0 && Some(*uid) != also {
            return Err(denied(format!("it belongs to user {uid}")));
        }
        if mode & if us.is_root() { OTHERS_MAY_WRITE } else { ALL_MAY_WRITE } != 0 {
            let text = format!("its mode {mode:04o} lets others write it: take that away with chmod go-w");
            return Err(denied(text));
        }
        Ok(())
    }
}

/// Opens the regular file at a path, for reading, and says who could have chosen it.
///
/// # Errors
///
/// The operating system's, and one that says so where something else than a regular file is found.
pub fn open_regular(path: &Path) -> io::Result<Regular> {
    let mut walk = Walk::to(path)?;
    let found = walk.run(End::File)?;
    let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
    let file = match openat(&walk.folder, walk.last.as_os_str(), flags, Mode::empty()) {
        // No shortage, as which the number would be taken.
        Err(Errno::EWOULDBLOCK) => return Err(io::Error::other("another process has a lease on it")),
        opened => opened?,
    };
    let opened = fstat(&file)?;
    if (opened.st_dev, opened.st_ino) != (found.st_dev, found.st_ino) {
        return Err(io::Error::other("it was replaced while it was opened"));
    }
    let doubt = walk.doubt(Some(opened.st_uid));
    let (uid, mode, link_count) = (opened.st_uid, mode(&opened), link_count(&opened));
    let ownership = Ownership { uid, mode, link_count, path: walk.path, doubt };
    Ok(Regular { file: file.into(), ownership })
}

/// Takes all permissions of others from a file in a folder that was judged, if it is a regular file of one
/// name. It is not opened: what locks this process has on it stay.
///
/// # Errors
///
/// The operating system's.
pub fn close_to_others(folder: &Path, name: &str) -> io::Result<()> {
    let folder = open(folder, FOLDER, Mode::empty())?;
    let Some(entry) = hold(&folder, OsStr::new(name))? else { return Ok(()) };
    let found = &entry.found;
    if kind(found) == SFlag::S_IFREG && found.st_nlink == 1 && mode(found) & OF_OTHERS != 0 {
        entry.set_mode(mode(found) & !OF_OTHERS)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doubt::Doubt;
    use crate::scratch;
    use std::fs::{self, Permissions};
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    fn folder(name: &str) -> PathBuf {
        let folder = scratch::path(&format!("regular-{name}"));
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        fs::canonicalize(folder).unwrap()
    }

    fn read(path: &Path) -> String {
        let mut opened = open_regular(path).unwrap();
        let mut text = String::new();
        opened.file.read_to_string(&mut text).unwrap();
        assert_eq!(opened.ownership.doubt, None, "{}", path.display());
        text
    }

    #[test]
    fn links_of_a_deploy_are_followed() {
        let folder = folder("deploy");
        fs::create_dir_all(folder.join("rel/2")).unwrap();
        fs::write(folder.join("rel/2/jobs"), "two").unwrap();
        symlink("rel/2", folder.join("cur")).unwrap();
        assert_eq!(read(&folder.join("cur/jobs")), "two");
        assert_eq!(read(&folder.join("rel/2/../../cur/./jobs")), "two");
        assert_eq!(open_regular(&folder.join("cur/jobs")).unwrap().ownership.path, folder.join("rel/2/jobs"));
        // A ConfigMap of Kubernetes: the name leads through a link that is replaced as a whole.
        fs::create_dir(folder.join("..2026_v1")).unwrap();
        fs::write(folder.join("..2026_v1/jobs.toml"), "v1").unwrap();
        symlink("..2026_v1", folder.join("..data")).unwrap();
        symlink("..data/jobs.toml", folder.join("jobs.toml")).unwrap();
        symlink(folder.join("jobs.toml"), folder.join("absolute")).unwrap();
        assert_eq!(read(&folder.join("absolute")), "v1");
        // Its volumes are folders of root's that everybody may write, with the sticky bit.
        fs::set_permissions(&folder, Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(read(&folder.join("jobs.toml")), "v1");
    }

    #[test]
    fn a_file_is_closed_to_others_and_what_a_link_leads_to_is_not() {
        let folder = folder("close");
        for name in ["own", "victim", "one"] {
            fs::write(folder.join(name), "").unwrap();
            fs::set_permissions(folder.join(name), Permissions::from_mode(0o644)).unwrap();
        }
        symlink("victim", folder.join("link")).unwrap();
        fs::hard_link(folder.join("one"), folder.join("two")).unwrap();
        for name in ["own", "link", "two", "none"] {
            close_to_others(&folder, name).unwrap();
        }
        let mode = |name: &str| fs::metadata(folder.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(["own", "victim", "one"].map(mode), [0o600, 0o644, 0o644]);
    }

    #[test]
    fn what_is_no_regular_file_is_an_error_and_nothing_waits() {
        let folder = folder("kinds");
        let fifo = folder.join("fifo");
        nix::unistd::mkfifo(&fifo, Mode::S_IRWXU).unwrap();
        symlink("loop", folder.join("loop")).unwrap();
        fs::write(folder.join("file"), "").unwrap();
        let error = |path: &Path| open_regular(path).unwrap_err();
        assert_eq!(error(&fifo).to_string(), "it is no regular file");
        assert_eq!(error(Path::new("/dev/null")).to_string(), "it is no regular file");
        assert_eq!(error(&folder).raw_os_error(), Some(Errno::EISDIR as i32));
        assert_eq!(error(&folder.join("loop")).raw_os_error(), Some(Errno::ELOOP as i32));
        assert_eq!(error(&folder.join("file/x")).raw_os_error(), Some(Errno::ENOTDIR as i32));
        assert_eq!(error(&folder.join("none")).kind(), io::ErrorKind::NotFound);
        assert_eq!(error(Path::new("")).kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_file_with_two_names_in_an_open_folder_is_doubted() {
        let folder = folder("names");
        fs::write(folder.join("one"), "").unwrap();
        fs::hard_link(folder.join("one"), folder.join("two")).unwrap();
        assert_eq!(read(&folder.join("two")), "");
        fs::set_permissions(&folder, Permissions::from_mode(0o1777)).unwrap();
        let path = folder.join("two");
        assert_eq!(open_regular(&path).unwrap().ownership.doubt, Some(Doubt::Names { path }));
    }
}
