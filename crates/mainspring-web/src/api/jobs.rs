//! The jobs: all of them, one, when it is due, how it went.
//!
//! Cost: the list is shared by all who ask within a quarter of a second; the runs of a job are read again
//! when it has changed.
//!
//! Does not change anything: see [`actions`](super::actions).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::http::StatusCode;
use jiff::{Timestamp, Zoned};
use mainspring_job::{Next, RunKey, RunState, Timetable};
use mainspring_server::protocol::{self, JobState, JobWire, Word};
use schemars::JsonSchema;
use serde::Serialize;

use super::define::job_answer;
use super::job_order::JobOrder;
use crate::app::App;
use crate::call::{Call, QueryParams, Reply, after_row, ok};
use crate::catalogue::{CachedJob, Distribution, RECENT_RUNS, Recent, between_ms};
use crate::problem::{Code, Problem};
use crate::view::{Job, Moment, civil, is_open, state_code, zone_of};

/// The longest page.
const MAX_ROWS: usize = 1_000;

const _: () = assert!(RECENT_RUNS <= protocol::MAX_ROWS, "one question of the loop has the runs of a job");

/// What chooses jobs.
pub const FILTERS: [&str; 5] = ["q", "state", "group", "label", "source"];

/// How many next times may be asked for.
const MAX_NEXT: usize = 100;

/// How many runs a year of a job is made of: what retention keeps of most, and seconds of reading of the
/// others.
const MAX_YEAR_RUNS: usize = 10_000;

/// How far the calendar is searched in one step of a search, and how many of them: as the planner does.
const MAX_STEPS: usize = 1_000;

/// What a job may be chosen by beside its state: several of them may hold.
const CONDITIONS: [&str; 6] = ["paused", "running", "failing", "troubled", "mismatched", "silent"];

/// The states that are asked for.
///
/// # Errors
///
/// 400 for one that no job has.
fn states(params: &QueryParams) -> Result<Vec<String>, Problem> {
    let wanted = params.words("state");
    let known: BTreeSet<&str> = CONDITIONS.into_iter().chain(JobState::ALL.map(state_code)).collect();
    match wanted.iter().find(|state| !known.contains(state.as_str())) {
        None => Ok(wanted),
        Some(state) => {
            let known = Vec::from_iter(known).join(", ");
            Err(Problem::new(Code::USAGE, format!("there is no state `{}`: {known}", state.escape_debug())))
        }
    }
}

/// Whether a job is one of those that are asked for.
fn matches(known: &CachedJob, params: &QueryParams, states: &[String]) -> bool {
    let wire = &known.wire;
    let code = state_code(wire.state_code);
    let is_in = |state: &String| match state.as_str() {
        "paused" => wire.state_code.is_paused(),
        "running" => 0 < wire.running,
        "failing" => 0 < wire.failures,
        "troubled" => wire.is_troubled(),
        "mismatched" => wire.is_mismatched(),
        "silent" => wire.silent_since.is_some(),
        other => other == code,
    };
    (states.is_empty() || states.iter().any(is_in))
        && params.get("q").is_none_or(|part| wire.name.contains(part))
        && params.get("group").is_none_or(|group| wire.group.as_deref() == Some(group))
        && params.get("source").is_none_or(|source| wire.source.contains(source))
        && params.words("label").iter().all(|label| has_label(wire, label))
}

/// Whether a job has a label: `name`, or `name=text`.
fn has_label(wire: &JobWire, label: &str) -> bool {
    match label.split_once('=') {
        Some((name, text)) => wire.labels.get(name).is_some_and(|found| found == text),
        None => wire.labels.contains_key(label),
    }
}

/// The jobs that are asked for, in the order of their names.
///
/// # Errors
///
/// 400 for a state that is none, and what the loop says.
pub async fn chosen(app: &App, params: &QueryParams) -> Result<Vec<Arc<CachedJob>>, Problem> {
    let states = states(params)?;
    let jobs = app.catalogue.jobs().await?;
    Ok(jobs.iter().filter(|known| matches(known, params, &states)).map(Arc::clone).collect())
}

/// A page of jobs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct JobList<'k> {
    /// Those of this page.
    items: Vec<Job<'k>>,
    /// Where the next page begins, for the parameter `after`; null at the end.
    next: Option<String>,
    /// How many match in all; null where counting would cost a scan.
    total: Option<usize>,
    /// How many are behind in no order: by median and p95 1,000 are sorted.
    unsorted: usize,
}

/// Tells a page of jobs.
///
/// # Errors
///
/// 400 for a parameter that is none, and what the loop says.
pub async fn list(call: Call) -> Reply {
    let params = &call.params;
    let limit = params.number("limit", 100, MAX_ROWS)?;
    let app = &call.app;
    let order = JobOrder::of(params.get("sort").unwrap_or("name"))?;
    let rows = order.sort(app, chosen(app, params).await?).await?;
    let (total, unsorted) = (rows.len(), rows.iter().filter(|row| row.is_unsorted).count());
    let start = params.get("after").map_or(Ok(0), |after| order.start(&rows, after))?;
    let page = &rows[start..total.min(start + limit)];
    let next = page.last().filter(|_| start + limit < total).map(|row| order.cursor(row));
    let mut recents = Vec::with_capacity(page.len());
    for row in page {
        recents.push(app.catalogue.recent(&row.known).await?);
    }
    let mut items = Vec::with_capacity(page.len());
    for (index, (row, recent)) in page.iter().zip(&recents).enumerate() {
        after_row(index).await;
        items.push(Job::new(app, &row.known, recent, call.now.wall));
    }
    ok(&JobList { items, next, total: Some(total), unsorted })
}

async fn known(call: &Call) -> Result<(Arc<CachedJob>, Arc<Recent>), Problem> {
    let known = call.app.catalogue.job(call.parameter("job")).await?;
    let recent = call.app.catalogue.recent(&known).await?;
    Ok((known, recent))
}

/// One job.
///
/// # Errors
///
/// 404 if there is none, and what the loop says.
pub async fn show(call: Call) -> Reply {
    job_answer(&call, StatusCode::OK, call.parameter("job")).await
}

/// The next times of a timetable after an instant, and whether the search for them was given up.
pub fn next_times(timetable: &Timetable, after: Timestamp, count: usize) -> (Vec<Timestamp>, bool) {
    let mut found = Vec::new();
    let mut after = after;
    for _ in 0..MAX_STEPS {
        match timetable.next_after(after) {
            Next::At(at) if found.len() < count => {
                found.push(at);
                after = at;
            }
            Next::NotBefore(at) => after = at,
            _ => return (found, false),
        }
    }
    (found, true)
}

/// The next times of a job.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Moments {
    items: Vec<Moment>,
    /// The search for more was given up: so many occurrences in a row are excluded.
    is_cut: bool,
}

/// When a job is due next.
///
/// # Errors
///
/// 404 if there is none, and what the loop says.
pub async fn next(call: Call) -> Reply {
    let params = &call.params;
    let count = params.number("n", 10, MAX_NEXT)?;
    let from = params.time("from")?.unwrap_or(call.now.wall);
    let known = call.app.catalogue.job(call.parameter("job")).await?;
    let Some(plan) = known.plan.as_ref().filter(|_| known.wire.next.is_some()) else {
        return ok(&Moments::default());
    };
    let (times, is_cut) = next_times(&plan.timetable, from, count);
    let items = times.into_iter().map(|at| Moment::new(at, &plan.zone)).collect();
    ok(&Moments { items, is_cut })
}

/// How long a job takes and how late it starts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Stats<'k> {
    /// Of those of the last 100 runs that succeeded, as in the list of jobs.
    duration: Distribution,
    /// Of the runs in the window.
    lateness: Distribution,
    /// Of the last 100 runs those that started, the oldest first.
    points: Vec<Point<'k>>,
    /// There may be older runs in the window.
    is_cut: bool,
}

/// One run among those that are counted.
#[derive(Debug, Serialize, JsonSchema)]
struct Point<'k> {
    #[schemars(with = "String")]
    run: &'k RunKey,
    at: Timestamp,
    civil: Zoned,
    state: &'k Word<RunState>,
    duration_ms: Option<u64>,
    lateness_ms: Option<u64>,
}

/// Tells how long a job takes and how late it starts.
///
/// # Errors
///
/// 404 if there is none, and what the loop says.
pub async fn stats(call: Call) -> Reply {
    let params = &call.params;
    let days = match params.get("window") {
        Some("7d") => 7,
        None | Some("30d") => 30,
        Some("90d") => 90,
        Some(_) => return Err(Problem::new(Code::USAGE, "`window` is 7d, 30d or 90d")),
    };
    let (known, recent) = known(&call).await?;
    let zone = zone_of(&call.app, Some(&known));
    let from = call.now.wall - jiff::SignedDuration::from_hours(24 * days);
    let mut points = Vec::new();
    let mut delays = Vec::new();
    // Older runs of this time may not be among those that are looked at.
    let oldest = recent.runs.last().map(|run| run.nominal);
    let is_cut = RECENT_RUNS <= recent.runs.len() && oldest.is_some_and(|oldest| from <= oldest);
    for run in recent.runs.iter().filter(|run| run.started.is_some()) {
        let at = run.nominal;
        if at < from {
            continue;
        }
        let duration_ms = run.took_ms();
        let lateness_ms = between_ms(Some(run.due), run.started);
        delays.extend(lateness_ms);
        let (civil, state) = (civil(at, zone), &run.state);
        points.push(Point { run: &run.run, at, civil, state, duration_ms, lateness_ms });
    }
    points.reverse();
    // Of the same runs as in the list of jobs, whatever the window is.
    let duration = recent.duration;
    ok(&Stats { duration, lateness: Distribution::of(delays), points, is_cut })
}

/// How bad a state is for a day.
fn badness(state: &Word<RunState>) -> u8 {
    match state.known() {
        Some(RunState::Dead) => 7,
        Some(RunState::Failed) => 6,
        Some(RunState::TimedOut) => 5,
        Some(RunState::Abandoned) => 4,
        Some(RunState::Missed) => 3,
        Some(RunState::Cancelled) => 2,
        Some(RunState::SkippedOverlap | RunState::SkippedPaused) => 1,
        _ => 0,
    }
}

/// A year of a job.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Heatmap {
    year: usize,
    /// Days with at least one run, in the zone of the job.
    days: Vec<Day>,
    /// There are more runs than the last 10,000, which are looked at: earlier days are left out.
    is_cut: bool,
}

/// A day of a job.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Day {
    date: String,
    worst: Word<RunState>,
    runs: u64,
    failed: u64,
    missed: u64,
}

/// The worst of each day of a year.
///
/// # Errors
///
/// 404 if there is no such job, and what the loop says.
pub async fn heatmap(call: Call) -> Reply {
    let params = &call.params;
    let (known, _) = known(&call).await?;
    let zone = zone_of(&call.app, Some(&known));
    let this_year = usize::try_from(call.now.wall.to_zoned(zone.clone()).year()).unwrap_or(0);
    let year = params.number("year", this_year, 9_999)?;
    let runs = call.app.catalogue.history(&known.wire.name, MAX_YEAR_RUNS).await?;
    let oldest = runs.get(MAX_YEAR_RUNS - 1).map(|run| run.nominal);
    let year_of = |at: Timestamp| usize::try_from(at.to_zoned(zone.clone()).year()).ok();
    let is_cut = oldest.is_some_and(|oldest| Some(year) <= year_of(oldest));
    let mut days: BTreeMap<String, Day> = BTreeMap::new();
    // A run that waits for its next attempt has an end too, that of the last.
    for run in runs.iter().filter(|run| run.ended.is_some() && !is_open(run)) {
        let date = run.nominal.to_zoned(zone.clone()).date();
        if usize::try_from(date.year()).ok() != Some(year) {
            continue;
        }
        let day = days.entry(date.to_string()).or_insert_with_key(|date| {
            let (date, worst) = (date.clone(), run.state.clone());
            Day { date, worst, runs: 0, failed: 0, missed: 0 }
        });
        if badness(&day.worst) < badness(&run.state) {
            day.worst.clone_from(&run.state);
        }
        day.runs += run.count;
        day.failed += u64::from(4 <= badness(&run.state));
        day.missed += if run.state == RunState::Missed { run.count } else { 0 };
    }
    ok(&Heatmap { year, days: days.into_values().collect(), is_cut })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_cron::Schedule;
    use mainspring_job::Exclusion;

    #[test]
    fn a_job_that_is_silent_is_found_by_that_word() {
        let is_found = |silent_since| {
            let wire = JobWire { silent_since, ..JobWire::default() };
            let known = CachedJob { wire, definition: String::new(), plan: None };
            matches(&known, &QueryParams::default(), &["silent".to_owned()])
        };
        assert_eq!((is_found(Some(Timestamp::UNIX_EPOCH)), is_found(None)), (true, false));
    }

    #[test]
    fn a_search_that_is_given_up_says_so() {
        let schedule = |text: &str| Schedule::parse(text, "UTC").unwrap();
        let from = "2026-01-01T00:00:00Z".parse().unwrap();
        let timetable = Timetable::new([schedule("@every 1s")]).unwrap();
        let never =
            timetable.clone().without(vec![Exclusion::Times(Box::new(schedule("* * * * *")))]).unwrap();
        assert_eq!(next_times(&never, from, 3), (Vec::new(), true));
        let (times, is_cut) = next_times(&timetable, from, 3);
        assert_eq!((times.len(), is_cut), (3, false));
    }
}
