//! Counts and measures events for the metrics of the listener.
//!
//! ```text
//! starts of the planner, batches on their way, turns of the loop ─▶ counts by job, histograms ─▶ Metrics
//! ```
//!
//! Nothing is counted where no listener serves. The counts begin with the server.
//!
//! Cost: a map look-up for a start and an end, two readings of the clock for a turn; for each job that has
//! run some hundred bytes, and for each run in progress a key and a time.
//!
//! Does not keep anything over a restart: a monitoring system knows that counters begin again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use mainspring_job::{Batch, Cause, JobName, Operation, Reason, Run, RunKey, RunState, Start};

use crate::protocol::{BOUNDS_OPERATIONS, JobMetricsWire, MetricsWire};

/// How the names of the one-shot jobs begin that tell hooks.
const NOTIFICATION: &str = "notify:";

/// The cause of a run that was not seen to start, as far as that is counted.
const UNSEEN: Cause = Cause::Trigger;

/// A run in progress.
#[derive(Debug)]
struct Going {
    started: Timestamp,
    cause: Cause,
}

/// See the head of this file.
#[derive(Debug, Default)]
pub(super) struct Meters {
    is_on: bool,
    jobs: BTreeMap<JobName, JobMetricsWire>,
    /// Whether a job is told of by name: for as long as it is known, so that no sum of the others falls.
    named: BTreeMap<JobName, bool>,
    going: HashMap<RunKey, Going>,
    /// All that is not of a job. `others` are what is over and was not seen to start, under a name that no
    /// job has: runs of jobs that are gone, and one-shot jobs that waited; and what was counted of jobs
    /// without a place of their own that are gone.
    wire: MetricsWire,
}

/// A length of time; none if the clock was set back meanwhile.
fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or(Duration::ZERO)
}

fn count_in(counts: &mut BTreeMap<String, u64>, name: &str, more: u64) {
    match counts.get_mut(name) {
        Some(count) => *count += more,
        None => {
            counts.insert(name.to_owned(), more);
        }
    }
}

/// Something does not run, or not on.
fn over(of: &mut JobMetricsWire, state: RunState, reason: Option<&Reason>, times: u64) {
    count_in(&mut of.ended, state.name(), times);
    let code = reason.map_or("", Reason::code);
    match state {
        RunState::Missed => count_in(&mut of.missed, code, times),
        RunState::SkippedOverlap | RunState::SkippedPaused => count_in(&mut of.skipped, code, times),
        _ => {}
    }
}

/// The runs whose attempt ended in this batch, and that go on: to another attempt, or to the dead letters.
/// They stand in one unit with that end, so that no batch parts them.
fn going_on(batch: &Batch) -> BTreeSet<&RunKey> {
    let going_on = batch.operations.iter().filter_map(|operation| match operation {
        Operation::Move { key, from, .. } if from.is_failure() && *from != RunState::Dead => Some(key),
        _ => None,
    });
    going_on.collect()
}

/// The jobs of which a run in this batch stands for what was missed.
fn caught_up(batch: &Batch) -> BTreeSet<JobName> {
    let late = batch.operations.iter().filter_map(|operation| match operation {
        Operation::Plan(run) if run.cause == Cause::CatchUp && run.state.is_open() => Some(&run.key.job),
        _ => None,
    });
    late.cloned().collect()
}

impl Meters {
    /// Meters that count. Others do nothing.
    pub(super) fn counting() -> Meters {
        Meters { is_on: true, ..Meters::default() }
    }

    /// Where a run is counted. A name without a definition has no place of its own: nothing would take that
    /// away.
    fn of(
        &mut self,
        job: &JobName,
        cause: Cause,
        is_defined: &impl Fn(&JobName) -> bool,
    ) -> &mut JobMetricsWire {
        match cause {
            Cause::Once => &mut self.wire.once,
            _ if is_defined(job) => self.jobs.entry(job.clone()).or_default(),
            _ => &mut self.wire.others,
        }
    }

    /// An attempt begins. `is_defined` says whether a job has a name.
    pub(super) fn start(&mut self, start: &Start, is_defined: impl Fn(&JobName) -> bool, now: Timestamp) {
        if !self.is_on {
            return;
        }
        let of = self.of(&start.key.job, start.cause, &is_defined);
        if start.attempt == 1 {
            count_in(&mut of.started, start.cause.name(), 1);
            self.wire.lateness.add(between(start.due, now));
        } else {
            of.retries += 1;
        }
        self.going.insert(start.key.clone(), Going { started: now, cause: start.cause });
    }

    /// The wall clock was set, or the machine slept.
    pub(super) fn step(&mut self, ahead: SignedDuration) {
        if self.is_on {
            self.wire.jumps_forward += u64::from(SignedDuration::ZERO < ahead);
            self.wire.jumps_back += u64::from(ahead < SignedDuration::ZERO);
        }
    }

    /// A question of the store was answered. `what` is the name of its request.
    pub(super) fn query(&mut self, what: &'static str, took: Duration) {
        if self.is_on {
            self.wire.queries.entry(what.to_owned()).or_default().add(took);
        }
    }

    /// A run of a job has succeeded, this time or before the server began.
    pub(super) fn succeeded(&mut self, job: &JobName, at: Timestamp) {
        if self.is_on {
            self.jobs.entry(job.clone()).or_default().last_success = Some(at);
        }
    }

    /// A turn of the loop is over. The time is asked for only if it is counted.
    pub(super) fn turn(&mut self, took: impl FnOnce() -> Duration) {
        if self.is_on {
            self.wire.turn.add(took());
        }
    }

    /// A batch is on its way. `is_defined` says whether a job has a name.
    pub(super) fn note(&mut self, batch: &Batch, is_defined: impl Fn(&JobName) -> bool) {
        if !self.is_on {
            return;
        }
        let count = u32::try_from(batch.operations.len()).unwrap_or(u32::MAX);
        self.wire.operations.add_to(&BOUNDS_OPERATIONS, f64::from(count));
        let (caught_up, going_on) = (caught_up(batch), going_on(batch));
        for operation in &batch.operations {
            match operation {
                Operation::Plan(run) | Operation::Fire { run, .. } => {
                    self.planned(run, &caught_up, &is_defined);
                }
                Operation::End { key, state, at, .. } => {
                    let going = self.going.remove(key);
                    let cause = going.as_ref().map_or(UNSEEN, |going| going.cause);
                    let is_once = cause == Cause::Once;
                    if is_once && key.job.as_str().starts_with(NOTIFICATION) {
                        count_in(&mut self.wire.notifications, state.name(), 1);
                    }
                    if !is_once && *state == RunState::Succeeded && is_defined(&key.job) {
                        self.succeeded(&key.job, *at);
                    }
                    let of = self.of(&key.job, cause, &is_defined);
                    if let Some(going) = going {
                        of.duration.add(between(going.started, *at));
                    }
                    if !state.is_open() && !going_on.contains(key) {
                        count_in(&mut of.ended, state.name(), 1);
                    }
                }
                // A dead letter that somebody drops was over before.
                Operation::Move { key, from, to, reason, .. } if !to.is_open() && *from != RunState::Dead => {
                    let cause = self.going.remove(key).map_or(UNSEEN, |going| going.cause);
                    over(self.of(&key.job, cause, &is_defined), *to, reason.as_ref(), 1);
                }
                Operation::Forget { job, .. } => {
                    let of = self.jobs.remove(job).unwrap_or_default();
                    if self.named.remove(job) != Some(true) {
                        self.wire.others.merge(&of);
                    }
                }
                _ => {}
            }
        }
    }

    /// A record of what does not run is over as soon as it is made.
    fn planned(&mut self, run: &Run, caught_up: &BTreeSet<JobName>, is_defined: &impl Fn(&JobName) -> bool) {
        if !run.state.is_open() {
            let times = run.span.map_or(1, |span| span.count);
            let of = self.of(&run.key.job, run.cause, is_defined);
            if caught_up.contains(&run.key.job) && run.state == RunState::Missed {
                of.coalesced += times;
            }
            over(of, run.state, run.reason.as_ref(), times);
        }
    }

    /// All that was counted, with so many of these jobs by name: those that came first.
    pub(super) fn wire<'j>(
        &mut self,
        jobs: impl Iterator<Item = &'j JobName>,
        jobs_max: usize,
    ) -> MetricsWire {
        let mut wire = self.wire.clone();
        let mut left = jobs_max.saturating_sub(self.named.values().filter(|is_named| **is_named).count());
        for name in jobs {
            if !self.named.contains_key(name) {
                self.named.insert(name.clone(), 0 < left);
                left = left.saturating_sub(1);
            }
            if self.named[name] {
                wire.jobs.insert(name.to_string(), self.jobs.get(name).cloned().unwrap_or_default());
            }
        }
        let others = self.jobs.iter().filter(|(name, _)| self.named.get(*name) != Some(&true));
        others.for_each(|(_, of)| wire.others.merge(of));
        wire
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_job::Retention;

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
        let mut meters = Meters::counting();
        meters.going.insert(key("a"), Going { started: Timestamp::UNIX_EPOCH, cause: Cause::Trigger });
        meters.going.insert(key("tea"), Going { started: Timestamp::UNIX_EPOCH, cause: Cause::Once });
        let known = [JobName::new("a").unwrap(), JobName::new("b").unwrap()];
        let batch =
            Batch::new(1, vec![end("a", 2), end("tea", 1), moved("b"), moved("gone"), end("late", 1)]);
        meters.note(&batch, |name| known.contains(name));
        let names: Vec<&str> = meters.jobs.keys().map(JobName::as_str).collect();
        assert_eq!(names, ["a", "b"], "a name that no job has is not kept");
        assert_eq!(meters.wire.others.ended.values().sum::<u64>(), 2);
        let metrics = meters.wire(known.iter(), 200);
        assert_eq!((metrics.jobs["a"].ended["failed"], metrics.once.ended["failed"]), (1, 1));
        assert_eq!(metrics.jobs["b"].skipped["earlier_running"], 1);
        assert!((metrics.jobs["a"].duration.sum - 2.0).abs() < 1e-9);
        assert_eq!((metrics.jobs.len(), metrics.operations.sum), (2, 5.0));
        assert!(meters.going.is_empty());
        let mut off = Meters::default();
        off.note(&Batch::new(1, vec![end("a", 2)]), |_| true);
        off.turn(|| unreachable!("nothing asks how long a turn took"));
        assert_eq!(off.wire(std::iter::empty(), 200), MetricsWire::default());
    }

    #[test]
    fn a_run_ends_once_however_many_attempts_it_has() {
        let (mut meters, now) = (Meters::counting(), Timestamp::UNIX_EPOCH);
        let to = |from, to| Operation::Move { key: key("a"), from, to, due: now, at: now, reason: None };
        let ended =
            |meters: &Meters| meters.jobs.get(&key("a").job).map(|of| of.ended.clone()).unwrap_or_default();
        let retried = vec![end("a", 1), to(RunState::Failed, RunState::Scheduled)];
        meters.note(&Batch::new(1, retried), |_| true);
        assert_eq!(ended(&meters).values().sum::<u64>(), 0, "it is tried again");
        meters.note(&Batch::new(2, vec![end("a", 2), to(RunState::Failed, RunState::Dead)]), |_| true);
        assert_eq!(ended(&meters), BTreeMap::from([("dead".to_owned(), 1)]));
        meters.note(&Batch::new(3, vec![to(RunState::Dead, RunState::Cancelled)]), |_| true);
        assert_eq!(ended(&meters).values().sum::<u64>(), 1, "a dead letter that is dropped ended before");
    }

    #[test]
    fn what_one_late_run_stands_for_is_coalesced_and_the_last_success_stays() {
        let mut meters = Meters::counting();
        let (job, now) = (JobName::new("a").unwrap(), Timestamp::UNIX_EPOCH);
        let late = |series, cause, state| {
            let key = RunKey { series, ..RunKey::new(job.clone(), now) };
            Operation::Plan(Run::new(key, cause, state, now, now))
        };
        let missed = late(0, Cause::Trigger, RunState::Missed);
        meters.note(&Batch::new(1, vec![missed.clone()]), |_| true);
        meters.note(&Batch::new(2, vec![missed, late(1, Cause::CatchUp, RunState::Scheduled)]), |_| true);
        meters.succeeded(&job, now);
        meters.note(&Batch::new(3, vec![end("a", 2)]), |_| true);
        meters.going.insert(key("notify:a:failed:1"), Going { started: now, cause: Cause::Once });
        meters.note(&Batch::new(4, vec![end("notify:a:failed:1", 2)]), |_| true);
        let metrics = meters.wire([&job].into_iter(), 200);
        let of = &metrics.jobs["a"];
        assert_eq!((of.missed.values().sum::<u64>(), of.coalesced), (2, 1));
        assert_eq!(of.last_success, Some(now), "a failure does not take it away");
        assert_eq!(metrics.notifications["failed"], 1);
    }

    #[test]
    fn jobs_beyond_the_limit_are_told_together() {
        let mut meters = Meters::counting();
        let names: Vec<String> = (0..203).map(|number| format!("j{number:04}")).collect();
        meters.note(&Batch::new(1, names.iter().map(|name| end(name, 1)).collect()), |_| true);
        let known: Vec<JobName> = names.iter().map(|name| JobName::new(name).unwrap()).collect();
        let metrics = meters.wire(known.iter(), 200);
        assert_eq!((metrics.jobs.len(), metrics.others.ended["failed"]), (200, 3));
    }

    #[test]
    fn what_the_other_jobs_have_together_never_falls_while_jobs_come_and_go() {
        let mut meters = Meters::counting();
        let names = ["b", "c", "d", "a"].map(|name| JobName::new(name).unwrap());
        let others = |meters: &mut Meters, range: std::ops::Range<usize>| {
            let mut known: Vec<&JobName> = names[range].iter().collect();
            known.sort_unstable();
            let wire = meters.wire(known.into_iter(), 2);
            (wire.jobs.into_keys().collect::<String>(), wire.others.ended.get("failed").copied())
        };
        for second in 1..4 {
            let ends = names[..3].iter().map(|name| end(name.as_str(), second)).collect();
            meters.note(&Batch::new(1, ends), |_| true);
        }
        assert_eq!(others(&mut meters, 0..3), ("bc".to_owned(), Some(3)));
        assert_eq!(others(&mut meters, 0..4), ("bc".to_owned(), Some(3)), "a job that comes takes no place");
        let forget = |name: &JobName| Operation::Forget {
            job: name.clone(),
            absence: None,
            retention: Retention::default(),
        };
        meters.note(&Batch::new(2, vec![forget(&names[0])]), |_| true);
        assert_eq!(others(&mut meters, 1..4), ("c".to_owned(), Some(3)), "nor is one given to who had none");
        meters.note(&Batch::new(3, vec![forget(&names[2])]), |_| true);
        assert_eq!(others(&mut meters, 1..2), ("c".to_owned(), Some(3)), "one that is gone was there");
    }
}
