//! Commands of the program that the loop runs in: from its threads, without a socket.
//!
//! ```text
//! any thread: Caller ── Call ──▶ notified channel ──▶ loop ─▶ planner ─▶ store ─▶ reply ──▶ the answer's channel
//! ```
//!
//! Cost: two channels and a system call for each call, and one more for each turn that finds any.
//!
//! Does not follow a call: `program` does.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use jiff::Timestamp;
use mainspring_exec::notified_channel::{NotifiedReceiver, NotifyingSender, notified_channel};
use mainspring_job::{Audit, Command, OnceId, Reply, Scope};
use thiserror::Error;

/// The actor of what the program's own code asks for.
const ACTOR: &str = "program";

/// What becomes of a call.
pub type CallResult = Result<Reply, CallRefusal>;

/// Why a call was not told to the planner.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CallRefusal {
    /// The loop ends, or has ended, and the planner was not told.
    #[error("the jobs are shut down")]
    Stopping,
    /// The loop lost the jobs before it could answer, and may have done it: a submission has this id if it is
    /// on record.
    #[error("the jobs are shut down")]
    Lost(Option<OnceId>),
    /// Nothing new is taken now, for this reason.
    #[error("{0}")]
    Now(String),
}

/// What a program asks of the loop in it.
#[derive(Debug)]
pub enum Call {
    /// A command is to be followed.
    Command(Command, Answer),
    /// The loop is to end.
    Stop {
        /// How long what runs has before it is given up.
        patience: Duration,
    },
}

/// The end for the threads of the program.
#[derive(Clone, Debug)]
pub struct Caller(NotifyingSender<Call>);

/// The end for the loop.
pub type Calls = NotifiedReceiver<Call>;

/// Where the loop puts what becomes of a call.
#[derive(Debug)]
pub struct Answer {
    shared: Arc<Mutex<State>>,
    /// The planner was told.
    is_told: bool,
}

/// What a caller waits for: a future, for which a thread waits by [`wait_for`](crate::polling::wait_for). The
/// loop must not wait for that thread.
#[derive(Debug)]
pub struct Promise {
    shared: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    answered: Option<CallResult>,
    waker: Option<Waker>,
}

/// Makes both ends of an answer.
pub fn promise() -> (Answer, Promise) {
    let shared = Arc::default();
    (Answer { shared: Arc::clone(&shared), is_told: false }, Promise { shared })
}

fn lock(shared: &Mutex<State>) -> MutexGuard<'_, State> {
    shared.lock().expect("nothing panics while it holds this lock")
}

impl Answer {
    /// From now on the planner may do it, also if it never answers.
    pub(super) fn tell(&mut self) {
        self.is_told = true;
    }

    /// Gives the answer.
    pub fn give(self, answered: CallResult) {
        self.put(answered);
    }

    /// The first answer counts.
    fn put(&self, answered: CallResult) {
        let mut state = lock(&self.shared);
        if state.answered.is_none() {
            state.answered = Some(answered);
            let waker = state.waker.take();
            drop(state);
            waker.iter().for_each(Waker::wake_by_ref);
        }
    }
}

impl Drop for Answer {
    /// A loop that has ended answers no call.
    fn drop(&mut self) {
        self.put(Err(if self.is_told { CallRefusal::Lost(None) } else { CallRefusal::Stopping }));
    }
}

impl Future for Promise {
    type Output = CallResult;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<CallResult> {
        let mut state = lock(&self.shared);
        match state.answered.take() {
            Some(answered) => Poll::Ready(answered),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// What the audit log keeps of a call, under the word that the same request has over the socket. Of a
/// submission the job itself is the record: there may be thousands a second.
pub fn audit(command: &Command, at: Timestamp) -> Option<Audit> {
    let of_scope = |scope: &Scope| match scope {
        Scope::Job(name) => name.to_string(),
        _ => String::new(),
    };
    let (action, target) = match command {
        Command::Trigger(request) => ("run", request.job.to_string()),
        Command::Pause(scope, _) => ("pause", of_scope(scope)),
        Command::Resume(scope) => ("resume", of_scope(scope)),
        Command::Cancel(key) => ("cancel", key.to_string()),
        Command::Withdraw(id) => ("cancel", id.to_string()),
        Command::Remove(name) => ("remove", name.to_string()),
        _ => return None,
    };
    Some(Audit::new(at, ACTOR, action, target))
}

/// Makes both ends.
///
/// # Errors
///
/// When the operating system gives no socket pair.
pub fn calls() -> io::Result<(Caller, Calls)> {
    let (sender, calls) = notified_channel()?;
    Ok((Caller(sender), calls))
}

impl Caller {
    /// Has a command followed.
    pub fn command(&self, command: Command) -> Promise {
        let (answer, promise) = promise();
        self.call(Call::Command(command, answer));
        promise
    }

    /// Has the loop end: what runs is told at once, and has so long before it is given up.
    pub fn stop(&self, patience: Duration) {
        self.call(Call::Stop { patience });
    }

    fn call(&self, call: Call) {
        // It fails only after the loop has ended, and drops the answer, which says so.
        let _ = self.0.send(call);
    }
}
