//! Ends the server.
//!
//! ```text
//! Running ──SIGTERM, SIGINT──▶ Gathering ──GATHER──▶ Draining ──drain over──▶ Terminating ──grace over──▶ Killed ──▶ end
//!                                                       └────── a second signal ───┴────────────────────────▲
//! ```
//!
//! | phase | a running job |
//! |---|---|
//! | Draining | ends by itself; usually this takes no time at all |
//! | Terminating | has got its kill signal, and SIGKILL when its own grace is over; the server waits for answers to webhooks |
//! | Killed | has got SIGKILL |
//!
//! From Draining on nothing starts: what was decided before and comes later is given back. An idle server
//! ends at once. A run that was killed is recorded as `abandoned` with the time of its end, and its retry
//! policy decides what follows at the next start. Runs that wait go on waiting.
//!
//! Cost: none until an end is asked for.

use std::time::Instant;

use mainspring_job::Input;

use super::phase::{GATHER, KILL_WAIT, Phase};
use super::{Keeping, Server};
use crate::supervisor;
use mainspring_exec::clock::Moment;
use mainspring_exec::span::Span;

impl Server {
    pub(super) fn take_signals(&mut self, now: Moment) {
        if 0 < self.signals.clear_child() {
            self.work.reap_orphans();
        }
        let requests = self.signals.stop_requests();
        match self.phase {
            Phase::Running if 0 < requests => self.phase = Phase::Gathering { since: now },
            Phase::Gathering { since } if GATHER <= now.since(since) => self.drain(now),
            Phase::Draining { .. } | Phase::Terminating { .. } if 0 < requests => {
                self.kill(now, "a second signal came");
            }
            Phase::Draining { since } if self.stopping.drain <= now.since(since) => self.ask_to_end(now),
            Phase::Terminating { since } if self.stopping.grace <= now.since(since) => {
                self.kill(now, "the grace period is over");
            }
            _ => {}
        }
    }

    /// With `--memory` a closed log ends the server: its output is the only result.
    pub(super) fn end_if_nobody_reads(&mut self, now: Moment) {
        if self.keeping == Keeping::InMemory && self.log.is_closed() && self.phase == Phase::Running {
            self.drain(now);
        }
    }

    /// Nothing starts any more.
    pub(super) fn drain(&mut self, now: Moment) {
        debug_assert!(matches!(self.phase, Phase::Running | Phase::Gathering { .. }), "an end begins once");
        self.owner.tell(Input::Stop);
        self.owner.tell_all(self.work.end());
        self.phase = Phase::Draining { since: now };
        self.tell_supervisor(supervisor::STOPPING);
        if self.stopping.drain.is_zero() {
            return self.ask_to_end(now);
        }
        let drain = Span(self.stopping.drain);
        let text = match self.work.running_count() {
            0 => "stopping".to_owned(),
            1 => format!("stopping: 1 run has {drain} to end by itself"),
            count => format!("stopping: {count} runs have {drain} to end by themselves"),
        };
        self.note(now.wall, &text);
    }

    fn ask_to_end(&mut self, now: Moment) {
        let grace = Span(self.stopping.grace);
        let text = match self.work.running_count() {
            0 => "stopping".to_owned(),
            1 => format!("stopping: 1 run is asked to end, and has at most {grace}"),
            count => format!("stopping: {count} runs are asked to end, and have at most {grace}"),
        };
        self.note(now.wall, &text);
        self.phase = Phase::Terminating { since: now };
        self.owner.tell_all(self.work.ask_all_to_end(now));
    }

    fn kill(&mut self, now: Moment, why: &str) {
        self.note(
            now.wall,
            &format!("{why}: SIGKILL to what runs ({})", self.work.execution().process_count()),
        );
        self.owner.tell_all(self.work.kill_all_at_once(now, &mut self.log));
        self.phase = Phase::Killed { since: now };
    }

    /// When the next phase begins; `None` for never, also where the patience is longer than the clock goes.
    pub(super) fn phase_deadline(&self) -> Option<Instant> {
        let (length, since) = self.phase.length(self.stopping)?;
        since.monotonic.checked_add(length)
    }

    /// When the end does not wait for the store any more, if nothing else is waited for.
    pub(super) fn store_deadline(&self) -> Option<Instant> {
        let (_, since) = self.phase.length(self.stopping).filter(|_| self.work.running_count() == 0)?;
        self.end_deadline(since)
    }

    pub(super) fn is_done(&self, now: Moment) -> bool {
        match self.phase {
            Phase::Running | Phase::Gathering { .. } => false,
            Phase::Draining { since } | Phase::Terminating { since } => {
                self.work.running_count() == 0 && self.has_written(since, now)
            }
            Phase::Killed { since } => {
                // What a planner that has lost its lease has not written is refused.
                let has_written = self.holding.is_lost || self.has_written(since, now);
                let is_over = self.work.running_count() == 0 && has_written;
                is_over || KILL_WAIT <= now.since(since)
            }
        }
    }
}
