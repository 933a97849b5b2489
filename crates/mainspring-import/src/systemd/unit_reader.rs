//! A timer and its service on their way: what is read of them, key by key.
//!
//! Cost: plain data.
//!
//! Does not know the keys: [`timer`](super::timer) and [`service`](super::service) do.

use std::time::Duration;

use super::timespan;
use super::words::{HasVariables, Specifiers, Split, literal, split};
use crate::draft::Draft;
use crate::facts::Variables;
use crate::finding::PlacedText;

/// A timer and its service on their way.
pub(super) type UnitReader = Draft<UnitWords>;

/// What a timer and its service say that is judged when all of it is known.
#[derive(Debug, Default)]
pub(super) struct UnitWords {
    /// The name of the unit whose keys are read.
    pub(super) unit: String,
    /// `OnBootSec`, `OnStartupSec` or `OnActiveSec`, and where.
    pub(super) first: Option<(PlacedText, Duration)>,
    /// Whether it names times of the calendar.
    pub(super) has_calendar: bool,
    pub(super) is_persistent: bool,
    pub(super) kind: String,
    pub(super) user: Option<PlacedText>,
    pub(super) group: Option<PlacedText>,
    pub(super) conditions: Vec<PlacedText>,
    pub(super) pre: Vec<PlacedText>,
    pub(super) main: Vec<PlacedText>,
    pub(super) post: Vec<PlacedText>,
    pub(super) start_timeout: Option<(PlacedText, Option<Duration>)>,
    pub(super) has_cwd: bool,
    pub(super) env: Variables,
}

impl UnitReader {
    /// A length of time that has an end; what is no length of time is a problem.
    pub(super) fn duration(&mut self, given: &PlacedText) -> Option<Duration> {
        self.span(given).filter(|span| *span != timespan::INFINITY)
    }

    /// A length of time; one that is longer than the longest here is warned of, and is that.
    pub(super) fn up_to(
        &mut self,
        longest: Duration,
        given: &PlacedText,
        warning: [&str; 2],
    ) -> Option<Duration> {
        let span = self.span(given)?;
        if longest < span {
            self.findings.warn(&given.place, warning[0], warning[1]);
        }
        Some(span.min(longest))
    }

    fn span(&mut self, given: &PlacedText) -> Option<Duration> {
        let found = timespan::parse(&given.text);
        if found.is_none() {
            let message =
                format!("expected a length of time such as 5min or 1h 30min, found `{}`", given.text);
            self.findings.problem(&given.place, message);
        }
        found
    }

    /// The words of a value that is no command line, with specifiers put in.
    pub(super) fn words(&mut self, given: &PlacedText) -> Vec<String> {
        let user = self.values.user.as_ref().map(|user| user.text.as_str());
        let specifiers = Specifiers { unit: &self.values.unit, user };
        let Split { words, unknown, is_broken } = split(&given.text, &specifiers, HasVariables::No);
        if is_broken {
            self.findings.problem(&given.place, "a quote is not closed");
        }
        for specifier in unknown {
            let message = format!("what `%{specifier}` stands for is not known here");
            self.findings.warn(&given.place, message, "write it out in the job file");
        }
        words.iter().filter_map(|word| literal(word)).collect()
    }

    /// A value with specifiers put in.
    pub(super) fn filled_in(&mut self, given: &PlacedText) -> PlacedText {
        // What has none stays as it is, so that a fault is found at its column.
        let has_specifier = given.text.contains('%');
        let text = if has_specifier { self.words(given).join(" ") } else { given.text.clone() };
        PlacedText { text, place: given.place.clone() }
    }

    /// The one word of such a value.
    pub(super) fn word(&mut self, given: &PlacedText) -> Option<String> {
        self.words(given).into_iter().next()
    }

    /// The name of a user or a group; `None` where it is taken back.
    pub(super) fn account(&mut self, given: &PlacedText) -> Option<PlacedText> {
        let text = self.word(given).filter(|word| !word.is_empty())?;
        Some(PlacedText { text, place: given.place.clone() })
    }

    /// A number; what is none is a problem. `None` beyond 32 bits, and where it is taken back, as well.
    pub(super) fn number(&mut self, given: &PlacedText) -> Option<i32> {
        let found: Option<i64> = given.text.parse().ok();
        if found.is_none() && !given.text.is_empty() {
            self.findings.problem(&given.place, format!("expected a whole number, found `{}`", given.text));
        }
        found.and_then(|number| i32::try_from(number).ok())
    }

    /// A yes or a no; what is neither is a problem.
    pub(super) fn truth(&mut self, given: &PlacedText) -> bool {
        match given.text.to_ascii_lowercase().as_str() {
            "1" | "yes" | "y" | "true" | "t" | "on" => true,
            "0" | "no" | "n" | "false" | "f" | "off" | "" => false,
            _ => {
                self.findings.problem(&given.place, format!("expected yes or no, found `{}`", given.text));
                false
            }
        }
    }
}
