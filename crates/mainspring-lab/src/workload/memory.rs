//! W8: resident memory per live timer, fresh and after 2 N churn pairs.
//!
//! What a structure holds is what the kernel says the process grew by, so that fragments, spare room and the
//! allocator's own records count. The ids that the program holds do not: they are taken off. Figures:
//! `fresh_bytes`, `churned_bytes`.
//!
//! Cost: that of W1, and a walk of the kernel over the process's pages.
//!
//! It does not compact, nor does it trim the allocator: a program does not either.

use std::fs;

use crate::api::QueueSubject;
use crate::case::{Case, Failure, Figure, Measurement, SPREAD};
use crate::random::Random;
use crate::workload::churn::{Churn, deadlines};

/// Measures W8.
///
/// # Errors
/// The subject cannot do it, or answered wrongly, or the kernel does not tell.
pub fn measure<S: QueueSubject>(case: &Case, subject: S) -> Measurement {
    let before = resident_bytes()?;
    let deadline = |random: &mut Random| 1 + random.below(SPREAD);
    let mut churn = Churn::fill(case, subject, deadline)?;
    let id_bytes = case.size * S::KEY_BYTES;
    let per_timer = |now: u64| now.saturating_sub(before + id_bytes) as f64 / case.size as f64;
    let fresh_bytes = per_timer(resident_bytes()?);
    let pick = |random: &mut Random, size, _| random.below(size);
    churn.run(2 * case.size, deadline, pick)?;
    let churned_bytes = per_timer(resident_bytes()?);
    let pair_count = 2 * case.size;
    churn.check(case, pair_count, || deadlines(case, pair_count, deadline, pick))?;
    Ok(vec![Figure::new("fresh_bytes", fresh_bytes), Figure::new("churned_bytes", churned_bytes)])
}

/// The process's resident memory. From the sum over its pages, which is exact: the kernel's running count, in
/// `/proc/self/statm`, may lag by some dozen pages per core.
///
/// # Errors
/// The kernel does not tell.
pub fn resident_bytes() -> Result<u64, Failure> {
    let path = "/proc/self/smaps_rollup";
    let text = fs::read_to_string(path).map_err(|error| Failure::Unable(format!("{path}: {error}")))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:"));
    let kibibytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.map(|count| count * 1_024).ok_or_else(|| Failure::Unable(format!("{path} has no line Rss")))
}
