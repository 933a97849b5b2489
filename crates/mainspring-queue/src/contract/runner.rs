//! Runs a script on a queue beside the oracle and says where they differ.
//!
//! For each step: the queue and [`Naive`] are told the same; results, lengths, times and deadlines must
//! agree. What a queue may choose is taken from its [`Profile`]: how late it may fire, which deadlines it may
//! reject, in which order equals come. A timer's *expiry* is the tick at which it must be found by a pop: its
//! deadline rounded up to the granularity, or the time at which it was scheduled if that was later.
//!
//! Payloads are [`Token`]s that count their drops in a ledger: each must be dropped once, also at the end,
//! when the queue is dropped with timers in it.
//!
//! Cost: O(pending) per step. It does not catch panics; [`exercise`](super::exercise) does.

use std::cell::RefCell;
use std::collections::HashMap;
use std::format;
use std::rc::Rc;
use std::string::{String, ToString};
use std::vec::Vec;

use super::script::{ExpectedFirings, Name, Presence, Script, Step, Wakeup, When};
use crate::naive::Naive;
use crate::queue::{
    Budget, Equals, ExpiredTimer, Order, PopResult, Profile, Reason, ResetError, TimerId, TimerQueue,
};
use crate::tick::Tick;

/// The work of a trim: a few records, so that a crowd takes many.
const TRIM_BUDGET: usize = 7;

pub use super::outcome::{Difference, Outcome};

/// The payload of the suite's timers. Counts its drops.
///
/// ```
/// use mainspring_queue::contract::Token;
/// use mainspring_queue::{Tick, TimerQueue, contract};
///
/// /// Holds any queue of the suite's own payload to the contract.
/// fn hold<Q: TimerQueue<Token>>(make: impl Fn() -> Q) {
///     contract::exercise_seed(&make, 1, 50);
/// }
/// hold(mainspring_queue::Naive::new);
/// ```
#[derive(Debug)]
pub struct Token {
    serial: usize,
    drop_counts: Rc<RefCell<Vec<u32>>>,
}

impl Drop for Token {
    fn drop(&mut self) {
        self.drop_counts.borrow_mut()[self.serial] += 1;
    }
}

/// Runs `script` on `queue`, which must be new, beside the oracle.
///
/// # Errors
/// The first difference.
///
/// # Panics
/// If the queue does, its `check` included.
///
/// ```
/// use mainspring_queue::contract::{Outcome, Script, run};
/// use mainspring_queue::wheel::Chunked;
///
/// let script = Script::parse("schedule a 10\nreset a 30 => moved\nadvance 20\npop => nothing\n")?;
/// assert_eq!(run(&script, Chunked::new()), Ok(Outcome::Complete));
/// # Ok::<(), mainspring_queue::contract::ScriptError>(())
/// ```
pub fn run<Q: TimerQueue<Token>>(script: &Script, queue: Q) -> Result<Outcome, Difference> {
    let mut runner = Runner::new(queue);
    for (step, action) in script.steps.iter().enumerate() {
        let difference = |text| Difference { step, text };
        runner.step(action).map_err(difference)?;
        runner.compare().map_err(difference)?;
    }
    runner.finish().map_err(|text| Difference { step: script.steps.len(), text })
}

/// One timer as the suite knows it.
#[derive(Clone, Debug)]
struct KnownTimer {
    name: Name,
    id: TimerId,
    oracle_id: TimerId,
    /// When a pop must find it.
    expiry: Tick,
    /// Grows with each schedule and reset.
    sequence: u64,
    was_reset: bool,
}

struct Runner<Q> {
    queue: Q,
    profile: Profile,
    oracle: Naive<usize>,
    /// The timers of which the names speak now, pending or gone, by name.
    named: HashMap<Name, usize>,
    /// All pending timers, by serial number.
    pending: HashMap<usize, KnownTimer>,
    /// The ids of timers that left, of which a few are tried again.
    stale: Vec<TimerId>,
    drop_counts: Rc<RefCell<Vec<u32>>>,
    sequence: u64,
    has_reset: bool,
    call_count: u64,
    outcome: Outcome,
}

/// How many of the last stale ids are tried at each comparison.
const STALE_TRIED_COUNT: usize = 4;

/// The budget of calls that have one: the smallest there is.
const BUDGET: usize = 1;

/// After so many pauses a pop is said to make no progress: far more than a script has timers.
const PAUSE_COUNT_MAX: usize = 100_000;

macro_rules! ensure {
    ($condition:expr, $($text:tt)+) => {
        if !$condition {
            return Err(format!($($text)+));
        }
    };
}

impl<Q: TimerQueue<Token>> Runner<Q> {
    fn new(queue: Q) -> Runner<Q> {
        let profile = queue.profile();
        Runner {
            queue,
            profile,
            oracle: Naive::new(),
            named: HashMap::new(),
            pending: HashMap::new(),
            stale: Vec::new(),
            drop_counts: Rc::default(),
            sequence: 0,
            has_reset: false,
            call_count: 0,
            outcome: Outcome::Complete,
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Schedule(name, when) => self.schedule(name, *when),
            Step::Cancel(name, found) => self.cancel(name, *found),
            Step::Reset(name, when, found) => self.reset(name, *when, *found),
            Step::Advance(when) => self.advance(*when),
            Step::Pop(fired) => {
                let popped: Vec<Name> = self.pop()?.into_iter().collect();
                self.compare_fired(&popped, fired.as_ref())
            }
            Step::Drain(fired) => {
                let mut popped = Vec::new();
                while let Some(name) = self.pop()? {
                    popped.push(name);
                }
                self.compare_fired(&popped, fired.as_ref())
            }
            Step::Wakeup(expected) => self.compare_wakeup(*expected),
            Step::Compact => {
                self.queue.compact();
                Ok(())
            }
            Step::Trim => {
                self.queue.trim(&mut Budget::new(TRIM_BUDGET));
                Ok(())
            }
            Step::Len(count) => {
                ensure!(self.queue.len() == *count, "len is {}, expected {count}", self.queue.len());
                Ok(())
            }
        }
    }

    fn resolve(&self, when: When) -> Tick {
        match when {
            When::At(tick) => Tick::new(tick),
            When::After(delay) => self.oracle.now().after(delay),
            When::Wakeup => self.queue.next_wakeup().unwrap_or(self.oracle.now()),
        }
    }

    fn due(&self, deadline: Tick) -> Tick {
        deadline.round_up(self.profile.granularity)
    }

    fn is_beyond_horizon(&self, deadline: Tick) -> bool {
        let delay = self.due(deadline).since(self.oracle.now());
        self.profile.horizon.is_some_and(|horizon| horizon < delay)
    }

    fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    fn schedule(&mut self, name: &Name, when: When) -> Result<(), String> {
        let deadline = self.resolve(when);
        let serial = self.drop_counts.borrow().len();
        self.drop_counts.borrow_mut().push(0);
        let token = Token { serial, drop_counts: Rc::clone(&self.drop_counts) };
        match self.queue.schedule(deadline, token) {
            Ok(id) => {
                ensure!(!self.is_beyond_horizon(deadline), "{deadline} is beyond the horizon and was taken");
                let is_used = self.pending.values().any(|known| known.id == id) || self.stale.contains(&id);
                ensure!(!is_used, "id {id} was given out twice");
                let oracle_id = self.oracle.schedule(deadline, serial).map_err(|error| error.to_string())?;
                let expiry = self.due(deadline).max(self.oracle.now());
                let (name_kept, sequence) = (name.clone(), self.next_sequence());
                let known = KnownTimer { name: name_kept, id, oracle_id, expiry, sequence, was_reset: false };
                self.named.insert(name.clone(), serial);
                self.pending.insert(serial, known);
            }
            Err(rejected) => {
                ensure!(rejected.reason == Reason::BeyondHorizon, "rejected: {}", rejected.reason);
                ensure!(
                    self.is_beyond_horizon(deadline),
                    "{deadline} is within the horizon and was rejected"
                );
                ensure!(rejected.payload.serial == serial, "a rejection gave another payload back");
                self.outcome = Outcome::Rejected;
            }
        }
        Ok(())
    }

    /// The pending timer of that name, or the last stale id to try in its place.
    fn find(&self, name: &Name) -> Option<Result<usize, TimerId>> {
        let serial = self.named.get(name)?;
        if self.pending.contains_key(serial) {
            return Some(Ok(*serial));
        }
        self.stale.last().map(|&id| Err(id))
    }

    fn cancel(&mut self, name: &Name, found: Option<Presence>) -> Result<(), String> {
        let Some(target) = self.find(name) else { return Ok(()) };
        let expected = if target.is_ok() { Presence::Pending } else { Presence::Gone };
        ensure!(found.is_none_or(|found| found == expected), "{name} was expected {found:?}");
        let serial = match target {
            Ok(serial) => serial,
            Err(stale) => {
                ensure!(self.queue.payload_mut(stale).is_none(), "the stale id {stale} has a payload");
                ensure!(self.queue.cancel(stale).is_none(), "the stale id {stale} cancelled a timer");
                return Ok(());
            }
        };
        let known = self.forget(serial)?;
        let token = self.queue.cancel(known.id).ok_or(format!("cancel did not find the pending {name}"))?;
        ensure!(token.serial == serial, "cancel of {name} returned another payload");
        ensure!(self.oracle.cancel(known.oracle_id) == Some(serial), "the oracle does not know {name}");
        Ok(())
    }

    /// Moves a timer from the pending to the stale.
    fn forget(&mut self, serial: usize) -> Result<KnownTimer, String> {
        let known = self.pending.remove(&serial).ok_or("a timer fired that was not pending".to_string())?;
        self.stale.push(known.id);
        Ok(known)
    }

    fn reset(&mut self, name: &Name, when: When, found: Option<Presence>) -> Result<(), String> {
        let Some(target) = self.find(name) else { return Ok(()) };
        let expected = if target.is_ok() { Presence::Pending } else { Presence::Gone };
        ensure!(found.is_none_or(|found| found == expected), "{name} was expected {found:?}");
        let deadline = self.resolve(when);
        let serial = match target {
            Ok(serial) => serial,
            Err(stale) => {
                let answer = self.queue.reset(stale, deadline);
                ensure!(answer == Err(ResetError::NotPending), "the stale id {stale} moved a timer");
                return Ok(());
            }
        };
        let (id, oracle_id) = (self.pending[&serial].id, self.pending[&serial].oracle_id);
        let answer = self.queue.reset(id, deadline);
        if self.is_beyond_horizon(deadline) {
            ensure!(
                answer == Err(ResetError::BeyondHorizon),
                "reset of {name} beyond the horizon: {answer:?}"
            );
            self.outcome = Outcome::Rejected;
            return Ok(());
        }
        ensure!(answer == Ok(()), "reset did not move the pending {name}: {answer:?}");
        self.oracle.reset(oracle_id, deadline).map_err(|error| error.to_string())?;
        let expiry = self.due(deadline).max(self.oracle.now());
        let sequence = self.next_sequence();
        self.has_reset = true;
        self.pending.entry(serial).and_modify(|known| {
            known.expiry = expiry;
            known.sequence = sequence;
            known.was_reset = true;
        });
        Ok(())
    }

    fn advance(&mut self, when: When) -> Result<(), String> {
        let before = self.queue.next_wakeup();
        let target = self.resolve(when);
        if when != When::Wakeup && self.is_bounded() {
            self.queue.advance_within(target, &mut Budget::new(BUDGET));
        } else {
            self.queue.advance(target);
        }
        self.oracle.advance(target);
        if when == When::Wakeup && before.is_some() {
            let has_expired = self.pending.values().any(|known| known.expiry <= self.oracle.now());
            let has_moved_on = before < self.queue.next_wakeup();
            ensure!(has_expired || has_moved_on, "advancing to the next wakeup made no progress");
        }
        Ok(())
    }

    fn pop(&mut self) -> Result<Option<Name>, String> {
        let now = self.oracle.now();
        let popped = if self.is_bounded() { self.pop_within()? } else { self.queue.pop_expired() };
        let Some(popped) = popped else {
            let late = self.pending.values().find(|known| known.expiry <= now);
            ensure!(
                late.is_none(),
                "{} is expired and was not handed out",
                late.map_or("", |known| &known.name)
            );
            return Ok(None);
        };
        let ExpiredTimer { id, deadline, payload } = popped;
        let known = self.forget(payload.serial)?;
        let name = known.name.clone();
        ensure!(id == known.id, "{name} fired under another id");
        ensure!(deadline <= now, "{name} fired early: its deadline is {deadline}, now is {now}");
        let expected = self.oracle.deadline(known.oracle_id);
        ensure!(Some(deadline) == expected, "{name} fired for {deadline}, scheduled for {expected:?}");
        self.oracle.cancel(known.oracle_id);
        self.compare_order(&known, deadline)?;
        Ok(Some(name))
    }

    /// Whether this call is to be made with a budget: every other one is.
    fn is_bounded(&mut self) -> bool {
        self.call_count += 1;
        self.call_count.is_multiple_of(2)
    }

    /// Pops in steps as small as can be, which must come to an end.
    fn pop_within(&mut self) -> Result<Option<ExpiredTimer<Token>>, String> {
        let nothing = self.queue.pop_within(&mut Budget::new(0));
        ensure!(matches!(nothing, PopResult::Paused), "a budget of 0 came to {nothing:?}");
        for _ in 0..PAUSE_COUNT_MAX {
            let mut budget = Budget::new(BUDGET);
            match self.queue.pop_within(&mut budget) {
                PopResult::Timer(popped) => {
                    ensure!(budget.is_used_up(), "a budget of {BUDGET} allows for more than a timer");
                    return Ok(Some(popped));
                }
                PopResult::Nothing => return Ok(None),
                PopResult::Paused => self.queue.check(),
            }
        }
        Err("a pop with a budget makes no progress".to_string())
    }

    /// No timer that is expired still may have to come before the one that was handed out.
    fn compare_order(&self, popped: &KnownTimer, deadline: Tick) -> Result<(), String> {
        let key = |known: &KnownTimer, deadline: Tick| {
            let time = match self.profile.order {
                Order::Deadline => deadline,
                Order::Expiry => known.expiry,
                Order::Unspecified => Tick::ZERO,
            };
            (time, known.sequence)
        };
        let key_popped = key(popped, deadline);
        for known in self.pending.values().filter(|known| known.expiry <= self.oracle.now()) {
            let deadline =
                self.oracle.deadline(known.oracle_id).ok_or("the oracle lost a timer".to_string())?;
            let mut key_known = key(known, deadline);
            let is_fifo = match self.profile.equals {
                Equals::Fifo => true,
                Equals::FifoUnlessReset => !popped.was_reset && !known.was_reset,
                Equals::Unspecified => false,
            };
            if !is_fifo {
                key_known.1 = u64::MAX;
            }
            let (popped, name) = (&popped.name, &known.name);
            ensure!(key_popped <= key_known, "{popped} was handed out before {name}");
        }
        Ok(())
    }

    fn compare_fired(&self, popped: &[Name], expected: Option<&ExpectedFirings>) -> Result<(), String> {
        let (names, is_ordered) = match expected {
            None => return Ok(()),
            Some(ExpectedFirings::InOrder(names)) => (names, self.is_fifo()),
            Some(ExpectedFirings::InAnyOrder(names)) => (names, false),
        };
        let (mut popped_sorted, mut expected_sorted) = (popped.to_vec(), names.clone());
        if !is_ordered {
            popped_sorted.sort();
            expected_sorted.sort();
        }
        ensure!(popped_sorted == expected_sorted, "fired {popped:?}, expected {names:?}");
        Ok(())
    }

    /// Whether equals come in order in this script so far.
    fn is_fifo(&self) -> bool {
        match self.profile.equals {
            Equals::Fifo => true,
            Equals::FifoUnlessReset => !self.has_reset,
            Equals::Unspecified => false,
        }
    }

    fn compare_wakeup(&self, expected: Wakeup) -> Result<(), String> {
        let wakeup = self.queue.next_wakeup().map(Tick::get);
        let is_right = match expected {
            Wakeup::None => wakeup.is_none(),
            Wakeup::Exactly(tick) => wakeup == Some(tick),
            Wakeup::By(tick) => wakeup.is_some_and(|wakeup| wakeup <= tick),
        };
        ensure!(is_right, "the next wakeup is {wakeup:?}, expected {expected:?}");
        Ok(())
    }

    /// What must hold after every step.
    fn compare(&mut self) -> Result<(), String> {
        self.queue.check();
        let (len, expected) = (self.queue.len(), self.oracle.len());
        ensure!(len == expected, "len is {len}, expected {expected}");
        ensure!(self.queue.is_empty() == (len == 0), "is_empty and len disagree");
        ensure!(self.queue.now() == self.oracle.now(), "now is {}", self.queue.now());
        let (peeked, earliest) = (self.queue.peek(), self.oracle.peek());
        let deadline_of = |timer: Option<(TimerId, Tick)>| timer.map(|(_, deadline)| deadline);
        ensure!(deadline_of(peeked) == deadline_of(earliest), "peek shows {peeked:?}, expected {earliest:?}");
        ensure!(
            peeked.is_none_or(|(id, deadline)| self.queue.deadline(id) == Some(deadline)),
            "peek shows a stale id"
        );
        let wakeup = self.queue.next_wakeup();
        ensure!(wakeup.is_none() == (len == 0), "the next wakeup is {wakeup:?} with {len} timers");
        let earliest = self.pending.values().map(|known| known.expiry.max(self.oracle.now())).min();
        if let (Some(wakeup), Some(earliest)) = (wakeup, earliest) {
            ensure!(wakeup <= earliest, "the next wakeup is {wakeup}, a timer expires at {earliest}");
        }
        for (serial, known) in &self.pending {
            let (deadline, expected) = (self.queue.deadline(known.id), self.oracle.deadline(known.oracle_id));
            ensure!(deadline == expected, "{} is due at {deadline:?}, expected {expected:?}", known.name);
            ensure!(self.drop_counts.borrow()[*serial] == 0, "the payload of {} was dropped", known.name);
            // A structure need not lend payloads.
            let lent = self.queue.payload_mut(known.id).map(|token| token.serial);
            ensure!(lent.is_none_or(|lent| lent == *serial), "the payload of {} is another's", known.name);
        }
        for &stale in self.stale.iter().rev().take(STALE_TRIED_COUNT) {
            ensure!(self.queue.deadline(stale).is_none(), "the stale id {stale} has a deadline");
            ensure!(self.queue.cancel(stale).is_none(), "the stale id {stale} cancelled a timer");
        }
        let counts = self.drop_counts.borrow();
        let gone = counts.iter().filter(|&&count| count == 1).count();
        ensure!(gone + len == counts.len(), "a payload that left was not dropped exactly once");
        Ok(())
    }

    /// Drops the queue, full as it is.
    fn finish(self) -> Result<Outcome, String> {
        drop(self.queue);
        let counts = self.drop_counts.borrow();
        ensure!(
            counts.iter().all(|&count| count == 1),
            "dropping the queue dropped payloads {counts:?} times"
        );
        Ok(self.outcome)
    }
}
