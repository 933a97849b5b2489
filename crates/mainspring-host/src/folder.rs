//! A folder that is made or used by a path that others may have prepared.
//!
//! ```text
//! make_folder ─▶ what is there of the path: may others put something into it? ─▶ mkdir, 0700 ─▶ judge
//! ```
//!
//! Cost: see [`walk`](crate::walk).
//!
//! Does not look into the folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nix::unistd::Uid;

use crate::doubt::{Doubt, OTHERS_MAY_WRITE};
use crate::private;
use crate::sys::mode;
use crate::walk::{End, Walk};

/// A folder that was looked at.
#[derive(Debug)]
pub struct Folder {
    /// Where it is, without links.
    pub path: PathBuf,
    /// The number of its owner.
    pub uid: u32,
    /// Its permission bits.
    pub mode: u32,
    /// Who else could have chosen it.
    pub doubt: Option<Doubt>,
}

impl Folder {
    /// Looks at the folder at a path.
    ///
    /// # Errors
    ///
    /// The operating system's.
    pub fn at(path: &Path) -> io::Result<Folder> {
        Folder::walked(&mut Walk::to(path)?)
    }

    /// The same by a way that has not begun yet, whose descriptor of the folder the caller needs.
    pub(crate) fn walked(walk: &mut Walk) -> io::Result<Folder> {
        let found = walk.run(End::Folder)?;
        let doubt = walk.doubt(Some(found.st_uid));
        Ok(Folder { path: walk.path.clone(), uid: found.st_uid, mode: mode(&found), doubt })
    }

    /// Whether no user but root and us decides what is in it, and that it is there.
    ///
    /// # Errors
    ///
    /// Who else does, as an error of the kind `PermissionDenied`.
    pub fn judge(&self) -> io::Result<()> {
        let (folder, uid, mode) = (self.path.clone(), self.uid, self.mode);
        if uid != 0 && uid != Uid::effective().as_raw() {
            return Err(Doubt::Owner { folder, uid }.into());
        }
        if mode & OTHERS_MAY_WRITE != 0 {
            return Err(Doubt::Writable { folder, mode }.into());
        }
        self.doubt.clone().map_or(Ok(()), |doubt| Err(doubt.into()))
    }
}

/// Makes a folder for us alone if it is not there, and judges it.
///
/// # Errors
///
/// The operating system's, and those of [`Folder::judge`], also of what the folder is to be made in.
pub fn make_folder(path: &Path) -> io::Result<Folder> {
    let path = std::path::absolute(path)?;
    let parent = path.ancestors().find(|above| fs::symlink_metadata(above).is_ok());
    if let Some(parent) = parent.filter(|parent| *parent != path) {
        let mut walk = Walk::to(parent)?;
        walk.run(End::Folder)?;
        walk.judge_folder(false);
        if let Some(doubt) = walk.doubt(None) {
            return Err(doubt.into());
        }
        private::folder().create(&path)?;
    }
    let folder = Folder::at(&path)?;
    folder.judge()?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_folder_is_made_for_us_alone_and_an_open_one_is_refused() {
        let folder = scratch::path("folder");
        let made = make_folder(&folder.join("a/../b")).unwrap();
        assert_eq!((made.mode, made.path.ends_with("b")), (0o700, true));
        symlink("b", folder.join("link")).unwrap();
        assert_eq!(Folder::at(&folder.join("link/.")).unwrap().path, made.path);
        fs::write(folder.join("file"), "").unwrap();
        assert!(Folder::at(&folder.join("file")).is_err());
        assert!(make_folder(&folder.join("file")).is_err());
        fs::set_permissions(&made.path, Permissions::from_mode(0o1777)).unwrap();
        let error = make_folder(&folder.join("link")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert!(error.to_string().contains("lets others put another there"), "{error}");
    }
}
