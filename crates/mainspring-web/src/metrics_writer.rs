//! A scrape as it is filled: gauges, counters and histograms by their names.
//!
//! Cost: what is put into it.
//!
//! Does not know what is measured: see [`metrics`](crate::metrics).
//!
//! Source: <https://prometheus.io/docs/instrumenting/exposition_formats/>.

use std::collections::HashSet;

use mainspring_server::protocol::{BOUNDS_S, HistogramWire};
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::metric_rows::{help, label_names};

/// The buckets of what is reported by job, route or question: every second one of the loop's, so that 200
/// jobs have not 4,000 series more.
const BUCKET_STEP: usize = 2;

const _: () = assert!((BOUNDS_S.len() - 1).is_multiple_of(BUCKET_STEP), "the last bound is told");

/// The labels of a series.
pub type Labels = Vec<(String, String)>;

/// A histogram that was filled elsewhere.
#[derive(Debug)]
struct FilledHistogram {
    wire: HistogramWire,
    bounds: &'static [f64],
    step: usize,
}

impl EncodeMetric for FilledHistogram {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> std::fmt::Result {
        debug_assert!(self.wire.counts.len() <= self.bounds.len() + 1, "each count has its bound");
        let mut buckets: Vec<(f64, u64)> = Vec::new();
        let mut gathered = 0;
        for (index, bound) in self.bounds.iter().copied().chain([f64::INFINITY]).enumerate() {
            gathered += self.wire.counts.get(index).copied().unwrap_or(0);
            if index % self.step == 0 || bound.is_infinite() {
                buckets.push((bound, std::mem::take(&mut gathered)));
            }
        }
        let count = buckets.iter().map(|(_, count)| count).sum();
        encoder.encode_histogram::<[(String, String); 0]>(self.wire.sum, count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

/// The histograms of jobs.
#[derive(Debug)]
struct FilledFamily(Vec<(Labels, FilledHistogram)>);

impl EncodeMetric for FilledFamily {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> std::fmt::Result {
        for (labels, filled) in &self.0 {
            filled.encode(encoder.encode_family(labels)?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

/// How metrics are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// OpenMetrics 1.0, which Prometheus asks for.
    OpenMetrics,
    /// The format that Prometheus had before, 0.0.4, which every collector reads.
    Prometheus,
}

impl TextFormat {
    /// The one that is asked for: OpenMetrics only where `Accept` names it.
    pub fn of(accept: &str) -> TextFormat {
        let is_named = |kind: &str| {
            let mut parts = kind.split(';').map(str::trim);
            let name =
                parts.next().is_some_and(|name| name.eq_ignore_ascii_case("application/openmetrics-text"));
            let weight = parts.find_map(|part| part.strip_prefix("q=")).map_or(Ok(1.0), str::parse::<f64>);
            name && weight.is_ok_and(|weight| 0.0 < weight)
        };
        if accept.split(',').any(is_named) { TextFormat::OpenMetrics } else { TextFormat::Prometheus }
    }

    /// What stands above it.
    pub fn media_type(self) -> &'static str {
        match self {
            TextFormat::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            TextFormat::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// The text in the older format: a counter is called by the name of its series, and nothing marks the end.
fn older(text: &str) -> String {
    const COUNTER: &str = " counter";
    let name_of = |line: &str, begin: &str| line.strip_prefix(begin)?.split(' ').next().map(str::to_owned);
    let typed = text.lines().filter(|line| line.ends_with(COUNTER));
    let counters: HashSet<String> = typed.filter_map(|line| name_of(line, "# TYPE ")).collect();
    let mut older = String::with_capacity(text.len());
    for line in text.lines().filter(|line| *line != "# EOF") {
        let begin = ["# HELP ", "# TYPE "].into_iter().find(|begin| line.starts_with(begin));
        match begin.and_then(|begin| Some((begin, name_of(line, begin)?))) {
            Some((begin, name)) if counters.contains(&name) => {
                older.push_str(&[begin, &name, "_total", &line[begin.len() + name.len()..], "\n"].concat());
            }
            _ => older.push_str(&[line, "\n"].concat()),
        }
    }
    older
}

/// Metrics of one scrape.
#[derive(Debug)]
pub struct MetricsWriter(Registry);

impl Default for MetricsWriter {
    fn default() -> MetricsWriter {
        MetricsWriter(Registry::with_prefix("mainspring"))
    }
}

impl MetricsWriter {
    /// As text.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn text(&self, format: TextFormat) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.0)?;
        Ok(match format {
            TextFormat::OpenMetrics => text,
            TextFormat::Prometheus => older(&text),
        })
    }

    /// A value that is now.
    pub fn gauge(&mut self, name: &str, value: f64) {
        let gauge = Gauge::<f64, std::sync::atomic::AtomicU64>::default();
        gauge.set(value);
        self.0.register(name, help(name), gauge);
    }

    /// A count that has a fraction.
    pub fn fraction(&mut self, name: &str, value: f64) {
        self.0.register(name, help(name), ConstCounter::new(value));
    }

    /// A count.
    pub fn counter(&mut self, name: &str, value: u64) {
        self.0.register(name, help(name), ConstCounter::new(value));
    }

    /// How long something took, or how much it was, each time.
    pub fn histogram(&mut self, name: &str, wire: HistogramWire, bounds: &'static [f64]) {
        self.0.register(name, help(name), FilledHistogram { wire, bounds, step: 1 });
    }

    /// Histograms of several, each with the values of its labels.
    pub fn histograms<const N: usize>(
        &mut self,
        name: &str,
        rows: impl IntoIterator<Item = ([String; N], HistogramWire)>,
    ) {
        let label = labels(name);
        let coarse = |wire| FilledHistogram { wire, bounds: &BOUNDS_S, step: BUCKET_STEP };
        let filled = rows.into_iter().map(|(values, wire)| (label(values), coarse(wire)));
        self.0.register(name, help(name), FilledFamily(filled.collect()));
    }

    /// Values, each with those of its labels.
    pub fn gauges<const N: usize>(
        &mut self,
        name: &str,
        rows: impl IntoIterator<Item = ([impl ToString; N], f64)>,
    ) {
        let family = Family::<Labels, Gauge<f64, std::sync::atomic::AtomicU64>>::default();
        let label = labels(name);
        for (values, value) in rows {
            family.get_or_create(&label(values)).set(value);
        }
        self.0.register(name, help(name), family);
    }

    /// Counts, each with the values of its labels.
    pub fn counters<const N: usize>(
        &mut self,
        name: &str,
        rows: impl IntoIterator<Item = ([impl ToString; N], u64)>,
    ) {
        let family = Family::<Labels, prometheus_client::metrics::counter::Counter>::default();
        let label = labels(name);
        for (values, count) in rows {
            family.get_or_create(&label(values)).inc_by(count);
        }
        self.0.register(name, help(name), family);
    }
}

/// What puts values beside the names of the labels of a metric, in the order of its row.
fn labels<T: ToString, const N: usize>(name: &str) -> impl Fn([T; N]) -> Labels {
    let names: Vec<&str> = label_names(name).collect();
    debug_assert_eq!(names.len(), N, "each label of {name} has a value");
    move |values| names.iter().map(ToString::to_string).zip(values.map(|value| value.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_open_metrics_only_where_it_asks_for_it() {
        // What Debian 12's Prometheus sends, and what others do.
        let prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                          text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        for (accept, format) in [
            (prometheus, TextFormat::OpenMetrics),
            ("text/plain;version=0.0.4", TextFormat::Prometheus),
            ("text/plain, application/OpenMetrics-text; q=0", TextFormat::Prometheus),
            ("*/*", TextFormat::Prometheus),
            ("", TextFormat::Prometheus),
        ] {
            assert_eq!(TextFormat::of(accept), format, "{accept}");
        }
    }

    #[test]
    fn the_older_format_calls_a_counter_by_its_series_and_has_no_end() {
        let mut writer = MetricsWriter::default();
        writer.counter("output_lost_bytes", 7);
        writer.gauge("paused", 1.0);
        let text = writer.text(TextFormat::Prometheus).unwrap();
        for line in [
            "# TYPE mainspring_output_lost_bytes_total counter",
            "mainspring_output_lost_bytes_total 7",
            "# TYPE mainspring_paused gauge",
            "mainspring_paused 1.0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        assert_eq!(text.matches("# HELP mainspring_output_lost_bytes_total ").count(), 1, "{text}");
        assert!(!text.contains("EOF"));
        assert!(writer.text(TextFormat::OpenMetrics).unwrap().ends_with("# EOF\n"));
    }
}
