//! What `doctor` finds: a subject, how bad it is, and what to do about it.
//!
//! ```text
//! ok       data        /var/lib/mainspring
//! warning  dead        3 dead letters wait
//!                      hint: mainspring dead list shows them
//! BAD      store       /var/lib/mainspring/mainspring.db is damaged: ..
//! ```
//!
//! Cost: some strings.
//!
//! Does not look at anything.

use serde::Serialize;

use crate::terminal::{Screen, Tone};
use mainspring_file::plain;

/// How bad something is, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    /// As it should be.
    Ok,
    /// It works, and somebody should look.
    Warning,
    /// Something does not work.
    Bad,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Level::Ok => "ok",
            Level::Warning => "warning",
            Level::Bad => "BAD",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) subject: &'static str,
    pub(super) level: Level,
    pub(super) text: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

impl Finding {
    pub(super) fn ok(subject: &'static str, text: impl Into<String>) -> Finding {
        Finding { subject, level: Level::Ok, text: text.into(), hint: None }
    }

    pub(super) fn warning(
        subject: &'static str,
        text: impl Into<String>,
        hint: impl Into<String>,
    ) -> Finding {
        Finding { subject, level: Level::Warning, text: text.into(), hint: Some(hint.into()) }
    }

    pub(super) fn bad(subject: &'static str, text: impl Into<String>, hint: impl Into<String>) -> Finding {
        Finding { subject, level: Level::Bad, text: text.into(), hint: Some(hint.into()) }
    }
}

impl Finding {
    /// Its lines, in plain characters, with the colour of its level if the screen has any.
    pub(super) fn text(&self, screen: Screen) -> String {
        let word = self.level.word();
        let (painted, blanks) = (screen.paint(word, Tone::of_state(word)), " ".repeat(7 - word.len()));
        let mut text = format!("{painted}{blanks}  {:<10}  {}\n", self.subject, plain::line(&self.text));
        if let Some(hint) = &self.hint {
            text.push_str(&format!("{:<21}hint: {}\n", "", plain::line(hint)));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_that_is_not_ok_says_what_to_do() {
        assert_eq!(Finding::ok("zone", "UTC").text(Screen::PLAIN), "ok       zone        UTC\n");
        let text = Finding::warning("dead", "1 dead letter waits", "mainspring dead list shows it")
            .text(Screen::PLAIN);
        assert_eq!(
            text,
            "warning  dead        1 dead letter waits\n                     hint: mainspring dead list shows it\n"
        );
        assert!(Level::Ok < Level::Warning);
        assert!(Level::Warning < Level::Bad);
    }
}
