//! What is bound to the places of a statement.
//!
//! Each value says its type, so that a statement is sent with its values at once: a pooler in transaction
//! mode would give its preparation to one session and its execution to another.
//!
//! A column of many rows is encoded as its rows come, so that no row has an allocation of its own.
//!
//! Cost: a copy of each value of a column, and one more when it is sent.
//!
//! Does not know the statements.
//!
//! Source: PostgreSQL 15, `array_recv` in src/backend/utils/adt/arrayfuncs.c, for the form of an array.

use std::borrow::Cow;
use std::error::Error;

use bytes::{BufMut, BytesMut};
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::escape::kept;

/// A text as it is kept, which is the text itself for nearly all.
pub(super) type Text<'t> = Cow<'t, str>;

/// The length of a value that is null.
const NULL: i32 = -1;

/// An array, as the protocol has it from its first element on.
#[derive(Clone, Debug, Default)]
pub(super) struct Column {
    elements: Vec<u8>,
    count: usize,
    has_null: bool,
}

impl Column {
    pub(super) fn push_number(&mut self, number: Option<i64>) {
        let Some(number) = number else { return self.push_null() };
        // Length and value at once.
        let mut element = [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0];
        element[4..].copy_from_slice(&number.to_be_bytes());
        self.elements.extend_from_slice(&element);
        self.count += 1;
    }

    /// A text, which is [as it is kept](kept).
    pub(super) fn push_text(&mut self, text: Option<&str>) {
        let Some(text) = text else { return self.push_null() };
        // With a longer one the message is too large, which is refused when it is sent.
        let length = i32::try_from(text.len()).unwrap_or(i32::MAX);
        self.elements.extend_from_slice(&length.to_be_bytes());
        self.elements.extend_from_slice(text.as_bytes());
        self.count += 1;
    }

    fn push_null(&mut self) {
        self.elements.extend_from_slice(&NULL.to_be_bytes());
        self.has_null = true;
        self.count += 1;
    }
}

impl FromIterator<Option<i64>> for Column {
    fn from_iter<I: IntoIterator<Item = Option<i64>>>(numbers: I) -> Column {
        let mut column = Column::default();
        numbers.into_iter().for_each(|number| column.push_number(number));
        column
    }
}

impl ToSql for Column {
    fn to_sql(&self, of: &Type, sent: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let element = if *of == Type::INT8_ARRAY { Type::INT8 } else { Type::TEXT };
        sent.put_i32(1);
        sent.put_i32(i32::from(self.has_null));
        sent.put_u32(element.oid());
        // The one dimension, and its lower bound.
        sent.put_i32(i32::try_from(self.count)?);
        sent.put_i32(1);
        sent.put_slice(&self.elements);
        Ok(IsNull::No)
    }

    fn accepts(of: &Type) -> bool {
        [Type::INT8_ARRAY, Type::TEXT_ARRAY].contains(of)
    }

    to_sql_checked!();
}

/// One value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Int(i64),
    MaybeInt(Option<i64>),
    Text(String),
    MaybeText(Option<String>),
    Texts(Vec<String>),
    Ints(Vec<i64>),
    /// Numbers, some of which may be null.
    Numbers(Column),
    /// Texts, some of which may be null.
    Strings(Column),
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
            Value::Ints(numbers) => (numbers, Type::INT8_ARRAY),
            Value::Numbers(column) => (column, Type::INT8_ARRAY),
            Value::Strings(column) => (column, Type::TEXT_ARRAY),
            Value::Documents(documents) => (documents, Type::JSONB_ARRAY),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(value: &impl ToSql, of: &Type) -> BytesMut {
        let mut sent = BytesMut::new();
        assert!(matches!(value.to_sql(of, &mut sent), Ok(IsNull::No)));
        sent
    }

    #[test]
    fn a_column_is_sent_as_the_list_of_its_rows() {
        for numbers in [vec![], vec![None], vec![Some(7), None, Some(i64::MIN)], vec![Some(-1); 300]] {
            let column: Column = numbers.iter().copied().collect();
            assert_eq!(sent(&column, &Type::INT8_ARRAY), sent(&numbers, &Type::INT8_ARRAY), "{numbers:?}");
        }
        for texts in [vec![], vec![None], vec![Some(""), None, Some("é"), Some("a")], vec![Some("two"); 300]]
        {
            let mut column = Column::default();
            texts.iter().for_each(|text| column.push_text(*text));
            assert_eq!(sent(&column, &Type::TEXT_ARRAY), sent(&texts, &Type::TEXT_ARRAY), "{texts:?}");
        }
    }
}
