//! A budget for the jobs of one file, of all files of one request, or of all files of one folder: what they
//! make is bounded, and not only their length.
//!
//! ```text
//! settings x entries, [defaults] x jobs ─▶ jobs, each with all that holds for it ─▶ taken from the budget, job by job
//! ```
//!
//! A job has its whole definition: as text, as the body of its action and as its hook. So a file of n lines
//! can make n x n of them.
//!
//! | budget | is of | what is beyond it |
//! |---|---|---|
//! | [`MAX_MADE_BYTES`] | the author of a file, or of a request with several | is not read |
//! | [`MAX_FOLDER_BYTES`] | the users who may write the folder | the file that goes beyond it; what is in force has its place |
//!
//! So no file takes another out of force: a file that grows beyond the rest of its folder's budget is refused
//! as one with a fault is, and what was read of it before stays.
//!
//! Cost: one look at each job.
//!
//! Does not limit files that are named one by one: a person counts them.

use crate::problem::Fault;
use crate::source::MAX_FILE_BYTES;

/// What the jobs of one file may take. It is enough for the most jobs of a job file with six KiB each, and
/// for some 60,000 entries of a crontab.
pub const MAX_MADE_BYTES: usize = 64 << 20;

// A file whose jobs share nothing makes some copies of it.
const _: () = assert!(16 * MAX_FILE_BYTES <= MAX_MADE_BYTES as u64);
const _: () = assert!(4 * MAX_MADE_BYTES <= MAX_FOLDER_BYTES);

/// What the files of one folder may take, with their texts: four of the largest, or some thousands of small
/// ones.
pub const MAX_FOLDER_BYTES: usize = 256 << 20;

/// What is left for the jobs of a file, of a request, or of a folder.
#[derive(Clone, Debug)]
pub struct Budget {
    left: usize,
    owner: Owner,
    is_exceeded: bool,
}

/// Whose budget it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Author,
    Folder,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { left: MAX_MADE_BYTES, owner: Owner::Author, is_exceeded: false }
    }
}

impl Budget {
    /// The budget of a file with a text of this length, in a folder whose other files take so much.
    ///
    /// # Errors
    ///
    /// A fault without a place if its text alone is more than is left.
    pub(crate) fn beside(others_bytes: usize, text_bytes: usize) -> Result<Budget, Fault> {
        let left = MAX_FOLDER_BYTES.saturating_sub(others_bytes);
        let mut budget = Budget { left, owner: Owner::Folder, is_exceeded: false };
        budget.take_bytes(text_bytes)?;
        Ok(if budget.left < MAX_MADE_BYTES { budget } else { Budget::default() })
    }

    /// Takes so many bytes.
    ///
    /// # Errors
    ///
    /// A fault without a place if that is more than is left: nothing may be made after it.
    pub(crate) fn take_bytes(&mut self, bytes: usize) -> Result<(), Fault> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.is_exceeded = true;
                Err(self.fault())
            }
        }
    }

    /// Whether more was asked of a folder's budget than was left.
    pub(crate) fn is_of_full_folder(&self) -> bool {
        self.is_exceeded && self.owner == Owner::Folder
    }

    fn fault(&self) -> Fault {
        let (message, hint) = match self.owner {
            Owner::Author => (
                format!(
                    "the jobs up to here take more than {} MiB, with what holds for all of them",
                    MAX_MADE_BYTES >> 20
                ),
                "give fewer jobs in one file or at once, or less in the defaults or settings that each job gets",
            ),
            Owner::Folder => (
                format!(
                    "the files of this folder take more than {} MiB, with the jobs up to here",
                    MAX_FOLDER_BYTES >> 20
                ),
                "serve this file by its own name, or have fewer or shorter files in the folder",
            ),
        };
        Fault::new(0..0, message).with_hint(hint)
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::crontab::Format;
    use crate::jobfile::{MAX_JOBS, PlacedJob};
    use crate::loaded_file::LoadedFile;
    use crate::source::Source;

    #[test]
    fn the_job_at_which_the_budget_ends_is_a_problem_at_its_place() {
        let defaults = format!("[defaults]\nnotify = 'a {}'\n", "x".repeat(1 << 20));
        let job = |index: usize| format!("[jobs.j{index:03}]\nevery = '1m'\nshell = 'a'\n");
        let jobs: String = (0..100).map(job).collect();
        let value = "x".repeat(15 << 10);
        let setting = |index: usize| format!("A{index}={value}\n");
        let settings: String = (0..10).map(setting).collect();
        let files = [("a.toml", defaults + &jobs, 7), ("a", settings + &"@daily a\n".repeat(400), 1)];
        for (name, text, column) in files {
            let loaded = LoadedFile::parse(&Source::new(name, text), Format::User, &TimeZone::UTC);
            let made: usize = loaded.jobs.iter().map(PlacedJob::weight).sum();
            assert!(!loaded.is_good() && MAX_MADE_BYTES / 2 < made && made <= MAX_MADE_BYTES, "{made}");
            let [problem] = loaded.problems.as_slice() else { panic!("{}", loaded.problems.len()) };
            let last = loaded.jobs.last().expect("some have a place").line_number;
            assert!(last < problem.line_number && problem.line_number <= last + 3, "{name}");
            assert_eq!(problem.column(), column);
            assert!(problem.fault.message.contains("more than 64 MiB"), "{}", problem.fault.message);
        }
    }

    #[test]
    fn the_files_of_one_request_have_one_budget() {
        let text = |name: usize| {
            let value = "x".repeat(15 << 10);
            let settings: String = (0..10).map(|index| format!("A{index}={value}\n")).collect();
            (name.to_string(), settings + &"@daily a\n".repeat(100))
        };
        let mut budget = Budget::default();
        let read = |(name, text): (String, String)| {
            let kind = Format::User.into();
            LoadedFile::parse_within(&Source::new(name, text), &kind, &TimeZone::UTC, &mut budget)
        };
        let files: Vec<LoadedFile> = (0..4).map(text).map(read).collect();
        let made: usize = files.iter().flat_map(|file| &file.jobs).map(PlacedJob::weight).sum();
        assert!(MAX_MADE_BYTES / 2 < made && made <= MAX_MADE_BYTES, "{made}");
        assert_eq!([files[0].is_good(), files[3].is_good()], [true, false], "each alone is within it");
        let message = &files[3].problems[0].fault.message;
        assert!(message.contains("more than 64 MiB"), "{message}");
    }

    #[test]
    fn the_files_of_one_folder_have_one_budget_and_none_takes_that_of_another() {
        let value = "x".repeat(15 << 10);
        let settings: String = (0..10).map(|index| format!("A{index}={value}\n")).collect();
        let source = Source::new("a", settings + &"@daily a\n".repeat(100));
        let beside = |others| LoadedFile::parse_beside(&source, &Format::User.into(), &TimeZone::UTC, others);
        let alone = beside(0);
        let taken = alone.weight();
        assert!(alone.is_good() && source.bytes().len() < taken, "{taken}");
        assert!(beside(MAX_FOLDER_BYTES - taken).is_good(), "it fits exactly");
        // Without room for its last job, for any job, and for its text.
        for others in
            [MAX_FOLDER_BYTES - taken + 1, MAX_FOLDER_BYTES - source.bytes().len(), MAX_FOLDER_BYTES]
        {
            let loaded = beside(others);
            let [problem] = loaded.problems.as_slice() else { panic!("{}", loaded.problems.len()) };
            assert!(!loaded.is_good() && problem.fault.message.contains("more than 256 MiB"), "{others}");
            assert_eq!(loaded.weight(), 0, "nothing of it is kept");
        }
        let comments = Source::new("a", "#\n".repeat(100));
        let loaded =
            LoadedFile::parse_beside(&comments, &Format::User.into(), &TimeZone::UTC, MAX_FOLDER_BYTES - 199);
        assert!(!loaded.is_good(), "a text without jobs counts too");
    }

    #[test]
    fn the_most_jobs_with_ordinary_defaults_and_twenty_thousand_entries_with_ten_settings_are_within_it() {
        let defaults = "[defaults]\nzone = 'Europe/Berlin'\nuser = 'batch'\ncwd = '/srv/batch'\ntimeout = '1h'\n\
            retry = { max = 3, backoff = '10s' }\nexclude_dates = ['2026-12-24', '2026-12-25']\n\
            notify = ['mailto:ops@example.com', 'https://example.com/hook']\n[defaults.env]\n\
            PATH = '/usr/local/bin:/usr/bin:/bin'\nLANG = 'C.UTF-8'\nDATABASE = 'postgres://db.example.com/orders'\n";
        let job = |index: usize| {
            format!(
                "[jobs.report-of-shop-{index}]\ncron = '30 2 * * *'\nshell = '/srv/batch/report --shop {index}'\n"
            )
        };
        let setting = |index: usize| format!("SETTING_{index}=/usr/local/bin:/usr/bin:/bin:{index}\n");
        let settings: String = (0..10).map(setting).collect();
        let entry = |index: usize| format!("30 2 * * * /srv/batch/report --shop {index} >/dev/null\n");
        let (jobs, entries) = ((0..100).map(job), (0..100).map(entry));
        let files = [
            ("a.toml", defaults.to_owned() + &jobs.collect::<String>(), MAX_JOBS),
            ("a", settings + &entries.collect::<String>(), 20_000),
        ];
        for (name, text, count) in files {
            let loaded = LoadedFile::parse(&Source::new(name, text), Format::User, &TimeZone::UTC);
            assert_eq!((loaded.problems.as_slice(), loaded.jobs.len()), (&[][..], 100));
            let made: usize = loaded.jobs.iter().map(PlacedJob::weight).sum();
            assert!(made / 100 * count <= MAX_MADE_BYTES, "{name}: {} a job", made / 100);
        }
    }
}
