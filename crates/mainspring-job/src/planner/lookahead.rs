//! The near one-shot jobs: the ids of those that are due next are in memory; the jobs themselves are only in
//! the store.
//!
//! ```text
//!  store:   ×××××××××××××××××××××××××××××××××××××××××××××××××××××   a million, ordered by (due, number)
//!  ids:     ××××××××××××××××┤ cursor                               everything up to here, and nothing beyond
//!           │               └─ the next ids are read from here on, up to now + span, a page at a time
//!           └─ due: the first jobs up to now are read, a portion at a time, and fire
//! ```
//!
//! An id only causes a read, and the job that is read decides. So the id of a job that was withdrawn stays
//! until its time, and costs one look that finds nothing. Nothing is lost. Each job on disk up to the cursor
//! has its id here, or was read and has not fired. An id that has left is kept until a read has come to its
//! end. A read that fails, or is full, has not, and another follows at once. If the clock was set back before
//! that one, it looks less far, and the ids beyond it come back.
//!
//! A submission at or before the cursor, or within the range of ids that are being read, joins them as soon
//! as it is on disk. Any other is found by a later read. So no submission falls between the two. The span
//! adapts. It doubles while pages come back half empty, up to a day, so that an idle server reads its store
//! twice a day. It halves when they are full.
//!
//! What is due when it comes on disk stays in memory as it is, up to a page of them. It fires when all that
//! waits before it was read. So a store that is written to all the time is not read all the time.
//!
//! With a lead, all of this happens so much before a job is due. If the first of those that were read has to
//! wait for its time after all, what was read are ids again, and until that time there is no lead.
//!
//! Cost: O(log n) for each. Memory is 48 bytes for each id of a page, and for each id that was submitted
//! before the cursor, up to `max_lookahead`. Beyond that the farther half is left to the store again, which
//! costs O(n log n) once in `max_lookahead / 2` submissions. A portion of whole jobs is in memory as well,
//! `per_turn` of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZeroU64;
use std::time::Duration;

use jiff::Timestamp;

use super::limits::Limits;
use super::wall_queue::{Due, WallQueue};
use crate::once::{Once, OnceId};
use crate::run::RunKey;

/// The shortest span: reading takes milliseconds, so a minute is more than enough ahead.
const MIN_SPAN: Duration = Duration::from_secs(60);
/// The longest span.
const MAX_SPAN: Duration = Duration::from_secs(86_400);

/// A page with fewer rows leaves room for a longer span.
const HALF_EMPTY: usize = 5_000;

const _: () = assert!(MIN_SPAN.as_secs() < MAX_SPAN.as_secs());

/// A [`OnceId`] in 16 bytes, and with a value that is none, which saves the queue another eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LookaheadId {
    due_ns: i64,
    number_after: NonZeroU64,
}

impl LookaheadId {
    fn new(id: OnceId) -> LookaheadId {
        let due_ns =
            i64::try_from(id.due.as_nanosecond()).expect("no store keeps what is due outside of 64 bits");
        LookaheadId { due_ns, number_after: NonZeroU64::MIN.saturating_add(id.number) }
    }

    fn id(self) -> OnceId {
        OnceId { due: self.due(), number: self.number_after.get() - 1 }
    }
}

impl Due for LookaheadId {
    fn due(&self) -> Timestamp {
        Timestamp::from_nanosecond(i128::from(self.due_ns)).expect("it was one")
    }
}

/// What of the one-shot jobs is in memory.
#[derive(Debug)]
pub(super) struct Lookahead {
    /// Those of all that are on disk up to the cursor; perhaps some beyond, and some that are gone.
    ids: WallQueue<LookaheadId>,
    cursor: OnceId,
    span: Duration,
    /// The end of the range of the ids that are being read.
    scanning: Option<Timestamp>,
    /// What was submitted while ids are being read, within their range.
    joined: BTreeSet<OnceId>,
    /// The first that was left to the store while ids are being read.
    first_left: Option<OnceId>,
    /// What was read because it is due, and has not fired.
    portion: VecDeque<Once>,
    /// What was due when it came on disk, and waits until all before it was read.
    arrived: BTreeMap<OnceId, Once>,
    /// Until then nothing fires ahead of its time.
    no_lead_until: Timestamp,
    /// Up to when a portion is being read.
    reading: Option<Timestamp>,
    /// The ids that have left and whose jobs no portion has had so far; perhaps some that are gone.
    unread: BTreeSet<OnceId>,
    /// Whether the last portion may not have been all that was due.
    has_more: bool,
    /// What was withdrawn while a portion is being read, which may hold it.
    withdrawn: BTreeSet<OnceId>,
    /// The job whose run is being recorded for the first time.
    firing: Option<(RunKey, OnceId)>,
}

impl Default for Lookahead {
    fn default() -> Lookahead {
        Lookahead {
            ids: WallQueue::default(),
            cursor: OnceId::first_at(Timestamp::MIN),
            span: MIN_SPAN,
            scanning: None,
            joined: BTreeSet::new(),
            first_left: None,
            portion: VecDeque::new(),
            arrived: BTreeMap::new(),
            no_lead_until: Timestamp::MIN,
            reading: None,
            unread: BTreeSet::new(),
            has_more: false,
            withdrawn: BTreeSet::new(),
            firing: None,
        }
    }
}

impl Lookahead {
    /// Takes in what the clock shows.
    pub(super) fn tell(&mut self, now: Timestamp) {
        self.ids.tell(now);
    }

    /// How many ids there are, and jobs that were read and have not fired.
    pub(super) fn len(&self) -> usize {
        self.ids.len() + self.portion.len() + self.arrived.len()
    }

    /// When there is something to fire, or to read so that it fires, which may be so much before it is due.
    pub(super) fn next_due(&self, lead: Duration) -> Option<Timestamp> {
        let rest = self.no_lead_until;
        let ahead = |due: Timestamp| due.saturating_sub(lead).unwrap_or(Timestamp::MIN).max(rest.min(due));
        match (self.portion.front(), self.reading.is_some()) {
            (Some(once), _) => Some(ahead(once.id.due)),
            (None, true) => None,
            (None, false) if self.has_more => Some(Timestamp::MIN),
            (None, false) => {
                let arrived = self.arrived.keys().next().map(|id| id.due);
                self.ids.next_due().into_iter().chain(arrived).min().map(ahead)
            }
        }
    }

    /// When the next ids are worth reading: half a span before the cursor is reached, unless a page is in
    /// memory anyway.
    pub(super) fn next_scan(&self, limits: &Limits) -> Option<Timestamp> {
        let is_short = self.scanning.is_none() && self.ids.len() < limits.page;
        is_short.then(|| self.cursor.due.saturating_sub(self.span / 2).unwrap_or(Timestamp::MIN))
    }

    /// Ids are to be read: those after this one, up to this time.
    pub(super) fn begin_scan(&mut self, now: Timestamp) -> (OnceId, Timestamp) {
        assert!(self.scanning.is_none(), "ids are read once at a time");
        let up_to = now.saturating_add(self.span).unwrap_or(Timestamp::MAX);
        self.scanning = Some(up_to);
        (self.cursor, up_to)
    }

    /// Ids were read, and there are more.
    pub(super) fn scanned(&mut self, ids: &[OnceId]) {
        let Some(_) = self.scanning.take() else { return };
        self.span = (self.span / 2).max(MIN_SPAN);
        self.move_cursor(ids.last().copied().unwrap_or(self.cursor), ids);
    }

    /// All ids were read that were asked for.
    pub(super) fn scanned_last(&mut self, ids: &[OnceId]) {
        let Some(up_to) = self.scanning.take() else { return };
        if ids.len() < HALF_EMPTY {
            self.span = (self.span * 2).min(MAX_SPAN);
        }
        self.move_cursor(OnceId::last_at(up_to), ids);
    }

    fn move_cursor(&mut self, read_to: OnceId, ids: &[OnceId]) {
        debug_assert!(ids.is_sorted(), "ids are read in their order");
        debug_assert!(ids.last().is_none_or(|last| *last <= read_to), "what was read is behind the cursor");
        self.cursor = self.first_left.take().map_or(read_to, |left| left.min(read_to)).max(self.cursor);
        // The read may have found what was submitted meanwhile, or come before it.
        self.joined.extend(ids);
        let joined = std::mem::take(&mut self.joined);
        self.add_ids(joined.range(..=self.cursor).copied());
    }

    /// A submission is on disk that is due.
    pub(super) fn arrive(&mut self, once: Once, limits: &Limits) {
        if self.arrived.len() < limits.page {
            let replaced = self.arrived.insert(once.id, once);
            debug_assert!(replaced.is_none(), "a submission comes on disk once");
        } else {
            self.submitted(once.id, limits);
        }
    }

    /// A submission is on disk.
    pub(super) fn submitted(&mut self, id: OnceId, limits: &Limits) {
        if id <= self.cursor {
            self.ids.add(LookaheadId::new(id));
        } else if self.scanning.is_some_and(|up_to| id.due <= up_to) {
            self.joined.insert(id);
        }
        if limits.max_lookahead < self.ids.len() {
            self.leave_half();
        }
        debug_assert!(self.ids.len() <= limits.max_lookahead, "no more ids are in memory than may be");
    }

    /// From the farther half on, the store alone has them.
    fn leave_half(&mut self) {
        let mut ids = self.ids.take_all();
        ids.sort_unstable();
        let left = ids.split_off(ids.len() / 2);
        for id in ids {
            self.ids.add(id);
        }
        let Some(first) = left.first() else { return };
        let first = first.id();
        let before = OnceId { number: first.number.saturating_sub(1), ..first };
        self.cursor = self.cursor.min(before);
        if self.scanning.is_some() {
            self.first_left = Some(self.first_left.map_or(before, |left| left.min(before)));
        }
    }

    /// Whether something has arrived that has not fired.
    pub(super) fn has_arrived(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// Whether all on disk that is due by then has fired.
    pub(super) fn has_fired_all(&self, by: Timestamp) -> bool {
        self.arrived.is_empty() && self.has_fired_read(by)
    }

    /// The same, but for what arrived.
    fn has_fired_read(&self, by: Timestamp) -> bool {
        let has_fired = self.portion.is_empty() && self.reading.is_none() && !self.has_more;
        has_fired && by <= self.cursor.due && !self.ids.has_due_by(by)
    }

    /// Says whether the first jobs that are due now are to be read, and how many at most. Their ids leave.
    pub(super) fn begin_read(&mut self, now: Timestamp, most: usize) -> bool {
        if self.reading.is_some() || !self.portion.is_empty() {
            return false;
        }
        let mut has_due = false;
        for (_, id) in (0..most).map_while(|_| self.ids.pop_due()) {
            self.unread.insert(id.id());
            has_due = true;
        }
        self.reading = (has_due || self.has_more).then_some(now);
        self.reading.is_some()
    }

    /// Jobs that are due were read, and there are more.
    pub(super) fn read(&mut self, portion: Vec<Once>) {
        let Some(_) = self.reading.take() else { return };
        debug_assert!(self.portion.is_empty(), "a portion is read when the one before has fired");
        debug_assert!(portion.is_sorted_by_key(|once| once.id), "a portion is in the order of its ids");
        let mut has_arrived = false;
        for once in &portion {
            self.unread.remove(&once.id);
            has_arrived |= self.arrived.remove(&once.id).is_some();
        }
        // What comes after one that arrived has arrived too, unless its id was here.
        self.has_more = !(has_arrived && self.unread.is_empty());
        let withdrawn = std::mem::take(&mut self.withdrawn);
        self.portion = portion.into_iter().filter(|once| !withdrawn.contains(&once.id)).collect();
    }

    /// All jobs that are due were read.
    pub(super) fn read_last(&mut self, portion: Vec<Once>) {
        let Some(up_to) = self.reading else { return };
        self.read(portion);
        self.has_more = false;
        // What is due later was not looked for: the clock was set back since its id left.
        let unread = std::mem::take(&mut self.unread);
        self.add_ids(unread.into_iter().filter(|id| up_to < id.due));
    }

    fn add_ids(&mut self, ids: impl Iterator<Item = OnceId>) {
        for id in ids {
            self.ids.add(LookaheadId::new(id));
        }
    }

    /// The first of those that were read, if it is due by then.
    pub(super) fn first_due(&mut self, by: Timestamp) -> Option<&Once> {
        if self.has_fired_read(by) {
            self.portion.extend(std::mem::take(&mut self.arrived).into_values());
        }
        if self.portion.front().is_some_and(|once| by < once.id.due) {
            // The clock was set back: their time comes again.
            self.put_back();
        }
        self.portion.front()
    }

    /// Those that were read, or arrived, are ids again.
    fn put_back(&mut self) {
        let (portion, arrived) = (std::mem::take(&mut self.portion), std::mem::take(&mut self.arrived));
        self.add_ids(portion.into_iter().chain(arrived.into_values()).map(|once| once.id));
    }

    /// Until this time nothing fires ahead of its time.
    pub(super) fn keep_to_time(&mut self, until: Timestamp) {
        self.no_lead_until = until;
        self.put_back();
    }

    /// Up to which due time jobs may fire now, with such a lead.
    pub(super) fn ahead_of(&self, now: Timestamp, lead: Duration) -> Timestamp {
        if now < self.no_lead_until { now } else { now.saturating_add(lead).unwrap_or(Timestamp::MAX) }
    }

    /// Takes the first of those that were read.
    pub(super) fn pop(&mut self) -> Option<Once> {
        self.portion.pop_front()
    }

    /// A job is withdrawn; its id stays.
    pub(super) fn withdraw(&mut self, id: OnceId) {
        self.portion.retain(|once| once.id != id);
        self.arrived.remove(&id);
        if self.reading.is_some() {
            self.withdrawn.insert(id);
        }
    }

    /// A job fires: the next record of this run is that.
    pub(super) fn begin_firing(&mut self, key: RunKey, id: OnceId) {
        debug_assert!(self.firing.is_none(), "one is recorded before the next fires");
        self.firing = Some((key, id));
    }

    /// Whether a job that fires is not recorded yet.
    pub(super) fn is_firing(&self) -> bool {
        self.firing.is_some()
    }

    /// The id of the one-shot job whose run has this key, if it is being recorded now.
    pub(super) fn take_fired(&mut self, key: &RunKey) -> Option<OnceId> {
        self.firing.take_if(|(firing, _)| firing == key).map(|(_, id)| id)
    }
}
