//! A driver is whatever runs lanes: what all of them answer in the same way stands here.
//!
//! [`OverLanes`] is what peculiar a driver has to say: which lane a caller schedules into, whom an earlier timer wakes, and
//! how it ends. The rest of [`Timers`] and [`Driver`] follows from the lanes.
//!
//! Cost: that of the lane; `len`, `counts` and `report` look at each lane.

use std::sync::Arc;

use mainspring_queue::{ResetError, Tick, TimerQueue};

use super::lane::{Lane, Room, Wake};
use super::{Counts, Driver, Refusal, Refused, Report, TimerId, Timers, Unfired};
use crate::clock::Clock;

/// What one driver does otherwise than another. Sealed: only this crate's drivers implement it.
pub trait OverLanes<T>: Send + Sync {
    /// The queue in each lane.
    type Queue: TimerQueue<T> + Send;

    /// The lane that the calling thread schedules into.
    fn lane_of_caller(&self) -> Result<&Lane<Self::Queue>, Refusal>;

    /// How many lanes there are; they are numbered from 0.
    fn lane_count(&self) -> u32;

    /// The lane with a number, if there is one.
    fn lane_numbered(&self, number: u32) -> Option<&Lane<Self::Queue>>;

    /// Wakes whom a new earliest deadline of a lane concerns.
    fn wake_for(&self, number: u32, wake: Wake);

    /// The clock whose ticks the deadlines are.
    fn clock_of_lanes(&self) -> &Arc<dyn Clock>;

    /// Stops firing and waits for the driver's own threads, but not for the calling one.
    fn end(&self);
}

#[inline(always)]
fn schedule_in<T: Send, D: OverLanes<T>>(
    driver: &D,
    room: Room,
    deadline: Tick,
    payload: T,
) -> Result<TimerId, Refused<T>> {
    let lane = match driver.lane_of_caller() {
        Ok(lane) => lane,
        Err(reason) => return Err(Refused { reason, payload }),
    };
    let (id, wake) = lane.schedule(&**driver.clock_of_lanes(), room, deadline, payload)?;
    driver.wake_for(id.lane, wake);
    Ok(id)
}

impl<T: Send, D: OverLanes<T>> Timers<T> for D {
    fn schedule(&self, deadline: Tick, payload: T) -> Result<TimerId, Refused<T>> {
        schedule_in(self, Room::Limited, deadline, payload)
    }

    fn schedule_assured(&self, deadline: Tick, payload: T) -> Result<TimerId, Refused<T>> {
        schedule_in(self, Room::Assured, deadline, payload)
    }

    fn cancel(&self, id: TimerId) -> Option<T> {
        self.lane_numbered(id.lane)?.cancel(id)
    }

    fn discard(&self, id: TimerId) {
        if let Some(lane) = self.lane_numbered(id.lane) {
            lane.discard(id);
        }
    }

    fn reset(&self, id: TimerId, deadline: Tick) -> Result<(), ResetError> {
        let lane = self.lane_numbered(id.lane).ok_or(ResetError::NotPending)?;
        let wake = lane.reset(&**self.clock_of_lanes(), id, deadline)?;
        self.wake_for(id.lane, wake);
        Ok(())
    }

    fn deadline(&self, id: TimerId) -> Option<Tick> {
        self.lane_numbered(id.lane)?.deadline(id)
    }

    fn len(&self) -> usize {
        (0..self.lane_count()).filter_map(|number| self.lane_numbered(number)).map(Lane::len).sum()
    }

    fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        let lanes = (0..self.lane_count()).filter_map(|number| self.lane_numbered(number));
        lanes.for_each(|lane| counts.add(&lane.counts::<T>()));
        counts
    }

    fn report(&self) -> Report {
        let mut report = Report::default();
        let lanes = (0..self.lane_count()).filter_map(|number| self.lane_numbered(number));
        lanes.for_each(|lane| lane.add_to::<T>(&mut report));
        report
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        self.clock_of_lanes()
    }
}

impl<T: Send, D: OverLanes<T>> Driver<T> for D {
    fn shutdown(&self) -> Vec<Unfired<T>> {
        self.end();
        let lanes = (0..self.lane_count()).filter_map(|number| self.lane_numbered(number));
        let mut unfired: Vec<Unfired<T>> = lanes.flat_map(Lane::take_unfired).collect();
        unfired.sort_by_key(|timer| timer.deadline);
        unfired
    }
}
