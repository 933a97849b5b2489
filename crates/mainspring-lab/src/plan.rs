//! Selects the measurements of a run, and their order.
//!
//! ```text
//!   for each case (workload, size, threads):  for each round:  for each subject:  measure      A B C A B C ..
//! ```
//!
//! Subjects take turns so that a slow minute of the machine is everybody's. Who cannot do a workload, or is
//! left out at a size (see [`coverage`]), is noted with the reason.
//!
//! Cost: none. It does not measure: [`run`] asks for each figure and hands it on.

use crate::case::{Case, Failure, Measurement, SIZE_FULL, Workload};
use crate::coverage;
use crate::progress::Progress;
use crate::results::{Record, Results, SkippedSubject};
use crate::stopwatch::Stopwatch;
use crate::subject::Subject;

/// Thread counts of W5.
pub const THREAD_COUNTS: [u32; 4] = [1, 2, 4, 8];

/// Threads of W10.
pub const OVERLOAD_THREAD_COUNT: u32 = 8;

/// Sizes of a run that names none.
pub const SIZES_DEFAULT: [u64; 3] = [1_000, 100_000, 1_000_000];

/// What `run --scaling` does: cost against N.
pub const SCALING_WORKLOADS: [Workload; 3] = [Workload::W1, Workload::W3, Workload::W8];

/// With these numbers of timers.
pub const SCALING_SIZES: [u64; 5] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// And so many rounds: a median of three, and the whole takes half an hour.
pub const SCALING_ROUND_COUNT: u32 = 3;

/// Memory per timer below this size is the program's own and not the timers'.
const MEMORY_SIZE_MIN: u64 = 100_000;

/// Above [`SIZE_FULL`] memory is measured once: it is pages counted and not time, rounds differ by
/// less than a thousandth, and 2 N pairs of churn take longer than all else.
const LARGE_MEMORY_ROUND_COUNT: u32 = 1;

/// How often W10 is measured.
const OVERLOAD_ROUND_COUNT: u32 = 1;

const _: () = assert!(are_ascending(&SIZES_DEFAULT));
const _: () = assert!(are_ascending(&SCALING_SIZES));
const _: () = assert!(SIZES_DEFAULT[SIZES_DEFAULT.len() - 1] == SIZE_FULL, "goals are of the full size");
const _: () = assert!(MEMORY_SIZE_MIN < SIZE_FULL, "memory is measured");
const _: () = assert!(LARGE_MEMORY_ROUND_COUNT <= SCALING_ROUND_COUNT);
const _: () = {
    let mut index = 0;
    while index < SCALING_WORKLOADS.len() {
        assert!(SCALING_WORKLOADS[index].fixed_size().is_none(), "a curve needs several sizes");
        index += 1;
    }
};

const fn are_ascending(sizes: &[u64]) -> bool {
    let mut index = 1;
    while index < sizes.len() {
        if sizes[index] <= sizes[index - 1] {
            return false;
        }
        index += 1;
    }
    true
}

/// What a run measures.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The cases, in order, with the subjects of each, in order.
    pub items: Vec<(Case, Vec<String>)>,
    /// How often each.
    pub round_count: u32,
    /// What is not tried.
    pub skipped: Vec<SkippedSubject>,
}

impl Plan {
    /// Subjects at all cases but where `reason` has one to skip them: [`unable`], or [`unable_or_left_out`].
    pub fn of(
        cases: Vec<Case>,
        subjects: &[Subject],
        round_count: u32,
        reason: fn(&Subject, &Case) -> Option<String>,
    ) -> Plan {
        let mut plan = Plan { round_count, ..Plan::default() };
        for case in cases {
            let mut names = Vec::new();
            for subject in subjects {
                match reason(subject, &case) {
                    None => names.push(subject.name.to_owned()),
                    Some(reason) => plan.skipped.push(SkippedSubject {
                        subject: subject.name.to_owned(),
                        case,
                        failure: Failure::Unable(reason),
                    }),
                }
            }
            plan.items.push((case, names));
        }
        plan
    }

    /// How often a case is measured.
    fn round_count_of(&self, case: &Case) -> u32 {
        match case.workload {
            // A minute each, and what it shows is a matter of seconds.
            Workload::W10 => self.round_count.min(OVERLOAD_ROUND_COUNT),
            Workload::W8 if case.size > SIZE_FULL => self.round_count.min(LARGE_MEMORY_ROUND_COUNT),
            _ => self.round_count,
        }
    }
}

/// Why a subject cannot do a case, if it cannot.
pub fn unable(subject: &Subject, case: &Case) -> Option<String> {
    subject.unable(case.workload).map(str::to_owned)
}

/// The same, or why [`coverage`] leaves it out.
pub fn unable_or_left_out(subject: &Subject, case: &Case) -> Option<String> {
    unable(subject, case).or_else(|| coverage::left_out(subject, case))
}

/// The cases of some workloads at some sizes; those with a fixed size once.
pub fn cases(workloads: &[Workload], sizes: &[u64]) -> Vec<Case> {
    let mut cases = Vec::new();
    for &workload in workloads {
        let fixed = workload.fixed_size().map(|size| vec![size]);
        let is_measurable = |size: &u64| workload != Workload::W8 || *size >= MEMORY_SIZE_MIN;
        let sizes = fixed.unwrap_or_else(|| sizes.iter().copied().filter(is_measurable).collect());
        let thread_counts: &[u32] = match workload {
            Workload::W5 => &THREAD_COUNTS,
            Workload::W10 => &[OVERLOAD_THREAD_COUNT],
            _ => &[1],
        };
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
    mut measure: impl FnMut(&str, &Case) -> Measurement,
) -> Results {
    let mut results = Results { skipped: plan.skipped.clone(), ..Results::default() };
    for (case, subjects) in &plan.items {
        subjects.iter().for_each(|subject| progress.plan(subject, *case, plan.round_count_of(case)));
    }
    progress.begin();
    for (planned, subjects) in &plan.items {
        let mut able: Vec<&String> = subjects.iter().collect();
        for round in 0..plan.round_count_of(planned) {
            let case = Case { seed: u64::from(round), ..*planned };
            able.retain(|subject| {
                progress.measuring(subject, &case);
                let stopwatch = Stopwatch::start();
                match measure(subject, &case) {
                    Ok(figures) => {
                        let record = |figure| Record { subject: (*subject).clone(), case, figure };
                        results.records.extend(figures.into_iter().map(record));
                        progress.done(subject, *planned, stopwatch.ns() / 1e9);
                        true
                    }
                    // What cannot do it will not be asked again.
                    Err(failure) => {
                        let skipped = SkippedSubject { subject: (*subject).clone(), case, failure };
                        if skipped.is_wrong() {
                            let Case { workload, size, .. } = case;
                            progress
                                .say(&format!("{subject} at {workload}, N = {size}: {}", skipped.failure));
                        }
                        results.skipped.push(skipped);
                        progress.give_up(subject, *planned);
                        false
                    }
                }
            });
        }
    }
    progress.end();
    results
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subjects::named;

    #[test]
    fn memory_of_ten_million_is_measured_once_and_what_is_left_out_says_why() {
        let subjects = ["wheel::Chunked", "SkipList", "engine-default"].map(|name| named(name).expect(name));
        let cases = cases(&[Workload::W8], &SCALING_SIZES);
        assert_eq!(cases.iter().map(|case| case.size).collect::<Vec<_>>(), SCALING_SIZES[2..]);
        let plan = Plan::of(cases, &subjects, 3, unable_or_left_out);
        assert_eq!(plan.items[2].1, ["wheel::Chunked"]);
        assert_eq!(
            plan.items.iter().map(|(case, _)| plan.round_count_of(case)).collect::<Vec<_>>(),
            [3, 3, 1]
        );
        let of_skip_list: Vec<&SkippedSubject> =
            plan.skipped.iter().filter(|skipped| skipped.subject == "SkipList").collect();
        assert_eq!(of_skip_list.len(), 1);
        assert!(of_skip_list[0].failure.to_string().contains("what it is at a million"), "{of_skip_list:?}");
        assert_eq!(plan.skipped.iter().filter(|skipped| skipped.subject == "engine-default").count(), 3);
    }
}
