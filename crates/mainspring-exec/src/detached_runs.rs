//! Runs that go on without the server that started them, which lost the jobs.
//!
//! ```text
//! Executor::leave ─▶ thread: what they write is read and thrown away, what they have to read is written
//!                            both outputs closed, program ended and reaped ─▶ forgotten; the last one: the thread ends
//! ```
//!
//! Without a reader such a run would be ended by SIGPIPE, or wait at a full pipe. It gets no signal and has
//! no timeout any more: its number may be a stranger's as soon as the program has ended. It is reaped by a
//! descriptor of the process, which is never a stranger's.
//!
//! Cost: a thread for each lease that was lost while something is left, and up to four descriptors for each
//! run that is. An executor leaves at most as many as it may run.
//!
//! Does not outlive the server's process: then a run is as one whose server was killed. Where the system
//! gives no thread it is so at once.
//!
//! Source: pidfd_open(2).

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::thread;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::kernel::EndWatch;
use crate::pipe::{InputPipe, OutputPipe, READ_BYTES};

/// How long a program may have ended that nothing tells of, in milliseconds, until it is reaped.
const LOOK_INTERVAL_MS: u16 = 1_000;

/// What the server still has of a detached run.
#[derive(Debug)]
pub(crate) struct DetachedRun {
    /// The program, until it is reaped. `None` too where the kernel has no such descriptor: then it is reaped
    /// when the server ends.
    pub(crate) program: Option<EndWatch>,
    pub(crate) input: Option<InputPipe>,
    pub(crate) outputs: [OutputPipe; 2],
}

/// Serves these until they have ended.
pub(crate) fn serve(detached: Vec<DetachedRun>) {
    if !detached.is_empty() {
        let serving = thread::Builder::new().name("detached".to_owned()).spawn(|| serve_all(detached));
        drop(serving);
    }
}

fn serve_all(mut detached: Vec<DetachedRun>) {
    let mut buffer = vec![0; READ_BYTES];
    while !detached.is_empty() {
        let Ok(ready) = wait(&detached) else { return };
        detached.retain_mut(|run| {
            run.advance(&ready, &mut buffer);
            !run.is_over()
        });
    }
}

/// Waits until something can be done, and returns the descriptors of that.
fn wait(detached: &[DetachedRun]) -> Result<Vec<RawFd>, Errno> {
    let readable =
        detached.iter().flat_map(DetachedRun::readable).map(|fd| PollFd::new(fd, PollFlags::POLLIN));
    let writable = detached.iter().filter_map(|run| run.input.as_ref()?.fd());
    let mut fds: Vec<PollFd<'_>> =
        readable.chain(writable.map(|fd| PollFd::new(fd, PollFlags::POLLOUT))).collect();
    let is_asked = |run: &DetachedRun| run.program.as_ref().is_some_and(|program| program.fd().is_none());
    let wait = if detached.iter().any(is_asked) { LOOK_INTERVAL_MS.into() } else { PollTimeout::NONE };
    match poll(&mut fds, wait) {
        Err(Errno::EINTR) => Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(_) => {
            let ready = fds.iter().filter(|fd| fd.any().unwrap_or(true));
            Ok(ready.map(|fd| fd.as_fd().as_raw_fd()).collect())
        }
    }
}

impl DetachedRun {
    fn readable(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let program = self.program.as_ref().and_then(EndWatch::fd);
        program.into_iter().chain(self.outputs.iter().filter_map(OutputPipe::fd))
    }

    fn advance(&mut self, ready: &[RawFd], buffer: &mut [u8]) {
        let is_ready = |fd: BorrowedFd<'_>| ready.contains(&fd.as_raw_fd());
        if let Some(input) = self.input.as_mut().filter(|input| input.fd().is_some_and(is_ready)) {
            input.write();
        }
        for output in self.outputs.iter_mut().filter(|output| output.fd().is_some_and(is_ready)) {
            output.read_bytes(buffer, &mut |_| {});
        }
        self.program.take_if(|program| program.fd().is_none_or(is_ready) && program.reap());
    }

    fn is_over(&self) -> bool {
        self.program.is_none() && self.outputs.iter().all(OutputPipe::is_closed)
    }
}
