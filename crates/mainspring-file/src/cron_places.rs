//! The places of Debian's cron: where it finds crontabs, and by which rules it takes them.
//!
//! | place | users | names | its files |
//! |---|---|---|---|
//! | /etc/crontab | a column | that one | root's, which root alone may write; one hard link |
//! | /etc/cron.d | a column | letters, digits, `_` and `-` | the same; links of root's are followed |
//! | /var/spool/cron/crontabs | the name of the file | all but hidden ones and `tmp.` | the user's or root's; mode 0600; no links |
//!
//! Jobs of a user's crontab are called NAME@USER: see [`names`](crate::crontab::names).
//!
//! All of them lie below a root, which is `/` but for tests.
//!
//! Cost: a look at cron's folder for each file.
//!
//! Does not read the files: [`Reader`](crate::loaded_file::Reader) does.
//!
//! Source: cron(8) and crontab(1) of Debian; what Debian's cron 3.0pl1-162 served and refused.

use std::path::{Path, PathBuf};

use crate::crontab::Format;
use crate::crontab::habits::Habits;
use crate::folder::NameRule;

/// The crontab of the system.
const TABLE: &str = "etc/crontab";
/// The folder of the crontabs of packages.
const FOLDER: &str = "etc/cron.d";
/// The folder of cron, where it starts what has no home. Where it is not there, that is `/`.
const CRON_FOLDER: &str = "var/spool/cron";
/// The crontabs of users.
const SPOOL: &str = "var/spool/cron/crontabs";
/// What PAM gives a session of cron.
const VARIABLES: [&str; 2] = ["etc/environment", "etc/default/locale"];
/// Where cron keeps that `@reboot` has been served since the machine was started.
const REBOOT: &str = "run/crond.reboot";
/// Who may have a crontab, and who may not.
const ACCESS: [&str; 2] = ["etc/cron.allow", "etc/cron.deny"];

/// The places below a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronPlaces {
    root: PathBuf,
}

/// Which of the places a file is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// /etc/crontab, or a file in /etc/cron.d.
    System,
    /// A user's crontab.
    Spool,
}

impl CronPlaces {
    /// The places below this folder.
    pub fn below(root: &Path) -> CronPlaces {
        CronPlaces { root: root.to_owned() }
    }

    /// Whether any of the places is there.
    pub fn are_there(&self) -> bool {
        [TABLE, FOLDER, CRON_FOLDER].iter().any(|path| self.root.join(path).exists())
    }

    /// The folders, and which of their files are crontabs.
    pub fn folders(&self) -> [(PathBuf, NameRule); 3] {
        let folder = |path: &str| self.root.join(path);
        [
            (folder("etc"), NameRule::Only("crontab")),
            (folder(FOLDER), NameRule::Cron),
            (folder(SPOOL), NameRule::Spool),
        ]
    }

    /// The folder of the crontabs of users.
    pub fn spool(&self) -> PathBuf {
        self.root.join(SPOOL)
    }

    /// The file that is there when `@reboot` has been served since the machine was started.
    pub fn reboot(&self) -> PathBuf {
        self.root.join(REBOOT)
    }

    /// The files cron.allow and cron.deny.
    pub fn access(&self) -> [PathBuf; 2] {
        ACCESS.map(|path| self.root.join(path))
    }

    /// What kind of crontab a file is, if it is in one of the places.
    pub fn kind(&self, path: &Path) -> Option<Kind> {
        let folder = path.parent()?;
        let (place, format, user) = if path == self.root.join(TABLE) || folder == self.root.join(FOLDER) {
            (Place::System, Format::System, None)
        } else if folder == self.root.join(SPOOL) {
            (Place::Spool, Format::User, path.file_name().map(|name| name.to_string_lossy().into_owned()))
        } else {
            return None;
        };
        let folder = self.root.join(CRON_FOLDER);
        let habits = Habits {
            user,
            pam_env: VARIABLES.map(|path| self.root.join(path)).to_vec(),
            cwd_else: Some(if folder.is_dir() { folder } else { "/".into() }),
            are_crons: true,
        };
        Some(Kind { format, habits, place: Some(place) })
    }
}

/// What kind of crontab a file is.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Whether it has a column of users.
    pub format: Format,
    /// What cron does beside what it says.
    pub habits: Habits,
    /// Which of cron's places it is in.
    pub place: Option<Place>,
}

impl From<Format> for Kind {
    /// One that is served as it is.
    fn from(format: Format) -> Kind {
        Kind { format, habits: Habits::default(), place: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_folder() {
        let places = CronPlaces::below(Path::new("/"));
        let kind = |path: &str| places.kind(Path::new(path));
        let of = |path: &str| kind(path)?.place;
        assert_eq!(of("/etc/crontab"), Some(Place::System));
        assert_eq!(of("/etc/cron.d/certbot"), Some(Place::System));
        assert_eq!(of("/var/spool/cron/crontabs/mara"), Some(Place::Spool));
        assert_eq!([of("/etc/anacrontab"), of("/etc/cron.d/a/b"), of("/srv/etc/crontab")], [None; 3]);
        let user = |path: &str| kind(path).unwrap().habits.user;
        assert_eq!(user("/var/spool/cron/crontabs/mara").as_deref(), Some("mara"));
        assert_eq!(user("/etc/crontab"), None);
    }
}
