//! Errors of a store. What an owner does about each cause is in the table of `store.rs`.
//!
//! Cost: a text for what is full, damaged or refused by the operating system.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// Says what went wrong with a store. What an owner does about each stands on the [page of
/// stores](crate::store).
///
/// # Example
/// ```
/// use mainspring_job::StoreError;
///
/// /// Whether the same batch is sent again.
/// fn is_sent_again(error: &StoreError) -> bool {
///     matches!(error, StoreError::Busy(_) | StoreError::Unknown | StoreError::Full(_))
/// }
/// assert!(!is_sent_again(&StoreError::Fenced));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// Another one owns the jobs.
    Fenced,
    /// Not now, and why, as far as that is known.
    Busy(String),
    /// Another one holds the lease, and it has not run out.
    Held {
        /// The name of the owner.
        by: String,
        /// How long its lease lasts if it is not renewed.
        left: Duration,
    },
    /// A question took longer than its reader gives one.
    TimedOut,
    /// The answer was lost.
    Unknown,
    /// There is no room, or a quota is reached.
    Full(String),
    /// What is stored cannot be what was written.
    Corrupt(String),
    /// The store was written by a newer version of the program.
    TooNew {
        /// The version of its format.
        found: u32,
        /// The latest that this program knows.
        known: u32,
    },
    /// Reading or writing failed.
    Io(Box<dyn Error + Send + Sync>),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Fenced => f.write_str("another server owns these jobs now"),
            StoreError::Busy(why) if why.is_empty() => f.write_str("the store is busy"),
            StoreError::Busy(why) => write!(f, "the store is busy: {why}"),
            StoreError::Held { by, left } => {
                write!(f, "{by} owns these jobs, for {} s if it says nothing more", left.as_secs_f64().ceil())
            }
            StoreError::TimedOut => f.write_str("the answer took too long: ask for less"),
            StoreError::Unknown => f.write_str("the store's answer was lost"),
            StoreError::Full(what) => write!(f, "the store is full: {what}"),
            StoreError::Corrupt(what) => write!(f, "the store is damaged: {what}"),
            StoreError::TooNew { found, known } => {
                write!(f, "the store has format {found}, and this program knows formats up to {known}")
            }
            StoreError::Io(error) => write!(f, "the store cannot be used: {error}"),
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // It is in the text already; what caused it is not.
            StoreError::Io(error) => error.source(),
            _ => None,
        }
    }
}
