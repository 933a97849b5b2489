//! The processor time of the machine while something is measured, and the database's part of it.
//!
//! ```text
//!  since ─▶ what is measured ─▶ a line: cores busy, and us for each of COUNT in the database and in the rest
//! ```
//!
//! Cost: a read of `/proc` at both ends. Resolution: 10 ms.
//!
//! The machine is at rest but for what is measured, or the figures are of both. Linux only.

#![allow(clippy::unwrap_used, reason = "what cannot go on has failed, and says where")]
#![allow(clippy::disallowed_methods, reason = "it measures in real time")]

use std::fmt::{self, Display};
use std::fs;
use std::time::Instant;

/// Of the ticks that `/proc` counts in: Linux shows a hundred in a second, whatever it counts in itself.
const US_PER_TICK: f64 = 10_000.0;

/// The fields of `/proc/stat` that are not work: idle, and idle while a disk works.
const IDLE_FIELDS: std::ops::Range<usize> = 3..5;

/// Counted by then.
pub(crate) struct Processor {
    began: Instant,
    busy_ticks: u64,
    database_ticks: u64,
}

/// What something took.
pub(crate) struct Took {
    cores: f64,
    database_us: f64,
    rest_us: f64,
}

impl Processor {
    pub(crate) fn now() -> Processor {
        Processor { began: Instant::now(), busy_ticks: busy_ticks(), database_ticks: database_ticks() }
    }

    /// Since then, for each of so many.
    pub(crate) fn took(&self, count: usize) -> Took {
        let us = |after: u64, before: u64| (after - before) as f64 * US_PER_TICK;
        let busy = us(busy_ticks(), self.busy_ticks);
        let database = us(database_ticks(), self.database_ticks);
        Took {
            cores: busy / 1e6 / self.began.elapsed().as_secs_f64(),
            database_us: database / count as f64,
            rest_us: (busy - database) / count as f64,
        }
    }
}

impl Display for Took {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:.2} cores, {:.0} + {:.0} us", self.cores, self.database_us, self.rest_us)
    }
}

fn busy_ticks() -> u64 {
    let text = fs::read_to_string("/proc/stat").unwrap();
    let fields =
        text.lines().next().unwrap().split_whitespace().skip(1).map(|field| field.parse::<u64>().unwrap());
    // What guests took is in the first fields already.
    fields.take(8).enumerate().filter(|(index, _)| !IDLE_FIELDS.contains(index)).map(|(_, ticks)| ticks).sum()
}

/// Of all that are called postgres, and of their children that have ended.
fn database_ticks() -> u64 {
    let stats = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(") ")?;
        (name == "postgres").then(|| rest.to_owned())
    });
    // From the state on: utime, stime, cutime, cstime are the 12th to 15th.
    let ticks = |rest: String| {
        rest.split(' ').skip(11).take(4).map(|field| field.parse::<u64>().unwrap()).sum::<u64>()
    };
    stats.map(ticks).sum()
}
