//! One run of a process, from its start to the end of its output.
//!
//! ```text
//! started ──program exits──▶ draining ──both pipes closed──▶ over
//!    │ timeout, kill()           └─OUTPUT_WAIT──▶ lingering ──┘    a process in the background still holds a pipe
//!    └──▶ killing: the steps of the kill sequence, each after the wait of the one before; SIGKILL is the last
//! ```
//!
//! The end is reported when the program has exited and all its output was read. If something that it left in
//! the background keeps the output open, the end is reported after [`OUTPUT_WAIT`] all the same: what the
//! program wrote itself is in the pipes by then and is read first. Lines that come later are still reported
//! until the output is closed. What a program left behind that ended by itself is no run: nothing signals it.
//! Of an output beyond the cap of the spec the head is reported as it comes and the tail at the end, with a
//! note of how much is left out between them: see `outputs`. So a talkative program neither fills the disk
//! nor stops, and its last words are kept.
//!
//! Cost: at most five system calls per turn of the loop.
//!
//! Does not decide what an end means: that is told to [`Reports`].

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::cgroup::Cgroup;
use crate::clock::Moment;
use crate::detached_runs::DetachedRun;
use crate::end::{End, KillCause, Outcome, Reports};
use crate::output::{Piece, Stream};
use crate::outputs::Outputs;
use crate::pipe::InputPipe;
use crate::process::{Process, StartError};
use crate::spec::{KillSequence, ProcessSpec};
use crate::starter::Starter;
use mainspring_action::names::Fate;

/// How long after the end of a program its output may still be held open before its end is reported. What the
/// program wrote is in the pipes when it ends, so this is for the last process of a pipeline that it did not
/// wait for. Each run of a program that leaves a daemon behind takes so much longer.
pub const OUTPUT_WAIT: Duration = Duration::from_millis(20);

/// The same of a program that is killed: what it started is being killed too, and closes the output.
const KILLED_OUTPUT_WAIT: Duration = Duration::from_secs(1);

/// How often is looked whether what outlives a killed program has ended. Short against the grace of a kill,
/// and few looks for a run that takes all of that.
const SURVIVORS_LOOK: Duration = Duration::from_millis(50);

const _: () = assert!(OUTPUT_WAIT.as_nanos() < KILLED_OUTPUT_WAIT.as_nanos());
const _: () = assert!(10 * SURVIVORS_LOOK.as_nanos() <= KILLED_OUTPUT_WAIT.as_nanos());

/// What the output of a run that is left ends with.
const LEFT_TEXT: &str =
    "the server has lost the jobs: this continues without it, and what it writes from now on is not kept";

/// A process that runs, or whose output is not at its end.
#[derive(Debug)]
pub struct Run<K> {
    key: K,
    process: Process,
    /// What holds it and all that it has started.
    cgroup: Option<Cgroup>,
    input: Option<InputPipe>,
    output: Outputs,
    started: Moment,
    timeout: Option<Duration>,
    kill: KillSequence,
    on_lease_loss: Fate,
    killing: Option<Killing>,
    /// How and when the program ended, or was first seen to have ended.
    ended: Option<(Outcome, Moment)>,
    end_is_reported: bool,
    /// When a deadline came last.
    looked: Option<Moment>,
}

/// Where a kill sequence stands.
#[derive(Clone, Copy, Debug)]
struct Killing {
    cause: KillCause,
    /// When the last signal was sent.
    since: Moment,
    /// How long from then until SIGKILL; `None` after that.
    wait: Option<Duration>,
}

impl<K> Run<K> {
    /// Starts what `spec` says in a cgroup, with `variables` on top of its environment, and waits so long for
    /// it to be executed.
    ///
    /// # Errors
    ///
    /// See [`StartError`]; nothing runs then.
    pub(crate) fn start(
        starter: &mut Starter,
        spec: &ProcessSpec,
        variables: &[(String, String)],
        key: K,
        (now, wait): (Moment, Duration),
        cgroup: Option<Cgroup>,
    ) -> Result<Run<K>, StartError> {
        let entry = cgroup.as_ref().map(Cgroup::entry);
        let (process, input, output) = Process::spawn(starter, spec, variables, entry, wait)?;
        debug_assert_eq!(input.is_some(), spec.body.stdin.is_some(), "what has an input can read it");
        Ok(Run {
            key,
            process,
            cgroup,
            input,
            output,
            started: now,
            timeout: spec.timeout,
            kill: spec.kill,
            on_lease_loss: spec.on_lease_loss,
            killing: None,
            ended: None,
            end_is_reported: false,
            looked: None,
        })
    }

    /// What the loop calls the run.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// Whether it has not executed its program yet.
    pub fn is_starting(&mut self) -> bool {
        self.process.is_starting()
    }

    /// The number of the process.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Does what can be done without waiting: feeds the input, reports the output, and reports the end when
    /// it has come with all output. Of a running program's output at most `share` bytes are read.
    pub fn advance(&mut self, now: Moment, buffer: &mut [u8], share: usize, reports: &mut dyn Reports<K>) {
        // The end is looked for before the output is read: what the program wrote before it ended is in the
        // pipe by now.
        if self.ended.is_none() {
            self.ended = self.process.outcome().map(|outcome| (outcome, now));
        }
        if let Some(input) = &mut self.input {
            input.write();
        }
        // No reader is as fast as some programs write, so each gets a share of a turn; only what was written
        // before the end is to stand before the end.
        let is_ending = self.ended.is_some() && !self.end_is_reported;
        let share = if is_ending { buffer.len() } else { share.min(buffer.len()) };
        self.output.read(&mut buffer[..share], &mut |stream, piece| reports.line(&self.key, stream, piece));
        if self.output.is_closed() {
            self.output.finish_lines(&mut |stream, piece| reports.line(&self.key, stream, piece));
        }
        if let Some((outcome, at)) = self.ended.clone().filter(|_| is_ending && self.output.is_closed()) {
            self.report_end(Some(outcome), at, reports);
        }
    }

    /// Does what is to be done because its [`deadline`](Self::deadline) has come: kills, or reports an end
    /// although the output is still held open. Nothing before.
    pub fn elapse(&mut self, now: Moment, buffer: &mut [u8], reports: &mut dyn Reports<K>) {
        self.looked = Some(now);
        let is_due = |due: Option<Instant>| due.is_some_and(|due| due <= now.monotonic);
        if is_due(self.kill_deadline()) {
            match self.killing {
                None => self.kill(KillCause::Timeout, now),
                Some(_) => self.kill_at_once(now),
            }
        }
        if let Some((outcome, at)) = self.ended.clone().filter(|_| is_due(self.output_deadline())) {
            // What the program itself wrote is to stand before its end, also without a line end.
            self.output.drain(buffer, &mut |stream, piece| reports.line(&self.key, stream, piece));
            self.output.finish_lines(&mut |stream, piece| reports.line(&self.key, stream, piece));
            self.report_end(Some(outcome), at, reports);
        }
    }

    /// Begins the kill sequence, if it has not begun and the program has not ended by itself.
    pub fn kill(&mut self, cause: KillCause, now: Moment) {
        if self.killing.is_some() || self.ended.is_some() {
            return;
        }
        let KillSequence { signal, wait } = self.kill;
        self.send(signal);
        // A stopped process sees a signal only when it is continued.
        self.process.signal(Signal::SIGCONT);
        let wait = (signal != Signal::SIGKILL).then_some(wait);
        self.killing = Some(Killing { cause, since: now, wait });
    }

    /// Kills the whole group at once, unless the program has ended by itself.
    pub fn kill_at_once(&mut self, now: Moment) {
        if self.has_left() {
            return;
        }
        let cause = self.killing.map_or(KillCause::Requested, |killing| killing.cause);
        self.send(Signal::SIGKILL);
        self.killing = Some(Killing { cause, since: now, wait: None });
    }

    /// Whether nothing more can come of this run.
    pub fn is_over(&self) -> bool {
        self.ended.is_some() && self.output.is_closed() && !self.is_outlived()
    }

    /// Whether its end is reported, and something in the background holds its output open.
    pub fn is_lingering(&self) -> bool {
        self.end_is_reported && !self.is_over()
    }

    /// Whether its program has ended by itself, so that all that is there of it is left behind.
    pub(crate) fn has_left(&self) -> bool {
        self.ended.is_some() && self.killing.is_none()
    }

    /// When time alone changes something: its timeout, the next step of killing, the end of the wait for its
    /// output. `None`: never.
    pub fn deadline(&self) -> Option<Instant> {
        let deadlines = [self.kill_deadline(), self.output_deadline(), self.survivors_deadline()];
        deadlines.into_iter().flatten().min()
    }

    fn kill_deadline(&self) -> Option<Instant> {
        let (since, wait) = match self.killing {
            None if self.ended.is_some() => return None,
            None => (self.started, self.timeout?),
            Some(Killing { since, wait, .. }) => (since, wait?),
        };
        // A timeout beyond what the clock can show is none.
        since.monotonic.checked_add(wait)
    }

    fn output_deadline(&self) -> Option<Instant> {
        let (_, at) = self.ended.as_ref().filter(|_| !self.end_is_reported)?;
        at.monotonic.checked_add(if self.killing.is_some() { KILLED_OUTPUT_WAIT } else { OUTPUT_WAIT })
    }

    /// When to look again whether what outlives the program has ended: nothing tells of that.
    fn survivors_deadline(&self) -> Option<Instant> {
        let (_, at) = self.ended.as_ref().filter(|_| self.output.is_closed() && self.is_outlived())?;
        let looked = self.looked.map_or(at.monotonic, |looked| looked.monotonic);
        looked.checked_add(SURVIVORS_LOOK)
    }

    /// Adds what to poll: pipes with output to read, then a pipe that takes input.
    pub fn watch<'a>(&'a self, readable: &mut Vec<BorrowedFd<'a>>, writable: &mut Vec<BorrowedFd<'a>>) {
        readable.extend(self.output.stdout.fd());
        readable.extend(self.output.stderr.fd());
        writable.extend(self.input.as_ref().and_then(InputPipe::fd));
    }

    /// Ends the run whatever its state, and frees the number of its group. Returned is its cgroup, to be
    /// removed.
    pub(crate) fn close(mut self, now: Moment, reports: &mut dyn Reports<K>) -> Option<Cgroup> {
        if self.is_outlived() {
            self.send(Signal::SIGKILL);
        }
        self.output.close(&mut |stream, piece| reports.line(&self.key, stream, piece));
        if !self.end_is_reported {
            let (outcome, at) = self.ended.take().map_or((None, now), |(outcome, at)| (Some(outcome), at));
            self.report_end(outcome, at, reports);
        }
        self.process.reap();
        self.cgroup
    }

    /// Whether it continues when the server loses the jobs. What was to end before that ends.
    pub(crate) fn is_to_be_detached(&self) -> bool {
        self.on_lease_loss == Fate::Leave && self.killing.is_none()
    }

    /// Gives the run up as it is. Reported is what it has written, and its end only if the program has ended
    /// already. Returned are its key, what is to be served from now on, and its cgroup.
    pub(crate) fn leave(mut self, reports: &mut dyn Reports<K>) -> (K, DetachedRun, Option<Cgroup>) {
        self.output.finish_lines(&mut |stream, piece| reports.line(&self.key, stream, piece));
        match self.ended.take().filter(|_| !self.end_is_reported) {
            Some((outcome, at)) => self.report_end(Some(outcome), at, reports),
            None if self.end_is_reported => {}
            None => reports.line(&self.key, Stream::Note, &Piece::line(LEFT_TEXT)),
        }
        let outputs = [self.output.stdout, self.output.stderr];
        (self.key, DetachedRun { program: self.process.leave(), input: self.input, outputs }, self.cgroup)
    }

    /// Sends a signal to the group of processes, and SIGKILL to the cgroup, too: what has left the one is in
    /// the other.
    fn send(&self, signal: Signal) {
        self.process.signal(signal);
        if let (Signal::SIGKILL, Some(cgroup)) = (signal, &self.cgroup) {
            cgroup.kill();
        }
    }

    /// Where its cgroup is, if it has one.
    pub(crate) fn cgroup_folder(&self) -> Option<&Path> {
        self.cgroup.as_ref().map(Cgroup::folder)
    }

    /// Whether it is being killed and something that it started is still there, in its cgroup.
    fn is_outlived(&self) -> bool {
        self.killing.is_some() && self.cgroup.as_ref().is_some_and(Cgroup::is_populated)
    }

    fn report_end(&mut self, outcome: Option<Outcome>, at: Moment, reports: &mut dyn Reports<K>) {
        debug_assert!(!self.end_is_reported, "the end of a run is told once");
        self.end_is_reported = true;
        let end = End {
            is_success: outcome == Some(Outcome::Exited(0)),
            outcome,
            after: at.since(self.started),
            cause: self.killing.map(|killing| killing.cause),
            dropped_bytes: self.output.dropped_bytes,
            is_output_held: !self.output.is_closed(),
            retry_at: None,
        };
        reports.ended(&self.key, &end);
    }
}
