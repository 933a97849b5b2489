//! The goals of the default queue, of the engines and of the APIs: what the project claims, as ratios within
//! one run.
//!
//! ```text
//!   APIS       callbacks, futures, channels, the raw handle: beside tokio, beside what they stand on, on 1, 2, 4 threads
//!   QUEUE      W1 .. W4, W8 of the default queue: beside the best library, the floor, std's heap
//!   ENGINES    W6, W7, W7b, W10: beside a loop that sleeps in the same way, and in units
//! ```
//!
//! That a timer allocates nothing is counted by a test of `mainspring`, because a counting allocator would
//! slow the rivals that allocate.
//!
//! Cost: none. It does not judge: see [`goal`](crate::goal).

use crate::case::Workload::{self, W1, W1b, W2, W3, W4, W5, W6, W7, W7b, W8, W9, W10};
use crate::goal::Against::{BestLibrary, Beyond, Bound, OneThread};
use crate::goal::Side::{AtLeast, AtMost, Below};
use crate::goal::{Against, Goal, Rounds, Side};
use crate::plan::OVERLOAD_THREAD_COUNT;
use crate::subjects::{engines, floor_clock, fronts, go, locked, queues, tokio_runtime};

const MILLION: u64 = 1_000_000;

/// Timers of a thread in the goals of the APIs.
const THREAD_SIZE: u64 = 100_000;

/// A goal on one thread.
const fn goal(
    workload: Workload,
    size: u64,
    subject: &'static str,
    metric: &'static str,
    against: Against,
    side: Side,
    bound: f64,
) -> Goal {
    Goal { workload, size, thread_count: 1, metric, rounds: Rounds::Median, subject, against, side, bound }
}

/// A goal of the default queue for its worst round.
const fn worst(metric: &'static str, against: Against, bound: f64) -> Goal {
    Goal { rounds: Rounds::Worst, ..goal(W3, MILLION, CHUNKED, metric, against, AtMost, bound) }
}

/// W6 beside a loop that sleeps in the same way.
const fn late(subject: &'static str, metric: &'static str, floor: &'static str) -> Goal {
    goal(W6, MILLION, subject, metric, Against::Subject(floor), AtMost, 1.5)
}

/// W5: pairs a second.
const fn rate(subject: &'static str, thread_count: u32, against: Against, bound: f64) -> Goal {
    Goal { thread_count, ..goal(W5, THREAD_SIZE, subject, "pairs_per_s", against, AtLeast, bound) }
}

/// What a floor of the house adds to the one below, in ns a pair.
const fn adds(subject: &'static str, below: &'static str, bound: f64) -> Goal {
    goal(W1, THREAD_SIZE, subject, "pair_ns", Beyond(below), AtMost, bound)
}

/// W10: no timer is later than a second.
const fn overload(subject: &'static str) -> Goal {
    let goal = goal(W10, one_size(W10), subject, "lateness_s_max", Bound, Below, 1.0);
    Goal { thread_count: OVERLOAD_THREAD_COUNT, ..goal }
}

/// The size of a workload that has one.
const fn one_size(workload: Workload) -> u64 {
    workload.fixed_size().expect("the workload has one size")
}

const CHUNKED: &str = queues::DEFAULT;
const SLEEP: Against = Against::Subject("tokio-sleep");
const TOKIO: Against = Against::Subject(tokio_runtime::TWO_WORKERS);
const FLOOR: Against = Against::Subject("floor");
const HEAP: Against = Against::Subject("std-heap-lazy");

const _: () = {
    let mut index = 0;
    while index < GOALS.len() {
        let Goal { workload, size, thread_count, bound, .. } = GOALS[index];
        assert!(0.0 <= bound, "a figure is no less than nothing");
        assert!(0 < thread_count, "a thread measures");
        if let Some(fixed) = workload.fixed_size() {
            assert!(fixed == size, "a goal of another size could never be met");
        }
        index += 1;
    }
};

/// All of them.
pub const GOALS: [Goal; 39] = [
    // What a program calls.
    rate(fronts::CALLBACKS, 1, TOKIO, 1.6),
    adds(fronts::CALLBACKS, engines::DEFAULT, 40.0),
    rate(fronts::CALLBACKS, 2, TOKIO, 8.0),
    rate(fronts::CALLBACKS, 2, OneThread, 1.7),
    rate(fronts::CALLBACKS, 4, OneThread, 3.0),
    rate(fronts::FUTURES, 1, TOKIO, 1.4),
    rate(fronts::FUTURES, 2, TOKIO, 6.0),
    rate(fronts::CHANNELS, 1, Against::Subject(go::CHANNEL), 3.0),
    adds(engines::DEFAULT, CHUNKED, 60.0),
    rate(engines::DEFAULT, 2, OneThread, 1.7),
    rate(engines::DEFAULT, 2, TOKIO, 10.0),
    goal(W9, MILLION, fronts::CALLBACKS, "fire_ns", Bound, AtMost, 60.0),
    goal(W9, MILLION, fronts::FUTURES, "fire_ns", Bound, AtMost, 90.0),
    // The default queue.
    goal(W1, MILLION, CHUNKED, "pair_ns", SLEEP, AtMost, 1.0 / 8.0),
    goal(W1, MILLION, CHUNKED, "pair_ns", BestLibrary, AtMost, 1.0 / 4.0),
    goal(W1, MILLION, CHUNKED, "pair_ns", FLOOR, AtMost, 2.0),
    goal(W1, 1_000, CHUNKED, "pair_ns", BestLibrary, AtMost, 1.0 / 3.0),
    goal(W1b, MILLION, CHUNKED, "pair_ns", BestLibrary, AtMost, 1.0 / 3.0),
    goal(W2, MILLION, CHUNKED, "reset_ns", SLEEP, AtMost, 1.0 / 6.0),
    worst("insert_ns", BestLibrary, 1.0 / 2.0),
    worst("fire_ns", BestLibrary, 1.0 / 7.0),
    goal(W3, MILLION, CHUNKED, "advance_us_max", Bound, Below, 100.0),
    goal(W4, 1_000, CHUNKED, "wakeups_per_fire", Bound, AtMost, 1.0),
    goal(W4, 1_000, CHUNKED, "fire_ns", HEAP, AtMost, 2.0),
    goal(W8, MILLION, CHUNKED, "fresh_bytes", Bound, AtMost, 44.0),
    goal(W8, MILLION, CHUNKED, "churned_bytes", Bound, AtMost, 60.0),
    // The engines by the real clock.
    late(engines::PRECISE, "p50_us", floor_clock::PRECISE),
    late(engines::PRECISE, "p99_us", floor_clock::PRECISE),
    late(engines::THRIFTY, "p50_us", floor_clock::THRIFTY),
    late(engines::THRIFTY, "p99_us", floor_clock::THRIFTY),
    goal(W6, MILLION, engines::THRIFTY, "cpu_s", Bound, Below, 0.5),
    goal(W7, MILLION, engines::DEFAULT, "switches", Bound, AtMost, 0.0),
    // A wakeup in vain or two, as tokio has, and not one for each of the timeouts.
    goal(W7b, one_size(W7b), engines::DEFAULT, "switches", Bound, AtMost, 4.0),
    rate(engines::DEFAULT, 2, Against::Subject(locked::STD_HEAP), 1.0),
    overload(engines::DEFAULT),
    overload(engines::SINGLE),
    overload(engines::SHARDED),
    overload(engines::PER_WORKER),
    overload(engines::POLL),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subjects;

    #[test]
    fn all_that_goals_name_exists_and_can_do_it() {
        for goal in &GOALS {
            for (case, name) in goal.needs() {
                let subject = subjects::named(&name).expect("a subject has this name");
                let fixed = case.workload.fixed_size();
                assert_eq!(subject.unable(case.workload), None, "{name}");
                assert!(fixed.is_none_or(|size| size == case.size), "{name} at {}", case.workload);
            }
        }
    }
}
