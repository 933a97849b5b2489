//! The distribution of the lateness of a shard's timers.
//!
//! Equal latenesses that follow each other, as those of timers of one tick do, are recorded together.
//!
//! Cost: a comparison and a count for a timer that is as late as the one before it; else a step in a
//! histogram, which is made when the first is recorded, because many shards never fire a timer.
//!
//! It is kept under the shard's lock, and knows nothing of time: it is told.

use hdrhistogram::Histogram;

use crate::driver::report::empty_lateness;

/// The distribution of latenesses, in ticks.
#[derive(Default)]
pub(super) struct Lateness {
    /// `None` until the first is recorded.
    histogram: Option<Histogram<u64>>,
    last_ticks: u64,
    last_count: u64,
}

impl Lateness {
    #[inline]
    pub(super) fn record(&mut self, ticks: u64) {
        if ticks != self.last_ticks {
            self.flush();
            self.last_ticks = ticks;
        }
        self.last_count += 1;
    }

    fn flush(&mut self) {
        if self.last_count > 0 {
            let histogram = self.histogram.get_or_insert_with(empty_lateness);
            histogram.saturating_record_n(self.last_ticks, self.last_count);
            self.last_count = 0;
        }
    }

    pub(super) fn add_to(&mut self, sum: &mut Histogram<u64>) {
        self.flush();
        if let Some(histogram) = &self.histogram {
            sum.add(histogram).expect("all shards' histograms have the same bounds");
        }
    }
}
