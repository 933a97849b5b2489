//! A fixed amount of W1, W2 and W3 with the default queue, for an instruction counter.
//!
//! ```text
//!   valgrind --tool=callgrind --toggle-collect='mainspring_lab::instructions::counted_*' mainspring-lab count-instructions W1
//! ```
//!
//! Only what runs inside a function `counted_..` counts: setting up does not. The numbers are the same on
//! every run and nearly so on every machine, so that a change of a tenth is a change of the code. `cargo
//! xtask instructions` compares them with those in `instructions.txt`.
//!
//! Cost: seconds under the counter. It does not see cache misses, which are most of the time at a million
//! timers.

use mainspring_queue::{Tick, TimerId, TimerQueue};

use crate::case::Workload;
use crate::case::{RESET_DELAY, SPREAD};
use crate::random::Random;
use crate::subjects::queues::DefaultQueue;

/// Timers: enough that every level of a wheel is in use.
const SIZE: u64 = 10_000;

/// Pairs, or resets: ten for each timer.
const STEP_COUNT: u64 = 100_000;

/// Does the work of one workload.
///
/// # Errors
/// The workload has no such form.
pub fn run(workload: Workload) -> Result<(), String> {
    let mut random = Random::new(0);
    let mut queue = DefaultQueue::new();
    match workload {
        Workload::W1 => {
            let mut ids: Vec<TimerId> = (0..SIZE).map(|_| schedule(&mut queue, &mut random)).collect();
            counted_churn(&mut queue, &mut random, &mut ids);
        }
        Workload::W2 => {
            let ids: Vec<TimerId> = (0..SIZE).map(|_| schedule_far(&mut queue)).collect();
            counted_resets(&mut queue, &mut random, &ids);
        }
        Workload::W3 => counted_drain(&mut queue, &mut random),
        other => return Err(format!("{other} is not counted: W1, W2 and W3 are")),
    }
    assert_eq!(queue.len() as u64, if workload == Workload::W3 { 0 } else { SIZE }, "no timer was lost");
    Ok(())
}

fn schedule(queue: &mut DefaultQueue, random: &mut Random) -> TimerId {
    let deadline = 1 + random.below(SPREAD);
    queue.schedule(Tick::new(deadline), deadline).expect("the default queue takes every deadline")
}

/// W2's timers are 30 s away to begin with, as they are after each reset.
fn schedule_far(queue: &mut DefaultQueue) -> TimerId {
    queue.schedule(Tick::new(RESET_DELAY), 0).expect("the default queue takes every deadline")
}

#[inline(never)]
fn counted_churn(queue: &mut DefaultQueue, random: &mut Random, ids: &mut [TimerId]) {
    for _ in 0..STEP_COUNT {
        let id = schedule(queue, random);
        let old = std::mem::replace(&mut ids[random.below(SIZE) as usize], id);
        queue.cancel(old).expect("a live timer was cancelled");
    }
}

#[inline(never)]
fn counted_resets(queue: &mut DefaultQueue, random: &mut Random, ids: &[TimerId]) {
    for step in 0..STEP_COUNT {
        if step % 1_000 == 0 {
            queue.advance(Tick::new(step / 1_000));
            assert_eq!(queue.pop_expired(), None, "all timers are 30 s away");
        }
        let deadline = Tick::new(step / 1_000 + RESET_DELAY);
        queue.reset(ids[random.below(SIZE) as usize], deadline).expect("a live timer was moved");
    }
}

#[inline(never)]
fn counted_drain(queue: &mut DefaultQueue, random: &mut Random) {
    for _ in 0..SIZE {
        schedule(queue, random);
    }
    for now in 1..=SPREAD {
        queue.advance(Tick::new(now));
        while queue.pop_expired().is_some() {}
    }
}
