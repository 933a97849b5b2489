//! Names, keys, states and policies as text for serde: the feature `serde`.
//!
//! ```text
//! JobName  "backup"                            Policies  "overlap=queue-one retry=3,.."
//! RunKey   "backup@2026-11-21T03:00:00Z#2"     OnceId    "once-..-.."
//! RunState "timed_out"                         Cause     "catch_up"
//! ```
//!
//! Each is written as what its `Display` shows, and read by its `FromStr`; a state and a cause are their
//! names.
//!
//! Cost: that of writing and reading the text.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde_core::de::{self, Deserialize, Deserializer, Visitor};
use serde_core::ser::{Serialize, Serializer};

use crate::name::JobName;
use crate::once::OnceId;
use crate::policy::Policies;
use crate::run::{Cause, RunKey};
use crate::state::RunState;

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

/// As text: `backup`.
impl Serialize for JobName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for JobName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JobName, D::Error> {
        read("the name of a job", deserializer)
    }
}

/// As text: `backup@2026-11-21T03:00:00Z`.
impl Serialize for RunKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RunKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RunKey, D::Error> {
        read("the key of a run", deserializer)
    }
}

/// As text: `timed_out`.
impl Serialize for RunState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for RunState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RunState, D::Error> {
        let name = String::deserialize(deserializer)?;
        RunState::from_name(&name)
            .ok_or_else(|| de::Error::custom(format_args!("there is no state `{name}`")))
    }
}

/// As text: `catch_up`.
impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Cause {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Cause, D::Error> {
        let name = String::deserialize(deserializer)?;
        Cause::from_name(&name).ok_or_else(|| de::Error::custom(format_args!("there is no cause `{name}`")))
    }
}

/// As text: `once-` and two numbers.
impl Serialize for OnceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for OnceId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OnceId, D::Error> {
        read("the id of a one-shot job", deserializer)
    }
}

/// As text: `overlap=queue-one retry=3,backoff=10s`, each with all its parts.
impl Serialize for Policies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Policies {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Policies, D::Error> {
        read("policies such as overlap=skip", deserializer)
    }
}
