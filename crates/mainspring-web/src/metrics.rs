//! The metrics: what the loop and its jobs are like now, as text.
//!
//! The table is [`metric_rows`](crate::metric_rows): the dashboard and the check of the shipped rules are
//! made of it. A job has its series as long as it exists, from its definition on, so that an alert does not
//! wait for the first failure. Beyond `--metrics-max-jobs` jobs the rest has one together, `_other`; one-shot
//! jobs are `_once`.
//!
//! Cost: the list of jobs, and some strings for each.
//!
//! Does not keep anything between two scrapes: the loop counts.
//!
//! Source: OpenMetrics 1.0, <https://prometheus.io/docs/specs/om/open_metrics_spec/>.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use mainspring_exec::clock::Moment;
use mainspring_server::protocol::{
    BOUNDS_OPERATIONS, BOUNDS_S, ClusterWire, JobMetricsWire, JobWire, METERED_JOBS, MemberWire, MetricsWire,
    Request, Response, StatusWire, WaitingWire, zone_name,
};

use crate::app::App;
use crate::catalogue::CachedJob;
use crate::metrics_writer::{MetricsWriter, TextFormat};
use crate::problem::{Code, Problem, strange};
use crate::resources::{counts, processor_time, store_sizes, zones_version};
use crate::view::{state_code, zone_of};

/// The series of jobs that are not told by name, and of what came of jobs that are gone.
const OTHER: &str = "_other";

/// The series of one-shot jobs.
const ONCE: &str = "_once";

const _: () = assert!(!OTHER.as_bytes()[0].is_ascii_alphanumeric(), "no job's name begins so: see `JobName`");
const _: () = assert!(!ONCE.as_bytes()[0].is_ascii_alphanumeric(), "no job's name begins so: see `JobName`");

#[expect(clippy::cast_precision_loss, reason = "a metric is a floating-point number")]
fn number(value: u64) -> f64 {
    value as f64
}

fn seconds(at: Timestamp) -> f64 {
    at.as_duration().as_secs_f64()
}

/// All metrics as text. Of a server that stands by those that are its own: what the jobs are like the owner
/// tells, so that a sum over all servers counts them once.
///
/// # Errors
///
/// What the loop says.
pub async fn text(app: &App, format: TextFormat) -> Result<String, Problem> {
    let jobs_max = app.settings.metered_jobs_max.unwrap_or(METERED_JOBS);
    let Response::Metrics(counted) = app.pool.look(Request::Metrics { jobs_max }).await? else {
        return Err(strange());
    };
    let mut writer = MetricsWriter::default();
    if counted.stands_by {
        writer.gauge("planner", 0.0);
        of_answers(app, &mut writer, None);
        of_program(app, &mut writer, None);
    } else {
        of_owner(app, &mut writer, *counted).await?;
    }
    let written = writer.text(format);
    written.map_err(|error| Problem::new(Code::FAILED, format!("the metrics cannot be written: {error}")))
}

/// What a server tells that has the jobs.
async fn of_owner(app: &App, writer: &mut MetricsWriter, counted: MetricsWire) -> Result<(), Problem> {
    let status = app.pool.status().await?;
    let Response::Health(health) = app.pool.look(Request::Health).await? else { return Err(strange()) };
    let jobs = app.catalogue.jobs().await?;
    // The loop says which have a place of their own, which they keep.
    let is_named = |known: &&Arc<CachedJob>| counted.jobs.contains_key(&known.wire.name);
    let known: Vec<&CachedJob> = jobs.iter().filter(is_named).map(|known| &**known).collect();
    of_jobs(app, writer, &known);
    of_waiting(writer, &known, &counted.waiting);
    of_runs(writer, &known, counted);
    let mismatched = jobs.iter().filter(|known| known.wire.is_mismatched()).count();
    writer.gauge("agenda_mismatches", number(mismatched as u64));
    of_server(writer, &status);
    let sizes = store_sizes(&app.data).into_iter();
    writer.gauges("store_bytes", sizes.map(|(part, bytes)| ([part], number(bytes))));
    writer.gauge("disk_free_bytes", number(health.free_bytes.unwrap_or(0)));
    writer.gauge("epoch", number(health.epoch.unwrap_or(0)));
    of_answers(app, writer, Some(&status));
    of_program(app, writer, health.open_files_max);
    Ok(())
}

/// What the program is, and what it uses.
fn of_program(app: &App, writer: &mut MetricsWriter, open_files_max: Option<u64>) {
    writer.gauge("sse_clients", number(app.feed.stream_count() as u64));
    writer.gauge("http_connections", number(app.connections.count() as u64));
    let commit = option_env!("MAINSPRING_COMMIT").unwrap_or("unknown");
    writer.gauges("build_info", [([env!("CARGO_PKG_VERSION"), commit], 1.0)]);
    writer.gauges("tzdata_info", [([zones_version().as_deref().unwrap_or("unknown")], 1.0)]);
    of_process(writer, open_files_max);
}

fn of_jobs(app: &App, writer: &mut MetricsWriter, jobs: &[&CachedJob]) {
    let of = |value: fn(&JobWire) -> Option<f64>| {
        jobs.iter().filter_map(move |known| Some(([&known.wire.name], value(&known.wire)?)))
    };
    writer.counters("job_runs", jobs.iter().map(|known| ([&known.wire.name], known.wire.runs)));
    // A look that is earlier is one of several on the way to a time that is far away.
    writer.gauges(
        "job_next_run_timestamp_seconds",
        of(|wire| wire.armed.filter(|_| wire.armed == wire.next).map(seconds)),
    );
    writer.gauges("job_failures_in_a_row", of(|wire| Some(f64::from(wire.failures))));
    writer.gauges("runs_running", of(|wire| Some(number(wire.running as u64))));
    let queued = jobs.iter().flat_map(|known| {
        let wire = &known.wire;
        let why = if 0 < wire.running && !is_allowed_to_overlap(wire) { "overlap" } else { "place" };
        ["overlap", "place"].map(|reason| {
            let count = if reason == why { wire.queued } else { 0 };
            ([&wire.name, reason], number(count as u64))
        })
    });
    writer.gauges("runs_queued", queued);
    writer.gauges("job_silent", of(|wire| Some(f64::from(u8::from(wire.silent_since.is_some())))));
    let paused = jobs.iter().map(|known| {
        let state = known.wire.state_code;
        let (is_paused, reason) = if state.is_paused() { (true, state_code(state)) } else { (false, "") };
        ([&known.wire.name, reason], f64::from(u8::from(is_paused)))
    });
    writer.gauges("job_paused", paused);
    let info = jobs.iter().map(|known| {
        let wire = &known.wire;
        let zone = zone_name(zone_of(app, Some(known)));
        ([&wire.name, wire.group.as_deref().unwrap_or_default(), &wire.source, zone], 1.0)
    });
    writer.gauges("job_info", info);
}

/// Whether its runs do not wait for each other.
fn is_allowed_to_overlap(wire: &JobWire) -> bool {
    wire.policies.split_whitespace().any(|policy| policy == "overlap=allow")
}

/// What waits for somebody, or for its time.
fn of_waiting(writer: &mut MetricsWriter, jobs: &[&CachedJob], waiting: &WaitingWire) {
    let names = jobs.iter().map(|known| known.wire.name.as_str());
    let mut dead: BTreeMap<&str, u64> = names.chain([OTHER, ONCE]).map(|name| (name, 0)).collect();
    for (name, count) in &waiting.dead {
        let own = if dead.contains_key(name.as_str()) { name.as_str() } else { OTHER };
        *dead.entry(own).or_default() += count;
    }
    *dead.entry(ONCE).or_default() += waiting.dead_once;
    *dead.entry(OTHER).or_default() += waiting.dead_uncounted;
    writer.gauges("dead_letters", dead.into_iter().map(|(job, count)| ([job], number(count))));
    let overdue = waiting.first_due_ms.map(|due_ms| Moment::now().wall.as_millisecond() - due_ms);
    let overdue = overdue.and_then(|ms| u64::try_from(ms).ok()).unwrap_or_default();
    writer.gauge("once_oldest_overdue_seconds", Duration::from_millis(overdue).as_secs_f64());
}

/// What the listener has answered, and what was refused: by the loop as well, if there is one.
fn of_answers(app: &App, writer: &mut MetricsWriter, status: Option<&StatusWire>) {
    let answers = app.meter.all();
    let rows =
        answers.iter().map(|((route, method, code), count)| ([*route, *method, code.as_str()], *count));
    writer.counters("http_requests", rows);
    writer.histograms("http_request_duration_seconds", app.meter.durations());
    let refused = app.meter.refusals().into_iter().chain(status.map(|status| ("rate", status.refused)));
    writer.counters("refused", refused.map(|(reason, count)| ([reason], count)));
}

/// What was counted since the start. A job that has done nothing yet has its series, so that an alert sees
/// the first failure as a change.
fn of_runs(writer: &mut MetricsWriter, jobs: &[&CachedJob], counted: MetricsWire) {
    let MetricsWire { jobs: mut by_name, others, once, lateness, turn, commit, operations, .. } = counted;
    let queries = counted.queries.into_iter().map(|(query, took)| ([query], took));
    writer.histograms("reader_query_seconds", queries);
    let always = ["succeeded", "failed"].map(|state| (state.to_owned(), 0));
    let notifications = always.into_iter().chain(counted.notifications).collect::<BTreeMap<String, u64>>();
    writer.counters("notifications", notifications.into_iter().map(|(state, count)| ([state], count)));
    writer.counter("output_lost_bytes", counted.output_lost_bytes);
    let jumps = [("forward", counted.jumps_forward), ("back", counted.jumps_back)];
    writer.counters("clock_jumps", jumps.map(|(to, count)| ([to], count)));
    let mut of: Vec<(String, JobMetricsWire)> = Vec::with_capacity(jobs.len() + 2);
    for known in jobs {
        let name = &known.wire.name;
        of.push((name.clone(), by_name.remove(name).unwrap_or_default()));
    }
    of.extend([(OTHER.to_owned(), others), (ONCE.to_owned(), once)]);
    type Counts = fn(&JobMetricsWire) -> &BTreeMap<String, u64>;
    let counters: [(&str, Counts, &[&str]); 4] = [
        ("runs_started", |job| &job.started, &["trigger"]),
        ("runs_ended", |job| &job.ended, &["succeeded", "failed", "timed_out", "abandoned", "dead"]),
        ("occurrences_missed", |job| &job.missed, &["server_down"]),
        ("occurrences_skipped", |job| &job.skipped, &["earlier_running"]),
    ];
    for (name, counts, always) in counters {
        let mut rows = Vec::new();
        for (job, counted) in &of {
            let counts = counts(counted);
            let absent = always.iter().filter(|value| !counts.contains_key(**value)).map(|value| (*value, 0));
            for (value, count) in counts.iter().map(|(value, count)| (value.as_str(), *count)).chain(absent) {
                rows.push(([job.as_str(), value], count));
            }
        }
        writer.counters(name, rows);
    }
    writer.counters("retries", of.iter().map(|(job, counted)| ([job], counted.retries)));
    writer.counters("occurrences_coalesced", of.iter().map(|(job, counted)| ([job], counted.coalesced)));
    let success = of.iter().filter_map(|(job, counted)| Some(([job], seconds(counted.last_success?))));
    writer.gauges("job_last_success_timestamp_seconds", success);
    let durations = of.into_iter().map(|(job, counted)| ([job], counted.duration));
    writer.histograms("run_duration_seconds", durations);
    writer.histogram("run_start_lateness_seconds", lateness, &BOUNDS_S);
    writer.histogram("loop_turn_seconds", turn, &BOUNDS_S);
    writer.histogram("commit_seconds", commit, &BOUNDS_S);
    writer.histogram("commit_batch_operations", operations, &BOUNDS_OPERATIONS);
}

fn of_server(writer: &mut MetricsWriter, status: &StatusWire) {
    for (name, value) in [
        ("jobs", status.jobs),
        ("runs_open", status.open),
        ("runs_kept", status.runs),
        ("once_pending", status.pending),
        ("troubles", status.troubles.len() as u64),
        ("paused", u64::from(status.paused)),
    ] {
        writer.gauge(name, number(value));
    }
    status.cluster.iter().for_each(|cluster| of_cluster(writer, cluster));
    let files = || status.files.iter();
    let problems = files().map(|file| ([&file.name], f64::from(u8::from(!file.problems.is_empty()))));
    writer.gauges("file_problems", problems);
    let read = files().filter_map(|file| Some(([&file.name], seconds(file.read?))));
    writer.gauges("config_last_reload_success_timestamp_seconds", read);
}

/// The servers that share a database.
fn of_cluster(writer: &mut MetricsWriter, cluster: &ClusterWire) {
    let in_seconds = |ms: u64| Duration::from_millis(ms).as_secs_f64();
    writer.gauge("planner", 1.0);
    writer.gauge("lease_seconds_left", in_seconds(cluster.lease_left_ms));
    let ahead = in_seconds(cluster.clock_ahead_ms.unsigned_abs());
    writer.gauge("clock_offset_seconds", if cluster.clock_ahead_ms < 0 { -ahead } else { ahead });
    let kinds = ["clean", "unclean", "rebooted", "interrupted"];
    let count = |kind: &str| cluster.takeovers.get(kind).copied().unwrap_or_default();
    writer.counters("takeovers", kinds.map(|kind| ([kind], count(kind))));
    writer.counter("fenced", cluster.fenced);
    writer.gauge("inbox_oldest_seconds", in_seconds(cluster.inbox_oldest_ms.unwrap_or_default()));
    let there: Vec<&MemberWire> = cluster.servers.iter().filter(|server| server.is_there()).collect();
    writer.gauge("servers", number(there.len() as u64));
    // By what stays when a server starts again, which its name does not.
    let of = |value: fn(&MemberWire) -> u64| {
        there.iter().map(move |server| ([&server.host, &server.address], number(value(server))))
    };
    writer.gauges("server_runs", of(|server| server.running));
    writer.gauges("server_capacity", of(|server| server.capacity));
}

/// What the process uses, as far as the kernel says it.
fn of_process(writer: &mut MetricsWriter, open_files_max: Option<u64>) {
    if let Some(time) = processor_time() {
        writer.fraction("process_cpu_seconds", time.as_secs_f64());
    }
    for (name, value) in counts().into_iter().chain([("process_max_fds", open_files_max)]) {
        if let Some(value) = value {
            writer.gauge(name, number(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric_rows::rows;

    /// The name of a series without what its kind adds.
    fn plain<'n>(name: &'n str, kind: &str) -> &'n str {
        let suffixes: &[&str] = match kind {
            "counter" => &["_total"],
            "histogram" => &["_bucket", "_sum", "_count"],
            _ => &[""],
        };
        suffixes.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or("")
    }

    #[test]
    fn a_histogram_is_written_with_all_its_buckets_and_a_job_from_the_first_day() {
        let mut writer = MetricsWriter::default();
        let mut counted = MetricsWire::default();
        for seconds in [1, 100_000] {
            counted.lateness.add(Duration::from_secs(seconds));
        }
        counted.once.duration.add(Duration::from_millis(2));
        of_runs(&mut writer, &[], counted);
        let text = writer.text(TextFormat::OpenMetrics).unwrap();
        for line in [
            "mainspring_run_start_lateness_seconds_bucket{le=\"0.3\"} 0",
            "mainspring_run_start_lateness_seconds_bucket{le=\"1.0\"} 1",
            "mainspring_run_start_lateness_seconds_bucket{le=\"+Inf\"} 2",
            "mainspring_run_start_lateness_seconds_count 2",
            "mainspring_run_duration_seconds_bucket{le=\"0.001\",job_name=\"_once\"} 0",
            "mainspring_run_duration_seconds_bucket{le=\"0.01\",job_name=\"_once\"} 1",
            "mainspring_runs_ended_total{job_name=\"_other\",state=\"failed\"} 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn the_shipped_rules_ask_for_metrics_that_there_are() {
        let rules = include_str!("../../../examples/prometheus-rules.yml");
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        for rule in rules.split("- alert: ").skip(1) {
            let (name, expression) = rule.split_once("expr: ").unwrap();
            let expression = expression.split("annotations:").next().unwrap();
            let words = expression.split(|c: char| !is_part(c));
            let metrics: Vec<&str> = words.filter_map(|word| word.strip_prefix("mainspring_")).collect();
            assert!(!metrics.is_empty(), "{name} asks for nothing");
            for metric in metrics {
                assert!(rows().any(|row| row[0] == plain(metric, row[1])), "{name}: {metric}");
            }
        }
    }
}
