//! Capabilities of standard output: its width, and whether it has colours.
//!
//! | set | then |
//! |---|---|
//! | `COLUMNS` | it is so wide |
//! | `NO_COLOR` | there are no colours |
//! | `CLICOLOR_FORCE` | there are colours, also where it is no terminal |
//! | `TERM=dumb` | there are no colours |
//!
//! Cost: a system call for the width.
//!
//! Does not move the cursor.
//!
//! Source: <https://no-color.org>, <https://bixense.com/clicolors>.

use std::env;
use std::io::{self, IsTerminal};

use unicode_width::UnicodeWidthStr;

/// The width where nothing says how wide it is: what a mail or a file still shows well.
pub const USUAL_WIDTH: usize = 120;

/// What a table is shown on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// How many columns of characters it has.
    pub width: usize,
    /// Whether it has colours.
    pub has_colours: bool,
}

impl Screen {
    /// One without an end and without colours.
    pub const PLAIN: Screen = Screen { width: usize::MAX, has_colours: false };

    /// Standard output.
    pub fn stdout() -> Screen {
        Screen { width: width(), has_colours: has_colours() }
    }

    /// A plain text in a tone, if there are colours.
    pub fn paint(self, text: &str, tone: Option<Tone>) -> String {
        match tone.filter(|_| self.has_colours) {
            Some(tone) => format!("\u{1b}[{}m{text}\u{1b}[0m", tone.code()),
            None => text.to_owned(),
        }
    }
}

/// The width of standard output: the terminal's by COLUMNS or by asking it, or without end if it is none.
fn width() -> usize {
    let set = env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|width| 0 < *width);
    match set {
        Some(width) => width,
        None if io::stdout().is_terminal() => {
            terminal_size::terminal_size().map_or(USUAL_WIDTH, |(width, _)| usize::from(width.0))
        }
        None => usize::MAX,
    }
}

fn has_colours() -> bool {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    if is_set("NO_COLOR") {
        return false;
    }
    let is_forced = env::var_os("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0");
    is_forced || (io::stdout().is_terminal() && env::var_os("TERM").is_none_or(|term| term != "dumb"))
}

/// How many columns a text takes: characters of East Asia take two, and marks on others none.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// What a text means, which a colour shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As it should be.
    Good,
    /// Somebody should look.
    Doubtful,
    /// It went wrong.
    Bad,
    /// It continues.
    Busy,
    /// A heading.
    Heading,
}

impl Tone {
    /// The tone of the state of a job, of a run or of a finding, by its first word; none if it has none.
    pub fn of_state(state: &str) -> Option<Tone> {
        match state.trim_start().split([' ', ':']).next().unwrap_or_default() {
            "succeeded" | "ok" => Some(Tone::Good),
            "failed" | "timed_out" | "dead" | "BAD" => Some(Tone::Bad),
            "missed" | "abandoned" | "cancelled" | "paused" | "warning" | "in" | "skipped_overlap"
            | "skipped_paused" => Some(Tone::Doubtful),
            "running" | "queued" => Some(Tone::Busy),
            _ => None,
        }
    }

    /// Its number in ECMA-48, SGR.
    fn code(self) -> u8 {
        match self {
            Tone::Good => 32,
            Tone::Doubtful => 33,
            Tone::Bad => 31,
            Tone::Busy => 36,
            Tone::Heading => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns_and_marks_none() {
        assert_eq!((columns("ab"), columns("日本"), columns("e\u{301}")), (2, 4, 1));
    }

    #[test]
    fn a_state_has_the_tone_of_its_first_word() {
        assert_eq!(Tone::of_state("failed 3h ago"), Some(Tone::Bad));
        assert_eq!(Tone::of_state("paused after failures"), Some(Tone::Doubtful));
        assert_eq!(Tone::of_state("active"), None);
        let coloured = Screen { has_colours: true, ..Screen::PLAIN };
        assert_eq!(coloured.paint("x", Some(Tone::Bad)), "\u{1b}[31mx\u{1b}[0m");
        assert_eq!(Screen::PLAIN.paint("x", Some(Tone::Bad)), "x");
    }
}
