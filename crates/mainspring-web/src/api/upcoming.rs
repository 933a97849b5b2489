//! Runs due in a span of time: a lane for each job, possible overlaps, and changes of clocks.
//!
//! Cost: a search for each time, at most `MAX_TIMES` in all; they are searched and written on another thread.
//!
//! Does not know what will be skipped: policies decide that when it is due.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp, Zoned};
use mainspring_server::protocol::zone_name;
use schemars::JsonSchema;
use serde::Serialize;

use crate::call::{Call, Reply, text, written};
use crate::catalogue::CachedJob;
use crate::job_schedule::JobSchedule;
use crate::problem::{Code, Problem};
use crate::view::{Moment, civil};

/// The longest span.
const MAX_SPAN: SignedDuration = SignedDuration::from_hours(8 * 24);

/// How many times of a job are told.
const MAX_MOMENTS: usize = 300;

/// How many times of all jobs are told: some megabytes of text. `count` says how many a lane has.
const MAX_MOMENTS_OF_ALL: usize = 60_000;

/// How many times of a job are counted: each minute of a week.
const MAX_COUNTED: usize = 10_080;

/// How many times are searched in all: a second of work.
const MAX_TIMES: usize = 200_000;

/// How many lanes are told. The histogram and the numbers are of all jobs, and `lanes_left_out` says how many
/// are not told.
const MAX_LANES: usize = 1_000;

const _: () = assert!(MAX_MOMENTS <= MAX_COUNTED, "what is reported is counted");
const _: () = assert!(MAX_COUNTED <= MAX_TIMES, "one job may have all that is searched");
const _: () = assert!(MAX_LANES <= MAX_MOMENTS_OF_ALL, "each lane has a time at least");

/// What is due in a span of time.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Upcoming<'l> {
    from: Timestamp,
    to: Timestamp,
    /// At most 1,000, those that are due first.
    lanes: Vec<Lane<'l>>,
    /// How many jobs have no lane here.
    lanes_left_out: usize,
    /// How many jobs are due that are not paused: those without a lane too.
    job_count: usize,
    /// How often they are due.
    time_count: usize,
    /// Jobs have more times than were searched.
    is_cut: bool,
    /// Changes of the clock of the zones of these jobs.
    changes: Vec<Change<'l>>,
    /// How many start in each step from `from` on.
    histogram: Histogram,
}

/// When a job is due.
#[derive(Debug, Serialize, JsonSchema)]
struct Lane<'l> {
    job: &'l str,
    zone: &'l str,
    group: Option<&'l str>,
    median_ms: Option<u64>,
    paused: bool,
    /// At most 300, and 60,000 of all lanes.
    times: Vec<Moment>,
    /// How many there are in all, or at least if is_cut.
    count: usize,
    /// There are more than were counted.
    is_cut: bool,
    /// Where a run will probably still be going when the next is due. `until` is the end of the first of the
    /// two.
    overlaps: Vec<Overlap>,
}

/// Two runs that may meet.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Overlap {
    at: Timestamp,
    until: Timestamp,
    code: &'static str,
    text: &'static str,
}

/// The clock of a zone is set.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Change<'l> {
    zone: &'l str,
    at: Timestamp,
    civil: Zoned,
    delta_ms: i64,
    text: String,
}

/// How many start when.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Histogram {
    step_ms: i64,
    counts: Vec<u64>,
    /// From here on jobs whose times were too many to search are counted as often as before; null if there is
    /// none.
    estimated_from: Option<Timestamp>,
}

/// What was found of a job.
struct FoundLane {
    known: Arc<CachedJob>,
    plan: Arc<JobSchedule>,
    median_ms: Option<u64>,
    times: Vec<Timestamp>,
    /// There are more than were searched.
    is_cut: bool,
}

/// What is due.
///
/// # Errors
///
/// 400 for a span that is none or too long, and what the loop says.
pub async fn upcoming(call: Call) -> Reply {
    let params = &call.params;
    let from = params.time("from")?.unwrap_or(call.now.wall);
    let day_after = || from.saturating_add(SignedDuration::from_hours(24)).unwrap_or(from);
    let to = params.time("to")?.unwrap_or_else(day_after);
    if to <= from || MAX_SPAN < to.duration_since(from) {
        return Err(Problem::new(Code::USAGE, "`to` must lie after `from`, and at most eight days after it"));
    }
    let app = Arc::clone(&call.app);
    let jobs = app.catalogue.jobs().await?;
    let wanted = |known: &&Arc<CachedJob>| {
        params.get("q").is_none_or(|part| known.wire.name.contains(part))
            && params.get("group").is_none_or(|group| known.wire.group.as_deref() == Some(group))
    };
    let jobs: Vec<Arc<CachedJob>> = jobs.iter().filter(wanted).map(Arc::clone).collect();
    let identity = &call.who()?.identity;
    let mut lanes = app.computations.run(identity, move || searched(jobs, from, to)).await?;
    // What is due first is looked back at first.
    let shown = || lanes.iter().take(MAX_LANES).map(|lane| &*lane.known);
    app.catalogue.look_back(shown()).await?;
    for lane in lanes.iter_mut().take(MAX_LANES) {
        lane.median_ms = app.catalogue.usual_ms(&lane.known.wire.name);
    }
    let json = app.computations.run(identity, move || written(&document(&lanes, from, to))).await??;
    Ok(text("application/json", json))
}

/// The lanes of these jobs, the one that is due first before the others.
fn searched(jobs: Vec<Arc<CachedJob>>, from: Timestamp, to: Timestamp) -> Vec<FoundLane> {
    debug_assert!(from < to, "the request was refused otherwise");
    let (start, end) = (from - SignedDuration::from_nanos(1), to - SignedDuration::from_nanos(1));
    // Each has the same share, so that jobs that are due all the time leave no lane of the others empty.
    let share = (MAX_TIMES / jobs.len().max(1)).clamp(1, MAX_COUNTED);
    let lane = |known: Arc<CachedJob>| {
        let plan = known.plan.clone()?;
        // A job that rests until a clock that was set back is where it was has no time before that.
        let start = known.wire.next.map_or(start, |next| start.max(next - SignedDuration::from_nanos(1)));
        let mut times = plan.timetable.occurrences(start, end, share + 1);
        let is_cut = share < times.len();
        times.truncate(share);
        debug_assert!(times.is_sorted());
        debug_assert!(times.iter().all(|at| (from..to).contains(at)));
        Some(FoundLane { known, plan, median_ms: None, times, is_cut })
    };
    let mut lanes: Vec<FoundLane> = jobs.into_iter().filter_map(lane).collect();
    lanes.sort_by_key(|lane| lane.times.first().copied().unwrap_or(Timestamp::MAX));
    lanes
}

fn document(lanes: &[FoundLane], from: Timestamp, to: Timestamp) -> Upcoming<'_> {
    let step = if to.duration_since(from) <= SignedDuration::from_hours(25) { 60 } else { 600 };
    let span = to.duration_since(from).as_secs();
    let mut counts = vec![0_u64; usize::try_from((span + step - 1) / step).unwrap_or(0)];
    let active = lanes.iter().filter(|lane| !is_paused(&lane.known));
    for at in active.flat_map(|lane| &lane.times) {
        let index = usize::try_from(at.duration_since(from).as_secs() / step).unwrap_or(0);
        if let Some(count) = counts.get_mut(index) {
            *count += 1;
        }
    }
    let cut = || lanes.iter().filter(|lane| lane.is_cut && !is_paused(&lane.known));
    for lane in cut() {
        go_on(&mut counts, &lane.times, from, step);
    }
    let estimated_from = cut().filter_map(|lane| lane.times.last()).min().copied();
    let awake = || lanes.iter().filter(|lane| !is_paused(&lane.known) && !lane.times.is_empty());
    let shown = &lanes[..lanes.len().min(MAX_LANES)];
    let share = MAX_MOMENTS.min(MAX_MOMENTS_OF_ALL / shown.len().max(1));
    Upcoming {
        from,
        to,
        lanes: shown.iter().map(|found| Lane::new(found, share)).collect(),
        lanes_left_out: lanes.len() - shown.len(),
        job_count: awake().count(),
        time_count: awake().map(|lane| lane.times.len()).sum(),
        is_cut: cut().next().is_some(),
        changes: changes(lanes, from, to),
        histogram: Histogram { step_ms: step * 1_000, counts, estimated_from },
    }
}

/// Counts in each step what a job will be due after the last of these times, as often as between them: a
/// histogram that ended with the search would show a calm that does not come.
fn go_on(counts: &mut [u64], times: &[Timestamp], from: Timestamp, step: i64) {
    let [first, .., last] = times else { return };
    let seconds_to = |at: &Timestamp| at.duration_since(from).as_secs();
    let searched = (seconds_to(last) - seconds_to(first)).max(1);
    let intervals = i64::try_from(times.len() - 1).unwrap_or(i64::MAX);
    // Sums are rounded, and not each step, so that no part of a time is lost or told twice.
    // What is due at the end of a step belongs to the next.
    let until = |at: i64| (at - seconds_to(last) - 1).max(0).saturating_mul(intervals) / searched;
    for (index, count) in counts.iter_mut().enumerate() {
        let start = i64::try_from(index).unwrap_or(i64::MAX).saturating_mul(step);
        *count += u64::try_from(until(start.saturating_add(step)) - until(start)).unwrap_or(0);
    }
}

fn is_paused(known: &CachedJob) -> bool {
    known.wire.state_code.is_paused()
}

impl Lane<'_> {
    fn new(found: &FoundLane, moments_max: usize) -> Lane<'_> {
        let FoundLane { known, plan, median_ms, times, is_cut } = found;
        let shown = &times[..times.len().min(moments_max)];
        let length = median_ms.and_then(|ms| i64::try_from(ms).ok()).unwrap_or(0);
        let overlap = |pair: &[Timestamp]| {
            let until = pair[0].saturating_add(SignedDuration::from_millis(length)).unwrap_or(pair[0]);
            let text = "the run before will probably still be going";
            let overlap = || Overlap { at: pair[1], until, code: "overlap", text };
            (pair[1] < until).then(overlap)
        };
        Lane {
            job: &known.wire.name,
            zone: zone_name(&plan.zone),
            group: known.wire.group.as_deref(),
            median_ms: *median_ms,
            paused: is_paused(known),
            times: shown.iter().map(|at| Moment::new(*at, &plan.zone)).collect(),
            count: times.len(),
            is_cut: *is_cut,
            overlaps: shown.windows(2).filter_map(overlap).collect(),
        }
    }
}

/// When the clocks of the zones of these jobs are set.
fn changes(lanes: &[FoundLane], from: Timestamp, to: Timestamp) -> Vec<Change<'_>> {
    let zones: BTreeMap<&str, &JobSchedule> =
        lanes.iter().map(|lane| (zone_name(&lane.plan.zone), &*lane.plan)).collect();
    let mut found = Vec::new();
    for (name, plan) in zones {
        for change in plan.zone.following(from).take_while(|change| change.timestamp() < to) {
            let at = change.timestamp();
            let before = plan.zone.to_offset(at - SignedDuration::from_secs(1));
            let delta = i64::from(change.offset().seconds()) - i64::from(before.seconds());
            if delta == 0 {
                continue;
            }
            let direction = if 0 < delta { "forward" } else { "back" };
            let text = format!("the clock is set {direction} by {} min", delta.abs() / 60);
            let (zone, civil, delta_ms) = (name, civil(at, &plan.zone), delta * 1_000);
            found.push(Change { zone, at, civil, delta_ms, text });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job_schedule::read;
    use jiff::tz::TimeZone;
    use mainspring_server::protocol::JobWire;

    #[test]
    fn jobs_without_a_lane_are_counted_and_it_is_said_how_many_they_are() {
        let job = |number: usize| {
            let name = format!("j{number:05}");
            let definition = format!("[jobs.{name}]\ncron = \"{} 3 * * *\"\nrun = [\"true\"]\n", number % 60);
            let wire = JobWire { name, ..JobWire::default() };
            let plan = read(&definition, &TimeZone::UTC);
            Arc::new(CachedJob { wire, definition, plan })
        };
        let from: Timestamp = "2026-11-22T00:00:00Z".parse().unwrap();
        let to = from + SignedDuration::from_hours(24);
        for (count, lane_count) in [(1_000, 1_000), (2_400, 1_000)] {
            let lanes = searched((0..count).map(job).collect(), from, to);
            let found = document(&lanes, from, to);
            assert_eq!(found.lanes.len(), lane_count);
            let numbers = (found.lanes_left_out, found.job_count, found.time_count);
            assert_eq!(numbers, (count - lane_count, count, count));
            assert!(!found.is_cut);
            assert_eq!(found.histogram.counts.iter().sum::<u64>(), count as u64);
        }
    }

    #[test]
    fn a_job_that_rests_for_the_clock_has_no_time_before_it_is_due_again() {
        let definition = "[jobs.a]\nevery = \"1m\"\nrun = [\"true\"]\n".to_owned();
        let from: Timestamp = "2026-11-22T00:00:00Z".parse().unwrap();
        let next = from + SignedDuration::from_hours(2);
        let wire = JobWire { name: "a".to_owned(), next: Some(next), ..JobWire::default() };
        let plan = read(&definition, &TimeZone::UTC);
        let job = Arc::new(CachedJob { wire, definition, plan });
        let lanes = searched(vec![job], from, from + SignedDuration::from_hours(3));
        assert_eq!((lanes[0].times[0], lanes[0].times.len()), (next, 60));
    }

    #[test]
    fn jobs_that_are_due_all_the_time_leave_the_lanes_of_others_as_they_are() {
        let job = |name: &str, rule: &str| {
            let definition = format!("[jobs.{name}]\n{rule}\nrun = [\"true\"]\n");
            let wire = JobWire { name: name.to_owned(), ..JobWire::default() };
            let plan = read(&definition, &TimeZone::UTC);
            Arc::new(CachedJob { wire, definition, plan })
        };
        let mut jobs: Vec<_> =
            (0..60).map(|number| job(&format!("often-{number}"), "every = \"5s\"")).collect();
        jobs.push(job("weekly", "cron = \"0 3 * * 1\""));
        let from: Timestamp = "2026-11-22T00:00:00Z".parse().unwrap();
        let to = from + SignedDuration::from_hours(7 * 24);
        let lanes = searched(jobs, from, to);
        let found = document(&lanes, from, to);
        let of = |name: &str| found.lanes.iter().find(|lane| lane.job == name).unwrap();
        assert_eq!((of("weekly").count, of("weekly").is_cut), (1, false));
        assert_eq!((of("often-59").count, of("often-59").is_cut), (3_278, true));
        // Sixty jobs every five seconds: 7,200 in ten minutes until the end, and what is weekly beside them.
        let counts = &found.histogram.counts;
        let (most, last) = (counts.iter().max().unwrap(), counts.last().unwrap());
        assert_eq!((counts.len(), *most, *last), (7 * 144, 7_201, 7_200));
        assert_eq!(found.histogram.estimated_from.unwrap().to_string(), "2026-11-22T04:33:05Z");
    }
}
