//! The parts of a driver as timers hold them: by one word.
//!
//! ```text
//!   timer [ slot | id ]  16 bytes           slot [ counts ][ part, a fat pointer | shard ]          part: a shard of the driver
//!   timer [ slot | id ] ────one per shard──▶      hot: all timers of a shard share it   ──────▶
//! ```
//!
//! A program keeps a crowd of timers, and comes to each when it has left all caches. A reference to a part
//! takes two words, because the part's type is not known, and with the driver's number for the shard a timer
//! took 32 bytes: twice the memory, and every second one in a crowd lay across two lines.
//!
//! Cost: a step more to the part, through memory that is in cache. One allocation per shard that is used.
//!
//! It does not choose the shard: the driver does.

use std::fmt;
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, OnceLock};

use mainspring_queue::Tick;

use crate::clock::Clock;
use crate::driver::{Part, Refusal, RefusedTimer, Single, TimerId, Timers};

/// How many slots are found at once. The default driver has no more shards.
const BLOCK_SLOT_COUNT: usize = 64;

/// Shards from this number on have no slot that stays: each timer makes one. No machine has so many cores.
const SLOT_COUNT_MAX: usize = 4_096;

/// What timers share that go into one shard. Aligned to two cache lines, because processors fetch them in
/// pairs: threads of different shards count references to different slots, and must not meet there.
#[repr(align(128))]
struct Slot<T> {
    part: Arc<dyn Part<T>>,
    shard: u32,
    /// Where to ask again for a part, if the driver had none.
    driver: Option<PartSource<T>>,
}

/// A driver that had no part for a thread, and its slots.
struct PartSource<T> {
    timers: Arc<dyn Timers<T>>,
    locals: Arc<Locals<T>>,
}

/// A handle of the part of a driver that some thread schedules into.
pub(crate) struct Local<T> {
    slot: Arc<Slot<T>>,
}

/// The slots of a driver, made as they are needed, and its clock.
pub(super) struct Locals<T> {
    pub(super) clock: Arc<dyn Clock>,
    first: Block<T>,
}

struct Block<T> {
    slots: [OnceLock<Arc<Slot<T>>>; BLOCK_SLOT_COUNT],
    next: OnceLock<Box<Block<T>>>,
}

impl<T> Block<T> {
    fn new() -> Block<T> {
        Block { slots: [const { OnceLock::new() }; BLOCK_SLOT_COUNT], next: OnceLock::new() }
    }

    fn slot(&self, index: usize) -> &OnceLock<Arc<Slot<T>>> {
        let mut block = self;
        for _ in 0..index / BLOCK_SLOT_COUNT {
            block = block.next.get_or_init(|| Box::new(Block::new()));
        }
        &block.slots[index % BLOCK_SLOT_COUNT]
    }
}

impl<T> Locals<T> {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Locals<T> {
        Locals { clock, first: Block::new() }
    }

    /// The part that the calling thread schedules into.
    #[inline]
    pub(super) fn of_caller(&self, timers: &(dyn Timers<T> + 'static)) -> Result<Local<T>, Refusal>
    where
        T: 'static,
    {
        let shard = timers.local_shard()?;
        match self.first.slots.get(shard as usize).and_then(OnceLock::get) {
            Some(slot) => Ok(Local { slot: Arc::clone(slot) }),
            None => self.slot(timers),
        }
    }

    #[cold]
    fn slot(&self, timers: &(dyn Timers<T> + 'static)) -> Result<Local<T>, Refusal>
    where
        T: 'static,
    {
        let part = timers.local()?;
        let shard = part.shard();
        let index = shard as usize;
        let make = || Arc::new(Slot { part, shard, driver: None });
        let slot = if index < SLOT_COUNT_MAX {
            Arc::clone(self.first.slot(index).get_or_init(make))
        } else {
            make()
        };
        Ok(Local { slot })
    }
}

impl<T: Send + 'static> Local<T> {
    /// A part that refuses everything, until it is [asked again](Self::ask_again): the driver has no thread
    /// for a better one.
    #[cold]
    pub(super) fn absent(timers: Arc<dyn Timers<T>>, locals: Arc<Locals<T>>) -> Local<T> {
        let refusing = Single::refusing(Arc::clone(&locals.clock), Refusal::NoThread);
        let part = Timers::<T>::local(&refusing).expect("its one queue has a part for each thread");
        let shard = part.shard();
        Local { slot: Arc::new(Slot { part, shard, driver: Some(PartSource { timers, locals }) }) }
    }

    /// Asks the driver again where it had no thread for the part.
    ///
    /// # Errors
    /// It has none still.
    #[inline]
    pub(crate) fn ask_again(&mut self) -> Result<(), Refusal> {
        if let Some(PartSource { timers, locals }) = &self.slot.driver {
            *self = locals.of_caller(&**timers)?;
        }
        Ok(())
    }
}

impl<T> Local<T> {
    /// Adds a timer that the program asks for.
    #[inline]
    pub(crate) fn schedule(&self, deadline: Tick, payload: T) -> Result<TimerId, RefusedTimer<T>> {
        self.slot.part.schedule(deadline, payload)
    }

    /// Adds a timer that no limit turns away: see [`Timers::schedule_assured`].
    #[inline]
    pub(crate) fn schedule_assured(&self, deadline: Tick, payload: T) -> Result<TimerId, RefusedTimer<T>> {
        self.slot.part.schedule_assured(deadline, payload)
    }

    /// The driver's name for a timer of this part.
    #[inline]
    pub(crate) fn id(&self, timer: mainspring_queue::TimerId) -> TimerId {
        TimerId::from_parts(self.slot.shard, timer)
    }
}

impl<T> Deref for Local<T> {
    type Target = dyn Part<T>;

    #[inline]
    fn deref(&self) -> &(dyn Part<T> + 'static) {
        &*self.slot.part
    }
}

impl<T> Clone for Local<T> {
    fn clone(&self) -> Local<T> {
        Local { slot: Arc::clone(&self.slot) }
    }
}

/// As [`Handle`](super::Handle).
impl<T> UnwindSafe for Local<T> {}
impl<T> RefUnwindSafe for Local<T> {}

impl<T> fmt::Debug for Local<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Local").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Manual;
    use crate::driver::Striped;
    use crate::handle::Handle;
    use mainspring_queue::wheel::Chunked;

    #[test]
    fn threads_of_one_shard_share_a_slot_and_those_of_others_do_not() {
        // So many shards that they need a second block, where each thread has one of its own.
        let driver = Striped::new(3 * BLOCK_SLOT_COUNT, Chunked::new, Manual::stepped());
        let handle: Handle<u64> = Handle::new(Arc::new(driver));
        let slot = || Arc::as_ptr(&handle.local().expect("it has a shard").slot).addr();
        assert_eq!(slot(), slot());
        let mut slots: Vec<usize> = (0..2 * BLOCK_SLOT_COUNT)
            .map(|_| std::thread::scope(|scope| scope.spawn(|| [slot(), slot()]).join().expect("it ends")))
            .map(|[one, other]| {
                assert_eq!(one, other);
                one
            })
            .collect();
        slots.sort_unstable();
        slots.dedup();
        assert!(BLOCK_SLOT_COUNT < slots.len(), "threads go into shards of their own");
    }

    #[test]
    fn a_slot_ends_with_its_driver_and_its_timers() {
        let driver = Arc::new(Striped::new(4, Chunked::new, Manual::stepped()));
        let handle: Handle<u64> = Handle::new(Arc::clone(&driver) as Arc<dyn Timers<u64>>);
        let local = handle.local().expect("it has a shard");
        let slot = Arc::downgrade(&local.slot);
        drop(handle);
        drop(driver);
        assert!(slot.upgrade().is_some(), "a timer holds it");
        drop(local);
        assert!(slot.upgrade().is_none());
    }
}
