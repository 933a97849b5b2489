//! Commands of the program that the loop runs in: from its threads, without a socket.
//!
//! ```text
//! any thread: Caller ── Call ──▶ channel, bell ──▶ loop ─▶ planner ─▶ store ─▶ reply ──▶ the answer's channel
//! ```
//!
//! Cost: two channels and a system call for each call, and one more for each turn that finds any.
//!
//! Does not follow a call: [`program`](super::program) does.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use mainspring_job::{Command, Reply};

use mainspring_exec::bell::{Bell, Ring, bell};

/// Gets the reply to a call, or why there is none.
pub type Answer = Sender<Result<Reply, Refused>>;

/// Why a call was not told to the planner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The loop ends, or has ended.
    Stopping,
    /// Nothing new is taken now, for this reason.
    Now(String),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Stopping => f.write_str("the jobs are shut down"),
            Refused::Now(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Refused {}

/// What a program asks of the loop in it.
#[derive(Debug)]
pub(super) enum Call {
    Command(Command, Answer),
    Stop { patience: Duration },
}

/// The end for the threads of the program.
#[derive(Clone, Debug)]
pub struct Caller {
    sender: Sender<Call>,
    ring: Ring,
}

/// The end for the loop.
#[derive(Debug)]
pub struct Calls {
    receiver: Receiver<Call>,
    bell: Bell,
    /// While it is held, the bell is not readable for good after the last caller is gone.
    ring: Ring,
}

/// Makes both ends.
///
/// # Errors
///
/// When the operating system gives no socket pair.
pub fn calls() -> io::Result<(Caller, Calls)> {
    let (sender, receiver) = channel();
    let (ring, bell) = bell()?;
    Ok((Caller { sender, ring: ring.clone() }, Calls { receiver, bell, ring }))
}

impl Caller {
    /// Has a command followed. The answer is dropped unsent if the loop ends before there is one.
    pub fn command(&self, command: Command, answer: Answer) {
        self.call(Call::Command(command, answer));
    }

    /// Has the loop end: what runs is told at once, and has so long before it is given up.
    pub fn stop(&self, patience: Duration) {
        self.call(Call::Stop { patience });
    }

    fn call(&self, call: Call) {
        // It fails only after the loop has ended, and drops the answer.
        let _ = self.sender.send(call);
        self.ring.ring();
    }
}

impl Calls {
    /// Forgets the rings so far: calls are looked for afterwards.
    pub(super) fn quiet(&self) {
        self.bell.quiet();
    }

    /// The next call, if there is one.
    pub(super) fn next(&self) -> Option<Call> {
        self.receiver.try_recv().ok()
    }

    /// Has the loop look again.
    pub(super) fn look_again(&self) {
        self.ring.ring();
    }
}

impl AsFd for Calls {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
