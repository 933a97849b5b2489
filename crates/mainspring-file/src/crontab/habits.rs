//! Habits of a cron: what becomes of the entries of a crontab beside what its lines say.
//!
//! | habit | by default | where cron's own places are served |
//! |---|---|---|
//! | who runs an entry that names no user | the user of the server | the user whose crontab it is |
//! | places of an entry without a group | those of the server | of a user's crontab at most `MAX_USER_RUNS` |
//! | its open runs | those of the server | of a user's crontab at most `MAX_USER_OPEN` |
//! | entries | as many as a file has | in a user's crontab at most `MAX_USER_ENTRIES` |
//! | variables of the system | none | of /etc/environment and /etc/default/locale |
//! | a home that cannot be entered | fails the run | the command starts in cron's folder |
//! | output without MAILTO | is kept | is kept, and mailed to the user |
//! | an entry that is due while a run of it still runs | is skipped | starts, unless its note says otherwise |
//! | run-parts of /etc/cron.daily and the like | is caught up within the window | whatever the window, as anacron does |
//!
//! Cost: none.
//!
//! Does not know the places: see [`cron_places`](crate::cron_places).
//!
//! Source: cron(8) and anacron(8) of Debian; what Debian's cron 3.0pl1-162 did.

use std::path::PathBuf;
use std::time::Duration;

use mainspring_job::{Group, JobName, MAX_NAME_CHARS, Overlap, Policies};

use super::note::Note;

/// The folders whose scripts anacron also runs, but for that of each hour.
const FOLDERS: [&str; 4] = ["/etc/cron.daily", "/etc/cron.weekly", "/etc/cron.monthly", "/etc/cron.yearly"];

/// As long as a window can be: about a century.
const ALWAYS: Duration = Duration::from_secs(36_525 * 86_400);

/// How many runs of a user's crontab go on at a time: a quarter of the places that a server has, so that no
/// user keeps root's jobs from starting.
const MAX_USER_RUNS: u32 = 64;

/// How many runs of a user's crontab are open, those that wait among them: a tenth of what a server has, so
/// that no user keeps root's jobs from being planned.
pub(crate) const MAX_USER_OPEN: u32 = 10_000;

/// How many entries a user's crontab has: as many as Debian's cron takes lines, and a tenth of the jobs that
/// a server knows.
pub(super) const MAX_USER_ENTRIES: usize = 10_000;

/// The keys of a note that are not for users: they say who waits for whom.
const OF_ROOT: [&str; 2] = ["group", "priority"];

/// The longest name of a user, as Linux has it.
pub(super) const MAX_USER_CHARS: usize = 32;

const _: () = assert!(MAX_USER_CHARS + "@".len() < MAX_NAME_CHARS, "a part of the name is left");

/// What holds for all entries of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Habits {
    /// Who runs the entries that name no user.
    pub user: Option<String>,
    /// Files of variables, as PAM reads them.
    pub pam_env: Vec<PathBuf>,
    /// Where a command starts whose user has no home.
    pub cwd_else: Option<PathBuf>,
    /// Whether the rest is as with cron: mails to users, runs that overlap, what anacron would run.
    pub are_crons: bool,
}

impl Habits {
    /// The group of the jobs of a user's crontab.
    pub fn group(&self) -> Option<Group> {
        self.user.as_ref()?;
        let name = JobName::new("crontab").expect("a word is a name");
        Some(Group::new(self.named(name), MAX_USER_RUNS).with_max_open(MAX_USER_OPEN))
    }

    /// The name of a job: in the crontab of a user it has the user behind it. The longest are cut.
    pub fn named(&self, name: JobName) -> JobName {
        let Some(user) = &self.user else { return name };
        let is_fit = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let user: String = user.chars().filter(is_fit).take(MAX_USER_CHARS).collect();
        let begin: String = name.as_str().chars().take(MAX_NAME_CHARS - 1 - user.len()).collect();
        JobName::new(&format!("{begin}@{user}")).expect("a name, @ and letters are a name")
    }

    /// The key of a note that is not for the crontab of a user, if it is one.
    pub fn refused_key<'n>(&self, note: &'n Note) -> Option<&'n str> {
        let is_refused = |key: &&String| self.user.is_some() && OF_ROOT.contains(&key.as_str());
        note.keys.iter().find(is_refused).map(String::as_str)
    }

    /// The policies of an entry that does `command`, with what its note says.
    pub fn policies(&self, note: &Note, command: &str) -> Policies {
        let mut policies = note.policies.clone();
        let is_open = |key: &str| self.are_crons && !note.keys.iter().any(|named| named == key);
        if is_open("overlap") {
            policies.overlap = Overlap::Allow;
        }
        if is_open("misfire") && is_of_anacron(command) {
            policies.misfire.window = ALWAYS;
        }
        policies
    }
}

/// Whether a command runs the scripts of one of the folders.
fn is_of_anacron(command: &str) -> bool {
    let is_end = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "._-".contains(c));
    let names =
        |folder: &str| command.match_indices(folder).any(|(at, _)| is_end(&command[at + folder.len()..]));
    command.contains("run-parts") && FOLDERS.into_iter().any(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_anacron_would_run_is_caught_up_whatever_the_window() {
        let habits = Habits { are_crons: true, ..Habits::default() };
        let window = |habits: &Habits, note: &str, command: &str| {
            let note = if note.is_empty() { Note::default() } else { Note::parse(note).unwrap() };
            habits.policies(&note, command).misfire.window
        };
        let weekly = "test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.weekly; }";
        let usual = Policies::default().misfire.window;
        assert_eq!(window(&habits, "", weekly), ALWAYS);
        assert_eq!(window(&Habits::default(), "", weekly), usual);
        assert_eq!(window(&habits, "misfire=latest,window=2h", weekly), Duration::from_secs(7_200));
        let others = ["run-parts /etc/cron.hourly", "run-parts /etc/cron.daily2", "ls /etc/cron.daily"];
        assert_eq!(others.map(|command| window(&habits, "", command)), [usual; 3]);
    }

    #[test]
    fn a_name_in_a_user_s_crontab_has_the_user_behind_it() {
        let named = |user: Option<&str>, name: &str| {
            let habits = Habits { user: user.map(str::to_owned), ..Habits::default() };
            habits.named(JobName::new(name).unwrap()).to_string()
        };
        assert_eq!(named(None, "backup"), "backup");
        assert_eq!(named(Some("mara"), "backup"), "backup@mara");
        assert_eq!(named(Some("_apt$ä"), "a"), "a@_apt");
        let long = named(Some(&"u".repeat(99)), &"n".repeat(MAX_NAME_CHARS));
        assert!(long.len() == MAX_NAME_CHARS && long.ends_with(&format!("n@{}", "u".repeat(32))), "{long}");
    }

    #[test]
    fn runs_overlap_as_with_cron_unless_a_note_says_otherwise() {
        let overlap = |are_crons, note: &str| {
            let habits = Habits { are_crons, ..Habits::default() };
            habits.policies(&Note::parse(note).unwrap(), "true").overlap
        };
        assert_eq!(overlap(true, "name=a"), Overlap::Allow);
        assert_eq!(overlap(true, "overlap=skip"), Overlap::Skip);
        assert_eq!(overlap(false, "name=a"), Overlap::Skip);
    }

    #[test]
    fn a_user_has_a_tenth_of_what_a_planner_has_for_all() {
        let limits = mainspring_job::Limits::default();
        assert_eq!(usize::try_from(MAX_USER_OPEN).unwrap() * 10, limits.max_open);
        assert_eq!(MAX_USER_ENTRIES * 10, limits.max_jobs);
    }
}
