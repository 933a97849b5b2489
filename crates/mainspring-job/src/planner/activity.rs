//! What the planner does at all: it is restored, then it plans, and it may rest.
//!
//! ```text
//!  restoring ──Begin──▶ planning ◀──pause, resume──▶ paused          planning or paused ──Stop──▶ stopping
//! ```
//!
//! While it rests no tick does anything and nothing starts. A pause is in the store, so a planner may be
//! restored paused; that the server is about to end is not.
//!
//! Cost: nothing; the runs of the store are kept until planning begins.

use jiff::Timestamp;

use crate::record::Rest;
use crate::run::Run;

#[derive(Debug)]
pub(super) struct Activity {
    /// Open runs of the store, until planning begins.
    restoring: Option<Vec<Run>>,
    /// How everything rests, if it is paused.
    paused: Option<Rest>,
    is_stopping: bool,
}

impl Default for Activity {
    fn default() -> Activity {
        Activity { restoring: Some(Vec::new()), paused: None, is_stopping: false }
    }
}

impl Activity {
    /// Takes in what the store holds; it may come in parts.
    ///
    /// # Panics
    /// When planning has begun.
    pub(super) fn restore(&mut self, runs: Vec<Run>, paused: Option<Rest>) {
        let restoring = self.restoring.as_mut().expect("a planner is restored before it begins");
        restoring.extend(runs);
        self.paused = self.paused.take().or(paused);
    }

    /// Planning begins. Hands out the runs of the store, in order of their keys.
    ///
    /// # Panics
    /// When it has begun.
    pub(super) fn begin(&mut self) -> Vec<Run> {
        let mut runs = self.restoring.take().expect("a planner begins once");
        runs.sort_by(|one, other| one.key.cmp(&other.key));
        runs
    }

    pub(super) fn is_planning(&self) -> bool {
        self.restoring.is_none()
    }

    /// Whether everything is paused.
    pub(super) fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// How everything rests, if it is paused.
    pub(super) fn rest(&self) -> Option<&Rest> {
        self.paused.as_ref()
    }

    pub(super) fn pause(&mut self, rest: Rest) {
        self.paused = Some(rest);
    }

    /// When a rest ends by itself.
    pub(super) fn rests_until(&self) -> Option<Timestamp> {
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
    pub(super) fn rests(&self) -> bool {
        self.is_paused() || self.is_stopping
    }
}
