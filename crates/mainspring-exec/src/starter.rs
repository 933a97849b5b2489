//! The starter: threads that stand still, each while a child has the memory of the process.
//!
//! ```text
//!  loop ── launch, descriptors ─▶ starter ── clone ─▶ child ── execve ─▶ the program
//!   ▲                                │ stands still       │
//!   └──────────── its number ────────┴────────────────────┘
//!        └─ or from the kernel, when it takes too long, or when the program is a known one: the next start
//!           has another thread
//! ```
//!
//! A fork of a server copies the tables of its pages, and afterwards each page that it writes: of a start of
//! `/bin/true` that was more than half of the processor time. A child that borrows the memory copies nothing,
//! and its thread cannot go on before it has executed the program. A file system that does not answer can
//! make that last, so the thread is not the loop's.
//!
//! A program that was executed within a second is known. It is not waited for, so that one child is on its
//! way while the next is made: with two cores a server starts half as many again.
//!
//! Cost: a thread with a stack of 64 KiB for each child that is on its way, and a notification there and back
//! for each start. Four threads stay.
//!
//! Does not lend anything to a child that becomes another user: that one is forked, as elsewhere than on
//! Linux.
//!
//! Source: vfork(2), posix_spawn(3), clone(2) on CLONE_PARENT_SETTID.

use std::collections::HashSet;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use nix::sys::signal::SigSet;
use nix::unistd::Pid;

use crate::clock::Moment;
use crate::sys::{self, Descriptors, Launch, STACK_BYTES};

/// How often it is looked whether the kernel has told the number of a child that is late or not waited for:
/// it does as soon as the thread has run.
pub(crate) const LOOK: Duration = Duration::from_micros(50);

/// How long a program is known at most: then it is heard at its start what became of its file.
const KNOWN_FOR: Duration = Duration::from_secs(1);

/// How many programs are known: with more, the others are waited for.
const MAX_KNOWN: usize = 256;

/// How many threads may stand still for what is not waited for, and how many stay that do not.
const MAX_AHEAD: usize = 4;

/// The threads, and what they need not be waited for.
#[derive(Debug, Default)]
pub struct Starter {
    idle: Vec<StarterThread>,
    /// Each stands still, or has done so.
    busy: Vec<StarterThread>,
    known: HashSet<KnownProgram>,
    /// When all were forgotten.
    forgotten: Option<Moment>,
}

/// What was executed: the places where the program may be, and its folder.
pub(crate) type KnownProgram = (Vec<CString>, CString);

/// A child that is there.
pub(crate) struct StartedChild {
    pub(crate) pid: Pid,
    pub(crate) program: KnownProgram,
    /// Where it tells of its failure; when the program is executed that ends without a word.
    pub(crate) failure: OwnedFd,
    /// How long it is still to be waited for.
    pub(crate) wait: Duration,
}

impl Starter {
    /// Starts a child that becomes what `launch` says, with these streams as its first three. One that
    /// borrows memory is waited for so long, until it has executed the program, unless that is known.
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
        let program = (launch.programs.clone(), launch.directory.clone());
        if !launch.may_borrow() {
            return Ok(StartedChild { pid: sys::fork(&launch, descriptors)?, program, failure, wait });
        }
        let thread = self.thread()?;
        assert!(thread.children.try_recv().is_err(), "the number that it tells next is that of this child");
        let is_ahead = self.busy.len() < MAX_AHEAD && self.known.contains(&program);
        let wait = if is_ahead { Duration::ZERO } else { wait };
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
                self.idle.push(thread);
                let pid = cloned.map_err(io::Error::from_raw_os_error)?;
                Ok(StartedChild { pid, program, failure, wait })
            }
            Err(RecvTimeoutError::Timeout) => {
                self.busy.push(thread);
                let pid = Pid::from_raw(pid.load(Ordering::Acquire));
                Ok(StartedChild { pid, program, failure, wait })
            }
            Err(error @ RecvTimeoutError::Disconnected) => Err(io::Error::other(error)),
        }
    }

    /// A program was executed just now.
    pub(crate) fn learn(&mut self, program: KnownProgram) {
        if self.known.len() < MAX_KNOWN {
            self.known.insert(program);
        }
    }

    /// Forgets all programs each second.
    pub(crate) fn forget(&mut self, now: Moment) {
        if self.forgotten.is_none_or(|last| KNOWN_FOR <= now.since(last)) {
            self.known.clear();
            self.forgotten = Some(now);
        }
    }

    /// A thread that does not stand still.
    fn thread(&mut self) -> io::Result<StarterThread> {
        let moves = |thread: &mut StarterThread| thread.children.try_recv().is_ok();
        self.idle.extend(self.busy.extract_if(.., moves));
        self.idle.truncate(MAX_AHEAD);
        self.idle.pop().map_or_else(StarterThread::start, Ok)
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
