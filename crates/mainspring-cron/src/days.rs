//! Matches days of a month: dates, days counted from the end, nearest workdays, and days of the week.
//!
//! ```text
//!   dates   1 ... 31 | L-n | nW | L-nW          join: And | Or          weekdays  sun ... sat | 5#3 | 5L
//!   `------------- mask of bits 1..=31 ------------'   |   `--------- mask of bits 1..=31 -----------'
//!                                             days of this month
//! ```
//!
//! A month is known by the weekday of its first day and its length, so that there are only 28 of them. A mask
//! costs a few operations on words, and some more for each special day.
//!
//! Source: [crontab(5)](https://manpages.debian.org/bookworm/cron/crontab.5.en.html) for the join, the
//! [Quartz tutorial](https://www.quartz-scheduler.org/documentation/quartz-2.3.0/tutorials/crontrigger.html)
//! for the special days.

/// Bits 1 to 31.
pub(crate) const ALL_DATES: u32 = 0xffff_fffe;
/// Bits 0 (Sunday) to 6.
pub(crate) const ALL_WEEKDAYS: u8 = 0x7f;
/// Bits 1, 8, 15, 22 and 29: one weekday's days in a month that starts with it.
const SEVENTHS: u32 = 0x2040_8102;

const _: () = assert!(ALL_DATES.count_ones() == 31);
const _: () = assert!(ALL_WEEKDAYS.count_ones() == 7);
const _: () = assert!(SEVENTHS.count_ones() == 5);
const _: () = assert!(SEVENTHS & SEVENTHS << 7 == SEVENTHS & !(1 << 1), "they are a week apart");

/// How dates and weekdays are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    And,
    Or,
}

/// What determines the days of a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MonthShape {
    /// The weekday of the first day: 0 (Sunday) to 6.
    pub(crate) first_weekday: u8,
    /// 28 to 31.
    pub(crate) length: u8,
}

/// The allowed days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Days {
    /// Bit n: the n-th day.
    pub(crate) dates: u32,
    /// Bit n: n days before the last (`L-n`; bit 0 is `L`).
    pub(crate) dates_from_end: u32,
    /// Bit n: the workday nearest to the n-th (`nW`).
    pub(crate) workdays: u32,
    /// Bit n: the workday nearest to n days before the last (`L-nW`; bit 0 is `LW`).
    pub(crate) workdays_from_end: u32,
    /// Bit n: weekday n, 0 is Sunday.
    pub(crate) weekdays: u8,
    /// For each weekday, bit n: the n-th of the month (`5#3`), and bit 0: the last (`5L`).
    pub(crate) nth_weekdays: [u8; 7],
    pub(crate) join: Join,
}

impl Days {
    pub(crate) const ALL: Days = Days {
        dates: ALL_DATES,
        dates_from_end: 0,
        workdays: 0,
        workdays_from_end: 0,
        weekdays: ALL_WEEKDAYS,
        nth_weekdays: [0; 7],
        join: Join::And,
    };

    /// The matching days of a month as bits 1 to 31.
    pub(crate) fn in_month(&self, month: MonthShape) -> u32 {
        let (dates, weekdays) = (self.date_mask(month), self.weekday_mask(month));
        let joined = match self.join {
            Join::And => dates & weekdays,
            Join::Or => dates | weekdays,
        };
        joined & month.mask()
    }

    /// Whether any weekday is restricted to its number in the month.
    pub(crate) fn has_nth_weekdays(&self) -> bool {
        self.nth_weekdays != [0; 7]
    }

    fn date_mask(&self, month: MonthShape) -> u32 {
        let mut mask = self.dates;
        for back in bits(self.dates_from_end).filter(|&back| back < month.length) {
            mask |= 1 << (month.length - back);
        }
        for day in bits(self.workdays).filter(|&day| day <= month.length) {
            mask |= 1 << month.nearest_workday(day);
        }
        for back in bits(self.workdays_from_end).filter(|&back| back < month.length) {
            mask |= 1 << month.nearest_workday(month.length - back);
        }
        mask
    }

    fn weekday_mask(&self, month: MonthShape) -> u32 {
        if self.weekdays == ALL_WEEKDAYS {
            return ALL_DATES;
        }
        let mut mask =
            bits(u32::from(self.weekdays)).fold(0, |mask, weekday| mask | SEVENTHS << month.skip(weekday));
        if self.has_nth_weekdays() {
            for (weekday, &nth) in (0..).zip(&self.nth_weekdays) {
                let first = 1 + month.skip(weekday);
                let last = first + (month.length - first) / 7 * 7;
                for number in bits(u32::from(nth)) {
                    let day = if number == 0 { last } else { first + 7 * (number - 1) };
                    mask |= 1_u32.checked_shl(u32::from(day)).unwrap_or(0);
                }
            }
        }
        mask
    }
}

impl MonthShape {
    /// How many days come before the first one that is this weekday.
    fn skip(self, weekday: u8) -> u8 {
        debug_assert!(weekday < 7);
        (weekday + 7 - self.first_weekday) % 7
    }

    fn mask(self) -> u32 {
        debug_assert!((28..=31).contains(&self.length), "a month has 28 to 31 days");
        ALL_DATES & (u32::MAX >> (31 - self.length))
    }

    /// Monday to Friday nearest to a day, never leaving the month.
    fn nearest_workday(self, day: u8) -> u8 {
        const SUNDAY: u8 = 0;
        const SATURDAY: u8 = 6;
        let nearest = match (self.first_weekday + day - 1) % 7 {
            SATURDAY if day == 1 => 3,
            SATURDAY => day - 1,
            SUNDAY if day == self.length => day - 2,
            SUNDAY => day + 1,
            _ => day,
        };
        debug_assert!((1..=self.length).contains(&nearest));
        nearest
    }
}

/// The set bits of a word, from the lowest.
pub(crate) fn bits(mut word: u32) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        word &= word.checked_sub(1)?;
        Some(u8::try_from(bit).expect("a word has 32 bits"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Days = Days { dates: 0, weekdays: 0, join: Join::Or, ..Days::ALL };

    fn days_of(days: Days, first_weekday: u8, length: u8) -> Vec<u8> {
        bits(days.in_month(MonthShape { first_weekday, length })).collect()
    }

    #[test]
    fn the_nearest_workday_never_leaves_its_month() {
        let ends = Days { workdays: 1 << 1, workdays_from_end: 1, ..NOTHING };
        // A month of 30 days that starts on a Saturday ends on a Sunday.
        assert_eq!(days_of(ends, 6, 30), [3, 28]);
        // One that starts on a Sunday: the 1st moves to Monday, the 30th is one.
        assert_eq!(days_of(ends, 0, 30), [2, 30]);
    }

    #[test]
    fn a_day_that_a_month_does_not_have_is_not_moved_into_it() {
        let days = Days { dates: 1 << 31, workdays: 1 << 30, dates_from_end: 1 << 30, ..NOTHING };
        assert_eq!(days_of(days, 1, 28), []);
    }

    #[test]
    fn the_fifth_weekday_exists_only_in_some_months_and_the_last_in_all() {
        let mut days = NOTHING;
        days.nth_weekdays[5] = 1 << 5;
        assert_eq!(days_of(days, 5, 28), []);
        assert_eq!(days_of(days, 5, 29), [29]);
        days.nth_weekdays[5] = 1;
        assert_eq!(days_of(days, 5, 28), [22]);
        assert_eq!(days_of(days, 6, 31), [28]);
    }

    #[test]
    fn every_mask_agrees_with_counting_the_days_one_by_one() {
        for (first_weekday, length) in (0..7).flat_map(|first| (28..=31).map(move |length| (first, length))) {
            for weekday in 0..7 {
                let days = Days { weekdays: 1 << weekday, ..NOTHING };
                let counted: Vec<u8> =
                    (1..=length).filter(|day| (first_weekday + day - 1) % 7 == weekday).collect();
                assert_eq!(days_of(days, first_weekday, length), counted);
            }
        }
    }
}
