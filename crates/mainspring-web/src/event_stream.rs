//! Streams changes to pages that are open: server-sent events.
//!
//! ```text
//! the loop ─Watch▶ changes since the last one ─▶ ring of RING events ─▶ every stream from where it stands
//!                  then REST, so that a busy server tells of each job four times a second at most
//! ```
//!
//! An event has the id EPOCH.N. Who comes back with one that the ring still has hears what followed; else
//! `reset`: ask again. While no page is open nothing is watched, and what happens then is a gap.
//!
//! Cost: nothing without streams. A stream is a task and what it has not sent yet, at most some kilobytes.
//!
//! Does not say what is now: a page asks for that.
//!
//! Source: the HTML standard, server-sent events.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use mainspring_server::protocol::ChangesWire;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::connections::{MAX_OF_IDENTITY, MAX_PROVEN};
use crate::lock::locked;
use crate::problem::{Code, Problem};
use crate::sessions::Identity;

/// How many events are kept for who comes back: a busy minute.
const RING: usize = 1_024;

/// How long changes are gathered before the next are asked for.
pub const REST: Duration = Duration::from_millis(250);

/// How often a stream says something though nothing happens, by which its reader knows that it lives:
/// the page takes a stream for dead after three of them, and proxies cut one after a minute of silence.
pub const BEAT: Duration = Duration::from_secs(15);

const _: () = assert!(BEAT.as_secs() < 60, "a proxy cuts no stream that lives");

/// The most streams of one identity, of events and of output: two browsers with six connections each.
pub const MAX_STREAMS_OF_IDENTITY: usize = 12;

/// The most streams of all identities but the local administrator: half of the connections that there may be.
pub const MAX_STREAMS: usize = 128;

const _: () =
    assert!(MAX_STREAMS_OF_IDENTITY < MAX_OF_IDENTITY, "an identity with all its streams still asks");
const _: () = assert!(2 * MAX_STREAMS_OF_IDENTITY < MAX_STREAMS, "one identity keeps no other from streams");
const _: () = assert!(2 * MAX_STREAMS <= MAX_PROVEN, "half of the connections are left for requests");

#[derive(Debug, Default)]
struct EventRing {
    /// Tells one stretch of watching from the next.
    epoch: i64,
    last: u64,
    events: VecDeque<(u64, String)>,
    /// How many streams each identity has.
    streams: BTreeMap<Identity, usize>,
    is_ending: bool,
}

/// The events, and who listens.
#[derive(Debug, Default)]
pub struct EventStream {
    ring: Mutex<EventRing>,
    /// Somebody began to listen.
    pub listeners: Notify,
    /// Something happened.
    news: Notify,
}

/// A place among the streams, which is given back when it is dropped.
#[derive(Debug)]
pub struct StreamSlot(Arc<EventStream>, Identity);

/// Where a stream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    epoch: i64,
    number: u64,
}

fn event(id: Option<String>, name: &str, data: &Value) -> String {
    debug_assert!(!name.contains(['\r', '\n']), "the name of an event is one line");
    let id = id.map_or_else(String::new, |id| format!("id: {id}\n"));
    format!("{id}event: {name}\ndata: {data}\n\n")
}

/// An event without an id, as a stream sends it.
pub fn plain(name: &str, data: &Value) -> String {
    event(None, name, data)
}

impl EventStream {
    /// One without events. `now` tells it from that of the server before.
    pub fn new(now: Timestamp) -> EventStream {
        let ring = EventRing { epoch: now.as_millisecond(), ..EventRing::default() };
        EventStream { ring: Mutex::new(ring), ..EventStream::default() }
    }

    /// A place for one more stream of an identity.
    ///
    /// # Errors
    ///
    /// 429 where the identity, or all together, have as many as may be.
    pub fn slot(self: &Arc<Self>, identity: &Identity) -> Result<StreamSlot, Problem> {
        let mut ring = locked(&self.ring);
        let of_all = ring.stream_count();
        let own = ring.streams.get(identity).copied().unwrap_or_default();
        let is_full = MAX_STREAMS <= of_all && *identity != Identity::Local;
        if is_full || MAX_STREAMS_OF_IDENTITY <= own || ring.is_ending {
            let text = format!(
                "there are {MAX_STREAMS_OF_IDENTITY} streams of yours, or {MAX_STREAMS} of all, and there may be no \
                 more: close a page, or end a command that follows or waits"
            );
            return Err(Problem::new(Code::TOO_MANY, text).again_after(15));
        }
        if of_all == 0 {
            // What happened while no stream was open is not known.
            ring.epoch += 1;
            (ring.last, ring.events) = (0, VecDeque::new());
        }
        ring.streams.insert(identity.clone(), own + 1);
        debug_assert!(ring.stream_count() <= MAX_STREAMS + MAX_STREAMS_OF_IDENTITY);
        self.listeners.notify_one();
        Ok(StreamSlot(Arc::clone(self), identity.clone()))
    }

    /// How many streams there are.
    pub fn stream_count(&self) -> usize {
        locked(&self.ring).stream_count()
    }

    /// Tells what has changed.
    pub fn tell(&self, changes: &ChangesWire) {
        let mut ring = locked(&self.ring);
        let runs = changes.runs.iter();
        for run in runs {
            ring.add("run.changed", &json!({ "run": run.run, "job": run.job, "state": run.state }));
        }
        for job in &changes.jobs {
            ring.add("job.changed", &json!({ "job": job }));
        }
        if changes.once {
            ring.add("once.changed", &json!({ "id": "" }));
        }
        if changes.audit {
            ring.add("audit.added", &json!({}));
        }
        if changes.clock {
            ring.add("clock.jumped", &json!({}));
        }
        if changes.is_cut_short {
            ring.add("reset", &json!({ "elsewhere": changes.is_elsewhere }));
        }
        drop(ring);
        self.news.notify_waiters();
    }

    /// The server ends: all streams say so and end.
    pub fn end(&self) {
        locked(&self.ring).is_ending = true;
        self.news.notify_waiters();
    }

    /// Whether the server ends.
    pub fn is_ending(&self) -> bool {
        locked(&self.ring).is_ending
    }

    /// Where a stream begins that was at `after`, and whether it has missed something.
    pub fn position(&self, after: Option<&str>) -> (Position, bool) {
        let ring = locked(&self.ring);
        let now = Position { epoch: ring.epoch, number: ring.last };
        let Some(after) = after.filter(|after| !after.is_empty()) else { return (now, false) };
        let parsed = after.split_once('.').and_then(|(epoch, number)| {
            Some(Position { epoch: epoch.parse().ok()?, number: number.parse().ok()? })
        });
        let first = ring.events.front().map_or(ring.last, |(number, _)| number - 1);
        match parsed {
            Some(at) if at.epoch == ring.epoch && first <= at.number && at.number <= ring.last => (at, false),
            _ => (now, true),
        }
    }

    /// The id of a position.
    pub fn id(position: Position) -> String {
        format!("{}.{}", position.epoch, position.number)
    }

    /// What followed a position, and where that leads.
    pub fn since(&self, position: Position) -> (String, Position) {
        let ring = locked(&self.ring);
        let now = Position { epoch: ring.epoch, number: ring.last };
        let first = ring.events.front().map_or(ring.last, |(number, _)| number - 1);
        debug_assert!(position.epoch != ring.epoch || position.number <= now.number, "no stream is ahead");
        if position.epoch != ring.epoch || position.number < first {
            return (event(Some(EventStream::id(now)), "reset", &json!({})), now);
        }
        let later = ring.events.iter().filter(|(number, _)| position.number < *number);
        (later.map(|(_, text)| text.as_str()).collect(), now)
    }

    /// Waits until something happens. What happened before the call and was not fetched is not waited for, so
    /// the waiting is begun before the look.
    pub fn news(&self) -> tokio::sync::futures::Notified<'_> {
        self.news.notified()
    }
}

impl EventRing {
    fn stream_count(&self) -> usize {
        self.streams.values().sum()
    }

    fn add(&mut self, name: &str, data: &Value) {
        self.last += 1;
        let id = EventStream::id(Position { epoch: self.epoch, number: self.last });
        self.events.push_back((self.last, event(Some(id), name, data)));
        if RING < self.events.len() {
            self.events.pop_front();
        }
        let first = self.events.front().map_or(self.last, |(number, _)| *number);
        debug_assert_eq!(first + self.events.len() as u64, self.last + 1, "no event is missing in the ring");
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        let StreamSlot(feed, identity) = self;
        let mut ring = locked(&feed.ring);
        debug_assert!(ring.streams.contains_key(identity), "a place is given back once");
        match ring.streams.get(identity).map_or(0, |count| count - 1) {
            0 => drop(ring.streams.remove(identity)),
            left => drop(ring.streams.insert(identity.clone(), left)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_job::{JobName, MAX_NAME_CHARS, RunKey, RunState};
    use mainspring_server::protocol::{RunChangeWire, Word};

    /// An event says what changed, and the page asks for the rest.
    const MAX_EVENT_BYTES: usize = 512;

    fn changed(run: RunKey, state: RunState) -> RunChangeWire {
        RunChangeWire { job: run.job.clone(), run, state: Word::Known(state) }
    }

    fn change(series: u32) -> ChangesWire {
        let run = RunKey { series, ..RunKey::new(JobName::new("a").unwrap(), Timestamp::UNIX_EPOCH) };
        ChangesWire { runs: vec![changed(run, RunState::Running)], ..ChangesWire::default() }
    }

    #[test]
    fn who_comes_back_hears_what_followed_or_that_it_is_not_known() {
        let feed = Arc::new(EventStream::default());
        let slot = feed.slot(&Identity::Local).unwrap();
        let (start, is_gap) = feed.position(None);
        assert!(!is_gap);
        feed.tell(&change(1));
        feed.tell(&change(2));
        let (text, end) = feed.since(start);
        assert_eq!(text.matches("event: run.changed").count(), 2, "{text}");
        assert!(text.starts_with(&format!("id: {}.1\n", start.epoch)), "{text}");
        assert_eq!(feed.since(end).0, "");
        assert_eq!(feed.position(Some(&EventStream::id(end))), (end, false));
        for strange in ["0.1", "x", "..", "9999999999999.1", &format!("{}.3", end.epoch)] {
            assert_eq!(feed.position(Some(strange)), (end, true), "{strange}");
        }
        feed.tell(&ChangesWire { is_cut_short: true, is_elsewhere: true, ..ChangesWire::default() });
        let (text, end) = feed.since(end);
        assert!(text.ends_with("event: reset\ndata: {\"elsewhere\":true}\n\n"), "{text}");
        (0..2_000).for_each(|number| feed.tell(&change(number)));
        let (text, last) = feed.since(end);
        assert!(text.contains("event: reset"), "{text}");
        drop(slot);
        let _slot = feed.slot(&Identity::Local).unwrap();
        assert!(feed.since(last).0.contains("event: reset"), "a new stretch has a gap before it");
    }

    #[test]
    fn an_event_is_short_however_long_the_names_are() {
        let feed = Arc::new(EventStream::default());
        let _slot = feed.slot(&Identity::Local).unwrap();
        let (start, _) = feed.position(None);
        let job = JobName::new(&"j".repeat(MAX_NAME_CHARS)).unwrap();
        let run = RunKey { series: u32::MAX, ..RunKey::new(job.clone(), Timestamp::MAX) };
        let (run, jobs) = (changed(run, RunState::SkippedOverlap), vec![job.to_string()]);
        feed.tell(&ChangesWire { runs: vec![run], jobs, ..ChangesWire::default() });
        let (text, _) = feed.since(start);
        let events: Vec<&str> = text.split_terminator("\n\n").collect();
        assert_eq!(events.len(), 2);
        assert!(events.iter().all(|event| event.len() <= MAX_EVENT_BYTES), "{text}");
    }

    #[test]
    fn an_identity_with_all_its_streams_costs_others_none() {
        let feed = Arc::new(EventStream::default());
        let of = |name: &str| feed.slot(&Identity::Proxy(name.to_owned()));
        let mut of_mara: Vec<StreamSlot> =
            (0..MAX_STREAMS_OF_IDENTITY).map(|_| of("mara").unwrap()).collect();
        assert_eq!(of("mara").unwrap_err().code, Code::TOO_MANY);
        let _of_ada = of("ada").unwrap();
        of_mara.pop();
        of_mara.push(of("mara").unwrap());
        // A crowd of identities leaves the local administrator out of nothing.
        let taken: Vec<StreamSlot> =
            (0..MAX_STREAMS).filter_map(|number| of(&number.to_string()).ok()).collect();
        assert_eq!(taken.len(), MAX_STREAMS - MAX_STREAMS_OF_IDENTITY - 1);
        assert!(feed.slot(&Identity::Local).is_ok());
        feed.end();
        assert!(feed.slot(&Identity::Local).is_err());
    }
}
