//! The program under test, started with its output in reach.
//!
//! Lines of standard output are read by a thread and handed over through a channel, so that a test can wait
//! for one with a bound. A program that is still running when its test ends is killed.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::scratch;

/// Leaves the processor to others for a moment: a loop that asks at once takes it from what it waits for.
pub(crate) fn pause() {
    thread::park_timeout(Duration::from_millis(20));
}

/// Whether that is so after at most `most` looks, each a moment after the one before.
pub(crate) fn comes_true(most: u32, mut is_so: impl FnMut() -> bool) -> bool {
    (0..most).any(|_| {
        let is_so = is_so();
        if !is_so {
            pause();
        }
        is_so
    })
}

/// Far beyond what any step takes on a busy machine; reached only by a hang.
pub(crate) const BOUND: Duration = Duration::from_secs(60);

/// How often [`BOUND`] a test waits for one line of a program that says other things meanwhile.
const MAX_BOUNDS: u32 = 3;

/// What a program left behind that has ended.
pub(crate) struct EndedProgram {
    /// The exit code; tests expect one.
    pub(crate) code: i32,
    /// All of standard output.
    pub(crate) stdout: String,
    /// All of standard error.
    pub(crate) stderr: String,
}

/// Runs the program to its end, in the root of the repository.
pub(crate) fn mainspring(args: &[&str]) -> EndedProgram {
    mainspring_with_input(args, b"")
}

/// Runs the program to its end with something on its standard input.
pub(crate) fn mainspring_with_input(args: &[&str], input: &[u8]) -> EndedProgram {
    let mut child = command(args).spawn().unwrap();
    // A program that does not read its input closes it; that is no failure of the test.
    let _ = child.stdin.take().unwrap().write_all(input);
    ended(child.wait_with_output().unwrap())
}

/// How the program ended.
pub(crate) fn ended(output: Output) -> EndedProgram {
    EndedProgram {
        code: output.status.code().expect("the program exits by itself"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The root of the repository, where the file names in tests begin.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// A data directory that is not there.
const NO_DATA: &str = "/nonexistent/mainspring";

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mainspring"));
    command
        .args(args)
        .current_dir(root())
        .env("TZ", "UTC")
        // What the usual folder holds on this machine is no part of a test.
        .env("MAINSPRING_DATA", NO_DATA)
        .env_remove("COLUMNS");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A program that runs, often `mainspring serve --memory -`.
pub(crate) struct Running {
    child: Child,
    lines: Option<Receiver<String>>,
    /// As long as it lives, the program's standard output stays open.
    keep: Option<Sender<()>>,
    /// Standard error, line by line.
    errors: Receiver<String>,
    /// What came of it so far.
    error_text: String,
    seen: Vec<String>,
}

impl Running {
    /// Starts `mainspring serve --memory` with further arguments and a crontab on standard input. The crontab
    /// gets a first line that sets HOME, because not every user that runs tests has a home: its own lines are
    /// counted from 2.
    pub(crate) fn start(args: &[&str], crontab: &str) -> Running {
        Running::start_with(&[], args, crontab)
    }

    /// As [`start`](Running::start), with variables in the environment of the program.
    pub(crate) fn start_with(environment: &[(&str, &str)], args: &[&str], crontab: &str) -> Running {
        let args: Vec<&str> = ["serve", "--memory", "-"].iter().chain(args).copied().collect();
        // One that is killed leaves its folder.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let folder = scratch::path(&format!("memory-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir_all(&folder).unwrap();
        let mut command = command(&args);
        command.env("TMPDIR", folder).envs(environment.iter().copied());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(format!("HOME=/\n{crontab}").as_bytes()).unwrap();
        Running::reading(child)
    }

    /// Starts any command whose output is read line by line.
    pub(crate) fn any(args: &[&str]) -> Running {
        Running::any_with(&[], args)
    }

    /// The same with variables in the environment of the program.
    pub(crate) fn any_with(environment: &[(&str, &str)], args: &[&str]) -> Running {
        Running::reading(command(args).envs(environment.iter().copied()).spawn().unwrap())
    }

    /// The same from a shell that has done something to itself before it becomes the program.
    pub(crate) fn after(shell_text: &str, args: &[&str]) -> Running {
        let own = command(args);
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", &format!("{shell_text}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_mainspring")])
            .args(args);
        shell.current_dir(root()).envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::reading(shell.spawn().unwrap())
    }

    /// Another program, whose input, output and errors are pipes.
    #[allow(dead_code, reason = "the trials use it")]
    pub(crate) fn other(command: &mut Command) -> Running {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::reading(command.spawn().unwrap())
    }

    /// Reads line by line what a child writes.
    pub(crate) fn reading(mut child: Child) -> Running {
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = sync_channel(0);
        let (keep, kept) = channel();
        // Each line is handed over before the next is read, so a test that takes no more lines leaves the
        // pipe unread.
        let read = move || {
            let mut lines = output.lines();
            while let Some(Ok(line)) = lines.next() {
                if sender.send(line).is_err() {
                    // The test decides when the pipe is closed: when it drops its end of this channel.
                    let _: Result<(), _> = kept.recv();
                    return;
                }
            }
        };
        thread::Builder::new().name("output".into()).spawn(read).unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let (error_sender, errors) = channel();
        let read_errors = move || {
            let mut line = String::new();
            while 0 < stderr.read_line(&mut line).unwrap() {
                // The test may have failed and gone.
                let _ = error_sender.send(std::mem::take(&mut line));
            }
        };
        thread::Builder::new().name("errors".into()).spawn(read_errors).unwrap();
        Running {
            child,
            lines: Some(lines),
            keep: Some(keep),
            errors,
            error_text: String::new(),
            seen: Vec::new(),
        }
    }

    /// Waits for the first line from now on that contains all of `parts`, and returns it.
    #[expect(clippy::disallowed_methods, reason = "a program that continues without the line is a hang too")]
    pub(crate) fn wait_for(&mut self, parts: &[&str]) -> String {
        let began = Instant::now();
        loop {
            match self.next_line() {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if parts.iter().all(|part| line.contains(part)) {
                        return line;
                    }
                    let has_time = began.elapsed() < BOUND * MAX_BOUNDS;
                    assert!(has_time, "no line with {parts:?}, only others; seen: {:#?}", self.seen);
                }
                Err(reason) => panic!("no line with {parts:?} ({reason}); seen: {:#?}", self.seen),
            }
        }
    }

    /// Waits until each of `wanted` has been seen in a line from now on, in any order.
    pub(crate) fn wait_for_all(&mut self, wanted: &[&[&str]]) {
        let mut rest = wanted.to_vec();
        while !rest.is_empty() {
            let line = self.wait_for(&[]);
            rest.retain(|parts| !parts.iter().all(|part| line.contains(part)));
        }
    }

    /// Waits until standard error holds `part`.
    pub(crate) fn wait_for_error(&mut self, part: &str) {
        while !self.error_text.contains(part) {
            match self.errors.recv_timeout(BOUND) {
                Ok(line) => self.error_text.push_str(&line),
                Err(reason) => panic!("no {part} on standard error ({reason}): {}", self.error_text),
            }
        }
    }

    /// The number of the program's process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to the program alone.
    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
    }

    /// Waits until the program has ended; returns its exit status, all lines of its log, and its standard
    /// error.
    pub(crate) fn end(mut self) -> (ExitStatus, Vec<String>, String) {
        loop {
            match self.next_line() {
                Ok(line) => self.seen.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the program does not end; seen: {:#?}", self.seen),
            }
        }
        let (status, errors) = self.wait();
        (status, std::mem::take(&mut self.seen), errors)
    }

    /// Sends SIGTERM, then as [`end`](Running::end).
    pub(crate) fn stop(self) -> (ExitStatus, Vec<String>, String) {
        self.signal(Signal::SIGTERM);
        self.end()
    }
}

impl Running {
    /// Stops reading the log without closing it, and sends SIGTERM.
    pub(crate) fn stop_without_reading(mut self) -> (ExitStatus, String) {
        self.wait_for(&["stdout"]);
        self.lines = None;
        self.signal(Signal::SIGTERM);
        self.wait()
    }

    /// Closes the reading end of the log, and sends nothing.
    pub(crate) fn end_after_closing_the_log(mut self) -> (ExitStatus, String) {
        self.wait_for(&["stdout"]);
        self.lines = None;
        self.keep = None;
        self.wait()
    }

    fn next_line(&self) -> Result<String, RecvTimeoutError> {
        self.lines.as_ref().expect("lines are read until the test stops reading").recv_timeout(BOUND)
    }

    fn wait(&mut self) -> (ExitStatus, String) {
        // Only the program itself holds its standard error, so that its end is the program's.
        loop {
            match self.errors.recv_timeout(BOUND) {
                Ok(line) => self.error_text.push_str(&line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the program does not end: {}", self.error_text),
            }
        }
        (self.child.wait().unwrap(), std::mem::take(&mut self.error_text))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
