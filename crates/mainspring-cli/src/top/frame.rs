//! The text on the terminal, and the shortest update that turns it into another, line by line.
//!
//! Over a slow line only what changed is sent. The whole is sent as one update, where the terminal knows
//! that, so that no half of it is seen.
//!
//! Cost: a comparison of each line.
//!
//! Does not cut lines, and clears none below them: the board gives as many as the terminal has, and who
//! draws on another size clears all first.
//!
//! Source: <https://gist.github.com/christianparpart/d8a62cc1ab659194337d73e399004036>, synchronized output.

use std::fmt::Write;

/// The lines that are shown.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    shown: Vec<String>,
}

impl Frame {
    /// Forgets what is shown: the terminal may show anything.
    pub fn forget(&mut self) {
        self.shown.clear();
    }

    /// The text that shows these lines; empty if they are shown already.
    pub fn update(&mut self, lines: Vec<String>) -> String {
        let mut text = String::new();
        for (index, line) in lines.iter().enumerate() {
            debug_assert!(!line.contains(['\r', '\n']), "a line of the terminal is one line");
            if self.shown.get(index) != Some(line) {
                // The old line goes first: behind a character in the last column the cursor still stands on
                // it, and it would go too.
                let _ = write!(text, "\u{1b}[{};1H\u{1b}[K{line}\u{1b}[0m", index + 1);
            }
        }
        self.shown = lines;
        if text.is_empty() { text } else { format!("\u{1b}[?2026h{text}\u{1b}[?2026l") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_sent() {
        let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let mut frame = Frame::default();
        assert!(frame.update(lines("a b c")).contains("\u{1b}[3;1H\u{1b}[Kc"));
        assert_eq!(frame.update(lines("a b c")), "");
        let text = frame.update(lines("a x c"));
        assert!(text.contains("\u{1b}[2;1H\u{1b}[Kx") && !text.contains('a'), "{text:?}");
        frame.forget();
        assert!(frame.update(lines("a x c")).contains('a'));
    }
}
