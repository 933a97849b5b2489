//! The keys of a foreign format: one row each, which says what becomes of it here.
//!
//! ```text
//! is("OnCalendar", "oncalendar", on_calendar, "")                 it is that key of a job file
//! near("OnUnitInactiveSec", "every", every, "counted from ..")    the same, and the difference is told
//! lost("AccuracySec", "a job starts ..", "nothing has to be done") it has no equal; what to do
//! unneeded("Documentation", "it is for people")                   nothing is lost without it
//! ```
//!
//! A reader finds a row by name, the remarks are its texts, and the reference has a table of all rows. A row
//! may have several names, with blanks between; a name that ends in `*` stands for all that begin so.
//!
//! Cost: a look-up passes the rows of its table, of which there are at most some dozens.
//!
//! Does not read values.

use crate::draft::Draft;
use crate::finding::Place;
use crate::yaml::{Node, Value};

/// A row: a key there, and what it is here.
#[derive(Debug)]
pub(crate) struct Key<S: 'static, V: 'static> {
    name: &'static str,
    /// How it differs, what is lost, or why it is not needed.
    says: &'static str,
    fate: Fate<S, V>,
}

#[derive(Debug)]
enum Fate<S: 'static, V: 'static> {
    /// It is read.
    Is(fn(&mut Draft<S>, &V)),
    /// It is read, and what the row says is told.
    Near(fn(&mut Draft<S>, &V)),
    /// It has no equal; what to do.
    Lost(&'static str),
    /// Nothing is lost without it.
    Unneeded,
}

/// The row of a key that is `here` a key of a job file. The reference shows `here` and what it `says`.
pub(crate) const fn is<S, V>(
    name: &'static str,
    _here: &'static str,
    read: fn(&mut Draft<S>, &V),
    says: &'static str,
) -> Key<S, V> {
    assert!(!name.is_empty());
    Key { name, says, fate: Fate::Is(read) }
}

/// The row of a key that is nearly a key of a job file: what it `says` is told each time.
pub(crate) const fn near<S, V>(
    name: &'static str,
    _here: &'static str,
    read: fn(&mut Draft<S>, &V),
    says: &'static str,
) -> Key<S, V> {
    assert!(!says.is_empty(), "a remark says what is another");
    Key { name, says, fate: Fate::Near(read) }
}

/// The row of a key without an equal: what is lost, and what to do.
pub(crate) const fn lost<S, V>(name: &'static str, says: &'static str, todo: &'static str) -> Key<S, V> {
    assert!(!says.is_empty(), "a warning says what is lost");
    assert!(!todo.is_empty(), "and what to do");
    Key { name, says, fate: Fate::Lost(todo) }
}

/// The row of a key without which nothing is lost.
pub(crate) const fn unneeded<S, V>(name: &'static str, says: &'static str) -> Key<S, V> {
    assert!(!says.is_empty(), "the table of the manual says why");
    Key { name, says, fate: Fate::Unneeded }
}

impl<S, V> Key<S, V> {
    /// Whether the row is that of a key.
    pub(crate) fn holds(&self, name: &str) -> bool {
        self.name.split(' ').any(|own| match own.strip_suffix('*') {
            Some(begin) => name.starts_with(begin),
            None => own == name,
        })
    }
}

/// Whether a key has a row that says that it has no equal.
pub(crate) fn is_lost<S, V>(keys: &[Key<S, V>], name: &str) -> bool {
    keys.iter().find(|row| row.holds(name)).is_some_and(|row| matches!(row.fate, Fate::Lost(_)))
}

/// Reads a table by its rows: null is a key that is not given.
pub(crate) fn read_table<S>(keys: &[Key<S, Node>], draft: &mut Draft<S>, node: &Node) {
    if !node.is_table() {
        draft.findings.problem(&node.place, "expected keys and values");
        return;
    }
    let is_given = |value: &Node| !matches!(value.value, Value::Null);
    for (name, place, value) in node.pairs().into_iter().filter(|(.., value)| is_given(value)) {
        // Ruby writes symbols, and some write options as arguments of a call are named.
        read_key(keys, name.trim_start_matches(':'), place, draft, value);
    }
}

/// Reads a key by its row, and tells what is to be told of it.
pub(crate) fn read_key<S, V>(keys: &[Key<S, V>], name: &str, place: &Place, draft: &mut Draft<S>, value: &V) {
    let Some(row) = keys.iter().find(|row| row.holds(name)) else {
        let message = format!("`{name}` is not known here, and is left out");
        draft.findings.warn(place, message, "look up what it does, and say it in the job file");
        return;
    };
    match row.fate {
        Fate::Is(read) => read(draft, value),
        Fate::Near(read) => {
            draft.findings.remark(place, format!("`{name}`: {}", row.says));
            read(draft, value);
        }
        Fate::Lost(todo) => {
            let message = format!("`{name}` has no equal here: {}", row.says);
            draft.findings.warn(place, message, todo);
        }
        Fate::Unneeded => {}
    }
}
