//! A schedule in words: what it means, field by field, and what the changes of its zone do to it.
//!
//! ```text
//! At 02:30 on Monday to Friday.                 sentence
//!   minute  30     30                           fields: unit, text, values
//! note: a fixed-time job: ...                   notes
//! on Sun 2026-03-08 the clock goes ...          changes
//! warning: ...                                  warnings
//! ```
//!
//! Made for reading and not for speed: it allocates for every line. The wording may change from version to
//! version.

use std::fmt;

use jiff::Timestamp;

use crate::civil::Calendar;
use crate::days::Join;
use crate::error::Warning;
use crate::expression::Expression;
use crate::oncalendar::OnCalendar;
use crate::options::{DayRule, Dialect};
use crate::pattern::Pattern;
use crate::schedule::Schedule;
use crate::second::Moments;
use crate::unit::Unit;

mod change;
mod day;
mod list;
mod time;

pub use change::ClockChange;
pub(crate) use day::year_members;
pub(crate) use list::{Shape, compact, members, runs, shape};

/// One change forward and one back, as most zones have in a year.
const LISTED_CHANGES: usize = 2;

/// A schedule in words: the result of [`Schedule::explain`].
///
/// `Display` writes all of it on several lines. The wording may change from version to version.
///
/// # Example
/// ```
/// use mainspring_cron::Schedule;
///
/// let schedule = Schedule::parse("0 0 13 * fri", "UTC")?;
/// let explanation = schedule.explain("2025-01-01T00:00:00Z".parse()?);
/// assert_eq!(
///     explanation.sentence,
///     "At 00:00 on the 13th of the month, and also on every Friday."
/// );
/// assert_eq!(
///     explanation.notes[0],
///     "neither day field begins with `*`, so one of them is enough"
/// );
/// assert_eq!(explanation.fields.len(), 7);
/// assert!(explanation.changes.is_empty(), "UTC never changes its clock");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// One English sentence: when it is due.
    pub sentence: String,
    /// The values of each field, from seconds to years; empty for expressions that have no fields.
    pub fields: Vec<FieldSet>,
    /// How the dialect, the day rule and the policy affect it. Lower case, no full stop.
    pub notes: Vec<String>,
    /// The zone's next changes of the clock within a year, at most two, the earliest first.
    pub changes: Vec<ClockChange>,
    /// What is valid but probably not meant, with its place in the text. Besides the warnings of the
    /// expression these name fixed times that a change of the next year leaves out.
    pub warnings: Vec<Warning>,
}

/// The values that a field allows: a line of [`Explanation::fields`].
///
/// # Example
/// ```
/// use mainspring_cron::{Schedule, Unit};
///
/// let schedule = Schedule::parse("0 9-17 L * *", "UTC")?;
/// let fields = schedule.explain("2025-01-01T00:00:00Z".parse()?).fields;
/// let day = fields.iter().find(|field| field.unit == Unit::DayOfMonth).expect("all seven are there");
/// assert_eq!((day.text.as_str(), day.values.as_str()), ("L", "the last day"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldSet {
    /// The field.
    pub unit: Unit,
    /// The text of the field; empty if the expression does not have this field.
    pub text: String,
    /// The values: numbers with runs as `9-17`, or words for days that differ from month to month.
    pub values: String,
}

impl Schedule {
    /// Explains the schedule in English.
    ///
    /// `from` is the moment from which the next changes of the clock are counted; nothing else depends on it.
    /// Allocates; made for reading and not for speed.
    ///
    /// # Example
    /// ```
    /// use mainspring_cron::Schedule;
    ///
    /// let schedule = Schedule::parse("30 2 * * 1-5", "America/New_York")?;
    /// let explanation = schedule.explain("2025-01-01T00:00:00Z".parse()?);
    /// assert_eq!(explanation.sentence, "At 02:30 on Monday to Friday.");
    /// assert_eq!(explanation.changes.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain(&self, from: Timestamp) -> Explanation {
        let mut explanation = Explanation {
            sentence: self.expression().sentence(),
            fields: self.expression().field_sets(),
            notes: notes(self),
            changes: Vec::new(),
            warnings: self.expression().warnings().to_vec(),
        };
        if let Some(zoned) = self.zoned_calendar() {
            let changes = change::coming(&zoned, from);
            if is_fixed(self) {
                explanation.warnings.extend(changes.iter().filter_map(|change| gap_warning(self, change)));
            }
            explanation.changes = changes.into_iter().take(LISTED_CHANGES).collect();
        }
        explanation
    }
}

impl Expression {
    /// Writes in one English sentence when the expression is due. Allocates.
    ///
    /// # Example
    /// ```
    /// use mainspring_cron::Expression;
    ///
    /// let sentence = |text| Expression::parse(text).map(|expression| expression.sentence());
    /// assert_eq!(sentence("*/5 * * * *")?, "Every 5 minutes.");
    /// assert_eq!(sentence("0 0 L * *")?, "At 00:00 on the last day of the month.");
    /// # Ok::<(), mainspring_cron::ParseError>(())
    /// ```
    pub fn sentence(&self) -> String {
        let text = match self {
            Expression::Calendar(pattern) => calendar_phrase(pattern.calendar()),
            Expression::OnCalendar(calendar) => match calendar.zone().and_then(|zone| zone.iana_name()) {
                Some(zone) => format!("{}, in the zone {zone}", calendar_phrase(calendar.calendar())),
                None => calendar_phrase(calendar.calendar()),
            },
            Expression::Every(every) => {
                let period = every.to_string();
                let period = period.trim_start_matches("@every ");
                format!("every {period}, counted from the Unix epoch")
            }
            Expression::At(moment) => format!("once, at {moment}"),
            Expression::Reboot => "when the machine starts".to_owned(),
        };
        let mut letters = text.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).chain(['.']).collect()
    }

    fn field_sets(&self) -> Vec<FieldSet> {
        match self {
            Expression::Calendar(pattern) => {
                let written = |unit| pattern.field(unit).map_or(String::new(), |field| field.text.clone());
                field_sets(pattern.calendar(), written)
            }
            Expression::OnCalendar(calendar) => field_sets(calendar.calendar(), |_| String::new()),
            Expression::Every(_) | Expression::At(_) | Expression::Reboot => Vec::new(),
        }
    }
}

fn calendar_phrase(calendar: &Calendar) -> String {
    let (time, reach) = time::time_phrase(calendar);
    match (day::day_phrase(calendar), reach) {
        (None, time::PhraseScope::TimesOfDay) => format!("{time} every day"),
        (None, time::PhraseScope::AllDay) => time,
        (Some(days), time::PhraseScope::TimesOfDay) if days.starts_with("in ") => {
            format!("{time} every day {days}")
        }
        (Some(days), _) => format!("{time} {days}"),
    }
}

fn field_sets(calendar: &Calendar, written: impl Fn(Unit) -> String) -> Vec<FieldSet> {
    let fields = calendar.fields();
    let (dates, weekdays) = day::day_sets(&fields.days);
    let seconds = match &fields.moments {
        Moments::Whole(seconds) => compact(&members(*seconds)),
        Moments::Fractions(_) => time::time_phrase(calendar).0,
    };
    let years = fields.years.map_or("every year".to_owned(), |years| compact(&year_members(years)));
    let sets = [
        (Unit::Second, seconds),
        (Unit::Minute, compact(&members(fields.minutes))),
        (Unit::Hour, compact(&members(fields.hours.into()))),
        (Unit::DayOfMonth, dates),
        (Unit::Month, compact(&members(fields.months.into()))),
        (Unit::DayOfWeek, weekdays),
        (Unit::Year, years),
    ];
    sets.into_iter().map(|(unit, values)| FieldSet { unit, text: written(unit), values }).collect()
}

fn notes(schedule: &Schedule) -> Vec<String> {
    let only = |note: &str| vec![note.to_owned()];
    let mut notes = match schedule.expression() {
        Expression::Calendar(pattern) => pattern_notes(pattern),
        Expression::OnCalendar(calendar) => oncalendar_notes(calendar),
        Expression::Every(_) => {
            return only("a period is counted on the time line: no change of the clock moves it");
        }
        Expression::At(_) => return only("it runs once, and then never again"),
        Expression::Reboot => return only("it has no time: it runs once at each start of the machine"),
    };
    let dst = schedule.dst();
    notes.push(match is_fixed(schedule) {
        true => format!(
            "it runs at fixed times: when the clock changes by less than three hours the policy `{dst}` holds"
        ),
        false => {
            "the minute or the hour begins with `*`: it follows the wall clock when that changes".to_owned()
        }
    });
    notes
}

fn pattern_notes(pattern: &Pattern) -> Vec<String> {
    let mut notes = Vec::new();
    let text = pattern.to_string();
    if text.starts_with('@') {
        let fields: Vec<&str> = pattern.fields().iter().map(|field| field.text.as_str()).collect();
        notes.push(format!("`{text}` stands for `{}`", fields.join(" ")));
    }
    match pattern.dialect() {
        Dialect::Unix => {}
        Dialect::Quartz => {
            notes.push("Quartz counts the days of the week from 1 (Sunday) to 7 (Saturday)".to_owned());
        }
    }
    let written = |unit| pattern.field(unit).map_or("*", |field| field.text.as_str());
    let (date, weekday) = (written(Unit::DayOfMonth), written(Unit::DayOfWeek));
    if matches!(date, "*" | "?") || matches!(weekday, "*" | "?") {
        return notes;
    }
    let reason = match (pattern.day_rule(), pattern.calendar().fields().days.join) {
        (_, Join::And) if weekday.starts_with('+') => {
            "the weekday begins with `+`, so both day fields must match"
        }
        (DayRule::Star, Join::And) => "a day field begins with `*`, so both day fields must match",
        (DayRule::Star, Join::Or) => "neither day field begins with `*`, so one of them is enough",
        (DayRule::Or, _) => "by the rule `or` one of the day fields is enough",
        (DayRule::And, _) => "by the rule `and` both day fields must match",
    };
    notes.push(reason.to_owned());
    notes
}

fn oncalendar_notes(calendar: &OnCalendar) -> Vec<String> {
    let mut notes = vec!["in OnCalendar the weekday and the date must both match".to_owned()];
    if calendar.zone().is_some() {
        notes.push("the zone in the expression is used, and not that of the schedule".to_owned());
    }
    notes
}

fn gap_warning(schedule: &Schedule, change: &ClockChange) -> Option<Warning> {
    let text = format!("a time inside of a gap within a year: {}; {}", change.text, change.effect);
    let whole = 0..schedule.expression().to_string().len();
    let span = time_span(schedule).unwrap_or(whole);
    change.hits_gap.then_some(Warning { span, text })
}

/// Whether the policy applies, and not the wall clock alone.
fn is_fixed(schedule: &Schedule) -> bool {
    match schedule.expression() {
        Expression::Calendar(pattern) => !pattern.is_wildcard(),
        Expression::OnCalendar(_) => true,
        Expression::Every(_) | Expression::At(_) | Expression::Reboot => false,
    }
}

/// Where the minute and the hour stand.
fn time_span(schedule: &Schedule) -> Option<std::ops::Range<usize>> {
    let Expression::Calendar(pattern) = schedule.expression() else { return None };
    Some(pattern.field(Unit::Minute)?.span.start..pattern.field(Unit::Hour)?.span.end)
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.sentence)?;
        let width_of = |field: &FieldSet| field.text.chars().count();
        let text_width = self.fields.iter().map(width_of).max().unwrap_or(0);
        for field in &self.fields {
            let unit = field.unit.to_string();
            // Not a width of `format!`: that panics above 65,535.
            let indent = " ".repeat(text_width - width_of(field));
            writeln!(f, "  {unit:<16}  {}{indent}  {}", field.text, field.values)?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "note: {note}"))?;
        self.changes
            .iter()
            .try_for_each(|change| writeln!(f, "clock: {}: {}", change.text, change.effect))?;
        self.warnings.iter().try_for_each(|warning| writeln!(f, "warning: {warning}"))
    }
}
