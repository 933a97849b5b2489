//! Our own queues: one line each.
//!
//! [`subjects`] is the table. A queue that joins the library joins the lab by a line there; `lab goals`
//! judges the one that [`DEFAULT`] names.
//!
//! Cost: that of the queue. Schedule, advance and pop are the contract's; nothing is known of any structure.
//!
//! It does not choose parameters to please: rings have the sizes of the systems they come from, but for the
//! simple wheel, whose ring must be longer than the longest delay.

use mainspring_queue::{Reason, RedBlackTree, SkipList, Tick, TimerId, TimerQueue, heap, wheel};

use crate::api::{Due, QueueSubject, Step};
use crate::case::Failure;
use crate::subject::{Kind, Subject};

/// The queue that a user gets without reading, which the goals are set for.
pub const DEFAULT: &str = "wheel::Chunked";

/// The same as a type, for what is counted instruction by instruction.
pub type DefaultQueue = wheel::Chunked<u64>;

/// The simple wheel's ring: the next power of two above the minute of W1 and W3. W4 is beyond it.
pub const SIMPLE_SLOT_COUNT: usize = 1 << 16;

/// The table of our queues.
pub fn subjects() -> Vec<Subject> {
    vec![
        queue("wheel::Chunked", "streams of hints over eight rings of 512 slots", wheel::Chunked::new),
        queue("wheel::Bitmap", "eleven levels of 64 slots under bitmaps", wheel::Bitmap::new),
        queue("wheel::Cascading", "256 near slots and four levels of 64: skynet's", wheel::Cascading::new),
        queue("wheel::Hierarchical", "a clock of ms, s, min, h", || {
            wheel::Hierarchical::new(&[1_000, 60, 60, 24])
        }),
        queue("wheel::Overflow", "levels of 20 slots and a heap of slots: Kafka's", || {
            wheel::Overflow::new(20, 1)
        }),
        queue("wheel::Rounds", "one ring of 512 slots of 1 ms: Netty's", || wheel::Rounds::new(512, 1)),
        queue("wheel::Simple", "one ring of 65,536 slots of 1 ms", || wheel::Simple::new(SIMPLE_SLOT_COUNT)),
        queue("heap::Quaternary", "a 4-ary heap with positions", heap::Quaternary::new),
        queue("heap::Lazy", "a heap with lazy deletion", heap::Lazy::new),
        queue("RedBlackTree", "nginx's tree", RedBlackTree::new),
        queue("SkipList", "a skip list", SkipList::new),
    ]
}

fn queue<Q>(name: &'static str, about: &'static str, make: impl Fn() -> Q + Copy + 'static) -> Subject
where
    Q: TimerQueue<u64> + 'static,
{
    let mut subject = Subject::queue(name, Kind::Ours, about, move |_| ContractQueue(make()));
    subject.queue = Some(Box::new(move || Box::new(make())));
    subject
}

/// Any queue that keeps the contract.
#[derive(Debug)]
pub struct ContractQueue<Q>(pub Q);

#[cold]
fn unable(reason: Reason) -> Failure {
    Failure::Unable(reason.to_string())
}

impl<Q: TimerQueue<u64>> QueueSubject for ContractQueue<Q> {
    type Key = TimerId;

    #[inline(always)]
    fn schedule(&mut self, deadline: u64, payload: u64) -> Result<TimerId, Failure> {
        match self.0.schedule(Tick::new(deadline), payload) {
            Ok(id) => Ok(id),
            Err(rejected) => Err(unable(rejected.reason)),
        }
    }

    #[inline(always)]
    fn cancel(&mut self, key: TimerId) -> bool {
        self.0.cancel(key).is_some()
    }

    #[inline(always)]
    fn reset(&mut self, key: TimerId, deadline: u64) -> Result<TimerId, Failure> {
        match self.0.reset(key, Tick::new(deadline)) {
            Ok(()) => Ok(key),
            Err(error) => Err(Failure::Wrong(error.to_string())),
        }
    }

    #[inline]
    fn advance(&mut self, now: u64, due: &mut Due) {
        self.0.advance(Tick::new(now));
        while let Some(expired) = self.0.pop_expired() {
            due.fire(expired.payload);
        }
    }

    fn step(&mut self, due: &mut Due) -> Option<Step> {
        Some(self.wake_at(self.0.next_wakeup()?.get(), due))
    }

    fn pending_count(&self) -> u64 {
        self.0.len() as u64
    }

    fn granularity(&self) -> u64 {
        self.0.profile().granularity
    }
}
