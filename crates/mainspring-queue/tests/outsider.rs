//! A program outside of the crate uses its public API: it writes a queue, wraps one, chooses one at run time,
//! and hands errors on with `?`.

use std::error::Error;
use std::num::NonZeroU32;

use mainspring_queue::contract::{Token, exercise};
use mainspring_queue::wheel::{Bitmap, Chunked, Simple};
use mainspring_queue::{
    Budget, Equals, ExpiredTimer, LimitedQueue, Naive, Order, PopResult, Profile, Reason, RedBlackTree,
    RejectedTimer, ResetError, SkipList, Tick, TimerId, TimerQueue, heap,
};

/// A queue of one list, which uses its slots again under new generations, and keeps to budgets.
struct List<T> {
    slots: Vec<Slot<T>>,
    now: Tick,
}

struct Slot<T> {
    generation: NonZeroU32,
    timer: Option<(Tick, T)>,
}

impl<T> List<T> {
    fn new() -> List<T> {
        List { slots: Vec::new(), now: Tick::ZERO }
    }

    fn slot(&mut self, id: TimerId) -> Option<&mut Slot<T>> {
        self.slots.get_mut(id.index() as usize).filter(|slot| slot.generation == id.generation())
    }
}

impl<T> TimerQueue<T> for List<T> {
    fn schedule(&mut self, deadline: Tick, payload: T) -> Result<TimerId, RejectedTimer<T>> {
        let free = |slot: &Slot<T>| slot.timer.is_none() && slot.generation < NonZeroU32::MAX;
        let Some(index) = self.slots.iter().position(free) else {
            self.slots.push(Slot { generation: NonZeroU32::MIN, timer: Some((deadline, payload)) });
            return Ok(TimerId::from_parts(self.slots.len() as u32 - 1, NonZeroU32::MIN));
        };
        let slot = &mut self.slots[index];
        slot.generation = slot.generation.saturating_add(1);
        slot.timer = Some((deadline, payload));
        Ok(TimerId::from_parts(index as u32, slot.generation))
    }

    fn cancel(&mut self, id: TimerId) -> Option<T> {
        self.slot(id)?.timer.take().map(|(_, payload)| payload)
    }

    fn reset(&mut self, id: TimerId, deadline: Tick) -> Result<(), ResetError> {
        let timer = self.slot(id).and_then(|slot| slot.timer.as_mut());
        timer.ok_or(ResetError::NotPending)?.0 = deadline;
        Ok(())
    }

    fn deadline(&self, id: TimerId) -> Option<Tick> {
        let slot = self.slots.get(id.index() as usize).filter(|slot| slot.generation == id.generation())?;
        slot.timer.as_ref().map(|timer| timer.0)
    }

    fn next_wakeup(&self) -> Option<Tick> {
        self.peek().map(|(_, deadline)| deadline)
    }

    fn advance(&mut self, now: Tick) {
        self.now = self.now.max(now);
    }

    fn pop_expired(&mut self) -> Option<ExpiredTimer<T>> {
        let (id, deadline) = self.peek().filter(|(_, deadline)| *deadline <= self.now)?;
        self.cancel(id).map(|payload| ExpiredTimer { id, deadline, payload })
    }

    fn pop_within(&mut self, budget: &mut Budget) -> PopResult<T> {
        if budget.is_used_up() {
            return PopResult::Paused;
        }
        budget.spend(1);
        self.pop_expired().map_or(PopResult::Nothing, PopResult::Timer)
    }

    fn now(&self) -> Tick {
        self.now
    }

    fn len(&self) -> usize {
        self.slots.iter().filter(|slot| slot.timer.is_some()).count()
    }

    fn peek(&self) -> Option<(TimerId, Tick)> {
        let timers = self.slots.iter().zip(0..).filter_map(|(slot, index)| {
            let deadline = slot.timer.as_ref()?.0;
            Some((TimerId::from_parts(index, slot.generation), deadline))
        });
        timers.min_by_key(|(_, deadline)| *deadline)
    }

    fn profile(&self) -> Profile {
        Profile::exact(Order::Deadline, Equals::Unspecified)
    }
}

#[test]
fn a_queue_from_outside_passes_the_suite() {
    exercise(List::new);
}

#[test]
fn a_queue_that_is_chosen_at_run_time_keeps_the_contract() {
    let choices: [Box<dyn TimerQueue<u64> + Send>; 3] =
        [Box::new(List::new()), Box::new(Chunked::new()), Box::new(heap::Lazy::new())];
    for mut queue in choices {
        queue.schedule(Tick::new(7), 7).expect("each takes any deadline");
        assert_eq!(queue.next_wakeup(), Some(Tick::new(7)));
    }
    exercise(|| Box::new(Chunked::new()) as Box<dyn TimerQueue<Token>>);
    exercise(|| Box::new(List::new()) as Box<dyn TimerQueue<Token>>);
}

#[test]
fn a_borrowed_queue_is_a_queue() {
    fn drain<T>(mut queue: impl TimerQueue<T>, now: Tick) -> usize {
        queue.advance(now);
        std::iter::from_fn(|| queue.pop_expired()).count()
    }
    let mut queue = SkipList::new();
    for deadline in 1..=10 {
        queue.schedule(Tick::new(deadline), ()).expect("a list takes any deadline");
    }
    assert_eq!(drain(&mut queue, Tick::new(4)), 4);
    assert_eq!(queue.len(), 6);
}

#[test]
fn a_limit_goes_round_a_queue_from_outside() {
    let mut queue = LimitedQueue::new(List::new(), 1);
    queue.schedule(Tick::new(1), "first").expect("there is room for one");
    let rejected = queue.schedule(Tick::new(1), "second").expect_err("and for no more");
    assert_eq!((rejected.reason, rejected.payload), (Reason::Full, "second"));
}

/// A payload that may be sent and not shared, as a closure is.
type OnlySent = Box<dyn FnOnce() + Send>;

fn errors_are_handed_on() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut queue = Simple::new(10);
    let id = queue.schedule(Tick::new(1), "text")?;
    queue.reset(id, Tick::new(2))?;
    let mut closures: Simple<OnlySent> = Simple::new(10);
    // A rejected payload that is not `Sync` is no error that is: it is left behind.
    closures.schedule(Tick::new(1), Box::new(|| ())).map_err(Reason::from)?;
    closures.schedule(Tick::new(11), Box::new(|| ())).map_err(Reason::from)?;
    Ok(())
}

#[test]
fn a_question_mark_hands_every_error_on() {
    let error = errors_are_handed_on().expect_err("the last deadline lies beyond the horizon");
    assert_eq!(error.to_string(), "the deadline lies beyond the queue's horizon");
}

#[test]
fn every_queue_can_be_sent_to_another_thread_and_printed() {
    fn holds<Q: TimerQueue<u64> + Send + std::fmt::Debug + Clone>(_: Q) {}
    holds(Naive::new());
    holds(heap::Quaternary::new());
    holds(heap::Lazy::new());
    holds(RedBlackTree::new());
    holds(SkipList::new());
    holds(Bitmap::new());
    holds(Chunked::new());
    holds(Simple::new(4));
}
