//! Users of the system: the user of this process, and the users that a system crontab names.
//!
//! Cost: one look-up in the user database (files, or whatever the system is set up for) per name, before
//! anything runs.
//!
//! Does not check passwords, expiry or PAM rules.
//!
//! Source: passwd(5), getgrouplist(3).

use std::ffi::CString;
use std::io;
use std::path::PathBuf;

use nix::errno::Errno;
use nix::unistd::{Group, Uid, User};

pub use crate::account::{Account, ROOT, Refusal};
pub use crate::identity::Identity;
use crate::sys;

pub mod users;

/// The number of the user that this process runs as.
pub fn own_uid() -> u32 {
    Uid::effective().as_raw()
}

impl Account {
    /// Who runs this program. A user without a line in the user database (as in many containers) is called by
    /// number and lives in `/`.
    ///
    /// # Errors
    ///
    /// When the user database does not answer.
    pub fn ourselves() -> io::Result<Account> {
        let uid = Uid::effective();
        let user = found(User::from_uid(uid))?;
        let (name, home) =
            user.map_or_else(|| (uid.to_string(), PathBuf::from("/")), |user| (user.name, user.dir));
        Ok(Account { name, home, identity: None })
    }

    /// The number of the user.
    pub fn uid(&self) -> u32 {
        self.identity.as_ref().map_or_else(own_uid, |identity| identity.uid.as_raw())
    }

    /// The user of a text `USER` or `USER:GROUP`, for a run that `ourselves` starts. With a group it is the
    /// primary one, else the user's own is.
    ///
    /// # Errors
    ///
    /// See [`Refusal`].
    pub fn chosen(text: &str, ourselves: &Account) -> Result<Account, Refusal> {
        if text == ourselves.name {
            return Ok(ourselves.clone());
        }
        // With a group also for ourselves: the group is another one.
        let (name, group) = text.split_once(':').map_or((text, None), |(name, group)| (name, Some(group)));
        let group = group.map(|group| Group::from_name(group).map_err(|error| Refusal::Lookup(error.into())));
        let group = group.transpose()?.map(|found| found.ok_or(Refusal::UnknownGroup)).transpose()?;
        let user = found(User::from_name(name)).map_err(Refusal::Lookup)?.ok_or(Refusal::Unknown)?;
        if !Uid::effective().is_root() {
            return Err(Refusal::NotRoot { ourselves: ourselves.name.clone() });
        }
        let gid = group.map_or(user.gid, |group| group.gid);
        let c_name = CString::new(user.name.clone()).expect("the name came from a C string");
        // The user's own group is among them only if it is this one, or the user is listed as a member of it.
        let groups = sys::groups(&c_name, gid).ok_or(Refusal::NeedsLinux)?;
        let groups = groups.map_err(|error| Refusal::Lookup(error.into()))?;
        let identity = Identity { uid: user.uid, gid, groups };
        Ok(Account { name: user.name, home: user.dir, identity: Some(identity) })
    }

    /// The home of the user called `name`, if there is such a user.
    ///
    /// # Errors
    ///
    /// When the user database does not answer.
    pub fn home_of(name: &str) -> io::Result<Option<PathBuf>> {
        Ok(found(User::from_name(name))?.map(|user| user.dir))
    }

    /// Whether a user called `name` exists.
    ///
    /// # Errors
    ///
    /// When the user database does not answer.
    pub fn exists(name: &str) -> io::Result<bool> {
        Ok(User::from_name(name)?.is_some())
    }
}

/// What the user database says, where some of its errors say that there is no such user: it may not be there
/// at all, as in a container that holds a program and no more. See getpwnam(3).
fn found(answer: nix::Result<Option<User>>) -> io::Result<Option<User>> {
    match answer {
        Err(Errno::ENOENT | Errno::ESRCH | Errno::EBADF | Errno::EPERM) => Ok(None),
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_name_needs_no_change_of_identity() {
        let ourselves = Account::ourselves().unwrap();
        assert_eq!(Account::chosen(&ourselves.name, &ourselves).unwrap(), ourselves);
    }

    #[test]
    fn an_unknown_user_is_refused() {
        let ourselves = Account::ourselves().unwrap();
        let refusal = Account::chosen("no such user", &ourselves).unwrap_err();
        assert!(matches!(refusal, Refusal::Unknown));
        assert!(!Account::exists("no such user").unwrap());
    }

    #[test]
    fn another_user_is_refused_unless_we_are_root() {
        let ourselves = Account { name: "somebody else".into(), home: "/".into(), identity: None };
        match Account::chosen("root", &ourselves) {
            Ok(root) => assert!(root.identity.is_some_and(|identity| identity.uid.is_root())),
            Err(refusal) => assert!(matches!(refusal, Refusal::NotRoot { .. })),
        }
    }
}
