//! Why a run is in its state, where the state alone does not say it.
//!
//! | code | sentence |
//! |---|---|
//! | `server_down` | `the server was not running at that time` |
//! | `cancelled` | `it was cancelled by request` |
//! | `crash_loop 3` | `the server died in it 3 times` |
//!
//! Stores and the wire hold the code, programs compare it, and people read the sentence. A code of another
//! version of the program is kept as it is.
//!
//! Cost: a comparison with each code where one is read.

use std::fmt;

/// Says why a run is in its state.
///
/// # Example
/// ```
/// use mainspring_job::Reason;
///
/// assert_eq!(Reason::Cancelled.to_string(), "it was cancelled by request");
/// assert_ne!(Reason::Cancelled, Reason::Withdrawn);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The server gave up in good order and the run has no end: it was left to run, or killed too late to be
    /// recorded.
    ServerEnded,
    /// The server died while the run was running.
    ServerDied,
    /// The machine went down while the run was running.
    MachineDown,
    /// The server was asked to stop and killed it.
    ServerStopped,
    /// The server could not renew its lease and killed it.
    ServerCutOff,
    /// The server was not running when it was due.
    ServerDown,
    /// Its time had passed when the server looked.
    Unseen,
    /// It was to run at each worker that has something, and none had it.
    NoWorker,
    /// The worker that it was for is gone.
    WorkerGone,
    /// Too many runs were open when it was due.
    Crowded,
    /// It had waited for longer than the misfire policy allows.
    Stale,
    /// A one-shot job's time had passed by more than its grace.
    PastGrace,
    /// Its job was paused.
    Paused,
    /// An earlier run of the job was running.
    EarlierRunning,
    /// An earlier run of the job was waiting for its place.
    EarlierWaiting,
    /// An earlier run of the job was in quarantine.
    EarlierQuarantined,
    /// A later run of the job took its place.
    Replaced,
    /// The server that was to carry it out gave it back before it began.
    GivenBack,
    /// Its handler asked for it to begin again later.
    PutOff,
    /// Its timetable was changed before it could run.
    TimetableChanged,
    /// Its job was removed before its times that had passed could be planned.
    JobRemoved,
    /// Its job was removed while it waited for its time or its place.
    Removed,
    /// Its job was removed, so there is no further attempt.
    JobRemovedNoRetry,
    /// Its job is not known any more.
    NoJob,
    /// A person or a program asked for its end.
    Cancelled,
    /// A pending one-shot job was withdrawn.
    Withdrawn,
    /// A dead letter is tried again by request.
    RetryRequested,
    /// A dead letter was dropped by request.
    Dropped,
    /// It failed in a way that another attempt would not change.
    Final,
    /// The server died in it so many times in a row.
    CrashLoop(u32),
    /// So many attempts did not succeed, and there is no further one.
    AttemptsUsedUp(u32),
    /// The same as inside, of occurrences that are not known any more.
    Forgotten(Box<Reason>),
    /// A code of another version of the program.
    Other(String),
}

/// Reasons without a number: code and sentence.
const PLAIN: [(Reason, &str, &str); 29] = [
    (Reason::ServerEnded, "server_ended", "the server ended while it ran"),
    (Reason::ServerDied, "server_died", "the server died while it ran"),
    (Reason::MachineDown, "machine_down", "the machine went down while it ran"),
    (Reason::ServerStopped, "server_stopped", "the server was stopped while it ran"),
    (Reason::ServerCutOff, "server_cut_off", "its server could not reach the database, and ended it"),
    (Reason::ServerDown, "server_down", "the server was not running at that time"),
    (
        Reason::Unseen,
        "unseen",
        "its time had passed when the server looked: the machine slept, the clock was set forward, or too much was due",
    ),
    (Reason::NoWorker, "no_worker", "no server had what it needs"),
    (Reason::WorkerGone, "worker_gone", "the server that it was for is gone"),
    (Reason::Crowded, "crowded", "too many runs were open"),
    (Reason::Stale, "stale", "it waited longer than its misfire rule allows"),
    (Reason::PastGrace, "past_grace", "its time had passed by more than its grace"),
    (Reason::Paused, "paused", "its job was paused"),
    (Reason::EarlierRunning, "earlier_running", "an earlier run was running"),
    (Reason::EarlierWaiting, "earlier_waiting", "an earlier run was waiting for its place"),
    (
        Reason::EarlierQuarantined,
        "earlier_quarantined",
        "an earlier run was in quarantine, because the server died while its job ran",
    ),
    (Reason::Replaced, "replaced", "a later run took its place"),
    (Reason::GivenBack, "given_back", "its server gave it back before it began"),
    (Reason::PutOff, "put_off", "its handler put it off"),
    (Reason::TimetableChanged, "timetable_changed", "its timetable was changed before it could run"),
    (Reason::JobRemoved, "job_removed", "its job was removed before it could run"),
    (Reason::Removed, "removed", "its job was removed"),
    (Reason::JobRemovedNoRetry, "job_removed_no_retry", "its job was removed, and it is not tried again"),
    (Reason::NoJob, "no_job", "its job is no more"),
    (Reason::Cancelled, "cancelled", "it was cancelled by request"),
    (Reason::Withdrawn, "withdrawn", "it was withdrawn"),
    (Reason::RetryRequested, "retry_requested", "it is tried again by request"),
    (Reason::Final, "final", "another attempt would not change how it ended"),
    (Reason::Dropped, "dropped", "it was dropped by request"),
];

/// The code of [`Reason::Other`], for documents: what such a reason says is a sentence.
const OTHER: &str = "other";

/// How the code of a crash loop begins, before its number.
const CRASH_LOOP: &str = "crash_loop ";

/// How the code of attempts begins that are used up, before their number.
const ATTEMPTS: &str = "attempts_used_up ";

/// How the code of [`Reason::Forgotten`] begins, before that of the reason inside.
const FORGOTTEN: &str = "forgotten ";

/// How its sentence ends.
const FORGOTTEN_END: &str = ", and what that named is not known any more";

impl Reason {
    /// The word for programs, without its number: one of the table, `crash_loop`, `attempts_used_up`,
    /// `forgotten`, `other`.
    pub fn code(&self) -> &'static str {
        let plain = PLAIN.iter().find(|(reason, ..)| reason == self).map(|(_, code, ..)| *code);
        match self {
            Reason::CrashLoop(_) => CRASH_LOOP.trim_end(),
            Reason::AttemptsUsedUp(_) => ATTEMPTS.trim_end(),
            Reason::Forgotten(_) => FORGOTTEN.trim_end(),
            _ => plain.unwrap_or(OTHER),
        }
    }

    /// What stores hold: the code with its number, or the sentence of another version.
    pub fn stored(&self) -> String {
        match self {
            Reason::CrashLoop(count) => format!("{CRASH_LOOP}{count}"),
            Reason::AttemptsUsedUp(count) => format!("{ATTEMPTS}{count}"),
            Reason::Forgotten(inner) => format!("{FORGOTTEN}{}", inner.stored()),
            Reason::Other(sentence) => sentence.clone(),
            _ => self.code().to_owned(),
        }
    }

    /// Reads what [`stored`](Self::stored) gave. `None` if nothing was stored.
    pub fn read(text: &str) -> Option<Reason> {
        if text.is_empty() {
            return None;
        }
        let numbered = || {
            let count = |word: &str| text.strip_prefix(word)?.parse().ok();
            count(CRASH_LOOP).map(Reason::CrashLoop).or_else(|| count(ATTEMPTS).map(Reason::AttemptsUsedUp))
        };
        let inner = || Some(Reason::Forgotten(Box::new(Reason::read(text.strip_prefix(FORGOTTEN)?)?)));
        let plain = PLAIN.iter().find(|(_, code, ..)| *code == text).map(|(reason, ..)| reason.clone());
        let found = plain.or_else(numbered).or_else(inner);
        Some(found.unwrap_or_else(|| Reason::Other(text.to_owned())))
    }
}

/// The sentence, for people.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::CrashLoop(count) => write!(f, "the server died in it {count} times"),
            Reason::AttemptsUsedUp(1) => f.write_str("its only attempt did not succeed"),
            Reason::AttemptsUsedUp(count) => write!(f, "none of its {count} attempts succeeded"),
            Reason::Forgotten(inner) => write!(f, "{inner}{FORGOTTEN_END}"),
            Reason::Other(sentence) => f.write_str(sentence),
            plain => {
                let known = PLAIN.iter().find(|(reason, ..)| reason == plain);
                let (_, _, sentence) = known.expect("each reason without a number is in the table");
                f.write_str(sentence)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Reason> {
        let plain = PLAIN.iter().map(|(reason, ..)| reason.clone());
        let inside = Reason::Forgotten(Box::new(Reason::Paused));
        plain
            .chain([Reason::CrashLoop(3), Reason::AttemptsUsedUp(1), Reason::AttemptsUsedUp(4), inside])
            .collect()
    }

    #[test]
    fn every_reason_is_read_back_from_its_code() {
        for reason in all() {
            assert_eq!(Reason::read(&reason.stored()), Some(reason.clone()), "{}", reason.stored());
            assert_ne!(reason.code(), OTHER);
            assert!(reason.stored().starts_with(reason.code()));
        }
        assert_eq!(Reason::read(""), None);
    }

    #[test]
    fn what_another_version_stored_is_kept_as_it_is() {
        let strange = Reason::read("a cat sat on it").unwrap();
        assert_eq!((strange.to_string().as_str(), strange.code()), ("a cat sat on it", "other"));
        assert_eq!(strange.stored(), "a cat sat on it");
    }
}
