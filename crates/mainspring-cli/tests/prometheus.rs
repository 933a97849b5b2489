//! The metrics in a real Prometheus with its defaults: what its alerts say, and what the dashboard shows.
//!
//! The scrape is the manual's, the rules and the dashboard are the shipped ones. Where Prometheus is not
//! installed the test says so.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use mainspring_web::scope::Scope;
use serde_json::Value;

use crate::neighbour::{Neighbour, free_port, is_installed, unpacked};
use crate::nginx_example::read_request_head;
use crate::program::comes_true;
use crate::site::Site;
use crate::test_server::{TestServer, folder, write as write_file};

const DEFAULT_FILE: &str = "/etc/prometheus/prometheus.yml";
const RULE_TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/prometheus/alerts.yml");
const RULES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/prometheus-rules.yml");
const DASHBOARD: &str = include_str!("../../../examples/grafana-dashboard.json");
const MANUAL: &str = include_str!("../../../docs/manual.md");

/// How often something is asked for that comes within a second or two.
const MAX_ASKED: u32 = 6_000;

/// How often the whole dashboard is.
const MAX_SHOWN: u32 = 1_000;

/// A Prometheus that scrapes a server.
struct Prometheus(Neighbour);

impl Prometheus {
    /// Starts one with Debian's configuration, to which the scrape of the manual and the shipped rules come
    /// as the manual says, and which looks each second. What has to last before it is told is told at once.
    fn start(folder: &Path, target: &str, token: &str, alertmanager: u16) -> Prometheus {
        let credentials = folder.join("mainspring.token");
        fs::write(&credentials, token).unwrap();
        let begin = MANUAL.find("scrape_configs:").unwrap();
        let block = &MANUAL[begin..begin + MANUAL[begin..].find("```").unwrap()];
        let scrape = block
            .replace("/etc/prometheus/mainspring.token", credentials.to_str().unwrap())
            .replace("127.0.0.1:7411", target);
        assert!(scrape.contains(target) && scrape.contains(credentials.to_str().unwrap()), "{scrape}");
        let rules = fs::read_to_string(RULES).unwrap();
        let at_once: Vec<&str> = rules.lines().filter(|line| !line.trim().starts_with("for: ")).collect();
        fs::write(folder.join("mainspring-rules.yml"), at_once.join("\n")).unwrap();
        let mut text = fs::read_to_string(DEFAULT_FILE).unwrap();
        for (default, ours) in [
            ("\nscrape_configs:\n", format!("\n{scrape}")),
            ("\nrule_files:\n", "\nrule_files:\n  - mainspring-rules.yml\n".to_owned()),
            ("scrape_interval:     15s", "scrape_interval: 1s".to_owned()),
            ("evaluation_interval: 15s", "evaluation_interval: 1s".to_owned()),
            ("localhost:9093", format!("localhost:{alertmanager}")),
        ] {
            assert_eq!(text.matches(default).count(), 1, "{default} in Debian's file");
            text = text.replace(default, &ours);
        }
        let file = folder.join("prometheus.yml");
        fs::write(&file, text).unwrap();
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
        get(&self.0, path).map(|answer| answer["data"].clone())
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

    /// Waits until alerts have these texts, of which `{}` is anything.
    fn tells(&self, wanted: &[&str]) {
        let is_told = |told: &BTreeSet<String>, wanted: &str| told.iter().any(|text| is_like(text, wanted));
        let all = |told: BTreeSet<String>| wanted.iter().all(|wanted| is_told(&told, wanted));
        assert!(comes_true(MAX_ASKED, || all(self.told())), "{:#?}", self.told());
    }
}

/// What a neighbour answers to a path; nothing while it is not ready.
fn get(neighbour: &Neighbour, path: &str) -> Option<Value> {
    let mut stream = neighbour.connect().unwrap();
    // Of this version, so that no answer comes in chunks.
    write!(stream, "GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{}\r\n\r\n", neighbour.port).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    head.contains(" 200 ").then(|| serde_json::from_str(body).unwrap())
}

/// Whether a text is this one, of which `{}` is anything.
fn is_like(text: &str, wanted: &str) -> bool {
    match wanted.split_once("{}") {
        Some((begin, end)) => text.starts_with(begin) && text.ends_with(end),
        None => text == wanted,
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
fn each_shipped_alert_begins_when_it_should_and_reads_as_promtool_is_told() {
    if !is_installed("promtool", "--version", "the shipped alerts") {
        return;
    }
    let tests = fs::read_to_string(RULE_TESTS).unwrap();
    let rules = fs::read_to_string(RULES).unwrap();
    for rule in rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
        let is_read = tests.split("\n  - interval").any(|test| {
            let is_quiet_before = test.contains(&format!("alertname: {rule}, exp_alerts: []"));
            is_quiet_before && test.contains("exp_annotations")
        });
        assert!(is_read, "nobody reads {rule}");
    }
    let texts = || tests.lines().filter_map(|line| line.split_once("summary: ")).map(|(_, text)| text);
    assert!(rules.matches("- alert: ").count() <= texts().count());
    assert!(
        texts().all(|text| !text.contains("cron-prod") && !text.contains("7411")),
        "the scrape target is no job"
    );
    let tested = Command::new("promtool").args(["test", "rules", RULE_TESTS]).output().unwrap();
    assert!(tested.status.success(), "{}", String::from_utf8_lossy(&tested.stderr));
}

/// Starts an Alertmanager with Debian's configuration.
fn alertmanager(folder: &Path) -> Option<Neighbour> {
    let files = ["usr/bin/prometheus-alertmanager", "etc/prometheus/alertmanager.yml"];
    let [program, file] = unpacked(files, "what Alertmanager makes of alerts")?;
    let port = free_port();
    let mut command = Command::new(program);
    command
        .arg(format!("--config.file={}", file.display()))
        .arg(format!("--storage.path={}", folder.join("alertmanager").display()))
        .arg(format!("--web.listen-address=127.0.0.1:{port}"))
        .arg("--cluster.listen-address=");
    Some(Neighbour::start(&mut command, port, &folder.join("alertmanager.log")))
}

/// The lines of each panel: their names, or the columns of a table. Others may be there.
const LINES: &[(&str, &[&str])] = &[
    ("Jobs in trouble", &["failing"]),
    ("Troubles of the server", &[""]),
    ("Dead letters", &[""]),
    ("Runs that go on", &[""]),
    ("Runs that wait", &[""]),
    ("Room on the disk", &[""]),
    ("Runs a minute", &["succeeded", "failed", "timed_out", "abandoned", "dead"]),
    ("Missed and skipped, an hour", &["often missed: server_down", "often skipped: earlier_running"]),
    ("How late runs start", &["median", "95 of 100"]),
    ("How long runs take, 95 of 100", &["backup", "often", "report"]),
    ("Turns of the loop and commits, 99 of 100", &["turn", "commit"]),
    ("Failures in a row", &["backup", "dead", "report"]),
    ("Since the last success", &["often"]),
    ("Until the next run", &["often"]),
    ("Paused jobs", &["report paused_failures"]),
    ("Files with problems", &["jobs.toml"]),
    ("Answers over HTTP a second", &["200"]),
    ("Answers over HTTP, 95 of 100", &["/metrics"]),
    ("Hooks that were told, an hour", &["failed", "succeeded"]),
    ("How long the first one-shot job is overdue", &[""]),
    ("Size of the store", &["database"]),
    ("Who looks", &["streams", "connections"]),
];

/// What a person sees beside a line: the legend with its labels, or without one the columns that are ours.
fn legend(format: &str, labels: &Value) -> String {
    if format.is_empty() {
        let ours = ["job_name", "reason", "file"].into_iter().filter_map(|name| labels[name].as_str());
        let last = ours.map(|value| value.rsplit('/').next().unwrap_or(value));
        return last.collect::<Vec<_>>().join(" ");
    }
    let mut shown = format.to_owned();
    for (name, value) in labels.as_object().unwrap() {
        shown = shown.replace(&format!("{{{{{name}}}}}"), value.as_str().unwrap());
    }
    shown
}

/// The panels of the dashboard with their lines.
fn panels(prometheus: &Prometheus) -> BTreeMap<String, BTreeSet<String>> {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let lines = found.entry(panel["title"].as_str().unwrap().to_owned()).or_default();
            for series in prometheus.series(target["expr"].as_str().unwrap()) {
                let shown = legend(target["legendFormat"].as_str().unwrap(), &series["metric"]);
                assert!(!shown.contains("{{"), "{}: {series} has no label for {shown}", panel["title"]);
                assert!(lines.insert(shown.clone()), "{}: two lines are called {shown}", panel["title"]);
            }
        }
    }
    found
}

/// What lacks in the panels, and what is a line of no job of ours.
fn lacking(panels: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let titles: BTreeSet<&str> = LINES.iter().map(|line| line.0).collect();
    assert!(panels.keys().all(|title| titles.contains(title.as_str())), "{panels:#?}");
    let lacks = |(title, lines): &(&str, &[&str])| {
        let found = panels.get(*title).cloned().unwrap_or_default();
        lines
            .iter()
            .filter(|line| !found.contains(**line))
            .map(|line| format!("{title}: {line}"))
            .collect::<Vec<_>>()
    };
    LINES.iter().flat_map(lacks).collect()
}

const JOBS: &str = "\
    [jobs.backup]\nat = 2100-01-01T00:00:00Z\nrun = ['false']\n\
    [jobs.report]\nat = 2100-01-01T00:00:00Z\nrun = ['false']\npause_after = 3\n\
    [jobs.dead]\nat = 2100-01-01T00:00:00Z\nrun = ['false']\ndead_letters = 'always'\n\
    [jobs.quiet]\nat = 2100-01-01T00:00:00Z\nrun = ['true']\nsilent_after = '1s'\n\
    [jobs.often]\nevery = '1s'\nmisfire = 'none'\nshell = 'sleep 1.5'\n";

/// The metrics of a real server with the values of one into whose states none comes within a test: a disk
/// that is full or slow, a loop that stands still.
fn in_trouble(metrics: &str, scrape_count: u64) -> String {
    let changed = |line: &str| {
        let (series, value) = line.rsplit_once(' ').unwrap();
        // All that is counted lies beyond the last bound, and becomes more.
        let beyond = if series.contains("le=\"+Inf\"") { scrape_count * 100 } else { 0 };
        let value = match series.split('{').next().unwrap() {
            "mainspring_troubles" | "mainspring_job_next_run_timestamp_seconds" => "1".to_owned(),
            "mainspring_agenda_mismatches" => "2".to_owned(),
            "mainspring_disk_free_bytes" => "268435455".to_owned(),
            "mainspring_run_start_lateness_seconds_bucket" | "mainspring_commit_seconds_bucket" => {
                beyond.to_string()
            }
            _ => value.to_owned(),
        };
        format!("{series} {value}\n")
    };
    metrics.lines().map(changed).collect()
}

/// Answers each scrape with that. Returns its address.
fn stand_in(metrics: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serve = move || {
        for (scrape_count, stream) in (1..).zip(listener.incoming()) {
            let mut reader = BufReader::new(stream.unwrap());
            let _ = read_request_head(&mut reader);
            let text = in_trouble(&metrics, scrape_count);
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nConnection: close";
            let answer = format!("{head}\r\nContent-Length: {}\r\n\r\n{text}", text.len());
            let _ = reader.get_mut().write_all(answer.as_bytes());
        }
    };
    thread::Builder::new().name("metrics".to_owned()).spawn(serve).unwrap();
    address
}

#[test]
fn the_alerts_of_a_server_that_cannot_go_on_say_what_is_wrong() {
    if !is_installed("prometheus", "--version", "alerts") {
        return;
    }
    let site = Site::start("prometheus-trouble", crate::test_server::IDLE, &[]);
    let token = site.token("prometheus", Scope::Metrics);
    let metrics = String::from_utf8(site.get("/metrics", &token).body).unwrap();
    let folder = folder("prometheus-trouble-data");
    let prometheus = Prometheus::start(&folder, &stand_in(metrics), &token, free_port());
    // Of how late and how slow Prometheus knows no more than the last bound.
    prometheus.tells(&[
        "mainspring cannot do all that it should: mainspring status says what",
        "idle was due and has not started",
        "the disk of the data directory has less than 256 MiB free",
        "jobs are due before the server looks at them, 2 of them: restart it, and report it",
        "of 100 runs 5 start more than {} s late: groups or the machine are too small",
        "of 100 batches 5 need more than {} s to be on disk",
    ]);
    drop(prometheus);
    site.stop();
    let _ = fs::remove_dir_all(folder);
}

#[test]
fn an_alert_names_the_job_and_a_panel_has_a_line_for_each() {
    if !is_installed("prometheus", "--version", "alerts") {
        return;
    }
    let own = folder("prometheus");
    write_file(&own.join("jobs.toml"), JOBS);
    // A server that was off for a while: what it has missed is in the first sample that Prometheus has of it.
    let before = TestServer::start_in(own.clone(), &[]);
    assert_eq!(before.ask(&["run", "often", "--wait"]).code, 0);
    before.stop_and_keep();
    assert!(Command::new("sleep").arg("3").status().unwrap().success());
    let site = Site::of(TestServer::start_in(own, &["--listen=127.0.0.1:0"]));
    let token = site.token("prometheus", Scope::Metrics);
    for name in ["backup", "report", "backup", "report", "backup", "report", "dead"] {
        assert_ne!(site.served.ask(&["run", name, "--wait"]).code, 0);
    }
    let broken = [JOBS, "[jobs.broken]\nevery = 'x'\n"].concat();
    write_file(&site.served.file(), &broken);
    let folder = folder("prometheus-data");
    let alertmanager = alertmanager(&folder);
    let port = alertmanager.as_ref().map_or(9093, |neighbour| neighbour.port);
    let prometheus = Prometheus::start(&folder, &site.host, &token, port);
    prometheus.tells(&[
        "backup has failed 3 times in a row",
        "report has failed 3 times in a row",
        "report is paused (paused_failures): mainspring resume report ends that",
        "no run of quiet has succeeded for longer than its silent_after",
        "dead has runs that failed for good, 1 so far: mainspring dead list",
        "often did not run at {} of its times (server_down): mainspring history often",
        &format!("{} has problems; the set before is in force", site.served.file().display()),
    ]);
    let is_shown = comes_true(MAX_SHOWN, || lacking(&panels(&prometheus)).is_empty());
    assert!(is_shown, "{:#?}", lacking(&panels(&prometheus)));
    if let Some(alertmanager) = &alertmanager {
        let text = |alert: &Value| alert["annotations"]["summary"] == "backup has failed 3 times in a row";
        let has = |alerts: Value| alerts.as_array().is_some_and(|alerts| alerts.iter().any(text));
        let is_there = comes_true(MAX_ASKED, || get(alertmanager, "/api/v2/alerts").is_some_and(has));
        assert!(is_there, "{:#?}", get(alertmanager, "/api/v2/alerts"));
    }
    site.served.says(&["pause", "--all"], 0, "");
    prometheus.tells(&["everything is paused: mainspring resume --all ends that"]);
    site.stop();
    prometheus.tells(&["no mainspring server is scraped"]);
    drop(prometheus);
    let _ = fs::remove_dir_all(folder);
}
