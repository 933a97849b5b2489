//! Limits the work of a call, so that no step of a queue takes long because many timers are due.
//!
//! Cost: a number. It does not measure time: a unit is a timer that is handed out or looked at.

/// How much work calls may do: one unit for each timer that is handed out, and for each that is only looked
/// at.
///
/// ```
/// use mainspring_queue::{Budget, PopResult, Tick, TimerQueue, wheel::Chunked};
///
/// let mut queue = Chunked::new();
/// for number in 0..1_000 {
///     queue.schedule(Tick::new(5_000 + number), number)?;
/// }
/// let mut fired_count = 0;
/// // The loop of a server: never more than a hundred timers' work in a turn.
/// loop {
///     let mut budget = Budget::new(100);
///     queue.advance_within(Tick::new(10_000), &mut budget);
///     let last = loop {
///         match queue.pop_within(&mut budget) {
///             PopResult::Timer(_) => fired_count += 1,
///             last => break last,
///         }
///     };
///     if last == PopResult::Nothing {
///         break;
///     }
///     // It was Paused: sockets have their turn here.
/// }
/// assert_eq!(fired_count, 1_000);
/// # Ok::<(), mainspring_queue::RejectedTimer<u64>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget(usize);

impl Budget {
    /// No limit.
    pub const fn unlimited() -> Budget {
        Budget(usize::MAX)
    }

    /// A limit of so many timers. No more are handed out. A step that has begun is finished, so that a few
    /// more may be looked at; with 0 no step begins.
    pub const fn new(timer_count: usize) -> Budget {
        Budget(timer_count)
    }

    /// Returns how many timers are left.
    pub const fn left(self) -> usize {
        self.0
    }

    /// Tells whether nothing is left.
    pub const fn is_used_up(self) -> bool {
        self.0 == 0
    }

    /// Takes off so many timers. For queues, which call it as they work.
    #[inline]
    pub fn spend(&mut self, timer_count: usize) {
        // What is unlimited stays so.
        if self.0 != usize::MAX {
            self.0 = self.0.saturating_sub(timer_count);
        }
    }
}
