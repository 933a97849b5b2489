//! The part of the jobs that a loop has, where a store has several shards and each a loop of its own.
//!
//! Every loop is given every file, and takes from it what belongs to its shard. So each of them has to find
//! the same names and the same places in a file, whatever else it knows. So a job without a name is called by
//! its content here, and not by what was there before. One thing that a file may say elsewhere is a problem
//! of it here: a job that follows others which belong to two shards.
//!
//! Cost: a walk over the jobs of a file.
//!
//! Does not know who owns the other shards.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use mainspring_job::{Job, JobName, Placement, Shard};

use mainspring_file::claims::Claimant;
use mainspring_file::crontab::names;
use mainspring_file::loaded_file::LoadedFile;
use mainspring_file::problem::{Fault, Problem};

/// Which part it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardFilter {
    /// The shard.
    pub shard: Shard,
    /// How many there are.
    pub count: u16,
}

impl ShardFilter {
    /// All jobs.
    pub const WHOLE: ShardFilter = ShardFilter { shard: Shard::WHOLE, count: 1 };

    /// Whether there are others.
    pub(super) fn is_part(self) -> bool {
        1 < self.count
    }

    /// The shards of which people are told when they ask for all that waits.
    pub(super) fn of_people(self) -> Shard {
        if self.is_part() { Shard::EVERY } else { self.shard }
    }

    /// What stands before each line of the log that is about the loop; nothing where there is one loop.
    pub(super) fn prefix(self) -> String {
        if self.is_part() { format!("shard {}: ", self.shard.0) } else { String::new() }
    }

    /// Whether a job belongs here that is defined by itself, and not in a file with others.
    pub(super) fn has(self, job: &Job) -> bool {
        Placement::new([], self.count).of(job) == self.shard
    }

    /// What is wrong with a job that is defined by itself, if it cannot have all that it follows beside it.
    pub(super) fn refusal(self, job: &Job) -> Option<String> {
        Placement::new([job], self.count).is_divided(job).then(|| divided(&job.name))
    }

    /// Gives names to what has none, if that is not to be done by what is known.
    pub(super) fn name(self, loaded: &mut LoadedFile, source: &str) {
        if self.is_part() {
            names::by_content(&mut loaded.jobs, source);
        }
    }

    /// Makes files ready to be parted: what has no name gets one, and what could not be parted is a problem.
    /// Before their names are settled.
    pub(super) fn prepare(self, files: &mut [Claimant]) {
        if !self.is_part() {
            return;
        }
        for Claimant { loaded, job_source } in files.iter_mut().filter(|file| file.loaded.is_good()) {
            self.name(loaded, job_source);
            let placement = Placement::new(loaded.jobs.iter().map(|placed| &placed.job), self.count);
            let mut problems = Vec::new();
            for placed in loaded.jobs.iter().filter(|placed| placement.is_divided(&placed.job)) {
                let text = divided(&placed.job.name);
                let hint = "jobs that follow each other are where the group of one of them is: give them one group, or none";
                let line = loaded.source.line(placed.line_number);
                let line = line.expect("what is defined stands on a line of its file");
                let whole = line.bytes.trim_ascii_end().len();
                problems.push(Problem::new(line, Fault::new(0..whole, text).with_hint(hint)));
            }
            loaded.problems.extend(problems);
        }
    }

    /// Takes out what belongs to other shards, and returns the names of that.
    pub(super) fn part(self, loaded: &mut LoadedFile) -> Vec<JobName> {
        if !self.is_part() {
            return Vec::new();
        }
        let placement = Placement::new(loaded.jobs.iter().map(|placed| &placed.job), self.count);
        let is_here: Vec<bool> =
            loaded.jobs.iter().map(|placed| placement.of(&placed.job) == self.shard).collect();
        let (mut here, mut elsewhere) = (Vec::new(), Vec::new());
        for (placed, is_here) in std::mem::take(&mut loaded.jobs).into_iter().zip(is_here) {
            if is_here { here.push(placed) } else { elsewhere.push(placed.job.name) }
        }
        loaded.jobs = here;
        elsewhere
    }
}

/// What is said of a job that [is divided](Placement::is_divided).
fn divided(name: &JobName) -> String {
    format!(
        "`{name}` follows jobs of several shards, or is in a group of another shard than a job that it follows"
    )
}

/// Whether these problems of a file are other ones than were told last by any loop of this process. One that
/// has none any more is told of again when it has.
pub(super) fn is_news(path: &str, problems: &str) -> bool {
    static TOLD: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if problems.is_empty() {
        told.remove(path);
        return false;
    }
    told.insert(path.to_owned(), problems.to_owned()).as_deref() != Some(problems)
}
