//! One answer out of those of all shards.
//!
//! | answers | become |
//! |---|---|
//! | pages of jobs | one page in the order of names, up to the name that all of them have reached |
//! | numbers | their sum; of times the earliest that comes, or the latest that is past |
//! | an error of one | that error: what is asked for is done in all shards, or its asker asks again |
//!
//! Cost: that of the answers.
//!
//! Does not ask anybody. Does not hide that a shard has not answered.

use std::collections::BTreeSet;

use mainspring_server::protocol::{
    AppliedWire, ClusterWire, FileStateWire, HealthWire, JobWire, MAX_ROWS, MetricsWire, NamesWire, Response,
    StatusWire,
};

/// The answer of all, of which there is at least one.
pub(super) fn merged(answers: Vec<Response>) -> Response {
    let mut answers = answers;
    if let Some(place) = answers.iter().position(|answer| matches!(answer, Response::Error(_))) {
        return answers.swap_remove(place);
    }
    let mut rest = answers.into_iter();
    let Some(first) = rest.next() else { return Response::Done(mainspring_server::protocol::Done {}) };
    match first {
        Response::Jobs { .. } => jobs(std::iter::once(first).chain(rest)),
        Response::Status(status) => Response::Status(Box::new(rest.fold(*status, |all, one| match one {
            Response::Status(one) => both_statuses(all, *one),
            _ => all,
        }))),
        Response::Health(health) => Response::Health(Box::new(rest.fold(*health, |all, one| match one {
            Response::Health(one) => both_healths(all, *one),
            _ => all,
        }))),
        Response::Metrics(metrics) => Response::Metrics(Box::new(rest.fold(*metrics, both_metrics))),
        Response::Recounted(found) => Response::Recounted(rest.fold(found, |all, one| match (all, one) {
            (Some(all), Response::Recounted(Some(one))) => Some(all.into_iter().chain(one).collect()),
            _ => None,
        })),
        Response::Applied(applied) => {
            Response::Applied(applied_by_all(rest.fold(applied, |mut all, one| {
                if let Response::Applied(one) = one {
                    all.add(one);
                }
                all
            })))
        }
        other => other,
    }
}

/// A job that a file has moved from one shard into another is removed in one and added in the other: it is
/// changed. What is wrong with a file each shard says.
fn applied_by_all(mut applied: AppliedWire) -> AppliedWire {
    let added: BTreeSet<String> = applied.added.iter().cloned().collect();
    let moved: BTreeSet<String> =
        applied.removed.iter().filter(|name| added.contains(*name)).cloned().collect();
    applied.added.retain(|name| !moved.contains(name));
    applied.removed.retain(|name| !moved.contains(name));
    applied.changed.extend(moved);
    for names in [&mut applied.added, &mut applied.changed, &mut applied.removed, &mut applied.refused] {
        names.sort_unstable();
    }
    applied.problems = distinct(applied.problems.lines()).iter().map(|line| format!("{line}\n")).collect();
    applied
}

fn distinct<'l>(lines: impl Iterator<Item = &'l str>) -> Vec<&'l str> {
    let mut seen = BTreeSet::new();
    lines.filter(|line| seen.insert(*line)).collect()
}

/// A page is sorted, and says after which name the next begins. Up to the first of these names nothing is
/// missing.
fn jobs(answers: impl Iterator<Item = Response>) -> Response {
    let (mut rows, mut reached): (Vec<JobWire>, Option<String>) = (Vec::new(), None);
    for answer in answers {
        let Response::Jobs { jobs, after } = answer else { continue };
        rows.extend(jobs);
        reached = match (reached, after) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    // A job that was just moved is in two shards for a moment.
    rows.dedup_by(|a, b| a.name == b.name);
    if let Some(reached) = &reached {
        rows.retain(|row| row.name <= *reached);
    }
    if MAX_ROWS < rows.len() {
        rows.truncate(MAX_ROWS);
        reached = rows.last().map(|row| row.name.clone());
    }
    Response::Jobs { jobs: rows, after: reached }
}

fn both_statuses(all: StatusWire, one: StatusWire) -> StatusWire {
    let mut troubles = all.troubles;
    troubles.extend(one.troubles.into_iter().filter(|text| !troubles.contains(text)).collect::<Vec<_>>());
    StatusWire {
        paused: all.paused && one.paused,
        pause_terms: all.pause_terms.or(one.pause_terms),
        jobs: all.jobs + one.jobs,
        pending: all.pending + one.pending,
        open: all.open + one.open,
        running: all.running + one.running,
        runs: all.runs + one.runs,
        dead: all.dead + one.dead,
        quarantined: all.quarantined + one.quarantined,
        refused: all.refused + one.refused,
        next: all.next.into_iter().chain(one.next).min(),
        files: both_files(all.files, one.files),
        troubles,
        cluster: match (all.cluster, one.cluster) {
            (Some(all), Some(one)) => Some(both_clusters(all, &one)),
            (all, one) => all.or(one),
        },
        ..all
    }
}

/// Of each file a shard has a part.
fn both_files(all: Vec<FileStateWire>, one: Vec<FileStateWire>) -> Vec<FileStateWire> {
    let mut files = all;
    for file in one {
        match files.iter_mut().find(|known| known.name == file.name) {
            None => files.push(file),
            Some(known) => {
                known.jobs += file.jobs;
                known.read = known.read.max(file.read);
                if known.notice.is_empty() {
                    known.notice = file.notice;
                }
                if known.problems.is_empty() {
                    known.problems = file.problems;
                }
            }
        }
    }
    files
}

fn both_clusters(all: ClusterWire, one: &ClusterWire) -> ClusterWire {
    let owns = |name: &str, address: &str| {
        one.servers.iter().any(|server| server.is_owner && server.name == name && server.address == address)
    };
    let mut servers = all.servers;
    for server in &mut servers {
        server.is_owner |= owns(&server.name, &server.address);
    }
    ClusterWire { servers, lease_left_ms: all.lease_left_ms.min(one.lease_left_ms), ..all }
}

fn both_names(all: NamesWire, one: &NamesWire) -> NamesWire {
    let mut both = all;
    let unnamed = one.count - one.first.len() as u64;
    one.first.iter().for_each(|name| both.add(name));
    both.count += unnamed;
    both
}

fn both_healths(all: HealthWire, one: HealthWire) -> HealthWire {
    HealthWire {
        fault: all.fault.or(one.fault),
        clock_step: all.clock_step.or(one.clock_step),
        planned: all.planned.max(one.planned),
        behind: both_names(all.behind, &one.behind),
        paused: both_names(all.paused, &one.paused),
        failing: both_names(all.failing, &one.failing),
        crash_loops: both_names(all.crash_loops, &one.crash_loops),
        quarantined: both_names(all.quarantined, &one.quarantined),
        following_nothing: both_names(all.following_nothing, &one.following_nothing),
        is_all_paused: all.is_all_paused && one.is_all_paused,
        dead: all.dead + one.dead,
        ..all
    }
}

fn both_metrics(mut all: MetricsWire, one: Response) -> MetricsWire {
    if let Response::Metrics(one) = one {
        all.merge(*one);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_server::protocol::{Done, ErrorKind, ErrorWire, MemberWire};

    fn page(names: &[&str], after: Option<&str>) -> Response {
        let row = |name: &&str| JobWire { name: (*name).to_owned(), ..JobWire::default() };
        Response::Jobs { jobs: names.iter().map(row).collect(), after: after.map(str::to_owned) }
    }

    fn names(answer: &Response) -> (Vec<&str>, Option<&str>) {
        let Response::Jobs { jobs, after } = answer else { panic!("{answer:?}") };
        (jobs.iter().map(|job| job.name.as_str()).collect(), after.as_deref())
    }

    #[test]
    fn pages_of_jobs_are_merged_as_far_as_all_of_them_go() {
        let both = merged(vec![page(&["a", "d"], Some("d")), page(&["b", "c", "e"], None)]);
        assert_eq!(names(&both), (vec!["a", "b", "c", "d"], Some("d")));
        let last = merged(vec![page(&["f"], None), page(&["e", "g"], None)]);
        assert_eq!(names(&last), (vec!["e", "f", "g"], None));
    }

    #[test]
    fn every_job_is_on_one_page_whatever_the_pages_of_the_shards() {
        // Three shards of some hundred names, each with pages of seven.
        let all: Vec<String> = (0..2_000).map(|number| format!("job-{number:05}")).collect();
        let shard_page = |shard: usize, after: Option<&str>| {
            let of = all.iter().enumerate().filter(|(index, _)| index * 7 % 3 == shard).map(|(_, name)| name);
            let rest: Vec<&str> =
                of.map(String::as_str).filter(|name| after.is_none_or(|after| after < *name)).collect();
            let after = (7 < rest.len()).then(|| rest[6]);
            page(&rest[..rest.len().min(7)], after)
        };
        let (mut seen, mut after): (Vec<String>, Option<String>) = (Vec::new(), None);
        loop {
            let answer = merged((0..3).map(|shard| shard_page(shard, after.as_deref())).collect());
            let (rows, next) = names(&answer);
            seen.extend(rows.into_iter().map(str::to_owned));
            match next {
                Some(next) => after = Some(next.to_owned()),
                None => break,
            }
        }
        assert_eq!(seen, all);
    }

    #[test]
    fn numbers_add_up_and_the_next_time_is_the_earliest() {
        let status = |jobs, next: &str, is_owner| {
            let server = MemberWire { name: "one".into(), is_owner, ..MemberWire::default() };
            let cluster = ClusterWire { servers: vec![server], ..ClusterWire::default() };
            let next = next.parse().ok();
            let cluster = Some(cluster);
            Response::Status(Box::new(StatusWire { jobs, next, cluster, ..StatusWire::default() }))
        };
        let all =
            merged(vec![status(2, "2026-11-21T08:00:00.5Z", false), status(3, "2026-11-21T08:00:00Z", true)]);
        let Response::Status(all) = all else { panic!("{all:?}") };
        assert_eq!((all.jobs, all.next), (5, "2026-11-21T08:00:00Z".parse().ok()));
        assert!(all.cluster.unwrap().servers[0].is_owner, "it owns one of the shards");
    }

    #[test]
    fn an_error_of_one_shard_is_the_answer_and_a_moved_job_is_changed() {
        let error = ErrorWire::response(ErrorKind::Temporary, "shard 3 has no owner");
        assert_eq!(merged(vec![Response::Done(Done {}), error.clone()]), error);
        let applied = |added: &[&str], removed: &[&str]| {
            let texts = |names: &[&str]| names.iter().map(ToString::to_string).collect();
            let (added, removed) = (texts(added), texts(removed));
            Response::Applied(AppliedWire { added, removed, ..AppliedWire::default() })
        };
        let Response::Applied(all) = merged(vec![applied(&["a", "b"], &[]), applied(&[], &["b", "c"])])
        else {
            panic!("it is applied")
        };
        assert_eq!(
            (all.added, all.changed, all.removed),
            (vec!["a".into()], vec!["b".into()], vec!["c".into()])
        );
    }
}
