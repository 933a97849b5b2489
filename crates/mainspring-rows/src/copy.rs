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

use crate::{AUDIT, Columns, JOB, ONCE_KEY, PENDING, RUN, ReadResult, integer, text};

/// How many rows are on their way at a time: some megabytes, unless many bodies have the greatest length.
pub const MAX_ROWS: usize = 100;

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// No value: NULL.
    Nothing,
    /// A whole number of 64 bits, or a truth value: 0 or 1.
    Integer(i64),
    /// A text.
    Text(String),
}

/// A table that both databases have.
#[derive(Debug)]
pub struct Table {
    /// The name in both databases.
    pub name: &'static str,
    /// Lists of columns that both have.
    lists: &'static [&'static str],
}

/// All tables but that of the owner, which is the [`Head`].
pub const TABLES: [Table; 6] = [
    Table { name: "job", lists: &[JOB] },
    Table { name: "pending", lists: &[PENDING, "is_named"] },
    Table { name: "once_key", lists: &["key", ONCE_KEY] },
    Table { name: "run", lists: &[RUN] },
    Table { name: "attempt", lists: &["job, nominal, series, number, started, ended, state, outcome"] },
    Table { name: "audit", lists: &[AUDIT] },
];

impl Table {
    /// The names of the columns that are copied.
    pub fn columns(&self) -> impl Iterator<Item = &'static str> {
        // A worker is none of another store.
        self.lists.iter().flat_map(|list| list.split(", ")).filter(|column| *column != "worker")
    }

    /// The same, with commas between.
    pub fn names(&self) -> String {
        self.columns().collect::<Vec<_>>().join(", ")
    }

    /// The values of these columns.
    ///
    /// # Errors
    /// When one of them holds something else.
    pub fn cells(&self, row: &dyn Columns) -> ReadResult<Vec<Cell>> {
        // A column of one name holds the same in each table.
        let cell = |(index, column)| {
            Ok(match column {
                "is_named" | "span_is_exact" => row.maybe_boolean(index)?.map(i64::from).map(Cell::Integer),
                "name" | "pause" | "pause_note" | "timetable" | "source" | "text" | "last_state" | "key"
                | "kind" | "body" | "policies" | "work_group" | "job" | "cause" | "state" | "outcome"
                | "reason" | "actor" | "action" | "target" | "note" => {
                    row.maybe_text(index)?.map(|text| Cell::Text(text.into_owned()))
                }
                _ => row.maybe_integer(index)?.map(Cell::Integer),
            }
            .unwrap_or(Cell::Nothing))
        };
        self.columns().enumerate().map(cell).collect()
    }
}

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

impl Head {
    /// The columns that [`read`](Self::read) reads, in their order.
    pub const COLUMNS: &'static str = "epoch, owner, machine_start, is_paused, pause_until, pause_note, jobs, pending, \
        open, runs, dead";

    /// A row of [`COLUMNS`](Self::COLUMNS).
    ///
    /// # Errors
    /// When a column is missing, or holds something else.
    pub fn read(row: &dyn Columns) -> ReadResult<Head> {
        let [jobs, pending, open, runs, dead] = [6, 7, 8, 9, 10].map(|index| integer(row, index));
        Ok(Head {
            epoch: integer(row, 0)?,
            owner: text(row, 1)?.into_owned(),
            machine_start: text(row, 2)?.into_owned(),
            is_paused: row.maybe_boolean(3)?.unwrap_or_default(),
            pause_until: row.maybe_integer(4)?,
            pause_note: text(row, 5)?.into_owned(),
            counts: [jobs?, pending?, open?, runs?, dead?],
        })
    }
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
    /// When a server has the store.
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
/// When one side fails, the target holds something, or the counts differ: nothing is kept then.
pub fn copy(source: &mut dyn Source, target: &mut dyn Target) -> ReadResult<Vec<(&'static str, u64)>> {
    let head = source.head()?;
    target.begin()?;
    for table in &TABLES {
        if 0 < target.count(table)? {
            let text = format!("it holds something already: the table {} is not empty", table.name);
            return Err(StoreError::Io(text.into()));
        }
    }
    let mut counts = Vec::new();
    for table in &TABLES {
        let mut read_count = 0;
        source.each(table, &mut |rows| {
            debug_assert!(rows.len() <= MAX_ROWS);
            debug_assert!(rows.iter().all(|row| row.len() == table.columns().count()));
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
