//! A driver is whatever runs shards: what all of them answer in the same way stands here.
//!
//! ```text
//!   driver.schedule(..)  ──▶ the caller's shard ──▶ shard.schedule(..)
//!   driver.cancel(id)    ──▶ the shard that the id names ──▶ shard.cancel(id)
//! ```
//!
//! [`ShardSet`] says what differs between drivers: the caller's shard, which shards there are, and how the
//! driver ends. The rest of [`Timers`](super::Timers) and [`Driver`](super::Driver) follows from the
//! [`Shard`]s: `schedule`, `cancel` and `reset` are in `shard.rs`.
//!
//! Cost: that of the shard; `len`, `counts` and `report` look at each shard.

use std::collections::BinaryHeap;
use std::sync::Arc;

use mainspring_queue::TimerQueue;

use super::shard::Shard;
use super::{Refusal, TimerId, UnfiredTimer};

/// What one driver does otherwise than another.
pub(super) trait ShardSet<T>: Send + Sync {
    /// The queue in each shard.
    type Queue: TimerQueue<T> + Send;

    /// The shard that the calling thread schedules into.
    fn shard_of_caller(&self) -> Result<&Arc<Shard<Self::Queue>>, Refusal>;

    /// All shards, of which there is one at least, by one clock. An id names one by its place here.
    fn shards(&self) -> &[Arc<Shard<Self::Queue>>];

    /// Stops firing and waits for the driver's own threads, but not for the calling one.
    fn end(&self);
}

pub(super) fn shard<T: Send, D: ShardSet<T>>(driver: &D, id: TimerId) -> Option<&Shard<D::Queue>> {
    driver.shards().get(id.shard as usize).map(|shard| &**shard)
}

/// Sorts what did not fire by its deadlines. Equals stay in their order.
///
/// A heap of places sorts, in O(n log n): std's stable sort would be 9 KB of every program.
pub(super) fn earliest_first<T>(timers: impl Iterator<Item = UnfiredTimer<T>>) -> Vec<UnfiredTimer<T>> {
    let mut timers: Vec<Option<UnfiredTimer<T>>> = timers.map(Some).collect();
    let places = timers.iter().flatten().zip(0..).map(|(timer, place)| (timer.deadline, place));
    let places = places.collect::<BinaryHeap<(_, usize)>>().into_sorted_vec();
    places.into_iter().filter_map(|(_, place)| timers[place].take()).collect()
}

/// Writes `Timers` and `Driver` of a driver that runs shards, from its [`ShardSet`]: `drive_shards!([Q]
/// Single<Q> where ..)`.
///
/// A macro does it: an implementation for whatever has shards would keep drivers of other crates from being
/// generic, because the compiler could not rule out that they have shards too.
macro_rules! drive_shards {
    ([$($generic:ident),+] $driver:ty where $($bounds:tt)+) => {
        impl<T, $($generic),+> Timers<T> for $driver
        where
            T: Send,
            $($bounds)+
        {
            fn schedule(&self, deadline: Tick, payload: T) -> Result<TimerId, RefusedTimer<T>> {
                match ShardSet::<T>::shard_of_caller(self) {
                    Ok(shard) => shard.schedule(deadline, payload),
                    Err(reason) => Err(RefusedTimer::new(reason, payload)),
                }
            }

            fn schedule_assured(&self, deadline: Tick, payload: T) -> Result<TimerId, RefusedTimer<T>> {
                match ShardSet::<T>::shard_of_caller(self) {
                    Ok(shard) => shard.schedule_assured(deadline, payload),
                    Err(reason) => Err(RefusedTimer::new(reason, payload)),
                }
            }

            fn local(&self) -> Result<Arc<dyn Part<T>>, Refusal>
            where
                Self: 'static,
                T: 'static,
            {
                ShardSet::<T>::shard_of_caller(self).map(|shard| Arc::clone(shard) as Arc<dyn Part<T>>)
            }

            fn local_shard(&self) -> Result<u32, Refusal>
            where
                Self: 'static,
                T: 'static,
            {
                ShardSet::<T>::shard_of_caller(self).map(|shard| shard.index())
            }

            fn cancel(&self, id: TimerId) -> Option<T> {
                shard::<T, _>(self, id)?.cancel(id)
            }

            fn reset(&self, id: TimerId, deadline: Tick) -> Result<(), ResetError> {
                shard::<T, _>(self, id).ok_or(ResetError::NotPending)?.reset(id, deadline)
            }

            fn deadline(&self, id: TimerId) -> Option<Tick> {
                shard::<T, _>(self, id)?.deadline(id)
            }

            fn is_firing(&self, id: TimerId) -> bool {
                shard::<T, _>(self, id).is_some_and(|shard| Part::<T>::is_firing(shard, id))
            }

            fn wait_for_firing(&self, id: TimerId) {
                if let Some(shard) = shard::<T, _>(self, id) {
                    Part::<T>::wait_for_firing(shard, id);
                }
            }

            fn len(&self) -> usize {
                ShardSet::<T>::shards(self).iter().map(|shard| shard.len()).sum()
            }

            fn counts(&self) -> Counts {
                let mut counts = Counts::default();
                ShardSet::<T>::shards(self).iter().for_each(|shard| counts.add(&shard.counts::<T>()));
                counts
            }

            #[cfg(feature = "report")]
            fn report(&self) -> $crate::driver::Report {
                let mut report = $crate::driver::Report::default();
                ShardSet::<T>::shards(self).iter().for_each(|shard| shard.add_to::<T>(&mut report));
                report
            }

            fn clock(&self) -> &Arc<dyn Clock> {
                ShardSet::<T>::shards(self)[0].clock()
            }
        }

        impl<T, $($generic),+> Driver<T> for $driver
        where
            T: Send,
            $($bounds)+
        {
            fn shutdown(&self) -> Vec<UnfiredTimer<T>> {
                ShardSet::<T>::end(self);
                $crate::driver::shard_set::earliest_first(ShardSet::<T>::shards(self).iter().flat_map(|shard| shard.take_unfired()))
            }
        }
    };
}

pub(super) use drive_shards;
