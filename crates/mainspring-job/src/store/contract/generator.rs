//! Random operations in a world so small that they meet: three jobs, eight times, three keys.
//!
//! SplitMix64 chooses. Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014.

use std::sync::Arc;

use jiff::Timestamp;

use crate::absence::Absence;
use crate::audit::{Audit, AuditQuery};
use crate::name::JobName;
use crate::once::{Once, OnceId};
use crate::operation::Operation;
use crate::outcome::{Failure, Outcome};
use crate::reason::Reason;
use crate::record::{Mark, Pause, PauseTerms};
use crate::run::{Cause, Run, RunKey};
use crate::state::RunState;
use crate::store::{Cursor, Order, Query};
use crate::timetable::Span;
use crate::work::{Action, Work};
use crate::worker::WorkerId;

pub(super) struct Generator {
    state: u64,
    /// Ids of one-shot jobs are never made twice, as the planner does it.
    id_count: u64,
    /// The names that they were submitted under, by their numbers from 1.
    names: Vec<JobName>,
}

impl Generator {
    pub(super) fn new(seed: u64) -> Generator {
        Generator { state: seed, id_count: 0, names: Vec::new() }
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    pub(super) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    /// One of several.
    pub(super) fn one_of<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[usize::try_from(self.below(all.len() as u64)).expect("an index fits")]
    }

    pub(super) fn batch_count(&mut self) -> u64 {
        3 + self.below(12)
    }

    pub(super) fn batch(&mut self) -> Vec<Operation> {
        (0..1 + self.below(8)).map(|_| self.operation()).collect()
    }

    /// Odd nanoseconds too, and one before the epoch.
    pub(super) fn time(&mut self) -> Timestamp {
        let seconds = i64::try_from(self.below(8)).expect("seven fits") * 60 - 60;
        let nanoseconds = i32::try_from(self.below(2)).expect("one fits");
        Timestamp::new(seconds, nanoseconds.max(0)).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    pub(super) fn name(&mut self) -> JobName {
        JobName::new(self.one_of::<&str>(&["a", "b", "c"])).expect("a letter is a name")
    }

    pub(super) fn key(&mut self) -> RunKey {
        let series = u32::from(self.one_in(8));
        RunKey { job: self.name(), nominal: self.time(), series }
    }

    fn id(&mut self) -> OnceId {
        let number = 1 + self.below(self.id_count.max(1));
        OnceId { due: self.time_of(number), number }
    }

    /// Each number has its own due time, so that an id that is named again may exist.
    fn time_of(&self, number: u64) -> Timestamp {
        let seconds = i64::try_from(number * 7 % 300).expect("less than 300 fits");
        Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    fn once(&mut self) -> Once {
        self.id_count += 1;
        let id = OnceId { due: self.time_of(self.id_count), number: self.id_count };
        let name = if self.one_in(2) { self.name() } else { id.name() };
        self.names.push(name.clone());
        let key = self.one_in(2).then(|| format!("key-{}", self.below(3)));
        Once { id, name, key, submitted: self.time(), work: self.work() }
    }

    pub(super) fn work(&mut self) -> Arc<Work> {
        let action = Action::new("process", format!("echo {} 'é\n'", self.below(9))).expect("it is short");
        let mut work = Work::new(action);
        if self.one_in(2) {
            let batch = self.one_of(&["", " batch=a", " on=batch=c after-batch=b batch=c"]);
            let policies = format!("retry=3,backoff=5s timeout=1m,signal=INT{batch}");
            work.policies = policies.parse().expect("these are policies");
            let group = self.name();
            let of_owner = || JobName::new(&format!("{group}@owner")).expect("there is room behind a name");
            work.group = Some(if self.one_in(2) { of_owner() } else { group.clone() });
            work.priority = -7;
        }
        Arc::new(work)
    }

    fn state(&mut self) -> RunState {
        *self.one_of(&RunState::ALL)
    }

    pub(super) fn run(&mut self) -> Run {
        let begun = [
            RunState::Scheduled,
            RunState::Queued,
            RunState::Running,
            RunState::Missed,
            RunState::SkippedOverlap,
        ];
        let (state, cause) = (*self.one_of(&begun), *self.one_of(&Cause::ALL));
        let mut run = Run::new(self.key(), cause, state, self.time(), self.time());
        match state {
            RunState::Running => {
                (run.attempt, run.started, run.worker) = (1, Some(self.time()), self.worker());
            }
            RunState::Missed => {
                let span = Span { last: self.time(), count: 3 + self.below(9), is_exact: self.one_in(2) };
                (run.ended, run.span) = (Some(self.time()), Some(span));
                run.reason = Some(Reason::ServerDown);
            }
            RunState::SkippedOverlap => run.ended = Some(self.time()),
            RunState::Scheduled | RunState::Queued => run.worker = self.worker(),
            _ => (),
        }
        if cause == Cause::Once {
            run.work = Some(self.work());
        }
        run
    }

    fn worker(&mut self) -> Option<WorkerId> {
        self.one_in(2).then(|| WorkerId(1 + self.below(3)))
    }

    fn terms(&mut self) -> PauseTerms {
        let until = self.one_in(2).then(|| self.time());
        PauseTerms { until, note: ["", "a 'note'\n"][usize::from(until.is_some())].to_owned() }
    }

    fn mark(&mut self) -> Mark {
        let pauses = [None, Some(Pause::Manual), Some(Pause::Failures), Some(Pause::Crashes)];
        let pause = *self.one_of(&pauses);
        Mark {
            job: self.name(),
            watermark: self.time(),
            since: self.time(),
            runs: self.below(9),
            failures: 2,
            crashes: 1,
            max_series: 3,
            pause,
            pause_terms: if pause == Some(Pause::Manual) { self.terms() } else { PauseTerms::default() },
            timetable: "@daily UTC cron".to_owned(),
        }
    }

    pub(super) fn outcome(&mut self) -> Option<Outcome> {
        let failed = Outcome::Failed(Failure::Exit(3));
        self.one_of(&[Some(Outcome::Succeeded), Some(failed), Some(Outcome::TimedOut), None]).clone()
    }

    fn operation(&mut self) -> Operation {
        let reason = Some(Reason::Other("a reason".to_owned()));
        match self.below(20) {
            0..=3 => Operation::Submit(self.once()),
            4 => Operation::Withdraw { id: self.id(), at: self.time() },
            5..=6 => {
                let id = self.id();
                let mut run = Run { cause: Cause::Once, ..self.run() };
                run.key.nominal = id.due;
                // A one-shot job becomes a run of its own name.
                let index = usize::try_from(id.number).unwrap_or_default().wrapping_sub(1);
                run.key.job = self.names.get(index).cloned().unwrap_or_else(|| id.name());
                Operation::Fire { id, run }
            }
            7..=9 => Operation::Plan(self.run()),
            10..=11 => {
                let attempt = 1 + u32::from(self.one_in(3));
                Operation::Begin { key: self.key(), attempt, at: self.time(), worker: self.worker() }
            }
            12..=13 => {
                let (key, state) = (self.key(), self.state());
                if self.one_in(4) {
                    return Operation::Clear { key, attempt: 1 };
                }
                let crashes = u32::from(self.one_in(2));
                let (at, outcome) = (self.time(), self.outcome());
                Operation::End { key, attempt: 1, state, at, outcome, crashes, reason }
            }
            14..=15 => {
                let (key, from, to) = (self.key(), self.state(), self.state());
                Operation::Move { key, from, to, due: self.time(), at: self.time(), reason }
            }
            16 => Operation::Define { mark: self.mark(), source: "f".to_owned(), text: "t".to_owned() },
            17 if self.one_in(4) => Operation::Rewind(self.mark()),
            17 => Operation::Mark(self.mark()),
            18 if self.one_in(2) => {
                let absence = self.one_in(2).then(|| Absence::new(self.time(), "serve:/é\nf", "t\n"));
                let retention = if self.one_in(2) { "keep=7,days=3" } else { "keep=1" };
                let retention = retention.parse().expect("a retention");
                Operation::Forget { job: self.name(), absence, retention }
            }
            18 if self.one_in(3) => {
                let actor = ["ada", "bob"][usize::from(self.one_in(2))];
                Operation::Audit(Audit::new(self.time(), actor, "pause", self.name().as_str()).with_note("é"))
            }
            18 => Operation::PauseAll(self.one_in(2).then(|| self.terms())),
            _ => {
                let job = if self.one_in(3) { None } else { Some(self.name()) };
                let keep = u32::try_from(1 + self.below(3)).expect("three fits");
                Operation::Prune { job, keep, before: self.time() }
            }
        }
    }

    pub(super) fn range(&mut self) -> (OnceId, Timestamp, usize) {
        (self.id(), self.time(), usize::try_from(1 + self.below(4)).expect("four fits"))
    }

    pub(super) fn query(&mut self) -> Query {
        let mut query = Query::new(usize::try_from(1 + self.below(5)).expect("five fits"));
        if self.one_in(2) {
            query.states = vec![self.state(), self.state()];
        }
        query.job = self.one_in(2).then(|| self.name());
        query.group = self.one_in(4).then(|| self.name());
        query.without_group = self.one_in(4).then(|| self.name());
        query.members = if self.one_in(2) { vec![self.name()] } else { Vec::new() };
        query.cause = self.one_in(4).then(|| *self.one_of(&Cause::ALL[..6]));
        query.since = self.one_in(4).then(|| self.time());
        query.until = self.one_in(4).then(|| self.time());
        query.order = [Order::Nominal, Order::Ended][usize::from(self.one_in(2))];
        if self.one_in(2) {
            query.cursor = Some(Cursor { key: self.key(), ended: Some(self.time()) });
        }
        query
    }

    pub(super) fn audit_query(&mut self) -> AuditQuery {
        let mut query = AuditQuery::new(usize::try_from(1 + self.below(5)).expect("five fits"));
        query.actor = self.one_in(2).then(|| "ada".to_owned());
        query.target = self.one_in(2).then(|| self.name().to_string());
        query.since = self.one_in(3).then(|| self.time());
        query.before = self.one_in(3).then(|| self.below(9));
        query
    }
}
