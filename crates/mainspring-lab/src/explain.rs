//! Describes each workload, its purpose, and the meaning of its figures.
//!
//! Cost: none. It does not say who is fast: a run does.

use crate::case::Workload;

/// A workload in words.
#[derive(Clone, Copy, Debug)]
pub struct Explanation {
    /// Its name in a word or two.
    pub title: &'static str,
    /// What is done.
    pub work: &'static str,
    /// Which programs do that.
    pub purpose: &'static str,
    /// The figures, with units.
    pub figures: &'static str,
    /// Who does it, and why the others do not.
    pub subjects: &'static str,
    /// What a good figure takes, or what to beware of.
    pub remark: &'static str,
}

const STRUCTURES: &str = "Structures on one thread, by virtual time; presets through their engines (a boxed closure, a handle and a lock \
                          included). Engines, fronts, libraries that have a clock, and Go: by the real clock, with a thread \
                          of their own.";

/// Explains a workload.
pub const fn explain(workload: Workload) -> Explanation {
    match workload {
        Workload::W1 => Explanation {
            title: "churn",
            work: "N timers live, delays uniform in 1 ms ..= 60 s; a step schedules one and cancels a live one chosen at random. The clock stands.",
            purpose: "Timeouts of any length that are mostly cancelled: servers, databases, network stacks.",
            figures: "pair_ns: ns per schedule and cancel together, the two random draws included.",
            subjects: STRUCTURES,
            remark: "At a million timers this is cache misses: beside it stands the floor, which is the random accesses alone.",
        },
        Workload::W1b => Explanation {
            title: "churn, first in first out",
            work: "As W1 with one fixed delay of 30 s; the oldest timer is cancelled.",
            purpose: "The commonest case of all: a request's timeout, and the answer comes.",
            figures: "pair_ns: ns per schedule and cancel together.",
            subjects: STRUCTURES,
            remark: "All inserts meet in one place and all cancels in another: what is fast here walks memory in order.",
        },
        Workload::W2 => Explanation {
            title: "reset",
            work: "N timers live; a step moves a random one to now + 30 s. The clock moves 1 ms every 1,000 steps.",
            purpose: "Keep-alives: each message moves its connection's timeout.",
            figures: "reset_ns: ns per reset, the clock's steps included.",
            subjects: STRUCTURES,
            remark: "A later reset can be one store, if the structure corrects itself when the old time comes.",
        },
        Workload::W3 => Explanation {
            title: "drain",
            work: "Schedule N timers uniform over 60 s into fresh memory, then advance in ticks of 1 ms until all have fired.",
            purpose: "Delays that do come: retries, expiry, polling, games.",
            figures: "insert_ns, fire_ns: ns per timer; advance_us_max: the worst single advance in us that no other thread interrupted, with what it hands out.",
            subjects: "Structures and presets; of Go only the inserts, because its clock is real. A preset's engine fires on its own thread: handing over to it is taken off.",
            remark: "The worst advance is how long the world stands still: a cascade of one coarse slot, a rebuilt heap, a sweep.",
        },
        Workload::W4 => Explanation {
            title: "sparse",
            work: "1,000 timers uniform over 30 days, from wakeup to wakeup.",
            purpose: "A program that is mostly asleep: an agent on a battery, a scheduler.",
            figures: "fire_ns: ns per timer; wakeups_per_fire: 1.00 is perfect.",
            subjects: "Structures, but not wheel::Simple (a horizon of 65 s), wheel::Rounds (it wakes at every occupied slot of every round), nor the presets of these; nor Go (a real clock).",
            remark: "A wakeup that fires nothing costs 25 us of CPU on a real machine, whatever the structure: it counts more than ns.",
        },
        Workload::W8 => Explanation {
            title: "memory",
            work: "Resident memory per live timer, fresh and after 2 N churn pairs, the ids that the program holds taken off.",
            purpose: "A million connections, each with a timer or three.",
            figures: "fresh_bytes, churned_bytes: bytes per timer, the payload of 8 included.",
            subjects: "Structures, presets and Go, at 100,000 timers or more; beyond a million once, whatever the rounds: rounds do not differ.",
            remark: "Spare room of growing arrays counts, touched or not as the kernel sees it; so do fragments.",
        },
        Workload::W9 => Explanation {
            title: "all at once",
            work: "1,000,000 timers are due at one moment.",
            purpose: "A restart with a million connections, a batch of jobs at midnight, a network that comes back.",
            figures: "fire_ns: ns per timer, from the first to the last; of engines fire_cpu_ns, CPU time of the process by timer, and first_us, how late the first was seen.",
            subjects: "All but structures behind a mutex, which have no clock. A callback counts, a waker counts, a channel takes a value.",
            remark: "This is the fire path alone: popping, the lock around it, the call of what fires.",
        },
        real_time => explain_real_time(real_time),
    }
}

/// Explains a workload that runs by the real clock.
const fn explain_real_time(workload: Workload) -> Explanation {
    match workload {
        Workload::W5 => Explanation {
            title: "threads",
            work: "T threads each do W1 with 100,000 timers on one shared engine, by the real clock; every 16th timer is handed to another thread, which cancels it.",
            purpose: "A server with a thread per core.",
            figures: "pairs_per_s: all threads together. Its ratio to one thread is the gain. pair_cpu_ns: CPU time of the process by pair, which a busy machine hardly changes.",
            subjects: "Engines, fronts, presets, structures behind a mutex, and Go. Not nexus-timer, whose handles must stay on one thread.",
            remark: "More threads than cores show what happens to locks when their holder is not running. Behind a mutex: the structure alone, in a std mutex, without any clock.",
        },
        Workload::W6 => Explanation {
            title: "lateness",
            work: "The real clock: 1,000,000 timers whose deadlines are uniform over 10 s, so 100,000 a second, all scheduled before the first is due.",
            purpose: "Pacing, media, rate limits: when does a timer really fire?",
            figures: "p50_us, p99_us, p999_us, max_us: fired minus asked, in us; cpu_s: CPU seconds of the process in these 10 s; q..._us: the distribution for the plot.",
            subjects: "Engines, fronts, presets and Go. A preset is as coarse as what it stands for: netty fires by 100 ms, skynet by 10. Not structures behind a mutex, which have no clock.",
            remark: "A wake-up costs 24-30 us of CPU whatever call is used, so 100,000 single wake-ups a second cannot be had: precision and thrift are bought by batching.",
        },
        Workload::W10 => Explanation {
            title: "overload",
            work: "Eight threads do nothing but schedule timers of 1 to 100 ms, for a minute, on two cores.",
            purpose: "A flood of requests: does the one thread that fires get its turn?",
            figures: "lateness_s_max: the largest lateness of any timer; scheduled_per_s; call_us_max: the longest call of those that were timed, one in a thousand.",
            subjects: "Engines, presets, callbacks and tokio's tasks. Not futures and channels, which the program must keep until they have fired.",
            remark: "It is given up when five million timers wait. An engine can keep up only by making its callers wait.",
        },
        Workload::W7b => Explanation {
            title: "idle after cancels",
            work: "200 timeouts, one for every 50 ms of 10 s, are scheduled and cancelled at once; one timer is an hour away; nothing is done for 10 s.",
            purpose: "A server whose timeouts are nearly all cancelled, and which nobody asks for anything just now.",
            figures: "switches: voluntary context switches of all threads but the one that watches; cpu_ms: CPU time of the process.",
            subjects: "Engines, fronts and presets, but simple_wheel. Not Go, whose preset go_1_14 is.",
            remark: "One wakeup in vain is no fault: a driver need not hear of a cancel. One for each timeout is.",
        },
        _ => Explanation {
            title: "idle",
            work: "1,000,000 timers an hour away; nothing is done for 10 s.",
            purpose: "What a timer costs that does nothing.",
            figures: "switches: voluntary context switches of all threads but the one that watches; cpu_ms: CPU time of the process.",
            subjects: "Engines, fronts, presets (but simple_wheel, whose ring ends before the hour) and Go; structures behind a mutex have no thread that could wake.",
            remark: "0 is the only good answer.",
        },
    }
}

/// A workload's explanation as text for a terminal.
pub fn text(workload: Workload) -> String {
    let Explanation { title, work, purpose, figures, subjects, remark } = explain(workload);
    format!(
        "{workload}  {title}\n\n  {work}\n\n  For:      {purpose}\n  Figures:  {figures}\n  By:       {subjects}\n  Beware:   {remark}\n"
    )
}
