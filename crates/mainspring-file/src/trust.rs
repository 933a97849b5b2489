//! Decides if a file's commands may be run, from the users that could have written the file.
//!
//! | the file is | owned by us or root, writable by its owner alone | owned by another | writable by group or all | put there by another |
//! |---|---|---|---|---|
//! | read by root, or names a user to become | trusted | refused | refused | refused |
//! | read by anybody else | trusted | trusted | trusted | trusted |
//!
//! A user who may write a file of root's jobs has the power of root. So has a user who may put another file
//! of root's in its place, because even a log holds lines that others chose. [`walk`](mainspring_host::walk)
//! finds on the way to a file which users could have done so. A server of any other user trusts every file:
//! its owner can harm that user only with the user's consent, as with any script that the user starts.
//!
//! In cron's own places its rules hold as well: one name for a file, and for the crontab of a user also an
//! owner, a mode and no link.
//!
//! Cost: none; the facts come with the file. In cron's places a look at the folder.
//!
//! Source: cron(8) of Debian refuses crontabs by the same rule, links among them.

use std::fs;
use std::path::Path;

use mainspring_host::doubt::{Doubt, OTHERS_MAY_WRITE};
use mainspring_host::regular::Ownership;
use thiserror::Error;

/// The mode of a user's crontab.
const CRONTAB_MODE: u32 = 0o600;

/// Why a file is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Distrust {
    /// Another user owns it.
    #[error("it belongs to user {0}: make it yours with chown")]
    Owner(u32),
    /// Its group or everybody may write it.
    #[error("its mode {0:04o} lets others write it: take that away with chmod go-w")]
    Writable(u32),
    /// Another user could have put it there.
    #[error("{0}")]
    Chosen(Doubt),
    /// The crontab of a user is another user's.
    #[error("it belongs to user {0}, and a user's crontab is that user's or root's")]
    Foreign(u32),
    /// The crontab of a user has another mode than cron's.
    #[error("its mode is {0:04o}, and that of a user's crontab is 0600")]
    Mode(u32),
    /// It has several names, one of which another user may have made.
    #[error("it has {0} names (hard links), and cron takes one")]
    Names(u64),
    /// The crontab of a user is a link.
    #[error("it is a link, and a user's crontab is a file")]
    Link,
}

/// Judges a file that user `us` has read, who is root or would become another user for its commands.
///
/// # Errors
///
/// Why it is refused.
pub fn judge(file: &Ownership, us: u32) -> Result<(), Distrust> {
    if file.uid != us && file.uid != 0 {
        return Err(Distrust::Owner(file.uid));
    }
    if file.mode & OTHERS_MAY_WRITE != 0 {
        return Err(Distrust::Writable(file.mode));
    }
    file.doubt.clone().map_or(Ok(()), |doubt| Err(Distrust::Chosen(doubt)))
}

/// Judges a file in /etc/crontab or /etc/cron.d as cron does, beside [`judge`]. `path` is what it was called.
///
/// # Errors
///
/// Why it is refused.
pub fn judge_system(file: &Ownership, path: &Path) -> Result<(), Distrust> {
    // What a link of root's leads to may have more names.
    let is_itself_link = || fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_symlink());
    let is_link = file.path.file_name() != path.file_name() || is_itself_link();
    if is_link || file.link_count == 1 { Ok(()) } else { Err(Distrust::Names(file.link_count)) }
}

/// Judges the crontab of the user with this number as cron does. `path` is what it was called.
///
/// # Errors
///
/// Why it is refused.
pub fn judge_spool(file: &Ownership, user: u32, path: &Path) -> Result<(), Distrust> {
    let place = |path: &Path| path.parent().and_then(|folder| fs::canonicalize(folder).ok());
    if file.uid != user && file.uid != 0 {
        return Err(Distrust::Foreign(file.uid));
    }
    if file.mode != CRONTAB_MODE {
        return Err(Distrust::Mode(file.mode));
    }
    if file.link_count != 1 {
        return Err(Distrust::Names(file.link_count));
    }
    if file.path.file_name() != path.file_name() || place(&file.path) != place(path) {
        return Err(Distrust::Link);
    }
    file.doubt.clone().map_or(Ok(()), |doubt| Err(Distrust::Chosen(doubt)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_users_crontab_is_that_users_alone() {
        let path = Path::new("/no/such/spool/mara");
        let good = Ownership { uid: 7, mode: 0o600, link_count: 1, path: path.into(), doubt: None };
        let judged = |file: Ownership| judge_spool(&file, 7, path);
        assert_eq!(judged(good.clone()), Ok(()));
        assert_eq!(judged(Ownership { uid: 0, ..good.clone() }), Ok(()));
        assert_eq!(judged(Ownership { uid: 8, ..good.clone() }), Err(Distrust::Foreign(8)));
        for mode in [0o400, 0o640, 0o644, 0o4600, 0o700] {
            assert_eq!(judged(Ownership { mode, ..good.clone() }), Err(Distrust::Mode(mode)));
        }
        assert_eq!(judged(Ownership { link_count: 2, ..good.clone() }), Err(Distrust::Names(2)));
        let elsewhere = Ownership { path: "/tmp/mine".into(), ..good };
        assert_eq!(judged(elsewhere), Err(Distrust::Link));
    }

    #[test]
    fn only_the_owner_and_root_may_have_written_it() {
        let file = |uid, mode| Ownership { uid, mode, ..Ownership::default() };
        assert_eq!(judge(&file(0, 0o644), 0), Ok(()));
        assert_eq!(judge(&file(0, 0o600), 1000), Ok(()));
        assert_eq!(judge(&file(1000, 0o644), 0), Err(Distrust::Owner(1000)));
        assert_eq!(judge(&file(0, 0o664), 0), Err(Distrust::Writable(0o664)));
        assert_eq!(judge(&file(7, 0o646), 7), Err(Distrust::Writable(0o646)));
        let doubt = Doubt::Owner { folder: "/home/bob".into(), uid: 1000 };
        let chosen = Ownership { doubt: Some(doubt.clone()), ..file(0, 0o644) };
        assert_eq!(judge(&chosen, 0), Err(Distrust::Chosen(doubt)));
    }
}
