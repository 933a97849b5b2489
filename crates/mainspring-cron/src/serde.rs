//! Expressions, schedules and choices as text for serde: the feature `serde`.
//!
//! Each is written as what its `Display` shows, and read by its `FromStr`. Two are stricter when they are
//! written: an [`Expression`] or a [`Schedule`] that would not be read back equal is an error and no wrong
//! text. Writing these two therefore costs one parse.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde_core::de::{self, Deserialize, Deserializer, Visitor};
use serde_core::ser::{self, Serialize, Serializer};

use crate::dst::DstPolicy;
use crate::expression::Expression;
use crate::oncalendar::OnCalendar;
use crate::options::{BareStep, DayRule, Dialect};
use crate::schedule::Schedule;
use crate::translate::Language;

/// Reads a text by the `FromStr` of `T`.
struct Text<T> {
    expected: &'static str,
    read: PhantomData<T>,
}

impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

fn read<'de, T: FromStr<Err: fmt::Display>, D: Deserializer<'de>>(
    expected: &'static str,
    deserializer: D,
) -> Result<T, D::Error> {
    deserializer.deserialize_str(Text { expected, read: PhantomData })
}

/// Writes a text from which the value can be read back.
fn write_checked<T: FromStr + PartialEq, S: Serializer>(
    value: &T,
    text: &str,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if !text.parse().is_ok_and(|read: T| read == *value) {
        return Err(ser::Error::custom(format!(
            "`{text}` does not carry all of it: a day rule, a job's name, a phase or a zone is missing"
        )));
    }
    serializer.serialize_str(text)
}

/// As text: `30 2 * * *`, `OnCalendar=Mon 09:00`, `Quartz=0 0 12 ? * 6#3`.
///
/// # Errors
/// The expression was read with a day rule other than `star`, with a job's name that its `H` needs, or is a
/// period with a phase: its text does not say so.
impl Serialize for Expression {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write_checked(self, &format!("{}{self}", self.language_mark()), serializer)
    }
}

impl<'de> Deserialize<'de> for Expression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Expression, D::Error> {
        read("a cron expression", deserializer)
    }
}

/// As text: `CRON_TZ=Europe/Paris DST=shift 30 2 * * *`.
///
/// # Errors
/// As for [`Expression`], and if the zone has neither a name nor a rule.
impl Serialize for Schedule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write_checked(self, &self.to_string(), serializer)
    }
}

impl<'de> Deserialize<'de> for Schedule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Schedule, D::Error> {
        read("a schedule such as `CRON_TZ=Europe/Paris 30 2 * * *`", deserializer)
    }
}

impl Serialize for OnCalendar {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for OnCalendar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OnCalendar, D::Error> {
        read("a calendar expression of systemd", deserializer)
    }
}

impl Serialize for DstPolicy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DstPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<DstPolicy, D::Error> {
        read("cron, literal, skip, shift or gap+overlap", deserializer)
    }
}

impl Serialize for Language {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Language {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Language, D::Error> {
        read("unix, quartz or oncalendar", deserializer)
    }
}

impl Serialize for Dialect {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Dialect {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Dialect, D::Error> {
        read("unix or quartz", deserializer)
    }
}

impl Serialize for DayRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DayRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<DayRule, D::Error> {
        read("star, or, and", deserializer)
    }
}

impl Serialize for BareStep {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BareStep {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<BareStep, D::Error> {
        read("warn or reject", deserializer)
    }
}
