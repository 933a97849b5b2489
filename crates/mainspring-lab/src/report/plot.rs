//! A drawing, and what its axis says.
//!
//! Cost: none. It does not draw.

/// A drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plot {
    /// What its file is called, without `.svg`.
    pub name: String,
    /// The text of the file.
    pub svg: String,
}

/// What a metric is, on an axis: its words and its unit.
pub fn axis_title(metric: &str) -> &'static str {
    match metric {
        "pair_ns" => "ns per schedule and cancel",
        "reset_ns" => "ns per reset",
        "insert_ns" => "ns per insert",
        "fire_ns" => "ns per fire",
        "advance_us_max" => "worst single advance, us",
        "wakeups_per_fire" => "wakeups per fire",
        "pairs_per_s" => "pairs per second, all threads (more is better)",
        "pair_cpu_ns" => "CPU ns per pair, all threads",
        "reset_cpu_ns" => "CPU ns per reset",
        "fire_cpu_ns" => "CPU ns per fire",
        "lateness_s_max" => "largest lateness, s",
        "scheduled_per_s" => "timers scheduled per second (more is better)",
        "cpu_s" => "CPU seconds in 10 s",
        "p50_us" => "lateness, median, us",
        "p99_us" => "lateness, 99 %, us",
        "p999_us" => "lateness, 99.9 %, us",
        "max_us" => "lateness, largest, us",
        "switches" => "voluntary context switches in 10 s",
        "cpu_ms" => "CPU milliseconds in 10 s",
        "fresh_bytes" => "bytes per timer, fresh",
        "churned_bytes" => "bytes per timer, after 2 N churn pairs",
        _ => "",
    }
}
