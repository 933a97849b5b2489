//! All policies of a job together, each with its default, and their text.
//!
//! [`Policies::KEYS`] has a row for each policy: its name, its parts, its default, and what it decides.
//! Readers of files, of comments and of command lines know the policies from there.
//!
//! The text has a word for each policy that differs from the default, with white space between, as in
//! `overlap=queue-one retry=3,backoff=10s jitter=30s`. Stores hold this text for one-shot jobs, and a
//! crontab's comment line or a command line may contain it. Parts inside a policy are separated by commas, so
//! no word needs quotes.

pub mod misfire;
pub mod overlap;
pub mod retention;
pub mod retry;
mod selector;
pub(crate) mod text;
pub mod timeout;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

#[doc(inline)]
pub use misfire::{CatchUp, MAX_CATCH_UP_RUNS, Misfire};
#[doc(inline)]
pub use overlap::{MAX_QUEUED_RUNS, Overlap};
#[doc(inline)]
pub use retention::{MAX_KEPT_RUNS, Retention};
#[doc(inline)]
pub use retry::{MAX_RETRIES, Retry, RetryOn};
pub use selector::{MAX_SELECTOR_LABELS, WorkerSelector};
pub use text::{PolicyError, read_duration};
#[doc(inline)]
pub use timeout::{Kill, MAX_KILL_GRACE, Signal, Timeout};

use crate::name::JobName;
use crate::state::RunState;

/// The longest jitter: a day. More is a schedule of its own.
pub const MAX_JITTER: Duration = Duration::from_secs(86_400);

/// Says what happens to a run that has used up its attempts on outcomes which [`RetryOn`] names. On any other
/// outcome it stays what that outcome made it, whatever this says.
///
/// # Example
/// ```
/// use mainspring_job::{DeadLetters, Policies};
///
/// let policies: Policies = "dead-letters=always".parse()?;
/// assert_eq!(policies.dead_letters, DeadLetters::Always);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum DeadLetters {
    /// It becomes `dead` if the job has retries; else it stays what its one attempt made it.
    #[default]
    AfterRetries,
    /// It becomes `dead`, even if it had one attempt only.
    Always,
    /// It stays what its last attempt made it.
    Never,
}

impl DeadLetters {
    const NAMES: [(&str, DeadLetters); 3] = [
        ("after-retries", DeadLetters::AfterRetries),
        ("always", DeadLetters::Always),
        ("never", DeadLetters::Never),
    ];

    /// The word in texts.
    pub fn name(self) -> &'static str {
        DeadLetters::NAMES.iter().find(|(_, rule)| *rule == self).map_or("", |(name, _)| name)
    }
}

/// The policies of a job.
///
/// # Example
/// ```
/// use mainspring_job::{Overlap, Policies};
///
/// let policies: Policies = "overlap=queue-one retry=3,backoff=10s jitter=30s".parse()?;
/// assert_eq!(policies.overlap, Overlap::QueueOne);
/// assert_eq!(policies.to_string().parse(), Ok(policies));
/// # Ok::<(), mainspring_job::PolicyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Default)]
#[non_exhaustive]
pub struct Policies {
    /// What becomes of occurrences whose time passed.
    pub misfire: Misfire,
    /// What if a run still runs.
    pub overlap: Overlap,
    /// Whether a failure is tried again.
    pub retry: Retry,
    /// How long it may run, and how it is killed, for whatever reason.
    pub timeout: Timeout,
    /// How much of its history is kept.
    pub retention: Retention,
    /// A run may start up to this much after its nominal time: by how much is a hash of the job and the
    /// nominal time, so it is the same after a restart and on every machine. At most [`MAX_JITTER`].
    pub jitter: Duration,
    /// After so many failed runs in a row, retries included in each, the job is paused. `None`: never. Only
    /// success ends the row; a run that was skipped, missed, cancelled, or abandoned without being named by
    /// `retry`, neither counts nor ends it.
    pub pause_after: Option<u32>,
    /// Whether runs that failed for good wait for a person to look.
    pub dead_letters: DeadLetters,
    /// At which workers a run may start.
    pub on: WorkerSelector,
    /// A run starts when nothing of this batch waits or runs any more.
    pub after_batch: Option<JobName>,
    /// The batch that runs are members of, for what has it as [`after_batch`](Policies::after_batch).
    pub batch: Option<JobName>,
}

/// A policy as texts have it.
///
/// # Example
/// ```
/// use mainspring_job::Policies;
///
/// let named = |name: &str| Policies::KEYS.iter().find(|key| key.name == name);
/// assert_eq!(named("jitter").map(|key| key.default), Some("0s"));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PolicyKey {
    /// The word before the `=`. In a job file it has `_` for `-`.
    pub name: &'static str,
    /// What a table calls the first part of the text, which has no name there: `max` of `3,backoff=10s`.
    pub first: Option<&'static str>,
    /// What it may be, in words.
    pub value: &'static str,
    /// The text of the default.
    pub default: &'static str,
    /// What it decides, in words.
    pub says: &'static str,
    set: fn(&mut Policies, &str) -> Result<(), PolicyError>,
    /// The text of the first, unless it is as the second.
    text: fn(&Policies, &Policies) -> Option<String>,
}

const KEYS: [PolicyKey; 11] = [
    PolicyKey {
        name: "misfire",
        first: Some("rule"),
        value: "`rule`: `none`, `latest`, `earliest`, `all`; `window`, `spread`, `grace` (durations), `cap` (of `all`)",
        default: "latest,window=24h,spread=2m,grace=1m",
        says: "what becomes of an occurrence whose time passed while no server ran",
        set: |policies, text| parse(&mut policies.misfire, text),
        text: |policies, usual| differing(&policies.misfire, &usual.misfire, Misfire::to_string),
    },
    PolicyKey {
        name: "overlap",
        first: Some("rule"),
        value: "`rule`: `skip`, `queue-one`, `queue-all`, `replace`, `kill-old`, `allow`; `cap` (of `queue-all`)",
        default: "skip",
        says: "what happens if the job's last run still runs",
        set: |policies, text| parse(&mut policies.overlap, text),
        text: |policies, usual| differing(&policies.overlap, &usual.overlap, Overlap::to_string),
    },
    PolicyKey {
        name: "retry",
        first: Some("max"),
        value: "`max`: 0 to 1,000; `backoff`, `cap` (durations), `factor`, `jitter` (per cent), `on`: `failed`, `timed_out`, `abandoned`",
        default: "0,backoff=10s,factor=2,cap=1h,jitter=10%,on=failed+timed_out",
        says: "whether a failure is tried again, when, and how often",
        set: |policies, text| parse(&mut policies.retry, text),
        text: |policies, usual| differing(&policies.retry, &usual.retry, Retry::to_string),
    },
    PolicyKey {
        name: "timeout",
        first: Some("after"),
        value: "`after`: a duration or `none`; `signal`: TERM, INT, HUP, QUIT, USR1, USR2, KILL; `grace`: up to 1 h",
        default: "none,signal=TERM,grace=10s",
        says: "how long an attempt may take; the signal and the time until SIGKILL, whatever it is killed for",
        set: |policies, text| parse(&mut policies.timeout, text),
        text: |policies, usual| differing(&policies.timeout, &usual.timeout, Timeout::to_string),
    },
    PolicyKey {
        name: "retention",
        first: None,
        value: "`keep`: runs; `days`",
        default: "keep=100,days=90",
        says: "how much history is kept; the last `keep` runs and the last `keep` dead letters keep their output",
        set: |policies, text| parse(&mut policies.retention, text),
        text: |policies, usual| differing(&policies.retention, &usual.retention, Retention::to_string),
    },
    PolicyKey {
        name: "jitter",
        first: None,
        value: "a duration, up to a day",
        default: "0s",
        says: "how much later than its nominal time a run may start",
        set: |policies, text| {
            text::duration("jitter", text, MAX_JITTER).map(|jitter| policies.jitter = jitter)
        },
        text: |policies, usual| {
            differing(&policies.jitter, &usual.jitter, |jitter| text::duration_text(*jitter))
        },
    },
    PolicyKey {
        name: "pause-after",
        first: None,
        value: "a number, `never`",
        default: "never",
        says: "after how many failures in a row the job is paused",
        set: |policies, text| {
            policies.pause_after = match text {
                "never" => None,
                number => Some(text::number("pause-after", number, 1, u32::MAX)?),
            };
            Ok(())
        },
        text: |policies, usual| {
            differing(&policies.pause_after, &usual.pause_after, |count| {
                count.map_or("never".to_owned(), |count| count.to_string())
            })
        },
    },
    PolicyKey {
        name: "dead-letters",
        first: None,
        value: "`after-retries`, `always`, `never`",
        default: "after-retries",
        says: "whether failed runs wait for a person: `mainspring dead`",
        set: |policies, text| {
            let found = DeadLetters::NAMES.iter().find(|(known, _)| *known == text);
            let unknown = || PolicyError::new("dead-letters", text, "after-retries, always or never");
            policies.dead_letters = found.ok_or_else(unknown)?.1;
            Ok(())
        },
        text: |policies, usual| {
            differing(&policies.dead_letters, &usual.dead_letters, |rule| rule.name().to_owned())
        },
    },
    PolicyKey {
        name: "on",
        first: None,
        value: "labels with commas between, in files also as a list; `any`; `all`, also with labels",
        default: "any",
        says: "what a server must have been given with `--label` for a run to start there; with `all` each that has it has a run",
        set: |policies, text| parse(&mut policies.on, text),
        text: |policies, usual| differing(&policies.on, &usual.on, WorkerSelector::to_string),
    },
    PolicyKey {
        name: "after-batch",
        first: None,
        value: "a name, `none`",
        default: "none",
        says: "a run starts when no one-shot job and no run of this batch waits or runs any more, however they ended",
        set: |policies, text| {
            policies.after_batch = batch("after-batch", text, policies.batch.as_ref())?;
            Ok(())
        },
        text: |policies, usual| differing(&policies.after_batch, &usual.after_batch, batch_text),
    },
    // The last word of a text: stores find the members of a batch by how their policies end.
    PolicyKey {
        name: "batch",
        first: None,
        value: "a name, `none`",
        default: "none",
        says: "the batch that its runs are members of",
        set: |policies, text| {
            policies.batch = batch("batch", text, policies.after_batch.as_ref())?;
            Ok(())
        },
        text: |policies, usual| differing(&policies.batch, &usual.batch, batch_text),
    },
];

/// No batch.
const NO_BATCH: &str = "none";

/// Reads the name of a batch, which is not the other one: a member of it would wait for itself.
fn batch(policy: &'static str, text: &str, other: Option<&JobName>) -> Result<Option<JobName>, PolicyError> {
    if text == NO_BATCH {
        return Ok(None);
    }
    let name = JobName::new(text).map_err(|_| PolicyError::new(policy, text, "a name such as import-7"))?;
    if other == Some(&name) {
        return Err(PolicyError::new(
            policy,
            text,
            "another name, as a member of the batch would wait for itself",
        ));
    }
    Ok(Some(name))
}

fn batch_text(name: &Option<JobName>) -> String {
    name.as_ref().map_or(NO_BATCH, JobName::as_str).to_owned()
}

fn parse<P: FromStr<Err = PolicyError>>(policy: &mut P, text: &str) -> Result<(), PolicyError> {
    *policy = text.parse()?;
    Ok(())
}

fn differing<P: PartialEq>(policy: &P, usual: &P, text: impl Fn(&P) -> String) -> Option<String> {
    (policy != usual).then(|| text(policy))
}

impl Policies {
    /// A row for each policy, in the order in which texts have them.
    pub const KEYS: &'static [PolicyKey] = &KEYS;

    /// Reads one policy: the word before the `=` and the text after it.
    ///
    /// # Errors
    /// When there is no such policy, or its value cannot be read or is out of range.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), PolicyError> {
        let Some(key) = KEYS.iter().find(|key| key.name == name) else {
            let [known @ .., last] = &KEYS.map(|key| key.name);
            return Err(PolicyError::new("policy", name, format!("{} or {last}", known.join(", "))));
        };
        (key.set)(self, value)
    }

    /// Whether a run goes to the dead letters whose last attempt ended so: see the table in
    /// `policy/retry.rs`.
    pub fn keeps_dead(&self, state: RunState) -> bool {
        self.retry.on.holds(state)
            && match self.dead_letters {
                DeadLetters::AfterRetries => 0 < self.retry.max,
                DeadLetters::Always => true,
                DeadLetters::Never => false,
            }
    }
}

impl fmt::Display for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Policies::default();
        let word = |key: &PolicyKey| Some(format!("{}={}", key.name, (key.text)(self, &usual)?));
        f.write_str(&KEYS.iter().filter_map(word).collect::<Vec<_>>().join(" "))
    }
}

impl FromStr for Policies {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Policies, PolicyError> {
        let mut policies = Policies::default();
        for word in text.split_whitespace() {
            let Some((name, value)) = word.split_once('=') else {
                return Err(PolicyError::new("policy", word, "a word such as overlap=skip"));
            };
            policies.set(name, value)?;
        }
        Ok(policies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_read_back() {
        let texts = [
            "",
            "misfire=all,cap=7,window=1h,spread=0s,grace=1s",
            "misfire=none,window=24h,spread=2m,grace=5s overlap=queue-all,cap=3",
            "retry=5,backoff=1s,factor=2,cap=1h,jitter=20%,on=failed+timed_out+abandoned",
            "timeout=1h30m,signal=INT,grace=5s retention=keep=7,days=1 jitter=1m30s pause-after=5 dead-letters=always on=gpu,region=eu after-batch=import-6 batch=import-7",
        ];
        for text in texts {
            let policies: Policies = text.parse().unwrap();
            assert_eq!(policies.to_string(), text);
        }
    }

    #[test]
    fn the_default_of_each_row_is_the_default() {
        let odd: Policies = "misfire=none overlap=allow retry=7 timeout=1s retention=keep=1 jitter=1s pause-after=1 dead-letters=never on=gpu after-batch=a batch=b"
            .parse()
            .unwrap();
        for key in KEYS {
            assert!((key.text)(&odd, &Policies::default()).is_some(), "{}", key.name);
            let mut policies = odd.clone();
            policies.set(key.name, key.default).unwrap();
            assert_eq!((key.text)(&policies, &Policies::default()), None, "{}", key.name);
        }
    }

    #[test]
    fn a_wrong_word_is_named_with_what_was_expected() {
        let cases = [
            ("overlap=sikp", "`sikp` is no overlap: expected"),
            ("overlp=skip", "`overlp` is no policy: expected misfire,"),
            ("retry=3,backof=1s", "`backof` is no part of retry: expected"),
            ("retry=1000000", "`1000000` is no retry: expected a number from 0 to"),
            ("timeout=soon", "`soon` is no timeout: expected a duration such as 90s, 1h30m or 500ms"),
            ("jitter=2000h", "`2000h` is no jitter: expected at most 24h"),
            ("batch=a/b", "`a/b` is no batch: expected a name"),
            ("batch=a after-batch=a", "`a` is no after-batch: expected another name"),
            ("skip", "`skip` is no policy: expected a word"),
        ];
        for (text, expected) in cases {
            let message = text.parse::<Policies>().unwrap_err().to_string();
            assert!(message.starts_with(expected), "{message}");
        }
    }
}
