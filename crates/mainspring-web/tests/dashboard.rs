//! A dashboard for Grafana, made of the table of metrics. The committed one is
//! `examples/grafana-dashboard.json`.
//!
//! ```text
//! rows of metrics ─▶ a panel each for what people look at first ─▶ examples/grafana-dashboard.json
//! ```
//!
//! Cost: none at run time: a test makes it.
//!
//! Does not ask for anything that is not in the table.
//!
//! Source: Grafana's JSON model of dashboards.

use serde_json::{Value, json};

use mainspring_web::metric_rows::rows;

/// Where it is committed.
const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/grafana-dashboard.json");

/// How wide the grid of a dashboard is.
const GRID_COLUMNS: usize = 24;

/// How high a panel is, in steps of the grid.
const PANEL_HEIGHT: usize = 7;

/// A panel: its title, its kind, its unit, how many columns it takes, its expressions with their legends.
type Panel = (&'static str, &'static str, &'static str, usize, &'static [(&'static str, &'static str)]);

const PANELS: &[Panel] = &[
    (
        "Jobs in trouble",
        "stat",
        "short",
        4,
        &[("count(mainspring_job_failures_in_a_row > 0) or vector(0)", "failing")],
    ),
    ("Troubles of the server", "stat", "short", 4, &[("mainspring_troubles", "")]),
    ("Dead letters", "stat", "short", 4, &[("sum(mainspring_dead_letters)", "")]),
    ("Runs that go on", "stat", "short", 4, &[("sum(mainspring_runs_running)", "")]),
    ("Runs that wait", "stat", "short", 4, &[("sum(mainspring_runs_queued)", "")]),
    ("Room on the disk", "stat", "bytes", 4, &[("mainspring_disk_free_bytes", "")]),
    (
        "Runs a minute",
        "timeseries",
        "short",
        12,
        &[("sum by (state) (rate(mainspring_runs_ended_total[5m])) * 60", "{{state}}")],
    ),
    (
        "Missed and skipped, an hour",
        "timeseries",
        "short",
        12,
        &[
            (
                // `increase` sees nothing of what a server finds at its start to be missed.
                "sum by (job_name, reason) (mainspring_occurrences_missed_total - (mainspring_occurrences_missed_total offset 1h \
                 or mainspring_occurrences_missed_total * 0)) > 0 \
                 or sum by (job_name, reason) (increase(mainspring_occurrences_missed_total[1h])) > 0",
                "{{job_name}} missed: {{reason}}",
            ),
            (
                "sum by (job_name, reason) (increase(mainspring_occurrences_skipped_total[1h])) > 0",
                "{{job_name}} skipped: {{reason}}",
            ),
        ],
    ),
    (
        "How late runs start",
        "timeseries",
        "s",
        12,
        &[
            ("histogram_quantile(0.5, rate(mainspring_run_start_lateness_seconds_bucket[5m]))", "median"),
            ("histogram_quantile(0.95, rate(mainspring_run_start_lateness_seconds_bucket[5m]))", "95 of 100"),
        ],
    ),
    (
        "How long runs take, 95 of 100",
        "timeseries",
        "s",
        12,
        &[(
            "histogram_quantile(0.95, sum by (job_name, le) (rate(mainspring_run_duration_seconds_bucket[1h])))",
            "{{job_name}}",
        )],
    ),
    (
        "Turns of the loop and commits, 99 of 100",
        "timeseries",
        "s",
        12,
        &[
            ("histogram_quantile(0.99, rate(mainspring_loop_turn_seconds_bucket[5m]))", "turn"),
            ("histogram_quantile(0.99, rate(mainspring_commit_seconds_bucket[5m]))", "commit"),
        ],
    ),
    (
        "Failures in a row",
        "timeseries",
        "short",
        12,
        &[("mainspring_job_failures_in_a_row > 0", "{{job_name}}")],
    ),
    (
        "Since the last success",
        "timeseries",
        "s",
        12,
        &[("time() - mainspring_job_last_success_timestamp_seconds", "{{job_name}}")],
    ),
    (
        "Until the next run",
        "timeseries",
        "s",
        12,
        &[("mainspring_job_next_run_timestamp_seconds - time()", "{{job_name}}")],
    ),
    ("Paused jobs", "table", "short", 12, &[("mainspring_job_paused == 1", "")]),
    ("Files with problems", "table", "short", 12, &[("mainspring_file_problems == 1", "")]),
    (
        "Answers over HTTP a second",
        "timeseries",
        "reqps",
        12,
        &[("sum by (code) (rate(mainspring_http_requests_total[5m]))", "{{code}}")],
    ),
    (
        "Answers over HTTP, 95 of 100",
        "timeseries",
        "s",
        12,
        &[(
            "histogram_quantile(0.95, sum by (route, le) (rate(mainspring_http_request_duration_seconds_bucket[5m])))",
            "{{route}}",
        )],
    ),
    (
        "Hooks that were told, an hour",
        "timeseries",
        "short",
        12,
        &[("sum by (result) (increase(mainspring_notifications_total[1h]))", "{{result}}")],
    ),
    (
        "How long the first one-shot job is overdue",
        "timeseries",
        "s",
        12,
        &[("mainspring_once_oldest_overdue_seconds", "")],
    ),
    ("Size of the store", "timeseries", "bytes", 12, &[("mainspring_store_bytes", "{{part}}")]),
    (
        "Who looks",
        "timeseries",
        "short",
        12,
        &[("mainspring_sse_clients", "streams"), ("mainspring_http_connections", "connections")],
    ),
];

fn document() -> Value {
    let (mut x, mut y) = (0, 0);
    let mut panels = Vec::new();
    for (index, (title, kind, unit, width, expressions)) in PANELS.iter().enumerate() {
        if GRID_COLUMNS < x + width {
            (x, y) = (0, y + PANEL_HEIGHT);
        }
        let targets: Vec<Value> = expressions
            .iter()
            .enumerate()
            .map(|(index, (expression, legend))| {
                let letter = char::from(b'A' + u8::try_from(index).unwrap_or(0));
                let is_now = *kind != "timeseries";
                json!({
                    "refId": letter.to_string(), "expr": expression, "legendFormat": legend, "instant": is_now,
                    "range": !is_now, "format": if *kind == "table" { "table" } else { "time_series" },
                    "datasource": { "type": "prometheus", "uid": "${datasource}" }
                })
            })
            .collect();
        panels.push(json!({
            "id": index + 1, "title": title, "type": kind, "description": description(expressions),
            "gridPos": { "x": x, "y": y, "w": width, "h": PANEL_HEIGHT },
            "datasource": { "type": "prometheus", "uid": "${datasource}" },
            "fieldConfig": { "defaults": { "unit": unit, "min": 0 }, "overrides": [] }, "targets": targets
        }));
        x += width;
    }
    json!({
        "title": "Mainspring", "uid": "mainspring", "schemaVersion": 39, "version": 1, "editable": true, "tags": ["mainspring"],
        "time": { "from": "now-24h", "to": "now" }, "refresh": "30s", "panels": panels,
        "templating": { "list": [{
            "name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"
        }] }
    })
}

/// The names of the metrics in an expression, as the table has them.
fn names(expression: &str) -> impl Iterator<Item = &str> {
    let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter_map(|word| word.strip_prefix("mainspring_")).map(|name| {
        let is_known = |name: &str| rows().any(|row| row[0] == name);
        let of_kind = ["_total", "_bucket"].iter().find_map(|suffix| name.strip_suffix(suffix));
        of_kind.filter(|name| is_known(name)).unwrap_or(name)
    })
}

/// What the table says of the metrics of a panel.
fn description(expressions: &[(&str, &str)]) -> String {
    let of = |name: &str| rows().find(|row| row[0] == name).map(|row| row[3]);
    let found = expressions.iter().flat_map(|(expression, _)| names(expression)).filter_map(of);
    found.collect::<Vec<_>>().join(". ")
}

#[test]
fn the_committed_dashboard_is_that_of_the_table() {
    for (title, _, _, _, expressions) in PANELS {
        for name in expressions.iter().flat_map(|(expression, _)| names(expression)) {
            assert!(rows().any(|row| row[0] == name), "{title}: there is no metric {name}");
        }
    }
    let text = format!("{}\n", serde_json::to_string_pretty(&document()).unwrap());
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(COMMITTED, &text).unwrap();
    }
    let committed = std::fs::read_to_string(COMMITTED).unwrap_or_default();
    assert!(committed == text, "UPDATE_EXPECTED=1 cargo test -p mainspring-web dashboard accepts the change");
}
