//! All that a store holds, from one database into another of the other kind.
//!
//! ```text
//!  Source: head, rows of each table ─▶ Target: begin ─ add .. ─ count, compared ─ finish: all of it or nothing
//! ```
//!
//! Cost: each row once, [`MAX_ROWS`] of them in memory.
//!
//! Does not read what the rows mean, nor the output of runs, which is in files.

use mainspring_job::StoreError;

use crate::{AUDIT, JOB, PENDING, RUN, ReadResult, column_count};

/// How many rows are on their way at a time: some megabytes, unless many bodies have the greatest length.
pub const MAX_ROWS: usize = 100;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number of 64 bits.
    Integer,
    /// A truth value: 0 or 1.
    Boolean,
    /// A text.
    Text,
}

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// No value: NULL.
    Nothing,
    /// Of [`Kind::Integer`] or [`Kind::Boolean`].
    Integer(i64),
    /// Of [`Kind::Text`].
    Text(String),
}

/// A table that both databases have.
#[derive(Debug)]
pub struct Table {
    /// The name in both databases.
    pub name: &'static str,
    /// The columns that both have.
    pub columns: &'static [(&'static str, Kind)],
}

impl Table {
    /// The names of the columns, with commas between.
    pub fn names(&self) -> String {
        self.columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }
}

use Kind::{Boolean, Integer, Text};

/// All tables but that of the owner, which is the [`Head`].
pub const TABLES: [Table; 6] = [
    Table {
        name: "job",
        columns: &[
            ("name", Text),
            ("watermark", Integer),
            ("runs", Integer),
            ("failures", Integer),
            ("max_series", Integer),
            ("pause", Text),
            ("timetable", Text),
            ("source", Text),
            ("text", Text),
            ("deaths", Integer),
            ("pause_until", Integer),
            ("pause_note", Text),
            ("last_nominal", Integer),
            ("last_series", Integer),
            ("last_state", Text),
            ("last_ended", Integer),
            ("last_success", Integer),
            ("since", Integer),
        ],
    },
    Table {
        name: "pending",
        columns: &[
            ("due", Integer),
            ("number", Integer),
            ("name", Text),
            ("is_named", Boolean),
            ("key", Text),
            ("submitted", Integer),
            ("kind", Text),
            ("body", Text),
            ("policies", Text),
            ("work_group", Text),
            ("priority", Integer),
        ],
    },
    Table {
        name: "once_key",
        columns: &[("key", Text), ("due", Integer), ("number", Integer), ("name", Text)],
    },
    Table {
        name: "run",
        columns: &[
            ("job", Text),
            ("nominal", Integer),
            ("series", Integer),
            ("cause", Text),
            ("state", Text),
            ("attempt", Integer),
            ("due", Integer),
            ("planned", Integer),
            ("started", Integer),
            ("ended", Integer),
            ("outcome", Text),
            ("reason", Text),
            ("span_last", Integer),
            ("span_count", Integer),
            ("span_is_exact", Boolean),
            ("kind", Text),
            ("body", Text),
            ("policies", Text),
            ("work_group", Text),
            ("priority", Integer),
            ("deaths", Integer),
            ("forgiven", Integer),
        ],
    },
    Table {
        name: "attempt",
        columns: &[
            ("job", Text),
            ("nominal", Integer),
            ("series", Integer),
            ("number", Integer),
            ("started", Integer),
            ("ended", Integer),
            ("state", Text),
            ("outcome", Text),
        ],
    },
    Table {
        name: "audit",
        columns: &[
            ("number", Integer),
            ("at", Integer),
            ("actor", Text),
            ("action", Text),
            ("target", Text),
            ("note", Text),
        ],
    },
];

// A column that is added to what a store reads is copied too. A worker is none of another store, and
// `is_named` follows from the name.
const _: () = assert!(TABLES[0].columns.len() == column_count(JOB));
const _: () = assert!(TABLES[1].columns.len() == column_count(PENDING) + 1);
const _: () = assert!(TABLES[3].columns.len() == column_count(RUN) - 1);
const _: () = assert!(TABLES[5].columns.len() == column_count(AUDIT));

/// The row of the owner, as far as it outlives its owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The greatest epoch so far. Numbers of one-shot jobs are made of it, so that the next owner needs a
    /// greater one.
    pub epoch: i64,
    /// The owner that has not left in good order; empty if it has.
    pub owner: String,
    /// The start of that owner's machine.
    pub machine_start: String,
    /// Whether everything is paused.
    pub is_paused: bool,
    /// When the pause ends by itself.
    pub pause_until: Option<i64>,
    /// Why it is paused, for people.
    pub pause_note: String,
    /// How many jobs, pending jobs, open runs, runs and dead letters there are.
    pub counts: [i64; 5],
}

/// Takes some rows.
pub type Take<'t> = &'t mut dyn FnMut(Vec<Vec<Cell>>) -> ReadResult<()>;

/// What is copied. Nothing changes it meanwhile.
pub trait Source {
    /// The row of the owner.
    ///
    /// # Errors
    /// When it cannot be read, or a server has the store.
    fn head(&mut self) -> ReadResult<Head>;

    /// All rows of a table, some at a time.
    ///
    /// # Errors
    /// When they cannot be read, or `take` fails.
    fn each(&mut self, table: &Table, take: Take<'_>) -> ReadResult<()>;
}

/// Where it is copied to: all of it with `finish`, or nothing.
pub trait Target {
    /// Begins. Nothing is there after a failure, or without `finish`.
    ///
    /// # Errors
    /// When a server has the store, or it holds something.
    fn begin(&mut self) -> ReadResult<()>;

    /// Adds rows.
    ///
    /// # Errors
    /// When they cannot be written.
    fn add(&mut self, table: &Table, rows: Vec<Vec<Cell>>) -> ReadResult<()>;

    /// How many rows there are.
    ///
    /// # Errors
    /// When they cannot be counted.
    fn count(&mut self, table: &Table) -> ReadResult<u64>;

    /// Writes the row of the owner, and keeps all.
    ///
    /// # Errors
    /// When it cannot be written.
    fn finish(&mut self, head: &Head) -> ReadResult<()>;
}

/// Copies all, and returns how many rows each table has.
///
/// # Errors
/// When one side fails, or the counts differ: nothing is kept then.
pub fn copy(source: &mut dyn Source, target: &mut dyn Target) -> ReadResult<Vec<(&'static str, u64)>> {
    let head = source.head()?;
    target.begin()?;
    let mut counts = Vec::new();
    for table in &TABLES {
        let mut read_count = 0;
        source.each(table, &mut |rows| {
            debug_assert!(rows.len() <= MAX_ROWS);
            debug_assert!(rows.iter().all(|row| row.len() == table.columns.len()));
            read_count += u64::try_from(rows.len()).unwrap_or(u64::MAX);
            target.add(table, rows)
        })?;
        let count = target.count(table)?;
        if count != read_count {
            let text = format!("{read_count} rows of {} were read, and {count} are there", table.name);
            return Err(StoreError::Corrupt(text));
        }
        counts.push((table.name, count));
    }
    target.finish(&head)?;
    Ok(counts)
}
