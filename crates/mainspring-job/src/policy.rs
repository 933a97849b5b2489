//! All policies of a job together, each with its default, and their text.
//!
//! | policy | asks | default |
//! |---|---|---|
//! | [`Misfire`] | what becomes of an occurrence whose time passed while no server looked | `latest,window=24h,spread=2m,grace=1m` |
//! | [`Overlap`] | what if the job's last run still runs | `skip` |
//! | [`Retry`] | is a failure tried again, when, how often | `0` |
//! | [`Timeout`] | how long may it run, and how is it killed | `none,signal=TERM,grace=10s` |
//! | [`Retention`] | how much history is kept | `keep=100,days=90` |
//! | `jitter` | how much later than its nominal time may it start | `0s` |
//! | `pause_after` | after how many failures in a row is it paused | never |
//! | `dead_letters` | do failures wait for a person to look | `after-retries` |
//!
//! The text has a word for each policy that differs from the default, with white space between, as in
//! `overlap=queue-one retry=3,backoff=10s jitter=30s`. It is what stores hold for one-shot jobs, and what a
//! crontab's comment line or a command line may say; a word inside a policy is separated by a comma, so no
//! word needs quotes.

pub mod misfire;
pub mod overlap;
pub mod retention;
pub mod retry;
mod text;
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
#[doc(inline)]
pub use text::PolicyError;
#[doc(inline)]
pub use timeout::{Kill, MAX_KILL_GRACE, Signal, Timeout};

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
}

impl Policies {
    /// Reads one policy: the word before the `=` and the text after it.
    ///
    /// # Errors
    /// When there is no such policy, or its value cannot be read or is out of range.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), PolicyError> {
        match name {
            "misfire" => self.misfire = value.parse()?,
            "overlap" => self.overlap = value.parse()?,
            "retry" => self.retry = value.parse()?,
            "timeout" => self.timeout = value.parse()?,
            "retention" => self.retention = value.parse()?,
            "jitter" => self.jitter = text::duration("jitter", value, MAX_JITTER)?,
            "pause-after" => {
                self.pause_after = match value {
                    "never" => None,
                    number => Some(text::number("pause-after", number, 1, u32::MAX)?),
                }
            }
            "dead-letters" => {
                let found = DeadLetters::NAMES.iter().find(|(known, _)| *known == value);
                let unknown = || PolicyError::new("dead-letters", value, "after-retries, always or never");
                self.dead_letters = found.ok_or_else(unknown)?.1;
            }
            _ => {
                let known =
                    "misfire, overlap, retry, timeout, retention, jitter, pause-after or dead-letters";
                return Err(PolicyError::new("policy", name, known));
            }
        }
        Ok(())
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
        let mut words = Vec::new();
        let mut add = |is_usual: bool, name: &str, value: &dyn Fn() -> String| {
            if !is_usual {
                words.push(format!("{name}={}", value()));
            }
        };
        add(self.misfire == usual.misfire, "misfire", &|| self.misfire.to_string());
        add(self.overlap == usual.overlap, "overlap", &|| self.overlap.to_string());
        add(self.retry == usual.retry, "retry", &|| self.retry.to_string());
        add(self.timeout == usual.timeout, "timeout", &|| self.timeout.to_string());
        add(self.retention == usual.retention, "retention", &|| self.retention.to_string());
        add(self.jitter == usual.jitter, "jitter", &|| text::duration_text(self.jitter));
        let pause_after = || self.pause_after.map_or("never".to_owned(), |count| count.to_string());
        add(self.pause_after == usual.pause_after, "pause-after", &pause_after);
        add(self.dead_letters == usual.dead_letters, "dead-letters", &|| self.dead_letters.name().to_owned());
        f.write_str(&words.join(" "))
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
            "timeout=1h30m,signal=INT,grace=5s retention=keep=7,days=1 jitter=1m30s pause-after=5 dead-letters=always",
        ];
        for text in texts {
            let policies: Policies = text.parse().unwrap();
            assert_eq!(policies.to_string(), text);
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
            ("skip", "`skip` is no policy: expected a word"),
        ];
        for (text, expected) in cases {
            let message = text.parse::<Policies>().unwrap_err().to_string();
            assert!(message.starts_with(expected), "{message}");
        }
    }
}
