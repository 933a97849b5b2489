//! Histories of a pool: one planner at a time, and workers that die, stand still, are cut off and come back.
//!
//! ```text
//!  seed ──▶ servers: a worker each, and a planner at whichever has the lease
//!                │                                             ┌──────────── the database ─────────────┐
//!                ├─ planner: commands, reports, leases ──────▶ │ jobs and runs, a lease of the planner │
//!                └─ worker: renews, starts what is its own,  ▶ │ a row for each worker, reports, kills │
//!                           appends what it learns             └───────────────────────────────────────┘
//!  and beside it the processes: who ran what from when to when, whatever anybody recorded
//! ```
//!
//! A start is on record before a worker sees it, and the record is how the worker sees it: a planner that
//! falls between a commit and its outputs loses none. A report is a row until a planner has it on record; it
//! may be told twice. A worker that could not renew its lease starts nothing after 10 s and has its processes
//! end. After 13 s by its own clock they are over, which it does not report: it is no more, and joins as
//! another. The planner takes it for lost after 16 s by the database's clock.
//!
//! What was broken by hand to see that it is found is a [`Breach`].
//!
//! `POOLS` in the environment says how many are run, `FROM` from which seed on; `SEED` runs one.

mod judge;
mod planner;
mod server;
mod worker;
mod world;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use world::Pool;

use super::number;
use crate::replay;

/// In the tests. `cargo xtask simulate --pools` runs more.
const USUAL_HISTORIES: u64 = 400;

/// So many at most until a breach is found.
const MOST_HISTORIES: u64 = 600;

/// What is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Breach {
    None,
    /// A planner that begins is not told which workers are there.
    WorkersForgotten,
    /// A worker starts what is its own however old its lease is.
    StartsWithAnOldLease,
    /// What a worker runs continues when its lease has run out.
    NoDeadline,
    /// A report is taken away before what follows from it is on record.
    ReportLost,
    /// A planner believes in a place more than a worker has.
    CapacityIgnored,
    /// A planner does not know what actions need.
    NeedsIgnored,
    /// A worker is taken for lost before its lease has run out.
    LostTooEarly,
    /// A worker starts again what it has started.
    StartedTwice,
    /// What each worker is to run runs at one.
    EachAnywhere,
    /// An end is recorded with the time at which the planner is told.
    EndedWhenTold,
    /// A worker does not say that it ended a run by itself.
    CutOffUnsaid,
    /// A worker renews its lease after it has given up what it ran.
    RenewedWhenOver,
}

impl Breach {
    const ALL: [Breach; 12] = [
        Breach::WorkersForgotten,
        Breach::StartsWithAnOldLease,
        Breach::NoDeadline,
        Breach::ReportLost,
        Breach::CapacityIgnored,
        Breach::NeedsIgnored,
        Breach::LostTooEarly,
        Breach::StartedTwice,
        Breach::EachAnywhere,
        Breach::EndedWhenTold,
        Breach::CutOffUnsaid,
        Breach::RenewedWhenOver,
    ];
}

/// Runs a history, and says what it reached, or what was wrong.
fn outcome_of(seed: u64, breach: Breach) -> Result<BTreeSet<&'static str>, String> {
    let run = AssertUnwindSafe(|| {
        let pool = Pool::run(seed, breach);
        judge::check(&pool).map(|()| pool.seen)
    });
    catch_unwind(run).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

#[test]
fn no_pool_loses_doubles_or_hurries_a_run_and_no_planners_fall_ends_one() {
    if let Some(seed) = replay::chosen() {
        if let Err(fault) = outcome_of(seed, Breach::None) {
            panic!("seed {seed}: {fault}\nagain with: {}", replay::command(seed));
        }
        return;
    }
    let (count, from) = (number("POOLS").unwrap_or(USUAL_HISTORIES), number("FROM").unwrap_or(0));
    let mut seen = BTreeSet::new();
    for seed in from..from + count {
        match outcome_of(seed, Breach::None) {
            Ok(reached) => seen.extend(reached),
            Err(fault) => panic!("seed {seed}: {fault}\nagain with: {}", replay::command(seed)),
        }
    }
    println!("{count} pools from seed {from}: 0 lost, 0 doubled, 0 early, 0 ended by the fall of a planner");
    let missing: Vec<&str> = world::REACHED.into_iter().filter(|name| !seen.contains(name)).collect();
    assert!(missing.is_empty() || count < USUAL_HISTORIES, "not reached: {missing:?}");
}

#[test]
fn a_broken_pool_is_caught() {
    for breach in Breach::ALL {
        let found = (0..MOST_HISTORIES).any(|seed| outcome_of(seed, breach).is_err());
        assert!(found, "{breach:?} was not caught");
    }
}
