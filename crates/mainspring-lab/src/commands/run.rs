//! `lab run` and `lab quick`: measure, save, show.
//!
//! Cost: that of the measurements. It does not keep what an earlier run wrote into the same folder.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use crate::case::Workload;
use crate::cli::{QuickArgs, RunArgs};
use crate::machine::Machine;
use crate::plan::{self, Plan};
use crate::process::measure_apart;
use crate::progress::Progress;
use crate::results::Results;
use crate::subject::queues::DEFAULT;
use crate::{subject, table};

/// What `quick` compares: the default, the best of each kind, and the floor.
const QUICK_SUBJECTS: [&str; 8] =
    ["floor", DEFAULT, "std-heap-lazy", "BTreeMap", "slab-wheel", "nexus-timer", "tokio-sleep", "DelayQueue"];

/// How often `quick` measures: a median of three, and three minutes are not over.
const QUICK_ROUND_COUNT: u32 = 3;

/// What `quick` does: each takes a second or two at this size.
const QUICK_WORKLOADS: [Workload; 6] =
    [Workload::W1, Workload::W1b, Workload::W2, Workload::W3, Workload::W4, Workload::W8];

/// `lab run`.
///
/// # Errors
/// A subject that does not exist, or a folder that cannot be written.
pub fn run(arguments: &RunArgs) -> Result<ExitCode, Box<dyn Error>> {
    let all = subject::all();
    let mut subjects: Vec<String> = all.iter().map(|subject| subject.name.to_owned()).collect();
    if !arguments.subjects.is_empty() {
        for name in &arguments.subjects {
            if !subjects.iter().any(|subject| subject.eq_ignore_ascii_case(name)) {
                return Err(format!("there is no subject {name}: `mainspring-lab list` names them").into());
            }
        }
        let is_asked =
            |subject: &String| arguments.subjects.iter().any(|name| name.eq_ignore_ascii_case(subject));
        subjects.retain(is_asked);
    }
    let workloads =
        if arguments.workloads.is_empty() { Workload::ALL.to_vec() } else { arguments.workloads.clone() };
    let cases = plan::cases(&workloads, &arguments.sizes);
    measure(&Plan::of(cases, &subjects, arguments.rounds), &arguments.out)
}

/// `lab quick`.
///
/// # Errors
/// A folder that cannot be written.
pub fn quick(arguments: &QuickArgs) -> Result<ExitCode, Box<dyn Error>> {
    let mut cases = plan::cases(&[Workload::W1], &[1_000]);
    cases.extend(plan::cases(&QUICK_WORKLOADS, &[1_000_000]));
    let subjects = QUICK_SUBJECTS.map(str::to_owned).to_vec();
    measure(&Plan::of(cases, &subjects, QUICK_ROUND_COUNT), &arguments.out)
}

fn measure(plan: &Plan, folder: &Path) -> Result<ExitCode, Box<dyn Error>> {
    let machine = Machine::here();
    let results = plan::run(plan, &mut Progress::new(), measure_apart);
    results.save(folder)?;
    machine.save(folder)?;
    println!("{}\n", machine.sentence());
    show(&results);
    println!("written to {}", folder.display());
    Ok(if results.has_wrong_answers() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Prints all tables, and below them what is missing and why.
fn show(results: &Results) {
    for table in table::tables(results) {
        println!("{}", table::text(&table));
    }
    let mut reasons: Vec<String> = results
        .skipped
        .iter()
        .map(|skipped| format!("  {} {}: {}", skipped.case.workload, skipped.subject, skipped.reason))
        .collect();
    reasons.dedup();
    if !reasons.is_empty() {
        println!("not measured\n{}\n", reasons.join("\n"));
    }
}
