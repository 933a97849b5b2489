//! Which shard a job belongs to, where a store has several.
//!
//! | a job | belongs where |
//! |---|---|
//! | that follows another | the first one that it follows belongs |
//! | in a group | the name of its group belongs |
//! | otherwise | its own name belongs |
//!
//! So one planner has all jobs of a group, whose limit is exact, and hears the ends of the runs that a job
//! waits for. It cannot have both where a job follows jobs of several shards, or is in a group beside:
//! [`Placement::is_divided`] says so.
//!
//! Cost: a walk up the chain of jobs that a job follows.
//!
//! Does not know who owns a shard.

use std::collections::HashMap;

use crate::job::Job;
use crate::name::JobName;
use crate::store::Shard;

/// Places the jobs of a set over a number of shards. A job that follows one outside the set is placed as if
/// that one were in no group and followed none.
///
/// # Example
/// ```
/// use mainspring_job::cron::Schedule;
/// use mainspring_job::{Action, Job, Placement, Shard, Timetable, Work};
///
/// let daily = Timetable::new([Schedule::parse("@daily", "UTC")?])?;
/// let mut work = Work::new(Action::new("process", "pg_dump orders")?);
/// work.group = Some("database".parse()?);
/// let jobs = [Job::new("backup".parse()?, daily, work)];
/// let placement = Placement::new(&jobs, 16);
/// assert_eq!(placement.of(&jobs[0]), Shard::of(&"database".parse()?, 16));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Placement<'j> {
    jobs: HashMap<&'j JobName, &'j Job>,
    count: u16,
}

impl<'j> Placement<'j> {
    /// Over so many shards, at least one.
    pub fn new(jobs: impl IntoIterator<Item = &'j Job>, count: u16) -> Placement<'j> {
        Placement { jobs: jobs.into_iter().map(|job| (&job.name, job)).collect(), count }
    }

    /// The shard of a job, which need not be in the set.
    pub fn of(&self, job: &Job) -> Shard {
        let mut at = job;
        // A circle is as long as the set at most, and is placed by where the walk ends.
        for _ in 0..=self.jobs.len() {
            let Some(after) = at.timetable.follows().next() else { break };
            let Some(next) = self.jobs.get(&after.job) else { return Shard::of(&after.job, self.count) };
            at = next;
        }
        Shard::of(at.work.group.as_ref().unwrap_or(&at.name), self.count)
    }

    /// Whether a job that follows others is not in the shard of all of them and of its group: it does not
    /// hear of those elsewhere, and its group has its limit in each shard.
    pub fn is_divided(&self, job: &Job) -> bool {
        let home = self.of(job);
        let of_name = |name: &JobName| {
            self.jobs.get(name).map_or_else(|| Shard::of(name, self.count), |job| self.of(job))
        };
        let follows_others = job.timetable.follows().any(|after| of_name(&after.job) != home);
        let follows = job.timetable.follows().next().is_some();
        let group = job.work.group.as_ref().filter(|_| follows);
        follows_others || group.is_some_and(|group| Shard::of(group, self.count) != home)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timetable::Timetable;
    use crate::trigger::{After, Ending};
    use crate::work::{Action, Work};

    const COUNT: u16 = 16;

    fn name(text: &str) -> JobName {
        JobName::new(text).unwrap()
    }

    fn job(text: &str, follows: &[&str], group: Option<&str>) -> Job {
        let timetable = match follows {
            [] => Timetable::new([mainspring_cron::Schedule::parse("@daily", "UTC").unwrap()]),
            names => Timetable::new(names.iter().map(|of| After::new(name(of), Ending::Succeeded))),
        };
        let mut work = Work::new(Action::new("process", "true").unwrap());
        work.group = group.map(name);
        Job::new(name(text), timetable.unwrap(), work)
    }

    /// Two names of different shards.
    fn apart() -> [String; 2] {
        let first = Shard::of(&name("a"), COUNT);
        let other = (0..).map(|number| format!("b{number}")).find(|b| Shard::of(&name(b), COUNT) != first);
        ["a".to_owned(), other.unwrap()]
    }

    #[test]
    fn a_chain_is_where_its_first_job_is_and_a_group_where_its_name_is() {
        let jobs = [job("a", &[], Some("g")), job("b", &["a"], None), job("c", &["b"], None)];
        let placement = Placement::new(&jobs, COUNT);
        let home = Shard::of(&name("g"), COUNT);
        assert!(jobs.iter().all(|job| placement.of(job) == home && !placement.is_divided(job)));
        let alone = job("d", &[], None);
        assert_eq!(placement.of(&alone), Shard::of(&name("d"), COUNT));
    }

    #[test]
    fn who_follows_jobs_of_two_shards_is_divided() {
        let [one, other] = apart();
        let jobs = [
            job(&one, &[], None),
            job(&other, &[], None),
            job("both", &[&one, &other], None),
            job("grouped", &[&one], Some(&other)),
            job("well", &[&one], Some(&one)),
        ];
        let placement = Placement::new(&jobs, COUNT);
        let divided: Vec<bool> = jobs.iter().map(|job| placement.is_divided(job)).collect();
        assert_eq!(divided, [false, false, true, true, false]);
        assert_eq!(placement.of(&jobs[2]), placement.of(&jobs[0]));
    }

    #[test]
    fn a_circle_has_a_place_and_one_shard_has_all() {
        let jobs = [job("a", &["b"], None), job("b", &["a"], None)];
        let placement = Placement::new(&jobs, COUNT);
        assert!(jobs.iter().all(|job| placement.of(job) < Shard(COUNT)));
        let whole = Placement::new(&jobs, 1);
        assert!(jobs.iter().all(|job| whole.of(job) == Shard::WHOLE && !whole.is_divided(job)));
    }

    #[test]
    fn names_fill_all_shards_evenly_and_never_move() {
        let mut counts = [0; COUNT as usize];
        for number in 0..16_000 {
            counts[usize::from(Shard::of(&name(&format!("job-{number}")), COUNT).0)] += 1;
        }
        assert!(counts.iter().all(|count| (850..1_150).contains(count)), "{counts:?}");
        // These numbers stand for all jobs in the field.
        let seen = ["nightly-backup", "a", "report"].map(|text| Shard::of(&name(text), COUNT).0);
        assert_eq!(seen, SEEN);
    }

    const SEEN: [u16; 3] = [15, 11, 4];
}
