//! An order of jobs: what they are sorted by, and where in it a page begins.
//!
//! ```text
//! sort=-next, jobs ─▶ rows, each with its key ─▶ behind the place `KEY|NAME` ─▶ a page, and its last place
//! ```
//!
//! A place holds what its job was sorted by. So a page begins behind a job that is gone since, or that stands
//! elsewhere now.
//!
//! Cost: a key for each job. By how long they take, the runs of a thousand jobs are looked at.
//!
//! Does not choose jobs: see [`jobs`](super::jobs).

use std::cmp::Ordering;
use std::sync::Arc;

use jiff::Timestamp;

use crate::app::App;
use crate::catalogue::CachedJob;
use crate::problem::{Code, Problem};
use crate::view::state_code;

/// How many jobs are ordered by how long they take: the runs of each are looked at. The others follow by
/// name.
const MAX_SORTED: usize = 1_000;

/// The key of those others.
const UNSORTED: &str = "~";

/// What jobs are sorted by, and in which direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JobOrder {
    by: Key,
    is_down: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Name,
    State,
    Next,
    Last,
    Median,
    P95,
}

/// A job with its place.
pub(super) struct JobRow {
    pub(super) known: Arc<CachedJob>,
    key: String,
    /// Whether it is behind those that were sorted, by its name.
    pub(super) is_unsorted: bool,
}

/// Where a job stands, whether or not it is there still.
#[derive(Clone, Copy)]
struct Place<'t> {
    is_unsorted: bool,
    key: &'t str,
    name: &'t str,
}

impl JobRow {
    fn place(&self) -> Place<'_> {
        Place { is_unsorted: self.is_unsorted, key: &self.key, name: &self.known.wire.name }
    }
}

impl JobOrder {
    /// The order that a parameter names.
    ///
    /// # Errors
    ///
    /// 400 for one that is none.
    pub(super) fn of(text: &str) -> Result<JobOrder, Problem> {
        let (is_down, by) = text.strip_prefix('-').map_or((false, text), |by| (true, by));
        let by = match by {
            "name" => Key::Name,
            "state" => Key::State,
            "next" => Key::Next,
            "last" => Key::Last,
            "median" => Key::Median,
            "p95" => Key::P95,
            _ => {
                let text =
                    "`sort` is name, state, next, last, median or p95, with - before it the other way round";
                return Err(Problem::new(Code::USAGE, text));
            }
        };
        Ok(JobOrder { by, is_down })
    }

    fn is_by_length(self) -> bool {
        matches!(self.by, Key::Median | Key::P95)
    }

    /// Jobs that stand in the order of their names, in this order.
    ///
    /// # Errors
    ///
    /// What the loop says.
    pub(super) async fn sort(self, app: &App, jobs: Vec<Arc<CachedJob>>) -> Result<Vec<JobRow>, Problem> {
        let mut rows = Vec::with_capacity(jobs.len());
        for (index, known) in jobs.into_iter().enumerate() {
            let is_unsorted = self.is_by_length() && MAX_SORTED <= index;
            let key = if is_unsorted { UNSORTED.to_owned() } else { self.key(app, &known).await? };
            rows.push(JobRow { known, key, is_unsorted });
        }
        rows.sort_by(|one, other| self.compare(one.place(), other.place()));
        Ok(rows)
    }

    async fn key(self, app: &App, known: &CachedJob) -> Result<String, Problem> {
        let wire = &known.wire;
        // As a number: of `:00Z` and `:00.5Z` the text of the later time is the smaller one.
        let time = |at: Timestamp| format!("{:030}", at.as_nanosecond());
        Ok(match self.by {
            Key::Name => String::new(),
            Key::State => format!("{}-{}", u8::from(wire.failures == 0), state_code(wire.state_code)),
            Key::Next => wire.next.map_or_else(|| "~".to_owned(), time),
            Key::Last => wire.last.as_ref().and_then(|run| run.ended).map_or_else(String::new, time),
            Key::Median => length(app.catalogue.recent(known).await?.duration.median_ms),
            Key::P95 => length(app.catalogue.recent(known).await?.duration.p95_ms),
        })
    }

    fn compare(self, one: Place<'_>, other: Place<'_>) -> Ordering {
        let up = (one.key, one.name).cmp(&(other.key, other.name));
        let sorted = if self.is_down && !one.is_unsorted { up.reverse() } else { up };
        one.is_unsorted.cmp(&other.is_unsorted).then(sorted)
    }

    /// The place of a row as text, for [`JobOrder::start`].
    pub(super) fn cursor(self, row: &JobRow) -> String {
        let Place { key, name, .. } = row.place();
        if self.by == Key::Name { name.to_owned() } else { format!("{key}|{name}") }
    }

    /// The index of the first row behind a place.
    ///
    /// # Errors
    ///
    /// 400 for what is no place in this order.
    pub(super) fn start(self, rows: &[JobRow], cursor: &str) -> Result<usize, Problem> {
        let no_place = || Problem::new(Code::USAGE, "`after` must be `next` of the page before");
        let (key, name) = match self.by {
            Key::Name => ("", cursor),
            _ => cursor.split_once('|').ok_or_else(no_place)?,
        };
        let place = Place { is_unsorted: self.is_by_length() && key == UNSORTED, key, name };
        Ok(rows.partition_point(|row| self.compare(row.place(), place) != Ordering::Greater))
    }
}

/// A length as a key; of a job without one as if it took no time.
fn length(length_ms: Option<u64>) -> String {
    format!("{:020}", length_ms.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_server::protocol::JobWire;

    #[test]
    fn jobs_that_are_not_sorted_stand_behind_the_others_in_both_directions() {
        let row = |(key, name): (&str, &str)| {
            let wire = JobWire { name: name.into(), ..JobWire::default() };
            let known = Arc::new(CachedJob { wire, definition: String::new(), plan: None });
            JobRow { known, key: key.into(), is_unsorted: key == UNSORTED }
        };
        let all = [("2", "a"), ("1", "b"), ("1", "c"), (UNSORTED, "d"), (UNSORTED, "e")];
        for (sort, wanted) in [("median", "bcade"), ("-p95", "acbde")] {
            let order = JobOrder::of(sort).unwrap();
            let mut rows = all.map(row);
            rows.sort_by(|one, other| order.compare(one.place(), other.place()));
            assert_eq!(rows.iter().map(|row| &*row.known.wire.name).collect::<String>(), wanted, "{sort}");
            for index in 0..all.len() {
                let cursor = order.cursor(&rows[index]);
                assert_eq!(order.start(&rows, &cursor).ok(), Some(index + 1), "{sort} {cursor}");
                let gone = rows[index].known.wire.name.clone();
                let mut left: Vec<JobRow> = all.map(row).into_iter().collect();
                left.retain(|row| row.known.wire.name != gone);
                left.sort_by(|one, other| order.compare(one.place(), other.place()));
                assert_eq!(order.start(&left, &cursor).ok(), Some(index), "{sort} {cursor} is gone");
            }
        }
    }
}
