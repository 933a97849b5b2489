//! A fixed amount of work with the default queue, for an instruction counter.
//!
//! ```text
//!   valgrind --tool=callgrind --toggle-collect='count_instructions::counted_*' count_instructions W1
//! ```
//!
//! | workload | counted |
//! |---|---|
//! | W1 | a timer is scheduled and another cancelled, ten times for each of 10,000 timers |
//! | W2 | a timer is moved to 30 s from now, as often |
//! | W3 | 10,000 timers are scheduled and fire, tick by tick |
//!
//! Only what runs inside a function `counted_..` counts: setting up does not. The numbers are the same on
//! every run and nearly so on every machine, so that a change of a tenth is a change of the code. `cargo
//! xtask instructions` compares them with those that are stored beside it.
//!
//! It is an example of this crate and no part of the lab, because the lab is built of a hundred crates and
//! this of one.
//!
//! Cost: seconds under the counter. It does not see cache misses, which are most of the time at a million
//! timers.

use mainspring_queue::{Tick, TimerId, TimerQueue, wheel};

type DefaultQueue = wheel::Chunked<u64>;

/// Timers: enough that every level of a wheel is in use.
const SIZE: u64 = 10_000;

/// Pairs, or resets: ten for each timer.
const STEP_COUNT: u64 = 100_000;

/// Delays are uniform in 1 ..= this many ticks of a millisecond.
const SPREAD: u64 = 60_000;

/// The delay of W2, in ticks.
const RESET_DELAY: u64 = 30_000;

fn main() -> Result<(), String> {
    let workload = std::env::args().nth(1).unwrap_or_default();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut queue = DefaultQueue::new();
    match workload.as_str() {
        "W1" => {
            let mut ids: Vec<TimerId> = (0..SIZE).map(|_| schedule(&mut queue, &mut random)).collect();
            counted_churn(&mut queue, &mut random, &mut ids);
        }
        "W2" => {
            let ids: Vec<TimerId> = (0..SIZE).map(|_| schedule_far(&mut queue)).collect();
            counted_resets(&mut queue, &mut random, &ids);
        }
        "W3" => counted_drain(&mut queue, &mut random),
        other => return Err(format!("{other:?} is not counted: W1, W2 and W3 are")),
    }
    assert_eq!(queue.len() as u64, if workload == "W3" { 0 } else { SIZE }, "no timer was lost");
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

/// The generator of the lab: xorshift64, bounded by a multiplication.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * u128::from(bound)) >> 64) as u64
    }
}
