//! The work of each stress thread: it schedules, and of every four timers cancels one and resets another.

use std::time::Duration;

use mainspring::Handle;

/// Works until `end`; returns how many timers it cancelled.
pub(crate) fn disturb(handle: &Handle<u64>, end: mainspring_queue::Tick, seed: u64) -> u64 {
    let mut cancelled = 0;
    let mut step = seed;
    while handle.clock().now() < end {
        step = step.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let id = handle.schedule_after(Duration::from_micros(step >> 50), step).expect("the engine runs");
        match step >> 62 {
            0 => cancelled += u64::from(handle.cancel(id).is_some()),
            1 => drop(handle.reset_after(id, Duration::from_millis(step >> 60))),
            _ => (),
        }
    }
    cancelled
}
