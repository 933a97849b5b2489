//! What is valid in a schedule and probably not meant, as faults that can be shown with carets.
//!
//! Cost: one explanation of the schedule.
//!
//! Does not decide whether a warning stops anything: `check --strict` does.
//!
//! Source: the warnings are those of `mainspring-cron`.

use jiff::Timestamp;
use mainspring_cron::{Schedule, Warning};

use crate::problem::Fault;

/// The warnings about a schedule whose expression was read from `text`, or from its beginning. A change of the clock
/// is warned of if it comes within a year after `from`.
///
/// # Example
///
/// ```
/// use jiff::tz::TimeZone;
/// use mainspring_cron::{Expression, Schedule};
/// use mainspring_file::warning::warnings;
///
/// let text = "*/7 * * * *";
/// let schedule = Schedule::new(Expression::parse(text)?, TimeZone::UTC);
/// let faults = warnings(&schedule, text, "2026-01-01T00:00:00Z".parse()?);
/// assert_eq!(faults[0].span, 0..3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn warnings(schedule: &Schedule, text: &str, from: Timestamp) -> Vec<Fault> {
    schedule.explain(from).warnings.into_iter().map(|warning| fault(warning, text)).collect()
}

/// A warning as a fault of the text that its expression was read from.
pub fn fault(warning: Warning, text: &str) -> Fault {
    // A warning about the whole is about the expression's own text, which may have lost the blanks around it.
    let end = warning.span.end.min(text.len());
    Fault::new(warning.span.start.min(end)..end, warning.text)
}
