//! Groups: how many of their runs may run at once, be open, and start in a time, and the starts that count.
//!
//! ```text
//!  rate 3/1s    ────×───×─────────×──────────┼───▶    the group opens one period after its third last start
//!                   └──────── 1 s ───────────┘
//! ```
//!
//! What several sources say of a group holds all together: the smallest limit, and each of the rates. A rate
//! counts the starts that a planner decided, each attempt among them, by the planner's clock. It counts from
//! when it was given; a rate that changes continues with the starts that the one before kept.
//!
//! | what happens | a rate |
//! |---|---|
//! | the clock is set back | takes starts that are later than now as starts of now, so no wait is longer than a period |
//! | the clock is set ahead | takes the time as passed |
//! | another planner takes over | knows the last start of each open run, and takes all it may as started when it begins, for a period, but at most for [`MAX_RATE_REST`] |
//!
//! So over a takeover a rate of a longer period may be exceeded: what ended before is not known.
//!
//! Cost: O(sources of the group) for each question, and O(log n) for each start; a set of definitions costs
//! O(groups), and a clock that is set back O(starts); O(log n) for each run of a group that opens or is over.
//! Memory: 12 bytes for each start that a rate allows.
//!
//! Does not know which runs there are: it is told when one opens, starts and is over.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use jiff::Timestamp;

use crate::input::Prune;
use crate::job::Group;
use crate::name::JobName;
use crate::rate::{MAX_RATE_PERIOD, Rate};
use crate::work::Work;

/// For at most so long a new planner starts nothing of a group with a rate: a person who restarts a server
/// waits no longer for a rate of a day.
pub(super) const MAX_RATE_REST: Duration = Duration::from_secs(10);

const _: () = assert!(MAX_RATE_REST.as_secs() < MAX_RATE_PERIOD.as_secs(), "a long rate is not waited out");

#[derive(Debug, Default)]
pub(super) struct Groups {
    /// What each source says of a group, each of which says something of it.
    defined: BTreeMap<JobName, Vec<(String, Group)>>,
    /// The last starts of each group that has a rate, in the order of their times: no more than the largest
    /// of its rates allows.
    starts: BTreeMap<JobName, VecDeque<Timestamp>>,
    /// How many open runs each group has that has any.
    open: BTreeMap<JobName, usize>,
    /// What the clock showed last. `None`: it was not looked at.
    now: Option<Timestamp>,
    /// When this planner began, if one came before it.
    took_over: Option<Timestamp>,
}

impl Groups {
    /// Takes in what the clock shows.
    pub(super) fn tell(&mut self, now: Timestamp) {
        if Some(now) < self.now {
            let later = |start: &&mut Timestamp| now < **start;
            for starts in self.starts.values_mut() {
                starts.iter_mut().rev().take_while(later).for_each(|start| *start = now);
            }
            self.took_over = self.took_over.map(|began| began.min(now));
        }
        self.now = Some(now);
    }

    /// This planner begins after another, whose starts it does not know.
    pub(super) fn take_over(&mut self) {
        self.took_over = self.now;
    }

    /// Takes over the groups of a source; those that the set does not hold go with the jobs that it does not
    /// hold.
    pub(super) fn define(&mut self, source: &str, groups: Vec<Group>, prune: Prune) {
        let is_other = |(of, _): &(String, Group)| of != source;
        match prune {
            Prune::Remove => self.defined.values_mut().for_each(|definitions| definitions.retain(is_other)),
            Prune::Keep => groups.iter().for_each(|group| {
                self.defined.entry(group.name.clone()).or_default().retain(is_other);
            }),
        }
        for group in groups {
            let definitions = self.defined.entry(group.name.clone()).or_default();
            let group = (source.to_owned(), group);
            if !definitions.contains(&group) {
                definitions.push(group);
            }
        }
        self.defined.retain(|_, definitions| !definitions.is_empty());
        let mut starts = std::mem::take(&mut self.starts);
        for name in self.defined.keys() {
            if let Some(most) = self.most_starts(name) {
                let mut recent = starts.remove(name).unwrap_or_default();
                recent.drain(..recent.len().saturating_sub(most));
                self.starts.insert(name.clone(), recent);
            }
        }
    }

    /// Each group that is defined, with the source that defines it.
    pub(super) fn definitions(&self) -> impl Iterator<Item = (&str, &Group)> {
        self.defined.values().flatten().map(|(source, group)| (source.as_str(), group))
    }

    fn definitions_of(&self, group: &JobName) -> impl Iterator<Item = &Group> {
        let of_each_owner = || self.defined.get(&group.as_str()[..=group.as_str().rfind('@')?]);
        self.defined.get(group).or_else(of_each_owner).into_iter().flatten().map(|(_, group)| group)
    }

    fn most_starts(&self, group: &JobName) -> Option<usize> {
        self.definitions_of(group).filter_map(|group| group.rate.map(start_count)).max()
    }

    /// How many of a group may run at once, if that has a limit; at least 1.
    pub(super) fn limit(&self, group: &JobName) -> Option<u32> {
        self.definitions_of(group).filter_map(|group| group.limit).min().map(|limit| limit.max(1))
    }

    /// How many more runs of a group may be open, if that has a limit.
    pub(super) fn room(&self, group: &JobName) -> Option<usize> {
        let most = self.definitions_of(group).filter_map(|group| group.max_open).min()?;
        let open = self.open.get(group).copied().unwrap_or(0);
        Some(usize::try_from(most).unwrap_or(usize::MAX).saturating_sub(open))
    }

    /// A run is open.
    pub(super) fn enter(&mut self, work: &Work) {
        if let Some(group) = &work.group {
            *self.open.entry(group.clone()).or_default() += 1;
        }
    }

    /// A run is not open any more.
    pub(super) fn leave(&mut self, work: &Work) {
        let Some(group) = &work.group else { return };
        let count = self.open.get_mut(group).expect("an open run of a group is counted");
        *count -= 1;
        if *count == 0 {
            self.open.remove(group);
        }
    }

    /// The groups that have a limit, each with that.
    pub(super) fn limits(&self) -> impl Iterator<Item = (&JobName, u32)> {
        self.defined.keys().filter_map(|name| Some((name, self.limit(name)?)))
    }

    /// Whether a group has a rate.
    pub(super) fn is_rated(&self, group: &JobName) -> bool {
        self.starts.contains_key(group)
    }

    /// The rate of a group by which nothing of it may start now, and when the next may. Of several that which
    /// lasts longest.
    pub(super) fn full_rate(&self, group: &JobName) -> Option<(Rate, Timestamp)> {
        let starts = self.starts.get(group)?;
        let end = |rate: Rate| {
            let first = starts.len().checked_sub(start_count(rate)).map(|index| starts[index]);
            let by_starts = first.map(|first| after(first, rate.period()));
            let by_takeover = self.took_over.map(|began| after(began, rate.period().min(MAX_RATE_REST)));
            by_starts.max(by_takeover)
        };
        let ends = self.definitions_of(group).filter_map(|group| group.rate).map(|rate| (rate, end(rate)));
        let full = ends.filter_map(|(rate, end)| Some((rate, end?))).filter(|(_, end)| self.now < Some(*end));
        full.max_by_key(|(_, end)| *end)
    }

    /// A run of a group starts at a time, or did before this planner.
    pub(super) fn count(&mut self, group: &JobName, at: Timestamp) {
        let Some(most) = self.most_starts(group).filter(|_| self.is_rated(group)) else { return };
        let starts = self.starts.get_mut(group).expect("a group with a rate has its starts");
        starts.insert(starts.partition_point(|start| *start <= at), at);
        if most < starts.len() {
            starts.pop_front();
        }
        debug_assert!(starts.len() <= most, "no more starts are kept than a rate needs");
    }

    /// Checks that open runs, each of which has this work, are counted.
    pub(super) fn check_open<'r>(&self, works: impl Iterator<Item = &'r Work>) {
        let mut open = BTreeMap::new();
        works.filter_map(|work| work.group.clone()).for_each(|group| *open.entry(group).or_insert(0) += 1);
        assert_eq!(open, self.open, "the open runs of a group are counted");
    }

    /// Checks that starts are kept of what has a rate, as many as count, in their order.
    pub(super) fn check(&self) {
        for name in self.defined.keys() {
            assert_eq!(self.most_starts(name).is_some(), self.is_rated(name), "{name} has starts iff rated");
        }
        for (name, starts) in &self.starts {
            assert!(starts.iter().is_sorted(), "the starts of {name} are in the order of their times");
            assert!(Some(starts.len()) <= self.most_starts(name), "{name} keeps what its rate needs");
        }
    }
}

fn start_count(rate: Rate) -> usize {
    usize::try_from(rate.starts()).unwrap_or(usize::MAX)
}

fn after(time: Timestamp, period: Duration) -> Timestamp {
    time.saturating_add(period).unwrap_or(Timestamp::MAX)
}
