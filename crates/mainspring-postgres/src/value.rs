//! Parameters of a statement, encoded for the wire.
//!
//! Each value says its type, so that a statement is sent with its values at once: a pooler in transaction
//! mode would give its preparation to one session and its execution to another.
//!
//! A column of many rows is encoded as its rows come, so that no row has an allocation of its own. One whose
//! rows are alike is one row.
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
///
/// While all of its rows are alike it holds one of them. So it is sent to a function that knows how many rows
/// there are, and as a whole to all others.
#[derive(Clone, Debug, Default)]
pub(super) struct Column {
    elements: Vec<u8>,
    count: usize,
    has_null: bool,
    /// Not all rows are alike, or it is to be sent as a whole.
    is_whole: bool,
}

impl Column {
    pub(super) fn push_number(&mut self, number: Option<i64>) {
        match number {
            Some(number) => self.push(8, &number.to_be_bytes()),
            None => self.push_null(),
        }
    }

    /// A text, which is [as it is kept](kept).
    pub(super) fn push_text(&mut self, text: Option<&str>) {
        match text {
            // With a longer one the message is too large, which is refused when it is sent.
            Some(text) => self.push(i32::try_from(text.len()).unwrap_or(i32::MAX), text.as_bytes()),
            None => self.push_null(),
        }
    }

    fn push_null(&mut self) {
        self.push(NULL, &[]);
        self.has_null = true;
    }

    fn push(&mut self, length: i32, value: &[u8]) {
        let length = length.to_be_bytes();
        if !self.is_whole && 0 < self.count {
            if self.elements.split_first_chunk() == Some((&length, value)) {
                self.count += 1;
                return;
            }
            self.complete();
        }
        self.elements.extend_from_slice(&length);
        self.elements.extend_from_slice(value);
        self.count += 1;
    }

    /// Is sent as a whole, whatever it holds.
    pub(super) fn complete(&mut self) {
        if !self.is_whole {
            self.elements = self.elements.repeat(self.count);
            self.is_whole = true;
        }
    }
}

/// As a whole.
impl FromIterator<Option<i64>> for Column {
    fn from_iter<I: IntoIterator<Item = Option<i64>>>(numbers: I) -> Column {
        let mut column = Column { is_whole: true, ..Column::default() };
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
        sent.put_i32(i32::try_from(if self.is_whole { self.count } else { self.count.min(1) })?);
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

    /// What is bound as a whole, and as one row if all are alike.
    fn both(column: &Column, of: &Type) -> [BytesMut; 2] {
        let mut whole = column.clone();
        whole.complete();
        [sent(&whole, of), sent(column, of)]
    }

    #[test]
    fn a_column_is_sent_as_the_list_of_its_rows_or_as_one_row_if_all_are_alike() {
        let (one, two, three) = (vec![Some(-1)], vec![None], vec![Some(7), None, Some(i64::MIN)]);
        let lists =
            [(vec![], 0), (one, 1), (two, 1), (three, 3), (vec![Some(-1); 300], 1), (vec![None; 2], 1)];
        for (numbers, count) in lists.into_iter().chain([(vec![Some(0), Some(0), None], 3)]) {
            let mut column = Column::default();
            numbers.iter().for_each(|number| column.push_number(*number));
            let expected = [&numbers[..], &numbers[..count]].map(|list| sent(&list, &Type::INT8_ARRAY));
            assert_eq!(both(&column, &Type::INT8_ARRAY), expected, "{numbers:?}");
            assert_eq!(sent(&numbers.iter().copied().collect::<Column>(), &Type::INT8_ARRAY), expected[0]);
        }
        let three = vec![Some(""), None, Some("é"), Some("a")];
        let lists = [(vec![], 0), (vec![Some("")], 1), (three, 4), (vec![Some("two"); 300], 1)];
        for (texts, count) in lists.into_iter().chain([(vec![Some("a"), Some("ab")], 2)]) {
            let mut column = Column::default();
            texts.iter().for_each(|text| column.push_text(*text));
            let expected = [&texts[..], &texts[..count]].map(|list| sent(&list, &Type::TEXT_ARRAY));
            assert_eq!(both(&column, &Type::TEXT_ARRAY), expected, "{texts:?}");
        }
    }
}
