//! The two day fields: what the numeric items know, and the special days.
//!
//! | field | item | is |
//! |---|---|---|
//! | day of the month | `L`, `L-3` | the last day, three days before it |
//! | | `15W`, `LW`, `L-3W` | the workday nearest to it, never leaving the month |
//! | day of the week | `5L`, `5#L` | the last Friday of the month |
//! | | `5#3` | the third Friday of the month |
//! | both | `?` | any day |
//!
//! Linear in the length of the text.
//!
//! Source: [Quartz
//! tutorial](https://www.quartz-scheduler.org/documentation/quartz-2.3.0/tutorials/crontrigger.html); `#L`
//! and `+` as in the [Open Cron Pattern Specification](https://github.com/open-source-cron/ocps).

use crate::days::Days;
use crate::error::ParseError;
use crate::item::Reader;
use crate::options::Dialect;
use crate::unit::Unit;
use crate::word::Word;

/// The furthest day before the last one that a month may have.
const LONGEST_OFFSET: u8 = 30;

impl Reader<'_> {
    /// Reads the day-of-month field into `days`.
    pub(crate) fn dates(&mut self, field: Word<'_>, days: &mut Days) -> Result<(), ParseError> {
        if field.text == "?" {
            return Ok(());
        }
        days.dates = 0;
        for (position, item) in field.items() {
            if let Some(rest) = item.after_prefix('L') {
                self.before_last(item, rest, days)?;
            } else if let Some(day) = item.before_suffix('W') {
                if day.text.contains(['-', '*', '/']) {
                    return Err(item.error("expected one day before `W`, as in `15W`").with_hint("15W"));
                }
                let day = self.value(day, Unit::DayOfMonth)?;
                days.workdays |= 1 << day;
            } else {
                let values = self.item(item, Unit::DayOfMonth, position)?;
                days.dates |= values.days();
            }
        }
        Ok(())
    }

    /// Reads the day-of-week field, without its `+`, into `days`.
    pub(crate) fn weekdays(&mut self, field: Word<'_>, days: &mut Days) -> Result<(), ParseError> {
        if field.text == "?" {
            return Ok(());
        }
        days.weekdays = 0;
        for (position, item) in field.items() {
            if let Some((weekday, number)) = item.split_once("#") {
                let number = nth(number)?;
                let index = self.one_weekday(weekday)?;
                days.nth_weekdays[index] |= 1 << number;
            } else if let Some(weekday) = item.before_suffix('L') {
                if weekday.is_empty() {
                    self.last_alone(item, days)?;
                } else {
                    let index = self.one_weekday(weekday)?;
                    days.nth_weekdays[index] |= 1;
                }
            } else {
                let values = self.item(item, Unit::DayOfWeek, position)?;
                days.weekdays |= u8::try_from(values.low()).expect("days of the week are below 7");
            }
        }
        Ok(())
    }

    /// What follows an `L` in the day of the month: nothing, `W`, or an offset with or without `W`.
    fn before_last(&self, item: Word<'_>, rest: Word<'_>, days: &mut Days) -> Result<(), ParseError> {
        let (offset, set) = match rest.before_suffix('W') {
            Some(offset) => (offset, &mut days.workdays_from_end),
            None => (rest, &mut days.dates_from_end),
        };
        if offset.is_empty() {
            *set |= 1;
            return Ok(());
        }
        let Some(number) = offset.after_prefix('-') else {
            return Err(item.expected("`L`, `L-3`, `LW` or `L-3W`").with_hint("L"));
        };
        match number.text.parse::<u8>() {
            Ok(back) if back <= LONGEST_OFFSET && !number.text.starts_with('+') => {
                *set |= 1 << back;
                Ok(())
            }
            _ => Err(number.error("expected how many days before the last: 0 to 30").with_hint("1")),
        }
    }

    /// Quartz reads a lone `L` as Saturday, the last day of its week.
    fn last_alone(&self, item: Word<'_>, days: &mut Days) -> Result<(), ParseError> {
        match self.options.dialect {
            Dialect::Quartz => {
                days.weekdays |= 1 << 6;
                Ok(())
            }
            Dialect::Unix => {
                let message =
                    "expected a day of the week before `L`, as in `5L` for the last Friday of the month";
                Err(item.error(message).with_hint("5L"))
            }
        }
    }

    /// 0 is Sunday.
    fn one_weekday(&self, word: Word<'_>) -> Result<usize, ParseError> {
        let written = usize::from(self.value(word, Unit::DayOfWeek)?);
        Ok(match self.options.dialect {
            Dialect::Unix => written % 7,
            Dialect::Quartz => written - 1,
        })
    }
}

/// 1 to 5, or 0 for the last.
fn nth(number: Word<'_>) -> Result<u8, ParseError> {
    if number.is("L") {
        return Ok(0);
    }
    match number.text.as_bytes() {
        [digit @ b'1'..=b'5'] => Ok(digit - b'0'),
        _ => {
            let hint = if number.text == "0" { "1" } else { "L" };
            Err(number.expected("the number of the week in its month, 1 to 5 or L").with_hint(hint))
        }
    }
}
