//! Output shared by all commands: plain text and JSON documents on standard output, zones.
//!
//! Cost: one write per call.
//!
//! Does not fail when the reader of the output has gone: a reader such as `head` has seen enough.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::sync::Once;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::cli::value;
use mainspring_exec::clock::Moment;
use mainspring_file::plain;
use mainspring_file::system_zone::system_zone;
use mainspring_server::error::Error;
use mainspring_server::message::note;

/// The instant that a time of the command line means now, in the system's zone.
///
/// # Errors
///
/// When no clock can show it.
pub(super) fn instant(time: &value::Moment) -> Result<Timestamp, Error> {
    let resolved = time.resolve(Moment::now().wall, &zone_or_system(None));
    resolved.map_err(|error| Error::Usage(format!("that time cannot be: {error}")))
}

/// The zone to use when none is given: the system's, or UTC when the system does not say. A zone of TZ that
/// is not known is spoken of, once: times are read and shown by another clock than was meant.
pub(super) fn zone_or_system(zone: Option<TimeZone>) -> TimeZone {
    static SAID: Once = Once::new();
    zone.unwrap_or_else(|| {
        system_zone(Moment::now().wall).unwrap_or_else(|error| {
            if env::var_os("TZ").is_some_and(|name| !name.is_empty()) {
                let text = format!("the time zone of TZ is not known, and UTC is used: {error}");
                SAID.call_once(|| note(&text));
            }
            TimeZone::UTC
        })
    })
}

/// Prints text for people on standard output, in plain characters.
pub(super) fn print(text: &str) -> Result<(), Error> {
    printed(io::stdout().write_all(plain::text(text).as_bytes()))
}

/// Prints text for people that has colours, and nothing else that is not plain: a table, or findings.
pub(super) fn print_painted(text: &str) -> Result<(), Error> {
    printed(io::stdout().write_all(text.as_bytes()))
}

/// Prints what a job wrote, or its definition: as it is where another program or a file takes it, else in
/// plain characters.
pub(super) fn print_faithfully(text: &str) -> Result<(), Error> {
    if io::stdout().is_terminal() { print(text) } else { printed(io::stdout().write_all(text.as_bytes())) }
}

/// One JSON document on a line.
pub(super) fn json_line(document: &impl Serialize) -> String {
    let text = serde_json::to_string(document).expect("wire types have string keys and finite numbers");
    debug_assert!(!text.contains('\n'), "programs read a document a line");
    format!("{}\n", plain::json(&text))
}

/// Prints one JSON document on standard output.
pub(super) fn print_json(document: &impl Serialize) -> Result<(), Error> {
    let mut text =
        serde_json::to_string_pretty(document).expect("wire types have string keys and finite numbers");
    text.push('\n');
    printed(io::stdout().write_all(plain::json(&text).as_bytes()))
}

/// What became of printing. A reader that has seen enough, like `head`, is no failure.
pub(super) fn printed(result: io::Result<()>) -> Result<(), Error> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::Output(error)),
        _ => Ok(()),
    }
}
