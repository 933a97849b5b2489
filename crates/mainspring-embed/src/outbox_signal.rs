//! A signal to the thread of the outbox: that a row comes, and that the jobs end.
//!
//! | field | guard | why |
//! |---|---|---|
//! | `state` | its mutex; `changed` tells of it | any thread submits, and another ends the jobs |
//!
//! Cost: a lock for each submission, and a notification for the first of several.
//!
//! Does not read the file: see [`outbox`](crate::outbox).

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// How often the file is looked at: the delay of a row that another program wrote, against the cost of an
/// idle one.
pub(crate) const INTERVAL: Duration = Duration::from_millis(250);

/// The same where a row is expected.
const SOON: Duration = Duration::from_millis(10);

/// For how many looks a row is expected: a second. A transaction that is longer has its rows taken by the
/// other interval.
const SOON_LOOKS: u32 = 100;
const _: () = assert!(SOON.as_millis() < INTERVAL.as_millis());
const _: () = assert!(SOON_LOOKS as u128 * SOON.as_millis() == 1_000, "a second");

/// What the program's threads and the thread of the outbox share.
#[derive(Clone, Debug)]
pub(crate) struct OutboxSignal {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    folder: String,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    soon_looks: u32,
    is_over: bool,
}

impl OutboxSignal {
    /// That of a folder of jobs.
    pub(crate) fn of(folder: String) -> OutboxSignal {
        let shared = Shared { folder, state: Mutex::default(), changed: Condvar::new() };
        OutboxSignal { shared: Arc::new(shared) }
    }

    /// The identity of the folder of jobs.
    pub(crate) fn folder(&self) -> &str {
        &self.shared.folder
    }

    /// Has the thread look often: a row was written, and may be committed in a moment.
    pub(crate) fn expect_soon(&self) {
        let mut state = self.shared.lock();
        if state.soon_looks == 0 {
            self.shared.changed.notify_all();
        }
        state.soon_looks = SOON_LOOKS;
    }

    /// Has the thread end.
    pub(crate) fn end(&self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_all();
    }

    /// Whether it is to end.
    pub(crate) fn is_over(&self) -> bool {
        self.shared.lock().is_over
    }

    /// Waits until the next look. Says whether there is one.
    pub(crate) fn wait(&self) -> bool {
        let mut state = self.shared.lock();
        let is_soon = 0 < state.soon_looks;
        let wait = if is_soon { SOON } else { INTERVAL };
        let sleeps = |state: &mut State| !state.is_over && (is_soon || state.soon_looks == 0);
        let waited = self.shared.changed.wait_timeout_while(state, wait, sleeps);
        (state, _) = waited.expect("nothing panics while it holds this lock");
        debug_assert!(state.soon_looks <= SOON_LOOKS, "the other interval is back in a second");
        state.soon_looks = state.soon_looks.saturating_sub(1);
        !state.is_over
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds this lock")
    }
}
