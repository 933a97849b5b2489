//! Assigns jobs to shards, where a store has several.
//!
//! | jobs | belong where |
//! |---|---|
//! | that follow each other, by however many steps, with one of them in a group | the name of the group belongs |
//! | the same, with none of them in a group | the first name belongs of those that follow nothing |
//! | in a group | the name of the group belongs |
//! | otherwise | their own names belong |
//!
//! So one planner has all jobs of a group, whose limit is exact, and hears the ends of the runs that a job
//! waits for. It cannot have both where jobs that follow each other are in groups of two shards:
//! [`Placement::is_divided`] says so of the job that brings them together.
//!
//! Cost: a few looks into a map for each job, and for each that it follows.
//!
//! Does not know who owns a shard.
//!
//! Source: the forest of disjoint sets (Galler and Fischer, "An improved equivalence algorithm", 1964).

use std::collections::{HashMap, HashSet};

use crate::job::Job;
use crate::name::JobName;
use crate::store::Shard;

/// Places the jobs of a set over a number of shards. A job outside the set that one of them follows is taken
/// to be in no group and to follow nothing.
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
    count: u16,
    /// Each job that follows or is followed, and its set.
    of_job: HashMap<&'j JobName, usize>,
    sets: Vec<Set<'j>>,
    divided: HashSet<&'j JobName>,
}

/// Jobs that follow each other, or the number of the set that they have become part of.
#[derive(Clone, Debug)]
struct Set<'j> {
    parent: usize,
    /// How many jobs there are.
    size: usize,
    /// By what they are placed.
    anchor: Anchor<'j>,
}

/// By what a set is placed; of two the lesser counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Anchor<'j> {
    /// A group, or a job that is not known here: it is where it is.
    Fixed(&'j JobName),
    /// A job that follows nothing.
    First(&'j JobName),
    /// One that follows others.
    Later(&'j JobName),
}

impl Anchor<'_> {
    fn name(&self) -> &JobName {
        match self {
            Anchor::Fixed(name) | Anchor::First(name) | Anchor::Later(name) => name,
        }
    }
}

impl<'j> Placement<'j> {
    /// Over so many shards, at least one.
    pub fn new(jobs: impl IntoIterator<Item = &'j Job>, count: u16) -> Placement<'j> {
        let jobs: Vec<&Job> = jobs.into_iter().collect();
        let mut placement =
            Placement { count, of_job: HashMap::new(), sets: Vec::new(), divided: HashSet::new() };
        for job in &jobs {
            placement.add(&job.name, anchor(job));
        }
        for job in &jobs {
            for after in job.timetable.follows() {
                // If it is not one of them, it is where its name belongs.
                if !placement.of_job.contains_key(&after.job) {
                    placement.add(&after.job, Anchor::Fixed(&after.job));
                }
                if !placement.join(&job.name, &after.job) {
                    placement.divided.insert(&job.name);
                }
            }
        }
        placement
    }

    fn add(&mut self, name: &'j JobName, anchor: Anchor<'j>) {
        self.of_job.insert(name, self.sets.len());
        self.sets.push(Set { parent: self.sets.len(), size: 1, anchor });
    }

    /// Makes one set of those of two jobs, if that has a place.
    fn join(&mut self, one: &JobName, other: &JobName) -> bool {
        let [one, other] = [one, other].map(|name| self.of_job.get(name).map(|index| self.root(*index)));
        let (Some(one), Some(other)) = (one, other) else { return true };
        let (first, last) = (self.sets[one].anchor, self.sets[other].anchor);
        if let (Anchor::Fixed(first), Anchor::Fixed(last)) = (first, last)
            && Shard::of(first, self.count) != Shard::of(last, self.count)
        {
            return false;
        }
        if one != other {
            // So that no way to the root is long.
            let (small, large) =
                if self.sets[one].size < self.sets[other].size { (one, other) } else { (other, one) };
            self.sets[small].parent = large;
            self.sets[large].size += self.sets[small].size;
            self.sets[large].anchor = first.min(last);
        }
        true
    }

    fn root(&self, mut index: usize) -> usize {
        while self.sets[index].parent != index {
            index = self.sets[index].parent;
        }
        index
    }

    /// The shard of a job. One that is not in the set is placed as if it were a set by itself.
    pub fn of(&self, job: &Job) -> Shard {
        match self.of_job.get(&job.name) {
            Some(index) => Shard::of(self.sets[self.root(*index)].anchor.name(), self.count),
            None => Placement::new([job], self.count).of(job),
        }
    }

    /// Whether a job that follows others is not in the shard of all of them and of its group: it does not
    /// hear of those elsewhere, or its group has its limit in each shard.
    pub fn is_divided(&self, job: &Job) -> bool {
        match self.of_job.get(&job.name) {
            Some(_) => self.divided.contains(&job.name),
            None => Placement::new([job], self.count).is_divided(job),
        }
    }
}

/// By what a job is placed that stands alone.
fn anchor(job: &Job) -> Anchor<'_> {
    match &job.work.group {
        Some(group) => Anchor::Fixed(group),
        None if job.timetable.follows().next().is_some() => Anchor::Later(&job.name),
        None => Anchor::First(&job.name),
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
    fn who_follows_two_jobs_has_both_beside_it() {
        let [one, other] = apart();
        let [one, other] = if one < other { [one, other] } else { [other, one] };
        let jobs = [
            job(&other, &[], None),
            job("last", &["both"], None),
            job("both", &[&other, &one], None),
            job(&one, &[], None),
            job("grouped", &[&one], Some(&other)),
            job("alone", &[], None),
        ];
        let placement = Placement::new(&jobs[..4], COUNT);
        let home = Shard::of(&name(&one), COUNT);
        assert!(jobs[..4].iter().all(|job| placement.of(job) == home && !placement.is_divided(job)));
        // A group of one of them has them all, and no other job of it moves.
        let placement = Placement::new(&jobs, COUNT);
        let home = Shard::of(&name(&other), COUNT);
        assert!(jobs[..5].iter().all(|job| placement.of(job) == home && !placement.is_divided(job)));
        assert_eq!(placement.of(&jobs[5]), Shard::of(&name("alone"), COUNT));
        assert_eq!(placement.of(&job("more", &[], Some(&other))), home);
    }

    #[test]
    fn who_brings_groups_of_two_shards_together_is_divided() {
        let [one, other] = apart();
        let jobs = [
            job("first", &[], Some(&one)),
            job("second", &[], Some(&other)),
            job("both", &["first", "second"], None),
            job("grouped", &["first"], Some(&other)),
            job("well", &["first"], Some(&one)),
            // They are in no file here, and each is where its name belongs.
            job("elsewhere", &[&one, &other], None),
            job("beside", &[&one], Some(&one)),
        ];
        let placement = Placement::new(&jobs, COUNT);
        let divided: Vec<bool> = jobs.iter().map(|job| placement.is_divided(job)).collect();
        assert_eq!(divided, [false, false, true, true, false, true, false]);
        // Each by itself: it does not matter what is not known.
        let none = Placement::new([], COUNT);
        let divided: Vec<bool> = jobs.iter().map(|job| none.is_divided(job)).collect();
        let first = Shard::of(&name("first"), COUNT);
        let is_apart = |group: &str| Shard::of(&name(group), COUNT) != first;
        let both = is_apart("second");
        assert_eq!(divided, [false, false, both, is_apart(&other), is_apart(&one), true, false]);
        assert_eq!(none.of(&jobs[1]), Shard::of(&name(&other), COUNT));
    }

    #[test]
    fn a_long_chain_is_placed_at_once_in_any_order() {
        let names: Vec<String> = (0..20_000).map(|number| format!("job-{number}")).collect();
        let mut jobs = vec![job(&names[0], &[], None)];
        jobs.extend(names.windows(2).map(|pair| job(&pair[1], &[&pair[0]], None)));
        let home = Shard::of(&name(&names[0]), COUNT);
        for _ in 0..2 {
            let placement = Placement::new(&jobs, COUNT);
            assert!(jobs.iter().all(|job| placement.of(job) == home));
            jobs.reverse();
        }
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
