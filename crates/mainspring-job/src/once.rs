//! A one-shot job: work to be done once, at a given time.
//!
//! ```text
//!  submit ──▶ pending: one row, ordered by (due, number) ──▶ fires: the row becomes a run
//!               │  only the near ones are in memory           └─▶ or is withdrawn: a cancelled run
//! ```
//!
//! There may be a million of them. The id of a one-shot job contains its due time, so the store finds it
//! without an index of names. An id that is out of date finds nothing.

use std::fmt::{self, Write as _};
use std::str::FromStr;
use std::sync::Arc;

use jiff::Timestamp;

use crate::name::JobName;
use crate::run::{Cause, KeyError, Run, RunKey};
use crate::state::RunState;
use crate::work::Work;

/// The longest idempotency key, in bytes.
pub const MAX_KEY_BYTES: usize = 256;

/// How many bits of a one-shot job's number count within one epoch.
pub(crate) const NUMBER_BITS: u32 = 40;

/// The bit that the number of an id has which no planner gave. It leaves the epochs 2^22.
const DRAWN: u64 = 1 << 62;

const _: () = assert!(NUMBER_BITS < DRAWN.trailing_zeros(), "epochs stand between a count and that bit");

/// What the names of one-shot jobs without a name of their own begin with.
const PREFIX: &str = "once-";

/// Names a one-shot job for ever. The order is that in which they fire.
///
/// # Example
/// ```
/// use mainspring_job::OnceId;
///
/// let id = OnceId { due: "2026-11-21T09:00:00Z".parse()?, number: 7 };
/// // It can be given to people, and read back.
/// assert_eq!(id.to_string().parse(), Ok(id));
/// assert!(OnceId::first_at(id.due) < id && id < OnceId::last_at(id.due));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_structs, reason = "an id is its two parts")]
pub struct OnceId {
    /// When it is due.
    pub due: Timestamp,
    /// Distinct for each; in order of submission where a planner gave it.
    pub number: u64,
}

impl OnceId {
    /// The id before all that are due at a time.
    pub const fn first_at(due: Timestamp) -> OnceId {
        OnceId { due, number: 0 }
    }

    /// The id after all that are due at a time.
    pub const fn last_at(due: Timestamp) -> OnceId {
        OnceId { due, number: u64::MAX }
    }

    /// An id that no planner gave, for who submits where none is: of `random` the lower 62 bits count. Two
    /// that are equal are one submission.
    pub const fn drawn(due: Timestamp, random: u64) -> OnceId {
        OnceId { due, number: DRAWN | random & (DRAWN - 1) }
    }

    /// Whether no planner gave it.
    pub const fn is_drawn(self) -> bool {
        self.number & DRAWN != 0
    }

    /// In which epoch of an owner it was submitted: the numbers of a planner begin again in each. That of one
    /// that was [drawn](OnceId::drawn) is greater than each of a planner.
    pub const fn epoch(self) -> u64 {
        self.number >> NUMBER_BITS
    }

    /// The name of the job if it was given none; the id can be read back from it.
    #[expect(
        clippy::missing_panics_doc,
        reason = "an id is letters, digits and hyphens, which a name may have"
    )]
    pub fn name(self) -> JobName {
        JobName::new(&self.to_string()).expect("letters, digits and hyphens are a name")
    }

    /// The number in a name that may be [that of an id](OnceId::name); `None` if it is not. The rest is not
    /// read: a caller that finds a job with this number compares its name.
    #[must_use]
    pub fn number_of(name: &JobName) -> Option<u64> {
        let (_, number) = name.as_str().rsplit_once('-')?;
        u64::from_str_radix(number, 36).ok()
    }

    /// Whether a name is that [of the job](OnceId::name) with this id. Makes none to compare it with.
    #[must_use]
    pub fn is_name(self, name: &JobName) -> bool {
        let mut rest = Rest(name.as_str());
        write!(rest, "{self}").is_ok() && rest.0.is_empty()
    }
}

/// `once-` and two numbers in base 36: the due time in nanoseconds, and the number.
impl fmt::Display for OnceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since_first = self.due.as_nanosecond() - Timestamp::MIN.as_nanosecond();
        let due = u128::try_from(since_first).expect("no timestamp is before the first");
        write!(f, "{PREFIX}{}-{}", Base36(due), Base36(u128::from(self.number)))
    }
}

impl FromStr for OnceId {
    type Err = KeyError;

    /// # Errors
    /// When it is not the text of an id.
    fn from_str(text: &str) -> Result<OnceId, KeyError> {
        read_id(text).ok_or(KeyError::Once)
    }
}

fn read_id(text: &str) -> Option<OnceId> {
    let (due, number) = text.strip_prefix(PREFIX)?.split_once('-')?;
    let due = i128::from_str_radix(due, 36).ok()?.checked_add(Timestamp::MIN.as_nanosecond())?;
    let due = Timestamp::from_nanosecond(due).ok()?;
    Some(OnceId { due, number: u64::from_str_radix(number, 36).ok()? })
}

/// A number in base 36. Twelve digits at a time, as a division of 128 bits costs as much as those of 64
/// together.
struct Base36(u128);

impl fmt::Display for Base36 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: usize = 12;
        const BASE: u128 = 36_u128.pow(12);
        const { assert!(BASE <= u64::MAX as u128, "twelve digits fit") };
        let (mut digits, mut begin, mut rest) = ([b'0'; 3 * DIGITS], 3 * DIGITS, self.0);
        loop {
            let mut part = u64::try_from(rest % BASE).expect("twelve digits fit");
            rest /= BASE;
            let end = if rest == 0 { begin - 1 } else { begin - DIGITS };
            while end < begin || 0 < part {
                begin -= 1;
                let digit = usize::try_from(part % 36).expect("a remainder of 36 is small");
                digits[begin] = b"0123456789abcdefghijklmnopqrstuvwxyz"[digit];
                part /= 36;
            }
            if rest == 0 {
                break;
            }
        }
        f.write_str(str::from_utf8(&digits[begin..]).expect("digits are ASCII"))
    }
}

/// What is left of a text when what is written has been taken from its beginning.
struct Rest<'t>(&'t str);

impl fmt::Write for Rest<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.strip_prefix(text).ok_or(fmt::Error)?;
        Ok(())
    }
}

/// What is to be done once.
///
/// # Example
/// ```
/// use mainspring_job::{Action, Submission, Work};
///
/// let due = "2026-11-21T09:00:00Z".parse()?;
/// let work = Work::new(Action::new("mail", "to: ada")?);
/// let submission = Submission::new(due, work).with_name("welcome-ada".parse()?).with_key("user 7");
/// assert_eq!(submission.key.as_deref(), Some("user 7"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Submission {
    /// When, by the store's clock. In the past it is due at once.
    pub due: Timestamp,
    /// Its name among pending jobs; `None`: one is made.
    pub name: Option<JobName>,
    /// A second submission with the same key, while the first is pending or its run is kept, is answered with
    /// the first.
    pub key: Option<String>,
    /// What to do.
    pub work: Arc<Work>,
    /// The id under which it may be on record already: that of an earlier planner, which was lost before it
    /// said whether it wrote it, or one that was [drawn](OnceId::drawn). It keeps that id with its due time,
    /// and is done once.
    pub earlier: Option<OnceId>,
}

impl Submission {
    /// Something to do at a time, without a name and without a key.
    pub fn new(due: Timestamp, work: impl Into<Arc<Work>>) -> Submission {
        Submission { due, name: None, key: None, work: work.into(), earlier: None }
    }

    /// The same under a name.
    #[must_use]
    pub fn with_name(self, name: JobName) -> Submission {
        Submission { name: Some(name), ..self }
    }

    /// The same with an idempotency key.
    #[must_use]
    pub fn with_key(self, key: impl Into<String>) -> Submission {
        Submission { key: Some(key.into()), ..self }
    }
}

/// A one-shot job that has not fired.
///
/// # Example
/// ```
/// use mainspring_job::{Action, Once, OnceId, RunState, Work};
///
/// let due = "2026-11-21T09:00:00Z".parse()?;
/// let submitted = "2026-11-20T09:00:00Z".parse()?;
/// let work = Work::new(Action::new("mail", "to: ada")?);
/// let once = Once::new(OnceId { due, number: 7 }, submitted, work);
/// // Without a name of its own it has that of its id; its run is due when it is.
/// assert_eq!(once.name, once.id.name());
/// let run = once.run(RunState::Scheduled, due, submitted);
/// assert_eq!(run.key.nominal, due);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Once {
    /// Its id: when it is due, and a number of its own.
    pub id: OnceId,
    /// Its name: the one it was given, or [`OnceId::name`].
    pub name: JobName,
    /// Its idempotency key, if it has one.
    pub key: Option<String>,
    /// When it was submitted.
    pub submitted: Timestamp,
    /// What to do.
    pub work: Arc<Work>,
}

impl Once {
    /// One without a key, under the name that its id has.
    pub fn new(id: OnceId, submitted: Timestamp, work: impl Into<Arc<Work>>) -> Once {
        Once { id, name: id.name(), key: None, submitted, work: work.into() }
    }

    /// The run that it becomes.
    pub fn run(&self, state: RunState, due: Timestamp, planned: Timestamp) -> Run {
        let key = RunKey::new(self.name.clone(), self.id.due);
        Run { work: Some(Arc::clone(&self.work)), ..Run::new(key, Cause::Once, state, due, planned) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_back_from_its_name() {
        for due in [Timestamp::MIN, Timestamp::UNIX_EPOCH, Timestamp::MAX] {
            for number in [0, 35, u64::MAX] {
                let id = OnceId { due, number };
                assert_eq!(id.name().as_str().parse(), Ok(id));
            }
        }
        for bad in
            ["once-", "once-1", "once-1-", "once--1", "x-1-1", "once-zzzzzzzzzzzzzzzzzzzzzzzz-1", "once-1-1é"]
        {
            assert!(bad.parse::<OnceId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_number_of_an_id_is_read_back_as_it_was() {
        let ends = [35, 36, 36_u128.pow(12), 36_u128.pow(24), u128::from(u64::MAX), u128::MAX];
        for number in ends.into_iter().flat_map(|end| [end - 1, end, end.saturating_add(1)]).chain([0, 1]) {
            let text = Base36(number).to_string();
            assert_eq!(u128::from_str_radix(&text, 36), Ok(number), "{text}");
            assert!(text == "0" || !text.starts_with('0'), "{text}");
            let id = OnceId { due: Timestamp::UNIX_EPOCH, number: u64::try_from(number).unwrap_or(7) };
            assert!(id.is_name(&id.name()));
            for other in [format!("{id}0"), format!("x{id}"), id.to_string()[..8].to_owned()] {
                assert!(!id.is_name(&JobName::new(&other).unwrap()), "{other}");
            }
        }
    }

    #[test]
    fn ids_are_ordered_by_due_time_then_submission() {
        let due = Timestamp::UNIX_EPOCH;
        assert!(OnceId { due, number: u64::from(u32::MAX) << NUMBER_BITS >> 10 } < OnceId::drawn(due, 0));
        assert!(OnceId::drawn(due, u64::MAX).is_drawn() && !OnceId::first_at(due).is_drawn());
        assert!(i64::try_from(OnceId::drawn(due, u64::MAX).number).is_ok(), "stores keep it");
        assert!(OnceId::first_at(due) < OnceId { due, number: 7 });
        assert!(OnceId { due, number: 7 } < OnceId::last_at(due));
    }
}
