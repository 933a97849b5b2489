//! A driver is whatever runs lanes: what all of them answer in the same way stands here.
//!
//! ```text
//!   driver.schedule(..)  ──▶ the caller's lane ──▶ lane.schedule(..)
//!   driver.cancel(id)    ──▶ the lane that the id names ──▶ lane.cancel(id)
//! ```
//!
//! [`Lanes`] says what differs between drivers: the caller's lane, which lanes there are, and how the driver
//! ends. The rest of [`Timers`](super::Timers) and [`Driver`](super::Driver) follows from the [`Lane`]s:
//! `schedule`, `cancel` and `reset` are in `lane.rs`.
//!
//! Cost: that of the lane; `len`, `counts` and `report` look at each lane.

use std::sync::Arc;

use mainspring_queue::TimerQueue;

use super::lane::Lane;
use super::{Refusal, TimerId};
use crate::clock::Clock;

/// What one driver does otherwise than another.
pub(super) trait Lanes<T>: Send + Sync {
    /// The queue in each lane.
    type Queue: TimerQueue<T> + Send;

    /// The lane that the calling thread schedules into.
    fn lane_of_caller(&self) -> Result<&Arc<Lane<Self::Queue>>, Refusal>;

    /// All lanes. An id names one by its place here.
    fn lanes(&self) -> &[Arc<Lane<Self::Queue>>];

    /// The clock whose ticks the deadlines are.
    fn clock_of_lanes(&self) -> &Arc<dyn Clock>;

    /// Stops firing and waits for the driver's own threads, but not for the calling one.
    fn end(&self);
}

pub(super) fn lane<T: Send, D: Lanes<T>>(driver: &D, id: TimerId) -> Option<&Lane<D::Queue>> {
    driver.lanes().get(id.lane as usize).map(|lane| &**lane)
}

/// Writes `Timers` and `Driver` of a driver that runs lanes, from its [`Lanes`]: `drive_lanes!([Q] Single<Q>
/// where ..)`.
///
/// A macro does it: an implementation for whatever has lanes would keep drivers of other crates from being
/// generic, because the compiler could not rule out that they have lanes too.
macro_rules! drive_lanes {
    ([$($generic:ident),+] $driver:ty where $($bounds:tt)+) => {
        impl<T, $($generic),+> Timers<T> for $driver
        where
            T: Send,
            $($bounds)+
        {
            fn schedule(&self, deadline: Tick, payload: T) -> Result<TimerId, Refused<T>> {
                match Lanes::<T>::lane_of_caller(self) {
                    Ok(lane) => lane.schedule(deadline, payload),
                    Err(reason) => Err(Refused::new(reason, payload)),
                }
            }

            fn schedule_assured(&self, deadline: Tick, payload: T) -> Result<TimerId, Refused<T>> {
                match Lanes::<T>::lane_of_caller(self) {
                    Ok(lane) => lane.schedule_assured(deadline, payload),
                    Err(reason) => Err(Refused::new(reason, payload)),
                }
            }

            fn local(&self) -> Result<Arc<dyn Part<T>>, Refusal>
            where
                Self: 'static,
                T: 'static,
            {
                Lanes::<T>::lane_of_caller(self).map(|lane| Arc::clone(lane) as Arc<dyn Part<T>>)
            }

            fn local_lane(&self) -> Result<u32, Refusal>
            where
                Self: 'static,
                T: 'static,
            {
                Lanes::<T>::lane_of_caller(self).map(|lane| lane.index())
            }

            fn cancel(&self, id: TimerId) -> Option<T> {
                lane::<T, _>(self, id)?.cancel(id)
            }

            fn reset(&self, id: TimerId, deadline: Tick) -> Result<(), ResetError> {
                lane::<T, _>(self, id).ok_or(ResetError::NotPending)?.reset(id, deadline)
            }

            fn deadline(&self, id: TimerId) -> Option<Tick> {
                lane::<T, _>(self, id)?.deadline(id)
            }

            fn is_firing(&self, id: TimerId) -> bool {
                lane::<T, _>(self, id).is_some_and(|lane| Part::<T>::is_firing(lane, id))
            }

            fn wait_for_firing(&self, id: TimerId) {
                if let Some(lane) = lane::<T, _>(self, id) {
                    Part::<T>::wait_for_firing(lane, id);
                }
            }

            fn len(&self) -> usize {
                Lanes::<T>::lanes(self).iter().map(|lane| lane.len()).sum()
            }

            fn counts(&self) -> Counts {
                let mut counts = Counts::default();
                Lanes::<T>::lanes(self).iter().for_each(|lane| counts.add(&lane.counts::<T>()));
                counts
            }

            fn report(&self) -> Report {
                let mut report = Report::default();
                Lanes::<T>::lanes(self).iter().for_each(|lane| lane.add_to::<T>(&mut report));
                report
            }

            fn clock(&self) -> &Arc<dyn Clock> {
                Lanes::<T>::clock_of_lanes(self)
            }
        }

        impl<T, $($generic),+> Driver<T> for $driver
        where
            T: Send,
            $($bounds)+
        {
            fn shutdown(&self) -> Vec<Unfired<T>> {
                Lanes::<T>::end(self);
                let mut unfired: Vec<Unfired<T>> = Lanes::<T>::lanes(self).iter().flat_map(|lane| lane.take_unfired()).collect();
                unfired.sort_by_key(|timer| timer.deadline);
                unfired
            }
        }
    };
}

pub(super) use drive_lanes;
