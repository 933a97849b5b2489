//! `lab soak`: makes pairs of every pattern, and fails where memory is not flat.
//!
//! Cost: some three minutes with 1e8 pairs a pattern. It pins nothing: it does not measure speed.

use std::error::Error;
use std::process::ExitCode;

use crate::machine::Machine;
use crate::soak::{Outcome, PATTERNS, Pattern, soak};
use crate::table::{align, group, three_digits};

/// `lab soak`.
///
/// # Errors
/// The kernel does not tell how much memory is resident, or the queue's answers were wrong.
pub fn run(pair_count: u64) -> Result<ExitCode, Box<dyn Error>> {
    println!("{}\n", Machine::here().sentence());
    let mut rows = vec![
        [
            "pattern",
            "timers",
            "pairs",
            "hints",
            "bound",
            "resident KiB, until the last quarter",
            "in it",
            "ns",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    let mut is_well = true;
    for pattern in &PATTERNS {
        eprintln!("{}", pattern.name);
        let outcome = soak(pattern, pair_count)?;
        is_well &= outcome.is_flat();
        rows.push(row(pattern, pair_count, &outcome));
    }
    print!("{}", align(&rows));
    println!("{}", if is_well { "flat" } else { "NOT FLAT" });
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn row(pattern: &Pattern, pair_count: u64, outcome: &Outcome) -> Vec<String> {
    let number = |value: u64| group(value as i64);
    let kibibytes = |bytes: u64| number(bytes >> 10);
    vec![
        pattern.name.to_owned(),
        number(pattern.timer_count),
        number(pair_count),
        number(outcome.hints.before.max(outcome.hints.last)),
        number(outcome.hint_count_max),
        kibibytes(outcome.resident.before),
        kibibytes(outcome.resident.last),
        three_digits(outcome.pair_ns),
        if outcome.is_flat() { "flat" } else { "NOT FLAT" }.to_owned(),
    ]
}
