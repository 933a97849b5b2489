//! A process beside the server that ends what the server started, where the server cannot do it any more.
//!
//! ```text
//!  server ── "+812 /sys/fs/cgroup/../run-812-1", "*813", "=91000", "-812" ──▶ pipe ──▶ keeper: groups, deadline
//!  the server is killed:   the pipe ends         ─▶ SIGKILL to all groups, and the keeper ends
//!  it is stopped:          the deadline is over  ─▶ SIGKILL to the groups with `+`; a later deadline begins again
//! ```
//!
//! | `on_lease_loss` | `on_server_death` | the keeper ends it |
//! |---|---|---|
//! | `kill` | any | at the deadline, and with the server: `+` |
//! | `leave` | `kill` | with the server: `*` |
//! | `leave` | `leave` | never, and is not told of it |
//!
//! The deadline is a boot time, and before the time at which another server may have the jobs. The keeper is
//! in a session of its own, so that what ends the server's group or terminal does not end it. A server whose
//! keeper was killed starts another.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `groups`, `until`, `unsent` | the server's loop | the server's loop |
//!
//! Cost: a small process; some bytes on a pipe when a run starts, when it is over, and each second.
//!
//! Does not reach what has left its group, unless it is in its cgroup; nor a run whose start it was not told
//! of yet, in the microseconds after the fork. Does nothing while the whole machine stands still.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::unistd::{Pid, setsid};

use crate::clock::boot_time;
use crate::descriptors::MAX_RUNNING;
use crate::kernel;
use crate::spec::ProcessSpec;
use mainspring_action::names::Fate;

/// The word by which the program becomes a keeper.
pub const COMMAND: &str = "keeper";

/// How much later a deadline must be than the last that was told: each commit gives one.
const STEP: Duration = Duration::from_secs(1);

/// What a server that is to be read later may leave in memory: some thousand runs.
const MAX_UNSENT_BYTES: usize = 1 << 20;

const _: () = assert!(MAX_RUNNING * 1_024 <= MAX_UNSENT_BYTES, "all that a new keeper is told may wait");

/// Until when a group may go on without its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// Until the deadline, and not without the server.
    Lease,
    /// As long as there is a server.
    Server,
}

impl Bound {
    /// That of a run; `None` where the keeper has nothing to do with it.
    pub(crate) fn of(spec: &ProcessSpec) -> Option<Bound> {
        match (spec.on_lease_loss, spec.attributes.on_server_death) {
            (Fate::Kill, _) => Some(Bound::Lease),
            (Fate::Leave, Fate::Kill) => Some(Bound::Server),
            (Fate::Leave, Fate::Leave) => None,
        }
    }
}

/// A group that the keeper ends.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    bound: Bound,
    cgroup: Option<PathBuf>,
}

/// The server's end.
#[derive(Debug)]
pub struct Keeper {
    child: Child,
    pipe: Option<ChildStdin>,
    /// What the keeper is to end, by the number of the group.
    groups: BTreeMap<u32, Group>,
    until: Duration,
    /// What did not fit into the pipe.
    unsent: Vec<u8>,
}

impl Keeper {
    /// Starts one.
    ///
    /// # Errors
    /// When the operating system gives no process.
    pub fn start() -> io::Result<Keeper> {
        let (child, pipe) = spawn()?;
        let (groups, until) = (BTreeMap::new(), Duration::ZERO);
        Ok(Keeper { child, pipe: Some(pipe), groups, until, unsent: Vec::new() })
    }

    /// What is bound to the lease may go on until this boot time.
    pub fn holds_until(&mut self, until: Duration) {
        if self.until + STEP <= until {
            self.until = until;
            self.tell(&line_until(until));
        }
    }

    pub(crate) fn add(&mut self, number: u32, bound: Bound, cgroup: Option<&Path>) {
        assert!(1 < number, "the keeper takes no such number for a run's");
        let group = Group { bound, cgroup: cgroup.map(Path::to_owned) };
        self.tell(&line_added(number, &group));
        self.groups.insert(number, group);
    }

    pub(crate) fn remove(&mut self, group: u32) {
        if self.groups.remove(&group).is_some() {
            self.tell(&format!("-{group}\n"));
        }
    }

    /// Writes what has waited; starts another keeper if it has gone.
    pub(crate) fn turn(&mut self) {
        if !self.unsent.is_empty() || self.pipe.is_none() {
            self.tell("");
        }
    }

    fn tell(&mut self, text: &str) {
        self.unsent.extend_from_slice(text.as_bytes());
        if self.write().is_err() || MAX_UNSENT_BYTES < self.unsent.len() {
            self.begin_anew();
        }
    }

    fn write(&mut self) -> io::Result<()> {
        let pipe = self.pipe.as_mut().ok_or(ErrorKind::BrokenPipe)?;
        while !self.unsent.is_empty() {
            match pipe.write(&self.unsent) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Another keeper is told all. One that cannot be started is tried again with the next word.
    fn begin_anew(&mut self) {
        // The old one, if it is only stopped, must not end what the new one keeps.
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.pipe = None;
        self.unsent.clear();
        let Ok((child, pipe)) = spawn() else { return };
        (self.child, self.pipe) = (child, Some(pipe));
        let groups = self.groups.iter().map(|(number, group)| line_added(*number, group));
        let all: String = [line_until(self.until)].into_iter().chain(groups).collect();
        self.unsent = all.into_bytes();
        // What fails here fails with the next word too.
        let _ = self.write();
    }
}

impl Drop for Keeper {
    /// The pipe ends, and what was not taken away is ended.
    fn drop(&mut self) {
        let _ = self.write();
        self.pipe = None;
        let _ = self.child.wait();
    }
}

fn line_until(until: Duration) -> String {
    format!("={}\n", until.as_millis())
}

fn line_added(number: u32, group: &Group) -> String {
    let sign = match group.bound {
        Bound::Lease => '+',
        Bound::Server => '*',
    };
    let cgroup = group.cgroup.as_ref().map(|folder| format!(" {}", folder.display())).unwrap_or_default();
    format!("{sign}{number}{cgroup}\n")
}

fn spawn() -> io::Result<(Child, ChildStdin)> {
    let mut command = Command::new(kernel::own_program()?);
    command.arg0("mainspring-keeper").arg(COMMAND).env_clear();
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let pipe = child.stdin.take().ok_or(ErrorKind::BrokenPipe)?;
    fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    Ok((child, pipe))
}

/// What the keeper knows.
#[derive(Debug, Default)]
struct KeeperState {
    groups: BTreeMap<i32, Group>,
    /// None: the deadline was over, and no later one came.
    until: Option<Duration>,
    /// The beginning of a line.
    part: Vec<u8>,
}

impl KeeperState {
    fn take(&mut self, bytes: &[u8]) {
        self.part.extend_from_slice(bytes);
        while let Some(end) = self.part.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.part.drain(..=end).collect();
            self.take_line(String::from_utf8_lossy(&line).trim_end());
        }
    }

    fn take_line(&mut self, line: &str) {
        let Some((sign, rest)) = line.split_at_checked(1) else { return };
        let (number, folder) =
            rest.split_once(' ').map_or((rest, None), |(number, folder)| (number, Some(folder)));
        match (sign, number.parse::<i32>(), number.parse::<u64>()) {
            // No group has the number 0 or 1 that is a run's.
            ("+", Ok(number @ 2..), _) => self.add(number, Bound::Lease, folder),
            ("*", Ok(number @ 2..), _) => self.add(number, Bound::Server, folder),
            ("-", Ok(number), _) => drop(self.groups.remove(&number)),
            ("=", _, Ok(ms)) => self.until = Some(Duration::from_millis(ms)),
            _ => {}
        }
    }

    fn add(&mut self, number: i32, bound: Bound, folder: Option<&str>) {
        self.groups.insert(number, Group { bound, cgroup: folder.map(PathBuf::from) });
    }

    /// The deadline is over.
    fn end_with_lease(&mut self) {
        self.groups.iter().filter(|(_, group)| group.bound == Bound::Lease).for_each(end);
        self.until = None;
    }

    /// How long the pipe is waited for.
    fn wait(&self, now: Duration) -> PollTimeout {
        let Some(until) = self.until else { return PollTimeout::NONE };
        // Rounded up: one that is looked at too early waits again.
        let left_ms = until.saturating_sub(now).as_millis() + 1;
        PollTimeout::try_from(left_ms).unwrap_or(PollTimeout::MAX)
    }
}

/// Ends a group. It stays known: a server that was stopped takes it away.
fn end((number, group): (&i32, &Group)) {
    if let Some(cgroup) = &group.cgroup {
        let _ = fs::write(cgroup.join("cgroup.kill"), "1");
    }
    let _ = killpg(Pid::from_raw(*number), Signal::SIGKILL);
}

/// Is the keeper: reads from standard input until that ends.
///
/// # Errors
/// When standard input cannot be waited for: then all groups were ended.
pub fn keep() -> io::Result<()> {
    // A session of its own. It fails for the first process of a session, which has one.
    let _ = setsid();
    // It ends when the server does, and not when a service manager asks both: the server has runs until then.
    let blocked =
        [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT].into_iter().collect::<SigSet>();
    let _ = blocked.thread_block();
    let mut state = KeeperState::default();
    // A copy without a buffer: poll sees all that is not read.
    let mut input = fs::File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut buffer = [0; 4_096];
    let ended = loop {
        if state.until.is_some_and(|until| until <= boot_time()) {
            state.end_with_lease();
        }
        match poll(&mut [PollFd::new(input.as_fd(), PollFlags::POLLIN)], state.wait(boot_time())) {
            Ok(0) | Err(nix::errno::Errno::EINTR) => continue,
            Err(error) => break Err(error.into()),
            Ok(_) => {}
        }
        match input.read(&mut buffer) {
            Ok(0) => break Ok(()),
            Ok(count) => state.take(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => break Err(error),
        }
    };
    state.groups.iter().for_each(end);
    ended
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;
    use crate::attributes::Attributes;
    use crate::specs;
    use mainspring_action::process::ProcessBody;
    use mainspring_host::accounts::users::Users;
    use mainspring_job::Policies;

    #[test]
    fn a_keeper_knows_what_it_was_told_however_the_lines_are_cut() {
        let group = |bound, cgroup: Option<&str>| Group { bound, cgroup: cgroup.map(PathBuf::from) };
        let all = [
            (812, group(Bound::Lease, None)),
            (813, group(Bound::Lease, Some("/sys/fs/cgroup/a b"))),
            (814, group(Bound::Server, Some("/sys/fs/cgroup/c"))),
        ];
        let (until, gone) = (line_until(Duration::from_millis(1_500)), line_added(9, &all[0].1));
        let added: String = all.iter().map(|(number, group)| line_added(*number, group)).collect();
        let text = format!("{until}{gone}-9\n{added}");
        for size in [1, 3, 4_096] {
            let mut state = KeeperState::default();
            text.as_bytes().chunks(size).for_each(|bytes| state.take(bytes));
            assert_eq!(state.until, Some(Duration::from_millis(1_500)));
            let groups: Vec<_> =
                state.groups.into_iter().map(|(number, group)| (number.unsigned_abs(), group)).collect();
            assert_eq!(groups, all);
        }
    }

    #[test]
    fn what_is_no_group_of_a_run_is_never_ended() {
        let mut state = KeeperState::default();
        state.take(b"+0\n+1\n+-1\n+x\n\n+\n*0\n*1\n*-1\n");
        assert!(state.groups.is_empty());
    }

    #[test]
    fn what_is_left_with_its_lease_and_with_its_server_is_no_matter_of_the_keeper() {
        let ourselves = mainspring_host::accounts::Account::ourselves().unwrap();
        let body = ProcessBody { run: vec!["true".into()], ..ProcessBody::default() };
        let usual = specs::process(body, &Users::new(ourselves), &Policies::default()).unwrap();
        for (on_lease_loss, on_server_death, expected) in [
            (Fate::Kill, Fate::Leave, Some(Bound::Lease)),
            (Fate::Kill, Fate::Kill, Some(Bound::Lease)),
            (Fate::Leave, Fate::Kill, Some(Bound::Server)),
            (Fate::Leave, Fate::Leave, None),
        ] {
            let attributes = Attributes { on_server_death, ..Attributes::default() };
            let spec = ProcessSpec { on_lease_loss, attributes, ..usual.clone() };
            assert_eq!(Bound::of(&spec), expected, "{on_lease_loss:?} {on_server_death:?}");
        }
    }

    /// A process that is the first of a group of its own, and sleeps.
    fn sleeper() -> Child {
        Command::new("sleep").arg("1000").process_group(0).spawn().unwrap()
    }

    #[test]
    fn what_is_bound_to_the_server_outlives_the_deadline_alone() {
        let (mut of_lease, mut of_server) = (sleeper(), sleeper());
        let mut state = KeeperState::default();
        state.take(format!("=1\n+{}\n*{}\n", of_lease.id(), of_server.id()).as_bytes());
        state.end_with_lease();
        assert_eq!(of_lease.wait().unwrap().signal(), Some(9));
        state.take(format!("-{}\n", of_lease.id()).as_bytes());
        assert_eq!(of_server.try_wait().unwrap(), None, "it was sent nothing");
        state.groups.iter().for_each(end);
        assert_eq!(of_server.wait().unwrap().signal(), Some(9));
    }

    #[test]
    fn a_deadline_is_waited_for_and_no_longer() {
        let mut state = KeeperState::default();
        assert_eq!(state.wait(Duration::ZERO), PollTimeout::NONE);
        state.take(b"=1500\n");
        assert_eq!(state.wait(Duration::from_millis(500)), PollTimeout::from(1_001u16));
        assert_eq!(state.wait(Duration::from_secs(9)), PollTimeout::from(1u16));
    }
}
