//! Formats a driver's statistics as text that Prometheus and its like read.
//!
//! ```
//! let engine = mainspring::preset::mainspring()?;
//! let text = engine.open_metrics();
//! assert!(text.contains("mainspring_timers_scheduled_total 0\n"));
//! assert!(text.ends_with("# EOF\n"));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Names are of the whole process: a program with several engines adds a label to each line, or shows one.
//!
//! Cost: that of a [`Report`], and a kilobyte of text. It does not serve HTTP.
//!
//! Source: the [OpenMetrics specification](https://prometheus.io/docs/specs/om/open_metrics_spec/).

use std::fmt::Write;
use std::time::Duration;

use super::Report;
use crate::driver::Counts;

/// The quantiles of latenesses that are shown: the middle, and what a service level speaks of.
const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

impl Report {
    /// Writes the report as OpenMetrics text. `resolution` is the length of a tick of the driver's clock.
    pub fn open_metrics(&self, pending_count: usize, resolution: Duration) -> String {
        let Counts {
            scheduled,
            cancelled,
            reset,
            fired,
            panicked,
            wakeups,
            stolen,
            lateness_ticks_max,
            held_back,
        } = self.counts;
        let counters = [
            ("timers_scheduled", "Timers taken.", scheduled),
            ("timers_cancelled", "Timers cancelled while they were pending.", cancelled),
            ("timers_reset", "Timers moved to another deadline.", reset),
            ("timers_fired", "Timers fired.", fired),
            ("timers_panicked", "Firings that panicked.", panicked),
            ("timers_stolen", "Firings by another worker than the timer's own.", stolen),
            ("wakeups", "How often a thread went on after a wait.", wakeups),
            ("callers_held_back", "How often a caller was made to pause for firings.", held_back),
        ];
        let mut text = String::new();
        for (name, help, value) in counters {
            write(&mut text, format_args!("# TYPE mainspring_{name} counter\n"));
            write(&mut text, format_args!("# HELP mainspring_{name} {help}\n"));
            write(&mut text, format_args!("mainspring_{name}_total {value}\n"));
        }
        write(&mut text, format_args!("# TYPE mainspring_timers_pending gauge\n"));
        write(&mut text, format_args!("# HELP mainspring_timers_pending Timers that wait to fire.\n"));
        write(&mut text, format_args!("mainspring_timers_pending {pending_count}\n"));
        let seconds = |ticks: f64| ticks * resolution.as_secs_f64();
        write(&mut text, format_args!("# TYPE mainspring_lateness_max_seconds gauge\n"));
        write(&mut text, format_args!("# UNIT mainspring_lateness_max_seconds seconds\n"));
        write(&mut text, format_args!("# HELP mainspring_lateness_max_seconds The largest lateness.\n"));
        let max = seconds(lateness_ticks_max as f64);
        write(&mut text, format_args!("mainspring_lateness_max_seconds {max}\n"));
        self.write_latenesses(&mut text, seconds);
        text.push_str("# EOF\n");
        text
    }

    fn write_latenesses(&self, text: &mut String, seconds: impl Fn(f64) -> f64) {
        write(text, format_args!("# TYPE mainspring_lateness_seconds summary\n"));
        write(text, format_args!("# UNIT mainspring_lateness_seconds seconds\n"));
        write(text, format_args!("# HELP mainspring_lateness_seconds How late timers fired.\n"));
        for quantile in QUANTILES {
            let value = seconds(self.lateness_ticks.value_at_quantile(quantile) as f64);
            write(text, format_args!("mainspring_lateness_seconds{{quantile=\"{quantile}\"}} {value}\n"));
        }
        let count = self.lateness_ticks.len();
        let sum = seconds(self.lateness_ticks.mean() * count as f64);
        write(text, format_args!("mainspring_lateness_seconds_sum {sum}\n"));
        write(text, format_args!("mainspring_lateness_seconds_count {count}\n"));
    }
}

fn write(text: &mut String, line: std::fmt::Arguments<'_>) {
    text.write_fmt(line).expect("a string takes all that is written");
}
