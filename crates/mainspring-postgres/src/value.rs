//! Parameters of a statement, encoded for the wire.
//!
//! Each value says its type, so that a statement is sent with its values at once: a pooler in transaction
//! mode would give its preparation to one session and its execution to another.
//!
//! Cost: a copy of each value when it is sent.
//!
//! Does not know the statements.
//!
//! Source: PostgreSQL 15, `array_recv` in src/backend/utils/adt/arrayfuncs.c, for the form of an array.

use std::error::Error;
use std::time::Duration;

use bytes::{BufMut, BytesMut};
use tokio_postgres::types::{IsNull, Kind, ToSql, Type, to_sql_checked};

use super::escape::escape;

/// An array of a type of the schema, whose rows are encoded already.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    pub(super) rows: Vec<u8>,
    pub(super) count: usize,
    pub(super) of: RowType,
}

/// A type of the schema, and that of its arrays, as the database numbers them.
#[derive(Clone, Debug)]
pub(super) struct RowType {
    row: u32,
    array: Type,
}

impl RowType {
    pub(super) fn new(row: u32, array: u32) -> RowType {
        let name = || "mainspring".to_owned();
        let element = Type::new(name(), row, Kind::Simple, name());
        RowType { row, array: Type::new(name(), array, Kind::Array(element), name()) }
    }
}

impl ToSql for Rows {
    fn to_sql(&self, _of: &Type, sent: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let is_empty = self.count == 0;
        debug_assert_eq!(is_empty, self.rows.is_empty());
        sent.put_i32(i32::from(!is_empty));
        // No row is NULL.
        sent.put_i32(0);
        sent.put_u32(self.of.row);
        if !is_empty {
            // The one dimension, and its lower bound.
            sent.put_i32(i32::try_from(self.count)?);
            sent.put_i32(1);
            sent.put_slice(&self.rows);
        }
        Ok(IsNull::No)
    }

    fn accepts(of: &Type) -> bool {
        matches!(of.kind(), Kind::Array(_))
    }

    to_sql_checked!();
}

/// A text, as it is kept.
impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::text(&text)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Int(number)
    }
}

impl From<Option<i64>> for Value {
    fn from(number: Option<i64>) -> Value {
        Value::MaybeInt(number)
    }
}

/// One value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Int(i64),
    MaybeInt(Option<i64>),
    Bool(bool),
    Text(String),
    Texts(Vec<String>),
    MaybeInts(Vec<Option<i64>>),
    Ints(Vec<i64>),
    Document(serde_json::Value),
    Documents(Vec<serde_json::Value>),
    Rows(Rows),
}

impl Value {
    /// A text, as it is kept.
    pub(super) fn text(text: &str) -> Value {
        Value::Text(escape(text).into_owned())
    }

    /// How long something lasts.
    pub(super) fn milliseconds(lasts: Duration) -> Value {
        Value::Int(i64::try_from(lasts.as_millis()).unwrap_or(i64::MAX))
    }

    /// What the protocol is given.
    pub(super) fn bound(&self) -> (&(dyn ToSql + Sync), Type) {
        match self {
            Value::Int(number) => (number, Type::INT8),
            Value::MaybeInt(number) => (number, Type::INT8),
            Value::Bool(flag) => (flag, Type::BOOL),
            Value::Text(text) => (text, Type::TEXT),
            Value::Texts(texts) => (texts, Type::TEXT_ARRAY),
            Value::MaybeInts(numbers) => (numbers, Type::INT8_ARRAY),
            Value::Ints(numbers) => (numbers, Type::INT8_ARRAY),
            Value::Document(document) => (document, Type::JSONB),
            Value::Documents(documents) => (documents, Type::JSONB_ARRAY),
            Value::Rows(rows) => (rows, rows.of.array.clone()),
        }
    }
}
