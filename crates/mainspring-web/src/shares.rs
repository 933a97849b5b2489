//! Places of which each identity has so many at a time, in order of arrival.
//!
//! ```text
//! enter(mara) ─▶ one of mara's places ─ all taken ─▶ waits for one of mara's own, whatever the others have
//! ```
//!
//! Cost: an entry for each identity that has a place or waits for one.
//!
//! Does not bound how many wait: each waits over a connection, of which an identity has so many.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::lock::locked;
use crate::sessions::Identity;

/// The places of all identities, so many of each. `None`: those who have shown none.
#[derive(Debug, Default)]
pub struct Shares<const PLACES: usize>(pub(crate) Mutex<BTreeMap<Option<Identity>, Arc<Semaphore>>>);

impl<const PLACES: usize> Shares<PLACES> {
    /// Waits for a place. It is given back when it is dropped.
    pub async fn enter(&self, owner: Option<&Identity>) -> OwnedSemaphorePermit {
        const { assert!(0 < PLACES, "without a place each would wait for ever") };
        let places = {
            let mut owners = locked(&self.0);
            // Only those that somebody has or waits for are kept.
            owners.retain(|_, places| 1 < Arc::strong_count(places));
            let new = || Arc::new(Semaphore::new(PLACES));
            Arc::clone(owners.entry(owner.cloned()).or_insert_with(new))
        };
        places.acquire_owned().await.expect("no share is ever closed")
    }
}
