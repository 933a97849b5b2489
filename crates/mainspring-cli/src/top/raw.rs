//! A terminal that gives each key at once and shows a page of its own, until it is put back.
//!
//! | it ends by | put back by |
//! |---|---|
//! | the end of the command, an error | `Drop` |
//! | a panic | a hook, before the message is printed |
//! | SIGTERM, SIGHUP, SIGINT | the command, which hears them and ends |
//! | Ctrl-Z | the command, which stops itself between [`Raw::leave`] and [`Raw::enter`] |
//!
//! Cost: some system calls.
//!
//! Does not help against SIGKILL: `reset` does.
//!
//! Source: termios(3), and XTerm Control Sequences for the other screen.

use std::io::{self, Write, stdin, stdout};
use std::panic;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

/// The other screen, no cursor, no wrapping of long lines.
const ENTER: &str = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l\u{1b}[2J";

/// The reverse.
const LEAVE: &str = "\u{1b}[0m\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l";

/// A terminal that is ours.
#[derive(Debug)]
pub struct Raw {
    before: Termios,
}

impl Raw {
    /// Takes the terminal of standard input and output over, now and for panics.
    ///
    /// # Errors
    ///
    /// When standard input is no terminal.
    pub fn take() -> io::Result<Raw> {
        let raw = Raw { before: tcgetattr(stdin())? };
        let (before, hook) = (raw.before.clone(), panic::take_hook());
        panic::set_hook(Box::new(move |panic| {
            put_back(&before);
            hook(panic);
        }));
        raw.enter()?;
        Ok(raw)
    }

    /// Shows the page.
    ///
    /// # Errors
    ///
    /// The operating system's.
    pub fn enter(&self) -> io::Result<()> {
        let mut ours = self.before.clone();
        ours.make_raw();
        tcsetattr(stdin(), OptionalActions::Drain, &ours)?;
        show(ENTER)
    }

    /// Puts the terminal back for a while.
    pub fn leave(&self) {
        put_back(&self.before);
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        put_back(&self.before);
    }
}

fn put_back(before: &Termios) {
    // A terminal that is gone needs nothing.
    let _ = show(LEAVE);
    let _ = tcsetattr(stdin(), OptionalActions::Drain, before);
}

/// Writes to the terminal at once.
///
/// # Errors
///
/// The operating system's.
pub fn show(text: &str) -> io::Result<()> {
    let mut output = stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()
}
