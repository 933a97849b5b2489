//! The outcome of a simulation as text for a terminal.
//!
//! ```text
//! firings        time and job, one a line
//! jobs           a table: how often, first, last, overlaps with itself
//! busiest        minutes
//! at once        the most runs, if durations were given
//! ```
//!
//! Cost: one line per listed firing, job and minute.
//!
//! Does not cut long names: a table wider than the terminal is wrapped by it.
//!
//! Source: own.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::{Bounds, Outcome, SimulatedJob, Total};
use crate::log::rfc3339;

/// Writes the report. All times are shown in `zone`.
pub fn text(jobs: &[SimulatedJob], bounds: &Bounds, outcome: &Outcome, zone: &TimeZone) -> String {
    let report = Report { jobs, bounds, outcome, zone };
    format!("{}{}{}{}", report.firings(), report.totals(), report.busiest(), report.at_once())
}

/// A moment as reports show it.
pub(super) fn show(time: Timestamp, zone: &TimeZone) -> String {
    rfc3339(&time.to_zoned(zone.clone()))
}

struct Report<'a> {
    jobs: &'a [SimulatedJob],
    bounds: &'a Bounds,
    outcome: &'a Outcome,
    zone: &'a TimeZone,
}

impl Report<'_> {
    fn show(&self, time: Timestamp) -> String {
        show(time, self.zone)
    }

    fn firings(&self) -> String {
        let line = |firing: &super::Firing| {
            format!("{}  {}\n", self.show(firing.time), self.jobs[firing.job_index].name)
        };
        let mut text: String = self.outcome.listed.iter().map(line).collect();
        let more = self.outcome.firing_count - self.outcome.listed.len() as u64;
        if 0 < more && !text.is_empty() {
            text.push_str(&format!("and {more} more\n"));
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }

    fn totals(&self) -> String {
        let Report { bounds, outcome, .. } = self;
        let mut rows =
            vec![self.row(["job", "firings", "first", "last"].map(str::to_owned), "overlaps itself")];
        let jobs = self.jobs.iter().zip(&outcome.totals);
        rows.extend(jobs.map(|(job, total)| {
            let time = |time: Option<Timestamp>| time.map_or("-".to_owned(), |time| self.show(time));
            let count = total.firing_count.to_string();
            let cells = [job.name.clone(), count, time(total.first), time(total.last)];
            self.row(cells, &self.overlaps(job, total))
        }));
        let (from, end) = (self.show(bounds.from), self.show(outcome.end));
        let count = outcome.firing_count;
        format!("{}{count} {} from {from} to {end}\n\n", table(&rows), noun(count, "firing"))
    }

    /// A row of the table; the last column stands there only if any duration is known.
    fn row(&self, cells: [String; 4], overlaps: &str) -> Vec<String> {
        let last = (0 < self.timed_job_count()).then(|| overlaps.to_owned());
        cells.into_iter().chain(last).collect()
    }

    fn overlaps(&self, job: &SimulatedJob, total: &Total) -> String {
        match (job.duration, total.first_self_overlap) {
            (None, _) => "?".to_owned(),
            (Some(_), None) => "never".to_owned(),
            (Some(_), Some(first)) => {
                let count = total.self_overlap_count;
                format!("{count} {}, first at {}", noun(count, "time"), self.show(first))
            }
        }
    }

    fn timed_job_count(&self) -> usize {
        self.jobs.iter().filter(|job| job.duration.is_some()).count()
    }

    fn busiest(&self) -> String {
        let line = |minute: &super::Peak| {
            format!("  {}  {} {}\n", self.show(minute.time), minute.count, noun(minute.count, "firing"))
        };
        let lines: String = self.outcome.busiest.iter().map(line).collect();
        if lines.is_empty() { lines } else { format!("busiest minutes\n{lines}") }
    }

    fn at_once(&self) -> String {
        let Some(most) = self.outcome.most_at_once else { return String::new() };
        let (count, runs) = (most.count, noun(most.count, "run"));
        let (known, total) = (self.timed_job_count(), self.jobs.len());
        let time = self.show(most.time);
        format!(
            "\nmost at once: {count} {runs}, first at {time} (durations known for {known} of {total} jobs)\n"
        )
    }
}

fn noun(count: u64, noun: &str) -> String {
    if count == 1 { noun.to_owned() } else { format!("{noun}s") }
}

/// Rows of one length, in columns as wide as their widest cell; the second is flush right.
fn table(rows: &[Vec<String>]) -> String {
    let count = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(width).collect();
    let line = |row: &Vec<String>| {
        let cell = |column: usize| match column {
            1 => format!("{:>1$}", row[column], widths[column]),
            _ => format!("{:<1$}", row[column], widths[column]),
        };
        let cells: Vec<String> = (0..count).map(cell).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "1", "x"], ["bbb", "22", ""]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows), "a     1  x\nbbb  22\n");
    }
}
