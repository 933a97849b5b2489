//! Turns at the streams of this process: nothing is written into the middle of a line.
//!
//! ```text
//!  a log      ──▶ a part of a line .. the pipe is full .. the rest ─┐
//!  another    waits ────────────────────────────────────────────────┼─▶ its lines
//!  a message  is held ──────────────────────────────────────────────┴─▶ standard error
//! ```
//!
//! A server of a pool has two logs at one stream, and standard error may be the same pipe. What came into the
//! middle of a line would break it, and the rest of it, which a job wrote, would pass for a line of the log.
//!
//! Cost: a lock for each flush of a log and each message.
//!
//! Does not look which streams are one: all are taken for that.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How much is held of messages: one beyond that is written at once.
const MAX_HELD_BYTES: usize = 64 << 10;

/// Who is within a line.
#[derive(Debug)]
pub(super) struct Turns {
    /// The number of that log; `None` between two lines.
    log: Option<u64>,
    /// Messages that wait for the end of the line.
    held: Vec<u8>,
}

impl Turns {
    pub(super) const fn new() -> Mutex<Turns> {
        Mutex::new(Turns { log: None, held: Vec::new() })
    }
}

static TURNS: Mutex<Turns> = Turns::new();

/// The number of the next log. Nothing else is read by it.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A log, as one that takes turns with others.
#[derive(Debug)]
pub(super) struct LineTurn {
    number: u64,
    turns: &'static Mutex<Turns>,
}

impl LineTurn {
    pub(super) fn new() -> LineTurn {
        LineTurn::at(&TURNS)
    }

    pub(super) fn at(turns: &'static Mutex<Turns>) -> LineTurn {
        LineTurn { number: NEXT.fetch_add(1, Ordering::Relaxed), turns }
    }

    /// What keeps all others from writing; `None` while another log is within a line.
    pub(super) fn begin(&self) -> Option<MutexGuard<'static, Turns>> {
        let turns = locked(self.turns);
        turns.log.is_none_or(|log| log == self.number).then_some(turns)
    }

    /// Others may write again, unless the last byte of this one is within a line.
    pub(super) fn end(&self, mut turns: MutexGuard<'static, Turns>, last: Option<u8>) {
        let is_within = last.is_some_and(|byte| byte != b'\n');
        turns.log = is_within.then_some(self.number);
        let held = if is_within { Vec::new() } else { std::mem::take(&mut turns.held) };
        drop(turns);
        tell(&held);
    }
}

impl Drop for LineTurn {
    fn drop(&mut self) {
        if let Some(turns) = self.begin() {
            self.end(turns, None);
        }
    }
}

/// Writes a message to standard error, or holds it until a line is whole.
pub(crate) fn say(message: &[u8]) {
    let mut turns = locked(&TURNS);
    if turns.log.is_some() && turns.held.len() < MAX_HELD_BYTES {
        turns.held.extend_from_slice(message);
        return;
    }
    drop(turns);
    tell(message);
}

fn tell(messages: &[u8]) {
    // If standard error cannot be written, there is no other place for them.
    let _ = io::stderr().write_all(messages);
}

fn locked(turns: &'static Mutex<Turns>) -> MutexGuard<'static, Turns> {
    turns.lock().unwrap_or_else(PoisonError::into_inner)
}
