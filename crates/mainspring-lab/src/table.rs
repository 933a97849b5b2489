//! Results as tables of text: one per workload and size.
//!
//! ```text
//!   W1  N = 1,000,000    pair_ns
//!   floor                31 (30..33)
//!   wheel::Chunked       61 (59..70)
//! ```
//!
//! Cost: none. It does not round away a difference: three digits are shown.

use std::fmt::Write;

use indicatif::HumanCount;

use crate::case::{Case, Workload};
use crate::results::Results;
use crate::statistics::Summary;

/// A number to three digits.
pub fn three_digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 1_000_000.0 => format!("{:.2} M", value / 1e6),
        size if size >= 99.95 => group(value.round() as i64),
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.9995 => format!("{value:.2}"),
        size if size >= 0.01 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

/// A whole number with a comma after each thousand.
pub fn group(value: i64) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", HumanCount(value.unsigned_abs()))
}

/// Median and range.
pub fn cell_text(summary: &Summary) -> String {
    let Summary { median, min, max, count } = *summary;
    if count < 2 {
        return three_digits(median);
    }
    format!("{} ({}..{})", three_digits(median), three_digits(min), three_digits(max))
}

/// One table: what it is about, its metrics, and a row per subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What was done, in the first round.
    pub case: Case,
    /// The columns.
    pub metrics: Vec<String>,
    /// Subjects with their figures by column; `None`: it has none.
    pub rows: Vec<(String, Vec<Option<Summary>>)>,
}

impl Table {
    /// What it is about, in words.
    pub fn title(&self) -> String {
        let size = group(self.case.size as i64);
        match self.case.workload {
            Workload::W5 => format!("W5, {size} timers a thread, threads: {}", self.case.thread_count),
            workload => format!("{workload}, N = {size}"),
        }
    }

    /// What the file of a metric's plot is called, but for its ending.
    pub fn plot_name(&self, metric: &str) -> String {
        let Case { workload, size, thread_count, .. } = self.case;
        let threads = if thread_count == 1 { String::new() } else { format!("-{thread_count}-threads") };
        format!("{workload}-{size}-{metric}{threads}")
    }

    /// The same without some subjects; none if nothing is left.
    pub fn without(mut self, is_left_out: impl Fn(&str) -> bool) -> Option<Table> {
        self.rows.retain(|(subject, _)| !is_left_out(subject));
        (!self.rows.is_empty()).then_some(self)
    }
}

/// All tables of some results.
pub fn tables(results: &Results) -> Vec<Table> {
    let table = |(case, results): (Case, Results)| {
        let metrics = results.metrics();
        let row = |subject: String| {
            let cells = metrics.iter().map(|metric| results.summary(&subject, case, metric)).collect();
            (subject, cells)
        };
        Table { case, rows: results.subjects().into_iter().map(row).collect(), metrics }
    };
    results.by_case().into_iter().map(table).collect()
}

/// As text for a terminal.
pub fn text(table: &Table) -> String {
    let mut lines = vec![std::iter::once(table.title()).chain(table.metrics.iter().cloned()).collect()];
    lines.extend(table.rows.iter().map(|(subject, row)| {
        let cells = row.iter().map(|cell| cell.as_ref().map_or("-".to_owned(), cell_text));
        std::iter::once(format!("  {subject}")).chain(cells).collect::<Vec<String>>()
    }));
    align(&lines)
}

/// Columns under each other.
pub fn align(lines: &[Vec<String>]) -> String {
    let column_count = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..column_count).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let mut row = String::new();
        for (cell, width) in line.iter().zip(&widths) {
            let _ = write!(row, "{cell:<width$}  ");
        }
        text += row.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{group, three_digits};

    #[test]
    fn numbers_have_three_digits_and_thousands_have_commas() {
        let cases = [
            (0.0, "0"),
            (0.123_4, "0.123"),
            (1.0, "1.00"),
            (9.87, "9.87"),
            (12.34, "12.3"),
            (1_234.5, "1,235"),
        ];
        for (value, text) in cases {
            assert_eq!(three_digits(value), text);
        }
        assert_eq!(three_digits(28_600_000.0), "28.60 M");
        assert_eq!(group(-1_000_000), "-1,000,000");
    }
}
