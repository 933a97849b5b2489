//! What all commands print with: text and JSON documents on standard output, counts, zones.
//!
//! Cost: one write per call.
//!
//! Does not fail when the reader of the output has gone: a reader such as `head` has seen enough.

use std::io::{self, Write};

use jiff::tz::TimeZone;
use serde::Serialize;

use crate::error::Error;

/// The zone to use when none is given: the system's, or UTC when the system does not say.
pub(super) fn zone_or_system(zone: Option<TimeZone>) -> TimeZone {
    zone.unwrap_or_else(|| TimeZone::try_system().unwrap_or(TimeZone::UTC))
}

/// The name of a zone, for messages. Zones without one are those of rare settings of TZ.
pub(super) fn zone_name(zone: &TimeZone) -> &str {
    zone.iana_name().unwrap_or("UTC")
}

/// Prints text on standard output.
pub(super) fn print(text: &str) -> Result<(), Error> {
    printed(io::stdout().write_all(text.as_bytes()))
}

/// Prints one JSON document on standard output.
pub(super) fn print_json(document: &impl Serialize) -> Result<(), Error> {
    let mut text =
        serde_json::to_string_pretty(document).expect("wire types have string keys and finite numbers");
    text.push('\n');
    print(&text)
}

/// What became of printing. A reader that has seen enough, like `head`, is no failure.
pub(super) fn printed(result: io::Result<()>) -> Result<(), Error> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::Output(error)),
        _ => Ok(()),
    }
}
