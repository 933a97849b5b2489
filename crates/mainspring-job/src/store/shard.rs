//! The parts of a store that have owners of their own.
//!
//! Cost: none.
//!
//! Does not know where a job belongs: see [`Placement`](crate::Placement).

use crate::hash::text_hash;
use crate::name::JobName;

/// A part of the jobs that has one owner. An embedded store has one: [`Shard::WHOLE`].
///
/// # Example
/// ```
/// use mainspring_job::Shard;
///
/// assert_eq!(Shard::WHOLE, Shard(0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_structs, reason = "a number and no more")]
pub struct Shard(pub u16);

impl Shard {
    /// The only shard of an embedded store.
    pub const WHOLE: Shard = Shard(0);

    /// All shards together, in a question for people. [`Reader::load`](crate::Reader::load),
    /// [`Reader::load_ids`](crate::Reader::load_ids), [`Reader::counts`](crate::Reader::counts),
    /// [`Reader::find`](crate::Reader::find) and [`Reader::stats`](crate::Reader::stats) take it. It has no
    /// owner.
    pub const EVERY: Shard = Shard(u16::MAX);

    /// The most shards of a store: each has a session of the database and a loop of its own.
    pub const MAX: u16 = 64;

    /// The shard to which a name belongs where there are so many, at least one: on each machine and in each
    /// version the same.
    ///
    /// # Example
    /// ```
    /// use mainspring_job::{JobName, Shard};
    ///
    /// let name: JobName = "nightly-backup".parse()?;
    /// assert!(Shard::of(&name, 16) < Shard(16));
    /// assert_eq!(Shard::of(&name, 1), Shard::WHOLE);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(name: &JobName, count: u16) -> Shard {
        let rest = text_hash(name.as_str()) % u64::from(count.max(1));
        Shard(u16::try_from(rest).unwrap_or(u16::MAX))
    }
}
