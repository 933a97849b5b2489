//! The program on a terminal of its own, as `script` of util-linux makes one.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use crate::program::{BOUND, root};

/// A program on a terminal.
pub(crate) struct TerminalProgram {
    child: Child,
    keys: ChildStdin,
    screen: Receiver<Vec<u8>>,
    seen: String,
}

impl TerminalProgram {
    /// Starts the program on a terminal so wide, in a zone.
    pub(crate) fn start(args: &[&str], width: u16, zone: &str) -> TerminalProgram {
        let quoted: Vec<String> = args.iter().map(|arg| format!("'{arg}'")).collect();
        let program = env!("CARGO_BIN_EXE_mainspring");
        let line = format!("stty rows 45 cols {width} -echo; exec '{program}' {}", quoted.join(" "));
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).current_dir(root());
        command.env("TZ", zone).env("TERM", "xterm").env("SHELL", "/bin/sh");
        for name in ["MAINSPRING_DATA", "COLUMNS", "NO_COLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (keys, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, screen) = channel();
        let read = move || {
            let mut buffer = [0; 4096];
            while let Ok(count) = output.read(&mut buffer) {
                // The test may have failed and gone.
                if count == 0 || sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("screen".into()).spawn(read).unwrap();
        TerminalProgram { child, keys, screen, seen: String::new() }
    }

    /// Waits until the screen has shown `part`.
    pub(crate) fn wait_for(&mut self, part: &str) {
        while !self.seen.contains(part) {
            match self.screen.recv_timeout(BOUND) {
                Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(reason) => panic!("no {part:?} ({reason}) in {:?}", self.seen),
            }
        }
    }

    /// Types a line.
    pub(crate) fn line(&mut self, text: &str) {
        writeln!(self.keys, "{text}").unwrap();
    }

    /// Waits for the end, and returns all that was shown.
    pub(crate) fn end(mut self) -> String {
        while let Ok(bytes) = self.screen.recv_timeout(BOUND) {
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
        }
        self.child.wait().unwrap();
        self.seen.replace("\r\n", "\n")
    }
}
