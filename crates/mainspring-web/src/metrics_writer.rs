//! A scrape as it is filled: gauges, counters and histograms by their names.
//!
//! Cost: what is put into it.
//!
//! Does not know what is measured: see [`metrics`](crate::metrics).

use mainspring_server::protocol::{BOUNDS_S, HistogramWire};
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::metric_rows::help;

/// The buckets of what is told by job, route or question: every second one of the loop's, so that 200 jobs
/// have not 4,000 series more.
const BUCKET_STEP: usize = 2;

/// The labels of a series.
pub type Labels = Vec<(String, String)>;

/// A histogram that was filled elsewhere.
#[derive(Debug)]
struct FilledHistogram {
    wire: HistogramWire,
    bounds: &'static [f64],
    step: usize,
}

impl FilledHistogram {
    /// One of several, with fewer buckets.
    fn coarse(wire: HistogramWire) -> FilledHistogram {
        FilledHistogram { wire, bounds: &BOUNDS_S, step: BUCKET_STEP }
    }
}

impl EncodeMetric for FilledHistogram {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> std::fmt::Result {
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
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.0).map(|()| text)
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

    /// How long something took, each time.
    pub fn histogram(&mut self, name: &str, wire: HistogramWire) {
        self.histogram_by(name, wire, &BOUNDS_S);
    }

    /// The same of something that is counted by other bounds.
    pub fn histogram_by(&mut self, name: &str, wire: HistogramWire, bounds: &'static [f64]) {
        self.0.register(name, help(name), FilledHistogram { wire, bounds, step: 1 });
    }

    /// Histograms of several, each by one label.
    pub fn histograms(
        &mut self,
        name: &str,
        by: &str,
        of: impl IntoIterator<Item = (String, HistogramWire)>,
    ) {
        let filled =
            of.into_iter().map(|(value, wire)| (vec![label(by, &value)], FilledHistogram::coarse(wire)));
        self.0.register(name, help(name), FilledFamily(filled.collect()));
    }

    /// Values, each with its labels.
    pub fn gauges(&mut self, name: &str, rows: impl IntoIterator<Item = (Labels, f64)>) {
        let family = Family::<Labels, Gauge<f64, std::sync::atomic::AtomicU64>>::default();
        for (labels, value) in rows {
            family.get_or_create(&labels).set(value);
        }
        self.0.register(name, help(name), family);
    }

    /// Counts, each with its labels.
    pub fn counters(&mut self, name: &str, rows: impl IntoIterator<Item = (Labels, u64)>) {
        let family = Family::<Labels, prometheus_client::metrics::counter::Counter>::default();
        for (labels, value) in rows {
            family.get_or_create(&labels).inc_by(value);
        }
        self.0.register(name, help(name), family);
    }
}

/// A label with its value.
pub fn label(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}
