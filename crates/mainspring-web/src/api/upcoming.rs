//! Runs due in a span of time: a lane for each job, possible overlaps, and changes of clocks.
//!
//! Cost: a search for each time, at most `MAX_TIMES` in all; they are searched and written on another thread.
//!
//! Does not know what will be skipped: policies decide that when it is due.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::jobs::moment;
use crate::call::{Call, Reply, text, written};
use crate::catalogue::CachedJob;
use crate::job_schedule::JobSchedule;
use crate::problem::{Code, Problem};
use crate::view::{civil, zone_name};

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

struct Lane {
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
    let asked = call.asked()?;
    let from = asked.time("from")?.unwrap_or(call.now.wall);
    let day_after = || from.saturating_add(SignedDuration::from_hours(24)).unwrap_or(from);
    let to = asked.time("to")?.unwrap_or_else(day_after);
    if to <= from || MAX_SPAN < to.duration_since(from) {
        return Err(Problem::new(Code::Usage, "`to` must lie after `from`, and at most eight days after it"));
    }
    let app = Arc::clone(&call.app);
    let jobs = app.catalogue.jobs(&app.pool).await?;
    let wanted = |known: &&Arc<CachedJob>| {
        asked.get("q").is_none_or(|part| known.wire.name.contains(part))
            && asked.get("group").is_none_or(|group| known.wire.group.as_deref() == Some(group))
    };
    let jobs: Vec<Arc<CachedJob>> = jobs.iter().filter(wanted).map(Arc::clone).collect();
    let identity = &call.who()?.identity;
    let mut lanes = app.computations.run(identity, move || searched(jobs, from, to)).await?;
    // What is due first is looked back at first.
    let told = || lanes.iter().take(MAX_LANES).map(|lane| &*lane.known);
    app.catalogue.look_back(&app.pool, told()).await?;
    for lane in lanes.iter_mut().take(MAX_LANES) {
        let recent = app.catalogue.recent_known(&lane.known.wire.name);
        lane.median_ms = recent.and_then(|recent| recent.median_ms);
    }
    let told = app.computations.run(identity, move || written(&document(&lanes, from, to))).await??;
    Ok(text("application/json", told))
}

/// The lanes of these jobs, the one that is due first before the others.
fn searched(jobs: Vec<Arc<CachedJob>>, from: Timestamp, to: Timestamp) -> Vec<Lane> {
    let (start, end) = (from - SignedDuration::from_nanos(1), to - SignedDuration::from_nanos(1));
    // Each has the same share, so that jobs that are due all the time leave no lane of the others empty.
    let share = (MAX_TIMES / jobs.len().max(1)).clamp(1, MAX_COUNTED);
    let lane = |known: Arc<CachedJob>| {
        let plan = known.plan.clone()?;
        let mut times = plan.timetable.occurrences(start, end, share + 1);
        let is_cut = share < times.len();
        times.truncate(share);
        Some(Lane { known, plan, median_ms: None, times, is_cut })
    };
    let mut lanes: Vec<Lane> = jobs.into_iter().filter_map(lane).collect();
    lanes.sort_by_key(|lane| lane.times.first().copied().unwrap_or(Timestamp::MAX));
    lanes
}

fn document(lanes: &[Lane], from: Timestamp, to: Timestamp) -> Value {
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
    let estimated_from = cut().filter_map(|lane| lane.times.last()).min().map(Timestamp::to_string);
    let awake = || lanes.iter().filter(|lane| !is_paused(&lane.known) && !lane.times.is_empty());
    let told = &lanes[..lanes.len().min(MAX_LANES)];
    let share = MAX_MOMENTS.min(MAX_MOMENTS_OF_ALL / told.len().max(1));
    json!({
        "from": from.to_string(), "to": to.to_string(), "lanes": told.iter().map(|lane| lane_document(lane, share)).collect::<Vec<_>>(),
        "lanes_left_out": lanes.len() - told.len(), "job_count": awake().count(),
        "time_count": awake().map(|lane| lane.times.len()).sum::<usize>(), "is_cut": cut().next().is_some(),
        "changes": changes(lanes, from, to),
        "histogram": { "step_ms": step * 1_000, "counts": counts, "estimated_from": estimated_from }
    })
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

fn lane_document(lane: &Lane, moments_max: usize) -> Value {
    let Lane { known, plan, median_ms, times, is_cut } = lane;
    let shown = &times[..times.len().min(moments_max)];
    let length = SignedDuration::from_millis(median_ms.and_then(|ms| i64::try_from(ms).ok()).unwrap_or(0));
    let meets = shown.windows(2).filter_map(|pair| {
        let until = pair[0].saturating_add(length).unwrap_or(pair[0]);
        let text = "the run before will probably still be going";
        let overlap = || json!({ "at": pair[1].to_string(), "until": until.to_string(), "code": "overlap", "text": text });
        (pair[1] < until).then(overlap)
    });
    json!({
        "job": known.wire.name, "zone": zone_name(&plan.zone), "group": known.wire.group, "median_ms": median_ms,
        "paused": is_paused(known), "times": shown.iter().map(|at| moment(*at, plan)).collect::<Vec<_>>(),
        "count": times.len(), "is_cut": is_cut, "overlaps": meets.collect::<Vec<_>>()
    })
}

/// When the clocks of the zones of these jobs are set.
fn changes(lanes: &[Lane], from: Timestamp, to: Timestamp) -> Vec<Value> {
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
            found.push(json!({
                "zone": name, "at": at.to_string(), "civil": civil(at, &plan.zone), "delta_ms": delta * 1_000, "text": text
            }));
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
        for (count, told) in [(1_000, 1_000), (2_400, 1_000)] {
            let found = document(&searched((0..count).map(job).collect(), from, to), from, to);
            assert_eq!(found["lanes"].as_array().unwrap().len(), told);
            let numbers =
                ["lanes_left_out", "job_count", "time_count"].map(|name| found[name].as_u64().unwrap());
            assert_eq!(numbers, [count - told, count, count].map(|count| count as u64));
            assert_eq!(found["is_cut"], json!(false));
            let counts = found["histogram"]["counts"].as_array().unwrap();
            assert_eq!(counts.iter().filter_map(Value::as_u64).sum::<u64>(), count as u64);
        }
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
        let found = document(&searched(jobs, from, to), from, to);
        let lanes = found["lanes"].as_array().unwrap();
        let of = |name: &str| lanes.iter().find(|lane| lane["job"] == name).unwrap();
        assert_eq!((&of("weekly")["count"], &of("weekly")["is_cut"]), (&json!(1), &json!(false)));
        assert_eq!((&of("often-59")["count"], &of("often-59")["is_cut"]), (&json!(3_278), &json!(true)));
        // Sixty jobs every five seconds: 7,200 in ten minutes until the end, and what is weekly beside them.
        let counts = found["histogram"]["counts"].as_array().unwrap();
        let most = counts.iter().filter_map(Value::as_u64).max().unwrap();
        let last = counts.last().and_then(Value::as_u64).unwrap();
        assert_eq!((counts.len(), most, last), (7 * 144, 7_201, 7_200));
        assert_eq!(found["histogram"]["estimated_from"], json!("2026-11-22T04:33:05Z"));
    }
}
