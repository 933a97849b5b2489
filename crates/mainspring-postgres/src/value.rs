//! What is bound to the places of a statement.
//!
//! Each value says its type, so that a statement is sent with its values at once: a pooler in transaction
//! mode would give its preparation to one session and its execution to another.
//!
//! Cost: none.
//!
//! Does not know the statements.

use std::borrow::Cow;

use tokio_postgres::types::{ToSql, Type};

use super::escape::kept;

/// A text, or a word that the program knows.
pub(super) type Text = Cow<'static, str>;

/// One value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Int(i64),
    MaybeInt(Option<i64>),
    Text(String),
    MaybeText(Option<String>),
    Texts(Vec<String>),
    MaybeInts(Vec<Option<i64>>),
    MaybeTexts(Vec<Option<Text>>),
    Documents(Vec<serde_json::Value>),
}

impl Value {
    /// A text, as it is kept.
    pub(super) fn text(text: &str) -> Value {
        Value::Text(kept(text).into_owned())
    }

    /// The same where there may be none.
    pub(super) fn maybe_text(text: Option<&str>) -> Value {
        Value::MaybeText(text.map(|text| kept(text).into_owned()))
    }

    /// What the protocol is given.
    pub(super) fn bound(&self) -> (&(dyn ToSql + Sync), Type) {
        match self {
            Value::Int(number) => (number, Type::INT8),
            Value::MaybeInt(number) => (number, Type::INT8),
            Value::Text(text) => (text, Type::TEXT),
            Value::MaybeText(text) => (text, Type::TEXT),
            Value::Texts(texts) => (texts, Type::TEXT_ARRAY),
            Value::MaybeInts(numbers) => (numbers, Type::INT8_ARRAY),
            Value::MaybeTexts(texts) => (texts, Type::TEXT_ARRAY),
            Value::Documents(documents) => (documents, Type::JSONB_ARRAY),
        }
    }
}
