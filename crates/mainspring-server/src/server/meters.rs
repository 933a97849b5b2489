//! What happens is counted and measured, for the metrics of the listener.
//!
//! ```text
//! starts of the planner, batches on their way, turns of the loop ─▶ counts by job, histograms ─▶ Metrics
//! ```
//!
//! Nothing is counted where no listener serves. The counts begin with the server.
//!
//! Cost: a map look-up for a start and an end, two readings of the clock for a turn; for each job that has
//! run some hundred bytes, and for each run that goes on a key and a time.
//!
//! Does not keep anything over a restart: a monitoring system knows that counters begin anew.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use mainspring_job::{Batch, Cause, JobName, Operation, Reason, Run, RunKey, RunState, Start};

use crate::protocol::{HistogramWire, JobMetricsWire, MetricsWire};
use mainspring_exec::clock::Moment;

/// By how much the two clocks may differ between two turns before one of them was set: more than the rate of
/// either is ever adjusted in that time.
const MIN_JUMP: SignedDuration = SignedDuration::from_secs(1);

/// A run that goes on.
#[derive(Debug)]
struct Going {
    started: Timestamp,
    is_once: bool,
}

/// See the head of this file.
#[derive(Debug, Default)]
pub(super) struct Meters {
    is_on: bool,
    jobs: BTreeMap<JobName, JobMetricsWire>,
    once: JobMetricsWire,
    /// Of what is over and was not seen to start, under a name that no job has: runs of jobs that are gone,
    /// and one-shot jobs that waited.
    unnamed: JobMetricsWire,
    going: HashMap<RunKey, Going>,
    lateness: HistogramWire,
    turn: HistogramWire,
    operations: u64,
    query: HistogramWire,
    /// When the last turn began.
    looked: Option<Moment>,
    jumps_forward: u64,
    jumps_back: u64,
}

/// A length of time; none if the clock was set back meanwhile.
fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or(Duration::ZERO)
}

fn count(counts: &mut BTreeMap<String, u64>, name: &str, more: u64) {
    match counts.get_mut(name) {
        Some(count) => *count += more,
        None => {
            counts.insert(name.to_owned(), more);
        }
    }
}

/// Something does not run, or not on.
fn over(of: &mut JobMetricsWire, state: RunState, reason: Option<&Reason>, times: u64) {
    count(&mut of.ended, state.name(), times);
    let code = reason.map_or("", Reason::code);
    match state {
        RunState::Missed => count(&mut of.missed, code, times),
        RunState::SkippedOverlap | RunState::SkippedPaused => count(&mut of.skipped, code, times),
        _ => {}
    }
}

impl Meters {
    /// Counts if it is on.
    pub(super) fn new(is_on: bool) -> Meters {
        Meters { is_on, ..Meters::default() }
    }

    /// Where a run is counted. A name without a definition has no place of its own: nothing would take that
    /// away.
    fn of(&mut self, job: &JobName, is_once: bool, is_defined: bool) -> &mut JobMetricsWire {
        if is_once {
            return &mut self.once;
        }
        if !is_defined {
            return &mut self.unnamed;
        }
        if !self.jobs.contains_key(job) {
            self.jobs.insert(job.clone(), JobMetricsWire::default());
        }
        self.jobs.get_mut(job).expect("it was just inserted")
    }

    /// An attempt begins. `is_defined` says whether a job has a name.
    pub(super) fn start(&mut self, start: &Start, is_defined: impl Fn(&JobName) -> bool, now: Timestamp) {
        if !self.is_on {
            return;
        }
        let is_once = start.cause == Cause::Once;
        let of = self.of(&start.key.job, is_once, is_defined(&start.key.job));
        if start.attempt == 1 {
            count(&mut of.started, start.cause.name(), 1);
            self.lateness.add(between(start.due, now));
        } else {
            of.retries += 1;
        }
        self.going.insert(start.key.clone(), Going { started: now, is_once });
    }

    /// A turn of the loop begins. Says whether the system's clock was set since the last one, or the machine
    /// slept.
    pub(super) fn look_at_clock(&mut self, now: Moment) -> bool {
        if !self.is_on {
            return false;
        }
        let Some(last) = self.looked.replace(now) else { return false };
        let waited = SignedDuration::try_from(now.since(last)).unwrap_or(SignedDuration::MAX);
        let ahead = now.wall.duration_since(last.wall).saturating_sub(waited);
        self.jumps_forward += u64::from(MIN_JUMP <= ahead);
        self.jumps_back += u64::from(ahead <= -MIN_JUMP);
        MIN_JUMP <= ahead.abs()
    }

    /// A question of the store was answered.
    pub(super) fn query(&mut self, took: Duration) {
        if self.is_on {
            self.query.add(took);
        }
    }

    /// A turn of the loop is over. The time is asked for only if it is counted.
    pub(super) fn turn(&mut self, took: impl FnOnce() -> Duration) {
        if self.is_on {
            self.turn.add(took());
        }
    }

    /// A batch is on its way. `is_defined` says whether a job has a name.
    pub(super) fn note(&mut self, batch: &Batch, is_defined: impl Fn(&JobName) -> bool) {
        if !self.is_on {
            return;
        }
        self.operations += batch.operations.len() as u64;
        for operation in &batch.operations {
            match operation {
                Operation::Plan(run) | Operation::Fire { run, .. } => {
                    self.planned(run, is_defined(&run.key.job));
                }
                Operation::End { key, state, at, .. } => {
                    let going = self.going.remove(key);
                    let is_once = going.as_ref().is_some_and(|going| going.is_once);
                    let of = self.of(&key.job, is_once, is_defined(&key.job));
                    if let Some(going) = going {
                        of.duration.add(between(going.started, *at));
                    }
                    if !state.is_open() {
                        count(&mut of.ended, state.name(), 1);
                    }
                }
                Operation::Move { key, to, reason, .. } if !to.is_open() => {
                    let is_once = self.going.remove(key).is_some_and(|going| going.is_once);
                    let of = self.of(&key.job, is_once, is_defined(&key.job));
                    over(of, *to, reason.as_ref(), 1);
                }
                Operation::Forget(job) => {
                    self.jobs.remove(job);
                }
                _ => {}
            }
        }
    }

    /// A record of what does not run is over as soon as it is made.
    fn planned(&mut self, run: &Run, is_defined: bool) {
        if !run.state.is_open() {
            let times = run.span.map_or(1, |span| span.count);
            let of = self.of(&run.key.job, run.cause == Cause::Once, is_defined);
            over(of, run.state, run.reason.as_ref(), times);
        }
    }

    /// All that was counted, with the first so many of these jobs by name. Jobs that are gone are not told
    /// of.
    pub(super) fn told<'j>(&self, jobs: impl Iterator<Item = &'j JobName>, jobs_max: usize) -> MetricsWire {
        let mut wire = MetricsWire {
            once: self.once.clone(),
            others: self.unnamed.clone(),
            lateness: self.lateness.clone(),
            turn: self.turn.clone(),
            operations: self.operations,
            query: self.query.clone(),
            jumps_forward: self.jumps_forward,
            jumps_back: self.jumps_back,
            ..MetricsWire::default()
        };
        for (index, name) in jobs.enumerate() {
            let Some(found) = self.jobs.get(name) else { continue };
            if index < jobs_max {
                wire.jobs.insert(name.to_string(), found.clone());
            } else {
                wire.others.merge(found);
            }
        }
        wire
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(job: &str) -> RunKey {
        RunKey::new(JobName::new(job).unwrap(), Timestamp::UNIX_EPOCH)
    }

    fn end(job: &str, second: i64) -> Operation {
        Operation::End {
            key: key(job),
            attempt: 1,
            state: RunState::Failed,
            at: Timestamp::from_second(second).unwrap(),
            outcome: None,
            crashes: 0,
            reason: None,
        }
    }

    fn moved(job: &str) -> Operation {
        Operation::Move {
            key: key(job),
            from: RunState::Queued,
            to: RunState::SkippedOverlap,
            due: Timestamp::UNIX_EPOCH,
            at: Timestamp::UNIX_EPOCH,
            reason: Some(Reason::EarlierRunning),
        }
    }

    #[test]
    fn ends_and_what_is_left_out_are_counted_by_job_while_a_listener_serves() {
        let mut meters = Meters::new(true);
        meters.going.insert(key("a"), Going { started: Timestamp::UNIX_EPOCH, is_once: false });
        meters.going.insert(key("tea"), Going { started: Timestamp::UNIX_EPOCH, is_once: true });
        let known = [JobName::new("a").unwrap(), JobName::new("b").unwrap()];
        let batch =
            Batch::new(1, vec![end("a", 2), end("tea", 1), moved("b"), moved("gone"), end("late", 1)]);
        meters.note(&batch, |name| known.contains(name));
        let names: Vec<&str> = meters.jobs.keys().map(JobName::as_str).collect();
        assert_eq!(names, ["a", "b"], "a name that no job has is not kept");
        assert_eq!(meters.unnamed.ended.values().sum::<u64>(), 2);
        let told = meters.told(known.iter(), 200);
        assert_eq!((told.jobs["a"].ended["failed"], told.once.ended["failed"]), (1, 1));
        assert_eq!(told.jobs["b"].skipped["earlier_running"], 1);
        assert!((told.jobs["a"].duration.sum_s - 2.0).abs() < 1e-9);
        assert_eq!((told.jobs.len(), told.operations), (2, 5));
        assert!(meters.going.is_empty());
        let mut off = Meters::default();
        off.note(&Batch::new(1, vec![end("a", 2)]), |_| true);
        off.turn(|| unreachable!("nothing asks how long a turn took"));
        assert_eq!(off.told(known.iter(), 200), MetricsWire::default());
    }

    #[test]
    fn a_clock_that_is_set_is_noticed_in_both_directions_and_a_slow_one_is_not() {
        let mut meters = Meters::new(true);
        let start = Moment::now();
        let at = |waited_ms: u64, wall_ms: i64| Moment {
            monotonic: start.monotonic + Duration::from_millis(waited_ms),
            wall: start.wall + SignedDuration::from_millis(wall_ms),
        };
        let steps = [
            (at(0, 0), false),
            (at(60_000, 60_000), false),
            (at(61_000, 61_900), false),
            (at(62_000, 3_662_900), true),
            (at(63_000, 3_663_900), false),
            (at(64_000, 64_900), true),
        ];
        for (now, is_set) in steps {
            assert_eq!(meters.look_at_clock(now), is_set, "{now:?}");
        }
        assert_eq!((meters.jumps_forward, meters.jumps_back), (1, 1));
    }

    #[test]
    fn jobs_beyond_the_limit_are_told_together() {
        let mut meters = Meters::new(true);
        let names: Vec<String> = (0..203).map(|number| format!("j{number:04}")).collect();
        meters.note(&Batch::new(1, names.iter().map(|name| end(name, 1)).collect()), |_| true);
        let known: Vec<JobName> = names.iter().map(|name| JobName::new(name).unwrap()).collect();
        let told = meters.told(known.iter(), 200);
        assert_eq!((told.jobs.len(), told.others.ended["failed"]), (200, 3));
    }
}
