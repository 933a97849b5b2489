//! The latest time that the clock has shown, to notice when it is set back.
//!
//! Cost: a comparison with each tick.
//!
//! Does not move any timer: each queue on the wall clock is told the time, see `wall_ticks`.

use jiff::{SignedDuration, Timestamp};

/// Less than this back changes no wait.
const WAIT_STEP: SignedDuration = SignedDuration::from_secs(1);

/// Less than this back is not worth a note: clocks are corrected by fractions of a second all day.
pub(super) const NOTED_STEP: SignedDuration = SignedDuration::from_secs(60);

const _: () = assert!(WAIT_STEP.as_secs() < NOTED_STEP.as_secs());

/// How far the clock was set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepBack {
    /// Not far enough to change a wait.
    None,
    /// Far enough to change waits.
    Short,
    /// Far enough to say so, too.
    Noted,
}

#[derive(Debug, Default)]
pub(super) struct ClockWatch {
    /// The latest time since planning began, or since the last step back. `None` before that.
    latest: Option<Timestamp>,
    /// When planning began.
    began: Option<Timestamp>,
}

impl ClockWatch {
    /// Planning begins.
    pub(super) fn begin(&mut self, now: Timestamp) {
        (self.latest, self.began) = (Some(now), Some(now));
    }

    /// When planning began, if it has.
    pub(super) fn began(&self) -> Option<Timestamp> {
        self.began
    }

    /// Takes in what the clock shows.
    pub(super) fn tell(&mut self, now: Timestamp) -> StepBack {
        let Some(latest) = self.latest else { return StepBack::None };
        let step = now.duration_since(latest);
        if step < -WAIT_STEP {
            self.latest = Some(now);
            return if step < -NOTED_STEP { StepBack::Noted } else { StepBack::Short };
        }
        self.latest = Some(latest.max(now));
        StepBack::None
    }
}
