//! A job whose source does not have it any more, and what makes it the same job if it comes back.
//!
//! ```text
//!  its file lacks it ─▶ absent ─┬─ the same source has it again within a day ─▶ continues: pause, marks, waiting runs
//!                              ├─ another source has it as it was ─────────────▶ the same: it moves in two steps
//!                              ├─ a day is over, or another source has its name ─▶ removed
//!                              └─ a person removes it ─────────────────────────────▶ removed
//! ```
//!
//! A file that lacks a job may say that the job is to go, or may be half of a file that is being written.
//! Which of the two it is shows later. So what would be lost is kept for a day: see [`MAX_ABSENCE`].
//!
//! Cost: a string for each such job.
//!
//! Does not say what becomes of its runs: see the planner's `definitions`.

use jiff::{SignedDuration, Timestamp};

/// How long a job that its source does not have any more may come back as it was. A day: what an editor, a
/// deployment or a person takes away by mistake is found in that time, and a run that waits is not started
/// later than that.
pub const MAX_ABSENCE: SignedDuration = SignedDuration::from_hours(24);

/// What the text of a record begins with that has an absence.
const MARKER: &str = "absent ";

/// What is kept of a job that its source does not have any more.
///
/// # Example
/// ```
/// use mainspring_job::Absence;
///
/// let absence = Absence::new("2026-11-21T08:00:00Z".parse()?, "jobs.toml", "[jobs.backup]");
/// assert!(!absence.is_over("2026-11-22T07:59:59Z".parse()?));
/// assert!(absence.is_over("2026-11-22T08:00:00Z".parse()?));
/// assert_eq!(Absence::from_stored(&absence.stored()), Some(absence));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Absence {
    /// Since when, by the store's clock.
    pub since: Timestamp,
    /// The source that had it: see [`Job::source`](crate::Job::source).
    pub source: String,
    /// Its definition: see [`Job::text`](crate::Job::text).
    pub text: String,
}

impl Absence {
    /// One that begins.
    pub fn new(since: Timestamp, source: impl Into<String>, text: impl Into<String>) -> Absence {
        Absence { since, source: source.into(), text: text.into() }
    }

    /// When the job is removed, if it has not come back.
    pub fn end(&self) -> Timestamp {
        self.since.saturating_add(MAX_ABSENCE).unwrap_or(Timestamp::MAX)
    }

    /// Whether it has lasted for [`MAX_ABSENCE`].
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.end() <= now
    }

    /// As a store keeps it, in the place of the definition of a job that has a source.
    pub fn stored(&self) -> String {
        let Absence { since, source, text } = self;
        format!("{MARKER}{since} {}\n{source}{text}", source.len())
    }

    /// What a store kept. `None`: nothing, or what no version of the program writes.
    pub fn from_stored(stored: &str) -> Option<Absence> {
        let (head, rest) = stored.strip_prefix(MARKER)?.split_once('\n')?;
        let (since, length) = head.split_once(' ')?;
        let (source, text) = rest.split_at_checked(length.parse().ok()?)?;
        Some(Absence::new(since.parse().ok()?, source, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_read_back_and_nothing_else_is_taken_for_it() {
        let since: Timestamp = "2026-11-21T08:00:00.123456789Z".parse().unwrap();
        for (source, text) in [("", ""), ("serve:/etc/a file\nof jobs", "[jobs.é]\n"), ("ü", "absent ")] {
            let absence = Absence::new(since, source, text);
            assert_eq!(Absence::from_stored(&absence.stored()), Some(absence));
        }
        let odd = ["", "absent", "absent \n", "absent 2026-11-21T08:00:00Z 9\nshort", "[jobs.backup]\n"];
        for text in odd {
            assert_eq!(Absence::from_stored(text), None, "{text:?}");
        }
    }
}
