//! The starter: a thread that stands still while a child has the memory of the process.
//!
//! ```text
//!  loop ── launch, descriptors ─▶ starter ── clone ─▶ child ── execve ─▶ the program
//!   ▲                                │ stands still       │
//!   └──────────── its number ────────┴────────────────────┘
//!        └─ or, when it takes too long: from the kernel, and another thread comes for the next
//! ```
//!
//! A fork of a server copies the tables of its pages, and afterwards each page that it writes: of a start of
//! `/bin/true` that was more than half of the processor time. A child that borrows the memory copies nothing,
//! and its thread cannot go on before it has executed the program. A file system that does not answer can
//! make that last, so the thread is not the loop's.
//!
//! Cost: a thread with a stack of 64 KiB for the child, and a notification there and back for each start.
//!
//! Does not lend anything to a child that becomes another user: that one is forked, as elsewhere than on
//! Linux.
//!
//! Source: vfork(2), posix_spawn(3), clone(2) on CLONE_PARENT_SETTID.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use nix::sys::signal::SigSet;
use nix::unistd::Pid;

use crate::sys::{self, Descriptors, Launch, STACK_BYTES};

/// How often it is looked whether the kernel has told the number of a child that is late: it does as soon as
/// the thread has run.
const LOOK: Duration = Duration::from_millis(1);

/// The thread, while there is one that does not stand still.
#[derive(Debug, Default)]
pub struct Starter {
    thread: Option<StarterThread>,
}

/// A child that is there.
pub(crate) struct StartedChild {
    pub(crate) pid: Pid,
    /// Where it tells of its failure; when the program is executed that ends without a word.
    pub(crate) failure: OwnedFd,
    /// How long it is still to be waited for.
    pub(crate) wait: Duration,
}

impl Starter {
    /// Starts a child that becomes what `launch` says, with these streams as its first three. One that
    /// borrows memory is waited for so long, until it has executed the program.
    ///
    /// # Errors
    /// When there is no pipe, no thread or no process.
    pub(crate) fn start(
        &mut self,
        launch: Launch,
        streams: [BorrowedFd<'_>; 3],
        cgroup: Option<BorrowedFd<'_>>,
        wait: Duration,
    ) -> io::Result<StartedChild> {
        let (failure, writer) = io::pipe()?;
        let (failure, writer) = (OwnedFd::from(failure), OwnedFd::from(writer));
        let descriptors = Descriptors {
            streams: streams.map(|stream| stream.as_raw_fd()),
            failure: writer.as_raw_fd(),
            cgroup: cgroup.map(|entry| entry.as_raw_fd()),
        };
        if !launch.may_borrow() {
            return Ok(StartedChild { pid: sys::fork(&launch, descriptors)?, failure, wait });
        }
        let thread = match self.thread.take() {
            Some(thread) => thread,
            None => StarterThread::start()?,
        };
        let pid = Arc::new(AtomicI32::new(0));
        let order = StartOrder { launch, descriptors, writer, pid: Arc::clone(&pid) };
        thread.orders.send(order).map_err(io::Error::other)?;
        let mut answered = thread.children.recv_timeout(wait);
        // The descriptors are the caller's until the child has its own.
        while answered == Err(RecvTimeoutError::Timeout) && pid.load(Ordering::Acquire) == 0 {
            answered = thread.children.recv_timeout(LOOK);
        }
        let wait = Duration::ZERO;
        match answered {
            Ok(cloned) => {
                self.thread = Some(thread);
                let pid = cloned.map_err(io::Error::from_raw_os_error)?;
                Ok(StartedChild { pid, failure, wait })
            }
            // The thread ends when the child has executed its program.
            Err(RecvTimeoutError::Timeout) => {
                Ok(StartedChild { pid: Pid::from_raw(pid.load(Ordering::Acquire)), failure, wait })
            }
            Err(error @ RecvTimeoutError::Disconnected) => Err(io::Error::other(error)),
        }
    }
}

#[derive(Debug)]
struct StarterThread {
    orders: Sender<StartOrder>,
    /// The number of each child, or the error of the call.
    children: Receiver<Result<Pid, i32>>,
}

/// What is to be started.
struct StartOrder {
    launch: Launch,
    descriptors: Descriptors,
    /// Closed when the child has its own.
    writer: OwnedFd,
    /// Where the kernel tells the number.
    pid: Arc<AtomicI32>,
}

impl StarterThread {
    fn start() -> io::Result<StarterThread> {
        let (orders, received) = channel::<StartOrder>();
        let (sender, children) = channel();
        thread::Builder::new().name("starter".to_owned()).spawn(move || {
            // A child has no handler of the server's, and gets no signal before it has given them up.
            let _ = SigSet::all().thread_block();
            let mut stack = vec![0; STACK_BYTES];
            for StartOrder { launch, descriptors, writer, pid } in received {
                let cloned = sys::lend(&launch, descriptors, &mut stack, &pid);
                drop(writer);
                let cloned = cloned.map_err(|error| error.raw_os_error().unwrap_or(libc::EIO));
                if sender.send(cloned).is_err() {
                    return;
                }
            }
        })?;
        Ok(StarterThread { orders, children })
    }
}
