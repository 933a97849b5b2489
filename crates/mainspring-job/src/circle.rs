//! Circles of jobs that follow each other. They would run for ever, so definitions with a circle are refused.
//!
//! Cost: O(jobs and their triggers).
//!
//! Does not know the definitions in force: the caller says which job follows which.

use std::collections::BTreeMap;

use crate::name::JobName;

/// Finds jobs each of which follows the next, and the last the first: `a` follows `b`, `b` follows `a`. The
/// one that comes first by name begins.
///
/// # Example
/// ```
/// use std::collections::BTreeMap;
/// use mainspring_job::{JobName, circle};
///
/// let [a, b, c] = ["a", "b", "c"].map(|name| JobName::new(name).unwrap());
/// let mut follows = BTreeMap::from([(b.clone(), vec![a.clone()]), (c.clone(), vec![b.clone()])]);
/// assert_eq!(circle(&follows), None);
/// follows.insert(a.clone(), vec![b.clone()]);
/// assert_eq!(circle(&follows), Some(vec![a, b]));
/// ```
#[expect(clippy::missing_panics_doc, reason = "what is left of the jobs has one that is left before it")]
pub fn circle(follows: &BTreeMap<JobName, Vec<JobName>>) -> Option<Vec<JobName>> {
    let mut followers: BTreeMap<&JobName, Vec<&JobName>> = BTreeMap::new();
    // How many of those that a job follows may still be part of a circle.
    let mut left: BTreeMap<&JobName, usize> = follows.iter().map(|(job, of)| (job, of.len())).collect();
    for (job, of) in follows {
        for other in of {
            followers.entry(other).or_default().push(job);
            left.entry(other).or_insert(0);
        }
    }
    let mut free: Vec<&JobName> =
        left.iter().filter(|(_, count)| **count == 0).map(|(job, _)| *job).collect();
    while let Some(job) = free.pop() {
        left.remove(job);
        for follower in followers.get(job).into_iter().flatten() {
            let count = left.get_mut(follower).expect("what follows something that was left is left");
            *count -= 1;
            if *count == 0 {
                free.push(follower);
            }
        }
    }
    // Each that is left follows another that is left, so the way ends where it has been before.
    let mut way: Vec<&JobName> = vec![left.keys().next()?];
    loop {
        let last = way.last().expect("it has a first");
        let next = follows[*last].iter().find(|other| left.contains_key(other));
        let next = next.expect("it follows one that is left");
        if let Some(start) = way.iter().position(|job| *job == next) {
            let mut found: Vec<JobName> = way[start..].iter().map(|job| (*job).clone()).collect();
            let first = (0..found.len()).min_by_key(|index| &found[*index]).expect("a circle is not empty");
            found.rotate_left(first);
            return Some(found);
        }
        way.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Option<Vec<String>> {
        let mut follows: BTreeMap<JobName, Vec<JobName>> = BTreeMap::new();
        for (job, other) in pairs {
            follows.entry(JobName::new(job).unwrap()).or_default().push(JobName::new(other).unwrap());
        }
        circle(&follows).map(|found| found.iter().map(JobName::to_string).collect())
    }

    #[test]
    fn a_circle_is_found_wherever_it_lies_and_what_only_leads_to_it_is_not_part_of_it() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("a", "a")]), Some(vec!["a".to_owned()]));
        assert_eq!(of(&[("d", "b"), ("d", "c"), ("b", "a"), ("c", "a"), ("d", "a")]), None);
        let leads = [("a", "z"), ("z", "y"), ("y", "x"), ("x", "z"), ("x", "root")];
        assert_eq!(of(&leads).unwrap(), ["x", "z", "y"]);
        assert_eq!(of(&[("b", "a"), ("b", "a"), ("a", "b")]).unwrap(), ["a", "b"]);
    }
}
