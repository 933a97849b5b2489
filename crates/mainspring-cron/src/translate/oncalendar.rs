//! A calendar as systemd writes it.
//!
//! The third Friday becomes the Friday among the days 15 to 21, and the last one the Friday among the last
//! seven days: OnCalendar has no numbers for weekdays.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::translation::{Translation, Untranslatable};
use crate::civil::Calendar;
use crate::days::{ALL_DATES, ALL_WEEKDAYS, Days, Join, bits};
use crate::explain::{Shape, members, runs, shape, year_members};
use crate::oncalendar::OnCalendar;
use crate::second::{Fraction, Moments, SECOND_NS};

const WEEKDAYS: [&str; 8] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
/// The most days that systemd counts back: every month has so many.
const LONGEST_BACK: u32 = 28;

/// The weekdays, and the day of the month behind what separates it from the month.
type DayParts = (u8, String);

pub(crate) fn write(calendar: &Calendar) -> Result<Translation, Untranslatable> {
    let fields = calendar.fields();
    let (weekdays, days) = day_parts(&fields.days)?;
    let years =
        fields.years.map_or("*".to_owned(), |years| list(&year_members(years), |year| year.to_string()));
    let months = component(&members(fields.months.into()), 1, 12);
    let weekdays = match weekdays {
        ALL_WEEKDAYS => String::new(),
        weekdays => {
            // systemd's week ends with Sunday.
            let from_monday = members((u64::from(weekdays) & !1) | u64::from(weekdays & 1) << 7);
            list(&from_monday, |day| WEEKDAYS[usize::from(day)].to_owned()) + " "
        }
    };
    let hours = component(&members(fields.hours.into()), 0, 23);
    let minutes = component(&members(fields.minutes), 0, 59);
    let seconds = match &fields.moments {
        Moments::Whole(seconds) => component(&members(*seconds), 0, 59),
        Moments::Fractions(fractions) => {
            fractions.iter().map(|part| fraction(*part)).collect::<Vec<_>>().join(",")
        }
    };
    let text = format!("{weekdays}{years}-{months}{days} {hours}:{minutes}:{seconds}");
    Ok(Translation { text, notes: Vec::new() })
}

/// One moment: its date and time in UTC.
pub(crate) fn at(moment: Timestamp) -> Result<Translation, Untranslatable> {
    let time = moment.to_zoned(TimeZone::UTC);
    let is_readable = (1970..=2199).contains(&time.year()) && time.subsec_nanosecond() % 1000 == 0;
    if !is_readable {
        return Err(Untranslatable::new("systemd knows the years 1970 to 2199, and microseconds"));
    }
    Ok(Translation { text: time.strftime("%Y-%m-%d %H:%M:%S%.f UTC").to_string(), notes: Vec::new() })
}

fn day_parts(days: &Days) -> Result<DayParts, Untranslatable> {
    let is_any_date = days.dates == ALL_DATES;
    let is_any_weekday = days.weekdays == ALL_WEEKDAYS;
    if days.join == Join::Or {
        return if is_any_date || is_any_weekday {
            Ok((ALL_WEEKDAYS, "-*".to_owned()))
        } else {
            Err(Untranslatable::new(
                "OnCalendar cannot say `either day`: its weekday and date must both match",
            ))
        };
    }
    if days.workdays | days.workdays_from_end != 0 {
        return Err(Untranslatable::new("OnCalendar knows no nearest workday"));
    }
    if days.has_nth_weekdays() && !is_any_weekday {
        return numbered_weekdays(days);
    }
    let weekdays = days.weekdays;
    match (is_any_date, days.dates, days.dates_from_end) {
        (true, ..) => Ok((weekdays, "-*".to_owned())),
        (_, dates, 0) => Ok((weekdays, format!("-{}", component(&members(dates.into()), 1, 31)))),
        (_, 0, back) if back < 1 << LONGEST_BACK => {
            let counted: Vec<u16> = bits(back).map(|back| u16::from(back) + 1).collect();
            let days = format!("~{}", list(&counted, |day| format!("{day:02}")));
            // systemd 252 allows less in a long list: its own reader says whether it does.
            if OnCalendar::parse(&format!("*-*{days}")).is_err() {
                return Err(Untranslatable::new(
                    "a list of days from the end of the month reaches less far in systemd",
                ));
            }
            Ok((weekdays, days))
        }
        (_, 0, _) => {
            Err(Untranslatable::new("OnCalendar counts back at most 28 days, because every month has them"))
        }
        _ => Err(Untranslatable::new("OnCalendar counts days from one end of the month, not from both")),
    }
}

/// Numbered weekdays as dates: all of them must have the same numbers.
fn numbered_weekdays(days: &Days) -> Result<DayParts, Untranslatable> {
    if days.weekdays != 0 || days.dates != ALL_DATES {
        return Err(Untranslatable::new(
            "OnCalendar writes a numbered weekday as dates, which leaves no room for other days",
        ));
    }
    let named = days.nth_weekdays.iter().zip(0..).filter(|(numbers, _)| **numbers != 0);
    let weekdays = named.clone().fold(0, |weekdays, (_, weekday)| weekdays | 1 << weekday);
    let mut numbers = named.map(|(numbers, _)| *numbers);
    let first = numbers.next().unwrap_or_default();
    if numbers.any(|other| other != first) {
        return Err(Untranslatable::new("OnCalendar cannot give each weekday a number of its own"));
    }
    if first == 1 {
        return Ok((weekdays, "~01..07".to_owned()));
    }
    if first & 1 != 0 {
        return Err(Untranslatable::new("OnCalendar counts days from one end of the month, not from both"));
    }
    let weeks: Vec<String> = bits(first.into())
        .map(|number| (7 * number - 6, (7 * number).min(31)))
        .map(|(first, last)| format!("{first:02}..{last:02}"))
        .collect();
    Ok((weekdays, format!("-{}", weeks.join(","))))
}

fn component(values: &[u16], first: u16, last: u16) -> String {
    match shape(values, first, last) {
        Shape::All => "*".to_owned(),
        Shape::Step { first, step, .. } => format!("{first:02}/{step}"),
        Shape::One(_) | Shape::Range(..) | Shape::List(_) => list(values, |value| format!("{value:02}")),
    }
}

fn list(values: &[u16], name: impl Fn(u16) -> String) -> String {
    runs(values, name).join(",").replace(" to ", "..")
}

fn fraction(part: Fraction) -> String {
    let second = |ns: u64| format!("{:02}.{:06}", ns / SECOND_NS, ns % SECOND_NS / 1000);
    match part.step_ns {
        0 => second(part.first_ns),
        step_ns => format!("{}..{}/{}", second(part.first_ns), second(part.last_ns), second(step_ns)),
    }
}
