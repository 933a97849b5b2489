//! The metrics in a real Prometheus with its defaults: what its alerts say, and what the dashboard shows.
//!
//! The scrape is the manual's, the rules and the dashboard are the shipped ones. Where Prometheus is not
//! installed the test says so.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use mainspring_web::scope::Scope;
use serde_json::Value;

use crate::neighbour::{Neighbour, free_port, is_installed};
use crate::site::{Site, read_answer};
use crate::test_server::folder;

const RULES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/prometheus-rules.yml");
const DASHBOARD: &str = include_str!("../../../examples/grafana-dashboard.json");
const MANUAL: &str = include_str!("../../../docs/manual.md");

/// How often something is asked for that comes within a second or two.
const MAX_ASKED: usize = 100_000;

/// A Prometheus that scrapes a server.
struct Prometheus(Neighbour);

impl Prometheus {
    /// Starts one that scrapes a server as the manual says, each second.
    fn start(folder: &Path, target: &str, token: &str) -> Prometheus {
        let begin = MANUAL.find("scrape_configs:").unwrap();
        let block = &MANUAL[begin..begin + MANUAL[begin..].find("```").unwrap()];
        let credentials = folder.join("mainspring.token");
        fs::write(&credentials, token).unwrap();
        let scrape = block
            .replace("/etc/prometheus/mainspring.token", credentials.to_str().unwrap())
            .replace("127.0.0.1:7411", target);
        assert!(scrape.contains(target) && scrape.contains(credentials.to_str().unwrap()), "{scrape}");
        let often = "global: { scrape_interval: 1s, evaluation_interval: 1s }";
        let file = folder.join("prometheus.yml");
        fs::write(&file, format!("{often}\nrule_files: [\"{RULES}\"]\n{scrape}")).unwrap();
        let port = free_port();
        let mut command = Command::new("prometheus");
        command
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("tsdb").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"));
        Prometheus(Neighbour::start(&mut command, port, &folder.join("prometheus.log")))
    }

    /// What a path answers; nothing while it is not ready.
    fn get(&self, path: &str) -> Option<Value> {
        let mut stream = self.0.connect().unwrap();
        let host = format!("127.0.0.1:{}", self.0.port);
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let answer = read_answer(&mut BufReader::new(stream));
        (answer.status == 200).then(|| answer.json()["data"].clone())
    }

    /// The series that an expression has now.
    fn series(&self, expression: &str) -> Vec<Value> {
        let encoded: String = expression.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let found =
            self.get(&format!("/api/v1/query?query={encoded}")).unwrap_or_else(|| panic!("{expression}"));
        found["result"].as_array().unwrap().clone()
    }

    /// What a person reads of the alerts that fire.
    fn told(&self) -> BTreeSet<String> {
        let found = self.get("/api/v1/alerts").unwrap_or_default();
        let alerts = found["alerts"].as_array().into_iter().flatten();
        let firing = alerts.filter(|alert| alert["state"] == "firing");
        firing.map(|alert| alert["annotations"]["summary"].as_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn metrics_come_in_the_format_that_a_collector_asks_for() {
    let site = Site::start("metrics-format", crate::test_server::IDLE, &[]);
    let bearer = format!("Bearer {}", site.token("collector", Scope::Metrics));
    for (accept, kind, is_marked) in [
        (
            "application/openmetrics-text;version=1.0.0,*/*;q=0.1",
            "application/openmetrics-text; version=1.0.0",
            true,
        ),
        ("text/plain;version=0.0.4", "text/plain; version=0.0.4", false),
        ("*/*", "text/plain; version=0.0.4", false),
    ] {
        let metrics = site.send("GET", "/metrics", &[("Authorization", &bearer), ("Accept", accept)], "");
        let found = metrics.header("content-type").unwrap().to_owned();
        let text = String::from_utf8(metrics.body).unwrap();
        assert_eq!(
            (found, text.ends_with("# EOF\n")),
            (format!("{kind}; charset=utf-8"), is_marked),
            "{accept}"
        );
        assert!(text.contains("mainspring_job_runs_total{job_name=\"idle\"} 0\n"), "{text}");
        if !is_marked && is_installed("promtool", "--version", "the older format of metrics") {
            check_format(&text);
        }
    }
    site.stop();
}

/// Has promtool read the older format. It counts what it would name otherwise as a fault, with another code.
fn check_format(text: &str) {
    let mut command = Command::new("promtool");
    let command = command.args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut promtool = command.spawn().unwrap();
    promtool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let ended = promtool.wait_with_output().unwrap();
    let is_read = matches!(ended.status.code(), Some(0 | 3));
    assert!(is_read, "{}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn an_alert_names_the_job_and_a_panel_has_a_line_for_each() {
    if !is_installed("prometheus", "--version", "alerts") {
        return;
    }
    let job = |name: &str, more: &str| {
        format!("[jobs.{name}]\nat = 2100-01-01T00:00:00Z\nrun = ['false']\n{more}\n")
    };
    let jobs = [job("backup", ""), job("report", "pause_after = 3")].concat();
    let site = Site::start("prometheus", &jobs, &[]);
    let token = site.token("prometheus", Scope::Metrics);
    for name in ["backup", "report"] {
        for _ in 0..3 {
            assert_ne!(site.served.ask(&["run", name, "--wait"]).code, 0);
        }
    }
    let folder = folder("prometheus-data");
    let prometheus = Prometheus::start(&folder, &site.host, &token);
    let wanted: BTreeSet<String> = [
        "backup has failed 3 times in a row",
        "report has failed 3 times in a row",
        "report is paused (paused_failures): mainspring resume report goes on",
    ]
    .map(str::to_owned)
    .into();
    let is_told = (0..MAX_ASKED).any(|_| wanted.is_subset(&prometheus.told()));
    assert!(is_told, "{:#?}", prometheus.told());

    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut count = 0;
    for target in panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten() {
        let expression = target["expr"].as_str().unwrap();
        for series in prometheus.series(expression) {
            if target["legendFormat"].as_str().unwrap().contains("{{job_name}}") {
                let name = series["metric"]["job_name"].as_str();
                assert!(
                    matches!(name, Some("backup" | "report" | "_once" | "_other")),
                    "{expression}: {series}"
                );
                count += 1;
            }
        }
    }
    assert!(2 <= count, "the failures in a row of both: {count}");
    drop(prometheus);
    site.stop();
    let _ = fs::remove_dir_all(folder);
}
