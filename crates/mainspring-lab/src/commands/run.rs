//! `lab run` and `lab quick`: measure, save, show.
//!
//! Cost: that of the measurements. It does not keep what an earlier run wrote into the same folder.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use clap::ValueEnum;

use crate::case::Workload;
use crate::cli::RunArgs;
use crate::machine::Machine;
use crate::plan::{self, Plan, SCALING_ROUND_COUNT, SCALING_SIZES, SCALING_WORKLOADS, SIZES_DEFAULT};
use crate::process::measure_apart;
use crate::progress::Progress;
use crate::results::Results;
use crate::subject::{Kind, Subject};
use crate::subjects::queues::DEFAULT;
use crate::{subjects, table};

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
    let RunArgs { workloads, sizes, rounds, .. } = arguments;
    let (all_workloads, all_sizes, round_count) = if arguments.scaling {
        (&SCALING_WORKLOADS[..], &SCALING_SIZES[..], SCALING_ROUND_COUNT)
    } else {
        (Workload::value_variants(), &SIZES_DEFAULT[..], ROUND_COUNT_DEFAULT)
    };
    let cases = plan::cases(given_or(workloads, all_workloads), given_or(sizes, all_sizes));
    let round_count = rounds.unwrap_or(round_count);
    let plan = if arguments.subjects.is_empty() {
        let mut subjects = subjects::all();
        // Their curves are their structures', and a constant each.
        subjects.retain(|subject| !arguments.scaling || subject.kind != Kind::Preset);
        Plan::of(cases, &subjects, round_count, plan::unable_or_left_out)
    } else {
        Plan::of(cases, &named_all(&arguments.subjects)?, round_count, plan::unable)
    };
    measure(&plan, &arguments.out)
}

/// How often each is measured unless the run says otherwise.
const ROUND_COUNT_DEFAULT: u32 = 5;

fn given_or<'a, T>(given: &'a [T], otherwise: &'a [T]) -> &'a [T] {
    if given.is_empty() { otherwise } else { given }
}

/// The subjects of these names, in the order of tables.
fn named_all(names: &[String]) -> Result<Vec<Subject>, String> {
    let mut subjects = subjects::all();
    for name in names {
        if !subjects.iter().any(|subject| subject.name.eq_ignore_ascii_case(name)) {
            return Err(format!("there is no subject {name}: `mainspring-lab list` names them"));
        }
    }
    subjects.retain(|subject| names.iter().any(|name| name.eq_ignore_ascii_case(subject.name)));
    Ok(subjects)
}

/// `lab quick`.
///
/// # Errors
/// A folder that cannot be written.
pub fn quick(out: &Path) -> Result<ExitCode, Box<dyn Error>> {
    let mut cases = plan::cases(&[Workload::W1], &[1_000]);
    cases.extend(plan::cases(&QUICK_WORKLOADS, &[1_000_000]));
    let subjects = named_all(&QUICK_SUBJECTS.map(str::to_owned))?;
    measure(&Plan::of(cases, &subjects, QUICK_ROUND_COUNT, plan::unable_or_left_out), out)
}

fn measure(plan: &Plan, folder: &Path) -> Result<ExitCode, Box<dyn Error>> {
    let machine = Machine::here();
    let results = plan::run(plan, &mut Progress::default(), measure_apart);
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
    let line = |((workload, reason), subjects): ((Workload, String), Vec<&str>)| {
        format!("  {workload}: {reason}: {}", subjects.join(", "))
    };
    let reasons: Vec<String> = results.skipped_by_reason().into_iter().map(line).collect();
    if !reasons.is_empty() {
        println!("not measured\n{}\n", reasons.join("\n"));
    }
}
