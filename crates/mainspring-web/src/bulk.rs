//! One thing done to many jobs or runs, one after the other, while who asked looks at how far it is.
//!
//! Cost: one question of the loop for each, on one of its lines.
//!
//! Does not stop at what fails: it says what did, and continues. Does not outlive the server.

use std::collections::BTreeMap;
use std::sync::Mutex;

use mainspring_server::protocol::{PauseWire, Request};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lock::locked;
use crate::pool::QUESTIONS_OF_IDENTITY;
use crate::problem::{Code, Problem};
use crate::sessions::Identity;

/// How many deeds of an identity are remembered; the oldest that is done is forgotten first.
const MAX_KEPT_OF_IDENTITY: usize = 50;

/// How many of an identity go on at one time: a question to the loop each, and others are left for what it
/// looks at.
const MAX_RUNNING_OF_IDENTITY: usize = 2;

const _: () =
    assert!(MAX_RUNNING_OF_IDENTITY < QUESTIONS_OF_IDENTITY, "a question is left for what is looked at");
const _: () = assert!(MAX_RUNNING_OF_IDENTITY < MAX_KEPT_OF_IDENTITY, "one that is done can be forgotten");

/// How many errors are told.
const MAX_ERRORS: usize = 10;

/// What can be done to many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
#[expect(missing_docs, reason = "see the routes of the same names")]
pub enum Deed {
    Run,
    Pause,
    Resume,
    Cancel,
    Retry,
    Drop,
}

impl Deed {
    /// Whether it is done to jobs, and not to runs.
    pub const fn is_for_jobs(self) -> bool {
        matches!(self, Deed::Run | Deed::Pause | Deed::Resume)
    }

    /// What the loop is asked. A pause keeps until when it lasts, and the note.
    pub fn request(self, id: String, until: Option<String>, note: Option<String>) -> Request {
        match self {
            Deed::Run => Request::Run { job: id, wait: false, due: None, key: None },
            Deed::Pause => Request::Pause(PauseWire { job: Some(id), until, note: note.unwrap_or_default() }),
            Deed::Resume => Request::Resume { job: Some(id) },
            Deed::Cancel => Request::Cancel { of: id },
            Deed::Retry => Request::DeadRetry { run: id },
            Deed::Drop => Request::DeadDrop { run: id },
        }
    }
}

/// How far an action is.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ActionState {
    #[serde(skip)]
    owner: Identity,
    id: String,
    state: Progress,
    count: usize,
    done: usize,
    failed: usize,
    /// The first 10.
    errors: Vec<Failure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Progress {
    Running,
    Done,
}

/// What could not be done.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Failure {
    id: String,
    detail: String,
}

impl ActionState {
    /// Counts what was dealt with.
    fn add(&mut self, done: usize, failed: usize) {
        (self.done, self.failed) = (self.done + done, self.failed + failed);
        debug_assert!(self.done + self.failed <= self.count, "each is dealt with once");
        if self.count <= self.done + self.failed {
            self.state = Progress::Done;
        }
    }
}

/// All that still run, and those before.
#[derive(Debug, Default)]
pub struct Bulk(Mutex<(u64, BTreeMap<u64, ActionState>)>);

impl Bulk {
    /// The most at once: seconds of work for the loop, between all others.
    pub const MAX: usize = 10_000;

    /// Whether so many can be dealt with at once.
    ///
    /// # Errors
    ///
    /// 422 for more than [`MAX`](Self::MAX).
    pub fn check(count: usize) -> Result<(), Problem> {
        if count <= Bulk::MAX {
            return Ok(());
        }
        Err(Problem::new(Code::INVALID, format!("{count} are more than {} at once", Bulk::MAX)))
    }

    fn add(&self, owner: &Identity, count: usize, done: usize) -> u64 {
        let mut actions = locked(&self.0);
        actions.0 += 1;
        let id = actions.0;
        let mut state = ActionState {
            owner: owner.clone(),
            id: id.to_string(),
            state: Progress::Running,
            count,
            done: 0,
            failed: 0,
            errors: Vec::new(),
        };
        state.add(done, 0);
        actions.1.insert(id, state);
        let own = actions.1.iter().filter(|(_, state)| state.owner == *owner);
        if MAX_KEPT_OF_IDENTITY < own.clone().count()
            && let Some(old) = own.clone().find(|(_, state)| state.state == Progress::Done).map(|(id, _)| *id)
        {
            actions.1.remove(&old);
        }
        id
    }

    /// One that is done already. Returns its number.
    pub fn finished(&self, owner: &Identity, count: usize) -> u64 {
        self.add(owner, count, count)
    }

    /// One that begins now. Returns its number.
    ///
    /// # Errors
    ///
    /// 429 while as many of this identity go on as may.
    pub fn begin(&self, owner: &Identity, count: usize) -> Result<u64, Problem> {
        let is_of_owner = |state: &&ActionState| state.state == Progress::Running && state.owner == *owner;
        let running = locked(&self.0).1.values().filter(is_of_owner).count();
        if MAX_RUNNING_OF_IDENTITY <= running {
            let text = "two such actions of yours go on already: wait until one is done";
            return Err(Problem::new(Code::TOO_MANY, text).again_after(5));
        }
        Ok(self.add(owner, count, 0))
    }

    /// One of them was dealt with.
    pub fn note(&self, id: u64, name: &str, failure: Option<Problem>) {
        let mut actions = locked(&self.0);
        let Some(state) = actions.1.get_mut(&id) else { return };
        match failure {
            None => state.add(1, 0),
            Some(problem) => {
                state.add(0, 1);
                if state.errors.len() < MAX_ERRORS {
                    state.errors.push(Failure { id: name.to_owned(), detail: problem.detail });
                }
            }
        }
    }

    /// How far one is.
    pub fn state(&self, id: &str) -> Option<ActionState> {
        locked(&self.0).1.get(&id.parse().ok()?).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_with_many_deeds_keeps_no_other_from_its_own() {
        let bulk = Bulk::default();
        let [mara, ada] = ["mara", "ada"].map(|name| Identity::Proxy(name.to_owned()));
        let first = bulk.finished(&ada, 1);
        for _ in 0..MAX_RUNNING_OF_IDENTITY {
            assert!(bulk.begin(&mara, 1).is_ok());
        }
        assert_eq!(bulk.begin(&mara, 1).unwrap_err().code, Code::TOO_MANY);
        assert!(bulk.begin(&ada, 1).is_ok());
        for _ in 0..1_000 {
            bulk.finished(&mara, 1);
        }
        assert!(bulk.state(&first.to_string()).is_some(), "hers is remembered");
        assert_eq!(locked(&bulk.0).1.len(), MAX_KEPT_OF_IDENTITY + 2);
    }
}
