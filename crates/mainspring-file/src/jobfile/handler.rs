//! Reads the table that names the function of a program that a job calls.
//!
//! ```text
//! [jobs.invoices.handler]
//! name = "invoices"
//! version = 2
//! payload = '{"to": 17}'
//! ```
//!
//! A program with jobs of its own writes such tables for the jobs that it keeps. The server calls no
//! functions: what such a job has due waits there.
//!
//! Cost: one pass.
//!
//! Does not know which functions there are, and does not read the payload.

use super::fields::{Faults, Fields, Name};
use crate::problem::Fault;
use mainspring_action::body::HandlerBody;

const KEYS: &[&str] = &["name", "version", "payload"];

pub(super) fn read(name: &Name<'_>, fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> Option<HandlerBody> {
    fields.check_known(KEYS, faults);
    let text =
        |key: &str, faults: &mut Faults<'_>| fields.text(key, faults).map(|text| text.value.to_owned());
    let Some(handler) = text("name", faults).filter(|handler| !handler.is_empty()) else {
        faults.push(Fault::new(name.span(), "a handler needs a name"));
        return None;
    };
    let version = fields.integer("version", 0..=u32::MAX, faults).unwrap_or(0);
    Some(HandlerBody { name: handler, version, payload: text("payload", faults).unwrap_or_default() })
}
