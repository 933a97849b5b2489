//! A calendar in a time zone: the windows of the time line in which its wall-clock times count.
//!
//! ```text
//!             before = -5h        after = -4h             before = -4h          after = -5h
//! gap      ...............01:59|03:00...........   overlap .......|01:00..01:59|02:00......
//! normal   [-------------------)[---------------)           [-----------------)[----------)
//! shift                         [--) by -5h again    first  [-----------------)     [-----)
//! run                           * one moment         last   [-----)            [----------)
//! ```
//!
//! Between two changes a zone is one offset, so the calendar is searched once per stretch. When the answer is
//! far away, the search continues there: it visits the stretches around that answer and not those between.
//! Cost: three look-ups of an offset and one calendar search for most answers. A search ends 400 years away,
//! because some patterns name only moments that a gap leaves out.
//!
//! It does not decide which jobs follow the wall clock: `schedule` passes `LITERAL` for these.

use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use crate::civil::{CYCLE_YEARS, Calendar};
use crate::dst::{DstPolicy, Gap, Overlap};

/// A change of this length or more corrects the calendar; every policy takes it literally.
const LITERAL_FROM: SignedDuration = SignedDuration::from_hours(3);

/// No offset of a zone differs from another by more than this: jiff allows 25:59:59 either way.
const LONGEST_CHANGE: SignedDuration = SignedDuration::from_hours(52);
/// Landing this far before an answer leaves room for any offset and for the change before it.
const LEAP_MARGIN: SignedDuration = SignedDuration::from_hours(2 * 52);
const HORIZON: SignedDuration = SignedDuration::from_hours(24 * (CYCLE_YEARS as i64 * 366));
/// With three hours before it this is less than two days, and three hours more than one.
const CALM_DAY: SignedDuration = SignedDuration::from_hours(24 + 3);
const INSTANT: SignedDuration = SignedDuration::from_nanos(1);

const DAY_SECONDS: i64 = 86_400;
const _: () = assert!(LITERAL_FROM.as_secs() < LONGEST_CHANGE.as_secs());
const _: () = assert!(LEAP_MARGIN.as_secs() == 2 * LONGEST_CHANGE.as_secs());
const _: () = assert!(LITERAL_FROM.as_secs() + CALM_DAY.as_secs() < 2 * DAY_SECONDS);
const _: () = assert!(CALM_DAY.as_secs() == DAY_SECONDS + LITERAL_FROM.as_secs());
const _: () = assert!(HORIZON.as_secs() / DAY_SECONDS > 400 * 365 + 97, "a whole cycle is searched");

/// A calendar, the zone it is read in, and what to do at changes of its clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ZonedCalendar<'a> {
    pub(crate) calendar: &'a Calendar,
    pub(crate) zone: &'a TimeZone,
    pub(crate) policy: DstPolicy,
}

/// A moment at which the offset of a zone changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) at: Timestamp,
    pub(crate) before: Offset,
    pub(crate) after: Offset,
}

/// The time between two changes. A missing end is the end of time.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    start: Option<Change>,
    offset: Offset,
    end: Option<Change>,
}

/// A part of the time line, `first..end`, in which wall-clock times are read with one offset.
#[derive(Clone, Copy, Debug)]
struct Window {
    first: Timestamp,
    end: Timestamp,
    offset: Offset,
}

impl ZonedCalendar<'_> {
    /// The first occurrence at or after a moment.
    pub(crate) fn next(&self, from: Timestamp) -> Option<Timestamp> {
        if let Some(found) = self.next_on_a_calm_day(from) {
            return Some(found);
        }
        let limit = from.saturating_add(HORIZON).unwrap_or(Timestamp::MAX);
        let mut from = from;
        let mut stretch = self.stretch_ahead(from);
        while from < limit {
            if let Some(found) = self.first_in(&stretch, from) {
                debug_assert!(from <= found);
                return Some(found);
            }
            let end = stretch.end?;
            debug_assert!(from < end.at, "each step gets further");
            let is_settled = LONGEST_CHANGE < end.at.duration_since(from);
            let answer = self.calendar.next(stretch.offset.to_datetime(from));
            if is_settled {
                // Wall-clock times before `from` cannot come again, so the next answer of the calendar is the
                // next one.
                let landing = Offset::UTC.to_timestamp(answer?).ok()?.checked_sub(LEAP_MARGIN).ok()?;
                if end.at < landing {
                    from = landing;
                    stretch = self.stretch_ahead(from);
                    continue;
                }
            }
            from = end.at;
            stretch = stretch.following(self.zone, end);
        }
        None
    }

    /// The last occurrence at or before a moment.
    pub(crate) fn prev(&self, to: Timestamp) -> Option<Timestamp> {
        let limit = to.saturating_sub(HORIZON).unwrap_or(Timestamp::MIN);
        let mut to = to;
        while limit <= to {
            let stretch = Stretch::at(self.zone, to);
            if let Some(found) = self.last_in(&stretch, to) {
                debug_assert!(found <= to);
                return Some(found);
            }
            let start = stretch.start?;
            debug_assert!(start.at <= to, "each step gets further");
            let before = start.at.checked_sub(INSTANT).ok()?;
            let answer = self.calendar.prev(stretch.offset.to_datetime(to));
            to = if LONGEST_CHANGE < to.duration_since(start.at) {
                let landing = Offset::UTC.to_timestamp(answer?).ok()?.saturating_add(LEAP_MARGIN).ok()?;
                before.min(landing)
            } else {
                before
            };
        }
        None
    }

    /// The first occurrence if it lies within a day and no change is near: the common case, in which
    /// comparing three offsets is cheaper than looking up a change. No zone has two changes that undo each
    /// other within that time (the test `no_zone_changes_twice_within_two_days` looks).
    fn next_on_a_calm_day(&self, from: Timestamp) -> Option<Timestamp> {
        let (first, last) = (from.checked_sub(LITERAL_FROM).ok()?, from.checked_add(CALM_DAY).ok()?);
        let offset = self.zone.to_offset(from);
        if self.zone.to_offset(first) != offset || self.zone.to_offset(last) != offset {
            return None;
        }
        let found = offset.to_timestamp(self.calendar.next(offset.to_datetime(from))?).ok()?;
        // A change after the last moment may make this pass the first of two, and only the other one may
        // count.
        (found < last.checked_sub(LITERAL_FROM).ok()?).then_some(found)
    }

    /// The stretch around a moment. Its start is looked up only where it still matters: the effects of a
    /// change last for less than `LITERAL_FROM`, and no zone has two changes that undo each other within that
    /// time.
    fn stretch_ahead(&self, moment: Timestamp) -> Stretch {
        let offset = self.zone.to_offset(moment);
        let was_changed =
            moment.checked_sub(LITERAL_FROM).is_ok_and(|earlier| self.zone.to_offset(earlier) != offset);
        if was_changed && self.policy != DstPolicy::LITERAL {
            return Stretch::at(self.zone, moment);
        }
        let is_fixed = self.zone.to_fixed_offset().is_ok();
        let end = if is_fixed { None } else { Change::following(self.zone, moment) };
        Stretch { start: None, offset, end }
    }

    fn first_in(&self, stretch: &Stretch, from: Timestamp) -> Option<Timestamp> {
        let run = self.run_at_end_of_gap(stretch).filter(|&moment| from <= moment);
        let shifted = self.shifted_window(stretch).and_then(|window| window.next(self.calendar, from));
        let normal = self.normal_window(stretch).next(self.calendar, from);
        run.into_iter().chain(shifted).chain(normal).min()
    }

    fn last_in(&self, stretch: &Stretch, to: Timestamp) -> Option<Timestamp> {
        let run = self.run_at_end_of_gap(stretch).filter(|&moment| moment <= to);
        let shifted = self.shifted_window(stretch).and_then(|window| window.prev(self.calendar, to));
        let normal = self.normal_window(stretch).prev(self.calendar, to);
        run.into_iter().chain(shifted).chain(normal).max()
    }

    /// The stretch without the passes of its overlaps that do not count.
    fn normal_window(&self, stretch: &Stretch) -> Window {
        let first = stretch.start.map_or(Timestamp::MIN, |change| match change.overlap() {
            Some(length) if self.policy_at(change).overlap == Overlap::First => change.at + length,
            _ => change.at,
        });
        let end = stretch.end.map_or(Timestamp::MAX, |change| match change.overlap() {
            Some(length) if self.policy_at(change).overlap == Overlap::Last => change.at - length,
            _ => change.at,
        });
        Window { first, end, offset: stretch.offset }
    }

    /// The time after a gap in which the clock from before it still counts.
    fn shifted_window(&self, stretch: &Stretch) -> Option<Window> {
        let change = stretch.start?;
        let length = change.gap()?;
        let shifts = self.policy_at(change).gap == Gap::Shift;
        shifts.then(|| Window { first: change.at, end: change.at + length, offset: change.before })
    }

    /// The end of the gap before a stretch, if something was due inside the gap.
    fn run_at_end_of_gap(&self, stretch: &Stretch) -> Option<Timestamp> {
        let change = stretch.start?;
        let length = change.gap()?;
        if self.policy_at(change).gap != Gap::Run {
            return None;
        }
        let gap = Window { first: change.at, end: change.at + length, offset: change.before };
        gap.next(self.calendar, change.at).map(|_| change.at)
    }

    /// What holds at one change: long ones are taken literally.
    pub(crate) fn policy_at(&self, change: Change) -> DstPolicy {
        let length = change.gap().or(change.overlap()).unwrap_or_default();
        if length < LITERAL_FROM { self.policy } else { DstPolicy::LITERAL }
    }
}

impl Change {
    /// How much time the clock leaves out, if it is set forward.
    pub(crate) fn gap(self) -> Option<SignedDuration> {
        (self.before < self.after).then(|| self.before.duration_until(self.after))
    }

    /// How much time comes twice, if the clock is set back.
    pub(crate) fn overlap(self) -> Option<SignedDuration> {
        (self.after < self.before).then(|| self.after.duration_until(self.before))
    }

    /// The first change after a moment. Changes of the name alone do not count.
    pub(crate) fn following(zone: &TimeZone, moment: Timestamp) -> Option<Change> {
        let before = zone.to_offset(moment);
        let mut changes = zone.following(moment);
        let change = changes.find(|change| change.offset() != before)?;
        debug_assert!(moment < change.timestamp(), "a search from a change gets further");
        Some(Change { at: change.timestamp(), before, after: change.offset() })
    }

    /// The last change at or before a moment.
    fn preceding(zone: &TimeZone, moment: Timestamp) -> Option<Change> {
        let after = zone.to_offset(moment);
        let changes = zone.preceding(moment.checked_add(INSTANT).ok()?);
        let mut with_offsets = changes.filter_map(|change| {
            let at = change.timestamp();
            Some(Change { at, before: zone.to_offset(at.checked_sub(INSTANT).ok()?), after })
        });
        with_offsets.find(|change| change.before != after)
    }
}

impl Stretch {
    fn at(zone: &TimeZone, moment: Timestamp) -> Stretch {
        match zone.to_fixed_offset() {
            Ok(offset) => Stretch { start: None, offset, end: None },
            Err(_) => Stretch {
                start: Change::preceding(zone, moment),
                offset: zone.to_offset(moment),
                end: Change::following(zone, moment),
            },
        }
    }

    /// The stretch that begins where this one ends.
    fn following(&self, zone: &TimeZone, end: Change) -> Stretch {
        Stretch { start: Some(end), offset: end.after, end: Change::following(zone, end.at) }
    }
}

impl Window {
    fn next(self, calendar: &Calendar, from: Timestamp) -> Option<Timestamp> {
        let from = from.max(self.first);
        if self.end <= from {
            return None;
        }
        let found = calendar.next(self.offset.to_datetime(from))?;
        self.offset.to_timestamp(found).ok().filter(|&found| found < self.end)
    }

    fn prev(self, calendar: &Calendar, to: Timestamp) -> Option<Timestamp> {
        let to = to.min(self.end.checked_sub(INSTANT).ok()?);
        if to < self.first {
            return None;
        }
        let found = calendar.prev(self.offset.to_datetime(to))?;
        self.offset.to_timestamp(found).ok().filter(|&found| self.first <= found)
    }
}
