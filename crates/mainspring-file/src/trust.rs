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
//! Cost: none; the facts come with the file.
//!
//! Does not look at anything itself.
//!
//! Source: cron(8) of Debian refuses crontabs by the same rule, links among them.

use std::fmt;

use mainspring_host::walk::{Doubt, OTHERS_MAY_WRITE};

/// What the file system says of a file that was read, at the moment it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ownership {
    /// The number of its owner.
    pub uid: u32,
    /// Its permission bits.
    pub mode: u32,
    /// Who else could have put it there.
    pub doubt: Option<Doubt>,
}

/// Why a file is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Distrust {
    /// Another user owns it.
    Owner(u32),
    /// Its group or everybody may write it.
    Writable(u32),
    /// Another user could have put it there.
    Chosen(Doubt),
}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distrust::Owner(uid) => write!(f, "it belongs to user {uid}: make it yours with chown"),
            Distrust::Writable(mode) => {
                write!(f, "its mode {mode:04o} lets others write it: take that away with chmod go-w")
            }
            Distrust::Chosen(doubt) => doubt.fmt(f),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_owner_and_root_may_have_written_it() {
        let file = |uid, mode| Ownership { uid, mode, doubt: None };
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
