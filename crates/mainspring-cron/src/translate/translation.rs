//! The result of a translation, or the reason why there is none.
//!
//! Values only: the text and its notes are made in the files beside this one.

use std::fmt;

/// An expression in another language: the result of [`Expression::translate`](crate::Expression::translate).
///
/// # Example
/// ```
/// use mainspring_cron::{Expression, Language};
///
/// let translation = Expression::parse("30 2 * * *")?.translate(Language::OnCalendar)?;
/// assert_eq!(translation.text, "*-*-* 02:30:00");
/// assert!(translation.notes[0].starts_with("when the clock changes systemd leaves out a gap"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Translation {
    /// The expression, in the target language.
    pub text: String,
    /// What the text does not carry over, one sentence each: the zone, or the target's rule for changes of
    /// the clock. Lower case, no full stop.
    pub notes: Vec<String>,
}

/// Why an expression has no exact equivalent in a language.
///
/// `Display` writes the reason, in lower case and without a full stop.
///
/// # Example
/// ```
/// use mainspring_cron::{Expression, Language};
///
/// let error = Expression::parse("0 0 15W * *")?.translate(Language::OnCalendar).unwrap_err();
/// assert_eq!(error.to_string(), "OnCalendar knows no nearest workday");
/// # Ok::<(), mainspring_cron::ParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untranslatable {
    reason: String,
}

impl Untranslatable {
    pub(crate) fn new(reason: impl Into<String>) -> Untranslatable {
        Untranslatable { reason: reason.into() }
    }
}

impl fmt::Display for Untranslatable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Untranslatable {}
