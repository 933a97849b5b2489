//! The state of the server and its store, for `doctor`, and for the other servers of a pool.
//!
//! Cost: a walk over the jobs, and the counts of the store. In a pool a walk over the jobs each second.
//!
//! Does not read the whole store: that would stop the loop for too long.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use mainspring_job::{Hold, Job, Mark, Pause};

use super::disk_reserve::free_bytes;
use super::next_step::{NextResult, look};
use super::phase::Phase;
use super::planner_status::{KeptStatus, PlannerStatus, STOPPING};
use super::store_thread::Order;
use super::{Keeping, Server, describe};
use crate::protocol::{HealthWire, Response, StatusWire};
use mainspring_exec::clock::Moment;
use mainspring_exec::descriptors;
use mainspring_file::job_source::JobSource;

/// How far a watermark may lie ahead of the clock before that is trouble: clocks are set back by a second now
/// and then.
const MAX_AHEAD_SECONDS: i64 = 5;

/// How often it is looked at: a person who reads it at another server does not wait long for what is new.
const KEEP_INTERVAL: Duration = Duration::from_secs(1);

impl Server {
    /// What this planner alone knows.
    pub(super) fn planner_status(&self, now: Moment) -> PlannerStatus {
        let planner = self.owner.planner();
        let status = StatusWire {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            data: self.data.shown(),
            started: self.began.wall,
            state: if self.phase == Phase::Running { "running" } else { STOPPING }.to_owned(),
            quarantined: planner.quarantined().count() as u64,
            files: self.files.served.iter().map(|file| describe::file(file, now.wall)).collect(),
            is_kept: self.keeping == Keeping::OnDisk,
            changes_max: self.clients.rates.total,
            connection_changes_max: self.clients.rates.connection,
            refused: self.clients.refused_count,
            troubles: self.troubles(now),
            ..StatusWire::default()
        };
        let mut health = HealthWire {
            epoch: Some(self.owner.lease().epoch),
            clock_step: self.clock_steps.reported.clone(),
            open_files_max: Some(descriptors::limit()),
            running_max: Some(planner.workers().map(|(worker, _)| worker.capacity as u64).sum()),
            missing_mailers: self.files.missing_mailers().iter().map(|it| it.display().to_string()).collect(),
            ..HealthWire::default()
        };
        for (job, of) in planner.follow_nothing() {
            health.following_nothing.add(&format!("{job} after {of}"));
        }
        let limits = planner.limits_of_groups().map(|(name, limit)| (name.clone(), limit)).collect();
        let full_rates = planner.full_rates();
        let full_rates =
            full_rates.map(|(name, (rate, until))| (name.clone(), (rate.to_string(), until))).collect();
        let awaited_batches = planner.awaited_batches().cloned().collect();
        let has_crowded = planner.has_crowded();
        PlannerStatus { status, health, limits, full_rates, awaited_batches, has_crowded }
    }

    /// Has it written for the other servers of a pool, if it is another than was written last.
    pub(super) fn keep_status(&mut self, now: Moment) {
        let is_young = |status: &KeptStatus| now.since(status.looked) < KEEP_INTERVAL;
        if self.owner.lease().lasts.is_none() || self.kept_status.as_ref().is_some_and(is_young) {
            return;
        }
        let mut known = self.planner_status(now);
        known.status.next = self.next_run(now);
        if let Some(status) = self.kept_status.as_mut().filter(|status| !status.is_old(&known, now)) {
            status.looked = now;
            return;
        }
        let has_lines = self.kept_status.as_ref().is_none_or(|status| status.has_other_files(&known));
        let line = |(job, _): (&Job, _)| {
            Some((job.name.clone(), self.files.line_of(&JobSource::of(&job.source), &job.name)?))
        };
        let lines = || self.owner.planner().jobs().filter_map(line).collect::<BTreeMap<_, _>>();
        // Documents of texts and numbers.
        let lines = has_lines.then(|| serde_json::to_string(&lines()).unwrap_or_default());
        let status = serde_json::to_string(&known).unwrap_or_default();
        self.owner.writer().order(Order::KeepStatus(status, lines));
        self.kept_status = Some(KeptStatus::new(known, now));
    }

    pub(super) fn health(&self, now: Moment) -> NextResult {
        let known = self.planner_status(now).health;
        let mut health = of_marks(known, self.owner.planner().jobs().map(|(_, mark)| mark), now.wall);
        health.is_all_paused = self.owner.planner().is_paused();
        health.free_bytes = free_bytes(self.data.directory());
        look(move |reader| {
            match reader.counts() {
                Ok(counts) => health.dead = counts.dead,
                Err(error) => health.fault = Some(error.to_string()),
            }
            Ok(Response::Health(Box::new(health)))
        })
    }
}

/// What the marks of the jobs say beside what is known.
pub(super) fn of_marks<'m>(
    known: HealthWire,
    marks: impl Iterator<Item = &'m Mark>,
    now: Timestamp,
) -> HealthWire {
    let mut health = HealthWire { now, ..known };
    for mark in marks {
        health.planned = health.planned.max(Some(mark.watermark));
        for hold in Hold::of_mark(mark, now) {
            match hold {
                Hold::ClockBehind { planned } => {
                    if now.as_second() + MAX_AHEAD_SECONDS < planned.as_second() {
                        health.behind.add(mark.job.as_str());
                    }
                }
                Hold::Paused { why: Pause::Failures, .. } => health.failing.add(mark.job.as_str()),
                Hold::Paused { why: Pause::Crashes, .. } => health.crash_loops.add(mark.job.as_str()),
                Hold::Quarantined { .. } => health.quarantined.add(mark.job.as_str()),
                _ => health.paused.add(mark.job.as_str()),
            }
        }
    }
    health
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_job::JobName;

    #[test]
    fn marks_say_who_rests_and_why() {
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let mark = |name: &str, watermark: &str, pause| {
            let name = JobName::new(name).unwrap();
            let mut mark = Mark::new(name, watermark.parse().unwrap(), String::new());
            mark.pause = pause;
            mark
        };
        let crashed = |mut mark: Mark, crashes: u32| {
            mark.crashes = crashes;
            mark
        };
        let marks = [
            mark("early", "2026-11-21T12:00:04Z", None),
            mark("ahead", "2026-11-21T13:00:00Z", None),
            mark("asked", "2026-11-20T12:00:00Z", Some(Pause::Manual)),
            mark("failed", "2026-11-20T12:00:00Z", Some(Pause::Failures)),
            crashed(mark("loop", "2026-11-20T12:00:00Z", Some(Pause::Crashes)), 3),
            crashed(mark("held", "2026-11-20T12:00:00Z", None), 1),
            crashed(mark("both", "2026-11-20T12:00:00Z", Some(Pause::Manual)), 1),
        ];
        let health = of_marks(HealthWire::default(), marks.iter(), now);
        assert_eq!(health.behind.first, ["ahead"]);
        assert_eq!((health.paused.first[0].as_str(), health.failing.first[0].as_str()), ("asked", "failed"));
        assert_eq!(health.crash_loops.first, ["loop"]);
        assert_eq!((health.paused.first[1].as_str(), health.quarantined.first.len()), ("both", 2));
        assert_eq!(health.planned, "2026-11-21T13:00:00Z".parse().ok());
    }
}
