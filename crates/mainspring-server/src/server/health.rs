//! The state of the server and its store, for `doctor`.
//!
//! Cost: a walk over the jobs, and the counts of the store.
//!
//! Does not read the whole store: that would stop the loop for too long.

use jiff::Timestamp;
use mainspring_job::{Hold, Mark, Pause};

use super::Server;
use super::disk_reserve::free_bytes;
use super::next_step::{Next, NextResult, query};
use crate::protocol::{ClockStepWire, HealthWire, Response};
use mainspring_exec::clock::Moment;
use mainspring_exec::descriptors;

/// How far a watermark may lie ahead of the clock before that is trouble: clocks are set back by a second now
/// and then.
const MAX_AHEAD_SECONDS: i64 = 5;

impl Server {
    pub(super) fn health(&self, now: Moment) -> NextResult {
        let mut health = of_marks(self.owner.planner().jobs().map(|(_, mark)| mark), now.wall);
        health.epoch = Some(self.owner.lease().epoch);
        for (job, of) in self.owner.planner().follow_nothing() {
            health.following_nothing.add(&format!("{job} after {of}"));
        }
        health.clock_step = self.clock_steps.told().map(|told| ClockStepWire {
            at: told.at,
            text: told.text.clone(),
            is_back: told.is_back,
        });
        health.is_all_paused = self.owner.planner().is_paused();
        health.free_bytes = free_bytes(self.data.directory());
        let limit = descriptors::limit();
        health.open_files_max = Some(limit);
        health.running_max = Some(self.work.capacity() as u64);
        query(move |reader| {
            match reader.counts() {
                Ok(counts) => health.dead = counts.dead,
                Err(error) => health.fault = Some(error.to_string()),
            }
            Ok(Next::Answer(Response::Health(Box::new(health))))
        })
    }
}

/// What the marks of the jobs say.
pub(super) fn of_marks<'m>(marks: impl Iterator<Item = &'m Mark>, now: Timestamp) -> HealthWire {
    let mut health = HealthWire { now, ..HealthWire::default() };
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
            mark("asked", "2026-11-20T12:00:00Z", Some(Pause::Asked)),
            mark("failed", "2026-11-20T12:00:00Z", Some(Pause::Failures)),
            crashed(mark("loop", "2026-11-20T12:00:00Z", Some(Pause::Crashes)), 3),
            crashed(mark("held", "2026-11-20T12:00:00Z", None), 1),
            crashed(mark("both", "2026-11-20T12:00:00Z", Some(Pause::Asked)), 1),
        ];
        let health = of_marks(marks.iter(), now);
        assert_eq!(health.behind.first, ["ahead"]);
        assert_eq!((health.paused.first[0].as_str(), health.failing.first[0].as_str()), ("asked", "failed"));
        assert_eq!(health.crash_loops.first, ["loop"]);
        assert_eq!((health.paused.first[1].as_str(), health.quarantined.first.len()), ("both", 2));
        assert_eq!(health.planned, "2026-11-21T13:00:00Z".parse().ok());
    }
}
