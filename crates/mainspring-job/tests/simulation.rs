//! Histories: a planner and a store in a world that crashes, loses answers, sets its clock and changes its
//! mind.
//!
//! ```text
//!  seed ──▶ script of steps ──▶ world (planner, store, executor, clock, faults) ──▶ log ──▶ checker, by the manual
//!                 ▲                                                                           │
//!                 └───────────────── a failing script is shortened, then printed ◀────────────┘
//! ```
//!
//! The checker reads what the store has accepted and what the world saw happen, and nothing of the planner.
//! `HISTORIES` in the environment says how many are run, `FROM` from which seed on; `SEED` runs one. What is
//! printed last is a sum over the logs: a change that is to decide nothing else leaves it as it was.

mod calendar;
mod checker;
mod event;
mod fault;
mod hook;
mod model;
mod mutation;
mod pool;
pub(crate) mod random;
mod rated_starts;
mod script;
mod world;

use std::fmt::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use fault::{Fault, Flaw};
use script::Script;
use world::World;

use crate::replay;

/// Each planted flaw is found within 3,000. More than these find what is rare, and are for `cargo xtask
/// simulate`: a hundred thousand take seven minutes of two cores.
const USUAL_HISTORIES: u64 = 6_000;

/// Seeds beyond the usual ones whose histories were wrong once, until the planner or the checker was mended.
const WRONG_ONCE: [u64; 12] = [
    86_387, 412_174, 423_142, 501_396, 503_113, 1_000_384, 1_007_475, 1_027_169, 1_040_316, 1_266_541,
    1_362_363, 1_511_426,
];

/// Runs a script, and tells the hash of its log, or what was wrong.
fn outcome_of(script: &Script, flaw: Flaw) -> Result<u64, String> {
    let run = AssertUnwindSafe(|| {
        let world = World::run(script, flaw);
        checker::check(&world).map(|()| hash_of(&world.log))
    });
    catch_unwind(run).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

/// Runs a script, and says what was wrong.
fn fault_of(script: &Script, flaw: Flaw) -> Option<String> {
    outcome_of(script, flaw).err()
}

/// FNV-1a over the text of a log. Two builds of the planner that decide alike have the same.
fn hash_of(log: &[event::Event]) -> u64 {
    struct Hash(u64);
    impl Write for Hash {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            for byte in text.bytes() {
                self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
            Ok(())
        }
    }
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    write!(hash, "{log:?}").expect("a hash takes any text");
    hash.0
}

/// What kind of fault it is: lost, doubled, early, out of policy, untrue, or a panic.
fn kind(fault: Option<String>) -> Option<String> {
    fault.map(|text| text.split(':').next().unwrap_or_default().to_owned())
}

/// Leaves steps out as long as it still fails in the same way.
fn shortened(mut script: Script, flaw: Flaw) -> Script {
    let found = kind(fault_of(&script, flaw));
    let mut size = script.steps.len();
    while 0 < size {
        let mut start = 0;
        while start < script.steps.len() {
            let mut shorter = script.clone();
            shorter.steps.drain(start..(start + size).min(script.steps.len()));
            if kind(fault_of(&shorter, flaw)) == found {
                script = shorter;
            } else {
                start += size;
            }
        }
        size /= 2;
    }
    script
}

fn report(seed: u64, flaw: Flaw) -> String {
    let script = shortened(Script::generate(seed), flaw);
    let fault = fault_of(&script, flaw).expect("a shortened script still fails");
    format!("seed {seed}: {fault}\n{script}\nagain with: {}", replay::command(seed))
}

/// The first seed that fails.
fn first_failure(seeds: std::ops::Range<u64>, flaw: Flaw) -> Option<u64> {
    seeds.into_iter().find(|seed| fault_of(&Script::generate(*seed), flaw).is_some())
}

/// The sum of the hashes of all logs, or the first seed that fails.
fn sum_of_hashes(seeds: std::ops::Range<u64>) -> Result<u64, u64> {
    seeds.into_iter().try_fold(0_u64, |sum, seed| {
        outcome_of(&Script::generate(seed), Flaw::None).map(|hash| sum.wrapping_add(hash)).map_err(|_| seed)
    })
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn no_history_loses_doubles_hurries_or_breaks_a_policy() {
    if let Some(seed) = replay::chosen() {
        let fault = fault_of(&Script::generate(seed), Flaw::None);
        assert!(fault.is_none(), "{}", report(seed, Flaw::None));
        return;
    }
    let count = number("HISTORIES").unwrap_or(USUAL_HISTORIES);
    let from = number("FROM").unwrap_or(0);
    let thread_count = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let share = count.div_ceil(thread_count);
    let found = thread::scope(|scope| {
        let shares = (0..thread_count).map(|index| {
            let seeds = from + index * share..from + ((index + 1) * share).min(count);
            scope.spawn(move || sum_of_hashes(seeds))
        });
        let threads: Vec<_> = shares.collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    if let Some(seed) = found.iter().filter_map(|sum| sum.err()).min() {
        panic!("{}", report(seed, Flaw::None));
    }
    let hash = found.into_iter().flatten().fold(0_u64, u64::wrapping_add);
    println!(
        "{count} histories from seed {from}: 0 lost, 0 doubled, 0 early, 0 out of policy; logs {hash:016x}"
    );
}

#[test]
fn histories_that_were_wrong_once_are_right() {
    for seed in WRONG_ONCE {
        let fault = fault_of(&Script::generate(seed), Flaw::None);
        assert!(fault.is_none(), "{}", report(seed, Flaw::None));
    }
}

#[test]
fn a_broken_planner_or_store_is_caught() {
    for flaw in Flaw::ALL {
        let found = first_failure(0..3_000, flaw);
        assert!(found.is_some(), "{flaw:?} was not caught");
    }
}

#[test]
fn a_history_is_the_same_every_time() {
    replay::each_seed(0..50, |seed| {
        let script = Script::generate(seed);
        let logs = [(); 2].map(|()| format!("{:?}", World::run(&script, Flaw::None).log));
        assert_eq!(logs[0], logs[1], "seed {seed}");
    });
}

#[test]
fn histories_reach_every_state_and_every_fault() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..1_000 {
        seen.extend(World::run(&Script::generate(seed), Flaw::None).seen);
    }
    let states = mainspring_job::RunState::ALL.iter().map(|state| state.name().to_owned());
    let faults = Fault::ALL.iter().map(|fault| format!("{fault:?}"));
    let ahead = std::iter::once("ahead".to_owned());
    let missing: Vec<String> =
        states.chain(faults).chain(ahead).filter(|name| !seen.contains(name)).collect();
    assert_eq!(missing, [] as [String; 0]);
}
