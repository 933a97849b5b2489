//! Retry: whether a failed attempt is followed by another, and when.
//!
//! ```text
//!  wait before attempt n + 1  =  min(cap, backoff * factor^(n - 1))  *  (1 +- jitter)
//! ```
//!
//! The jitter is a hash of the run's key and the attempt. It is not drawn, so it is the same wherever it is
//! computed. The wait begins at the end of the failed attempt, and is on disk with it.
//!
//! `on` names the outcomes that the policy covers. The last attempt decides:
//!
//! | the attempt ended as one that `on` | and there are attempts left | the run becomes |
//! |---|---|---|
//! | names | yes | scheduled, for the next attempt |
//! | names | no | `dead`, if dead letters are kept; else what the attempt was |
//! | does not name | | what the attempt was, and that is final: it is no dead letter |
//!
//! A failure that another attempt would not change ([`Failure::Final`](crate::Failure::Final)) is not tried
//! again. It is a dead letter, unless they are never kept.
//!
//! By default `on` is `failed` and `timed_out`, and not `abandoned`. If the server's own end cut a run off,
//! it is unknown what the run has done, so it is started **at most once**. A job that may be repeated says
//! `on=failed+timed_out+abandoned`, and gets **at least once**. A cancelled run is never retried.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::text::{self, PolicyError};
use crate::state::RunState;

/// The most retries: more than that is a job of its own.
pub const MAX_RETRIES: u32 = 1_000;

/// The longest wait: a month.
const MAX_BACKOFF: Duration = Duration::from_secs(31 * 86_400);
const _: () = assert!(2 * MAX_BACKOFF.as_nanos() <= u64::MAX as u128, "so long is a wait with its jitter");

/// The largest factor: the cap is reached in a few steps with less.
const MAX_FACTOR: u32 = 100;

/// Says which ends are retried, and lead to the dead letters when no attempt is left.
///
/// # Example
/// ```
/// use mainspring_job::{Retry, RunState};
///
/// let retry: Retry = "3,on=failed+abandoned".parse()?;
/// assert!(retry.on.holds(RunState::Abandoned));
/// assert!(!retry.on.holds(RunState::TimedOut));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryOn {
    /// The attempt failed.
    pub failed: bool,
    /// The attempt took too long.
    pub timed_out: bool,
    /// The server ended during the attempt.
    pub abandoned: bool,
}

impl RetryOn {
    const NAMES: [&str; 3] = ["failed", "timed_out", "abandoned"];

    /// Whether that end of an attempt is retried.
    pub fn holds(self, state: RunState) -> bool {
        match state {
            RunState::Failed => self.failed,
            RunState::TimedOut => self.timed_out,
            RunState::Abandoned => self.abandoned,
            _ => false,
        }
    }
}

/// Says how a failure is tried again.
///
/// # Example
/// ```
/// use mainspring_job::{Retry, RunState};
/// use std::time::Duration;
///
/// let retry: Retry = "3,backoff=10s,factor=2,jitter=0%".parse()?;
/// assert!(retry.follows(3, RunState::Failed), "the third attempt is followed by a fourth,");
/// assert!(!retry.follows(4, RunState::Failed), "which is the last");
/// assert_eq!(retry.wait(3, 0), Duration::from_secs(40));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retry {
    /// How often, after the first attempt; 0 is never. At most [`MAX_RETRIES`].
    pub max: u32,
    /// The wait before the first retry.
    pub backoff: Duration,
    /// Each further wait is so many times the last; from 1.
    pub factor: u32,
    /// No wait is longer, but for the jitter.
    pub cap: Duration,
    /// Waits differ by up to this many per cent, more or less; at most 100.
    pub jitter_percent: u32,
    /// After which ends.
    pub on: RetryOn,
}

impl Default for Retry {
    fn default() -> Retry {
        Retry {
            max: 0,
            backoff: Duration::from_secs(10),
            factor: 2,
            cap: Duration::from_secs(3_600),
            jitter_percent: 10,
            on: RetryOn { failed: true, timed_out: true, abandoned: false },
        }
    }
}

impl Retry {
    /// Whether attempt number `attempt`, from 1, that ended so is followed by another.
    pub fn follows(&self, attempt: u32, state: RunState) -> bool {
        self.on.holds(state) && attempt <= self.max
    }

    /// The wait after attempt number `attempt`, from 1. `hash` places it within the jitter.
    #[expect(clippy::missing_panics_doc, reason = "the longest wait is far below what a u64 holds")]
    pub fn wait(&self, attempt: u32, hash: u64) -> Duration {
        let factor = self.factor.checked_pow(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
        let wait = self.backoff.saturating_mul(factor).min(self.cap).min(MAX_BACKOFF);
        let range_ns = wait.as_nanos() * u128::from(2 * self.jitter_percent.min(100)) / 100;
        let offset_ns = u128::from(hash) % (range_ns + 1);
        let wait_ns = wait.as_nanos() - range_ns / 2 + offset_ns;
        Duration::from_nanos(
            u64::try_from(wait_ns).expect("two months are fewer nanoseconds than a u64 holds"),
        )
    }
}

impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = [self.on.failed, self.on.timed_out, self.on.abandoned];
        let names = RetryOn::NAMES.iter().zip(on).filter(|(_, is_on)| *is_on).map(|(name, _)| *name);
        let [backoff, cap] = [self.backoff, self.cap].map(text::duration_text);
        let Retry { max, factor, jitter_percent, .. } = self;
        let on = names.collect::<Vec<_>>().join("+");
        write!(f, "{max},backoff={backoff},factor={factor},cap={cap},jitter={jitter_percent}%,on={on}")
    }
}

impl FromStr for Retry {
    type Err = PolicyError;

    fn from_str(value: &str) -> Result<Retry, PolicyError> {
        let (head, parts) = text::split("retry", value)?;
        let mut retry = Retry { max: text::number("retry", head, 0, MAX_RETRIES)?, ..Retry::default() };
        for (name, part) in parts {
            match name {
                "backoff" => retry.backoff = text::duration("backoff of retry", part, MAX_BACKOFF)?,
                "factor" => retry.factor = text::number("factor of retry", part, 1, MAX_FACTOR)?,
                "cap" => retry.cap = text::duration("cap of retry", part, MAX_BACKOFF)?,
                "jitter" => {
                    let number = part.strip_suffix('%').unwrap_or(part);
                    retry.jitter_percent = text::number("jitter of retry", number, 0, 100)?;
                }
                "on" => retry.on = retry_on(part)?,
                _ => return Err(text::unknown_part("retry", name, "backoff, factor, cap, jitter or on")),
            }
        }
        Ok(retry)
    }
}

fn retry_on(text: &str) -> Result<RetryOn, PolicyError> {
    let words: Vec<&str> = text.split('+').filter(|word| !word.is_empty()).collect();
    if let Some(wrong) = words.iter().find(|word| !RetryOn::NAMES.contains(word)) {
        let known = "failed, timed_out or abandoned, with + between";
        return Err(text::unknown_part("retry", wrong, known));
    }
    let [failed, timed_out, abandoned] = RetryOn::NAMES.map(|name| words.contains(&name));
    Ok(RetryOn { failed, timed_out, abandoned })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_by_the_factor_up_to_the_cap() {
        let retry: Retry = "9,backoff=1s,factor=3,cap=20s,jitter=0%".parse().unwrap();
        let waits: Vec<u64> = (1..=5).map(|attempt| retry.wait(attempt, 77).as_secs()).collect();
        assert_eq!(waits, [1, 3, 9, 20, 20]);
        assert_eq!(retry.wait(u32::MAX, 77).as_secs(), 20);
    }

    #[test]
    fn jitter_stays_within_its_per_cent_on_both_sides() {
        let retry: Retry = "9,backoff=10s,factor=1,jitter=10%".parse().unwrap();
        let waits = (0..1000_u64).map(|seed| retry.wait(1, seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let (low, high) = (Duration::from_secs(9), Duration::from_secs(11));
        let waits: Vec<Duration> = waits.collect();
        assert!(waits.iter().all(|wait| (low..=high).contains(wait)));
        assert!(waits.iter().any(|wait| *wait < Duration::from_millis(9_500)));
        assert!(waits.iter().any(|wait| Duration::from_millis(10_500) < *wait));
    }

    #[test]
    fn abandoned_runs_are_retried_on_request_only() {
        let usual: Retry = "3".parse().unwrap();
        assert!(usual.follows(3, RunState::Failed));
        assert!(!usual.follows(4, RunState::Failed));
        assert!(!usual.follows(1, RunState::Abandoned));
        let retry: Retry = "3,on=abandoned".parse().unwrap();
        assert!(retry.follows(1, RunState::Abandoned));
        assert!(!retry.follows(1, RunState::TimedOut));
        assert!(!retry.follows(1, RunState::Cancelled));
    }
}
