//! A timer and its service on their way: what is read of them, key by key.
//!
//! Cost: plain data.
//!
//! Does not know the keys: [`timer`](super::timer) and [`service`](super::service) do.

use std::time::Duration;

use super::timespan::{self, TimeSpan};
use super::unit_file::UnitValue;
use super::words::{HasVariables, Specifiers, Split, literal, split};
use crate::facts::{JobFacts, Variables};
use crate::finding::Findings;
use crate::key::Reader;

/// A job on its way.
#[derive(Debug, Default)]
pub(super) struct UnitReader {
    pub(super) job: JobFacts,
    pub(super) findings: Findings,
    /// The name of the unit whose keys are read.
    pub(super) unit: String,
    pub(super) timer: TimerWords,
    pub(super) service: ServiceWords,
}

/// What a timer says that is judged when all of it is known.
#[derive(Debug, Default)]
pub(super) struct TimerWords {
    /// `OnBootSec`, `OnStartupSec` or `OnActiveSec`, and where.
    pub(super) first: Option<(UnitValue, Duration)>,
    /// Whether it names times of the calendar.
    pub(super) has_calendar: bool,
    pub(super) is_persistent: bool,
}

/// What a service says that is judged when all of it is known.
#[derive(Debug, Default)]
pub(super) struct ServiceWords {
    pub(super) kind: String,
    pub(super) user: Option<String>,
    pub(super) group: Option<UnitValue>,
    pub(super) conditions: Vec<UnitValue>,
    pub(super) pre: Vec<UnitValue>,
    pub(super) main: Vec<UnitValue>,
    pub(super) post: Vec<UnitValue>,
    pub(super) start_timeout: Option<(UnitValue, Option<Duration>)>,
    pub(super) has_cwd: bool,
    pub(super) env: Variables,
}

impl Reader for UnitReader {
    fn findings(&mut self) -> &mut Findings {
        &mut self.findings
    }
}

impl UnitReader {
    /// A length of time; what is none is a problem.
    pub(super) fn span(&mut self, given: &UnitValue) -> Option<TimeSpan> {
        let found = timespan::parse(&given.text);
        if found.is_none() {
            let message =
                format!("expected a length of time such as 5min or 1h 30min, found `{}`", given.text);
            self.findings.problem(&given.place, message);
        }
        found
    }

    /// The same where it must have an end.
    pub(super) fn duration(&mut self, given: &UnitValue) -> Option<Duration> {
        match self.span(given)? {
            TimeSpan::Of(duration) => Some(duration),
            TimeSpan::Infinity => None,
        }
    }

    /// The words of a value that is no command line, with specifiers put in.
    pub(super) fn words(&mut self, given: &UnitValue) -> Vec<String> {
        let unit = std::mem::take(&mut self.unit);
        let specifiers = Specifiers { unit: &unit, user: self.service.user.as_deref() };
        let Split { words, unknown, is_broken } = split(&given.text, &specifiers, HasVariables::No);
        self.unit = unit;
        if is_broken {
            self.findings.problem(&given.place, "a quote is not closed");
        }
        for specifier in unknown {
            let message = format!("what `%{specifier}` stands for is not known here");
            self.findings.warn(&given.place, message, "write it out in the job file");
        }
        words.iter().filter_map(|word| literal(word)).collect()
    }

    /// The one word of such a value.
    pub(super) fn word(&mut self, given: &UnitValue) -> Option<String> {
        self.words(given).into_iter().next()
    }

    /// A number; what is none is a problem.
    pub(super) fn number(&mut self, given: &UnitValue) -> Option<i64> {
        let found = given.text.parse().ok();
        if found.is_none() {
            self.findings.problem(&given.place, format!("expected a whole number, found `{}`", given.text));
        }
        found
    }

    /// A yes or a no; what is neither is a problem.
    pub(super) fn truth(&mut self, given: &UnitValue) -> bool {
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
