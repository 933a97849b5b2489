//! Whether a file's commands may be run: who else could have written them?
//!
//! | the file is | owned by us or root, writable by its owner alone | owned by another | writable by group or all |
//! |---|---|---|---|
//! | read by root, or names a user to become | trusted | refused | refused |
//! | read by anybody else | trusted | trusted | trusted |
//!
//! Whoever may write a file of root's jobs is root. For other users the file's owner can harm them as well as themselves
//! only with their consent, as with any script that they start.
//!
//! Cost: none; the facts come with the file.
//!
//! Does not look at the directories above the file: their owners could replace it.
//!
//! Source: cron(8) of Debian refuses crontabs by the same rule.

use std::fmt;

use crate::source::Ownership;

/// The permission bits that let others write.
const OTHERS_MAY_WRITE: u32 = 0o022;

/// Why a file is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distrust {
    /// Another user owns it.
    Owner(u32),
    /// Its group or everybody may write it.
    Writable(u32),
}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distrust::Owner(uid) => write!(f, "it belongs to user {uid}: make it yours with chown"),
            Distrust::Writable(mode) => {
                write!(f, "its mode {mode:04o} lets others write it: take that away with chmod go-w")
            }
        }
    }
}

/// Judges a file that user `us` has read, who is root or would become another user for its commands.
///
/// # Errors
///
/// Why it is refused.
pub fn judge(file: Ownership, us: u32) -> Result<(), Distrust> {
    if file.uid != us && file.uid != 0 {
        return Err(Distrust::Owner(file.uid));
    }
    if file.mode & OTHERS_MAY_WRITE != 0 {
        return Err(Distrust::Writable(file.mode));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_owner_and_root_may_have_written_it() {
        let file = |uid, mode| Ownership { uid, mode };
        assert_eq!(judge(file(0, 0o644), 0), Ok(()));
        assert_eq!(judge(file(0, 0o600), 1000), Ok(()));
        assert_eq!(judge(file(1000, 0o644), 0), Err(Distrust::Owner(1000)));
        assert_eq!(judge(file(0, 0o664), 0), Err(Distrust::Writable(0o664)));
        assert_eq!(judge(file(7, 0o646), 7), Err(Distrust::Writable(0o646)));
    }
}
