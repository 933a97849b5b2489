//! The threads that a driver starts for itself, and their end.
//!
//! ```text
//!   start ──▶ at work ──▶ ended           any thread's wait_for_end:  until all have ended
//!                └─ leaving ─▲            one of its own:             until all others have ended or are leaving
//! ```
//!
//! A thread of the driver that waits for the end, because a callback of its shuts the driver down, is
//! *leaving*: it does not wait for itself, and two that are leaving do not wait for each other.
//!
//! A child of `fork` has one thread, the one that forked. It waits for none of its parent's, which would not
//! end there.
//!
//! | field | guard | why |
//! |---|---|---|
//! | `members`, `is_closed` | `state` | a thread is listed before it is started, so a wait finds it; after a wait has begun none is started |
//! | `changed` | `state` | signalled when a member has ended or is leaving |
//!
//! Cost: a lock when a thread starts and ends, and for each wait. No lock is held while anything is waited
//! for.
//!
//! It does not tell threads to end: drivers do.

use std::io;
use std::mem;
use std::process;
use std::sync::Arc;

use super::handoffs;
use crate::sync::thread::{self, JoinHandle, ThreadId};
use crate::sync::{Condvar, Mutex, PoisonError, lock};

/// A driver's own threads.
pub(super) struct DriverThreads {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    members: Vec<Member>,
    /// The number of the next member.
    next: usize,
    is_closed: bool,
}

struct Member {
    number: usize,
    phase: Phase,
    /// The process that it is a thread of.
    process: u32,
    /// Noted by the thread itself.
    id: Option<ThreadId>,
    /// To be joined; noted by the thread that starts it.
    thread: Option<JoinHandle<()>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    AtWork,
    Leaving,
    Ended,
}

impl DriverThreads {
    pub(super) fn new() -> DriverThreads {
        DriverThreads { shared: Arc::default() }
    }

    /// Starts a thread that runs `run`; tells whether it did, which it does unless the end is being waited
    /// for.
    ///
    /// # Errors
    /// The operating system would not start a thread.
    pub(super) fn start(&self, name: String, run: impl FnOnce() + Send + 'static) -> io::Result<bool> {
        let Some(membership) = Membership::begin(&self.shared) else { return Ok(false) };
        let number = membership.number;
        // With no lock held: where the system refuses, the closure is dropped here, and the membership in it.
        let thread = thread::Builder::new().name(name).spawn(move || {
            // Dropped after `run` and all that it owns.
            let membership = membership;
            membership.note_id();
            run();
        })?;
        if let Some(member) = lock(&self.shared.state).member(number) {
            member.thread = Some(thread);
        }
        Ok(true)
    }

    /// How many threads have been started and not been waited for.
    pub(super) fn len(&self) -> usize {
        lock(&self.shared.state).members.len()
    }

    /// Waits until all threads have ended, but for the calling one and, if it is one of the driver, others
    /// that wait here, and those of another process. From now on none is started.
    pub(super) fn wait_for_end(&self) {
        handoffs::leave();
        let mut state = lock(&self.shared.state);
        state.is_closed = true;
        let own = thread::current().id();
        let own = state.members.iter_mut().find(|member| member.id == Some(own));
        let is_own = own.is_some();
        if let Some(own) = own {
            own.phase = Phase::Leaving;
            self.shared.changed.notify_all();
        }
        // Only where there are members: WebAssembly has no threads and no process, and to ask panics there.
        let is_waited_for = |member: &Member| match member.phase {
            _ if member.process != process::id() => false,
            Phase::AtWork => true,
            Phase::Leaving => !is_own,
            Phase::Ended => false,
        };
        while state.members.iter().any(is_waited_for) {
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if is_own {
            return;
        }
        let members = mem::take(&mut state.members);
        drop(state);
        for member in members {
            let Some(thread) = member.thread else { continue };
            if member.process != process::id() {
                // It names memory of the system's that may serve another thread by now.
                mem::forget(thread);
                continue;
            }
            // It has ended but for what the system does. A panic of its own, outside of callbacks, was
            // printed.
            let _ = thread.join();
        }
    }
}

impl State {
    /// The member with a number; `None` if its end has been waited for.
    fn member(&mut self, number: usize) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.number == number)
    }
}

/// A thread's time at work. Its drop is the last that the thread does for the driver.
struct Membership {
    shared: Arc<Shared>,
    number: usize,
}

impl Membership {
    /// Lists a thread that is about to start; `None` if none is started any more.
    fn begin(shared: &Arc<Shared>) -> Option<Membership> {
        let mut state = lock(&shared.state);
        if state.is_closed {
            return None;
        }
        let number = state.next;
        state.next += 1;
        let member = Member { number, phase: Phase::AtWork, process: process::id(), id: None, thread: None };
        state.members.push(member);
        Some(Membership { shared: Arc::clone(shared), number })
    }

    fn note_id(&self) {
        let id = thread::current().id();
        if let Some(member) = lock(&self.shared.state).member(self.number) {
            member.id = Some(id);
        }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        if let Some(member) = lock(&self.shared.state).member(self.number) {
            member.phase = Phase::Ended;
        }
        self.shared.changed.notify_all();
    }
}
