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

/// The places of all identities.
#[derive(Debug)]
pub struct Shares {
    places_of_identity: usize,
    /// `None`: those who have shown none.
    owners: Mutex<BTreeMap<Option<Identity>, Arc<Semaphore>>>,
}

impl Shares {
    /// So many places for each.
    pub fn new(places_of_identity: usize) -> Shares {
        assert!(0 < places_of_identity, "without a place each would wait for ever");
        Shares { places_of_identity, owners: Mutex::default() }
    }

    /// Waits for a place. It is given back when it is dropped.
    pub async fn enter(&self, owner: Option<&Identity>) -> OwnedSemaphorePermit {
        let places = {
            let mut owners = locked(&self.owners);
            // Only those that somebody has or waits for are kept.
            owners.retain(|_, places| 1 < Arc::strong_count(places));
            let new = || Arc::new(Semaphore::new(self.places_of_identity));
            Arc::clone(owners.entry(owner.cloned()).or_insert_with(new))
        };
        places.acquire_owned().await.expect("no share is ever closed")
    }

    /// How many identities have a place or wait for one, or did when the last came.
    pub fn owner_count(&self) -> usize {
        locked(&self.owners).len()
    }
}
