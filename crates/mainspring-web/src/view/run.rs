//! A run as the API has it.
//!
//! Cost: a read of the end of its output, if it has started.
//!
//! Does not read more of the output: see [`log`](crate::api::log).

use std::path::PathBuf;

use jiff::tz::TimeZone;
use mainspring_job::{Cause, RunKey, RunState};
use mainspring_server::protocol::{RunWire, zone_name};
use mainspring_server::server::output::{is_removed, path, readable};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Civils, civils};
use crate::app::App;
use crate::catalogue::between_ms;
use crate::tail::last_line;

/// A run, as `history` has it and with what a page needs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Run {
    /// As the command line has it.
    #[serde(flatten)]
    pub wire: RunWire,
    /// 0, or the number of a backfill.
    pub series: u32,
    /// The zone of its job.
    pub zone: String,
    /// How long after it was due it started.
    pub lateness_ms: Option<u64>,
    /// How long it took.
    pub duration_ms: Option<u64>,
    /// The median of the job, for a run that is running.
    pub usual_ms: Option<u64>,
    /// The last line of output, at most 200 characters, as it was written.
    pub last_line: Option<String>,
    /// In the zone of its job.
    pub civil: Civils,
}

impl Run {
    /// A run of a job in this zone, and how long one usually takes.
    pub fn new(app: &App, wire: RunWire, zone: &TimeZone, usual_ms: Option<u64>) -> Run {
        let times = [
            ("nominal", Some(wire.nominal)),
            ("due", Some(wire.due)),
            ("started", wire.started),
            ("ended", wire.ended),
            ("last", wire.last),
        ];
        Run {
            series: wire.run.series,
            zone: zone_name(zone).to_owned(),
            lateness_ms: between_ms(Some(wire.due), wire.started),
            duration_ms: wire.took_ms(),
            usual_ms: usual_ms.filter(|_| wire.state == RunState::Running),
            last_line: wire.started.and_then(|_| last_line(&output_path(app, &wire))),
            civil: civils(zone, times),
            wire,
        }
    }
}

/// The address of a run, below the base.
pub fn address_of(RunKey { job, nominal, series }: &RunKey) -> String {
    format!("api/v1/runs/{job}/{nominal}/{series}")
}

/// Where the output of a run is.
pub fn output_path(app: &App, wire: &RunWire) -> PathBuf {
    readable(path(&app.data.output(), &wire.run, wire.cause.known().unwrap_or(Cause::Trigger)))
}

/// Whether what a run wrote is not kept any more.
pub fn is_output_removed(app: &App, wire: &RunWire) -> bool {
    is_removed(&app.data.output(), &wire.run, wire.cause.known().unwrap_or(Cause::Trigger))
}

/// Whether the server still has something to do with a run. One that waits for its next attempt has the end
/// of the last: the state says it, and not the end.
pub fn is_open(wire: &RunWire) -> bool {
    wire.state.known().is_some_and(RunState::is_open)
}
