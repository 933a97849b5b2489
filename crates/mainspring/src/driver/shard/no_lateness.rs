//! A program without the feature `report`: no distribution of latenesses is kept.
//!
//! Cost: none.
//!
//! The largest one is kept nevertheless: see [`Counts`](crate::driver::Counts).

/// Nothing is kept.
#[derive(Default)]
pub(super) struct Lateness(());

impl Lateness {
    #[inline]
    #[expect(clippy::unused_self, reason = "with the feature there is something to record in")]
    pub(super) fn record(&mut self, _ticks: u64) {}
}
