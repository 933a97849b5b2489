//! The names of jobs in a crontab whose entries give no name.
//!
//! The name is the word for the command: see [`word`]. If the name is taken, a job of the same file gets a
//! number, as in `echo-2`, and a job of another file gets the name of its file, as in `php-sessionclean`.
//!
//! ```text
//! entries ─┬─ as a job that is known, in this order:
//!          │  schedule and command ─▶ command ─▶ schedule and word ─▶ schedule, if one entry and one job has it ─▶ word
//!          └─ none is: a name that nothing has
//! ```
//!
//! A job that is absent may come back as it was, with its pause. So it is known for the first two
//! comparisons, which an entry passes that was away for a while, and no other entry gets its name.
//!
//! The job of a line that is left out, as its command says, goes to no other entry either.
//!
//! A job of a user's crontab has the user behind its name, as in `backup@mara`, and takes none of root's.
//!
//! A job keeps the name that it had before. So history, pauses and counts stay with the job when lines come
//! and go, and when a command or a schedule is edited.
//!
//! Cost: a sort of the entries for each of the five comparisons.
//!
//! Does not change a name that a note gives.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use mainspring_job::{Job, JobName, MAX_NAME_CHARS};

use super::habits::MAX_USER_CHARS;
use super::word::{self, MAX_WORD_CHARS};
use crate::jobfile::PlacedJob;
use crate::jobfile::written::renamed;
use crate::loaded_file::LoadedFile;
use mainspring_action::body::{Body, ProcessBody};

/// What a job is called if neither its command nor its file has a word.
const NO_WORD: &str = "command";

/// How many comparisons find an entry by its command.
const BY_COMMAND: usize = 2;
/// The comparison of schedules alone.
const BY_SCHEDULE: usize = 3;
/// How many comparisons there are.
const COMPARISONS: usize = 5;

const _: () = assert!(NO_WORD.len() <= MAX_WORD_CHARS);
const _: () = assert!(
    2 * MAX_WORD_CHARS + "--1000000@".len() + MAX_USER_CHARS <= MAX_NAME_CHARS,
    "two words, a number and a user are a name",
);

/// A job that had its name before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownJob {
    name: JobName,
    content: Content,
    presence: Presence,
}

/// Whether a known job has a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Presence {
    InForce,
    Absent,
}

/// What makes an entry the same as one before.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Content {
    when: String,
    user: Option<String>,
    command: String,
    word: Option<String>,
}

impl KnownJob {
    /// What is known of a job. `None` if no line of a crontab can be like it.
    pub fn of(job: &Job) -> Option<KnownJob> {
        let presence = Presence::InForce;
        Some(KnownJob { name: job.name.clone(), content: Content::of(job)?, presence })
    }

    /// The same of a job that its source does not have any more, and that may come back.
    pub fn of_absent(job: &Job) -> Option<KnownJob> {
        Some(KnownJob { presence: Presence::Absent, ..KnownJob::of(job)? })
    }

    fn likeness(&self, comparison: usize) -> Option<String> {
        let is_compared = self.presence == Presence::InForce || comparison < BY_COMMAND;
        if is_compared { self.content.likeness(comparison) } else { None }
    }
}

impl Content {
    fn of(job: &Job) -> Option<Content> {
        let Ok(Body::Process(ProcessBody { shell: Some(command), user, .. })) =
            Body::decode(&job.work.action)
        else {
            return None;
        };
        let word = word::of_shell(&command);
        Some(Content { when: job.timetable.to_string(), user, command, word })
    }

    /// Equal texts for entries that are alike; the first comparison is the strictest. `None` if there is
    /// nothing to compare.
    fn likeness(&self, comparison: usize) -> Option<String> {
        let Content { when, user, command, word } = self;
        let user = user.as_deref().unwrap_or_default();
        match comparison {
            0 => Some(format!("{when}\n{user}\n{command}")),
            1 => Some(format!("{user}\n{command}")),
            2 => Some(format!("{when}\n{user}\n{}", word.as_deref()?)),
            BY_SCHEDULE => Some(format!("{when}\n{user}")),
            _ => word.clone(),
        }
    }
}

/// How alike an entry and a known job must be: see the head of this file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// In their commands at least: for jobs of another file.
    InCommand,
    /// In their words or schedules at least: for jobs of the same file.
    InWord,
}

/// Gives jobs that do not say their names those that they had before, and removes these from `known`. No job
/// of the file gets a name that another one of it says, or that an entry says which is a comment now.
pub fn recall(loaded: &mut LoadedFile, known: &mut Vec<KnownJob>, alike: Likeness) {
    let LoadedFile { jobs, switched_off, left_out, .. } = loaded;
    let named = jobs.iter().filter(|one| one.is_named).map(|one| one.job.name.clone());
    let named_now: BTreeSet<JobName> = named.chain(switched_off.iter().cloned()).collect();
    // `echo-2` comes before `echo-10`, as it did when the names were given.
    let rank = |one: &KnownJob| (one.presence, one.name.as_str().len());
    known.sort_by(|one, other| rank(one).cmp(&rank(other)).then_with(|| one.name.cmp(&other.name)));
    let comparison_count = if alike == Likeness::InCommand { BY_COMMAND } else { COMPARISONS };
    for comparison in 0..comparison_count {
        let mut free: BTreeMap<String, VecDeque<JobName>> = BTreeMap::new();
        for one in known.iter().filter(|one| !named_now.contains(&one.name)) {
            if let Some(likeness) = one.likeness(comparison) {
                free.entry(likeness).or_default().push_back(one.name.clone());
            }
        }
        if comparison == BY_SCHEDULE {
            let entries = unnamed_likenesses(jobs, comparison);
            free.retain(|likeness, names| names.len() == 1 && entries.get(likeness) == Some(&1));
        }
        let mut found = BTreeSet::new();
        for placed in jobs.iter_mut().filter(|one| !one.is_named) {
            let likeness = Content::of(&placed.job).and_then(|content| content.likeness(comparison));
            if let Some(name) = likeness.and_then(|likeness| free.get_mut(&likeness)?.pop_front()) {
                let is_new = found.insert(name.clone());
                debug_assert!(is_new, "a known job continues in one entry");
                give(placed, name);
            }
        }
        known.retain(|one| !found.contains(&one.name));
        if comparison + 1 == BY_COMMAND {
            let rests = |one: &KnownJob| left_out.contains(&one.content.command);
            switched_off.extend(known.extract_if(.., |one| rests(one)).map(|one| one.name));
        }
    }
}

/// Gives all other jobs of the file called `source` names that are not among `taken`, and adds them there.
pub fn choose(jobs: &mut [PlacedJob], source: &str, taken: &mut BTreeSet<JobName>) {
    let mut own: BTreeSet<JobName> =
        jobs.iter().filter(|one| one.is_named).map(|one| one.job.name.clone()).collect();
    let mut numbers = BTreeMap::new();
    for placed in jobs.iter_mut().filter(|one| !one.is_named) {
        let word = Content::of(&placed.job).and_then(|content| content.word);
        let suffix = suffix(&placed.job.name).to_owned();
        let name = fresh(word, source, &suffix, taken, &own, &mut numbers);
        let is_new = taken.insert(name.clone());
        debug_assert!(is_new, "no other job has it");
        own.insert(name.clone());
        give(placed, name);
    }
}

/// How many entries without a name there are of each likeness.
fn unnamed_likenesses(jobs: &[PlacedJob], comparison: usize) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    let contents = jobs.iter().filter(|one| !one.is_named).filter_map(|one| Content::of(&one.job));
    for likeness in contents.filter_map(|content| content.likeness(comparison)) {
        *counts.entry(likeness).or_default() += 1;
    }
    counts
}

fn give(placed: &mut PlacedJob, name: JobName) {
    debug_assert!(!placed.is_named, "a name that its file says stays");
    placed.job.text = renamed(&placed.job.text, &name);
    placed.job.name = name;
    placed.is_named = true;
}

/// A name that nothing has. `own` are those of the same file, and `numbers` as in [`numbered`].
fn fresh(
    word: Option<String>,
    source: &str,
    suffix: &str,
    taken: &BTreeSet<JobName>,
    own: &BTreeSet<JobName>,
    numbers: &mut BTreeMap<String, usize>,
) -> JobName {
    let word = word.or_else(|| stem(source)).unwrap_or_else(|| NO_WORD.to_owned());
    let plain = JobName::new(&format!("{word}{suffix}")).expect("a word and a suffix are a name");
    if !taken.contains(&plain) {
        return plain;
    }
    let begin = match stem(source) {
        Some(stem) if !own.contains(&plain) && stem != word => format!("{stem}-{word}"),
        _ => word,
    };
    numbered(&begin, suffix, taken, numbers)
}

/// The beginning, or the first name with a number behind it that is not among `taken`; then the suffix.
/// `numbers` are the first that may be free for each beginning: names that are taken stay so.
///
/// # Panics
///
/// When these are no name.
pub fn numbered(
    begin: &str,
    suffix: &str,
    taken: &BTreeSet<JobName>,
    numbers: &mut BTreeMap<String, usize>,
) -> JobName {
    let number = numbers.entry(begin.to_owned()).or_insert(1);
    loop {
        let text = if *number == 1 { begin.to_owned() } else { format!("{begin}-{number}") };
        *number += 1;
        let name = JobName::new(&(text + suffix)).expect("a beginning, a number and a suffix are a name");
        if !taken.contains(&name) {
            return name;
        }
    }
}

/// What stands behind the name of a job of a user's crontab.
fn suffix(name: &JobName) -> &str {
    name.as_str().find('@').map_or("", |at| &name.as_str()[at..])
}

/// The word for a file: its name without directories and extension.
fn stem(source: &str) -> Option<String> {
    word::of_words(&[Path::new(source).file_stem()?.to_str()?.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::crontab::habits::Habits;
    use crate::crontab::{Crontab, Format, definition};
    use crate::source::Source;
    use jiff::tz::TimeZone;

    fn read(text: &str) -> Vec<PlacedJob> {
        let source = Source::new("/etc/cron.d/nightly", text);
        definition::jobs(
            &Crontab::parse(&source, Format::User),
            source.name(),
            &TimeZone::UTC,
            &Habits::default(),
            &mut Budget::default(),
        )
        .0
    }

    fn named(text: &str) -> Vec<PlacedJob> {
        let mut jobs = read(text);
        let mut taken = jobs.iter().filter(|one| one.is_named).map(|one| one.job.name.clone()).collect();
        choose(&mut jobs, "/etc/cron.d/nightly", &mut taken);
        jobs
    }

    fn names(jobs: &[PlacedJob]) -> Vec<&str> {
        jobs.iter().map(|placed| placed.job.name.as_str()).collect()
    }

    /// The names of `after`, where `before` was the file.
    fn then(before: &[PlacedJob], after: &str) -> Vec<String> {
        recalled(before.iter().filter_map(|placed| KnownJob::of(&placed.job)).collect(), after)
    }

    fn recalled(mut known: Vec<KnownJob>, after: &str) -> Vec<String> {
        let mut taken = known.iter().map(|one| one.name.clone()).collect();
        let mut loaded = LoadedFile { jobs: read(after), ..LoadedFile::default() };
        recall(&mut loaded, &mut known, Likeness::InWord);
        let mut jobs = loaded.jobs;
        choose(&mut jobs, "/etc/cron.d/nightly", &mut taken);
        assert!(jobs.iter().all(|one| one.job.text.starts_with(&format!("[jobs.\"{}\"]", one.job.name))
            || one.job.text.starts_with(&format!("[jobs.{}]", one.job.name))));
        jobs.iter().map(|placed| placed.job.name.to_string()).collect()
    }

    #[test]
    fn words_are_names_and_equal_ones_are_numbered() {
        let text = "@daily echo a\n@hourly echo b\n@daily /opt/backup.sh\n@daily echo a\n# mainspring: name=echo-2\n@daily echo\n@daily [ ]\n";
        assert_eq!(names(&named(text)), ["echo", "echo-3", "backup.sh", "echo-4", "echo-2", "nightly"]);
    }

    #[test]
    fn many_entries_of_one_word_are_numbered_one_after_the_other() {
        // As many as a file holds: looking for each number from the first on took minutes.
        let jobs = named(&"@daily echo\n".repeat(20_000));
        assert_eq!((jobs[0].job.name.as_str(), jobs[19_999].job.name.as_str()), ("echo", "echo-20000"));
    }

    #[test]
    fn a_name_stays_with_its_line_whatever_comes_and_goes() {
        let before = named("* * * * * echo danger\n@daily echo b\n");
        assert_eq!(names(&before), ["echo", "echo-2"]);
        assert_eq!(
            then(&before, "* * * * * echo danger\n* * * * * echo harmless\n@daily echo b\n"),
            ["echo", "echo-3", "echo-2"]
        );
        assert_eq!(then(&before, "# c\nA=1\n@daily echo b\n* * * * * echo danger\n"), ["echo-2", "echo"]);
        assert_eq!(then(&before, "@daily echo b\n"), ["echo-2"]);
    }

    #[test]
    fn a_name_stays_when_command_or_schedule_are_edited() {
        let before = named("* * * * * echo a\n@daily backup\n@weekly echo c\n");
        let edited = "5 5 * * * echo a\n@daily backup --all\n@weekly echo c --verbose\n";
        assert_eq!(then(&before, edited), ["echo", "backup", "echo-2"]);
        assert_eq!(then(&before, "@monthly backup --more\n"), ["backup"]);
        assert_eq!(then(&before, "@daily other\n"), ["backup"]);
        assert_eq!(then(&before, "@monthly other\n"), ["other"]);
    }

    #[test]
    fn a_schedule_alone_is_that_of_an_entry_before_where_one_is_left_on_each_side() {
        let before = named("1 1 * * * /usr/local/bin/backup --all\n2 2 * * * report\n2 2 * * * stock\n");
        let edited = |text: &str| then(&before, text);
        assert_eq!(edited("1 1 * * * nice /usr/bin/rsync --all\n"), ["backup"]);
        assert_eq!(edited("1 1 * * * rsync\n1 1 * * * fetch\n"), ["rsync", "fetch"], "either may be it");
        assert_eq!(edited("2 2 * * * rsync\n"), ["rsync"], "it may be either");
        assert_eq!(edited("2 2 * * * rsync\n2 2 * * * stock\n"), ["report", "stock"]);
        assert_eq!(
            edited("3 3 * * * backup\n1 1 * * * rsync\n"),
            ["backup-2", "backup"],
            "one edit, not two"
        );
    }

    #[test]
    fn the_name_of_an_absent_job_goes_to_no_other_entry() {
        let before = named("1 1 * * * echo a\n2 2 * * * echo b\n");
        let known =
            || vec![KnownJob::of(&before[0].job).unwrap(), KnownJob::of_absent(&before[1].job).unwrap()];
        let after = |text: &str| recalled(known(), text);
        assert_eq!(after("1 1 * * * echo a\n*/1 * * * * echo brand-new\n"), ["echo", "echo-3"]);
        assert_eq!(after("1 1 * * * echo a\n2 2 * * * cat b\n"), ["echo", "cat"]);
        assert_eq!(after("2 2 * * * echo b\n"), ["echo-2"], "it is back");
        assert_eq!(after("3 3 * * * echo b\n1 1 * * * echo a\n"), ["echo-2", "echo"], "and so it is here");
        assert_eq!(after("1 1 * * * echo z\n"), ["echo"]);
    }

    #[test]
    fn the_name_of_a_line_that_is_left_out_goes_to_no_other_entry() {
        let before = named("1 1 * * * echo a\n2 2 * * * echo b\n");
        let mut known: Vec<_> = before.iter().filter_map(|placed| KnownJob::of(&placed.job)).collect();
        let jobs = read("1 1 * * * echo a\n3 3 * * * echo new\n");
        let mut loaded = LoadedFile { jobs, left_out: ["echo b".to_owned()].into(), ..LoadedFile::default() };
        recall(&mut loaded, &mut known, Likeness::InWord);
        assert_eq!((loaded.jobs[1].is_named, loaded.switched_off[0].as_str()), (false, "echo-2"));
        // It is absent then, and its line is mended.
        let of_line = KnownJob::of_absent(&before[1].job).unwrap();
        assert_eq!(recalled(vec![of_line], "3 3 * * * echo new\n2 4 * * * echo b\n"), ["echo", "echo-2"]);
    }

    #[test]
    fn a_name_that_another_file_has_gets_that_of_the_file_before_it() {
        let mut taken: BTreeSet<JobName> = [JobName::new("echo").unwrap()].into();
        let mut jobs = read("@daily echo a\n@daily echo b\n");
        choose(&mut jobs, "/etc/cron.d/nightly", &mut taken);
        assert_eq!(names(&jobs), ["nightly-echo", "nightly-echo-2"]);
        assert_eq!(taken.len(), 3);
    }
}
