//! The near one-shot jobs: those that are due next, in memory; all others are in the store only.
//!
//! ```text
//!  store:   ×××××××××××××××××××××××××××××××××××××××××××××××××××××   a million, ordered by (due, number)
//!  memory:  ××××××××××××××××┤ cursor                               everything up to here, and nothing beyond
//!                           └─ the next load begins here, up to now + window, a page at a time
//! ```
//!
//! A submission at or before the cursor, or within the range of a load that is on its way, joins the memory as soon as it is on
//! disk; any other is found by a later load. So none falls between the two. The window adapts: it doubles while pages
//! come back half empty, up to a day, so that an idle server reads its store twice a day; and halves when they are full.
//!
//! Cost: O(log n) for each; memory is one page and what was submitted for before the cursor, up to `max_near`: beyond that, the
//! farthest are left to the store again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use super::limits::Limits;
use crate::once::{Once, OnceId};
use crate::run::RunKey;

/// The shortest window: reading takes milliseconds, so a minute is more than enough ahead.
const MIN_WINDOW: Duration = Duration::from_secs(60);
/// The longest window.
const MAX_WINDOW: Duration = Duration::from_secs(86_400);

/// What of the one-shot jobs is in memory.
#[derive(Debug)]
pub(super) struct Window {
    /// All that are on disk up to the cursor; perhaps some beyond.
    pub(super) pending: BTreeMap<OnceId, Once>,
    pub(super) cursor: OnceId,
    pub(super) window: Duration,
    /// The end of the range of the load that is on its way.
    pub(super) loading: Option<Timestamp>,
    /// What was fired or withdrawn while a load is on its way, which may have read it before.
    pub(super) gone: BTreeSet<OnceId>,
    /// The first that was left to the store while a load is on its way.
    pub(super) first_left: Option<OnceId>,
    /// The job whose run is being recorded for the first time.
    pub(super) firing: Option<(RunKey, OnceId)>,
}

impl Default for Window {
    fn default() -> Window {
        Window {
            pending: BTreeMap::new(),
            cursor: OnceId::first_at(Timestamp::MIN),
            window: MIN_WINDOW,
            loading: None,
            gone: BTreeSet::new(),
            first_left: None,
            firing: None,
        }
    }
}

impl Window {
    pub(super) fn len(&self) -> usize {
        self.pending.len()
    }

    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.pending.keys().next().map(|id| id.due)
    }

    /// When the next load is worth it: half a window before the cursor is reached, unless a page is in memory anyway.
    pub(super) fn next_load(&self, limits: &Limits) -> Option<Timestamp> {
        let is_short = self.loading.is_none() && self.pending.len() < limits.page;
        is_short.then(|| self.cursor.due.saturating_sub(self.window / 2).unwrap_or(Timestamp::MIN))
    }

    /// A submission is on disk.
    pub(super) fn submitted(&mut self, once: Once, limits: &Limits) {
        let is_loading = self.loading.is_some_and(|up_to| once.id.due <= up_to);
        if once.id <= self.cursor || is_loading {
            self.pending.insert(once.id, once);
        }
        if limits.max_near < self.pending.len()
            && let Some((id, _)) = self.pending.pop_last()
        {
            self.leave_from(id);
        }
    }

    /// From this one on, the store alone has them.
    fn leave_from(&mut self, id: OnceId) {
        let before = OnceId { number: id.number.saturating_sub(1), ..id };
        self.cursor = self.cursor.min(before);
        if self.loading.is_some() {
            self.first_left = Some(self.first_left.map_or(before, |left| left.min(before)));
        }
    }

    pub(super) fn loaded(&mut self, pending: Vec<Once>, is_complete: bool) {
        let Some(up_to) = self.loading.take() else { return };
        let (count, last) = (pending.len(), pending.last().map(|once| once.id));
        let gone = std::mem::take(&mut self.gone);
        let found = pending.into_iter().filter(|once| !gone.contains(&once.id));
        self.pending.extend(found.map(|once| (once.id, once)));
        let read_to = if is_complete { OnceId::last_at(up_to) } else { last.unwrap_or(self.cursor) };
        self.cursor = self.first_left.take().map_or(read_to, |left| left.min(read_to)).max(self.cursor);
        self.window = match is_complete {
            true if count < HALF_EMPTY => (self.window * 2).min(MAX_WINDOW),
            true => self.window,
            false => (self.window / 2).max(MIN_WINDOW),
        };
    }

    pub(super) fn withdraw(&mut self, id: OnceId) {
        self.pending.remove(&id);
        if self.loading.is_some() {
            self.gone.insert(id);
        }
    }

    pub(super) fn pop_due(&mut self, now: Timestamp) -> Option<Once> {
        let entry = self.pending.first_entry().filter(|entry| entry.key().due <= now)?;
        let once = entry.remove();
        if self.loading.is_some() {
            self.gone.insert(once.id);
        }
        Some(once)
    }

    /// The id of the one-shot job whose run has this key, if it is being recorded now.
    pub(super) fn take_fired(&mut self, key: &RunKey) -> Option<OnceId> {
        self.firing.take_if(|(firing, _)| firing == key).map(|(_, id)| id)
    }
}

/// A page with fewer rows leaves room for a longer window.
const HALF_EMPTY: usize = 5_000;
