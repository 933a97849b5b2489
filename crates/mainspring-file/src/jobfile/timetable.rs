//! The timetable of a job: its triggers, exclusions, start and end.
//!
//! ```text
//! cron = ["0 9 * * mon-fri", "0 11 * * sat"]     a string or a list of them, as are oncalendar, every and at
//! zone = "Europe/Berlin"                         of cron, oncalendar, exclude, and of times without an offset
//! after = ["extract", { job = "load", on = "any" }]   the ends of other jobs' runs
//! exclude = "* 12 * * *"                         a cron expression: what lies in a minute that it names
//! exclude_dates = ["2026-12-24..2026-12-26"]     whole days
//! ```
//!
//! Cost: one parse per expression.
//!
//! Does not evaluate anything.

use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use mainspring_cron::{
    DayRule, Dialect, DstPolicy, Expression, ParseError, ParseOptions, Schedule, TimeText,
};
use mainspring_job::{After, Ending, Exclusion, JobName, Timetable, TimetableError, Trigger};
use toml::Spanned;
use toml::de::DeValue;

use super::fields::{Faults, Fields, Name, Text, text_of};
use crate::problem::Fault;
use crate::system_zone::zone_named;

/// The keys of which a job has at least one.
pub(super) const TRIGGERS: &[&str] =
    &["cron", "oncalendar", "every", "at", "at_boot", "at_server_start", "after"];

/// The other keys.
pub(super) const OPTIONS: &[&str] =
    &["zone", "dst", "dialect", "day_rule", "hash", "exclude", "exclude_dates", "start", "end"];

/// How expressions are read.
struct Options<'d> {
    zone: TimeZone,
    dst: Option<DstPolicy>,
    dialect: Dialect,
    day_rule: DayRule,
    hash: &'d str,
}

/// Whether a job says when it is due.
pub(super) fn has_trigger(fields: &Fields<'_, '_>) -> bool {
    TRIGGERS.iter().any(|trigger| fields.has_own(trigger))
}

/// The timetable of a job, and the zone in which it is thought of.
pub(super) fn read(
    name: &Name<'_>,
    fields: &Fields<'_, '_>,
    zone: &TimeZone,
    faults: &mut Faults<'_>,
) -> (Option<Timetable>, TimeZone) {
    let before_count = faults.count();
    let options = options(name.get_ref(), fields, zone, faults);
    let mut triggers: Vec<Trigger> =
        triggers(fields, &options, faults).into_iter().map(Trigger::from).collect();
    if fields.boolean("at_server_start", faults) == Some(true) {
        triggers.push(Trigger::ServerStart);
    }
    triggers.extend(follows(fields, faults).into_iter().map(|(after, _)| Trigger::from(after)));
    let exclusions = exclusions(fields, &options, faults);
    let start = fields.get("start").and_then(|value| moment(value, &options.zone, faults));
    let end = fields.get("end").and_then(|value| moment(value, &options.zone, faults));
    let made = Timetable::new(triggers).and_then(|made| made.without(exclusions));
    let timetable = match made.and_then(|made| made.between(start, end)) {
        Ok(timetable) => Some(timetable),
        // With a faulty trigger there is none left, which need not be said as well; that there is none at all
        // is said elsewhere.
        Err(TimetableError::NoTrigger) if before_count < faults.count() || !has_trigger(fields) => None,
        Err(error) => {
            faults.push(Fault::new(name.span(), error.to_string()));
            None
        }
    };
    (timetable, options.zone)
}

/// Reads what `[defaults]` may say, for its faults.
pub(super) fn check_options(fields: &Fields<'_, '_>, zone: &TimeZone, faults: &mut Faults<'_>) {
    let options = options("", fields, zone, faults);
    exclusions(fields, &options, faults);
    for name in ["start", "end"] {
        fields.get(name).and_then(|value| moment(value, &options.zone, faults));
    }
}

fn options<'d>(
    job_name: &'d str,
    fields: &Fields<'d, '_>,
    zone: &TimeZone,
    faults: &mut Faults<'_>,
) -> Options<'d> {
    let zone = match fields.text("zone", faults) {
        None => zone.clone(),
        Some(text) => zone_named(text.value, text.span).unwrap_or_else(|fault| {
            faults.push(fault);
            zone.clone()
        }),
    };
    Options {
        zone,
        dst: word("dst", fields, faults),
        dialect: word("dialect", fields, faults).unwrap_or_default(),
        day_rule: word("day_rule", fields, faults).unwrap_or_default(),
        hash: fields.text("hash", faults).map_or(job_name, |text| text.value),
    }
}

/// A word out of a closed list.
fn word<T: std::str::FromStr<Err: std::fmt::Display>>(
    name: &str,
    fields: &Fields<'_, '_>,
    faults: &mut Faults<'_>,
) -> Option<T> {
    let text = fields.text(name, faults)?;
    faults.accept(text.span, text.value.parse())
}

fn triggers(fields: &Fields<'_, '_>, options: &Options<'_>, faults: &mut Faults<'_>) -> Vec<Schedule> {
    let mut found = Vec::new();
    for text in fields.texts("cron", faults) {
        found.extend(schedule(&text, 0, cron(text.value, options), options, faults));
    }
    for text in fields.texts("oncalendar", faults) {
        found.extend(schedule(&text, 0, Expression::parse_oncalendar(text.value), options, faults));
    }
    for text in fields.texts("every", faults) {
        let written = format!("@every {}", text.value);
        let prefix = written.len() - text.value.len();
        found.extend(schedule(&text, prefix, Expression::parse(&written), options, faults));
    }
    for value in fields.values("at") {
        found.extend(
            moment(value, &options.zone, faults)
                .map(|at| Schedule::new(Expression::At(at), options.zone.clone())),
        );
    }
    if fields.boolean("at_boot", faults) == Some(true) {
        found.push(Schedule::new(Expression::Reboot, options.zone.clone()));
    }
    found
}

/// The ends of other jobs' runs, each with the place of the job's name in the file.
pub(super) fn follows(fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> Vec<(After, Range<usize>)> {
    fields.values("after").into_iter().filter_map(|value| after(value, faults)).collect()
}

fn after(value: &Spanned<DeValue<'_>>, faults: &mut Faults<'_>) -> Option<(After, Range<usize>)> {
    let DeValue::Table(table) = value.get_ref() else {
        return named(text_of(value, faults)?, Ending::default(), faults);
    };
    let fields = Fields::of(table);
    fields.check_known(&["job", "on"], faults);
    let job = fields.text("job", faults);
    let ending = match fields.text("on", faults) {
        None => Some(Ending::default()),
        Some(text) => {
            let expected = "expected \"succeeded\", \"failed\" or \"any\"";
            faults.expect(Ending::from_name(text.value), || Fault::new(text.span, expected))
        }
    };
    if !fields.has("job") {
        let fault = Fault::new(value.span(), "the job that is followed is missing");
        faults.push(fault.with_hint("for example: { job = \"extract\", on = \"failed\" }"));
    }
    named(job?, ending?, faults)
}

fn named(text: Text<'_>, ending: Ending, faults: &mut Faults<'_>) -> Option<(After, Range<usize>)> {
    let name = faults.accept(text.span.clone(), JobName::new(text.value))?;
    Some((After::new(name, ending), text.span))
}

fn cron(text: &str, options: &Options<'_>) -> Result<Expression, ParseError> {
    let Options { dialect, day_rule, hash, .. } = *options;
    let reading = ParseOptions::new().with_dialect(dialect).with_day_rule(day_rule).with_job_name(hash);
    Expression::parse_with(text, &reading)
}

/// A schedule, or a fault at its place. `prefix` characters stand before the text in what was parsed.
fn schedule(
    text: &Text<'_>,
    prefix: usize,
    parsed: Result<Expression, ParseError>,
    options: &Options<'_>,
    faults: &mut Faults<'_>,
) -> Option<Schedule> {
    match parsed {
        Ok(expression) => {
            let schedule = Schedule::new(expression, options.zone.clone());
            Some(options.dst.into_iter().fold(schedule, Schedule::with_dst))
        }
        Err(error) => {
            let fault = Fault::from(error);
            let place = |at: usize| at.saturating_sub(prefix).min(text.value.len());
            let span: Range<usize> = place(fault.span.start)..place(fault.span.end);
            faults.push_inside(text, Fault { span, ..fault });
            None
        }
    }
}

fn exclusions(fields: &Fields<'_, '_>, options: &Options<'_>, faults: &mut Faults<'_>) -> Vec<Exclusion> {
    let mut found = Vec::new();
    for text in fields.texts("exclude", faults) {
        let schedule = schedule(&text, 0, cron(text.value, options), options, faults);
        found.extend(schedule.map(|schedule| Exclusion::Times(Box::new(schedule))));
    }
    for value in fields.values("exclude_dates") {
        found.extend(dates(value, &options.zone, faults));
    }
    found
}

fn dates(value: &Spanned<DeValue<'_>>, zone: &TimeZone, faults: &mut Faults<'_>) -> Option<Exclusion> {
    let form = "expected a day such as \"2026-12-24\", or days such as \"2026-12-24..2026-12-26\"";
    let text = match value.get_ref() {
        DeValue::Datetime(date) => date.to_string(),
        _ => text_of(value, faults)?.value.to_owned(),
    };
    let (first, last) = text.split_once("..").unwrap_or((&text, &text));
    let read = match (day(first), day(last)) {
        (Some(first), Some(last)) if last < first => {
            Err(format!("{last}, the last of these days, comes before the first"))
        }
        (Some(first), Some(last)) => Ok(Exclusion::Dates { first, last, zone: zone.clone() }),
        _ => Err(form.to_owned()),
    };
    faults.accept(value.span(), read)
}

/// A day that is nothing else: what reads dates skips the time behind one.
fn day(text: &str) -> Option<Date> {
    text.parse::<Date>().ok().filter(|date| date.to_string() == text)
}

/// A time with an offset, or without one in the zone; as a string or as a date of TOML.
fn moment(value: &Spanned<DeValue<'_>>, zone: &TimeZone, faults: &mut Faults<'_>) -> Option<Timestamp> {
    let text = match value.get_ref() {
        DeValue::Datetime(date) => date.to_string(),
        _ => text_of(value, faults)?.value.to_owned(),
    };
    match TimeText::parse(&text) {
        Ok(time) => time.in_zone(zone),
        Err(error) => {
            // The hint says what a time is; what is wrong with a zone it does not say.
            let why = if text.contains('[') { format!(": {error}") } else { String::new() };
            let fault = Fault::new(value.span(), format!("`{text}` is no time{why}"));
            faults.push(
                fault.with_hint(
                    "a time is written as 2026-12-31T23:59:00Z, or without the Z in the job's zone",
                ),
            );
            None
        }
    }
}
