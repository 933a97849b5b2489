//! A trace through one queue, as a driver would: from wakeup to wakeup between the program's operations.
//!
//! ```text
//!   for each step:   while next_wakeup <= step.at:  advance to it, pop all     (a wakeup)
//!                    then what the step says; fires are the queue's own affair
//!   in the end:      from wakeup to wakeup until nothing is pending
//! ```
//!
//! Cost: the trace twice: once timed as a whole, once each operation by itself, which a clock read would
//! spoil otherwise.
//!
//! It does not sleep.

use std::collections::HashMap;
use std::fs;

use mainspring::trace::{Operation, Step, Trace};
use mainspring_queue::{Tick, TimerId, TimerQueue};
use serde::{Deserialize, Serialize};

use crate::case::{Failure, ensure};
use crate::stopwatch::Stopwatch;

/// More wakeups than this times the operations are a queue that ticks through empty time: minutes to measure.
const WAKEUPS_PER_OPERATION_MAX: u64 = 1_000;

/// What a queue made of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Time by operation, fires and wakeups included.
    pub operation_ns: f64,
    /// The longest single operation: a schedule, a cancel, a reset, or a wakeup with all that it fires.
    pub worst_us: f64,
    /// How often a driver would have woken.
    pub wakeup_count: u64,
    /// How many timers fired.
    pub fired_count: u64,
    /// Depends on which timers fired and when: equal for queues that agree.
    pub fingerprint: u64,
    /// By how much the process grew.
    pub memory_bytes: u64,
}

/// Replays a trace. `make` makes an empty queue.
///
/// # Errors
/// The queue cannot hold a deadline, or would wake for ever.
pub fn replay(trace: &Trace, make: impl Fn() -> Box<dyn TimerQueue<u64>>) -> Result<Outcome, Failure> {
    let (steps, timer_count) = dense(trace);
    let before = peak_bytes_from_now();
    let mut player = Player::new(make(), timer_count);
    let stopwatch = Stopwatch::start();
    player.play(&steps)?;
    let ns = stopwatch.ns();
    let memory_bytes = peak_bytes().saturating_sub(before);
    let mut timed = Player { worst_ns: Some(0.0), ..Player::new(make(), timer_count) };
    timed.play(&steps)?;
    let ends = |player: &Player| (player.wakeup_count, player.fired_count, player.fingerprint);
    debug_assert_eq!(ends(&player), ends(&timed), "a queue does the same again");
    let operation_count = steps.len() as u64 + player.fired_count;
    Ok(Outcome {
        operation_ns: ns / operation_count.max(1) as f64,
        worst_us: timed.worst_ns.unwrap_or_default() / 1_000.0,
        wakeup_count: player.wakeup_count,
        fired_count: player.fired_count,
        fingerprint: player.fingerprint,
        memory_bytes,
    })
}

/// The steps with timers that are numbered from 0, so that no table of names is looked up while the watch
/// runs, and how many those are. Fires are left out.
fn dense(trace: &Trace) -> (Vec<Step>, usize) {
    let mut numbers: HashMap<u64, u64> = HashMap::new();
    let mut steps = trace.steps.clone();
    steps.retain(|step| step.operation != Operation::Fire);
    for step in &mut steps {
        let next = numbers.len() as u64;
        step.timer = *numbers.entry(step.timer).or_insert(next);
    }
    (steps, numbers.len())
}

struct Player {
    queue: Box<dyn TimerQueue<u64>>,
    ids: Vec<Option<TimerId>>,
    wakeup_count: u64,
    fired_count: u64,
    fingerprint: u64,
    /// The longest single operation so far, if each is timed by itself.
    worst_ns: Option<f64>,
}

impl Player {
    fn new(queue: Box<dyn TimerQueue<u64>>, timer_count: usize) -> Player {
        let ids = vec![None; timer_count];
        Player { queue, ids, wakeup_count: 0, fired_count: 0, fingerprint: 0, worst_ns: None }
    }

    fn play(&mut self, steps: &[Step]) -> Result<(), Failure> {
        let wakeup_count_max = (steps.len() as u64 + 1) * WAKEUPS_PER_OPERATION_MAX;
        for step in steps {
            self.wake_until(step.at, wakeup_count_max)?;
            self.timed(|player| player.apply(*step))?;
        }
        self.wake_until(Tick::MAX, wakeup_count_max)?;
        ensure(self.queue.is_empty(), || format!("{} timers never fire", self.queue.len()))
    }

    fn wake_until(&mut self, until: Tick, wakeup_count_max: u64) -> Result<(), Failure> {
        while let Some(at) = self.queue.next_wakeup().filter(|&at| at <= until) {
            self.timed(|player| player.wake(at))?;
            if wakeup_count_max < self.wakeup_count {
                return Err(Failure::Unable("it wakes all the time".to_owned()));
            }
        }
        Ok(())
    }

    fn timed(&mut self, operation: impl FnOnce(&mut Player) -> Result<(), Failure>) -> Result<(), Failure> {
        let Some(worst_ns) = self.worst_ns else { return operation(self) };
        let stopwatch = Stopwatch::start();
        let done = operation(self);
        self.worst_ns = Some(worst_ns.max(stopwatch.ns()));
        done
    }

    fn wake(&mut self, at: Tick) -> Result<(), Failure> {
        self.wakeup_count += 1;
        self.queue.advance(at);
        while let Some(expired) = self.queue.pop_expired() {
            ensure(expired.deadline <= self.queue.now(), || "a timer fired early".to_owned())?;
            self.fired_count += 1;
            // A sum: equals may fire in any order.
            let mixed = (expired.payload ^ expired.deadline.get().rotate_left(32))
                .wrapping_mul(0x9E37_79B9_7F4A_7C15);
            self.fingerprint = self.fingerprint.wrapping_add(mixed ^ (mixed >> 29));
        }
        Ok(())
    }

    fn apply(&mut self, step: Step) -> Result<(), Failure> {
        let held = &mut self.ids[step.timer as usize];
        let unable = |reason: &dyn ToString| Failure::Unable(reason.to_string());
        match (step.operation, *held) {
            (Operation::Schedule(deadline), _) => {
                let scheduled = self.queue.schedule(deadline, step.timer);
                *held = Some(scheduled.map_err(|rejected| unable(&rejected.reason))?);
            }
            (Operation::Cancel, Some(id)) => drop(self.queue.cancel(id)),
            (Operation::Reset(deadline), Some(id)) => match self.queue.reset(id, deadline) {
                // It fired a moment before: in the program, too, one of the two came first.
                Ok(()) | Err(mainspring_queue::ResetError::NotPending) => (),
                Err(error) => return Err(unable(&error)),
            },
            // Nothing is known of a timer that the trace did not schedule.
            (Operation::Cancel | Operation::Reset(_), None) | (Operation::Fire, _) => (),
        }
        Ok(())
    }
}

/// Forgets the process's highest memory, and returns what it holds now.
fn peak_bytes_from_now() -> u64 {
    // 5: the kernel's number for "begin the highest resident size again". If it will not, the peak is that of
    // the parser, and the same for all.
    let _ = fs::write("/proc/self/clear_refs", "5");
    peak_bytes()
}

/// The highest memory that the process has held, 0 where the kernel does not tell.
fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1_024
}
