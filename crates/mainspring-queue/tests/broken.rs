//! The suite itself is tested: queues that break the contract in one way each are caught, and the script that
//! is printed is short.

use std::panic::catch_unwind;

use mainspring_queue::contract::{Token, exercise};
use mainspring_queue::{ExpiredTimer, Naive, Profile, RejectedTimer, ResetError, Tick, TimerId, TimerQueue};

/// One way to break the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    FiresATickEarly,
    LosesATimerThatIsResetToThePast,
    SleepsATickTooLong,
    LeaksACancelledPayload,
    KeepsAFiredId,
    ForgetsTheLastToCancel,
    HandsOutTheLatestFirst,
    PanicsOnTheEndOfTime,
    NeverMovesOn,
}

/// The oracle with a fault.
struct BrokenOracle {
    inner: Naive<Token>,
    fault: Fault,
    last_fired: Option<TimerId>,
    now: Tick,
}

impl TimerQueue<Token> for BrokenOracle {
    fn schedule(&mut self, deadline: Tick, payload: Token) -> Result<TimerId, RejectedTimer<Token>> {
        assert!(self.fault != Fault::PanicsOnTheEndOfTime || deadline < Tick::MAX, "overflow");
        self.inner.schedule(deadline, payload)
    }

    fn cancel(&mut self, id: TimerId) -> Option<Token> {
        let token = self.inner.cancel(id)?;
        if self.fault == Fault::LeaksACancelledPayload && self.inner.len() == 2 {
            std::mem::forget(token);
            return None;
        }
        Some(token)
    }

    fn reset(&mut self, id: TimerId, deadline: Tick) -> Result<(), ResetError> {
        if self.fault == Fault::KeepsAFiredId && self.last_fired == Some(id) {
            return Ok(());
        }
        self.inner.reset(id, deadline)?;
        if self.fault == Fault::LosesATimerThatIsResetToThePast && deadline < self.now() {
            self.inner.cancel(id);
        }
        Ok(())
    }

    fn deadline(&self, id: TimerId) -> Option<Tick> {
        self.inner.deadline(id)
    }

    fn next_wakeup(&self) -> Option<Tick> {
        let wakeup = self.inner.next_wakeup()?;
        match self.fault {
            Fault::SleepsATickTooLong => Some(wakeup.after(1)),
            Fault::NeverMovesOn => Some(wakeup.min(Tick::new(1_000))),
            _ => Some(wakeup),
        }
    }

    fn advance(&mut self, now: Tick) {
        self.now = self.now.max(now);
        let head_start = u64::from(self.fault == Fault::FiresATickEarly);
        self.inner.advance(now.after(head_start));
    }

    fn pop_expired(&mut self) -> Option<ExpiredTimer<Token>> {
        match self.fault {
            Fault::HandsOutTheLatestFirst => {
                let mut popped: Vec<_> = std::iter::from_fn(|| self.inner.pop_expired()).collect();
                let latest = popped.pop();
                // Putting the others back would change their ids: forgetting them is fault enough.
                popped.into_iter().for_each(std::mem::forget);
                latest
            }
            _ => {
                let popped = self.inner.pop_expired()?;
                self.last_fired = Some(popped.id);
                Some(popped)
            }
        }
    }

    fn now(&self) -> Tick {
        self.now
    }

    fn len(&self) -> usize {
        self.inner.len() - usize::from(self.fault == Fault::ForgetsTheLastToCancel && self.inner.len() == 5)
    }

    fn peek(&self) -> Option<(TimerId, Tick)> {
        self.inner.peek()
    }

    fn compact(&mut self) {
        self.inner.compact();
    }

    fn profile(&self) -> Profile {
        self.inner.profile()
    }

    fn check(&self) {
        self.inner.check();
    }
}

/// The message with which the suite fails on a queue with a fault.
fn complaint(fault: Fault) -> String {
    let make = move || BrokenOracle { inner: Naive::new(), fault, last_fired: None, now: Tick::ZERO };
    let panic = catch_unwind(|| exercise(make)).expect_err("the suite catches the fault");
    *panic.downcast::<String>().expect("the suite fails with a text")
}

#[test]
fn every_fault_is_caught_with_a_short_script() {
    let expected = [
        (Fault::FiresATickEarly, "fired early"),
        (Fault::LosesATimerThatIsResetToThePast, "len is "),
        (Fault::SleepsATickTooLong, "the next wakeup is"),
        (Fault::LeaksACancelledPayload, "cancel did not find the pending"),
        (Fault::KeepsAFiredId, "moved a timer"),
        (Fault::ForgetsTheLastToCancel, "len is 4, expected 5"),
        (Fault::HandsOutTheLatestFirst, ""),
        (Fault::PanicsOnTheEndOfTime, "panic: overflow"),
        (Fault::NeverMovesOn, "made no progress"),
    ];
    for (fault, text) in expected {
        let complaint = complaint(fault);
        assert!(complaint.contains(text), "{fault:?}: {complaint}");
        let script = complaint.split_once("found:\n").expect("a script is printed").1;
        assert!(script.lines().count() <= 8, "{fault:?} is shown by a short script:\n{script}");
    }
}
