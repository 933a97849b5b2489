//! The outcome of a simulation as text for a terminal.
//!
//! ```text
//! events         time, job and what happened to it, one a line
//! jobs           a table: starts, skipped, missed, cut short, how late at most, first and last start
//! busiest        minutes
//! at once        the most runs, if durations were given
//! ```
//!
//! Cost: one line per listed event, job and minute.
//!
//! Does not cut long names: a table wider than the terminal is wrapped by it.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use mainspring_job::MAX_COUNTED;

use super::{Event, JobEvent, Outcome, Peak, Scenario, Total};
use mainspring_exec::span::Span;
use mainspring_server::log::rfc3339;

/// The heads of the table's columns.
const HEADS: [&str; 8] = ["job", "starts", "skipped", "missed", "cut", "late", "first", "last"];

/// How many columns after the first are numbers, flush right.
const NUMBER_COLUMNS: std::ops::RangeInclusive<usize> = 1..=5;

const _: () = assert!(*NUMBER_COLUMNS.end() < HEADS.len());

/// Writes the report. All times are shown in `zone`.
pub fn text(scenario: &Scenario, outcome: &Outcome, zone: &TimeZone) -> String {
    let report = Report { scenario, outcome, zone };
    format!("{}{}{}{}", report.events(), report.totals(), report.busiest(), report.at_once())
}

/// A moment as reports show it.
pub(super) fn show(time: Timestamp, zone: &TimeZone) -> String {
    rfc3339(&time.to_zoned(zone.clone()))
}

/// A start that is no later than this is on time: nominal times are kept apart by some nanoseconds.
const SHOWN_LATENESS: SignedDuration = SignedDuration::from_millis(1);

struct Report<'a> {
    scenario: &'a Scenario,
    outcome: &'a Outcome,
    zone: &'a TimeZone,
}

impl Report<'_> {
    fn show(&self, time: Timestamp) -> String {
        show(time, self.zone)
    }

    fn events(&self) -> String {
        let mut text: String = self.outcome.listed.iter().map(|event| self.event(event)).collect();
        assert!(self.outcome.listed.len() as u64 <= self.outcome.event_count);
        let more = self.outcome.event_count - self.outcome.listed.len() as u64;
        if 0 < more && !text.is_empty() {
            text.push_str(&format!("and {more} more\n"));
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }

    fn event(&self, event: &Event) -> String {
        let nominal = || self.show(event.nominal);
        let what = match event.what {
            JobEvent::Started { attempt: 1 }
                if event.time.duration_since(event.nominal).abs() < SHOWN_LATENESS =>
            {
                String::new()
            }
            JobEvent::Started { attempt: 1 } => format!("  due {}", nominal()),
            JobEvent::Started { attempt } => format!("  try {attempt}, due {}", nominal()),
            JobEvent::Skipped => "  skipped: an earlier run is in the way".to_owned(),
            JobEvent::Missed { count: 1 } => format!("  missed {}", nominal()),
            JobEvent::Missed { count } => {
                format!("  missed {} from {}", counted(count), nominal())
            }
            JobEvent::Abandoned => format!("  abandoned: the server ended in it, due {}", nominal()),
            JobEvent::TimedOut => format!("  timed out, due {}", nominal()),
            JobEvent::Killed => format!("  killed for a newer run, due {}", nominal()),
        };
        format!("{}  {}{what}\n", self.show(event.time), self.scenario.jobs[event.job_index].job.name)
    }

    fn totals(&self) -> String {
        let mut rows = vec![HEADS.map(str::to_owned)];
        assert_eq!(self.scenario.jobs.len(), self.outcome.totals.len(), "each job has its total");
        let jobs = self.scenario.jobs.iter().zip(&self.outcome.totals);
        rows.extend(jobs.map(|(simulated, total)| self.row(simulated.job.name.as_str(), total)));
        let (from, end) = (self.show(self.scenario.from), self.show(self.outcome.end));
        let count = self.outcome.start_count;
        format!("{}{count} {} from {from} to {end}\n\n", table(&rows), noun(count, "start"))
    }

    fn row(&self, name: &str, total: &Total) -> [String; 8] {
        let time = |time: Option<Timestamp>| time.map_or("-".to_owned(), |time| self.show(time));
        let late = std::time::Duration::try_from(total.latest_by).unwrap_or_default();
        [
            name.to_owned(),
            total.start_count.to_string(),
            total.skipped_count.to_string(),
            counted(total.missed_count),
            total.cut_count.to_string(),
            if total.latest_by < SHOWN_LATENESS { "-".to_owned() } else { Span(late).to_string() },
            time(total.first),
            time(total.last),
        ]
    }

    fn busiest(&self) -> String {
        let line = |minute: &Peak| {
            format!("  {}  {} {}\n", self.show(minute.time), minute.count, noun(minute.count, "start"))
        };
        let lines: String = self.outcome.busiest.iter().map(line).collect();
        if lines.is_empty() { lines } else { format!("busiest minutes\n{lines}") }
    }

    fn at_once(&self) -> String {
        let Some(most) = self.outcome.most_at_once else { return String::new() };
        let jobs = &self.scenario.jobs;
        let known = jobs.iter().filter(|simulated| simulated.duration.is_some()).count();
        let (count, runs, total) = (most.count, noun(most.count, "run"), jobs.len());
        let time = self.show(most.time);
        format!(
            "\nmost at once: {count} {runs}, first at {time} (durations known for {known} of {total} jobs)\n"
        )
    }
}

/// A count of missed occurrences: beyond a limit they are not counted one by one.
fn counted(count: u64) -> String {
    if count < MAX_COUNTED { count.to_string() } else { format!("at least {count}") }
}

fn noun(count: u64, noun: &str) -> String {
    if count == 1 { noun.to_owned() } else { format!("{noun}s") }
}

/// Rows in columns as wide as their widest cell; numbers are flush right.
fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let line = |row: &[String; N]| {
        let cell = |column: usize| match NUMBER_COLUMNS.contains(&column) {
            true => format!("{:>1$}", row[column], widths[column]),
            false => format!("{:<1$}", row[column], widths[column]),
        };
        let cells: Vec<String> = (0..N).map(cell).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "1", "x"], ["bbb", "22", ""]].map(|row| row.map(str::to_owned));
        assert_eq!(table(&rows), "a     1  x\nbbb  22\n");
    }
}
