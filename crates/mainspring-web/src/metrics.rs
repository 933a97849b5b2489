//! The metrics: what the loop and its jobs are like now, as OpenMetrics.
//!
//! The table is [`ROWS`]: the manual's list and the check of the shipped rules are made of it. A job has its
//! series as long as it exists, from its definition on, so that an alert does not wait for the first failure.
//! Beyond [`MAX_JOBS`] jobs the rest has none.
//!
//! Cost: the list of jobs, and some strings for each.
//!
//! Does not keep anything between two scrapes.
//!
//! Source: OpenMetrics 1.0, <https://prometheus.io/docs/specs/om/open_metrics_spec/>.

use jiff::Timestamp;
use mainspring_exec::clock::Moment;
use mainspring_server::protocol::{JobWire, Request, Response, StatusWire};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::app::App;
use crate::catalogue::{Known, strange};
use crate::problem::{Code, Problem};
use crate::view::{state_code, zone_name, zone_of};

/// How many jobs have series of their own: each costs a monitoring system memory for weeks.
pub const MAX_JOBS: usize = 200;

/// The metrics that there are: name without its prefix, whether it is a counter, labels, what it says.
pub const ROWS: &[(&str, bool, &str, &str)] = &[
    ("job_runs", true, "job", "Occurrences that became runs since the job was defined"),
    ("job_next_run_timestamp_seconds", false, "job", "When the job is due next"),
    (
        "job_last_success_timestamp_seconds",
        false,
        "job",
        "When a run of the job last succeeded, if its last run did",
    ),
    ("job_failures_in_a_row", false, "job", "How many runs failed since the last success"),
    ("job_paused", false, "job, reason", "1 while the job rests"),
    ("job_info", false, "job, group, source, zone", "1 for each job"),
    ("runs_running", false, "job", "Runs that go on"),
    ("runs_queued", false, "job", "Runs that wait for a place"),
    ("jobs", false, "", "Jobs with a definition"),
    ("runs_open", false, "", "Runs that are scheduled, queued or running"),
    ("runs_kept", false, "", "Runs in the history"),
    ("dead_letters", false, "", "Runs that failed for good and wait for somebody"),
    ("once_pending", false, "", "One-shot jobs that wait"),
    ("file_problems", false, "file", "1 while a file of jobs has problems"),
    (
        "config_last_reload_success_timestamp_seconds",
        false,
        "file",
        "When the set in force of a file was read",
    ),
    ("troubles", false, "", "What keeps the server from doing all that it should"),
    ("paused", false, "", "1 while everything rests"),
    ("disk_free_bytes", false, "", "Room in the file system of the data directory"),
    ("epoch", false, "", "The number of the owner of the store"),
    ("refused", true, "", "Requests that were refused because clients asked too fast"),
    ("sse_clients", false, "", "Streams that are open"),
    ("http_connections", false, "", "Connections over HTTP that are open"),
    ("http_requests", true, "route, method, code", "Answers over HTTP"),
    ("build_info", false, "version", "1"),
];

type Labels = Vec<(String, String)>;

fn help(name: &str) -> &'static str {
    ROWS.iter().find(|row| row.0 == name).map_or("", |row| row.3)
}

/// Metrics of one scrape.
struct Sheet(Registry);

impl Sheet {
    fn gauge(&mut self, name: &str, value: f64) {
        let gauge = Gauge::<f64, std::sync::atomic::AtomicU64>::default();
        gauge.set(value);
        self.0.register(name, help(name), gauge);
    }

    fn counter(&mut self, name: &str, value: u64) {
        self.0.register(name, help(name), ConstCounter::new(value));
    }

    fn gauges(&mut self, name: &str, rows: impl IntoIterator<Item = (Labels, f64)>) {
        let family = Family::<Labels, Gauge<f64, std::sync::atomic::AtomicU64>>::default();
        for (labels, value) in rows {
            family.get_or_create(&labels).set(value);
        }
        self.0.register(name, help(name), family);
    }

    fn counters(&mut self, name: &str, rows: impl IntoIterator<Item = (Labels, u64)>) {
        let family = Family::<Labels, prometheus_client::metrics::counter::Counter>::default();
        for (labels, value) in rows {
            family.get_or_create(&labels).inc_by(value);
        }
        self.0.register(name, help(name), family);
    }
}

fn label(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[expect(clippy::cast_precision_loss, reason = "a metric is a floating-point number")]
fn number(value: u64) -> f64 {
    value as f64
}

fn seconds(text: Option<&String>) -> Option<f64> {
    let at: Timestamp = text?.parse().ok()?;
    Some(at.as_duration().as_secs_f64())
}

/// All metrics as text.
///
/// # Errors
///
/// What the loop says.
pub async fn text(app: &App, _: Moment) -> Result<String, Problem> {
    let Response::Status(status) = app.pool.look(Request::Status).await? else { return Err(strange()) };
    let Response::Health(health) = app.pool.look(Request::Health).await? else { return Err(strange()) };
    let jobs = app.catalogue.jobs(&app.pool).await?;
    let mut sheet = Sheet(Registry::with_prefix("mainspring"));
    let known: Vec<&Known> = jobs.iter().take(MAX_JOBS).map(|known| &**known).collect();
    of_jobs(app, &mut sheet, &known);
    of_server(&mut sheet, &status);
    sheet.gauge("disk_free_bytes", number(health.free_bytes.unwrap_or(0)));
    sheet.gauge("epoch", number(health.epoch.unwrap_or(0)));
    sheet.gauge("sse_clients", number(app.feed.stream_count() as u64));
    sheet.gauge("http_connections", number(app.meter.connections()));
    let answers = app.meter.all().into_iter().map(|((route, method, code), count)| {
        (vec![label("route", route), label("method", method), label("code", &code.to_string())], count)
    });
    sheet.counters("http_requests", answers);
    sheet.gauges("build_info", [(vec![label("version", env!("CARGO_PKG_VERSION"))], 1.0)]);
    let mut text = String::new();
    encode(&mut text, &sheet.0)
        .map_err(|error| Problem::new(Code::Failed, format!("the metrics cannot be written: {error}")))?;
    Ok(text)
}

fn of_jobs(app: &App, sheet: &mut Sheet, jobs: &[&Known]) {
    let named = |wire: &JobWire| vec![label("job", &wire.name)];
    let of = |value: fn(&JobWire) -> Option<f64>| {
        jobs.iter()
            .filter_map(move |known| Some((named(&known.wire), value(&known.wire)?)))
            .collect::<Vec<_>>()
    };
    sheet.counters("job_runs", jobs.iter().map(|known| (named(&known.wire), known.wire.runs)));
    sheet.gauges("job_next_run_timestamp_seconds", of(|wire| seconds(wire.next.as_ref())));
    let success =
        of(|wire| seconds(wire.last.as_ref().filter(|run| run.state == "succeeded")?.ended.as_ref()));
    sheet.gauges("job_last_success_timestamp_seconds", success);
    sheet.gauges("job_failures_in_a_row", of(|wire| Some(f64::from(wire.failures))));
    sheet.gauges("runs_running", of(|wire| Some(number(wire.running as u64))));
    sheet.gauges("runs_queued", of(|wire| Some(number(wire.queued as u64))));
    let paused = jobs.iter().map(|known| {
        let reason = state_code(known.wire.state_code);
        let is_paused = reason.starts_with("paused");
        let reason = if is_paused { reason } else { "" };
        ([named(&known.wire), vec![label("reason", reason)]].concat(), f64::from(u8::from(is_paused)))
    });
    sheet.gauges("job_paused", paused);
    let info = jobs.iter().map(|known| {
        let wire = &known.wire;
        let zone = zone_name(zone_of(app, Some(known)));
        let group = wire.group.as_deref().unwrap_or_default();
        let labels = vec![label("group", group), label("source", &wire.source), label("zone", zone)];
        ([named(wire), labels].concat(), 1.0)
    });
    sheet.gauges("job_info", info);
}

fn of_server(sheet: &mut Sheet, status: &StatusWire) {
    for (name, value) in [
        ("jobs", status.jobs),
        ("runs_open", status.open),
        ("runs_kept", status.runs),
        ("dead_letters", status.dead),
        ("once_pending", status.pending),
        ("troubles", status.troubles.len() as u64),
        ("paused", u64::from(status.paused)),
    ] {
        sheet.gauge(name, number(value));
    }
    sheet.counter("refused", status.refused);
    let files = status
        .files
        .iter()
        .map(|file| (vec![label("file", &file.name)], f64::from(u8::from(!file.problems.is_empty()))));
    sheet.gauges("file_problems", files.collect::<Vec<_>>());
    let read = status
        .files
        .iter()
        .filter_map(|file| Some((vec![label("file", &file.name)], seconds(file.read.as_ref())?)));
    sheet.gauges("config_last_reload_success_timestamp_seconds", read.collect::<Vec<_>>());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_rules_ask_for_metrics_that_there_are() {
        let rules = include_str!("../../../examples/prometheus-rules.yml");
        let expressions = rules.lines().filter_map(|line| line.trim().strip_prefix("expr: "));
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut count = 0;
        for word in expressions.flat_map(|text| text.split(move |c: char| !is_part(c))) {
            let Some(name) = word.strip_prefix("mainspring_") else { continue };
            let found =
                ROWS.iter().any(|row| row.0 == name || (row.1 && name.strip_suffix("_total") == Some(row.0)));
            assert!(found, "{name}");
            count += 1;
        }
        assert_eq!(count, rules.matches("alert: ").count(), "each rule asks for one");
    }

    /// The program that knows the language of the rules, where it is installed.
    #[test]
    fn promtool_takes_the_shipped_rules() {
        let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/prometheus-rules.yml");
        let checked = std::process::Command::new("promtool").args(["check", "rules", rules]).output();
        let Ok(checked) = checked else {
            assert!(std::env::var_os("CI").is_none(), "promtool is not installed");
            return println!("skipped: promtool is not installed");
        };
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }
}
