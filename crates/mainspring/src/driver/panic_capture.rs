//! The owner's code, run so that its panics end no thread: firings, and reports of their panics.
//!
//! Cost: nothing where nothing panics.
//!
//! It does not judge what a panic leaves half done: that is the owner's own, since the driver shares nothing
//! with it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mainspring_queue::Tick;

use super::{Fire, FiredTimer, FiringPanic, TimerId};

/// Fires one timer; tells whether that panicked.
pub(super) fn fire_and_catch<T>(fire: &mut impl Fire<T>, fired: FiredTimer<T>) -> bool {
    let (id, deadline) = (fired.id, fired.deadline);
    let Err(panic) = catch_unwind(AssertUnwindSafe(|| fire.fire(fired))) else { return false };
    report(fire, id, deadline, panic);
    true
}

#[cold]
fn report<T>(fire: &mut impl Fire<T>, id: TimerId, deadline: Tick, panic: Box<dyn Any + Send>) {
    let panicked = FiringPanic::new(id, deadline, &*panic);
    // The panic's own value and the report are the owner's code as well.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        fire.panicked(&panicked);
        drop(panic);
    }));
}
