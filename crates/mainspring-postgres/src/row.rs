//! A row of PostgreSQL as the columns that `mainspring-rows` reads.
//!
//! Cost: none.
//!
//! Does not know what the columns mean.

use std::borrow::Cow;
use std::time::Duration;

use mainspring_rows::{Columns, ReadResult, unreadable, unsigned};
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::escape::read;

/// A row of an answer.
pub(super) struct CurrentRow<'r>(pub(super) &'r Row);

impl<'r> CurrentRow<'r> {
    fn column<T: FromSql<'r>>(&self, index: usize) -> ReadResult<T> {
        self.0.try_get(index).map_err(|_| unreadable("column", &index.to_string()))
    }
}

impl Columns for CurrentRow<'_> {
    fn maybe_text(&self, index: usize) -> ReadResult<Option<Cow<'_, str>>> {
        Ok(self.column::<Option<&str>>(index)?.map(read))
    }

    fn maybe_integer(&self, index: usize) -> ReadResult<Option<i64>> {
        self.column(index)
    }

    fn maybe_boolean(&self, index: usize) -> ReadResult<Option<bool>> {
        self.column(index)
    }
}

/// How long something takes or took. The database's clock may have been set back since.
pub(super) fn milliseconds(count: i64) -> Duration {
    Duration::from_millis(unsigned(count))
}

/// A number that is small when it is written.
///
/// # Errors
/// When it is not.
pub(super) fn small(count: i64) -> ReadResult<u32> {
    u32::try_from(count).map_err(|_| unreadable("small number", &count.to_string()))
}
