//! A calendar as cron fields, in the Unix or the Quartz dialect.
//!
//! The leading `*` of the minute and of the hour is kept or avoided as in the source: it decides what the job
//! does when the clock changes.

use super::translation::{Translation, Untranslatable};
use crate::civil::Calendar;
use crate::days::{ALL_DATES, ALL_WEEKDAYS, Days, Join, bits};
use crate::explain::{Shape, compact, members, runs, shape, year_members};
use crate::options::Dialect;
use crate::pattern::Pattern;
use crate::second::Moments;

const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// Whether the minute or the hour may begin with `*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stars {
    /// The source is a wildcard job: one of them must.
    Needed,
    /// The source is a fixed-time job: neither may.
    Forbidden,
    /// The source has no such distinction.
    Free,
}

impl Stars {
    pub(crate) fn of(pattern: &Pattern) -> Stars {
        if pattern.is_wildcard() { Stars::Needed } else { Stars::Forbidden }
    }
}

pub(crate) fn write(
    calendar: &Calendar,
    stars: Stars,
    dialect: Dialect,
) -> Result<Translation, Untranslatable> {
    let Moments::Whole(seconds) = &calendar.fields().moments else {
        return Err(Untranslatable::new("cron has no fractions of a second"));
    };
    let (date, weekday) = day_fields(&calendar.fields().days, dialect)?;
    let (minute, hour) = time_fields(calendar, stars);
    let second = field(&members(*seconds), 0, 59);
    let month = field(&members(calendar.fields().months.into()), 1, 12);
    let needs_seconds = second != "0" || calendar.fields().years.is_some();
    let mut fields = vec![minute, hour, date, month, weekday];
    let mut notes = Vec::new();
    if needs_seconds || dialect == Dialect::Quartz {
        fields.insert(0, second);
    }
    if let Some(years) = calendar.fields().years {
        fields.push(compact(&year_members(years)));
    }
    if dialect == Dialect::Unix && fields.len() != 5 {
        notes.push("crontab(5) itself has five fields: seconds and years are an extension".to_owned());
    }
    if dialect == Dialect::Unix {
        notes.extend(day_extensions(&calendar.fields().days).map(str::to_owned));
    }
    Ok(Translation { text: fields.join(" "), notes })
}

/// The minute and the hour.
fn time_fields(calendar: &Calendar, stars: Stars) -> (String, String) {
    let (minutes, hours) = (members(calendar.fields().minutes), members(calendar.fields().hours.into()));
    let (minute, hour) = (field(&minutes, 0, 59), field(&hours, 0, 23));
    let has_star = minute.starts_with('*') || hour.starts_with('*');
    match stars {
        // The source has a star that is no step of its own, such as `*/60,7`: a step as long as its field
        // allows only 0.
        Stars::Needed if !has_star && minutes[0] == 0 => (format!("*/60,{minute}"), hour),
        Stars::Needed if !has_star => (minute, format!("*/24,{hour}")),
        Stars::Needed | Stars::Free => (minute, hour),
        Stars::Forbidden => (without_star(&minute, 59), without_star(&hour, 23)),
    }
}

fn without_star(field: &str, last: u16) -> String {
    match field.strip_prefix('*') {
        Some(step) => format!("0-{last}{step}"),
        None => field.to_owned(),
    }
}

/// A numeric field in its shortest form.
fn field(values: &[u16], first: u16, last: u16) -> String {
    match shape(values, first, last) {
        Shape::All => "*".to_owned(),
        Shape::Step { first: from, step, .. } if from == first => format!("*/{step}"),
        Shape::Step { first: from, step, .. } => format!("{from}-{last}/{step}"),
        Shape::One(_) | Shape::Range(..) | Shape::List(_) => compact(values),
    }
}

fn day_fields(days: &Days, dialect: Dialect) -> Result<(String, String), Untranslatable> {
    let has_dates = days.dates != ALL_DATES;
    let has_weekdays = days.weekdays != ALL_WEEKDAYS;
    // Where either day is enough and one of them is every day, every day it is.
    let (has_dates, has_weekdays) = match days.join {
        Join::Or if !(has_dates && has_weekdays) => (false, false),
        _ => (has_dates, has_weekdays),
    };
    match (dialect, has_dates, has_weekdays) {
        (Dialect::Unix, true, true) if days.join == Join::And => both_day_fields(days),
        (Dialect::Unix, true, true) => Ok((date_field(days), weekday_field(days))),
        (Dialect::Unix, true, false) => Ok((date_field(days), "*".to_owned())),
        (Dialect::Unix, false, true) => Ok(("*".to_owned(), weekday_field(days))),
        (Dialect::Unix, false, false) => Ok(("*".to_owned(), "*".to_owned())),
        (Dialect::Quartz, true, true) => {
            Err(Untranslatable::new("Quartz cannot combine a day of the month with a day of the week"))
        }
        (Dialect::Quartz, true, false) => Ok((date_field(days), "?".to_owned())),
        (Dialect::Quartz, false, true) => Ok(("?".to_owned(), quartz_weekday_field(days)?)),
        (Dialect::Quartz, false, false) => Ok(("*".to_owned(), "?".to_owned())),
    }
}

/// Two fields of which both must match. To cron that takes a `*` at the start of one, which can be had where
/// the field allows its first value: a step as long as the field allows only that.
fn both_day_fields(days: &Days) -> Result<(String, String), Untranslatable> {
    let (date, weekday) = (date_field(days), weekday_field(days));
    match (date.strip_prefix("1-31/"), days.dates & 1 << 1 != 0, days.weekdays & 1 != 0) {
        (Some(step), ..) if !step.contains(',') => Ok((format!("*/{step}"), weekday)),
        (_, true, _) => Ok((format!("*/31,{date}"), weekday)),
        (_, _, true) => Ok((date, format!("*/7,{weekday}"))),
        _ => Err(Untranslatable::new(
            "crontab(5) cannot ask for a day of the month and a day of the week together: either of them is enough to it",
        )),
    }
}

/// The days that only extensions of cron know.
fn day_extensions(days: &Days) -> Option<&'static str> {
    let is_plain =
        days.workdays | days.dates_from_end | days.workdays_from_end == 0 && !days.has_nth_weekdays();
    (!is_plain).then_some("crontab(5) itself has no L, W and #: they are an extension")
}

/// Never begins with `*`, which would change the meaning of the day of the week beside it.
fn date_field(days: &Days) -> String {
    let dates = members(days.dates.into());
    let mut items = match &dates[..] {
        [] => Vec::new(),
        dates => match shape(dates, 1, 31) {
            Shape::Step { first, step, .. } => vec![format!("{first}-31/{step}")],
            _ => vec![compact(dates)],
        },
    };
    items.extend(bits(days.workdays).map(|day| format!("{day}W")));
    let back = |back: u8| if back == 0 { "L".to_owned() } else { format!("L-{back}") };
    items.extend(bits(days.dates_from_end).map(back));
    items.extend(bits(days.workdays_from_end).map(|day| back(day) + "W"));
    items.join(",")
}

fn weekday_field(days: &Days) -> String {
    let mut items = Vec::new();
    if days.weekdays != 0 {
        items.push(compact(&members(days.weekdays.into())));
    }
    for (weekday, numbers) in days.nth_weekdays.iter().enumerate() {
        items.extend(bits((*numbers).into()).map(|number| match number {
            0 => format!("{weekday}L"),
            _ => format!("{weekday}#{number}"),
        }));
    }
    items.join(",")
}

fn quartz_weekday_field(days: &Days) -> Result<String, Untranslatable> {
    if !days.has_nth_weekdays() {
        let names = runs(&members(days.weekdays.into()), |day| WEEKDAYS[usize::from(day)].to_owned());
        return Ok(names.join(",").replace(" to ", "-"));
    }
    let numbers: Vec<(usize, u8)> = (1..)
        .zip(&days.nth_weekdays)
        .flat_map(|(weekday, numbers)| bits((*numbers).into()).map(move |number| (weekday, number)))
        .collect();
    match (days.weekdays, &numbers[..]) {
        (0, [(weekday, 0)]) => Ok(format!("{weekday}L")),
        (0, [(weekday, number)]) => Ok(format!("{weekday}#{number}")),
        _ => Err(Untranslatable::new(
            "Quartz takes only one `#` or `L` day of the week, and no other beside it",
        )),
    }
}
