//! Steps of the clocks between two turns of the loop: the wall clock was set, or the machine slept.
//!
//! ```text
//!              wall        monotonic   since boot
//! time passes  t           t           t
//! it slept     t + sleep   t           t + sleep
//! it was set   t + step    t           t
//! ```
//!
//! Cost: a comparison each turn, and a reading of the third clock where the first two differ.
//!
//! Does not decide what becomes of a time that was passed over: the planner does, for both in the same way.

use std::time::Duration;

use jiff::SignedDuration;

use crate::protocol::ClockStepWire;
use mainspring_exec::clock::Moment;
use mainspring_exec::span::Span;

/// By how much the two clocks may differ between two turns before one of them was set: more than the rate of
/// either is ever adjusted in that time.
const MIN_STEP: SignedDuration = SignedDuration::from_secs(1);

/// What is worth a line of the log: clocks are corrected by seconds when a machine finds its time server. It
/// is what the planner has for steps back.
const NOTED: Duration = Duration::from_secs(60);

const _: () = assert!(MIN_STEP.as_secs() < NOTED.as_secs() as i64, "what is worth a line is a step");

/// How the clocks were when the loop looked last.
#[derive(Debug)]
pub(super) struct ClockSteps {
    looked: Moment,
    /// When the clock since boot was read last, and what it showed.
    read: (Moment, Duration),
    /// When people were told of a step last, and what.
    pub(super) reported: Option<ClockStepWire>,
}

/// What happened between two looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClockStep {
    /// By how much the wall clock is ahead of the time that has passed; negative if it was set back.
    pub(super) ahead: SignedDuration,
    /// How long the machine slept.
    slept: Duration,
}

impl ClockSteps {
    /// `since_boot` is the time since the machine was started, its sleep included.
    pub(super) fn new(now: Moment, since_boot: Duration) -> ClockSteps {
        ClockSteps { looked: now, read: (now, since_boot), reported: None }
    }

    /// The step since the last look, if there was one.
    pub(super) fn look(&mut self, now: Moment, since_boot: impl FnOnce() -> Duration) -> Option<ClockStep> {
        let last = std::mem::replace(&mut self.looked, now);
        let waited = SignedDuration::try_from(now.since(last)).unwrap_or(SignedDuration::MAX);
        let ahead = now.wall.duration_since(last.wall).saturating_sub(waited);
        if ahead.abs() < MIN_STEP {
            return None;
        }
        let (read, showed) = self.read;
        self.read = (now, since_boot());
        let slept = self.read.1.saturating_sub(showed).saturating_sub(now.since(read));
        let step = ClockStep { ahead, slept };
        if let Some(text) = step.text() {
            self.reported = Some(ClockStepWire { at: now.wall, text, is_back: step.is_back() });
        }
        Some(step)
    }
}

impl ClockStep {
    /// Whether the clock shows a time again that it has shown before. The planner writes a line of the log
    /// then, so that the loop does not.
    pub(super) fn is_back(&self) -> bool {
        self.ahead < SignedDuration::ZERO
    }

    /// What people are told, if it is worth it: why times were passed over, or come again.
    pub(super) fn text(&self) -> Option<String> {
        let slept = SignedDuration::try_from(self.slept).unwrap_or(SignedDuration::MAX);
        let ahead = self.ahead.saturating_sub(slept);
        let way = if ahead < SignedDuration::ZERO { "back" } else { "forward" };
        let set = ahead.unsigned_abs();
        let slept = (NOTED <= self.slept).then(|| format!("the machine slept for {}", Span(self.slept)));
        let set = (NOTED <= set).then(|| format!("the clock was set {way} by {}", Span(set)));
        match (slept, set) {
            (Some(slept), Some(set)) => Some(format!("{slept}, and {set}")),
            (slept, set) => slept.or(set),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A moment some seconds after the first, on a wall clock that is so much ahead.
    fn at(start: Moment, waited_ms: u64, wall_ms: i64) -> Moment {
        Moment {
            monotonic: start.monotonic + Duration::from_millis(waited_ms),
            wall: start.wall + SignedDuration::from_millis(wall_ms),
        }
    }

    #[test]
    fn a_clock_that_is_set_is_noticed_in_both_directions_and_a_slow_one_is_not() {
        let start = Moment::now();
        let mut steps = ClockSteps::new(start, Duration::from_secs(5));
        let looks = [
            (60_000, 60_000, None),
            (61_000, 61_900, None),
            (62_000, 3_662_900, Some(3_600)),
            (63_000, 3_663_900, None),
            (64_000, 64_900, Some(-3_600)),
        ];
        for (waited_ms, wall_ms, expected) in looks {
            let since_boot = Duration::from_millis(5_000 + waited_ms);
            let step = steps.look(at(start, waited_ms, wall_ms), || since_boot);
            assert_eq!(step.map(|step| step.ahead.as_secs()), expected, "{waited_ms}");
        }
        let reported = ClockStepWire {
            at: start.wall + SignedDuration::from_millis(64_900),
            text: "the clock was set back by 1 h 0 min".to_owned(),
            is_back: true,
        };
        assert_eq!(steps.reported, Some(reported));
    }

    #[test]
    fn sleep_and_a_step_of_the_clock_are_told_apart() {
        let start = Moment::now();
        let text_of = |slept_s: u64, step_s: i64| {
            let mut steps = ClockSteps::new(start, Duration::from_secs(5));
            let wall_ms = 1_000 + 1_000 * (slept_s.cast_signed() + step_s);
            let since_boot = Duration::from_secs(5 + 1 + slept_s);
            steps.look(at(start, 1_000, wall_ms), || since_boot).and_then(|step| step.text())
        };
        assert_eq!(text_of(0, 7_200).unwrap(), "the clock was set forward by 2 h 0 min");
        assert_eq!(text_of(7_200, 0).unwrap(), "the machine slept for 2 h 0 min");
        let both = "the machine slept for 2 h 0 min, and the clock was set forward by 1 h 0 min";
        assert_eq!(text_of(7_200, 3_600).unwrap(), both);
        assert_eq!(text_of(0, 30), None, "a correction");
        assert_eq!(text_of(0, -7_200).unwrap(), "the clock was set back by 2 h 0 min");
        let both = "the machine slept for 2 h 0 min, and the clock was set back by 1 h 0 min";
        assert_eq!(text_of(7_200, -3_600).unwrap(), both);
        assert_eq!(text_of(0, -30), None, "a correction");
        assert_eq!(
            text_of(7_200, -7_200),
            None,
            "the wall clock stands where it stood: nothing was passed over"
        );
    }
}
