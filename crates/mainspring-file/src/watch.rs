//! A file that may change at any time: when it is read, and when its jobs go.
//!
//! ```text
//!  looks (what stat says, and when) ─▶ Watch ─▶ wait · read · remove          no look costs more than a comparison
//! ```
//!
//! A file that changes says what its jobs are only when it has come to rest. It is at rest when two looks
//! that are [`REST`] apart find the same size, times and number, counted from the last sign of a change, and
//! no writer is known to have it open.
//!
//! | the file | its jobs |
//! |---|---|
//! | is there, as it was read | go on |
//! | is changing: written, appended to, truncated and written, replaced by another or by a link that leads elsewhere | go on; it is read when it is at rest |
//! | is at rest, and a writer has it open | go on; it is read when the writer closes it, or [`WRITER_WAIT`] after the last change |
//! | has been changing for [`UNREST`] | go on; that is told, and it is read when it is at rest |
//! | was changed while it was read | go on; what was read is dropped, and it is read when it is at rest |
//! | has only other times than before, as some network file systems tell late | go on; it is read again |
//! | is empty, or has lost most of its jobs, at rest | it is read as it is, and that is told |
//! | cannot be looked at (EACCES, EIO, a link that leads nowhere), or not be read | go on; that is told |
//! | is gone with its folder, or another file system is mounted there | go on; that is told |
//! | is gone, and its folder is there, for less than [`GONE_WAIT`] | go on |
//! | is gone for longer | are removed; that is told |
//! | is there again | it is read when it is at rest |
//!
//! An editor writes another file beside it (`.jobs.swp`, `jobs~`) and puts it in its place: the other file is
//! none that is looked at, and the moment without a file is shorter than [`GONE_WAIT`].
//!
//! Cost: a comparison for each look.
//!
//! Does not look, nor read, nor tell: the caller does. Does not know of a writer whose file was open before
//! the watch began.

use std::fs::Metadata;
use std::time::Duration;

use mainspring_host::sys::{file_id, times};

/// How long a file is the same before it is read: longer than a program takes between two writes.
pub const REST: Duration = Duration::from_millis(200);

/// How long a writer that keeps a file open is waited for, after its last change. A program that builds a
/// file piece by piece is quicker; one that never closes it is not to hold its jobs back for ever.
pub const WRITER_WAIT: Duration = Duration::from_secs(60);

const _: () =
    assert!(REST.as_millis() < WRITER_WAIT.as_millis(), "a file rests before its writer is given up");

/// After how long it is told that a file does not come to rest.
pub const UNREST: Duration = Duration::from_secs(60);

const _: () = assert!(REST.as_millis() < UNREST.as_millis(), "what comes to rest is not told");

/// How long a file is gone before its jobs are removed: longer than any tool takes to put another in its
/// place, and a person sees in the log what went.
pub const GONE_WAIT: Duration = Duration::from_secs(60);

const _: () =
    assert!(REST.as_millis() < GONE_WAIT.as_millis(), "a file that is replaced is not taken for gone");

/// By what a change is noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// The file system, and the number of the file there.
    pub place: (u64, u64),
    /// In bytes.
    pub size: u64,
    /// When it was written last, in seconds and nanoseconds.
    pub modified: (i64, i64),
    /// The same of its owner, mode, name or text.
    pub changed: (i64, i64),
}

impl Stamp {
    /// That of a file.
    pub fn of(found: &Metadata) -> Stamp {
        let [modified, changed] = times(found);
        Stamp { place: file_id(found), size: found.len(), modified, changed }
    }
}

/// What a look found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookResult {
    /// A file, or what is none and can be looked at.
    There(Stamp),
    /// Nothing, in a folder that is there.
    Gone,
    /// Neither the file nor its folder, or a folder of another file system.
    FolderGone,
    /// The look failed in another way.
    Unreadable,
}

/// Whether a writer is known to have the file open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// None is known.
    None,
    /// It has changed the file and did not close it.
    Open,
}

/// What is to be done after a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing, until there is a sign of a change.
    Rest,
    /// To look again at [`Watch::deadline`].
    Wait,
    /// The same, and to tell once that the file does not come to rest, or cannot be looked at.
    Tell,
    /// To read it, and to say which stamp was read.
    Read,
    /// To remove its jobs.
    Remove,
}

/// What is known of one file. Times are since a start of the caller's, by a clock that is never set.
///
/// # Example
/// ```
/// use mainspring_file::watch::{Decision, REST, LookResult, Stamp, Watch, Writer};
/// use std::time::Duration;
///
/// let mut watch = Watch::new(Some(Stamp::default()));
/// let written = LookResult::There(Stamp { size: 7, ..Stamp::default() });
/// let at = Duration::from_secs(9);
/// assert_eq!(watch.look(written, Writer::None, at), Decision::Wait);
/// assert_eq!(watch.deadline(), Some(at + REST));
/// assert_eq!(watch.look(written, Writer::None, at + REST), Decision::Read);
/// ```
#[derive(Clone, Debug)]
pub struct Watch {
    /// What was read last.
    taken: Option<Stamp>,
    seen: Option<LookResult>,
    /// When what is seen was seen first.
    since: Duration,
    /// Since when it is there as another one than was read, or cannot be looked at, and whether that is told.
    unrest: Option<(Duration, bool)>,
    /// Its jobs were removed because it is gone.
    is_removed: bool,
    deadline: Option<Duration>,
}

impl Watch {
    /// Begins with what was read, if anything was.
    pub fn new(taken: Option<Stamp>) -> Watch {
        Watch { taken, seen: None, since: Duration::ZERO, unrest: None, is_removed: false, deadline: None }
    }

    /// What the last look found; `None` before the first.
    pub fn seen(&self) -> Option<LookResult> {
        self.seen
    }

    /// Whether its jobs were removed because it is gone.
    pub fn is_removed(&self) -> bool {
        self.is_removed
    }

    /// When to look again, whatever else tells of a change. `None`: not by itself.
    pub fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// The file was read as it was when it had this stamp, or has problems with it.
    pub fn take(&mut self, stamp: Stamp) {
        (self.taken, self.unrest, self.is_removed) = (Some(stamp), None, false);
    }

    /// The file was changed while it was read: that is a sign of a change.
    pub fn disturb(&mut self, at: Duration) {
        self.since = at;
        self.deadline = at.checked_add(REST);
    }

    /// Takes in a look, and says what is to be done.
    pub fn look(&mut self, seen: LookResult, writer: Writer, at: Duration) -> Decision {
        if self.seen != Some(seen) {
            (self.seen, self.since) = (Some(seen), at);
        }
        let (decision, deadline) = self.decide(seen, writer, at);
        debug_assert!(self.since <= at, "the clock is never set");
        debug_assert!(deadline.is_none_or(|deadline| at < deadline), "the caller would look for ever");
        debug_assert!(decision != Decision::Wait || deadline.is_some(), "the caller would never look again");
        self.deadline = deadline;
        decision
    }

    fn decide(&mut self, seen: LookResult, writer: Writer, at: Duration) -> (Decision, Option<Duration>) {
        let since = self.since;
        let age = at.saturating_sub(since);
        let wait = |most: Duration| (Decision::Wait, since.checked_add(most));
        match seen {
            LookResult::There(stamp) if self.taken != Some(stamp) || self.is_removed => {
                if REST <= age && (writer == Writer::None || WRITER_WAIT <= age) {
                    return (Decision::Read, None);
                }
                let (decision, deadline) = wait(if age < REST { REST } else { WRITER_WAIT });
                (if self.is_to_tell(at) { Decision::Tell } else { decision }, deadline)
            }
            LookResult::Gone if !self.is_removed => {
                if age < GONE_WAIT {
                    return wait(GONE_WAIT);
                }
                (self.is_removed, self.unrest) = (true, None);
                (Decision::Remove, None)
            }
            LookResult::FolderGone | LookResult::Unreadable => {
                // It is read when it can be, whatever it is then.
                self.taken = None;
                if self.is_to_tell(at) {
                    return (Decision::Tell, None);
                }
                if age < UNREST { wait(UNREST) } else { (Decision::Rest, None) }
            }
            LookResult::There(_) | LookResult::Gone => {
                self.unrest = None;
                (Decision::Rest, None)
            }
        }
    }

    /// Whether this has gone on for so long that it is told, once.
    fn is_to_tell(&mut self, at: Duration) -> bool {
        let (since, is_told) = self.unrest.get_or_insert((at, false));
        let is_long = UNREST <= at.saturating_sub(*since);
        is_long && !std::mem::replace(is_told, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(inode: u64, size: u64, modified: i64) -> Stamp {
        Stamp { place: (1, inode), size, modified: (modified, 0), changed: (modified, 0) }
    }

    const OLD: (u64, u64, i64) = (1, 9, 1);

    /// What is seen: `=` as it was read, `a` to `d` other texts, `r` another file in its place, `m` another
    /// time alone, `0` an empty file, `-` gone, `x` no folder, `!` not to be looked at. `*` behind it: a
    /// writer has it open.
    fn seen(word: &str) -> (LookResult, Writer) {
        let (inode, size, modified) = OLD;
        let found = match word.as_bytes()[0] {
            b'=' => LookResult::There(stamp(inode, size, modified)),
            b'm' => LookResult::There(stamp(inode, size, modified + 1)),
            b'r' => LookResult::There(stamp(inode + 1, size, modified)),
            b'0' => LookResult::There(stamp(inode, 0, modified + 5)),
            b'-' => LookResult::Gone,
            b'x' => LookResult::FolderGone,
            b'!' => LookResult::Unreadable,
            letter => LookResult::There(stamp(inode, u64::from(letter), modified + 7)),
        };
        (found, if word.ends_with('*') { Writer::Open } else { Writer::None })
    }

    /// The rows of the table above: what is seen at which millisecond, and what is decided then.
    const ROWS: [(&str, &str); 19] = [
        ("it is as it was read", "0 = rest, 5000 = rest, 90000 = rest"),
        ("it is written", "0 a wait, 199 a wait, 200 a read, 5000 a rest"),
        (
            "it is appended to: the rest counts from the last change",
            "0 a wait, 150 b wait, 300 c wait, 499 c wait, 500 c read",
        ),
        (
            "it is truncated and written, with a look in between",
            "0 0 wait, 100 a wait, 250 a wait, 300 a read",
        ),
        (
            "it is truncated, and its writer takes its time",
            "0 0* wait, 300 0* wait, 400 a* wait, 6400 a* wait, 6401 b* wait, 6500 b wait, 6601 b read",
        ),
        ("its writer never closes it", "0 a* wait, 59999 a* wait, 60000 a* read, 70000 a* rest"),
        (
            "it never comes to rest",
            "0 a wait, 190 b wait, 59990 c wait, 60100 d tell, 60200 a wait, 60400 a read",
        ),
        ("another is renamed to it", "0 r wait, 200 r read"),
        ("it is removed and made again by an editor", "0 - wait, 40 r wait, 240 r read"),
        ("the link to it leads elsewhere", "0 r wait, 200 r read, 400 r rest, 600 = wait, 800 = read"),
        ("a ConfigMap is swapped: for a moment the link leads nowhere", "0 ! wait, 3 r wait, 203 r read"),
        ("its time is told late", "0 m wait, 200 m read"),
        ("it changes and is as it was before it was read", "0 a wait, 100 = rest, 400 = rest"),
        ("it is empty", "0 0 wait, 200 0 read"),
        ("it cannot be looked at", "0 ! wait, 60000 ! tell, 90000 ! rest, 90001 = wait, 90201 = read"),
        ("it is gone with its folder", "0 x wait, 60000 x tell, 900000 x rest, 900001 = wait, 900201 = read"),
        ("it is gone for less than a minute", "0 - wait, 59999 - wait, 60000 = rest"),
        (
            "it is gone, and there again a while later as it was",
            "0 - wait, 60000 - remove, 90000 - rest, 90001 = wait, 90201 = read",
        ),
        (
            "its folder goes while it is gone: that is no minute without it",
            "0 - wait, 30000 x wait, 60000 x wait, 70000 - wait, 130000 - remove",
        ),
    ];

    #[test]
    fn each_row_of_the_table_decides_as_it_says() {
        let (inode, size, modified) = OLD;
        for (row, steps) in ROWS {
            let mut watch = Watch::new(Some(stamp(inode, size, modified)));
            for step in steps.split(", ") {
                let words: Vec<&str> = step.split(' ').collect();
                let at = Duration::from_millis(words[0].parse().unwrap());
                let (found, writer) = seen(words[1]);
                let decision = watch.look(found, writer, at);
                let word = match decision {
                    Decision::Rest => "rest",
                    Decision::Wait => "wait",
                    Decision::Tell => "tell",
                    Decision::Read => "read",
                    Decision::Remove => "remove",
                };
                assert_eq!(word, words[2], "{row}: {step}");
                if decision == Decision::Wait {
                    assert!(watch.deadline().is_some_and(|deadline| at < deadline), "{row}: {step}");
                }
                if let (Decision::Read, LookResult::There(stamp)) = (decision, found) {
                    watch.take(stamp);
                }
            }
        }
    }

    #[test]
    fn what_changes_while_it_is_read_is_read_again_when_it_is_at_rest() {
        let (at, written) = (Duration::from_secs(1), LookResult::There(stamp(1, 5, 5)));
        let mut watch = Watch::new(None);
        assert_eq!(watch.look(written, Writer::None, at), Decision::Wait);
        assert_eq!(watch.look(written, Writer::None, at + REST), Decision::Read);
        watch.disturb(at + REST);
        assert_eq!(watch.deadline(), Some(at + REST * 2));
        assert_eq!(watch.look(written, Writer::None, at + REST * 2), Decision::Read);
    }
}
