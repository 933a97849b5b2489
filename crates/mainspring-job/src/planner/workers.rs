//! The workers that are there, and the choice of one for a run.
//!
//! ```text
//!  a run needs gpu      web-1 [gpu]   12 of 16 free
//!                       web-2 [gpu]   14 of 16 free   ◀── the most free places
//!                       web-3         16 of 16 free
//! ```
//!
//! Of those that are present, have all that the run needs and have a free place, the one with the most free
//! places gets it. Of equals it is the one at which the fewest runs have started, then the first by name,
//! then by id. So a worker that joins takes work at once, and none is left out for ever.
//!
//! A run that is tried again if its worker dies may be started where no place is free, and waits there: see
//! [`Worker::ahead`]. So a worker has the next run at once when one ends, without a round trip to the
//! planner and its disk. Places that are free anywhere are taken first.
//!
//! Cost: O(workers) for each choice.
//!
//! Does not know which runs there are: it is told when one takes a place and when one leaves it.

use std::collections::BTreeMap;

use super::hold::Hold;
use crate::run::RunKey;
use crate::worker::{Needs, Worker, WorkerId};

/// Where a run may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Placement {
    /// Where a place is free.
    Free,
    /// Also where it waits for one.
    Ahead,
}

#[derive(Debug, Default)]
pub(super) struct Workers {
    present: BTreeMap<WorkerId, Presence>,
}

#[derive(Debug)]
struct Presence {
    worker: Worker,
    /// How many runs run at it.
    running_count: usize,
    /// How many have started at it since this planner knows it.
    start_count: u64,
    is_leaving: bool,
}

impl Presence {
    fn places(&self, placement: Placement) -> usize {
        match placement {
            Placement::Free => self.worker.capacity,
            Placement::Ahead => self.worker.capacity + self.worker.ahead,
        }
    }

    fn free_count(&self, placement: Placement) -> usize {
        self.places(placement).saturating_sub(self.running_count)
    }

    /// How many runs wait at it for one that runs to end; as many fewer than none as it has free places.
    fn waiting_count(&self) -> isize {
        self.running_count.cast_signed() - self.worker.capacity.cast_signed()
    }

    /// The least gets the next run.
    fn rank(&self) -> (isize, u64, &str, WorkerId) {
        (self.waiting_count(), self.start_count, &self.worker.name, self.worker.id)
    }
}

impl Workers {
    /// These, at each of which so many runs run.
    pub(super) fn of(workers: impl IntoIterator<Item = (Worker, usize)>) -> Workers {
        let presence = |(worker, running_count): (Worker, usize)| {
            (worker.id, Presence { worker, running_count, start_count: 0, is_leaving: false })
        };
        Workers { present: workers.into_iter().map(presence).collect() }
    }

    /// A worker is there, or is another than it was. One that leaves stays so.
    pub(super) fn welcome(&mut self, worker: Worker) {
        match self.present.get_mut(&worker.id) {
            Some(presence) => presence.worker = worker,
            None => {
                let presence = Presence { worker, running_count: 0, start_count: 0, is_leaving: false };
                self.present.insert(presence.worker.id, presence);
            }
        }
    }

    /// Nothing starts at it any more.
    pub(super) fn leave(&mut self, id: WorkerId) {
        if let Some(presence) = self.present.get_mut(&id) {
            presence.is_leaving = true;
        }
    }

    /// It is not there any more. No run is at it.
    pub(super) fn remove(&mut self, id: WorkerId) {
        let removed = self.present.remove(&id);
        debug_assert!(removed.is_none_or(|it| it.running_count == 0), "what ran at it has left");
    }

    pub(super) fn has(&self, id: WorkerId) -> bool {
        self.present.contains_key(&id)
    }

    /// Each worker, and how many runs run at it.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Worker, usize)> {
        self.present.values().map(|presence| (&presence.worker, presence.running_count))
    }

    /// Those at which such a run may start now or later.
    fn serving<'w>(&'w self, needs: &'w Needs) -> impl Iterator<Item = &'w Presence> {
        self.present.values().filter(move |presence| !presence.is_leaving && presence.worker.serves(needs))
    }

    /// The workers at which runs may start that need this, in order of their ids.
    pub(super) fn open_to(&self, needs: &Needs) -> Vec<WorkerId> {
        self.serving(needs).map(|presence| presence.worker.id).collect()
    }

    /// The worker, if there is one only.
    pub(super) fn only(&self) -> Option<WorkerId> {
        self.present.keys().next().copied().filter(|_| self.present.len() == 1)
    }

    /// What of it no worker has; all of it if each part is somewhere.
    pub(super) fn lacking(&self, needs: &Needs) -> Needs {
        let has = |presence: &Presence, need: &_| !presence.is_leaving && presence.worker.has(need);
        let is_there = |need: &_| self.present.values().any(|presence| has(presence, need));
        let lacking = Needs::new(needs.iter().filter(|need| !is_there(need)).cloned());
        if lacking == Needs::default() { needs.clone() } else { lacking }
    }

    /// Whether any worker has what is needed, free or not.
    pub(super) fn has_serving(&self, needs: &Needs) -> bool {
        self.serving(needs).next().is_some()
    }

    /// How many places there are for a run at those that have what it needs.
    pub(super) fn free_count(&self, needs: &Needs, placement: Placement) -> usize {
        self.serving(needs).map(|presence| presence.free_count(placement)).sum()
    }

    /// How many places those have in all, if none of them is free.
    pub(super) fn full_capacity(&self, needs: &Needs, placement: Placement) -> Option<usize> {
        let is_full = self.has_serving(needs) && self.free_count(needs, placement) == 0;
        is_full.then(|| self.serving(needs).map(|presence| presence.places(placement)).sum())
    }

    /// Why a run does not start that needs this, of a group that may be full.
    pub(super) fn why_no_slot(
        &self,
        run: RunKey,
        needs: &Needs,
        placement: Placement,
        full_group: Option<Hold>,
    ) -> Option<Hold> {
        if !self.has_serving(needs) {
            return Some(Hold::Unserved { run, needs: self.lacking(needs) });
        }
        let full = || self.full_capacity(needs, placement).map(|limit| Hold::ServerFull { run, limit });
        full_group.or_else(full)
    }

    /// The worker at which a run starts that needs this.
    pub(super) fn choose(&self, needs: &Needs, placement: Placement) -> Option<WorkerId> {
        let free = self.serving(needs).filter(|presence| 0 < presence.free_count(placement));
        free.min_by(|one, other| one.rank().cmp(&other.rank())).map(|presence| presence.worker.id)
    }

    /// A run starts at a worker that was chosen.
    pub(super) fn begin(&mut self, id: WorkerId) {
        let presence = self.present.get_mut(&id).expect("a run starts at a worker that is there");
        assert!(0 < presence.free_count(Placement::Ahead), "a run starts where there is room");
        presence.running_count += 1;
        presence.start_count += 1;
    }

    /// A run is running at a worker that is there: it had started before this planner.
    pub(super) fn resume(&mut self, id: WorkerId) {
        let presence = self.present.get_mut(&id).expect("a run continues at a worker that is there");
        presence.running_count += 1;
    }

    /// A run leaves its place.
    pub(super) fn end(&mut self, id: WorkerId) {
        let presence = self.present.get_mut(&id).expect("a run leaves a worker that is there");
        presence.running_count -= 1;
    }

    pub(super) fn check(&self, mut running: impl FnMut(WorkerId) -> usize) {
        for (id, presence) in &self.present {
            assert_eq!(*id, presence.worker.id, "a worker is kept under its id");
            assert_eq!(running(*id), presence.running_count, "worker {id} has what runs at it");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(texts: &[&str]) -> Needs {
        Needs::new(texts.iter().map(|text| (text.parse().unwrap(), 0)))
    }

    fn worker(id: u64, name: &str, capacity: usize, labels: &[&str]) -> Worker {
        let worker = Worker::new(WorkerId(id), name, capacity);
        labels.iter().fold(worker, |worker, text| worker.with_label(text.parse().unwrap(), 0))
    }

    /// The workers at which so many runs start that need this, one after the other.
    fn starts(workers: &mut Workers, needs: &Needs, count: usize) -> Vec<u64> {
        starts_of(workers, needs, Placement::Free, count)
    }

    fn starts_of(workers: &mut Workers, needs: &Needs, placement: Placement, count: usize) -> Vec<u64> {
        let mut chosen = Vec::new();
        while chosen.len() < count
            && let Some(id) = workers.choose(needs, placement)
        {
            workers.begin(id);
            chosen.push(id.0);
        }
        chosen
    }

    #[test]
    fn the_one_with_the_most_free_places_gets_the_run_then_the_least_used_then_the_first_by_name() {
        let mut workers = Workers::default();
        workers.welcome(worker(1, "b", 2, &[]));
        workers.welcome(worker(2, "a", 2, &[]));
        workers.welcome(worker(3, "c", 3, &[]));
        assert_eq!(starts(&mut workers, &Needs::default(), 9), [3, 2, 1, 3, 2, 1, 3]);
        assert_eq!(workers.full_capacity(&Needs::default(), Placement::Free), Some(7));
        // Of two that are equally free now, the one at which fewer have started.
        [1, 2, 2, 3].into_iter().for_each(|id| workers.end(WorkerId(id)));
        workers.begin(WorkerId(2));
        assert_eq!(starts(&mut workers, &Needs::default(), 1), [1]);
    }

    #[test]
    fn a_run_waits_at_a_worker_only_if_it_may_and_no_place_is_free() {
        let mut workers = Workers::default();
        workers.welcome(worker(1, "a", 2, &[]).with_ahead(3));
        workers.welcome(worker(2, "b", 1, &[]).with_ahead(1));
        let none = Needs::default();
        assert_eq!(starts_of(&mut workers, &none, Placement::Ahead, 5), [1, 2, 1, 2, 1]);
        assert_eq!(workers.choose(&none, Placement::Free), None, "each place is taken");
        assert_eq!(workers.full_capacity(&none, Placement::Free), Some(3));
        assert_eq!(workers.full_capacity(&none, Placement::Ahead), None);
        assert_eq!(starts_of(&mut workers, &none, Placement::Ahead, 9), [1, 1]);
        assert_eq!(workers.full_capacity(&none, Placement::Ahead), Some(7));
        // It has become slow: what waits there is given back, and nothing more comes.
        workers.welcome(worker(1, "a", 2, &[]));
        [1, 1, 1].into_iter().for_each(|id| workers.end(WorkerId(id)));
        assert_eq!(workers.choose(&none, Placement::Ahead), None);
    }

    #[test]
    fn a_run_goes_only_where_all_that_it_needs_is() {
        let mut workers = Workers::default();
        workers.welcome(worker(1, "a", 9, &[]));
        workers.welcome(worker(2, "b", 1, &["gpu"]));
        workers.welcome(worker(3, "c", 1, &["gpu", "eu"]));
        assert_eq!(starts(&mut workers, &needs(&["gpu", "eu"]), 2), [3]);
        assert_eq!(starts(&mut workers, &needs(&["gpu"]), 2), [2]);
        assert!(
            !workers.has_serving(&needs(&["us"]))
                && workers.full_capacity(&needs(&["us"]), Placement::Free).is_none()
        );
    }

    #[test]
    fn nothing_starts_at_a_worker_that_leaves_or_has_become_too_small() {
        let mut workers = Workers::default();
        workers.welcome(worker(1, "a", 2, &[]));
        assert_eq!(starts(&mut workers, &Needs::default(), 2), [1, 1]);
        workers.welcome(worker(1, "a", 1, &[]));
        workers.end(WorkerId(1));
        assert_eq!(workers.choose(&Needs::default(), Placement::Free), None, "one runs, and one may");
        workers.welcome(worker(1, "a", 2, &[]));
        assert_eq!(workers.choose(&Needs::default(), Placement::Free), Some(WorkerId(1)));
        workers.leave(WorkerId(1));
        workers.welcome(worker(1, "a", 2, &[]));
        assert_eq!(workers.choose(&Needs::default(), Placement::Free), None);
        workers.check(|_| 1);
    }
}
