//! Every row of the tables in testdata, as they stand there.

use jiff::{Timestamp, tz::TimeZone};
use mainspring_cron::{BareStep, DayRule, Dialect, DstPolicy, Expression, ParseOptions, Schedule};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/cron-next.csv");
/// Made with `systemd-analyze calendar --base-time --iterations` of systemd 252 (Debian 12).
const SYSTEMD_CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/cron-oncalendar.csv");

/// What made them stands at the file's head.
const SYSTEMD_STEPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/cron-oncalendar-steps.csv");

/// Made with cronsim 2.8 for Python: random expressions in ten zones, most of them around changes of the
/// clock. Two forms are not in it, because cronsim differs: it reads `5-5/2` as `5/2`, and after a gap of
/// half an hour it leaps over the first half hour.
const CRONSIM_CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/cron-cronsim.csv");

/// One row, by the names of its columns.
struct Row {
    columns: Vec<String>,
    values: Vec<String>,
}

impl Row {
    fn value(&self, column: &str) -> &str {
        let index = self.columns.iter().position(|name| name == column).expect("the file has this column");
        &self.values[index]
    }

    fn options(&self) -> ParseOptions<'static> {
        let dialect = self.value("dow").parse::<Dialect>().unwrap();
        let day_rule = match self.value("day_rule") {
            "" => DayRule::Star,
            name => name.parse().unwrap(),
        };
        ParseOptions::new().with_dialect(dialect).with_day_rule(day_rule)
    }

    fn zone(&self) -> TimeZone {
        TimeZone::get(self.value("tz")).unwrap()
    }

    fn dst(&self) -> DstPolicy {
        match self.value("dst_rule") {
            "vixie" => DstPolicy::CRON,
            name => name.parse().unwrap(),
        }
    }
}

/// Splits a line at its commas, but not inside of quotes.
fn split_line(line: &str) -> Vec<String> {
    let mut values = vec![String::new()];
    let mut is_quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => values.push(String::new()),
            _ => values.last_mut().unwrap().push(letter),
        }
    }
    values
}

fn file_rows(path: &str) -> Vec<Row> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let columns = split_line(lines.next().unwrap());
    lines.map(|line| Row { columns: columns.clone(), values: split_line(line) }).collect()
}

fn rows(kind: &str) -> Vec<Row> {
    file_rows(CASES).into_iter().filter(|row| row.value("kind") == kind).collect()
}

/// The first `n` occurrences in the form of the column `expected`.
fn found(row: &Row, schedule: &Schedule) -> String {
    let start: Timestamp = row.value("start").parse().unwrap();
    let count: usize = row.value("n").parse().unwrap();
    let times: Vec<String> = schedule
        .upcoming(start)
        .take(count)
        .map(|time| time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
        .collect();
    if times.is_empty() { "NONE".to_owned() } else { times.join(";") }
}

fn assert_no_complaints(complaints: &[String], count: usize, least: usize) {
    assert!(complaints.is_empty(), "{} of {count} rows differ:\n{}", complaints.len(), complaints.join("\n"));
    assert!(least <= count, "the file has only {count} rows of this kind");
}

#[test]
fn every_next_row_gives_the_instants_that_its_source_states() {
    let rows = rows("next");
    let mut complaints = Vec::new();
    for row in &rows {
        let (id, text) = (row.value("id"), row.value("expr"));
        let found = match Expression::parse_with(text, &row.options()) {
            Ok(expression) => found(row, &Schedule::new(expression, row.zone()).with_dst(row.dst())),
            Err(error) => error.pointed(text),
        };
        if found != row.value("expected") {
            complaints.push(format!("{id} {text}: {found}, expected {}", row.value("expected")));
        }
    }
    assert_no_complaints(&complaints, rows.len(), 72);
}

#[test]
fn every_oncalendar_row_gives_the_instants_that_systemd_gives() {
    let rows = rows("oncalendar");
    let mut complaints = Vec::new();
    for row in &rows {
        let (id, text) = (row.value("id"), row.value("expr"));
        let found = match Expression::parse_oncalendar(text) {
            Ok(expression) => found(row, &Schedule::new(expression, row.zone())),
            Err(error) => error.pointed(text),
        };
        if found != row.value("expected") {
            complaints.push(format!("{id} {text}: {found}, expected {}", row.value("expected")));
        }
    }
    assert_no_complaints(&complaints, rows.len(), 7);
}

#[test]
fn systemd_itself_gives_the_same_instants_and_refuses_the_same_texts() {
    assert_as_systemd(SYSTEMD_CASES, 110);
}

#[test]
fn ranges_with_repetitions_are_shortened_as_systemd_shortens_them() {
    assert_as_systemd(SYSTEMD_STEPS, 220);
}

/// Compares whole seconds, which are all that systemd shows.
fn assert_as_systemd(path: &str, least: usize) {
    let rows = file_rows(path);
    let mut complaints = Vec::new();
    for row in &rows {
        let text = row.value("expr");
        let found = match Expression::parse_oncalendar(text) {
            Ok(expression) => {
                let schedule = Schedule::new(expression, row.zone());
                let start: Timestamp = row.value("start").parse().unwrap();
                let count = row.value("n").parse().unwrap();
                let text = |time: jiff::Zoned| time.timestamp().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
                let times: Vec<String> = schedule.upcoming(start).take(count).map(text).collect();
                if times.is_empty() { "NONE".to_owned() } else { times.join(";") }
            }
            Err(_) => "REJECT".to_owned(),
        };
        if found != row.value("expected") {
            complaints.push(format!(
                "{text} in {}: {found}, expected {}",
                row.value("tz"),
                row.value("expected")
            ));
        }
    }
    assert_no_complaints(&complaints, rows.len(), least);
}

#[test]
fn cronsim_gives_the_same_instants() {
    let rows = file_rows(CRONSIM_CASES);
    let mut complaints = Vec::new();
    for row in &rows {
        let text = row.value("expr");
        let schedule = Schedule::new(Expression::parse(text).unwrap(), row.zone());
        let start: Timestamp = row.value("start").parse().unwrap();
        let expected = row.value("expected");
        let count = expected.split(';').count();
        let times: Vec<String> =
            schedule.upcoming(start).take(count).map(|time| time.timestamp().to_string()).collect();
        if times.join(";") != expected {
            complaints.push(format!(
                "{text} in {} after {start}: {}, expected {expected}",
                row.value("tz"),
                times.join(";")
            ));
        }
    }
    assert_no_complaints(&complaints, rows.len(), 400);
}

#[test]
fn every_parse_row_is_accepted_or_rejected_as_its_source_states() {
    let rows = rows("parse");
    let mut complaints = Vec::new();
    let mut expect = |row: &Row, bare_step, expected: &str| {
        let options = row.options().with_bare_step(bare_step);
        // The file writes a tab as two characters.
        let text = row.value("expr").replace("\\t", "\t");
        let is_accepted = Expression::parse_with(&text, &options).is_ok();
        if is_accepted != (expected == "ACCEPT") {
            complaints.push(format!("{} {text}: expected {expected}", row.value("id")));
        }
    };
    for row in &rows {
        match row.value("expected") {
            "REJECT-ocps,ACCEPT-robfig" => {
                expect(row, BareStep::Reject, "REJECT");
                expect(row, BareStep::Warn, "ACCEPT");
            }
            expected => expect(row, BareStep::default(), expected),
        }
    }
    assert_no_complaints(&complaints, rows.len(), 21);
}
