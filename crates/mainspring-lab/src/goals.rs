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

use crate::case::Workload;
use crate::goal::{Against, Goal, Rounds, Side};
use crate::plan::OVERLOAD_THREAD_COUNT;
use crate::subjects::{engines, floor_clock, fronts, go, locked, queues, tokio_runtime};

const MILLION: u64 = 1_000_000;

/// Timers of a thread in the goals of the APIs.
const THREAD_SIZE: u64 = 100_000;

/// A goal of the default queue.
const fn queue(
    workload: Workload,
    size: u64,
    metric: &'static str,
    against: Against,
    side: Side,
    bound: f64,
) -> Goal {
    let (rounds, subject) = (Rounds::Median, queues::DEFAULT);
    Goal { workload, size, thread_count: 1, metric, rounds, subject, against, side, bound }
}

/// A goal of the default queue for its worst round.
const fn worst(metric: &'static str, against: Against, bound: f64) -> Goal {
    let goal = queue(Workload::W3, MILLION, metric, against, Side::AtMost, bound);
    Goal { rounds: Rounds::Worst, ..goal }
}

/// A goal of an engine by the real clock.
const fn engine(
    workload: Workload,
    subject: &'static str,
    metric: &'static str,
    against: Against,
    side: Side,
    bound: f64,
) -> Goal {
    let (rounds, size) = (Rounds::Median, MILLION);
    Goal { workload, size, thread_count: 1, metric, rounds, subject, against, side, bound }
}

/// W6 beside a loop that sleeps in the same way.
const fn late(subject: &'static str, metric: &'static str, floor: &'static str) -> Goal {
    engine(Workload::W6, subject, metric, Against::Subject(floor), Side::AtMost, 1.5)
}

/// W5: pairs a second.
const fn rate(subject: &'static str, thread_count: u32, against: Against, bound: f64) -> Goal {
    let (workload, size, metric) = (Workload::W5, THREAD_SIZE, "pairs_per_s");
    let (rounds, side) = (Rounds::Median, Side::AtLeast);
    Goal { workload, size, thread_count, metric, rounds, subject, against, side, bound }
}

/// What a floor of the house adds to the one below, in ns a pair.
const fn adds(subject: &'static str, below: &'static str, bound: f64) -> Goal {
    let goal = engine(Workload::W1, subject, "pair_ns", Against::Beyond(below), Side::AtMost, bound);
    Goal { size: THREAD_SIZE, ..goal }
}

/// W10: no timer is later than a second.
const fn overload(subject: &'static str) -> Goal {
    let workload = Workload::W10;
    let goal = engine(workload, subject, "lateness_s_max", Against::Bound, Side::Below, 1.0);
    Goal { size: OVERLOAD_SIZE, thread_count: OVERLOAD_THREAD_COUNT, ..goal }
}

/// W7b: a wakeup in vain or two, as tokio has, and not one for each of the timeouts.
const IDLE_AFTER_CANCELS: Goal = Goal {
    size: Workload::W7b.fixed_size().expect("W7b has one size"),
    ..engine(Workload::W7b, engines::DEFAULT, "switches", Against::Bound, Side::AtMost, 4.0)
};

/// The size of W10.
const OVERLOAD_SIZE: u64 = Workload::W10.fixed_size().expect("W10 has one size");

const SLEEP: Against = Against::Subject("tokio-sleep");
const TOKIO: Against = Against::Subject(tokio_runtime::TWO_WORKERS);
const FLOOR: Against = Against::Subject("floor");
const HEAP: Against = Against::Subject("std-heap-lazy");
const W1: Workload = Workload::W1;
const W3: Workload = Workload::W3;
const W8: Workload = Workload::W8;
const W9: Workload = Workload::W9;

const _: () = assert!(are_measured(&APIS));
const _: () = assert!(are_measured(&QUEUE));
const _: () = assert!(are_measured(&ENGINES));

/// Whether no goal is of a size that its workload does not have: it could never be met.
const fn are_measured(goals: &[Goal]) -> bool {
    let mut index = 0;
    while index < goals.len() {
        assert!(0.0 <= goals[index].bound, "a figure is no less than nothing");
        assert!(0 < goals[index].thread_count, "a thread measures");
        if let Some(size) = goals[index].workload.fixed_size()
            && size != goals[index].size
        {
            return false;
        }
        index += 1;
    }
    true
}

/// The goals of what a program calls.
pub const APIS: [Goal; 13] = [
    rate(fronts::CALLBACKS, 1, TOKIO, 1.6),
    adds(fronts::CALLBACKS, engines::DEFAULT, 40.0),
    rate(fronts::CALLBACKS, 2, TOKIO, 8.0),
    rate(fronts::CALLBACKS, 2, Against::OneThread, 1.7),
    rate(fronts::CALLBACKS, 4, Against::OneThread, 3.0),
    rate(fronts::FUTURES, 1, TOKIO, 1.4),
    rate(fronts::FUTURES, 2, TOKIO, 6.0),
    rate(fronts::CHANNELS, 1, Against::Subject(go::CHANNEL), 3.0),
    adds(engines::DEFAULT, queues::DEFAULT, 60.0),
    rate(engines::DEFAULT, 2, Against::OneThread, 1.7),
    rate(engines::DEFAULT, 2, TOKIO, 10.0),
    engine(W9, fronts::CALLBACKS, "fire_ns", Against::Bound, Side::AtMost, 60.0),
    engine(W9, fronts::FUTURES, "fire_ns", Against::Bound, Side::AtMost, 90.0),
];

/// The goals of the default queue.
pub const QUEUE: [Goal; 13] = [
    queue(W1, MILLION, "pair_ns", SLEEP, Side::AtMost, 1.0 / 8.0),
    queue(W1, MILLION, "pair_ns", Against::BestLibrary, Side::AtMost, 1.0 / 4.0),
    queue(W1, MILLION, "pair_ns", FLOOR, Side::AtMost, 2.0),
    queue(W1, 1_000, "pair_ns", Against::BestLibrary, Side::AtMost, 1.0 / 3.0),
    queue(Workload::W1b, MILLION, "pair_ns", Against::BestLibrary, Side::AtMost, 1.0 / 3.0),
    queue(Workload::W2, MILLION, "reset_ns", SLEEP, Side::AtMost, 1.0 / 6.0),
    worst("insert_ns", Against::BestLibrary, 1.0 / 2.0),
    worst("fire_ns", Against::BestLibrary, 1.0 / 7.0),
    queue(W3, MILLION, "advance_us_max", Against::Bound, Side::Below, 100.0),
    queue(Workload::W4, 1_000, "wakeups_per_fire", Against::Bound, Side::AtMost, 1.0),
    queue(Workload::W4, 1_000, "fire_ns", HEAP, Side::AtMost, 2.0),
    queue(W8, MILLION, "fresh_bytes", Against::Bound, Side::AtMost, 44.0),
    queue(W8, MILLION, "churned_bytes", Against::Bound, Side::AtMost, 60.0),
];

/// The goals of the engines by the real clock.
pub const ENGINES: [Goal; 13] = [
    late(engines::PRECISE, "p50_us", floor_clock::PRECISE),
    late(engines::PRECISE, "p99_us", floor_clock::PRECISE),
    late(engines::THRIFTY, "p50_us", floor_clock::THRIFTY),
    late(engines::THRIFTY, "p99_us", floor_clock::THRIFTY),
    engine(Workload::W6, engines::THRIFTY, "cpu_s", Against::Bound, Side::Below, 0.5),
    engine(Workload::W7, engines::DEFAULT, "switches", Against::Bound, Side::AtMost, 0.0),
    IDLE_AFTER_CANCELS,
    rate(engines::DEFAULT, 2, Against::Subject(locked::STD_HEAP), 1.0),
    overload(engines::DEFAULT),
    overload(engines::SINGLE),
    overload(engines::SHARDED),
    overload(engines::PER_WORKER),
    overload(engines::POLL),
];

/// All of them.
pub fn goals() -> impl Iterator<Item = &'static Goal> {
    APIS.iter().chain(&QUEUE).chain(&ENGINES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subjects;

    #[test]
    fn all_that_goals_name_exists_and_can_do_it() {
        for goal in goals() {
            for (case, name) in goal.needs() {
                let subject = subjects::named(&name).expect("a subject has this name");
                let fixed = case.workload.fixed_size();
                assert_eq!(subject.unable(case.workload), None, "{name}");
                assert!(fixed.is_none_or(|size| size == case.size), "{name} at {}", case.workload);
            }
        }
    }
}
