//! Records a program's timers as a text: to replay through any queue, and to see which suits best.
//!
//! ```text
//!   mainspring-trace 1 tick_ns 1000000 dropped 0        version, length of a tick, operations that had no room
//!   0 schedule 1 30000                                  time, operation, timer, deadline
//!   5 reset 1 30005
//!   7 schedule 2 12
//!   12 fire 2                                           time, operation, timer
//!   90 cancel 1
//! ```
//!
//! Times and deadlines are ticks from any origin; times do not go back. Timers are numbers that name one
//! timer for ever. A fire says when the program took it out: a replay goes by deadlines. Lines that are empty
//! or begin with `#` are left out.
//!
//! A [`Recorder`] makes one of a running program; `mainspring-lab advise` reads it.
//!
//! Cost: 32 bytes a step in memory, about 20 in a file. It does not hold payloads.

mod recorder;

pub use recorder::{RecordedQueue, Recorder};

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use mainspring_queue::Tick;

/// The version of the format that this module writes and reads.
pub const VERSION: u32 = 1;

/// What was done to a timer.
///
/// ```
/// use mainspring::trace::{Operation, Trace};
///
/// let text = "mainspring-trace 1 tick_ns 1000000 dropped 0\n0 schedule 1 30000\n90 cancel 1\n";
/// let trace: Trace = text.parse()?;
/// assert_eq!(trace.steps[1].operation, Operation::Cancel);
/// # Ok::<(), mainspring::trace::TraceError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a replay must do each of them")]
pub enum Operation {
    /// It was added, to fire at this tick.
    Schedule(Tick),
    /// It was removed before it fired.
    Cancel,
    /// It was moved to this tick.
    Reset(Tick),
    /// It fired.
    Fire,
}

/// One operation.
///
/// ```
/// use mainspring::trace::Trace;
///
/// let text = "mainspring-trace 1 tick_ns 1000000 dropped 0\n0 schedule 1 30000\n90 cancel 1\n";
/// let trace: Trace = text.parse()?;
/// assert_eq!((trace.steps[1].at.get(), trace.steps[1].timer), (90, 1));
/// # Ok::<(), mainspring::trace::TraceError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "traces are made by hand too")]
pub struct Step {
    /// When it was done.
    pub at: Tick,
    /// To which timer: a number that no other timer has.
    pub timer: u64,
    /// What was done.
    pub operation: Operation,
}

/// A program's operations, in the order in which they were done.
///
/// ```
/// use mainspring::trace::Trace;
///
/// let text = "mainspring-trace 1 tick_ns 1000000 dropped 0\n0 schedule 1 30000\n90 cancel 1\n";
/// let trace: Trace = text.parse()?;
/// assert_eq!((trace.steps.len(), trace.to_string()), (2, text.to_owned()));
/// # Ok::<(), mainspring::trace::TraceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "traces are made by hand too")]
pub struct Trace {
    /// The length of a tick.
    pub tick: Duration,
    /// How many operations the recorder had no room for. The trace ends before the first of them.
    pub dropped_count: u64,
    /// The operations.
    pub steps: Vec<Step>,
}

impl fmt::Display for Trace {
    /// Writes the trace in the format of the [module](self).
    #[inline]
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tick_ns, dropped) = (self.tick.as_nanos(), self.dropped_count);
        writeln!(formatter, "mainspring-trace {VERSION} tick_ns {tick_ns} dropped {dropped}")?;
        for Step { at, timer, operation } in &self.steps {
            match operation {
                Operation::Schedule(deadline) => writeln!(formatter, "{at} schedule {timer} {deadline}")?,
                Operation::Cancel => writeln!(formatter, "{at} cancel {timer}")?,
                Operation::Reset(deadline) => writeln!(formatter, "{at} reset {timer} {deadline}")?,
                Operation::Fire => writeln!(formatter, "{at} fire {timer}")?,
            }
        }
        Ok(())
    }
}

/// Why a text is no trace.
///
/// ```
/// use mainspring::trace::{Trace, TraceProblem};
///
/// let text = "mainspring-trace 1 tick_ns 1000000 dropped 0\n7 postpone 1\n";
/// let error = text.parse::<Trace>().unwrap_err();
/// assert_eq!((error.line, error.problem), (2, TraceProblem::Operation("postpone".to_owned())));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub problem: TraceProblem,
}

/// What is wrong in a line of a trace.
///
/// ```
/// use mainspring::trace::{Trace, TraceProblem};
///
/// let text = "mainspring-trace 1 tick_ns 1000000 dropped 0\n7 postpone 1\n";
/// let error = text.parse::<Trace>().unwrap_err();
/// assert_eq!((error.line, error.problem), (2, TraceProblem::Operation("postpone".to_owned())));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceProblem {
    /// The first line is not the header of this version.
    Header,
    /// The line is not time, operation, timer, and a deadline where one belongs.
    Fields,
    /// There is no such operation.
    Operation(String),
    /// A field is no whole number from 0 to 2^64 - 1.
    Number(String),
    /// The time is before that of the line above.
    TimeGoesBack,
}

impl fmt::Display for TraceError {
    #[inline]
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.problem)
    }
}

impl fmt::Display for TraceProblem {
    #[inline]
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceProblem::Header => {
                write!(formatter, "the first line must be `mainspring-trace {VERSION} tick_ns N dropped N`")
            }
            TraceProblem::Fields => formatter
                .write_str("expected `TIME schedule|reset TIMER DEADLINE` or `TIME cancel|fire TIMER`"),
            TraceProblem::Operation(word) => {
                write!(formatter, "`{word}` is none of schedule, cancel, reset and fire")
            }
            TraceProblem::Number(word) => write!(formatter, "`{word}` is not a whole number below 2^64"),
            TraceProblem::TimeGoesBack => formatter.write_str("the time is before that of the line above"),
        }
    }
}

impl std::error::Error for TraceError {}

impl FromStr for Trace {
    type Err = TraceError;

    #[inline]
    fn from_str(text: &str) -> Result<Trace, TraceError> {
        let mut lines = text.lines().enumerate();
        let header = lines.next().and_then(|(_, line)| parse_header(line));
        let (tick, dropped_count) = header.ok_or(TraceError { line: 1, problem: TraceProblem::Header })?;
        let mut steps: Vec<Step> = Vec::new();
        for (index, line) in lines {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let failed = |problem| TraceError { line: index + 1, problem };
            let step = parse_step(line).map_err(failed)?;
            if steps.last().is_some_and(|last| step.at < last.at) {
                return Err(failed(TraceProblem::TimeGoesBack));
            }
            steps.push(step);
        }
        Ok(Trace { tick, dropped_count, steps })
    }
}

#[inline]
fn parse_header(line: &str) -> Option<(Duration, u64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["mainspring-trace", version, "tick_ns", tick_ns, "dropped", dropped] = words[..] else {
        return None;
    };
    let tick = Duration::from_nanos(tick_ns.parse().ok()?);
    (version.parse() == Ok(VERSION) && !tick.is_zero()).then_some((tick, dropped.parse().ok()?))
}

#[inline]
fn parse_step(line: &str) -> Result<Step, TraceProblem> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |word: &str| word.parse::<u64>().map_err(|_| TraceProblem::Number(word.to_owned()));
    let (at, timer, operation) = match words[..] {
        [at, "schedule", timer, deadline] => (at, timer, Operation::Schedule(Tick::new(number(deadline)?))),
        [at, "reset", timer, deadline] => (at, timer, Operation::Reset(Tick::new(number(deadline)?))),
        [at, "cancel", timer] => (at, timer, Operation::Cancel),
        [at, "fire", timer] => (at, timer, Operation::Fire),
        [_, word, ..] if !["schedule", "reset", "cancel", "fire"].contains(&word) => {
            return Err(TraceProblem::Operation(word.to_owned()));
        }
        _ => return Err(TraceProblem::Fields),
    };
    Ok(Step { at: Tick::new(number(at)?), timer: number(timer)?, operation })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "mainspring-trace 1 tick_ns 1000000 dropped 3
0 schedule 1 30000
5 reset 1 30005
7 schedule 2 12
12 fire 2
90 cancel 1
";

    #[test]
    fn what_is_written_is_read_again() {
        let trace: Trace = TEXT.parse().expect("the text is a trace");
        assert_eq!((trace.tick, trace.dropped_count, trace.steps.len()), (Duration::from_millis(1), 3, 5));
        assert_eq!(trace.to_string(), TEXT);
        let with_comment = TEXT.replace("5 reset", "\n# a comment\n  5 reset");
        assert_eq!(with_comment.parse::<Trace>(), Ok(trace));
    }

    #[test]
    fn each_error_names_its_line() {
        let cases = [
            ("", 1, TraceProblem::Header),
            ("mainspring-trace 2 tick_ns 1 dropped 0", 1, TraceProblem::Header),
            ("mainspring-trace 1 tick_ns 0 dropped 0", 1, TraceProblem::Header),
            ("H\n1 schedule 1", 2, TraceProblem::Fields),
            ("H\n1 cancel 1 2", 2, TraceProblem::Fields),
            ("H\n1", 2, TraceProblem::Fields),
            ("H\n\n1 start 1 2", 3, TraceProblem::Operation("start".to_owned())),
            ("H\n-1 cancel 1", 2, TraceProblem::Number("-1".to_owned())),
            ("H\n1 schedule 1 soon", 2, TraceProblem::Number("soon".to_owned())),
            ("H\n5 cancel 1\n4 cancel 2", 3, TraceProblem::TimeGoesBack),
        ];
        for (text, line, problem) in cases {
            let text = text.replace('H', "mainspring-trace 1 tick_ns 1000000 dropped 0");
            assert_eq!(text.parse::<Trace>(), Err(TraceError { line, problem }), "{text}");
        }
    }
}
