//! The one shard of the tables, which are made for several.
//!
//! Cost: none.

/// A part of the jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shard(pub(super) u16);

impl Shard {
    pub(super) const WHOLE: Shard = Shard(0);
    pub(super) const EVERY: Shard = Shard(u16::MAX);
}
