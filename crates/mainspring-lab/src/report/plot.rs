//! A drawing, and what its axis says.
//!
//! Cost: none. It does not draw.

use crate::case::Workload;

/// A drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plot {
    /// What its file is called, without `.svg`.
    pub name: String,
    /// The text of the file.
    pub svg: String,
}

/// What a metric is, on an axis: its words and its unit.
pub fn axis_title(workload: Workload, metric: &str) -> &'static str {
    match (workload, metric) {
        (_, "pair_ns") => "ns per schedule and cancel",
        (_, "reset_ns") => "ns per reset",
        (_, "insert_ns") => "ns per insert",
        (_, "fire_ns") => "ns per fire",
        (_, "advance_us_max") => "worst single advance, us",
        (_, "wakeups_per_fire") => "wakeups per fire",
        (_, "pairs_per_s") => "pairs per second, all threads (more is better)",
        (_, "pair_cpu_ns") => "CPU ns per pair, all threads",
        (_, "reset_cpu_ns") => "CPU ns per reset",
        (_, "fire_cpu_ns") => "CPU ns per fire",
        (_, "lateness_s_max") => "largest lateness, s",
        (_, "scheduled_per_s") => "timers scheduled per second (more is better)",
        (_, "cpu_s") => "CPU seconds in 10 s",
        (_, "p50_us") => "lateness, median, us",
        (_, "p99_us") => "lateness, 99 %, us",
        (_, "p999_us") => "lateness, 99.9 %, us",
        (_, "max_us") => "lateness, largest, us",
        (_, "switches") => "voluntary context switches in 10 s",
        (_, "cpu_ms") => "CPU milliseconds in 10 s",
        (_, "fresh_bytes") => "bytes per timer, fresh",
        (_, "churned_bytes") => "bytes per timer, after 2 N churn pairs",
        _ => "",
    }
}
