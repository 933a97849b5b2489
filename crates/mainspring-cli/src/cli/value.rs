//! The values of options, from text.
//!
//! | value | is written | |
//! |---|---|---|
//! | zone | `Europe/Berlin` | a name of the IANA database |
//! | time | `2026-12-31T23:59:00+01:00` | RFC 3339, with an offset or a zone in brackets |
//! | grace, duration | `500ms`, `10s`, `1h30m` | at most [`MAX_GRACE`], [`MAX_DURATION`] |
//!
//! Cost: none worth a word.
//!
//! Does not read configuration files or the environment.
//!
//! Source: <https://www.rfc-editor.org/rfc/rfc3339> for times.

use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use mainspring_cron::TimeText;
use mainspring_job::{RunState, read_duration};

use crate::simulation::{ClockSet, Outage};

/// The longest grace period.
pub const MAX_GRACE: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest duration of a run that a simulation takes: a year.
pub const MAX_DURATION: Duration = Duration::from_secs(366 * 24 * 60 * 60);

const _: () = assert!(MAX_GRACE.as_secs() == 24 * 3_600, "`24h` is told as the longest");
const _: () = assert!(MAX_DURATION.as_secs() == 8_784 * 3_600, "`366d`, `8784h` is told as the longest");

pub(super) fn parse_zone(text: &str) -> Result<TimeZone, String> {
    let unknown = |_| "names are those of the IANA database, such as Europe/Berlin or UTC".to_owned();
    TimeZone::get(text).map_err(unknown)
}

pub(super) fn parse_time(text: &str) -> Result<Timestamp, String> {
    let form = "a time is written as 2026-12-31T23:59:00Z or 2026-12-31T23:59:00+01:00";
    TimeText::instant(text).map_err(|error| match text.contains('[') {
        true => error.to_string(),
        false => form.to_owned(),
    })
}

pub(super) fn parse_grace(text: &str) -> Result<Duration, String> {
    let grace = parse_duration(text)?;
    if MAX_GRACE < grace {
        return Err("the longest grace period is 24h".to_owned());
    }
    Ok(grace)
}

/// How long the runs of a job take: one part of `--durations`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedDuration {
    /// The name of a job, or `*`.
    pub name: String,
    /// At most [`MAX_DURATION`].
    pub duration: Duration,
}

pub(super) fn parse_named_duration(text: &str) -> Result<NamedDuration, String> {
    let (name, duration) = text
        .rsplit_once('=')
        .ok_or_else(|| "it is written as NAME=DURATION, such as backup=30s".to_owned())?;
    if name.is_empty() {
        return Err("there is no name before the =".to_owned());
    }
    let duration = parse_duration(duration)?;
    if MAX_DURATION < duration {
        return Err("the longest duration is 366d, written as 8784h".to_owned());
    }
    Ok(NamedDuration { name: name.to_owned(), duration })
}

/// `FROM..TO`: a stretch in which no server runs.
pub(super) fn parse_outage(text: &str) -> Result<Outage, String> {
    let (from, to) = text.split_once("..").ok_or("it is written as FROM..TO, two times")?;
    let (from, to) = (parse_time(from)?, parse_time(to)?);
    if to <= from {
        return Err("the second time must be later than the first".to_owned());
    }
    Ok(Outage { from, to })
}

/// `AT=TO`: a moment at which the clock is set.
pub(super) fn parse_clock_set(text: &str) -> Result<ClockSet, String> {
    let (at, to) = text.split_once('=').ok_or("it is written as BEFORE=AFTER, two times")?;
    Ok(ClockSet { at: parse_time(at)?, to: parse_time(to)? })
}

/// A time as people write it, before anybody has looked at a clock or a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// At that time; without an offset it is of the system's zone.
    At(TimeText),
    /// The next time that the clocks of the system's zone show this.
    Clock(Time),
    /// The last time that they showed it.
    LastClock(Time),
    /// When they show this on the day after today, and without a time what they show now.
    Tomorrow(Option<Time>),
    /// So long from now.
    After(Duration),
    /// So long ago.
    Ago(Duration),
}

impl Moment {
    /// The instant that is meant at `now` in a zone.
    ///
    /// # Errors
    ///
    /// When it lies beyond the calendar.
    pub fn resolve(&self, now: Timestamp, zone: &TimeZone) -> Result<Timestamp, jiff::Error> {
        match self {
            Moment::At(TimeText::At(instant)) => Ok(*instant),
            Moment::At(TimeText::Civil(time)) => Ok(time.to_zoned(zone.clone())?.timestamp()),
            Moment::After(delay) => now.checked_add(*delay),
            Moment::Ago(length) => now.checked_sub(*length),
            Moment::Tomorrow(time) => {
                let now = now.to_zoned(zone.clone());
                let time = time.unwrap_or(now.time());
                Ok(now.date().tomorrow()?.to_datetime(time).to_zoned(zone.clone())?.timestamp())
            }
            Moment::Clock(time) | Moment::LastClock(time) => {
                let today = now.to_zoned(zone.clone()).date();
                let on = |date: Date| Ok(date.to_datetime(*time).to_zoned(zone.clone())?.timestamp());
                match (self, on(today)?) {
                    (Moment::LastClock(_), at) if now < at => on(today.yesterday()?),
                    (Moment::Clock(_), at) if at <= now => on(today.tomorrow()?),
                    (_, at) => Ok(at),
                }
            }
        }
    }
}

/// So long from now, without a sign before it.
pub(super) fn parse_later(text: &str) -> Result<Moment, String> {
    parse_duration(text).map(Moment::After)
}

pub(super) fn parse_moment(text: &str) -> Result<Moment, String> {
    signed_moment(text, '+', Moment::After)
}

/// A time to look back to: a time of day is the last one, and `-90m` is so long ago. As it may begin with a
/// hyphen, it is what an option is taken for that the command does not have.
pub(super) fn parse_past(text: &str) -> Result<Moment, String> {
    if text.starts_with("--") {
        return Err("the command has no such option".to_owned());
    }
    signed_moment(text, '-', Moment::Ago).map(|moment| match moment {
        Moment::Clock(time) => Moment::LastClock(time),
        other => other,
    })
}

/// A time, or a sign and how far that is from now.
fn signed_moment(text: &str, sign: char, from_now: fn(Duration) -> Moment) -> Result<Moment, String> {
    if let Some(length) = text.strip_prefix(sign) {
        return parse_duration(length).map(from_now);
    }
    let form = format!(
        "a time is written as 17:30, noon, tomorrow, 'tomorrow 9:00', '2026-12-31 23:59', \
         2026-12-31T23:59:00Z, {sign}90m or {sign}1d1h"
    );
    let clock = || clock_of(text).map(Moment::Clock);
    let word = match text {
        "now" => Some(Moment::After(Duration::ZERO)),
        "tomorrow" => Some(Moment::Tomorrow(None)),
        _ => text
            .strip_prefix("tomorrow ")
            .map(str::trim)
            .and_then(clock_of)
            .map(|time| Moment::Tomorrow(Some(time))),
    };
    if let Some(found) = word.or_else(clock) {
        return Ok(found);
    }
    TimeText::parse(text).map(Moment::At).map_err(|error| match text.contains('[') {
        true => error.to_string(),
        false => form,
    })
}

/// A time of day, also by the words of at(1), and with an hour of one digit.
fn clock_of(text: &str) -> Option<Time> {
    match text {
        "noon" => Some(Time::constant(12, 0, 0, 0)),
        "midnight" => Some(Time::midnight()),
        // What reads times skips a zone behind one.
        _ if !text.bytes().all(|byte| byte.is_ascii_digit() || b":.".contains(&byte)) => None,
        _ => text.parse().or_else(|_| format!("0{text}").parse()).ok(),
    }
}

pub(super) fn parse_period(text: &str) -> Result<String, String> {
    let period = parse_duration(text)?;
    if period.is_zero() {
        return Err("a period is longer than nothing".to_owned());
    }
    Ok(text.to_owned())
}

pub(super) fn parse_state(text: &str) -> Result<RunState, String> {
    RunState::from_name(text).ok_or_else(|| {
        let names: Vec<&str> = RunState::ALL.iter().map(|state| state.name()).collect();
        format!("states are {}", names.join(", "))
    })
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    read_duration(text).ok_or_else(|| "a duration is written as 500ms, 10s, 2m or 1d12h".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grace_period_has_a_unit_and_a_limit() {
        assert_eq!(parse_grace("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_grace("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_grace("0s"), Ok(Duration::ZERO));
        for bad in ["", "10", "-1s", "25h", "soon"] {
            assert!(parse_grace(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_moment_is_a_time_or_a_delay() {
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let cases = [
            ("now", "2026-11-21T12:00:00Z"),
            ("+90m", "2026-11-21T13:30:00Z"),
            ("12:30", "2026-11-22T11:30:00Z"),
            ("13:30", "2026-11-21T12:30:00Z"),
            ("noon", "2026-11-22T11:00:00Z"),
            ("midnight", "2026-11-21T23:00:00Z"),
            ("9:15", "2026-11-22T08:15:00Z"),
            ("tomorrow 13:30", "2026-11-22T12:30:00Z"),
            ("tomorrow", "2026-11-22T12:00:00Z"),
            ("+1d1h", "2026-11-22T13:00:00Z"),
            ("+2d", "2026-11-23T12:00:00Z"),
            ("2027-01-05T09:00:00[America/New_York]", "2027-01-05T14:00:00Z"),
            ("2027-01-05 09:00", "2027-01-05T08:00:00Z"),
            ("tomorrow noon", "2026-11-22T11:00:00Z"),
            ("2026-12-31 23:59", "2026-12-31T22:59:00Z"),
            ("2026-12-31T23:59:00+02:00", "2026-12-31T21:59:00Z"),
        ];
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        for (text, expected) in cases {
            let moment = parse_moment(text).unwrap();
            assert_eq!(moment.resolve(now, &zone).unwrap().to_string(), expected, "{text}");
        }
        for bad in [
            "",
            "soon",
            "25:00",
            "+",
            "+-1m",
            "+d",
            "+1d-1h",
            "+1dx",
            "+99999999999999999999d",
            "tomorrow x",
            "17:30[Europe/Berlin]",
            "17:30+02:00",
            "tomorrow 9:00[UTC]",
            "2027-01-05T09:00:00Z[Nowhere/Zone]",
            "2027-01-05T09:00:00+01:00[America/New_York]",
            "2027-01-05T09:00 UTC",
        ] {
            assert!(parse_moment(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_time_to_look_back_to_is_the_last_one_or_so_long_ago() {
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let cases = [
            ("13:30", "2026-11-20T12:30:00Z"),
            ("13:00", "2026-11-21T12:00:00Z"),
            ("12:30", "2026-11-21T11:30:00Z"),
            ("noon", "2026-11-21T11:00:00Z"),
            ("-90m", "2026-11-21T10:30:00Z"),
            ("-1d1h", "2026-11-20T11:00:00Z"),
            ("now", "2026-11-21T12:00:00Z"),
            ("2026-11-01 09:00", "2026-11-01T08:00:00Z"),
        ];
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        for (text, expected) in cases {
            let moment = parse_past(text).unwrap();
            assert_eq!(moment.resolve(now, &zone).unwrap().to_string(), expected, "{text}");
        }
        for bad in ["+90m", "--json", "-", "-soon"] {
            assert!(parse_past(bad).is_err(), "{bad}");
        }
        assert!(parse_moment("-90m").is_err(), "what is to come is not in the past");
    }

    #[test]
    fn a_named_duration_has_a_name_and_a_unit_and_a_limit() {
        let parsed = parse_named_duration("12:a=b=1m30s").unwrap();
        assert_eq!((parsed.name.as_str(), parsed.duration.as_secs()), ("12:a=b", 90));
        assert_eq!(parse_named_duration("a=1d").unwrap().duration.as_secs(), 86_400);
        for bad in ["", "10s", "=10s", "a=", "a=10", "a=-1s", "a=8785h"] {
            assert!(parse_named_duration(bad).is_err(), "{bad}");
        }
    }
}
