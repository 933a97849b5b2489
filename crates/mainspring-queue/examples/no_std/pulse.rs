//! A small machine driven by timers: a light blinks, and a motor stops if no request comes for more.
//!
//! Cost: one queue; what is due costs O(1) each.

use alloc::vec::Vec;

use mainspring_queue::wheel::Bitmap;
use mainspring_queue::{RejectedTimer, Tick, TimerId, TimerQueue};

/// What is done when its time comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Deed {
    /// The light changes.
    Blink,
    /// The motor is switched off.
    StopMotor,
}

/// How many ticks the light keeps its state.
const BLINK_TICKS: u64 = 500;

/// How many ticks the motor runs after it was last asked for.
const MOTOR_TICKS: u64 = 2_000;

/// The timers of the machine, by ticks of a millisecond.
#[derive(Debug)]
pub struct Pulse {
    queue: Bitmap<Deed>,
    motor: Option<TimerId>,
}

impl Pulse {
    /// Starts to blink.
    ///
    /// # Errors
    /// The queue does not take another timer.
    pub fn new() -> Result<Pulse, RejectedTimer<Deed>> {
        let mut queue = Bitmap::new();
        queue.schedule(Tick::new(BLINK_TICKS), Deed::Blink)?;
        Ok(Pulse { queue, motor: None })
    }

    /// Lets the motor run for a while from `now`, or for a while longer.
    ///
    /// # Errors
    /// The queue does not take another timer.
    pub fn run_motor(&mut self, now: Tick) -> Result<(), RejectedTimer<Deed>> {
        let end = Tick::new(now.get() + MOTOR_TICKS);
        if self.motor.is_none_or(|timer| self.queue.reset(timer, end).is_err()) {
            self.motor = Some(self.queue.schedule(end, Deed::StopMotor)?);
        }
        Ok(())
    }

    /// Says what is to be done now, in order. Called from the main loop when the machine's timer has woken
    /// it.
    ///
    /// # Errors
    /// The queue does not take another timer.
    pub fn tick(&mut self, now: Tick) -> Result<Vec<Deed>, RejectedTimer<Deed>> {
        let mut deeds = Vec::new();
        self.queue.advance(now);
        while let Some(timer) = self.queue.pop_expired() {
            if timer.payload == Deed::Blink {
                self.queue.schedule(Tick::new(timer.deadline.get() + BLINK_TICKS), Deed::Blink)?;
            }
            deeds.push(timer.payload);
        }
        Ok(deeds)
    }

    /// Says when the machine's timer has to wake it.
    pub fn next_wakeup(&self) -> Option<Tick> {
        self.queue.next_wakeup()
    }
}
