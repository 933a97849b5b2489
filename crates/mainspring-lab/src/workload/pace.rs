//! The numbers of steps before the watch starts, and while it runs.
//!
//! Cost: none. It does not depend on the subject.

/// How many steps of churn are timed: enough that starting and stopping the watch is nothing, and a round a
/// second or two.
pub const CHURN_STEP_COUNT: u64 = 2_000_000;

/// At most this many steps come before the timed ones, so that free records lie as scattered as they do in a
/// program that has run for a while.
const WARM_UP_STEP_COUNT_MAX: u64 = 2_000_000;

const _: () = assert!(WARM_UP_STEP_COUNT_MAX <= CHURN_STEP_COUNT, "what is measured is most of the work");

/// How many steps of churn are timed at a size. Below a thousand timers, which only tests measure, a multiple
/// of them.
pub fn churn_step_count(size: u64) -> u64 {
    if size < 1_000 { size * 10 } else { CHURN_STEP_COUNT }
}

/// How many steps come before.
pub fn warm_up_step_count(size: u64) -> u64 {
    size.min(WARM_UP_STEP_COUNT_MAX)
}
