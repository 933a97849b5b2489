//! The text about a submission that was there already.
//!
//! Cost: none.
//!
//! Does not decide what is the same: the server has.

use mainspring_file::plain;

/// Its name, and how it stands. An older server tells no more than the name.
pub(super) fn duplicate_text(
    name: Option<&str>,
    state: Option<&str>,
    due: Option<String>,
    why: Option<&str>,
) -> String {
    let name = name.unwrap_or("a job with that key");
    let standing = match (state, due, why) {
        (Some("pending"), Some(due), _) => format!(", due {due}"),
        (Some(state), _, Some(why)) => format!(", {state} ({why})"),
        (Some(state), _, None) => format!(", {state}"),
        (None, ..) => String::new(),
    };
    format!("{}: nothing changed\n", plain::line(&format!("{name} is there already{standing}")))
}
