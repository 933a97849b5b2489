//! The phases of the planner: it is restored, then it plans, and it may be paused.
//!
//! ```text
//!  restoring ──Begin──▶ planning ◀──pause, resume──▶ paused          planning or paused ──Stop──▶ stopping
//! ```
//!
//! While everything is paused, or the server is about to end, a tick does nothing and no run starts. A pause
//! is in the store, so a planner may be restored paused. The coming end of a server is not in the store.
//!
//! Cost: nothing; the runs of the store, and what workers tell of them, are kept until planning begins.

use jiff::Timestamp;

use crate::input::{Input, WorkerEvent};
use crate::record::PauseTerms;
use crate::run::Run;

#[derive(Debug, Default)]
pub(super) struct Activity {
    is_planning: bool,
    /// Open runs of the store, until planning begins.
    restored: Vec<Run>,
    /// What was told before of runs and workers that are over.
    early: Vec<Input>,
    /// How long everything is paused, if it is.
    paused: Option<PauseTerms>,
    is_stopping: bool,
}

impl Activity {
    /// Takes in what the store holds; it may come in parts.
    ///
    /// # Panics
    /// When planning has begun.
    pub(super) fn restore(&mut self, runs: Vec<Run>, paused: Option<PauseTerms>) {
        assert!(!self.is_planning, "a planner is restored before it begins");
        self.restored.extend(runs);
        self.paused = self.paused.take().or(paused);
    }

    /// Whether something is over before planning begins: no run is open then.
    pub(super) fn is_early(&self, input: &Input) -> bool {
        !self.is_planning()
            && match input {
                Input::Worker(event) => !matches!(event, WorkerEvent::Present(_) | WorkerEvent::Leaving(_)),
                other => matches!(other, Input::Ended(_)),
            }
    }

    /// Keeps that until planning begins.
    pub(super) fn keep_early(&mut self, input: Input) {
        debug_assert!(self.is_early(&input), "all else is a fact at once");
        self.early.push(input);
    }

    /// Planning begins. Hands out the runs of the store, in order of their keys, and what was kept, in order.
    ///
    /// # Panics
    /// When it has begun.
    pub(super) fn begin(&mut self) -> (Vec<Run>, Vec<Input>) {
        assert!(!self.is_planning, "a planner begins once");
        self.is_planning = true;
        let mut runs = std::mem::take(&mut self.restored);
        runs.sort_by(|one, other| one.key.cmp(&other.key));
        (runs, std::mem::take(&mut self.early))
    }

    pub(super) fn is_planning(&self) -> bool {
        self.is_planning
    }

    /// Whether everything is paused.
    pub(super) fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// How long everything is paused, if it is.
    pub(super) fn pause_terms(&self) -> Option<&PauseTerms> {
        self.paused.as_ref()
    }

    pub(super) fn pause(&mut self, terms: PauseTerms) {
        self.paused = Some(terms);
    }

    /// When a pause of everything ends by itself.
    pub(super) fn paused_until(&self) -> Option<Timestamp> {
        self.paused.as_ref().filter(|_| self.is_planning() && !self.is_stopping)?.until
    }

    /// Tells whether everything was paused.
    pub(super) fn resume(&mut self) -> bool {
        self.paused.take().is_some()
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping
    }

    /// The server is about to end.
    pub(super) fn stop(&mut self) {
        self.is_stopping = true;
    }

    /// Whether nothing is to start, whatever the reason.
    pub(super) fn starts_nothing(&self) -> bool {
        self.is_paused() || self.is_stopping
    }
}
