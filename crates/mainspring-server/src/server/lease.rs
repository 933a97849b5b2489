//! Acts for the owner of the jobs as its lease grows old.
//!
//! ```text
//!  0 ── renewed, at least each LEASE / 6 ── 2/3: nothing starts, what runs is asked to end ── 13/15: SIGKILL, lost ── 1
//! ```
//!
//! The age is counted by the boot time from before the store was asked, so that it is never younger than the
//! store takes it for. Each commit renews the lease too. What could not be renewed in time is lost whatever
//! the store says later: another server may have the jobs, and starts what is due there.
//!
//! | `on_lease_loss` of what runs | old | lost |
//! |---|---|---|
//! | `kill` | is asked to end | gets SIGKILL |
//! | `leave` | goes on, and its end is recorded if the lease is renewed | goes on; its end is recorded nowhere |
//! | a webhook | goes on, and its answer is recorded if the lease is renewed | is given up: the receiver may have it |
//!
//! A server that was asked to stop leaves nothing, and a run that is being ended is not left.
//!
//! Cost: a reading of a clock for each turn and each start. None of it happens where a lease has no length.
//!
//! Where the server is killed or stopped, [`keeper`](mainspring_exec::keeper) does it.
//!
//! Does not end what has left its process group, nor anything while the whole machine stands still.

use std::time::Instant;

use mainspring_job::{AttemptEnd, LeaseAge, LeaseDeadlines, Outcome, RunKey, Start, StoreError};

use super::Server;
use super::lease_state::MAX_APART;
use super::phase::Phase;
use crate::error::Error;
use crate::log::Level;
use mainspring_exec::clock::{Moment, ahead, boot_time};
use mainspring_exec::span::Span;

impl Server {
    /// Whether the lease is fresh enough for something to start. What others carry out rests on their leases.
    pub(super) fn may_start(&self) -> bool {
        if self.work.is_elsewhere() {
            return true;
        }
        let is_fresh = |(age, lasts)| LeaseDeadlines::of(lasts).judge(age) == LeaseAge::Fresh;
        self.owner.lease_age().is_none_or(is_fresh) && !self.holding.is_lost
    }

    /// Keeps what is to start until the lease is renewed. If it is lost, the next owner finds the record of a
    /// start and no end, as after a crash.
    pub(super) fn withhold(&mut self, start: Start) {
        self.holding.withheld.push(start);
    }

    /// What was to start and is killed does not start when the lease is renewed. Returns whether it was
    /// withheld.
    pub(super) fn drop_withheld(&mut self, key: &RunKey, attempt: u32) -> bool {
        let withheld = &mut self.holding.withheld;
        let Some(index) = withheld.iter().position(|start| start.key == *key && start.attempt == attempt)
        else {
            return false;
        };
        withheld.remove(index);
        self.owner.tell(AttemptEnd::new(key.clone(), attempt, Outcome::Killed).into());
        true
    }

    /// Renews the lease in time, and ends what runs if that does not work.
    pub(super) fn keep_lease(&mut self, now: Moment) {
        let Some((age, lasts)) = self.owner.lease_age().filter(|_| !self.holding.is_lost) else { return };
        let deadlines = LeaseDeadlines::of(lasts);
        if deadlines.renew <= age
            && self.holding.tried.is_none_or(|tried| deadlines.renew <= now.since(tried))
        {
            self.holding.tried = Some(now);
            self.owner.renew();
        }
        self.say_if_apart(now);
        self.work.holds_until(boot_time().saturating_sub(age) + deadlines.over);
        match deadlines.judge(age) {
            LeaseAge::Fresh => {
                if std::mem::take(&mut self.holding.is_old) {
                    self.note(now.wall, "the store answers again, and the lease is renewed: all goes on");
                }
                for start in std::mem::take(&mut self.holding.withheld) {
                    self.begin(start, now);
                }
            }
            LeaseAge::Old if self.holding.is_old => {}
            LeaseAge::Old => {
                self.holding.is_old = true;
                let left_count =
                    if self.phase == Phase::Running { self.work.to_be_detached_count() } else { 0 };
                let text = format!(
                    "the lease could not be renewed for {} s: nothing starts, and what runs is asked to end ({}){}",
                    age.as_secs(),
                    self.work.process_count() - left_count,
                    left_text(left_count)
                );
                self.note_at(now.wall, Level::Warning, &text);
                let ended = match self.phase {
                    Phase::Running => self.work.ask_all_to_end_before_loss(now),
                    _ => self.work.ask_all_to_end(now),
                };
                self.owner.tell_all(ended);
            }
            LeaseAge::Over => self.lose(now, "the lease could not be renewed in time"),
        }
    }

    /// Says when the clock of this machine is not that of the store, and when it is again.
    fn say_if_apart(&mut self, now: Moment) {
        let Some(ahead) = ahead() else { return };
        let is_apart = MAX_APART < ahead.abs();
        if is_apart == std::mem::replace(&mut self.holding.is_said_apart, is_apart) {
            return;
        }
        let text = match (is_apart, Span(ahead.unsigned_abs())) {
            (false, _) => "the clock of this machine is that of the store again".to_owned(),
            (true, apart) if ahead.is_positive() => {
                format!("the clock of this machine is {apart} ahead of the store's, by which jobs are due")
            }
            (true, apart) => {
                format!("the clock of this machine is {apart} behind the store's, by which jobs are due")
            }
        };
        self.note(now.wall, &text);
    }

    /// The jobs are another's, or may be soon: what runs is killed or left, and nothing more is recorded.
    pub(super) fn lose(&mut self, now: Moment, why: &str) {
        if !self.holding.is_lost {
            self.holding.is_lost = true;
            self.holding.withheld.clear();
            self.holding.was_stopping = self.phase != Phase::Running;
            let mut why = why.to_owned();
            if self.phase == Phase::Running {
                why += &left_text(self.work.to_be_detached_count());
                self.owner.tell_all(self.work.leave(now, &mut self.log));
            }
            self.kill(now, &why);
        }
    }

    /// When the lease is to be looked at again.
    pub(super) fn lease_deadline(&self, now: Moment) -> Option<Instant> {
        let (age, lasts) = self.owner.lease_age().filter(|_| !self.holding.is_lost)?;
        let LeaseDeadlines { renew, old, over, .. } = LeaseDeadlines::of(lasts);
        // Between two of them it is tried again.
        let next =
            [renew, old, over].into_iter().find(|step| age < *step).unwrap_or(lasts).saturating_sub(age);
        now.monotonic.checked_add(next.min(renew))
    }

    /// The end of a server that has lost its lease: nothing is recorded, and nothing given up.
    pub(super) fn finish_lost(mut self, now: Moment) -> Result<(), Error> {
        self.answer_lost(now);
        self.work.close(now, &mut self.log);
        self.work.flush(now, &mut self.log);
        // The socket says that there is an owner, and there is none any more.
        self.clients.remove_socket();
        self.note(now.wall, "the jobs were given up");
        super::finish_log(&mut self.log, now)?;
        if self.holding.was_stopping { Ok(()) } else { Err(Error::Store(StoreError::Fenced)) }
    }
}

/// What is said of runs that go on.
fn left_text(count: usize) -> String {
    if count == 0 {
        String::new()
    } else {
        format!("; what says on_lease_loss = \"leave\" goes on ({count})")
    }
}
