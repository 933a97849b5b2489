//! The folder of the crontabs of users: root's, of the group crontab, which may write there and not list.
//!
//! ```text
//! replace: tmp.PID.N, new, 0600, the user's ─ write, sync ─▶ rename to NAME
//! ```
//!
//! All but the calls that need the folder is done with the user's own group.
//!
//! Cost: some system calls, and one sync.
//!
//! Does not judge what is written, nor who may: the command does.
//!
//! Source: crontab(1) of Debian, whose folder and modes these are.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use nix::unistd::Uid;

use crate::lent_group::LentGroup;
use crate::regular::read_whole;
use crate::temporary::TEMPORARY;

/// The mode of a crontab.
const MODE: u32 = 0o600;

/// How many names are tried: those of earlier processes of this number, which were killed.
const MAX_NAMES: u32 = 100;

/// The folder, and the group by which it is written.
#[derive(Clone, Debug)]
pub struct Spool {
    folder: PathBuf,
    group: LentGroup,
}

impl Spool {
    /// The spool at a folder.
    pub fn at(folder: PathBuf, group: LentGroup) -> Spool {
        Spool { folder, group }
    }

    /// The crontab of a user; `None` if there is none.
    ///
    /// # Errors
    ///
    /// The operating system's, or that it is no file, or has more bytes than that.
    pub fn read(&self, user: &str, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
        let path = self.path(user)?;
        read(&path, bytes_max, &self.group)
    }

    /// Puts a text in the place of the crontab of a user, whose number is given if root does it.
    ///
    /// # Errors
    ///
    /// The operating system's. What was there before stays then.
    pub fn replace(&self, user: &str, text: &[u8], owner: Option<Uid>) -> io::Result<()> {
        let path = self.path(user)?;
        self.group.with(|| {
            let (temporary, mut file) = self.create()?;
            debug_assert_eq!(temporary.parent(), path.parent(), "it takes the place at once, of one folder");
            let mut put = || {
                file.set_permissions(Permissions::from_mode(MODE))?;
                if let Some(owner) = owner {
                    let group = fs::metadata(&self.folder)?.gid();
                    fchown(&file, Some(owner.as_raw()), Some(group))?;
                }
                file.write_all(text)?;
                file.sync_all()?;
                fs::rename(&temporary, &path)
            };
            put().inspect_err(|_| drop(fs::remove_file(&temporary)))
        })
    }

    /// Removes the crontab of a user. Returns whether there was one.
    ///
    /// # Errors
    ///
    /// The operating system's.
    pub fn remove(&self, user: &str) -> io::Result<bool> {
        let path = self.path(user)?;
        match self.group.with(|| fs::remove_file(&path)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            done => done.map(|()| true),
        }
    }

    /// The text of a file such as cron.allow, which the group may read; `None` if there is none.
    ///
    /// # Errors
    ///
    /// The operating system's.
    pub fn text(&self, path: &Path, bytes_max: u64) -> io::Result<Option<String>> {
        let bytes = read(path, bytes_max, &self.group)?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn create(&self) -> io::Result<(PathBuf, File)> {
        for number in 0..MAX_NAMES {
            let path = self.folder.join(format!("{TEMPORARY}{}.{number}", std::process::id()));
            match File::options().write(true).create_new(true).mode(MODE).open(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                opened => return Ok((path, opened?)),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    fn path(&self, user: &str) -> io::Result<PathBuf> {
        let is_bad = user.is_empty() || user.starts_with(['.', '-']) || user.contains(['/', '\0']);
        if is_bad || user.starts_with(TEMPORARY) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "no crontab can have the name of this user"));
        }
        let path = self.folder.join(user);
        assert_eq!(path.parent(), Some(self.folder.as_path()), "no name leads out of the folder");
        Ok(path)
    }
}

fn read(path: &Path, bytes_max: u64, group: &LentGroup) -> io::Result<Option<Vec<u8>>> {
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits();
    let opened = group.with(|| File::options().read(true).custom_flags(flags).open(path));
    let file = match opened {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    read_whole(file, bytes_max).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;
    use std::os::unix::fs::symlink;

    fn spool(name: &str) -> Spool {
        let folder = scratch::path(name);
        fs::create_dir_all(&folder).unwrap();
        Spool::at(folder, LentGroup::put_away().unwrap())
    }

    #[test]
    fn a_crontab_is_replaced_whole_and_nothing_else_is_left() {
        let spool = spool("spool-replace");
        assert_eq!((spool.read("mara", 9).unwrap(), spool.remove("mara").unwrap()), (None, false));
        // What a killed process of this number has left is not written to.
        let left = spool.folder.join(format!("{TEMPORARY}{}.0", std::process::id()));
        fs::write(&left, "half").unwrap();
        spool.replace("mara", b"one\n", None).unwrap();
        spool.replace("mara", b"two\n", None).unwrap();
        assert_eq!(spool.read("mara", 9).unwrap().unwrap(), b"two\n");
        assert!(spool.read("mara", 3).is_err(), "it is too long");
        let mode = fs::metadata(spool.folder.join("mara")).unwrap().mode();
        assert_eq!((mode & 0o7777, fs::read_to_string(&left).unwrap()), (MODE, "half".to_owned()));
        assert_eq!(fs::read_dir(&spool.folder).unwrap().count(), 2);
        assert!(spool.remove("mara").unwrap());
    }

    #[test]
    fn no_name_and_no_link_leads_elsewhere() {
        let spool = spool("spool-names");
        for name in ["", ".", "..", "../x", "a/b", "tmp.1", ".x", "-x", "a\0b"] {
            assert!(spool.replace(name, b"", None).is_err() && spool.read(name, 9).is_err(), "{name}");
        }
        let target = scratch::path("spool-target");
        fs::write(&target, "secret").unwrap();
        symlink(&target, spool.folder.join("mara")).unwrap();
        assert!(spool.read("mara", 9).is_err());
        // The link is replaced, and what it leads to is as it was.
        spool.replace("mara", b"x\n", None).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "secret");
        assert_eq!(spool.read("mara", 9).unwrap().unwrap(), b"x\n");
    }
}
