//! Jobs that follow others, across all files: circles, too many followers of one job, and names that no job
//! has.
//!
//! Cost: one pass over the jobs, where any of them follows another.
//!
//! Does not know what is in force: the caller does.

use std::collections::{BTreeMap, BTreeSet};

use mainspring_job::{JobName, MAX_FOLLOWERS, circle};

use super::claimant::{Claimant, InForce, good, is_replaced};
use crate::jobfile::{Follows, PlacedJob};
use crate::problem::Problem;

/// The last good file that has a job in a circle, or one more than may follow a job; with its problems.
pub(super) fn judge(files: &[Claimant], in_force: &InForce<'_>) -> Result<(), (usize, Vec<Problem>)> {
    let good = good(files);
    if good.clone().all(|(_, file)| file.loaded.jobs.iter().all(|placed| placed.follows.is_empty())) {
        return Ok(());
    }
    let follows = edges(files, in_force);
    if let Some(found) = circle(&follows) {
        let of = |name: &JobName| found.iter().position(|other| other == name);
        let problem = |index: usize, placed: &PlacedJob| {
            let at = of(&placed.job.name)?;
            let next = &found[(at + 1) % found.len()];
            let place = placed.follows.iter().find(|place| place.job == *next)?;
            let names: Vec<String> = (0..=found.len()).map(|step| quoted(&found, at + step)).collect();
            let message = format!("the job would follow itself: {}", names.join(" follows "));
            Some(place.problem(&files[index].loaded.source, message))
        };
        let in_file = good.filter_map(|(index, file)| {
            Some((index, file.loaded.jobs.iter().find_map(|placed| problem(index, placed))?))
        });
        // What was in force before is no circle in itself.
        let (index, problem) = in_file.last().expect("a file that is read closes the circle");
        return Err((index, vec![problem]));
    }
    let mut counts: BTreeMap<&JobName, usize> = BTreeMap::new();
    for name in follows.values().flat_map(|names| names.iter().collect::<BTreeSet<_>>()) {
        *counts.entry(name).or_default() += 1;
    }
    let is_over = |place: &&Follows| counts.get(&place.job).is_some_and(|count| MAX_FOLLOWERS < *count);
    let in_file = good.filter_map(|(index, file)| {
        let place = file.loaded.jobs.iter().flat_map(|placed| &placed.follows).find(is_over)?;
        let message = format!("more than {MAX_FOLLOWERS} jobs follow `{}`", place.job);
        Some((index, vec![place.problem(&file.loaded.source, message)]))
    });
    in_file.last().map_or(Ok(()), Err)
}

/// Warnings of names that are followed and are those of no job, each with the index of its file. `is_known`
/// tells of jobs that no file of these holds.
pub fn unknown(files: &[Claimant], is_known: impl Fn(&JobName) -> bool) -> Vec<(usize, Problem)> {
    let jobs = || files.iter().flat_map(|file| &file.loaded.jobs);
    if jobs().all(|placed| placed.follows.is_empty()) {
        return Vec::new();
    }
    let names: BTreeSet<&JobName> = jobs().map(|placed| &placed.job.name).collect();
    let mut found = Vec::new();
    for (index, file) in files.iter().enumerate() {
        for place in file.loaded.jobs.iter().flat_map(|placed| &placed.follows) {
            if !names.contains(&place.job) && !is_known(&place.job) {
                let message = format!("there is no job `{}`, so nothing follows", place.job);
                found.push((index, place.problem(&file.loaded.source, message).into_warning()));
            }
        }
    }
    found
}

/// Who follows whom, if the good files are taken over.
fn edges(files: &[Claimant], in_force: &InForce<'_>) -> BTreeMap<JobName, Vec<JobName>> {
    let stays =
        |name: &JobName| in_force.held.get(name).is_none_or(|holder| !is_replaced(&holder.job_source, files));
    let mut follows: BTreeMap<JobName, Vec<JobName>> = in_force
        .follows
        .iter()
        .filter(|(name, _)| stays(name))
        .map(|(name, of)| (name.clone(), of.clone()))
        .collect();
    for placed in good(files).flat_map(|(_, file)| &file.loaded.jobs) {
        let names = placed.follows.iter().map(|place| place.job.clone());
        follows.insert(placed.job.name.clone(), names.collect());
    }
    follows
}

fn quoted(circle: &[JobName], index: usize) -> String {
    format!("`{}`", circle[index % circle.len()])
}

#[cfg(test)]
mod tests {
    use super::super::claimant::Holder;
    use super::super::settle;
    use super::*;
    use crate::crontab::Format;
    use crate::loaded_file::LoadedFile;
    use crate::source::Source;
    use jiff::tz::TimeZone;

    fn file(path: &str, jobs: &[(&str, &str)]) -> Claimant {
        let table = |(name, after): &(&str, &str)| {
            let trigger =
                if after.is_empty() { "every = '1h'".to_owned() } else { format!("after = {after}") };
            format!("[jobs.{name}]\n{trigger}\nshell = 'true'\n")
        };
        let text: String = jobs.iter().map(table).collect();
        let loaded = LoadedFile::parse(&Source::new(path, text), Format::User, &TimeZone::UTC);
        Claimant { job_source: path.to_owned(), loaded }
    }

    fn problems(files: &[Claimant]) -> String {
        files.iter().map(|file| file.loaded.problems_text()).collect()
    }

    #[test]
    fn a_circle_is_a_problem_of_the_last_file_at_the_name_that_closes_it() {
        let mut files = [
            file("a.toml", &[("a", "'c'"), ("x", "")]),
            file("b.toml", &[("b", "['a']"), ("c", "[{ job = 'b' }]")]),
        ];
        settle(&mut files, &InForce::nothing());
        let text = problems(&files);
        assert!(
            text.starts_with(
                "b.toml:2:10: the job would follow itself: `b` follows `a` follows `c` follows `b`\n"
            ),
            "{text}"
        );
        assert!(files[0].loaded.is_good(), "a is followed by nothing now");
        let mut alone = [file("a.toml", &[("a", "'a'")])];
        settle(&mut alone, &InForce::nothing());
        assert!(problems(&alone).contains("a.toml:2:9: the job would follow itself: `a` follows `a`\n"));
    }

    #[test]
    fn what_is_in_force_counts_unless_its_file_is_read_now() {
        let held =
            |job_source: &str| Holder { job_source: job_source.to_owned(), place: job_source.to_owned() };
        let name = |text: &str| JobName::new(text).unwrap();
        let in_force = |job_source: &str| InForce {
            held: BTreeMap::from([(name("b"), held(job_source))]),
            follows: BTreeMap::from([(name("b"), vec![name("a")])]),
            ..InForce::nothing()
        };
        let mut files = [file("a.toml", &[("a", "'b'")])];
        settle(&mut files, &in_force("b.toml"));
        assert!(!files[0].loaded.is_good());
        let mut files = [file("a.toml", &[("a", "'b'")]), file("b.toml", &[("b", "")])];
        settle(&mut files, &in_force("b.toml"));
        assert_eq!(problems(&files), "");
    }

    #[test]
    fn more_than_may_follow_one_are_a_problem_and_a_name_that_is_none_is_a_warning() {
        let names: Vec<String> = (0..=MAX_FOLLOWERS).map(|index| format!("f{index}")).collect();
        let jobs: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "'p'")).collect();
        let mut files = [file("a.toml", &jobs)];
        settle(&mut files, &InForce::nothing());
        assert!(problems(&files).contains("more than 256 jobs follow `p`"), "{}", problems(&files));
        let files = [file("a.toml", &[("a", "['b', 'nope', 'held']"), ("b", "")])];
        let found = unknown(&files, |name| name.as_str() == "held");
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].1.line_number, found[0].1.column()), (2, 15));
    }
}
