//! The audit log: one row for each command of a person or a program, with the actor.
//!
//! ```text
//!  Input::Audit ── Input::Command ──▶ [operations of the command, Operation::Audit] in one unit of a batch
//! ```
//!
//! A row and the change that it tells of are on disk together, or neither is. A refused command leaves no
//! row. The effects of triggers and policies are in the history of runs, and not here.
//!
//! Cost: a row of some hundred bytes. A store keeps the newest [`MAX_AUDIT_ROWS`].
//!
//! Does not decide which client may ask for what.

use jiff::Timestamp;

/// How many rows a store keeps: a year with two dozen commands a day.
pub const MAX_AUDIT_ROWS: u64 = 10_000;

/// The longest note, in bytes: a few sentences.
pub const MAX_NOTE_BYTES: usize = 1_024;

/// What somebody asked for.
///
/// # Example
/// ```
/// use mainspring_job::Audit;
///
/// let audit = Audit::new("2026-11-21T08:00:00Z".parse()?, "ada", "pause", "backup").with_note("new disk");
/// assert_eq!((audit.actor.as_str(), audit.target.as_str()), ("ada", "backup"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Audit {
    /// When, by the store's clock.
    pub at: Timestamp,
    /// Who, as far as the server knows.
    pub actor: String,
    /// What: the word of a command.
    pub action: String,
    /// A job, a run or a one-shot job; empty for everything.
    pub target: String,
    /// What was said about it; empty if nothing was. At most [`MAX_NOTE_BYTES`].
    pub note: String,
}

impl Audit {
    /// A row without a note.
    pub fn new(
        at: Timestamp,
        actor: impl Into<String>,
        action: impl Into<String>,
        target: impl Into<String>,
    ) -> Audit {
        let (actor, action, target) = (actor.into(), action.into(), target.into());
        Audit { at, actor, action, target, note: String::new() }
    }

    /// The same with a note.
    #[must_use]
    pub fn with_note(self, note: impl Into<String>) -> Audit {
        Audit { note: note.into(), ..self }
    }
}

/// A row as a store keeps it.
///
/// # Example
/// ```
/// use mainspring_job::{Audit, AuditRow};
///
/// let audit = Audit::new("2026-11-21T08:00:00Z".parse()?, "ada", "pause", "backup");
/// assert_eq!(AuditRow::new(7, audit).number, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditRow {
    /// Counts up from 1, and never again.
    pub number: u64,
    /// What was asked.
    pub audit: Audit,
}

impl AuditRow {
    /// A row under its number.
    pub fn new(number: u64, audit: Audit) -> AuditRow {
        AuditRow { number, audit }
    }
}

/// Asks for a page of rows, the newest first.
///
/// # Example
/// ```
/// use mainspring_job::{AuditQuery, MemoryStore, Reader};
///
/// let mut query = AuditQuery::new(50);
/// query.actor = Some("ada".to_owned());
/// let page = MemoryStore::new().audit(&query)?;
/// // The next page begins after the last of this one.
/// query.before = page.last().map(|row| row.number);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct AuditQuery {
    /// Only of this actor.
    pub actor: Option<String>,
    /// Only with this target.
    pub target: Option<String>,
    /// Only at or after this time.
    pub since: Option<Timestamp>,
    /// Only rows with smaller numbers.
    pub before: Option<u64>,
    /// At most so many, and at most [`MAX_PAGE`](crate::MAX_PAGE).
    pub limit: usize,
}

impl AuditQuery {
    /// Asks for at most so many rows.
    pub fn new(limit: usize) -> AuditQuery {
        AuditQuery { limit, ..AuditQuery::default() }
    }

    /// Whether a row is asked for.
    pub fn holds(&self, row: &AuditRow) -> bool {
        let AuditRow { number, audit } = row;
        let is =
            |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
        is(&self.actor, &audit.actor)
            && is(&self.target, &audit.target)
            && self.since.is_none_or(|since| since <= audit.at)
            && self.before.is_none_or(|before| *number < before)
    }
}
