//! A child from fork to exec, or from a clone that borrows this process's memory until then: with `kernel`,
//! the only unsafe code of this crate.
//!
//! ```text
//! sigaction, sigprocmask   no signal is handled, ignored or held back: until then, and from before the fork, all are held back
//! write                    a cgroup of its own, where there is one: all that it starts is in it from here on
//! setsid                   no terminal, and a process group of its own
//! dup2, close_range        standard input, output and error; all else is closed, whatever opened it
//! keyctl                   for another user a session keyring of its own, which is empty
//! oom_score_adj            another user is not shielded from the lack of memory as the server may be
//! sched_setscheduler       nor does that user's job go before others, as a server may that was started so
//! prctl, personality       nor does it keep capabilities over a change of user, or lie in memory where others know it
//! setrlimit                the limit of open files is what it was before the server raised it
//! nice, limits ..          while still root, who alone may raise them: see `attributes.rs`
//! setgroups, setgid        while still root
//! setuid, capset           gives root up for good, and what a program would inherit of its capabilities
//! prctl                    until it executes a program, its user can neither trace it nor get a core of it
//! chdir                    as the user, who may be able to enter the home directory where root is not (NFS)
//! umask ..                 the attributes that a change of user would take back: see `attributes.rs`
//! execve                   the program, as the first of its places in PATH
//! ```
//!
//! A process with the server's terminal could put characters into its input (TIOCSTI), which the server's
//! shell would execute after its end, and write escape sequences to it. So each run is a session of its own,
//! for which a terminal is never opened.
//!
//! From setuid on the child is a process of its user, who may stop it, send it any signal, and let it wait in
//! a directory or for a program of a file system of that user's making. So the server does not wait for it as
//! the standard library does: what failed comes through a pipe, which exec closes. The server's handlers of
//! signals, which write into pipes of the server's, are gone before; so are its descriptors, since one that
//! stayed open would keep the store locked after the server's end.
//!
//! Cost: a fork, some system calls, and one per signal to see what is to become of it. A fork copies the
//! tables of all pages of this process, and each page that is written while the child has it; a clone that
//! borrows them copies none, and its thread stands still meanwhile: see [`starter`](crate::starter).
//!
//! Does not look anything up, and does not allocate in the child: everything comes in ready, see [`Launch`].
//!
//! Source: setsid(2), TIOCSTI(2const), initgroups(3), setuid(2), setpriority(2), PR_SET_PDEATHSIG(2const),
//! close_range(2), sigaction(2), execvp(3), signal-safety(7).

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::RawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::ptr::null;
use std::sync::atomic::AtomicI32;

use nix::errno::Errno;
use nix::sys::resource::{Resource, rlim_t, setrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::unistd::{Pid, chdir, getpid, setsid};

use crate::attributes::{Attributes, SETTINGS, SetPhase};
use crate::kernel;
use mainspring_host::accounts::Identity;

/// The shell for a program that says no interpreter, as execvp(3) has it.
const SHELL: &CStr = c"/bin/sh";

/// Everything that a child becomes.
pub(crate) struct Launch {
    /// Where the program may be: the first that is there is executed.
    pub(crate) programs: Vec<CString>,
    /// Its arguments, the first of them its name. Not empty.
    pub(crate) arguments: Vec<CString>,
    /// Names and values, with `=` between them.
    pub(crate) environment: Vec<CString>,
    /// Entered as the user.
    pub(crate) directory: CString,
    /// Entered instead, if that cannot be.
    pub(crate) directory_else: Option<CString>,
    /// Another user.
    pub(crate) identity: Option<Identity>,
    /// Whether the server is shielded from the lack of memory.
    pub(crate) is_shielded: bool,
    /// The limit of open files, soft and hard, if the server has raised its own.
    pub(crate) files: Option<(rlim_t, rlim_t)>,
    /// What it sets of itself.
    pub(crate) attributes: Attributes,
}

/// What a child was about when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Its standard streams, signals and the like.
    Settings,
    /// The change of user.
    User,
    /// The directory.
    Directory,
    /// The program.
    Program,
    /// The row of [`SETTINGS`] with this index.
    Attribute(usize),
}

/// The steps without a row, by the numbers with which a child tells of them; those with one follow.
const STEPS: [Step; 4] = [Step::Settings, Step::User, Step::Directory, Step::Program];

impl Step {
    fn number(self) -> i32 {
        let index = match self {
            Step::Attribute(index) => STEPS.len() + index,
            step => STEPS.iter().position(|known| *known == step).unwrap_or_default(),
        };
        i32::try_from(index).unwrap_or_default()
    }

    fn from_number(number: i32) -> Option<Step> {
        let index = usize::try_from(number).ok()?;
        let attribute = || index.checked_sub(STEPS.len()).filter(|index| *index < SETTINGS.len());
        STEPS.get(index).copied().or_else(|| attribute().map(Step::Attribute))
    }
}

impl Launch {
    /// Whether a child may have the memory of this process until it executes the program: as the same user,
    /// who could read it anyway.
    pub(crate) fn may_borrow(&self) -> bool {
        kernel::LENDS_MEMORY && self.identity.is_none() && self.attributes.may_borrow()
    }
}

type FailedStep = (Step, Errno);

/// How many bytes tell of a failure: the step and the error, each a number of four bytes.
pub(crate) const FAILURE_BYTES: usize = 8;

const _: () = assert!(FAILURE_BYTES == 2 * size_of::<i32>());
const _: () = assert!(FAILURE_BYTES <= libc::PIPE_BUF, "it comes in one piece");

/// What a child keeps of the descriptors of this process, which are open until it is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Descriptors {
    /// Its standard streams.
    pub(crate) streams: [RawFd; 3],
    /// Where it tells of its failure; when the program is executed that ends without a word.
    pub(crate) failure: RawFd,
    /// Where it enters its cgroup.
    pub(crate) cgroup: Option<RawFd>,
}

/// Forks a child that becomes what `launch` says. Returns its number.
///
/// # Errors
///
/// When there is no process.
#[expect(unsafe_code, reason = "there is no safe fork")]
pub(crate) fn fork(launch: &Launch, descriptors: Descriptors) -> io::Result<Pid> {
    let mut child = Child::new(launch, descriptors);
    let mut before = SigSet::empty();
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), Some(&mut before))?;
    // SAFETY: the child runs `Child::run` and `_exit` alone, which keep to what is async-signal-safe: see
    // there. The parent continues as before. There may be other threads; they are not in the child, and no
    // lock of theirs is taken there.
    let forked = match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => child.become_program(),
        pid => Ok(Pid::from_raw(pid)),
    };
    // It cannot fail where it did not before; a child that was forked is answered for.
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None);
    forked
}

/// The same of a child that borrows the memory of this process until it executes the program. This thread
/// stands still until then, or until the child has ended; all signals are blocked in it, and its number is in
/// `pid` before. The stack is the child's, at least [`STACK_BYTES`] of it.
///
/// # Errors
///
/// The same, and where the system has no such call.
#[expect(unsafe_code, reason = "there is no safe clone")]
pub(crate) fn lend(
    launch: &Launch,
    descriptors: Descriptors,
    stack: &mut [u8],
    pid: &AtomicI32,
) -> io::Result<Pid> {
    assert!(STACK_BYTES <= stack.len(), "the child's stack is as large as it needs");
    assert!(launch.may_borrow(), "what becomes another user shares nothing with this process");
    let mut child = Child::new(launch, descriptors);
    // SAFETY: see `Child::run`, which changes the arguments of a script besides. The child that it gets
    // outlives the other process, as this thread stands still.
    unsafe { kernel::clone_lending(stack, pid, become_program, (&raw mut child).cast()) }
}

#[expect(unsafe_code, reason = "the kernel hands over an address")]
extern "C" fn become_program(child: *mut libc::c_void) -> libc::c_int {
    // SAFETY: it is that of a child, see above, which nothing else uses meanwhile.
    unsafe { &mut *child.cast::<Child<'_>>() }.become_program()
}

/// How large the stack of a child is: what it calls goes some levels deep and has no buffers.
pub(crate) const STACK_BYTES: usize = 64 << 10;

/// What a child has told of its failure: `None` if it has executed the program.
pub(crate) fn failure(report: &[u8]) -> Option<(Step, io::Error)> {
    let number = |at: usize| Some(i32::from_ne_bytes(report.get(at..at + 4)?.try_into().ok()?));
    let (step, error) = (number(0)?, number(4)?);
    Some((Step::from_number(step)?, io::Error::from_raw_os_error(error)))
}

/// Waits for a child that has ended, and returns how; `None` if it has not, or is no child any more.
#[expect(unsafe_code, reason = "nix has no number for the end by a real-time signal")]
pub(crate) fn reap(pid: Pid) -> Option<ExitStatus> {
    let mut status = 0;
    // SAFETY: waitpid writes one number to memory of ours.
    let reaped = unsafe { libc::waitpid(pid.as_raw(), &raw mut status, libc::WNOHANG) };
    (reaped == pid.as_raw()).then(|| ExitStatus::from_raw(status))
}

/// The child that is named first of those that have ended. It is not waited for, and named again.
pub(crate) fn first_ended() -> Option<u32> {
    Some(look(libc::P_ALL, 0)?.0)
}

/// How a child has ended, with what is known of it: its exit code, or its signal, which is 0 where the
/// system does not say it before it is waited for. It is not waited for.
pub(crate) fn ended(pid: Pid) -> Option<(libc::c_int, libc::c_int)> {
    let (_, code, status) = look(libc::P_PID, pid.as_raw().cast_unsigned())?;
    Some((code, status))
}

/// The number of a child that has ended, the cause and the status.
#[expect(unsafe_code, reason = "nix has no waitid on macOS, and no number for the end by a real-time signal")]
fn look(which: libc::idtype_t, number: libc::id_t) -> Option<(u32, libc::c_int, libc::c_int)> {
    // SAFETY: all zeroes is a valid siginfo_t, to which waitid writes; it has the number of a process, or 0.
    let (pid, code, status) = unsafe {
        let mut found: libc::siginfo_t = std::mem::zeroed();
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        if libc::waitid(which, number, &raw mut found, flags) != 0 {
            return None;
        }
        (found.si_pid(), found.si_code, found.si_status())
    };
    let pid = u32::try_from(pid).ok().filter(|&pid| 0 < pid)?;
    Some((pid, code, status))
}

/// What the child needs, computed before the fork.
struct Child<'l> {
    launch: &'l Launch,
    descriptors: Descriptors,
    arguments: Vec<*const libc::c_char>,
    script: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
    /// The signals that this process handles or ignores.
    changed: Vec<libc::c_int>,
    files_max: libc::c_int,
    server: Pid,
}

impl<'l> Child<'l> {
    fn new(launch: &'l Launch, descriptors: Descriptors) -> Child<'l> {
        let pointers = |texts: &[CString]| -> Vec<*const libc::c_char> {
            texts.iter().map(|text| text.as_ptr()).chain([null()]).collect()
        };
        // The shell's arguments: its own name, the program once it is known, and the program's arguments but
        // for its name.
        let script = [SHELL.as_ptr(), null()].into_iter().chain(pointers(&launch.arguments[1..])).collect();
        let inherited = descriptors.streams.iter().chain([&descriptors.failure]);
        assert!(inherited.copied().all(|one| 2 < one), "the server's own standard streams are open");
        debug_assert!(!launch.programs.is_empty(), "there is a place where the program may be");
        debug_assert!(SETTINGS.is_sorted_by_key(|setting| setting.when), "they are set in their order");
        Child {
            launch,
            descriptors,
            arguments: pointers(&launch.arguments),
            script,
            environment: pointers(&launch.environment),
            changed: changed_signals(),
            files_max: kernel::descriptors_max(),
            server: getpid(),
        }
    }

    /// Runs in the child, and does not return: it executes the program, or tells what failed and ends.
    #[expect(unsafe_code, reason = "what std has for both flushes and drops what is the parent's")]
    pub(crate) fn become_program(&mut self) -> ! {
        let (step, error) = self.run();
        let mut report = [0; FAILURE_BYTES];
        report[..4].copy_from_slice(&step.number().to_ne_bytes());
        report[4..].copy_from_slice(&(error as i32).to_ne_bytes());
        // SAFETY: write reads the bytes of an array that lives here; _exit does not return, so nothing is
        // dropped or flushed that is the parent's as well.
        unsafe {
            libc::write(self.descriptors.failure, report.as_ptr().cast(), report.len());
            libc::_exit(1)
        }
    }

    /// Runs in the child. Returns only if something fails.
    ///
    /// Everything in here is async-signal-safe: it makes system calls with values that were computed before
    /// the fork, allocates and frees nothing and takes no lock. `setgroups` is given a slice as it is,
    /// `chdir` a C string as it is, and an error is a number. The C library's wrappers of setgroups, setgid
    /// and setuid, which in a process with threads reach all of them, reach only the threads of the child, of
    /// which there is one; the standard library makes the same calls at the same place.
    fn run(&mut self) -> FailedStep {
        match self.settle() {
            Err(failed) => failed,
            Ok(()) => (Step::Program, self.execute()),
        }
    }

    fn settle(&self) -> Result<(), FailedStep> {
        let of = |step: Step| move |error: Errno| (step, error);
        let launch = self.launch;
        hear(&self.changed).map_err(of(Step::Settings))?;
        if let Some(entry) = self.descriptors.cgroup {
            enter(entry).map_err(of(Step::Settings))?;
        }
        setsid().map_err(of(Step::Settings))?;
        self.take_descriptors().map_err(of(Step::Settings))?;
        if launch.identity.is_some() {
            kernel::leave_server().map_err(of(Step::User))?;
            if launch.is_shielded {
                kernel::drop_shield();
            }
        }
        if let Some((soft, hard)) = launch.files {
            setrlimit(Resource::RLIMIT_NOFILE, soft, hard).map_err(of(Step::Settings))?;
        }
        self.set(SetPhase::BeforeUser)?;
        if let Some(identity) = &launch.identity {
            kernel::become_user(identity).map_err(of(Step::User))?;
        }
        if let Err(error) = chdir(launch.directory.as_c_str()) {
            let other = launch.directory_else.as_deref();
            other.ok_or(error).and_then(chdir).map_err(|_| (Step::Directory, error))?;
        }
        self.set(SetPhase::AfterUser)
    }

    fn set(&self, when: SetPhase) -> Result<(), FailedStep> {
        for (index, setting) in (0..).zip(SETTINGS).filter(|(_, setting)| setting.when == when) {
            (setting.set)(&self.launch.attributes, self.server)
                .map_err(|error| (Step::Attribute(index), error))?;
        }
        Ok(())
    }

    /// Keeps its standard streams and the pipe for its failure, which ends with exec, and closes all others.
    #[expect(unsafe_code, reason = "nix's dup2 wants to own what it is given, and so does its close")]
    fn take_descriptors(&self) -> Result<(), Errno> {
        let Descriptors { streams, failure, .. } = self.descriptors;
        for (target, stream) in (0..).zip(streams) {
            // SAFETY: dup2 takes two numbers. The target is one of this child's standard streams, which
            // nothing here uses.
            Errno::result(unsafe { libc::dup2(stream, target) })?;
        }
        for (first, last) in [(3, failure - 1), (failure + 1, RawFd::MAX)] {
            // SAFETY: the calls take numbers, and an empty range is left out. What is closed here is open in
            // the parent still, and nothing in this child uses it or drops it.
            unsafe {
                if last < first || kernel::close_range(first, last) {
                    continue;
                }
                // Another system, or a kernel before 5.9: one by one.
                for descriptor in first..self.files_max.min(last.saturating_add(1)) {
                    libc::close(descriptor);
                }
            }
        }
        Ok(())
    }

    /// As execvp does it, with places that were looked up in PATH before the fork.
    #[expect(unsafe_code, reason = "there is no safe exec that leaves PATH alone and does not allocate")]
    fn execute(&mut self) -> Errno {
        let (arguments, environment) = (self.arguments.as_ptr(), self.environment.as_ptr());
        let mut last = Errno::ENOENT;
        for program in &self.launch.programs {
            // SAFETY: all three are C strings, or arrays of C strings that end with a null pointer, and
            // outlive the call.
            unsafe { libc::execve(program.as_ptr(), arguments, environment) };
            match Errno::last() {
                Errno::ENOEXEC => {
                    self.script[1] = program.as_ptr();
                    // SAFETY: as above.
                    unsafe { libc::execve(SHELL.as_ptr(), self.script.as_ptr(), environment) };
                    return Errno::last();
                }
                // It may be elsewhere; if it is not, that it may not be executed here says more than that it
                // is not there.
                Errno::EACCES => last = Errno::EACCES,
                Errno::ENOENT | Errno::ENOTDIR | Errno::ESTALE | Errno::ENODEV | Errno::ETIMEDOUT => {}
                error => return error,
            }
        }
        last
    }
}

/// The signals whose actions are not the default ones.
fn changed_signals() -> Vec<libc::c_int> {
    (1..=kernel::last_signal()).filter(|&signal| is_changed(signal)).collect()
}

#[expect(unsafe_code, reason = "nix can read an action only by replacing it")]
fn is_changed(signal: libc::c_int) -> bool {
    // SAFETY: all zeroes is a valid action, the default one. Without a new action nothing is changed; the old
    // one is written to memory of ours of the right type, which stays as it is if the C library keeps that
    // signal for itself.
    let action = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, null(), &raw mut action);
        action
    };
    action.sa_sigaction != libc::SIG_DFL
}

/// Gives signals their default actions again, and holds none back. Runs in the child.
#[expect(
    unsafe_code,
    reason = "changing the action of a signal is unsafe, because a handler could be anything"
)]
fn hear(signals: &[libc::c_int]) -> Result<(), Errno> {
    for &signal in signals {
        // SAFETY: as above; the default action runs no code of ours.
        Errno::result(unsafe {
            let usual: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, &raw const usual, std::ptr::null_mut())
        })?;
    }
    kernel::hear_the_librarys();
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)
}

/// Enters a cgroup by its file of processes. Runs in the child.
#[expect(unsafe_code, reason = "what std and nix have for files wants to own or borrow them")]
fn enter(entry: RawFd) -> Result<(), Errno> {
    const OURSELVES: &[u8; 1] = b"0";
    // SAFETY: write reads one byte of a constant; the descriptor is open in the parent, which holds it over
    // the fork.
    Errno::result(unsafe { libc::write(entry, OURSELVES.as_ptr().cast(), OURSELVES.len()) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_whole_or_not_at_all() {
        let report_of = |step: i32| [step.to_ne_bytes(), libc::ENOENT.to_ne_bytes()].concat();
        let rows = (0..SETTINGS.len()).map(Step::Attribute);
        for expected in STEPS.into_iter().chain(rows) {
            let (step, error) = failure(&report_of(expected.number())).unwrap();
            assert_eq!((step, error.raw_os_error()), (expected, Some(libc::ENOENT)));
        }
        let beyond = i32::try_from(STEPS.len() + SETTINGS.len()).unwrap();
        assert!(failure(&report_of(beyond)).is_none() && failure(&report_of(-1)).is_none());
        let report = report_of(0);
        assert!(failure(&[]).is_none());
        assert!(failure(&report[..7]).is_none());
    }
}
