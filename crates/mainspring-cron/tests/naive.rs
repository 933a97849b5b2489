//! Random expressions against a reader that knows no sets: it asks the text itself whether a moment matches.

use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};
use mainspring_cron::{Expression, Schedule};

use crate::random::Random;
use crate::replay;

const SECOND: SignedDuration = SignedDuration::from_secs(1);
/// The rarest random day, a 29 February on one weekday, comes at least every 40 years.
const YEARS: i64 = 41;

/// The seven fields of a text, with those that it leaves out.
fn fields(text: &str) -> Vec<&str> {
    let mut fields: Vec<&str> = text.split(' ').collect();
    if fields.len() == 5 {
        fields.insert(0, "0");
    }
    fields
}

fn matches(text: &str, time: DateTime) -> bool {
    let fields = fields(text);
    matches_number(fields[0], time.second().into(), 0, 59)
        && matches_number(fields[1], time.minute().into(), 0, 59)
        && matches_number(fields[2], time.hour().into(), 0, 23)
        && matches_date(text, time.date())
}

fn matches_number(field: &str, value: i16, first: i16, last: i16) -> bool {
    field.split(',').any(|item| {
        let (body, step) =
            item.split_once('/').map_or((item, 1), |(body, step)| (body, step.parse().unwrap()));
        let (low, high) = match body.split_once('-') {
            Some((low, high)) => (low.parse().unwrap(), high.parse().unwrap()),
            None if body == "*" => (first, last),
            None => (body.parse().unwrap(), body.parse().unwrap()),
        };
        low <= value && value <= high && (value - low) % step == 0
    })
}

fn matches_date(text: &str, date: Date) -> bool {
    let fields = fields(text);
    let has_date = fields[3].split(',').any(|item| matches_day_item(item, date));
    let weekdays = fields[5].strip_prefix('+').unwrap_or(fields[5]);
    let has_weekday = weekdays.split(',').any(|item| matches_weekday_item(item, date));
    let both = fields[3].starts_with('*') || fields[5].starts_with(['*', '+']);
    let has_day = if both { has_date && has_weekday } else { has_date || has_weekday };
    has_day && matches_number(fields[4], date.month().into(), 1, 12)
}

fn matches_day_item(item: &str, date: Date) -> bool {
    let day_of = |text: &str| match text.strip_prefix('L') {
        Some("") => i16::from(date.days_in_month()),
        Some(back) => i16::from(date.days_in_month()) + back.parse::<i16>().unwrap(),
        None => text.parse().unwrap(),
    };
    match item.strip_suffix('W') {
        Some(day) => {
            let wanted = i8::try_from(day_of(day)).unwrap();
            let wanted = Date::new(date.year(), date.month(), wanted);
            // The workday at the least distance: it is one or two days away.
            wanted.is_ok_and(|wanted| {
                let is_near = |days: &i64| {
                    let near = wanted.checked_add(days.days()).unwrap();
                    near.month() == date.month()
                        && !matches!(near.weekday(), Weekday::Saturday | Weekday::Sunday)
                };
                let nearest = [0, -1, 1, -2, 2].into_iter().find(is_near).unwrap();
                wanted.checked_add(nearest.days()).unwrap() == date
            })
        }
        None if item.starts_with('L') => day_of(item) == i16::from(date.day()),
        None => matches_number(item, date.day().into(), 1, 31),
    }
}

fn matches_weekday_item(item: &str, date: Date) -> bool {
    let weekday = i16::from(date.weekday().to_sunday_zero_offset());
    let is_day = |text: &str| text.parse::<i16>().unwrap() % 7 == weekday;
    let is_last = date.day() + 7 > date.days_in_month();
    match (item.split_once('#'), item.strip_suffix('L')) {
        (Some((day, "L")), _) | (None, Some(day)) => is_day(day) && is_last,
        (Some((day, number)), _) => is_day(day) && (date.day() + 6) / 7 == number.parse::<i8>().unwrap(),
        (None, None) => {
            matches_number(item, weekday, 0, 6)
                || weekday == 0 && !item.starts_with('*') && matches_number(item, 7, 0, 7)
        }
    }
}

/// Whether the text names no moment strictly between two others, by looking at all of them.
fn is_silent_between(text: &str, after: DateTime, before: DateTime) -> bool {
    let mut date = after.date();
    while date < before.date() {
        if date != after.date() && matches_date(text, date) {
            return false;
        }
        date = date.tomorrow().unwrap();
    }
    [after.date(), before.date()].into_iter().filter(|date| matches_date(text, *date)).all(|date| {
        let step = if text.split(' ').count() == 5 { 60 } else { 1 };
        let seconds = (0..86_400).step_by(step);
        let mut times = seconds.map(|second| {
            date.to_datetime(jiff::civil::Time::midnight()) + SignedDuration::from_secs(second)
        });
        !times.any(|time| after < time && time < before && matches(text, time))
    })
}

fn check(seed: u64) {
    let mut random = Random::new(seed);
    let text = random.expression();
    let start = random.moment();
    let schedule = Schedule::new(Expression::parse(&text).unwrap(), TimeZone::UTC);
    let civil = |moment: Timestamp| TimeZone::UTC.to_datetime(moment);
    let Some(next) = schedule.next_after(start).map(|time| time.timestamp()) else {
        let end = civil(start).checked_add(YEARS.years()).unwrap();
        assert!(
            is_silent_between(&text, civil(start), end),
            "seed {seed}: {text} after {start} is not never"
        );
        return;
    };
    assert!(start < next, "seed {seed}: {text} after {start} goes back to {next}");
    assert!(matches(&text, civil(next)), "seed {seed}: {text} after {start} does not match {next}");
    assert!(
        is_silent_between(&text, civil(start), civil(next)),
        "seed {seed}: {text} after {start} leaps over one to {next}"
    );
    let found = schedule.prev_before(next + SECOND).map(|time| time.timestamp());
    assert_eq!(found, Some(next), "seed {seed}: {text} loses {next} on the way back");
    let prev = schedule.prev_before(next).map(|time| time.timestamp());
    if let Some(prev) = prev {
        assert!(prev <= start, "seed {seed}: {text} finds {prev} between {start} and {next}");
        assert!(matches(&text, civil(prev)), "seed {seed}: {text} does not match {prev}");
        assert_eq!(
            schedule.next_after(prev).map(|time| time.timestamp()),
            Some(next),
            "seed {seed}: {text} from {prev}"
        );
    }
}

#[test]
fn two_thousand_random_expressions_match_as_their_texts_say() {
    replay::each_seed(0..2_000, check);
}
