//! Room for long bodies and long answers: so many bytes of them are in memory for each identity at a time.
//!
//! ```text
//! a body, before it is read ───┐
//! an answer, before it is sent ┴▶ take(identity, bytes) ─▶ the room is given back with the last part of them
//!                                  └ more than is left ─▶ 429 or 503, Retry-After
//! ```
//!
//! | limit | owner | what is beyond it |
//! |---|---|---|
//! | `MAX_IDENTITY_BYTES` | an identity; those without one together | 429 |
//! | `MAX_BYTES` | all identities but the local administrator | 503 |
//!
//! A client that does not read has its answers in memory for ten seconds, and on each of its connections.
//! What is short takes no room: an identity at its limit can still look and act.
//!
//! Cost: a look-up in a small map for a long body or answer.
//!
//! Does not count what is read from a file as it is sent, nor the page, of which there is one for all.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::body::Bytes;

use crate::connections::{MAX_PROVEN, MAX_UNPROVEN};
use crate::lock::locked;
use crate::problem::{Code, Problem};
use crate::sessions::Identity;

/// How much an identity may have in memory: four of the longest bodies, or some hundred long lists.
pub const MAX_IDENTITY_BYTES: usize = 64 << 20;

/// How much all identities may have: four of them at their limit.
const MAX_BYTES: usize = 4 * MAX_IDENTITY_BYTES;

/// What takes no room: with it on each connection that there may be, all have 24 MiB.
pub const SHORT_BYTES: usize = 64 << 10;

const _: () = assert!(
    (MAX_UNPROVEN + MAX_PROVEN) * SHORT_BYTES < MAX_IDENTITY_BYTES,
    "what is not counted is less than what one identity may have",
);

/// After so many seconds it may be tried again: a client that reads gives room within less.
const RETRY_SECONDS: u32 = 2;

/// How much each has taken. `None`: those who have shown no identity.
#[derive(Debug, Default)]
pub struct MemoryBudget(Mutex<BTreeMap<Option<Identity>, usize>>);

/// Room that is given back when it is dropped.
#[derive(Debug)]
pub struct BudgetShare {
    budget: Arc<MemoryBudget>,
    owner: Option<Identity>,
    bytes: usize,
}

/// Bytes with their room.
struct BudgetedBytes {
    bytes: Bytes,
    _taken: BudgetShare,
}

impl AsRef<[u8]> for BudgetedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl MemoryBudget {
    /// Takes room for so many bytes.
    ///
    /// # Errors
    ///
    /// 429 where their owner has too many already, 503 where all together have.
    pub fn take(
        budget: &Arc<MemoryBudget>,
        owner: Option<&Identity>,
        bytes: usize,
    ) -> Result<BudgetShare, Problem> {
        let (bytes, owner) = (counted(bytes), owner.cloned());
        if 0 < bytes {
            let mut all = locked(&budget.0);
            let own = all.get(&owner).copied().unwrap_or_default();
            if MAX_IDENTITY_BYTES < own + bytes {
                return Err(refusal(Code::TOO_MANY, "you sent and are", MAX_IDENTITY_BYTES));
            }
            if owner != Some(Identity::Local) && MAX_BYTES < all.values().sum::<usize>() + bytes {
                return Err(refusal(Code::TEMPORARY, "all clients sent and are", MAX_BYTES));
            }
            all.insert(owner.clone(), own + bytes);
        }
        Ok(BudgetShare { budget: Arc::clone(budget), owner, bytes })
    }

    fn give(&self, owner: &Option<Identity>, bytes: usize) {
        let mut all = locked(&self.0);
        debug_assert!(bytes <= all.get(owner).copied().unwrap_or_default(), "what is given back was taken");
        if let Some(own) = all.get_mut(owner) {
            *own = own.saturating_sub(bytes);
            if *own == 0 {
                all.remove(owner);
            }
        }
    }
}

fn counted(bytes: usize) -> usize {
    if bytes <= SHORT_BYTES { 0 } else { bytes }
}

fn refusal(code: Code, who: &str, most: usize) -> Problem {
    let most = most >> 20;
    let text = format!(
        "what {who} sent is more than {most} MiB with this: read the answers that wait, and ask again"
    );
    Problem::new(code, text).again_after(RETRY_SECONDS)
}

impl BudgetShare {
    /// The bytes for which the room was taken, or fewer: they give it back when the last part of them is
    /// dropped.
    pub fn hold(mut self, bytes: Bytes) -> Bytes {
        let needed = counted(bytes.len());
        debug_assert!(needed <= self.bytes, "room was taken for all bytes");
        self.budget.give(&self.owner, self.bytes.saturating_sub(needed));
        self.bytes = self.bytes.min(needed);
        if needed == 0 { bytes } else { Bytes::from_owner(BudgetedBytes { bytes, _taken: self }) }
    }
}

impl Drop for BudgetShare {
    fn drop(&mut self) {
        if 0 < self.bytes {
            self.budget.give(&self.owner, self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mara() -> Identity {
        Identity::Proxy("mara".to_owned())
    }

    fn code(taken: Result<BudgetShare, Problem>) -> Code {
        let problem = taken.expect_err("there is no room");
        assert!(problem.retry_after.is_some(), "{problem:?}");
        problem.code
    }

    #[test]
    fn an_identity_whose_answers_nobody_reads_costs_others_nothing() {
        let budget = Arc::new(MemoryBudget::default());
        let take = |owner: &Identity, bytes| MemoryBudget::take(&budget, Some(owner), bytes);
        let ada = Identity::Proxy("ada".to_owned());
        let first = take(&mara(), MAX_IDENTITY_BYTES - SHORT_BYTES - 1).unwrap();
        let last = take(&mara(), SHORT_BYTES + 1).expect("exactly at the bound there is room");
        assert_eq!(code(take(&mara(), SHORT_BYTES + 1)), Code::TOO_MANY);
        assert!(take(&mara(), SHORT_BYTES).is_ok(), "what is short is answered still");
        assert!(take(&ada, MAX_IDENTITY_BYTES).is_ok(), "another has all of theirs");
        assert!(
            MemoryBudget::take(&budget, None, MAX_IDENTITY_BYTES).is_ok(),
            "and so have those without one"
        );
        drop(last);
        assert!(take(&mara(), SHORT_BYTES + 1).is_ok());
        drop(first);
        assert!(locked(&budget.0).is_empty());
    }

    #[test]
    fn all_together_have_no_more_than_four_at_their_limit_and_the_local_administrator_has_room() {
        let budget = Arc::new(MemoryBudget::default());
        let of = |number: usize| Identity::Proxy(number.to_string());
        let taken: Vec<BudgetShare> = (0..4)
            .map(|number| MemoryBudget::take(&budget, Some(&of(number)), MAX_IDENTITY_BYTES).unwrap())
            .collect();
        assert_eq!(code(MemoryBudget::take(&budget, Some(&mara()), SHORT_BYTES + 1)), Code::TEMPORARY);
        assert_eq!(code(MemoryBudget::take(&budget, None, SHORT_BYTES + 1)), Code::TEMPORARY);
        assert!(MemoryBudget::take(&budget, Some(&Identity::Local), MAX_IDENTITY_BYTES).is_ok());
        drop(taken);
        assert!(MemoryBudget::take(&budget, Some(&mara()), MAX_IDENTITY_BYTES).is_ok());
    }

    #[test]
    fn the_room_of_an_answer_is_free_when_its_last_part_is_gone_and_that_of_what_was_not_sent_at_once() {
        let budget = Arc::new(MemoryBudget::default());
        let taken = || locked(&budget.0).get(&Some(mara())).copied().unwrap_or_default();
        let take = |bytes| MemoryBudget::take(&budget, Some(&mara()), bytes).unwrap();
        let bytes = take(1 << 20).hold(Bytes::from(vec![b'x'; 1 << 20]));
        let part = bytes.slice(10..20);
        drop(bytes);
        assert_eq!(taken(), 1 << 20, "a part keeps all of it in memory");
        drop(part);
        assert_eq!(taken(), 0);
        // A body of which no length was said.
        let body = take(16 << 20).hold(Bytes::from(vec![b'x'; 1 << 20]));
        assert_eq!(taken(), 1 << 20);
        drop(body);
        let short = take(16 << 20).hold(Bytes::from_static(b"{}"));
        assert_eq!((taken(), &short[..]), (0, &b"{}"[..]));
    }
}
