//! `lab goals`: measures what the goals need, and judges them.
//!
//! Cost: some minutes with five rounds. It does not stop at the first goal that is missed.

use std::error::Error;
use std::process::ExitCode;

use crate::case::Case;
use crate::cli::GoalsArgs;
use crate::goal::{Goal, Outcome, Verdict};
use crate::goals::GOALS;
use crate::machine::Machine;
use crate::plan::{self, Plan};
use crate::process::measure_apart;
use crate::progress::Progress;
use crate::results::Results;
use crate::table;

/// `lab goals`.
///
/// # Errors
/// A folder that cannot be read or written.
pub fn goals(arguments: &GoalsArgs) -> Result<ExitCode, Box<dyn Error>> {
    let is_asked =
        |goal: &&Goal| arguments.workloads.is_empty() || arguments.workloads.contains(&goal.workload);
    let goals: Vec<&Goal> = GOALS.iter().filter(is_asked).collect();
    let machine = Machine::here();
    let results = match &arguments.from {
        Some(folder) => Results::load(folder)?,
        None => plan::run(&plan_of(&goals, arguments.rounds), &mut Progress::default(), measure_apart),
    };
    if let Some(folder) = &arguments.out {
        results.save(folder)?;
        machine.save(folder)?;
    }
    let verdicts: Vec<Verdict> = goals.iter().map(|goal| goal.judge(&results)).collect();
    let missed_count = verdicts.iter().filter(|verdict| verdict.is_missed()).count();
    let met_count = verdicts.iter().filter(|verdict| verdict.outcome == Outcome::Met).count();
    let rows: Vec<Vec<String>> = verdicts.iter().map(Verdict::row).collect();
    print!("{}", table::align(&rows));
    println!("{met_count} of {} goals are met", verdicts.len());
    for skipped in results.skipped.iter().filter(|skipped| skipped.is_wrong()) {
        eprintln!("{} {}: {}", skipped.case.workload, skipped.subject, skipped.failure);
    }
    let is_well = missed_count == 0 && !results.has_wrong_answers();
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the goals need, each case once with all its subjects, so that they take turns.
fn plan_of(goals: &[&Goal], round_count: u32) -> Plan {
    let mut items: Vec<(Case, Vec<String>)> = Vec::new();
    for (case, subject) in goals.iter().flat_map(|goal| goal.needs()) {
        match items.iter_mut().find(|(other, _)| *other == case) {
            Some((_, subjects)) if subjects.contains(&subject) => (),
            Some((_, subjects)) => subjects.push(subject),
            None => items.push((case, vec![subject])),
        }
    }
    Plan { items, round_count, ..Plan::default() }
}
