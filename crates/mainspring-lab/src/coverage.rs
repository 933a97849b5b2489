//! The largest size for each subject, where its cost makes more hopeless, and the time limit of a
//! measurement.
//!
//! | subject | workloads | at most | because |
//! |---|---|---|---|
//! | `RedBlackTree`, `SkipList` | W8 | 1e6 | minutes, for what is the same at a million |
//! | `wheel::Rounds` | W3 | 1e6 | each timer is looked at in every round of half a second: 10 us a timer |
//! | `go` | all | 1e6 | its clock is real: before so many timers are made, the first have fired |
//! | presets | all | 1e6 | the curve is that of the structure beside it, and a constant |
//!
//! What is left out is written into `skipped.csv` and into the report, with the reason. A subject that is
//! asked for by name is measured at any size.
//!
//! Cost: none. It does not measure, and does not know the machine: these are structures that stay behind on
//! any.

use crate::case::{Case, SIZE_FULL, Workload};
use crate::subject::{Kind, Subject};

/// The longest measurement that makes sense up to [`SIZE_FULL`], in CPU seconds: a structure that is
/// quadratic in the workload would take hours.
pub const CPU_SECONDS_MAX: u64 = 90;

/// The same beyond: with ten million timers the slowest that [`left_out`] lets through takes a fifth of it.
pub const CPU_SECONDS_MAX_LARGE: u64 = 600;

const _: () = assert!(CPU_SECONDS_MAX < CPU_SECONDS_MAX_LARGE);

/// How long a measurement may take, in CPU seconds.
pub fn cpu_seconds_max(size: u64) -> u64 {
    if size <= SIZE_FULL { CPU_SECONDS_MAX } else { CPU_SECONDS_MAX_LARGE }
}

/// Why a subject is not measured at a case's size, if it is not.
pub fn left_out(subject: &Subject, case: &Case) -> Option<String> {
    if case.size <= SIZE_FULL {
        return None;
    }
    let reason = match (subject.kind, subject.name, case.workload) {
        (Kind::Preset, ..) => "a preset's curve is that of its structure, and a constant",
        (Kind::Foreign, ..) => "its clock is real, and the first timers fire before so many are made",
        (_, "RedBlackTree" | "SkipList", Workload::W8) => {
            "it takes minutes, and memory by timer is what it is at a million"
        }
        (_, "wheel::Rounds", Workload::W3) => {
            "each timer is looked at in every round of half a second, 10 us a timer"
        }
        _ => return None,
    };
    Some(format!("left out above a million timers: {reason} (name it with --subjects to measure it)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subjects::named;

    #[test]
    fn nothing_is_left_out_up_to_a_million_and_only_what_the_table_names_beyond() {
        let left_out_at = |name: &str, workload, size| {
            let subject = named(name).expect(name);
            left_out(&subject, &Case { workload, size, thread_count: 1, seed: 0 }).is_some()
        };
        let rows = [
            ("SkipList", Workload::W1, 1_000_000, false),
            ("SkipList", Workload::W1, 10_000_000, false),
            ("SkipList", Workload::W8, 10_000_000, true),
            ("wheel::Rounds", Workload::W3, 10_000_000, true),
            ("wheel::Rounds", Workload::W1, 10_000_000, false),
            ("preset::kafka", Workload::W1, 10_000_000, true),
            ("go", Workload::W8, 10_000_000, true),
            ("RedBlackTree", Workload::W8, 10_000_000, true),
            ("RedBlackTree", Workload::W1, 10_000_000, false),
            ("wheel::Chunked", Workload::W3, 10_000_000, false),
            ("tokio-sleep", Workload::W8, 10_000_000, false),
        ];
        for (name, workload, size, is_expected) in rows {
            assert_eq!(left_out_at(name, workload, size), is_expected, "{name} {workload} {size}");
        }
    }
}
