//! One turn of the simplest shell: a store that answers at once, and a clock that is a number.
//!
//! ```text
//! input ─▶ planner.handle ─▶ all batches ─▶ store.commit ─▶ Committed ─▶ loads are answered ─▶ the other outputs
//! ```
//!
//! Simulations and tests are such shells. One that must not wait for its store, as a server, does the same in
//! parts.
//!
//! Cost: that of the planner and of the store.
//!
//! Does not start, end or answer anything: what the planner wants done is returned.

use std::collections::VecDeque;

use jiff::Timestamp;

use crate::holder::Holder;
use crate::input::Input;
use crate::once::OnceId;
use crate::output::Output;
use crate::planner::Planner;
use crate::store::{Lease, Store, StoreError};

/// Tells the planner a fact, writes all that it decides, reads for it what it asks of the store, and returns
/// what else is to be done: starts, kills, replies and notes, in their order.
///
/// # Errors
/// When the store fails. What was decided is lost then: the planner has to be made again, from the store.
///
/// # Example
/// ```
/// use mainspring_job::{Input, Limits, MemoryStore, Owner, Planner, Store, turn};
///
/// let mut store = MemoryStore::new();
/// let lease = store.acquire(&Owner::new("example"))?;
/// let mut planner = Planner::new(lease.epoch, Limits::default());
/// let now = "2026-11-21T08:00:00Z".parse()?;
/// let outputs = turn(&mut planner, &mut store, lease, now, Input::Begin { takeover: lease.takeover })?;
/// assert!(outputs.is_empty(), "there is no job");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn turn(
    planner: &mut Planner,
    store: &mut dyn Store,
    lease: Lease,
    now: Timestamp,
    input: Input,
) -> Result<Vec<Output>, StoreError> {
    let mut inputs = VecDeque::from([input]);
    let mut left = Vec::new();
    while let Some(input) = inputs.pop_front() {
        let mut outputs = Vec::new();
        planner.handle(now, input, &mut outputs);
        while let Some(batch) = planner.take_batch() {
            let answers = store.commit(lease, &batch)?.answers;
            let holders = Holder::of_batch(store, &batch, &answers)?;
            planner.handle(now, Input::Holders(holders), &mut outputs);
            planner.handle(now, Input::Committed { number: batch.number, answers }, &mut outputs);
        }
        for output in outputs {
            match output {
                Output::Load { up_to, limit } => {
                    let pending = store.load(OnceId::first_at(Timestamp::MIN), up_to, limit)?;
                    let is_complete = pending.len() < limit;
                    inputs.push_back(Input::Loaded { pending, is_complete });
                }
                Output::LoadIds { after, up_to, limit } => {
                    let ids = store.load_ids(after, up_to, limit)?;
                    let is_complete = ids.len() < limit;
                    inputs.push_back(Input::LoadedIds { ids, is_complete });
                }
                Output::CheckBatch { batch } => {
                    let is_pending = Some(store.has_pending_of(&batch)?);
                    inputs.push_back(Input::BatchChecked { batch, is_pending });
                }
                other => left.push(other),
            }
        }
    }
    Ok(left)
}
