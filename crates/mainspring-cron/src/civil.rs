//! The next and the previous matching moment on a calendar without time zones.
//!
//! ```text
//! year -> month -> day -> hour -> minute -> second      one field too late: the field above moves on,
//!   `--- table ---'  mask  `---- bit sets -----'        and all fields below start over
//! ```
//!
//! There are only 14 kinds of years (the weekday of 1 January, leap or not). The months with a matching day
//! are computed once for each kind, when the calendar is made; a year without a match then costs one look at
//! a table. The search ends after 400 years, because then the Gregorian calendar repeats itself: an
//! impossible date costs 400 looks.
//!
//! Next and previous take constant time otherwise, and allocate nothing.

use jiff::civil::{Date, DateTime, Time};

use crate::days::{Days, MonthShape};
use crate::second::{MINUTE_NS, Moments, SECOND_NS};

/// After this many years the Gregorian calendar repeats itself, with its weekdays.
pub(crate) const CYCLE_YEARS: i16 = 400;
pub(crate) const FIRST_YEAR: i16 = 1970;

/// A year of each kind: the ones that begin on a Sunday to a Saturday, and then leap years in the same order.
const KINDS: [i16; 14] = [2017, 2018, 2013, 2014, 2015, 2010, 2011, 2012, 1996, 2008, 2020, 2004, 2016, 2000];

const _: () = assert!(KINDS.len() == 2 * 7, "the first weekday, and whether it is a leap year");

/// The years that match: bit n is the year 1970 + n. `None` is every year.
pub(crate) type Years = Option<[u64; 4]>;

/// The matching values of each field. Every field has at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Calendar {
    fields: Fields,
    /// For each kind of year, the months that have a matching day.
    months_by_kind: [u16; KINDS.len()],
}

/// The fields of a calendar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) years: Years,
    /// Bit n: month n, 1 is January.
    pub(crate) months: u16,
    pub(crate) days: Days,
    /// Bit n: hour n.
    pub(crate) hours: u32,
    /// Bit n: minute n.
    pub(crate) minutes: u64,
    pub(crate) moments: Moments,
}

/// The direction of a search.
trait Direction {
    /// The nearest set bit of `mask` beyond `from`.
    fn beyond(mask: u64, from: u32) -> Option<u32>;
    /// The bit at which a fresh search begins.
    fn first(mask: u64) -> Option<u32>;
    /// The nearest moment of a minute from `ns` on.
    fn moment(moments: &Moments, ns: u64) -> Option<u64>;
    /// The moment at which a fresh minute begins.
    const EDGE_NS: u64;
    const STEP: i16;
}

struct Later;
struct Earlier;

impl Direction for Later {
    fn beyond(mask: u64, from: u32) -> Option<u32> {
        Self::first(if from < 63 { mask & (u64::MAX << (from + 1)) } else { 0 })
    }

    fn first(mask: u64) -> Option<u32> {
        (mask != 0).then(|| mask.trailing_zeros())
    }

    fn moment(moments: &Moments, ns: u64) -> Option<u64> {
        moments.next(ns)
    }

    const EDGE_NS: u64 = 0;
    const STEP: i16 = 1;
}

impl Direction for Earlier {
    fn beyond(mask: u64, from: u32) -> Option<u32> {
        Self::first(mask & !(u64::MAX << from))
    }

    fn first(mask: u64) -> Option<u32> {
        mask.checked_ilog2()
    }

    fn moment(moments: &Moments, ns: u64) -> Option<u64> {
        moments.prev(ns)
    }

    const EDGE_NS: u64 = MINUTE_NS - 1;
    const STEP: i16 = -1;
}

impl Calendar {
    pub(crate) fn new(fields: Fields) -> Calendar {
        let Fields { months, hours, minutes, .. } = fields;
        assert!(hours != 0, "a field allows at least one value");
        assert!(minutes != 0, "a field allows at least one value");
        assert!(months != 0, "a field allows at least one value");
        debug_assert!(hours < 1 << 24);
        debug_assert!(minutes < 1 << 60);
        debug_assert!(months & !0x1ffe == 0, "months are 1 to 12");
        let months_by_kind = KINDS.map(|year| {
            let has_day = |month: &i8| fields.days.in_month(month_shape(year, *month)) != 0;
            let all = (1..=12).filter(|month| months & (1 << month) != 0);
            all.filter(has_day).fold(0, |found, month| found | 1 << month)
        });
        Calendar { fields, months_by_kind }
    }

    /// The first match at or after a moment; `None` if there is none within 400 years.
    pub(crate) fn next(&self, from: DateTime) -> Option<DateTime> {
        let found = self.search::<Later>(from);
        debug_assert!(found.is_none_or(|found| from <= found));
        debug_assert!(found.is_none_or(|found| self.matches_date(found.date())));
        found
    }

    /// The last match at or before a moment; `None` if there is none within 400 years.
    pub(crate) fn prev(&self, to: DateTime) -> Option<DateTime> {
        let found = self.search::<Earlier>(to);
        debug_assert!(found.is_none_or(|found| found <= to));
        debug_assert!(found.is_none_or(|found| self.matches_date(found.date())));
        found
    }

    /// Whether any day of any allowed year matches.
    pub(crate) fn is_possible(&self) -> bool {
        let start = if self.fields.years.is_some() { FIRST_YEAR } else { 2000 };
        (start..start + CYCLE_YEARS).any(|year| self.months_in(year) != 0)
    }

    pub(crate) fn fields(&self) -> &Fields {
        &self.fields
    }

    fn search<D: Direction>(&self, from: DateTime) -> Option<DateTime> {
        let date = from.date();
        if self.matches_date(date)
            && let Some(time) = self.time_of_day::<D>(from.time())
        {
            return Some(date.to_datetime(time));
        }
        Some(self.date_beyond::<D>(date)?.to_datetime(self.edge_of_day::<D>()?))
    }

    fn matches_date(&self, date: Date) -> bool {
        self.has_year(date.year()) && self.month_mask(date.year(), date.month()) & (1 << date.day()) != 0
    }

    /// The nearest matching time of the same day, from `time` on.
    fn time_of_day<D: Direction>(&self, time: Time) -> Option<Time> {
        let (hour, minute): (u32, u32) =
            (time.hour().unsigned_abs().into(), time.minute().unsigned_abs().into());
        if self.fields.hours & (1 << hour) != 0 {
            if self.fields.minutes & (1 << minute) != 0 {
                let ns = u64::from(time.second().unsigned_abs()) * SECOND_NS
                    + u64::from(time.subsec_nanosecond().unsigned_abs());
                if let Some(moment) = D::moment(&self.fields.moments, ns) {
                    return Some(clock_time(hour, minute, moment));
                }
            }
            if let Some(minute) = D::beyond(self.fields.minutes, minute) {
                return Some(clock_time(hour, minute, self.edge_of_minute::<D>()?));
            }
        }
        let hour = D::beyond(self.fields.hours.into(), hour)?;
        Some(clock_time(hour, D::first(self.fields.minutes)?, self.edge_of_minute::<D>()?))
    }

    fn edge_of_day<D: Direction>(&self) -> Option<Time> {
        let (hour, minute) = (D::first(self.fields.hours.into())?, D::first(self.fields.minutes)?);
        Some(clock_time(hour, minute, self.edge_of_minute::<D>()?))
    }

    fn edge_of_minute<D: Direction>(&self) -> Option<u64> {
        D::moment(&self.fields.moments, D::EDGE_NS)
    }

    fn date_beyond<D: Direction>(&self, date: Date) -> Option<Date> {
        let (year, month) = (date.year(), date.month());
        if self.has_year(year) {
            let mask = self.month_mask(year, month);
            if let Some(day) = D::beyond(mask.into(), date.day().unsigned_abs().into()) {
                return calendar_date(year, month, day);
            }
            if let Some(month) = D::beyond(self.months_in(year).into(), month.unsigned_abs().into()) {
                return self.edge_of_month::<D>(year, month);
            }
        }
        let mut year = self.year_to_look_from::<D>(year);
        for _ in 0..CYCLE_YEARS {
            if !(Date::MIN.year()..=Date::MAX.year()).contains(&year) {
                return None;
            }
            if let Some(month) = D::first(self.months_in(year).into()) {
                return self.edge_of_month::<D>(year, month);
            }
            year += D::STEP;
        }
        None
    }

    fn edge_of_month<D: Direction>(&self, year: i16, month: u32) -> Option<Date> {
        let month = i8::try_from(month).expect("months are 1 to 12");
        calendar_date(year, month, D::first(self.month_mask(year, month).into())?)
    }

    /// The next year in the direction of the search, or the nearest end of the listed years if that is
    /// further.
    fn year_to_look_from<D: Direction>(&self, year: i16) -> i16 {
        let next = year + D::STEP;
        match D::STEP {
            _ if self.fields.years.is_none() => next,
            1 => next.max(FIRST_YEAR),
            _ => next.min(FIRST_YEAR + 255),
        }
    }

    pub(crate) fn has_year(&self, year: i16) -> bool {
        self.fields.years.is_none_or(|years| match usize::try_from(year - FIRST_YEAR) {
            Ok(index) if index < 256 => years[index / 64] & (1 << (index % 64)) != 0,
            _ => false,
        })
    }

    /// The months of a year that have a matching day.
    fn months_in(&self, year: i16) -> u16 {
        if self.has_year(year) { self.months_by_kind[kind_of(year)] } else { 0 }
    }

    fn month_mask(&self, year: i16, month: i8) -> u32 {
        if self.fields.months & (1 << month) == 0 {
            0
        } else {
            self.fields.days.in_month(month_shape(year, month))
        }
    }
}

/// 0 to 6: the weekday of 1 January, 0 is Sunday; 7 more in a leap year.
fn kind_of(year: i16) -> usize {
    let first = calendar_date(year, 1, 1).expect("the year is one of the calendar");
    usize::from(weekday_of(first)) + if first.in_leap_year() { 7 } else { 0 }
}

fn month_shape(year: i16, month: i8) -> MonthShape {
    let first = calendar_date(year, month, 1).expect("the month is one of the calendar");
    MonthShape { first_weekday: weekday_of(first), length: first.days_in_month().unsigned_abs() }
}

/// 0 is Sunday.
fn weekday_of(date: Date) -> u8 {
    date.weekday().to_sunday_zero_offset().unsigned_abs()
}

fn calendar_date(year: i16, month: i8, day: u32) -> Option<Date> {
    Date::new(year, month, i8::try_from(day).expect("days are 1 to 31")).ok()
}

fn clock_time(hour: u32, minute: u32, moment_ns: u64) -> Time {
    let part = |number: u64| i8::try_from(number).expect("parts of a time are below 60");
    let subsecond = i32::try_from(moment_ns % SECOND_NS).expect("a part of a second is below 10^9");
    Time::constant(part(hour.into()), part(minute.into()), part(moment_ns / SECOND_NS), subsecond)
}

#[cfg(test)]
mod tests {
    use jiff::civil::{Weekday, date};

    use super::*;

    fn fields() -> Fields {
        Fields {
            years: None,
            months: 0b1_1111_1111_1110,
            days: Days::ALL,
            hours: 1,
            minutes: 1,
            moments: Moments::Whole(1),
        }
    }

    #[test]
    fn every_month_from_year_1_to_2400_has_the_shape_of_that_month_in_the_year_of_its_kind() {
        for (kind, year) in KINDS.into_iter().enumerate() {
            assert_eq!(kind_of(year), kind, "{year}");
        }
        for year in -20..2400 {
            for month in 1..=12 {
                let of_kind = month_shape(KINDS[kind_of(year)], month);
                assert_eq!(month_shape(year, month), of_kind, "{year}-{month}");
            }
        }
    }

    #[test]
    fn a_date_that_never_comes_is_known() {
        let days = Days { dates: 1 << 30, ..Days::ALL };
        let calendar = Calendar::new(Fields { months: 1 << 2, days, ..fields() });
        assert!(!calendar.is_possible());
        assert_eq!(calendar.next(date(2025, 1, 1).at(0, 0, 0, 0)), None);
        assert_eq!(calendar.prev(date(2025, 1, 1).at(0, 0, 0, 0)), None);
    }

    #[test]
    fn the_rarest_date_is_found_across_a_century_without_a_leap_year() {
        let days = Days { dates: 1 << 29, weekdays: 1 << 1, ..Days::ALL };
        let calendar = Calendar::new(Fields { months: 1 << 2, days, ..fields() });
        let found = calendar.next(date(2073, 1, 1).at(0, 0, 0, 0)).unwrap();
        assert_eq!((found.date(), found.weekday()), (date(2112, 2, 29), Weekday::Monday));
        let later = calendar.next(date(2112, 3, 1).at(0, 0, 0, 0)).unwrap();
        assert_eq!(later.date(), date(2140, 2, 29));
        assert_eq!(calendar.prev(later.date().yesterday().unwrap().at(0, 0, 0, 0)), Some(found));
    }

    #[test]
    fn listed_years_are_found_from_far_away_and_end() {
        let mut years = [0; 4];
        years[0] = 1 << 5;
        let calendar = Calendar::new(Fields { years: Some(years), ..fields() });
        let new_year = date(1975, 1, 1).at(0, 0, 0, 0);
        assert_eq!(calendar.next(date(-9999, 1, 1).at(0, 0, 0, 0)), Some(new_year));
        assert_eq!(calendar.next(date(1975, 12, 31).at(0, 0, 0, 1)), None);
        assert_eq!(calendar.prev(date(9999, 12, 31).at(0, 0, 0, 0)), Some(date(1975, 12, 31).at(0, 0, 0, 0)));
    }

    #[test]
    fn the_ends_of_the_calendar_are_none_and_not_a_panic() {
        let calendar = Calendar::new(fields());
        assert_eq!(calendar.next(DateTime::MAX), None);
        assert_eq!(calendar.prev(DateTime::MIN), Some(DateTime::MIN));
    }
}
