//! Characterizes the timers of a trace in numbers.
//!
//! Cost: a walk over the trace. It does not judge: see [`advice`](super::advice).

use std::collections::HashMap;

use mainspring::trace::{Operation, Trace};

/// The numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Features {
    /// Timers scheduled.
    pub scheduled_count: u64,
    /// Of them, cancelled.
    pub cancelled_share: f64,
    /// Resets by schedule and reset together.
    pub reset_share: f64,
    /// Of the resets, to a later time.
    pub later_share: f64,
    /// Of all delays, those equal to the commonest one.
    pub same_delay_share: f64,
    /// The tenth, the middle and the ninetieth of a hundred delays, in ticks.
    pub delay_ticks: [u64; 3],
    /// The most timers that were pending at once.
    pub pending_count_max: u64,
}

impl Features {
    /// Looks at a trace.
    pub fn of(trace: &Trace) -> Features {
        let mut features = Features::default();
        let mut deadlines: HashMap<u64, u64> = HashMap::new();
        let mut delays: Vec<u64> = Vec::new();
        let (mut cancelled_count, mut reset_count, mut later_count) = (0_u64, 0_u64, 0_u64);
        for step in &trace.steps {
            match step.operation {
                Operation::Schedule(deadline) => {
                    features.scheduled_count += 1;
                    delays.push(deadline.since(step.at));
                    deadlines.insert(step.timer, deadline.get());
                }
                Operation::Reset(deadline) => {
                    reset_count += 1;
                    delays.push(deadline.since(step.at));
                    let before = deadlines.insert(step.timer, deadline.get());
                    later_count += u64::from(before.is_some_and(|before| before <= deadline.get()));
                }
                Operation::Cancel => cancelled_count += u64::from(deadlines.remove(&step.timer).is_some()),
                Operation::Fire => drop(deadlines.remove(&step.timer)),
            }
            features.pending_count_max = features.pending_count_max.max(deadlines.len() as u64);
        }
        let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        features.cancelled_share = share(cancelled_count, features.scheduled_count);
        features.reset_share = share(reset_count, features.scheduled_count + reset_count);
        features.later_share = share(later_count, reset_count);
        delays.sort_unstable();
        let commonest = delays.chunk_by(|left, right| left == right).map(<[u64]>::len).max().unwrap_or(0);
        features.same_delay_share = share(commonest as u64, delays.len() as u64);
        let at = |percent: usize| delays.get(delays.len() * percent / 100).copied().unwrap_or_default();
        features.delay_ticks = [at(10), at(50), at(90)];
        features
    }
}
