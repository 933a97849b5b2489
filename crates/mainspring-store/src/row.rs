//! A row of SQLite as the columns that `mainspring-rows` reads.
//!
//! Cost: none.
//!
//! Does not know what the columns mean.

use std::borrow::Cow;

use mainspring_rows::{Columns, ReadResult, unreadable};
use rusqlite::Row;
use rusqlite::types::{FromSql, ValueRef};

use super::fault::mapped;

/// A row, while its statement stands on it.
pub(super) struct CurrentRow<'r, 's>(pub(super) &'r Row<'s>);

impl CurrentRow<'_, '_> {
    fn column<T: FromSql>(&self, index: usize) -> ReadResult<T> {
        self.0.get(index).map_err(mapped)
    }
}

impl Columns for CurrentRow<'_, '_> {
    fn maybe_text(&self, index: usize) -> ReadResult<Option<Cow<'_, str>>> {
        match self.0.get_ref(index).map_err(mapped)? {
            ValueRef::Null => Ok(None),
            ValueRef::Text(text) => std::str::from_utf8(text)
                .map(|text| Some(Cow::Borrowed(text)))
                .map_err(|_| unreadable("text", &String::from_utf8_lossy(text))),
            other => Err(unreadable("text", &format!("{other:?}"))),
        }
    }

    fn maybe_integer(&self, index: usize) -> ReadResult<Option<i64>> {
        self.column(index)
    }

    fn maybe_boolean(&self, index: usize) -> ReadResult<Option<bool>> {
        self.column(index)
    }
}
