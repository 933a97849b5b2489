//! A way through folders that others may have prepared.
//!
//! ```text
//! /home/bob/token     /      root's, 0755     no other user decides what is in it
//!                     home   root's, 0755     nor in this
//!                     bob    bob's            bob decides from here on which file it is
//!                     token  a link to /etc/shadow, root's: bob has chosen a file that is not his. A doubt.
//! ```
//!
//! The path is walked folder by folder. Each folder is held by a descriptor, so that no name is looked up
//! twice. The walk notes which users could have chosen another file. The owner of the file could have written
//! it as well, so a choice of the owner is no doubt: links of a deploy are followed if root, this process's
//! user, or the owner of the file made them.
//!
//! | on the way is | chosen by |
//! |---|---|
//! | a folder of root's or ours that others may not write | no other user; links in it are followed |
//! | a folder of another user | that user: for root in any case, for others if a link in it is followed |
//! | a folder that others may write | all of them, if we are root |
//! | the same with the sticky bit (`/tmp`) | the owner of the file that is found there; that file may have one name only |
//!
//! Cost: three system calls for each folder of the path.
//!
//! Does not judge the owner of the file: that depends on the purpose of the file.
//!
//! Source: the secure path of sshd, auth_secure_path in OpenSSH's misc.c; `fs.protected_symlinks` of Linux;
//! SymLinksIfOwnerMatch of Apache's httpd.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{open, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};
use nix::unistd::Uid;

use crate::doubt::{Doubt, OTHERS_MAY_WRITE};
use crate::sys::{Entry, FOLDER, mode};

/// The most links that are followed for one path: as many as Linux follows.
const MAX_LINKS: usize = 40;

const STICKY: u32 = 0o1000;

/// What stands at the end of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    File,
    Folder,
    Socket,
}

impl End {
    fn kind(self) -> SFlag {
        match self {
            End::File => SFlag::S_IFREG,
            End::Folder => SFlag::S_IFDIR,
            End::Socket => SFlag::S_IFSOCK,
        }
    }

    /// What is said where something else is there.
    fn other(self) -> io::Error {
        match self {
            End::File => io::Error::other("it is no regular file"),
            End::Folder => Errno::ENOTDIR.into(),
            End::Socket => io::Error::other("it is no socket"),
        }
    }
}

/// A way through folders.
pub(crate) struct Walk {
    is_root: bool,
    /// Who may choose: root, we, and the owner of the root of the file system.
    trusted: [u32; 3],
    pub(crate) folder: OwnedFd,
    /// What `folder` is.
    pub(crate) found: FileStat,
    /// Where `folder` is; at the end the file or socket in it.
    pub(crate) path: PathBuf,
    /// What is still to go, the next step last.
    rest: Vec<OsString>,
    /// The name of the file or socket in `folder`.
    pub(crate) last: OsString,
    links_left: usize,
    /// Who could have chosen, `None` for more than one user.
    doubts: Vec<(Option<u32>, Doubt)>,
}

impl Walk {
    /// Begins at the root of the file system.
    pub(crate) fn to(path: &Path) -> io::Result<Walk> {
        if path.as_os_str().is_empty() {
            return Err(Errno::ENOENT.into());
        }
        let folder = root()?;
        let found = fstat(&folder)?;
        let us = Uid::effective();
        let mut walk = Walk {
            is_root: us.is_root(),
            trusted: [0, us.as_raw(), found.st_uid],
            folder,
            found,
            path: PathBuf::from("/"),
            rest: Vec::new(),
            last: OsString::new(),
            links_left: MAX_LINKS,
            doubts: Vec::new(),
        };
        walk.add(&std::path::absolute(path)?);
        Ok(walk)
    }

    /// Goes to the end, and returns what is there.
    pub(crate) fn run(&mut self, end: End) -> io::Result<FileStat> {
        debug_assert!(self.last.is_empty(), "a way is gone once");
        while let Some(step) = self.rest.pop() {
            if step == ".." {
                self.enter(openat(&self.folder, "..", FOLDER, Mode::empty())?)?;
                self.path.pop();
                continue;
            }
            let entry = Entry::at(&self.folder, &step)?;
            let found = entry.found;
            self.judge_folder(kind(&found) == SFlag::S_IFLNK);
            self.judge_entry(&step, &found);
            match kind(&found) {
                SFlag::S_IFLNK => self.follow(&entry)?,
                SFlag::S_IFDIR => {
                    self.enter(entry.into_folder()?)?;
                    self.path.push(&step);
                }
                kind if self.rest.is_empty() && end.kind() == kind => {
                    self.path.push(&step);
                    self.last = step;
                    return Ok(found);
                }
                _ if !self.rest.is_empty() => return Err(Errno::ENOTDIR.into()),
                _ => return Err(end.other()),
            }
        }
        match end {
            End::Folder => Ok(self.found),
            End::File => Err(Errno::EISDIR.into()),
            End::Socket => Err(end.other()),
        }
    }

    /// Puts the steps of a path before those that are left.
    fn add(&mut self, path: &Path) {
        let steps = path.components().rev().filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        });
        self.rest.extend(steps);
    }

    fn enter(&mut self, folder: OwnedFd) -> io::Result<()> {
        self.found = fstat(&folder)?;
        self.folder = folder;
        Ok(())
    }

    fn follow(&mut self, link: &Entry) -> io::Result<()> {
        self.links_left = self.links_left.checked_sub(1).ok_or(Errno::ELOOP)?;
        let target = link.target()?;
        let target = Path::new(&target);
        if target.is_absolute() {
            self.enter(root()?)?;
            self.path = PathBuf::from("/");
        }
        self.add(target);
        Ok(())
    }

    /// Who could put something else into the folder that the walk is in.
    pub(crate) fn judge_folder(&mut self, holds_link: bool) {
        let (uid, mode) = (self.found.st_uid, mode(&self.found));
        if !self.trusts(uid) && (self.is_root || holds_link) {
            self.doubts.push((Some(uid), Doubt::Owner { folder: self.path.clone(), uid }));
        }
        let is_open = mode & OTHERS_MAY_WRITE != 0 && mode & STICKY == 0;
        if is_open && self.is_root {
            self.doubts.push((None, Doubt::Writable { folder: self.path.clone(), mode }));
        }
    }

    /// Who could have put this into a folder where everybody may put things, and only their owners take them
    /// away.
    fn judge_entry(&mut self, name: &OsStr, entry: &FileStat) {
        let folder = mode(&self.found);
        if folder & OTHERS_MAY_WRITE == 0 || folder & STICKY == 0 {
            return;
        }
        let (path, uid) = (self.path.join(name), entry.st_uid);
        if !self.trusts(uid) {
            self.doubts.push((Some(uid), Doubt::Entry { path, uid }));
        } else if kind(entry) != SFlag::S_IFDIR && 1 < entry.st_nlink {
            self.doubts.push((None, Doubt::Names { path }));
        }
    }

    fn trusts(&self, uid: u32) -> bool {
        self.trusted.contains(&uid)
    }

    /// The first doubt that is not about the owner of what was found.
    pub(crate) fn doubt(&self, owner: Option<u32>) -> Option<Doubt> {
        let about_others = |(chooser, _): &(Option<u32>, Doubt)| chooser.is_none() || *chooser != owner;
        self.doubts.iter().find(|&known| about_others(known)).map(|(_, doubt)| doubt.clone())
    }
}

/// What has this name in a folder, whatever it is, without following it; `None` if nothing has.
pub(crate) fn hold(folder: impl AsFd, name: &OsStr) -> io::Result<Option<Entry>> {
    match Entry::at(folder, name) {
        Err(Errno::ENOENT) => Ok(None),
        other => Ok(Some(other?)),
    }
}

fn root() -> io::Result<OwnedFd> {
    Ok(open("/", FOLDER, Mode::empty())?)
}

pub(crate) fn kind(found: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT
}
