//! A file of output, line by line, on its way to a client.
//!
//! ```text
//! lines ─▶ end of the file ─┬─ the run is open: wait, for a second where the file is not this server's
//!                           └─ it is over: what another server wrote last is brought ─▶ lines ─▶ the end
//!
//! What is brought may be in another file, which has all that was read before it.
//! ```
//!
//! Cost: one read per line; the file stays open as long as a client reads it. A look for it in each turn
//! while there is none.
//!
//! Does not wait, and does not ask: the loop does, after each turn.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use mainspring_job::{JobName, RunKey, RunPhase};

use super::output::{read_line, readable};
use crate::protocol::Response;
use mainspring_exec::clock::Moment;

/// How often the store is asked for what another server has written: a person who reads does not wait long.
const ASK_INTERVAL: Duration = Duration::from_secs(1);

/// How long another server has for the first of what it has written: a command that does not follow waits so
/// long where runs may be elsewhere.
const ANSWER_WAIT: Duration = Duration::from_millis(200);

/// A file of output on its way to a client.
#[derive(Debug)]
pub(super) struct Feed {
    pub(super) id: u64,
    pub(super) key: RunKey,
    /// The job whose later runs are fed too.
    pub(super) job: Option<JobName>,
    pub(super) follows: bool,
    pub(super) path: PathBuf,
    /// Other servers may write what is read.
    pub(super) is_shared: bool,
    reader: Option<BufReader<File>>,
    /// How many bytes were read.
    at: u64,
    line: Vec<u8>,
    /// When the store was asked last, and how far the run was then.
    last_query: Option<(Moment, RunPhase)>,
}

/// What a feed does at the end of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtEnd {
    Wait,
    /// The store may have what another server wrote.
    Ask,
    End,
}

const _: () = assert!(ANSWER_WAIT.as_nanos() < ASK_INTERVAL.as_nanos());

impl Feed {
    /// Of a run, as far as it has come.
    pub(super) fn new(id: u64, key: RunKey, job: Option<JobName>, path: PathBuf) -> Feed {
        let (follows, is_shared, reader, at, line, last_query) = (false, false, None, 0, Vec::new(), None);
        Feed { id, key, job, follows, path, is_shared, reader, at, line, last_query }
    }

    /// The next whole line; `None` at the end of what is there.
    pub(super) fn next_line(&mut self) -> Option<Response> {
        if self.reader.is_none() {
            let mut file = File::open(readable(self.path.clone())).ok()?;
            file.seek(SeekFrom::Start(self.at)).ok()?;
            (self.reader, self.line) = (Some(BufReader::new(file)), Vec::new());
        }
        let reader = self.reader.as_mut()?;
        loop {
            match reader.read_until(b'\n', &mut self.line) {
                Ok(0) | Err(_) => return None,
                // The rest of the line is still to be written.
                Ok(_) if !self.line.ends_with(b"\n") => {}
                Ok(_) => {
                    let line = std::mem::take(&mut self.line);
                    self.at += line.len() as u64;
                    // A line that was cut when the disk was full may end in the middle of a character.
                    let line = String::from_utf8_lossy(&line);
                    if let Some(line) = read_line(&self.key.to_string(), line.trim_end_matches('\n')) {
                        return Some(Response::Line(line));
                    }
                }
            }
        }
    }

    /// What is next at the end of the file, while so many questions of the client are under way.
    pub(super) fn at_end(&mut self, phase: RunPhase, asking_count: usize, now: Moment) -> AtEnd {
        let is_over = phase == RunPhase::Over;
        let rests = |(at, then)| phase == then && (is_over || now.since(at) < ASK_INTERVAL);
        if 0 < asking_count {
            // What is brought may be in another file.
            self.reader = None;
            AtEnd::Wait
        } else if !self.follows {
            self.at_end_for_good(phase, now)
        } else if self.is_shared && !self.last_query.is_some_and(rests) {
            self.ask(now, phase)
        } else if !is_over || self.job.is_some() {
            AtEnd::Wait
        } else {
            AtEnd::End
        }
    }

    /// The same for a client that does not follow. With its request the server of an open run was asked to
    /// keep what it writes: that is looked for once.
    fn at_end_for_good(&mut self, phase: RunPhase, now: Moment) -> AtEnd {
        if phase == RunPhase::Over || !self.is_shared {
            return AtEnd::End;
        }
        match self.last_query {
            None => self.last_query = Some((now, RunPhase::Open)),
            Some((at, RunPhase::Open)) if now.since(at) < ANSWER_WAIT => {}
            Some((_, RunPhase::Open)) => {
                // As if it were over: nothing more is asked.
                return self.ask(now, RunPhase::Over);
            }
            Some((_, RunPhase::Over)) => return AtEnd::End,
        }
        AtEnd::Wait
    }

    fn ask(&mut self, now: Moment, phase: RunPhase) -> AtEnd {
        self.last_query = Some((now, phase));
        AtEnd::Ask
    }

    /// When the store is to be asked again.
    pub(super) fn asks_at(&self) -> Option<Instant> {
        let (at, _) = self.last_query.filter(|(_, then)| *then == RunPhase::Open && self.is_shared)?;
        Some(at.monotonic + if self.follows { ASK_INTERVAL } else { ANSWER_WAIT })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;
    use std::fs;

    fn later(moment: Moment, wait: Duration) -> Moment {
        Moment { monotonic: moment.monotonic + wait, ..moment }
    }

    fn line_of(feed: &mut Feed) -> Option<String> {
        feed.next_line().map(|response| match response {
            Response::Line(line) => line.text,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn a_run_is_followed_from_before_its_first_line_to_its_end() {
        let folder = scratch::path("feed");
        fs::create_dir_all(&folder).unwrap();
        let (path, now) = (folder.join("20261121T030000Z.log"), Moment::now());
        let key: RunKey = "tea@2026-11-21T03:00:00Z".parse().unwrap();
        let mut feed = Feed { follows: true, ..Feed::new(1, key, None, path.clone()) };
        feed.is_shared = true;
        assert_eq!(line_of(&mut feed), None);
        assert_eq!(feed.at_end(RunPhase::Open, 0, now), AtEnd::Ask, "another server may have it");
        assert_eq!(
            feed.at_end(RunPhase::Open, 1, later(now, ASK_INTERVAL)),
            AtEnd::Wait,
            "it is being asked"
        );
        assert_eq!(feed.asks_at(), Some(now.monotonic + ASK_INTERVAL));
        assert_eq!(feed.at_end(RunPhase::Open, 0, later(now, ASK_INTERVAL / 2)), AtEnd::Wait);
        assert_eq!(feed.at_end(RunPhase::Open, 0, later(now, ASK_INTERVAL)), AtEnd::Ask);
        fs::write(&path, "2026-11-21T03:00:00.000Z 1 stdout one\n").unwrap();
        assert_eq!((line_of(&mut feed).as_deref(), line_of(&mut feed)), (Some("one"), None));
        // The next attempt is at another server: what is brought has all that was read.
        let live = "2026-11-21T03:00:00.000Z 1 stdout one\n2026-11-21T03:00:00.000Z 2 stdout two\n";
        fs::write(path.with_extension("live"), live).unwrap();
        assert_eq!(feed.at_end(RunPhase::Open, 1, now), AtEnd::Wait, "it is being asked");
        assert_eq!((line_of(&mut feed).as_deref(), line_of(&mut feed)), (Some("two"), None));
        assert_eq!(feed.at_end(RunPhase::Over, 0, now), AtEnd::Ask);
        feed.is_shared = false;
        assert_eq!((feed.at_end(RunPhase::Open, 0, now), feed.asks_at()), (AtEnd::Wait, None));
        assert_eq!(feed.at_end(RunPhase::Over, 0, now), AtEnd::End);
        let _ = fs::remove_dir_all(&folder);
    }

    #[test]
    fn what_follows_a_line_that_was_cut_in_a_character_is_read() {
        let folder = scratch::path("feed-cut");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("20261121T030000Z.log");
        let lines = b"2026-11-21T03:00:00.000Z 1 stdout caf\xC3\n2026-11-21T03:00:00.000Z 1 stdout two\n";
        fs::write(&path, lines).unwrap();
        let mut feed = Feed::new(1, "tea@2026-11-21T03:00:00Z".parse().unwrap(), None, path);
        let [first, second, end] = [(); 3].map(|()| line_of(&mut feed));
        assert_eq!((first.as_deref(), second.as_deref(), end), (Some("caf\u{FFFD}"), Some("two"), None));
        let _ = fs::remove_dir_all(&folder);
    }

    #[test]
    fn what_another_server_wrote_last_is_asked_for_when_the_run_is_over() {
        let (path, now) = (scratch::path("feed-elsewhere").join("20261121T030000Z.log"), Moment::now());
        let key: RunKey = "tea@2026-11-21T03:00:00Z".parse().unwrap();
        let mut feed = Feed { follows: true, ..Feed::new(1, key.clone(), None, path.clone()) };
        feed.is_shared = true;
        assert_eq!(feed.at_end(RunPhase::Open, 0, now), AtEnd::Ask);
        assert_eq!(feed.at_end(RunPhase::Over, 0, now), AtEnd::Ask, "however short ago it was asked");
        assert_eq!(feed.at_end(RunPhase::Over, 1, now), AtEnd::Wait);
        assert_eq!(feed.at_end(RunPhase::Over, 0, now), AtEnd::End);
        let mut of_job = Feed::new(1, key.clone(), Some(key.job.clone()), path.clone());
        of_job.follows = true;
        of_job.is_shared = true;
        assert_eq!(of_job.at_end(RunPhase::Over, 0, now), AtEnd::Ask);
        assert_eq!(of_job.at_end(RunPhase::Over, 0, now), AtEnd::Wait, "the next run of the job");
        let mut once = Feed::new(1, key, None, path);
        assert_eq!(once.at_end(RunPhase::Open, 0, now), AtEnd::End, "all is here");
        once.is_shared = true;
        assert_eq!(once.at_end(RunPhase::Open, 0, now), AtEnd::Wait, "its server was asked a moment ago");
        assert_eq!(once.asks_at(), Some(now.monotonic + ANSWER_WAIT));
        assert_eq!(once.at_end(RunPhase::Open, 0, later(now, ANSWER_WAIT)), AtEnd::Ask);
        assert_eq!(once.at_end(RunPhase::Open, 1, later(now, ANSWER_WAIT)), AtEnd::Wait);
        assert_eq!((once.at_end(RunPhase::Open, 0, now), once.asks_at()), (AtEnd::End, None));
        assert_eq!(once.at_end(RunPhase::Over, 0, now), AtEnd::End);
    }
}
