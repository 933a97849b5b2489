//! Simulates a server between two moments: the real planner, a store in memory and a virtual clock.
//!
//! ```text
//! files ─▶ jobs ─▶ Planner ◀──── Tick, Ended ──── virtual clock: jumps to whatever is next
//!                    │  ▲                            ▲
//!                    ▼  └── Committed ── MemoryStore │ end of a run, by its duration or its timeout
//!                 Tally ◀── starts, skips, misses ───┘ server off, clock set
//! ```
//!
//! The planner is the one that `serve` runs, with the same limits, so policies, exclusions, groups and
//! changes of the clock mean here what they mean there. Runs are modelled: one takes as long as its duration
//! says and then succeeds, or ends at its timeout. A run without a duration ends at once.
//!
//! Cost: some microseconds for each occurrence. Memory: that of the planner, plus the listed events.
//!
//! Does not model what a machine adds: late wake-ups, slow starts, commands that fail.
//!
//! Source: simulation of the planner over virtual time, as in TigerBeetle's VOPR,
//! <https://github.com/tigerbeetle/tigerbeetle/blob/main/docs/internals/vopr.md>.

pub(crate) mod document;
pub mod report;
mod scenario;
mod tally;
mod world;

pub use scenario::{ClockSet, MAX_EVENTS, Outage, Scenario, SimulatedJob};
pub use tally::{BUSIEST_COUNT, Event, JobEvent, Outcome, Peak, Total};
use world::World;

/// Runs the jobs through the time of the scenario.
///
/// # Panics
///
/// When two jobs have one name, which the planner refuses.
///
/// # Example
///
/// ```
/// use jiff::tz::TimeZone;
/// use mainspring_file::crontab::Format;
/// use mainspring_file::loaded_file::LoadedFile;
/// use mainspring_cli::simulation::{MAX_EVENTS, Scenario, SimulatedJob, simulate};
/// use mainspring_file::source::Source;
///
/// let source = Source::new("crontab", "# mainspring: name=poll overlap=skip\n*/15 * * * * poll\n");
/// let loaded = LoadedFile::parse(&source, Format::User, &TimeZone::UTC);
/// let jobs = loaded.jobs.into_iter().map(|placed| SimulatedJob {
///     job: placed.job,
///     place: ("crontab".into(), placed.line_number),
///     duration: Some(std::time::Duration::from_secs(20 * 60)),
/// });
/// let outcome = simulate(&Scenario {
///     jobs: jobs.collect(),
///     groups: Vec::new(),
///     from: "2026-01-01T00:00:00Z".parse()?,
///     to: "2026-01-02T00:00:00Z".parse()?,
///     outages: Vec::new(),
///     clock_sets: Vec::new(),
///     listed_count: 1,
///     events_max: MAX_EVENTS,
/// });
/// assert_eq!((outcome.totals[0].start_count, outcome.totals[0].skipped_count), (48, 48));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn simulate(scenario: &Scenario) -> Outcome {
    World::new(scenario).run()
}

#[cfg(test)]
mod tests;
