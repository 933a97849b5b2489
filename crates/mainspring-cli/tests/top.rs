//! `mainspring top` in a pseudo-terminal: what a terminal shows after its bytes, keys, a change of size, and
//! that the terminal is as it was however it ends.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use mainspring_cli::top::raw::Raw;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::program::BOUND;
use crate::test_server::{IDLE, TestServer};

/// How much a terminal is sent before something is shown that a test waits for. The clock alone sends a piece
/// a second.
const MAX_PIECES: usize = 200;

/// The name of a variable that makes a test of this file the program that panics.
const PANICS: &str = "MAINSPRING_TEST_PANICS";

/// A program in a terminal.
struct Terminal {
    master: File,
    /// Ours as well, so that its settings can be looked at when the program has ended.
    slave: File,
    child: Child,
    bytes: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    _turn: MutexGuard<'static, ()>,
}

/// One terminal at a time: the programs of another would be given its descriptors while they start.
static TURN: Mutex<()> = Mutex::new(());

impl Terminal {
    fn start(mut command: Command, rows: u16, columns: u16) -> Terminal {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave = OpenOptions::new().read(true).write(true).open(name).unwrap();
        let master = File::from(master);
        set_size(&master, rows, columns);
        let end = || slave.try_clone().unwrap();
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let (sender, bytes) = channel();
        let mut reader = master.try_clone().unwrap();
        let read = move || {
            let mut buffer = [0; 4_096];
            while let Ok(count) = reader.read(&mut buffer) {
                if count == 0 || sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("terminal".into()).spawn(read).unwrap();
        Terminal { master, slave, child, bytes, screen: vt100::Parser::new(rows, columns, 0), _turn: turn }
    }

    fn top(served: &TestServer, rows: u16, columns: u16) -> Terminal {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mainspring"));
        command.args(["top", "--utc", "--data", &served.data()]).env("TERM", "xterm").env_remove("COLUMNS");
        Terminal::start(command, rows, columns)
    }

    fn text(&self) -> String {
        self.screen.screen().contents()
    }

    /// Waits until the terminal shows something.
    fn until(&mut self, what: &str, is_shown: impl Fn(&vt100::Screen) -> bool) {
        for _ in 0..MAX_PIECES {
            if is_shown(self.screen.screen()) {
                return;
            }
            let bytes = self.bytes.recv_timeout(BOUND);
            let bytes = bytes.unwrap_or_else(|_| panic!("{what} is never shown:\n{}", self.text()));
            self.screen.process(&bytes);
        }
        panic!("{what} is never shown:\n{}", self.text());
    }

    fn until_text(&mut self, part: &str) {
        self.until(part, |screen| screen.contents().contains(part));
    }

    fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    fn resize(&mut self, rows: u16, columns: u16) {
        set_size(&self.master, rows, columns);
        self.screen.screen_mut().set_size(rows, columns);
        // The kernel tells only who has the terminal as its controlling one.
        self.signal(Signal::SIGWINCH);
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal).unwrap();
    }

    /// Waits for the end, and holds the terminal to what it was before.
    fn ended(mut self) -> (ExitStatus, String) {
        // First what has a bound: a program that does not end fails the test instead of holding it up.
        self.until("the first screen", |screen| !screen.alternate_screen() && !screen.hide_cursor());
        let status = self.child.wait().unwrap();
        while let Ok(bytes) = self.bytes.try_recv() {
            self.screen.process(&bytes);
        }
        let modes = tcgetattr(self.slave.as_fd()).unwrap().local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG), "{modes:?}");
        (status, self.text())
    }
}

fn set_size(master: &File, rows: u16, columns: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(master, size).unwrap();
}

#[test]
fn jobs_are_seen_run_and_read_with_keys_alone() {
    let served = TestServer::start("top-keys", IDLE);
    let mut top = Terminal::top(&served, 24, 80);
    top.until_text("idle  active");
    top.press("r");
    top.until_text("run idle now? y/n");
    top.press("y");
    top.until_text("is planned");
    top.press("3");
    top.until_text("succeeded");
    top.press("\r");
    top.until_text("log of idle@");
    top.until_text("  ran");
    top.press("q");
    top.until_text("WHY");
    top.press("1p");
    top.until_text("pause idle? y/n");
    top.press("y");
    top.until_text("idle  paused");
    served.says(&["show", "idle"], 0, "paused");
    top.press("?");
    top.until_text("Ctrl-Z");
    top.press("qq");
    let (status, text) = top.ended();
    assert_eq!(status.code(), Some(0), "{text}");
    served.stop();
}

#[test]
fn keys_that_come_together_each_find_the_view_of_the_one_before() {
    let served = TestServer::start("top-ahead", IDLE);
    served.says(&["run", "--wait", "idle"], 0, "idle");
    let mut top = Terminal::top(&served, 24, 80);
    top.until_text("idle  active");
    // The second time nothing is asked for but what a key wants: the view is held still.
    for keys in ["3\r", " 1\r"] {
        top.press(keys);
        top.until_text("log of idle@");
        top.until_text("  ran");
        top.press("q");
        top.until_text("q quit");
    }
    top.press("q");
    assert_eq!(top.ended().0.code(), Some(0));
    served.stop();
}

#[test]
fn the_view_fits_the_terminal_while_its_size_changes() {
    let served = TestServer::start("top-size", IDLE);
    let mut top = Terminal::top(&served, 24, 80);
    top.until_text("q quit");
    for (rows, columns) in [(10, 40), (50, 200), (3, 20), (24, 80)] {
        top.resize(rows, columns);
        // The clock stands in the last column of the first line.
        top.until("the clock at the border", |screen| {
            let first = screen.rows(0, columns).next().unwrap_or_default();
            first.trim_end().len() == usize::from(columns)
                && first.matches(':').count() == 2 + usize::from(30 < columns)
        });
    }
    top.press("\u{3}");
    assert_eq!(top.ended().0.code(), Some(0));
    served.stop();
}

#[test]
fn a_server_that_ends_is_told_of_and_one_that_comes_back_is_shown() {
    let served = TestServer::start("top-away", IDLE);
    let folder = served.folder.clone();
    let mut top = Terminal::top(&served, 24, 80);
    top.until_text("idle  active");
    let (status, ..) = served.running.stop();
    assert_eq!(status.code(), Some(0));
    top.until_text("no server answers");
    let served = TestServer::start_in(folder, &[]);
    top.until_text("mainspring 0.1.0 running");
    top.signal(Signal::SIGTERM);
    assert_eq!(top.ended().0.code(), Some(0), "a signal ends it in order");
    served.stop();
}

#[test]
fn without_a_terminal_it_says_what_prints() {
    let served = TestServer::start("top-none", IDLE);
    served.says(&["top"], 2, "top is for a terminal: `mainspring list`");
    served.stop();
}

#[test]
fn a_panic_puts_the_terminal_back_and_is_read() {
    if std::env::var_os(PANICS).is_some() {
        let _raw = Raw::take().unwrap();
        panic!("somebody has to read this");
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "top::a_panic_puts_the_terminal_back_and_is_read", "--nocapture"])
        .env(PANICS, "1");
    let mut terminal = Terminal::start(command, 24, 100);
    terminal.until_text("somebody has to read this");
    let (status, text) = terminal.ended();
    assert!(!status.success() && text.contains("somebody has to read this"), "{text}");
}
