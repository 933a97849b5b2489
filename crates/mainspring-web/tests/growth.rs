//! Growth: twice the text makes a reader take at most 2.2 times the memory and the allocations, and no text
//! that may be sent takes more than a fixed amount of memory.
//!
//! Each reader of texts that others write has a row for each way in which its text may expand: files and
//! expressions in [`rows`], bodies of the API and requests over the socket in [`bodies`], what stands within
//! them, and what jobs and receivers write, in [`parts`]. A row gives a text
//! of a size, and what reads it. Memory and allocations are counted by an allocator, on the test's own
//! thread. Time decides nothing.
//!
//! Zone files have no row: jiff reads them, from a folder that is root's, by names of its own list. Nor have
//! the files of secrets, variables, tokens and users of a proxy, which end at 64 or 256 KiB.

use allocation_counter::{AllocationInfo, measure};
use jiff::tz::TimeZone;
use mainspring_cron::{Dialect, Expression, ParseError, ParseOptions, Schedule, TimeText};
use mainspring_file::budget::MAX_MADE_BYTES;
use mainspring_file::claims::{Claimant, InForce, settle};
use mainspring_file::crontab::Format;
use mainspring_file::jobfile::PlacedJob;
use mainspring_file::loaded_file::LoadedFile;
use mainspring_file::source::{MAX_FILE_BYTES, Source};
use mainspring_server::protocol::MAX_REQUEST_BYTES;
use mainspring_web::routes::ROUTES;

mod bodies;
mod parts;
mod rows;

use bodies::{BODIES, LONGEST_BODIES};
use parts::PARTS;
use rows::{LIMITS, PRODUCTS, ROWS};

/// What problems take of a text with one line: each has the line, and with it is text again.
const MAX_OF_LINES: u64 = 2 * MAX_FILE_BYTES;

/// How much of a text is taken at most while it is read: as much where each five bytes make a table.
const MAX_OF_TEXT: u64 = 250;

/// What no text takes at a time.
const MAX_PEAK_BYTES: u64 = 256 << 20;

/// How much of what is counted of jobs is taken at most: copies under way.
const MAX_OF_MADE: u64 = 3;

/// What is too little to be compared: tables that a reader makes once, and the first steps of growth.
const LEAST: AllocationInfo = AllocationInfo {
    count_total: 2_000,
    count_current: 0,
    count_max: 0,
    bytes_total: 256 << 10,
    bytes_current: 0,
    bytes_max: 64 << 10,
};

/// A way in which a text may expand.
struct Row {
    name: &'static str,
    /// The greater of the two sizes that are compared.
    size: usize,
    text: fn(usize) -> String,
    /// Reads it, and says what the jobs take that were made.
    read: fn(&str) -> usize,
}

#[test]
fn twice_the_text_takes_at_most_little_more_than_twice() {
    let mut found = Vec::new();
    for row in chosen(ROWS).chain(chosen(BODIES)).chain(chosen(PARTS)) {
        let [one, two] = [row.size / 2, row.size].map(|size| row.taken((row.text)(size).as_str()).0);
        let grows = |of: fn(&AllocationInfo) -> u64| of(&one).max(of(&LEAST)) * 22 < of(&two) * 10;
        if grows(|it| it.bytes_max) || grows(|it| it.bytes_total) || grows(|it| it.count_total) {
            found.push(format!("{}: {one:?}, and of twice the text {two:?}", row.name));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn no_text_takes_more_than_a_multiple_of_itself_and_of_what_is_counted_of_its_jobs() {
    let mut found = Vec::new();
    for row in chosen(ROWS).chain(chosen(PRODUCTS)).chain(chosen(BODIES)).chain(chosen(PARTS)) {
        let text = (row.text)(row.size);
        let (info, made_bytes) = row.taken(&text);
        let most = MAX_OF_LINES + MAX_OF_TEXT * text.len() as u64 + MAX_OF_MADE * made_bytes as u64;
        if most < info.bytes_max || MAX_MADE_BYTES < made_bytes {
            found.push(format!("{}: {most} at most, and {} of {info:?}", row.name, text.len()));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn no_text_takes_more_than_a_fixed_amount() {
    let mut found = Vec::new();
    for row in chosen(LIMITS).chain(chosen(LONGEST_BODIES)) {
        let (info, _) = row.taken(&(row.text)(row.size));
        if MAX_PEAK_BYTES < info.bytes_max {
            found.push(format!("{}: {info:?}", row.name));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_route_that_takes_a_body_has_a_row() {
    let bodies = ROUTES.iter().filter_map(|route| route.body);
    let without = bodies.filter(|body| {
        let name = format!("{}: ", (body.name)());
        !BODIES.iter().any(|row| row.name.starts_with(&name))
    });
    assert_eq!(without.map(|body| (body.name)()).collect::<Vec<_>>(), Vec::<String>::new());
}

/// Those that the variable `ROW` names, or all.
fn chosen(rows: &'static [Row]) -> impl Iterator<Item = &'static Row> {
    let only = std::env::var("ROW").unwrap_or_default();
    rows.iter().filter(move |row| row.name.contains(&only))
}

impl Row {
    /// What is taken from the machine while the text is read, and what is counted of its jobs.
    fn taken(&self, text: &str) -> (AllocationInfo, usize) {
        assert!(text.len() <= MAX_REQUEST_BYTES, "{} is as long as may be sent", self.name);
        let mut made_bytes = 0;
        let info = measure(|| made_bytes = (self.read)(text));
        if std::env::var("ROW").is_ok() {
            eprintln!("{}: text {}, made {made_bytes}, {info:?}", self.name, text.len());
        }
        (info, made_bytes)
    }
}

fn user(text: &str) -> usize {
    judged("crontab", text, Format::User)
}

fn system(text: &str) -> usize {
    judged("crontab", text, Format::System)
}

fn jobs_of(text: &str) -> usize {
    judged("jobs.toml", text, Format::User)
}

/// A file as `check` and `apply` read it: with the names of its entries, and with its problems as text.
fn judged(name: &str, text: &str, format: Format) -> usize {
    let loaded = LoadedFile::parse(&Source::new(name, text), format, &TimeZone::UTC);
    let mut files = [Claimant { job_source: name.to_owned(), loaded }];
    settle(&mut files, &InForce::nothing());
    std::hint::black_box(files[0].loaded.problems_text());
    files[0].loaded.jobs.iter().map(PlacedJob::weight).sum()
}

fn cron(text: &str) -> usize {
    for dialect in [Dialect::Unix, Dialect::Quartz] {
        explain(Expression::parse_with(text, &ParseOptions::new().with_dialect(dialect)));
    }
    0
}

fn oncalendar(text: &str) -> usize {
    explain(Expression::parse_oncalendar(text));
    0
}

fn time(text: &str) -> usize {
    drop(std::hint::black_box(TimeText::parse(text).map_err(|error| error.to_string())));
    0
}

/// An expression with all that is said of it, or what is wrong with it.
fn explain(parsed: Result<Expression, ParseError>) {
    match parsed {
        Ok(expression) => {
            std::hint::black_box(expression.to_string());
            let schedule = Schedule::new(expression, TimeZone::UTC);
            std::hint::black_box(schedule.explain(jiff::Timestamp::UNIX_EPOCH));
        }
        Err(error) => drop(std::hint::black_box((error.to_string(), error.hint().map(str::to_owned)))),
    }
}
