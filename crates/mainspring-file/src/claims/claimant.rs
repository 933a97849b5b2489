//! Files that are about to come into force, and the definitions that are in force before.
//!
//! Cost: a map of names.
//!
//! Does not judge: see [`claims`](super).

use std::collections::{BTreeMap, BTreeSet};

use mainspring_job::{Group, JobName};

use crate::crontab::names::KnownJob;
use crate::loaded_file::LoadedFile;

/// A file that was read, on its way to be in force.
#[derive(Clone, Debug)]
pub struct Claimant {
    /// What the jobs that it has in force say of where they come from.
    pub job_source: String,
    /// What was read.
    pub loaded: LoadedFile,
}

/// The good files, each with its index among all.
pub(super) fn good(files: &[Claimant]) -> impl Iterator<Item = (usize, &Claimant)> + Clone {
    files.iter().enumerate().filter(|(_, file)| file.loaded.is_good())
}

/// Whether a good file takes the place of what is in force of a source.
pub(super) fn is_replaced(job_source: &str, files: &[Claimant]) -> bool {
    good(files).any(|(_, file)| file.job_source == job_source)
}

/// What has a name now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Where the job comes from, as in [`Claimant::job_source`].
    pub job_source: String,
    /// The same for people.
    pub place: String,
}

/// What is in force before files are taken over.
pub struct InForce<'k> {
    /// What has each name.
    pub held: BTreeMap<JobName, Holder>,
    /// Which jobs those follow that follow others.
    pub follows: BTreeMap<JobName, Vec<JobName>>,
    /// The groups that are defined, each with who has it.
    pub groups: Vec<(Group, Holder)>,
    /// The names of jobs whose files are gone or no longer given: a file that says one of them gets the job.
    pub retired: BTreeSet<JobName>,
    /// The names of jobs that are absent, of any source: they may come back as they were.
    pub absent: BTreeSet<JobName>,
    /// The jobs of a source, those that are absent among them, or those that are retired, as far as entries
    /// of crontabs can be like them.
    /// Asked only for files with such entries.
    pub known: &'k dyn Fn(Option<&str>) -> Vec<KnownJob>,
}

impl InForce<'_> {
    /// Nothing is.
    pub fn nothing() -> InForce<'static> {
        InForce {
            held: BTreeMap::new(),
            follows: BTreeMap::new(),
            groups: Vec::new(),
            retired: BTreeSet::new(),
            absent: BTreeSet::new(),
            known: &|_| Vec::new(),
        }
    }
}
