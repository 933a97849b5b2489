//! Schemas of words of a table: the states and causes of runs, and the names of dialects.
//!
//! Cost: none; the description of the HTTP API alone has them.
//!
//! Does not describe a [`Word`] of another version: the description is that of this one.

use std::borrow::Cow;

use mainspring_cron::Language;
use mainspring_job::{Cause, RunState};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::Word;

impl JsonSchema for Word<RunState> {
    fn schema_name() -> Cow<'static, str> {
        "RunState".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        one_of(&RunState::ALL.map(RunState::name))
    }
}

impl JsonSchema for Word<Cause> {
    fn schema_name() -> Cow<'static, str> {
        "Cause".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        one_of(&Cause::ALL.map(Cause::name))
    }
}

/// The name of a [`Language`].
#[derive(Debug)]
pub struct DialectName;

impl JsonSchema for DialectName {
    fn schema_name() -> Cow<'static, str> {
        "Dialect".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        one_of(&[Language::Cron, Language::Quartz, Language::OnCalendar])
    }
}

fn one_of(words: &[impl Serialize]) -> Schema {
    json_schema!({ "type": "string", "enum": words })
}
