//! The recorded history of a trial, and the judgement on it.
//!
//! | asked | of |
//! |---|---|
//! | nothing is lost | each acknowledged key has one run, which has ended |
//! | one start record for each attempt | each line `start` has its record, and no attempt has two lines |
//! | no commit by an old owner | what the database noted of itself in each transaction |
//! | no run begins twice | the lines: no job here is retried, so all attempts before were given back |
//! | what was given back had not begun | the lines, and the ends of attempts |
//! | no time is missed silently | the runs: each second of a job has a record |
//! | nothing early | no line `start` is before its run was due |
//!
//! What a standby that was promoted had never heard of is not judged: lines that were written after it heard
//! no more and before its loss was noticed, by owners of that time.
//!
//! Cost: a map of the attempts.
//!
//! Does not ask the database: [`check`](super::check) does, so that a test can judge a history of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use mainspring_job::RunKey;

/// How many bits of a fence count the batches of an owner.
pub(crate) const EPOCH_SHIFT: u32 = 40;

/// What was recorded.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    /// The keys of what was acknowledged.
    pub(crate) acknowledged: BTreeSet<String>,
    /// The keys of what has ended.
    pub(crate) ended: BTreeSet<String>,
    /// What the database noted of writes by an old owner.
    pub(crate) violations: Vec<String>,
    /// Of each attempt that has a record: the run as the database names it, the number, and when it was due.
    pub(crate) due: BTreeMap<(String, String), i128>,
    /// The attempts that were given back, in the same words.
    pub(crate) returned: BTreeSet<(String, String)>,
    /// Between which runs of a job, which is due each second, a second has no record.
    pub(crate) gaps: Vec<String>,
    /// The lines that jobs wrote.
    pub(crate) lines: String,
    pub(crate) unheard: Vec<Unheard>,
}

/// What a standby that was promoted had never heard of.
#[derive(Clone, Debug)]
pub(crate) struct Unheard {
    /// How long the lines were when it heard no more.
    pub(crate) from: usize,
    /// How long they were when no owner of that time went on.
    pub(crate) to: usize,
    /// The epochs of the owners of that time.
    pub(crate) epochs: RangeInclusive<u64>,
}

/// What was found.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) complaints: Vec<String>,
    pub(crate) summary: String,
}

impl History {
    /// Judges it.
    pub(crate) fn judge(&self) -> Verdict {
        let mut complaints: Vec<String> =
            self.violations.iter().map(|what| format!("an old owner: {what}")).collect();
        complaints.extend(self.gaps.iter().map(|gap| format!("no record of a time of {gap}")));
        let lost: Vec<&String> = self.acknowledged.difference(&self.ended).collect();
        complaints.extend(lost.iter().map(|key| format!("{key} was acknowledged and has no end")));
        let mut starts: BTreeMap<(String, String), usize> = BTreeMap::new();
        let (mut early_count, mut unknown_count, mut unheard_count, mut end) = (0, 0, 0, 0);
        for line in self.lines.lines() {
            let place = end;
            end += line.len() + 1;
            let ["start", run, attempt, at, fence] = line.split(' ').collect::<Vec<_>>()[..] else {
                continue;
            };
            // The upper bits of a fence are the epoch.
            let epoch = fence.parse::<u64>().map_or(0, |fence| fence >> EPOCH_SHIFT);
            let is_excused =
                |lost: &Unheard| (lost.from..lost.to).contains(&place) && lost.epochs.contains(&epoch);
            if self.unheard.iter().any(is_excused) {
                unheard_count += 1;
                continue;
            }
            let attempt = (run_key(run), attempt.to_owned());
            match self.due.get(&attempt) {
                None => {
                    unknown_count += 1;
                    complaints.push(format!("no record of the start of {run}, {}", attempt.1));
                }
                Some(due) if at.parse::<i128>().is_ok_and(|at| at < *due) => {
                    early_count += 1;
                    complaints.push(format!("{run} began early"));
                }
                Some(_) => {}
            }
            let is_returned = |number: u32| self.returned.contains(&(attempt.0.clone(), number.to_string()));
            if (1..attempt.1.parse().unwrap_or(u32::MAX)).any(|before| !is_returned(before)) {
                complaints.push(format!("{run} was tried again"));
            }
            if self.returned.contains(&attempt) {
                complaints.push(format!("{run}, {} began and was given back", attempt.1));
            }
            *starts.entry(attempt).or_default() += 1;
        }
        let doubled: Vec<_> = starts.iter().filter(|(_, count)| 1 < **count).collect();
        complaints.extend(doubled.iter().map(|((run, attempt), _)| format!("{run}, {attempt} began twice")));
        let summary = format!(
            "acknowledged {} lost {} gaps {} starts {} doubled {} early {early_count} unrecorded {unknown_count} \
             unheard {unheard_count}",
            self.acknowledged.len(),
            lost.len(),
            self.gaps.len(),
            starts.len(),
            doubled.len()
        );
        Verdict { complaints, summary }
    }
}

/// The key of a run as the database has it, from the one that a job is told.
fn run_key(text: &str) -> String {
    text.parse::<RunKey>().map_or_else(
        |_| text.to_owned(),
        |key| format!("{}@{}/{}", key.job, key.nominal.as_nanosecond(), key.series),
    )
}
