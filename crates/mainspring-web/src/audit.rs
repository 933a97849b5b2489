//! What people asked for over HTTP, and who it was.
//!
//! Kept in memory since the start of the server, and in its log for good: the store has no table for it. What
//! comes over the socket is not in it.
//!
//! Cost: at most `MAX_ENTRIES` entries.
//!
//! Does not keep what was refused.

use std::collections::VecDeque;
use std::sync::Mutex;

use jiff::Timestamp;
use mainspring_exec::clock::Moment;

use crate::lock::locked;

/// The most entries; the oldest goes.
const MAX_ENTRIES: usize = 1_000;

/// One thing that somebody did.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its number, from 1.
    pub id: u64,
    /// When it was done, by the server's clock.
    pub at: Timestamp,
    /// The name of the token or user that asked for it.
    pub actor: String,
    /// What, as a code.
    pub code: &'static str,
    /// What, in words.
    pub text: String,
    /// Of which job.
    pub job: Option<String>,
    /// Of which run.
    pub run: Option<String>,
    /// What they said about it.
    pub note: Option<String>,
}

#[derive(Debug, Default)]
struct Entries {
    last_id: u64,
    entries: VecDeque<Entry>,
}

/// What people did.
#[derive(Debug, Default)]
pub struct Audit(Mutex<Entries>);

impl Audit {
    /// One more.
    #[expect(clippy::too_many_arguments, reason = "they are the fields of an entry")]
    pub fn add(
        &self,
        now: Moment,
        actor: &str,
        code: &'static str,
        text: &str,
        job: Option<&str>,
        run: Option<&str>,
        note: Option<&str>,
    ) {
        let mut entries = locked(&self.0);
        entries.last_id += 1;
        let own = |text: Option<&str>| text.map(str::to_owned);
        let entry = Entry {
            id: entries.last_id,
            at: now.wall,
            actor: actor.to_owned(),
            code,
            text: text.to_owned(),
            job: own(job),
            run: own(run),
            note: own(note),
        };
        entries.entries.push_front(entry);
        entries.entries.truncate(MAX_ENTRIES);
    }

    /// All, the latest first.
    pub fn all(&self) -> Vec<Entry> {
        locked(&self.0).entries.iter().cloned().collect()
    }
}
