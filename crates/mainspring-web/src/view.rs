//! The documents of the API: those of the command line, and beside their fields what a page needs.
//!
//! ```text
//! the documents of --json ─▶ the same fields, and codes, civil times, lengths, the last line
//! ```
//!
//! So the API gives what the command line gives, by being made of it. Civil times are computed here and
//! nowhere else. The description of the API is made of these types: what is said of a field there stands in
//! its comment here.
//!
//! Cost: a document; for a run that has started also a read of the end of its output.
//!
//! Does not ask: it is given what was found.

mod file;
mod job;
mod run;

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};
use mainspring_server::protocol::JobState;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::catalogue::CachedJob;

pub use file::FileState;
pub(crate) use job::PauseReason;
pub use job::{Job, JobDetail, Pause, PolicyWord};
pub use run::{Run, address_of, is_open, is_output_removed, output_path};

/// An instant as people of a zone read it.
pub fn civil(at: Timestamp, zone: &TimeZone) -> Zoned {
    at.to_zoned(zone.clone())
}

/// Civil times of instants of the same object, by the names of those. A name that is missing has no instant
/// either.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Civils(BTreeMap<&'static str, Zoned>);

impl Civils {
    /// Adds that of one more field.
    pub fn add(&mut self, name: &'static str, at: Timestamp, zone: &TimeZone) {
        self.0.insert(name, civil(at, zone));
    }
}

/// The civil times of those fields that have one, by their names.
pub fn civils<const N: usize>(zone: &TimeZone, times: [(&'static str, Option<Timestamp>); N]) -> Civils {
    let of = |(name, at): (&'static str, Option<Timestamp>)| Some((name, civil(at?, zone)));
    Civils(times.into_iter().filter_map(of).collect())
}

/// An instant with its civil time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Moment {
    pub(crate) at: Timestamp,
    pub(crate) civil: Zoned,
    /// What a change of the clock does to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    remark: Option<Remark>,
}

/// What a change of the clock does to a time.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Remark {
    code: RemarkCode,
    text: &'static str,
}

/// The same, for programs.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum RemarkCode {
    Gap,
    OverlapFirst,
    OverlapSecond,
}

impl Moment {
    /// An instant in a zone.
    pub fn new(at: Timestamp, zone: &TimeZone) -> Moment {
        Moment { at, civil: civil(at, zone), remark: remark(at, zone) }
    }
}

fn remark(at: Timestamp, zone: &TimeZone) -> Option<Remark> {
    let ambiguous = zone.to_ambiguous_timestamp(zone.to_datetime(at));
    if ambiguous.is_ambiguous() {
        let is_first = ambiguous.earlier().is_ok_and(|first| first == at);
        let (code, text) = match is_first {
            true => (RemarkCode::OverlapFirst, "the clock shows this time twice: this is the first"),
            false => (RemarkCode::OverlapSecond, "the clock shows this time twice: this is the second"),
        };
        return Some(Remark { code, text });
    }
    let change = zone.preceding(at + SignedDuration::from_nanos(1)).next()?;
    let is_forward =
        change.timestamp() == at && zone.to_offset(at - SignedDuration::from_secs(1)) < change.offset();
    let text = "the clock is set forward here: a time that it leaves out is taken now";
    is_forward.then_some(Remark { code: RemarkCode::Gap, text })
}

/// A page of rows.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}List")]
pub struct List<T> {
    /// Those of this page.
    pub items: Vec<T>,
    /// Where the next page begins, for the parameter `after`; null at the end.
    pub next: Option<String>,
    /// How many match in all; null where counting would cost a scan.
    pub total: Option<usize>,
}

/// The code of a state of a job, as documents have it.
pub fn state_code(state: JobState) -> &'static str {
    match state {
        JobState::Active => "active",
        JobState::Paused => "paused",
        JobState::PausedAfterFailures => "paused_failures",
        JobState::PausedAfterCrashes => "paused_crashes",
        JobState::Quarantined => "quarantined",
        JobState::Done => "done",
    }
}

/// The zone of a job.
pub fn zone_of<'h>(app: &'h App, known: Option<&'h CachedJob>) -> &'h TimeZone {
    known.and_then(|known| known.plan.as_ref()).map_or(&app.zone, |plan| &plan.zone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn civil_times_stand_under_the_names_of_their_instants() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let found = civils(&zone, [("next", "2026-10-25T00:30:00Z".parse().ok()), ("last", None)]);
        let found = serde_json::to_value(found).unwrap();
        assert_eq!(found, serde_json::json!({ "next": "2026-10-25T02:30:00+02:00[Europe/Berlin]" }));
    }
}
