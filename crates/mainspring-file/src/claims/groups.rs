//! Groups that several files define: one limit and one rate, across all files.
//!
//! Cost: a map of the groups; the lines of those of a file are looked for where it has any.
//!
//! Does not know what is in force: the caller does.

use std::collections::BTreeMap;

use mainspring_job::JobName;

use super::claimant::{Claimant, InForce, good, is_replaced};
use crate::jobfile;
use crate::problem::Problem;

/// The first good file that gives a group another limit or rate than a file before it, or than what stays in
/// force; with its problems.
pub(super) fn judge(files: &[Claimant], in_force: &InForce<'_>) -> Result<(), (usize, Vec<Problem>)> {
    let staying = in_force.groups.iter().filter(|(_, holder)| !is_replaced(&holder.job_source, files));
    let mut known: BTreeMap<_, _> =
        staying.map(|(group, holder)| (&group.name, (group, holder.place.clone()))).collect();
    for (index, file) in good(files).filter(|(_, file)| !file.loaded.groups.is_empty()) {
        let source = &file.loaded.source;
        let lines = jobfile::lines_of_groups(source);
        let line = |name: &JobName| lines.get(name.as_str()).copied().unwrap_or(1);
        let mut problems = Vec::new();
        for group in &file.loaded.groups {
            let place = format!("{}:{}", source.name(), line(&group.name));
            let (first, other) = known.entry(&group.name).or_insert((group, place));
            if *first != group {
                let message = format!("the group `{}` has {first} in {other}", group.name);
                let hint = "files that share a group give it one limit and one rate";
                problems.push(file.loaded.problem_on(line(&group.name), message, hint));
            }
        }
        if !problems.is_empty() {
            return Err((index, problems));
        }
    }
    Ok(())
}
