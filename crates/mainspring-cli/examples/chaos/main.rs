//! Servers of a pool on a real database, and a fault in each round: what was promised is checked at last.
//!
//! ```text
//! round:   submissions, acknowledged by a server or by a transaction ── fault ── submissions until one is acknowledged again
//! at last: all is mended and settles; then what was acknowledged × the database × the lines that jobs wrote
//! ```
//!
//! Two servers plan, one at a time, and carry nothing out; two carry out, and never plan. So what a planner's
//! fall does to runs is seen: nothing.
//!
//! | fault | of | what |
//! |---|---|---|
//! | kill | a planner, a worker | SIGKILL; it is started again |
//! | stop | both | it stands still until it is taken for lost, then continues |
//! | cut | both | no session between it and the database until it is taken for lost |
//! | lose | both | the next answers of the database to it are swallowed, each with its session |
//! | leave | both | it is asked to end, and is started again |
//! | mute | both | what it says does not reach the database until it is taken for lost; then it arrives, late |
//! | deaf | both | what the database says does not reach it until it is taken for lost |
//! | crash | the database | it ends at once and begins again |
//! | promote | the database | it gets a synchronous standby, dies among submissions, and the standby is promoted |
//! | behind | the database | it gets an asynchronous one, which then hears nothing of some submissions, and is promoted |
//!
//! Counts decide, not times: a round ends when a submission was acknowledged after the fault.
//!
//! Cost: some 20 s for a round whose fault costs the lease, 2 s for another.
//!
//! Does not judge what an asynchronous standby never heard of: that may be lost, or start again. Does not cut
//! a network, but sessions.

#![allow(clippy::unwrap_used, reason = "what cannot go on has failed, and says where")]

mod check;
#[path = "../../../mainspring-postgres/tests/database.rs"]
#[allow(dead_code, reason = "the tests of the store use the rest")]
mod database;
#[path = "../crash/dice.rs"]
#[allow(dead_code, reason = "the crash test uses the rest")]
mod dice;
mod history;
mod pool;
#[path = "../../../mainspring-postgres/tests/relay.rs"]
#[allow(dead_code, reason = "the tests of the store use the rest")]
mod relay;

use std::path::PathBuf;
use std::process::ExitCode;

use dice::Dice;
use pool::Pool;

/// The most rounds: the server keeps the history of so many submissions.
const MAX_ROUNDS: u64 = 400;

/// What may happen in a round.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    Kill,
    Stop,
    Cut,
    Lose,
    Crash,
    Leave,
    Mute,
    Deaf,
    Promote,
    Behind,
}

/// Which server it happens to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Planner,
    Worker,
}

const FAULTS: [(Fault, Role); 17] = [
    (Fault::Kill, Role::Planner),
    (Fault::Kill, Role::Worker),
    (Fault::Promote, Role::Planner),
    (Fault::Stop, Role::Planner),
    (Fault::Stop, Role::Worker),
    (Fault::Cut, Role::Planner),
    (Fault::Cut, Role::Worker),
    (Fault::Mute, Role::Planner),
    (Fault::Mute, Role::Worker),
    (Fault::Lose, Role::Planner),
    (Fault::Lose, Role::Worker),
    (Fault::Crash, Role::Planner),
    (Fault::Deaf, Role::Planner),
    (Fault::Deaf, Role::Worker),
    (Fault::Behind, Role::Planner),
    (Fault::Leave, Role::Planner),
    (Fault::Leave, Role::Worker),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let texts: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let read = |text: &str| text.parse::<u64>().ok();
    let given = |name: &str, usual: Option<u64>| {
        let place = texts.iter().position(|text| *text == name);
        place.map_or(usual, |place| read(texts.get(place + 1)?))
    };
    let (rounds, seed) = (given("--rounds", None), given("--seed", Some(1)));
    let (Some(program), Some(rounds @ 1..=MAX_ROUNDS), Some(seed)) = (texts.first(), rounds, seed) else {
        eprintln!("usage: chaos SERVER --rounds N [--seed S], at most {MAX_ROUNDS} rounds");
        return ExitCode::from(2);
    };
    let Some(mut pool) = Pool::start(PathBuf::from(program)) else { return ExitCode::SUCCESS };
    let mut dice = Dice::new(seed);
    let kinds = FAULTS.len() as u64;
    let first = dice.below(kinds);
    for round in 0..rounds {
        pool.submit();
        // Each kind comes before one comes again.
        let (fault, role) = FAULTS[usize::try_from((round + first) % kinds).unwrap_or(0)];
        let before = pool.abandoned();
        pool.suffer(fault, role, &mut dice);
        pool.submit_until_acknowledged();
        let is_database = matches!(fault, Fault::Crash | Fault::Promote | Fault::Behind);
        if role == Role::Planner && !is_database {
            pool.ended_by_planners += usize::from(pool.abandoned() != before);
        }
        println!("chaos: round {} {fault:?} {role:?}: {} acknowledged", round + 1, pool.acknowledged.len());
    }
    pool.settle();
    let verdict = check::check(&pool);
    for complaint in &verdict.complaints {
        println!("chaos: {complaint}");
    }
    println!("chaos: rounds {rounds} {} (seed {seed})", verdict.summary);
    if verdict.complaints.is_empty() {
        pool.remove();
        return ExitCode::SUCCESS;
    }
    println!("chaos: everything is left in {}", pool.folder.display());
    println!("again with: cargo xtask chaos --rounds {rounds} --seed {seed}");
    ExitCode::FAILURE
}
