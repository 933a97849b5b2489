//! Which measurements a run makes, and in which order.
//!
//! ```text
//!   for each case (workload, size, threads):  for each round:  for each subject:  measure      A B C A B C ..
//! ```
//!
//! Subjects take turns so that a slow minute of the machine is everybody's.
//!
//! Cost: none. It does not measure: [`run`] asks for each figure and hands it on.

use crate::case::{Case, Failure, Measured, Workload};
use crate::progress::Progress;
use crate::results::{Record, Results, Skipped};

/// Thread counts of W5.
pub const THREAD_COUNTS: [u32; 4] = [1, 2, 4, 8];

/// Sizes of a run that names none.
pub const SIZES_DEFAULT: [u64; 3] = [1_000, 100_000, 1_000_000];

/// Memory per timer below this size is the program's own and not the timers'.
const MEMORY_SIZE_MIN: u64 = 100_000;

/// What a run measures.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The cases, in order, with the subjects of each, in order.
    pub items: Vec<(Case, Vec<String>)>,
    /// How often each.
    pub round_count: u32,
}

impl Plan {
    /// All subjects at all cases.
    pub fn of(cases: Vec<Case>, subjects: &[String], round_count: u32) -> Plan {
        let items = cases.into_iter().map(|case| (case, subjects.to_vec())).collect();
        Plan { items, round_count }
    }
}

/// The cases of some workloads at some sizes; those with a fixed size once.
pub fn cases(workloads: &[Workload], sizes: &[u64]) -> Vec<Case> {
    let mut cases = Vec::new();
    for &workload in workloads {
        let fixed = workload.fixed_size().map(|size| vec![size]);
        let is_measurable = |size: &u64| workload != Workload::W8 || *size >= MEMORY_SIZE_MIN;
        let sizes = fixed.unwrap_or_else(|| sizes.iter().copied().filter(is_measurable).collect());
        let thread_counts: &[u32] = if workload == Workload::W5 { &THREAD_COUNTS } else { &[1] };
        for size in sizes {
            cases.extend(thread_counts.iter().map(|&thread_count| Case {
                workload,
                size,
                thread_count,
                seed: 0,
            }));
        }
    }
    cases
}

/// Makes all measurements by `measure` and collects what comes out.
pub fn run(
    plan: &Plan,
    progress: &mut Progress,
    mut measure: impl FnMut(&str, &Case) -> Measured,
) -> Results {
    let mut results = Results::default();
    let subject_count: usize = plan.items.iter().map(|(_, subjects)| subjects.len()).sum();
    progress.begin(subject_count * plan.round_count as usize);
    for (case, subjects) in &plan.items {
        let mut able: Vec<&String> = subjects.iter().collect();
        for round in 0..plan.round_count {
            let case = Case { seed: u64::from(round), ..*case };
            able.retain(|subject| {
                progress.measuring(subject, &case);
                let is_able = take(&mut results, subject, &case, measure(subject, &case), progress);
                // What cannot do it will not be asked again.
                progress.done(if is_able { 1 } else { (plan.round_count - round) as usize });
                is_able
            });
        }
    }
    progress.end();
    results
}

/// Notes what came out; tells whether to ask the subject again.
fn take(results: &mut Results, subject: &str, case: &Case, measured: Measured, progress: &Progress) -> bool {
    match measured {
        Ok(figures) => {
            let record = |figure| Record { subject: subject.to_owned(), case: *case, figure };
            results.records.extend(figures.into_iter().map(record));
            true
        }
        Err(failure) => {
            let is_wrong = matches!(failure, Failure::Wrong(_));
            if is_wrong {
                progress.say(&format!("{subject} at {}, N = {}: {failure}", case.workload, case.size));
            }
            let reason = failure.to_string();
            results.skipped.push(Skipped { subject: subject.to_owned(), case: *case, reason, is_wrong });
            false
        }
    }
}
