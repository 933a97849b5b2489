//! A small language for what happens to a queue: one step a line.
//!
//! ```text
//!   # Comments and empty lines are skipped.
//!   schedule a 10          a timer named a, due at tick 10
//!   schedule b +5          5 ticks after the last advance
//!   schedule c max         at the end of time
//!   reset a +20 => moved   or: => gone
//!   cancel b => returned   or: => gone
//!   advance 30             or +1, max, wakeup (to the next wakeup, if there is one)
//!   pop => a               or: => nothing
//!   drain => a b           pops until nothing is expired; in this order, or: => any a b
//!   wakeup => none         or: => 30 (exactly), => by 30 (then, or earlier)
//!   len => 1
//!   compact                gives back memory; trim: some of it
//! ```
//!
//! What follows `=>` is what a person expects to see; steps without it are only compared with the oracle. A
//! name that is scheduled again names the new timer from then on; steps about a name that was never scheduled
//! do nothing, so that a script from which lines were removed is still a script.
//!
//! Cost: O(text). It does not run anything: [`runner`](super::runner) does.

use std::fmt;
use std::string::{String, ToString};
use std::vec::Vec;

/// A list of steps over named timers.
///
/// ```
/// use mainspring_queue::contract::Script;
///
/// let script = Script::parse("schedule tea 240\nadvance wakeup\npop => tea\n")?;
/// assert_eq!(script.steps.len(), 3);
/// # Ok::<(), mainspring_queue::contract::ScriptError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a script is its steps, and is made of them")]
pub struct Script {
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// One line of a script.
///
/// ```
/// use mainspring_queue::contract::Script;
/// use mainspring_queue::contract::script::Step;
///
/// let script = Script::parse("schedule tea 240\ncompact\n")?;
/// assert_eq!(script.steps[1], Step::Compact);
/// # Ok::<(), mainspring_queue::contract::ScriptError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Adds a timer.
    Schedule(Name, When),
    /// Removes a timer.
    Cancel(Name, Option<Presence>),
    /// Moves a timer.
    Reset(Name, When, Option<Presence>),
    /// Moves time.
    Advance(When),
    /// Takes out one expired timer, or none.
    Pop(Option<ExpectedFirings>),
    /// Takes out all expired timers.
    Drain(Option<ExpectedFirings>),
    /// Only looks at the next wakeup.
    Wakeup(Wakeup),
    /// Only looks at the number of pending timers.
    Len(usize),
    /// Gives back memory.
    Compact,
    /// Gives back memory in a small step.
    Trim,
}

/// A timer's name in a script.
pub type Name = String;

/// A point in time.
///
/// ```
/// use mainspring_queue::contract::Script;
/// use mainspring_queue::contract::script::{Step, When};
///
/// let script = Script::parse("advance wakeup\n")?;
/// assert_eq!(script.steps[0], Step::Advance(When::Wakeup));
/// # Ok::<(), mainspring_queue::contract::ScriptError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum When {
    /// An absolute tick.
    At(u64),
    /// So many ticks after the last advance.
    After(u64),
    /// The next wakeup; for a step other than `advance`, or without one, now.
    Wakeup,
}

/// Whether a timer is expected to be pending still.
///
/// ```
/// use mainspring_queue::contract::Script;
/// use mainspring_queue::contract::script::{Presence, Step};
///
/// let script = Script::parse("cancel tea => gone\n")?;
/// assert_eq!(script.steps[0], Step::Cancel("tea".to_owned(), Some(Presence::Gone)));
/// # Ok::<(), mainspring_queue::contract::ScriptError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Presence {
    /// It is: its payload comes back, or it moves.
    Pending,
    /// It fired or was cancelled.
    Gone,
}

/// Which timers are expected to fire.
///
/// ```
/// use mainspring_queue::contract::Script;
/// use mainspring_queue::contract::script::{ExpectedFirings, Step};
///
/// let script = Script::parse("drain => any egg tea\n")?;
/// let expected = ExpectedFirings::InAnyOrder(vec!["egg".to_owned(), "tea".to_owned()]);
/// assert_eq!(script.steps[0], Step::Drain(Some(expected)));
/// # Ok::<(), mainspring_queue::contract::ScriptError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExpectedFirings {
    /// These, in this order as far as the queue's profile promises one.
    InOrder(Vec<Name>),
    /// These, in any order.
    InAnyOrder(Vec<Name>),
}

/// What the next wakeup is expected to be.
///
/// ```
/// use mainspring_queue::contract::Script;
/// use mainspring_queue::contract::script::{Step, Wakeup};
///
/// let script = Script::parse("wakeup => by 30\n")?;
/// assert_eq!(script.steps[0], Step::Wakeup(Wakeup::By(30)));
/// # Ok::<(), mainspring_queue::contract::ScriptError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wakeup {
    /// None: the queue is empty.
    None,
    /// Exactly this tick.
    Exactly(u64),
    /// This tick or an earlier one.
    By(u64),
}

/// A line that is not a step.
///
/// ```
/// use mainspring_queue::contract::Script;
///
/// let error = Script::parse("schedule tea 240\nbrew tea\n").unwrap_err();
/// assert_eq!((error.line, error.text.as_str()), (2, "brew tea"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScriptError {
    /// The line's number, from 1.
    pub line: usize,
    /// The line.
    pub text: String,
    /// What was expected there.
    pub expected: &'static str,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: expected {}: {:?}", self.line, self.expected, self.text)
    }
}

impl std::error::Error for ScriptError {}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// The first line that is not a step.
    pub fn parse(text: &str) -> Result<Script, ScriptError> {
        let mut steps = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                let error = |expected| ScriptError { line: index + 1, text: line.to_string(), expected };
                steps.push(parse_step(line).map_err(error)?);
            }
        }
        Ok(Script { steps })
    }

    /// Reads any bytes as a script, for fuzzing: each step takes up to ten of them.
    pub fn from_bytes(bytes: &[u8]) -> Script {
        let mut bytes = bytes.iter().copied();
        let mut steps = Vec::new();
        while let Some(code) = bytes.next() {
            let Some(argument) = bytes.next() else { break };
            // Few names, so that they are met again.
            let name = std::format!("t{}", argument % 32);
            let step = match code % 16 {
                14 => Step::Trim,
                15 => Step::Compact,
                0..=2 | 8..=9 => Step::Schedule(name, when_from(argument, &mut bytes)),
                3 | 10 => Step::Cancel(name, None),
                4 | 11 => Step::Reset(name, when_from(argument, &mut bytes), None),
                5 | 12 => Step::Advance(when_from(argument, &mut bytes)),
                6 | 13 => Step::Pop(None),
                _ => Step::Drain(None),
            };
            steps.push(step);
        }
        Script { steps }
    }
}

/// A point in time from a number of bytes that is itself in the input, so that short distances are common.
fn when_from(code: u8, bytes: &mut impl Iterator<Item = u8>) -> When {
    let length = usize::from(code >> 5) + 1;
    let ticks = bytes.take(length).fold(0, |ticks, byte| ticks << 8 | u64::from(byte));
    match code % 4 {
        0 => When::At(ticks),
        1 => When::Wakeup,
        _ => When::After(ticks),
    }
}

fn parse_step(line: &str) -> Result<Step, &'static str> {
    let (action, expectation) = match line.split_once("=>") {
        Some((action, expectation)) => (action, Some(expectation.trim())),
        None => (line, None),
    };
    let words: Vec<&str> = action.split_whitespace().collect();
    match (words.as_slice(), expectation) {
        (["schedule", name, when], None) => Ok(Step::Schedule((*name).into(), parse_when(when)?)),
        (["cancel", name], found) => Ok(Step::Cancel((*name).into(), parse_found(found, "returned")?)),
        (["reset", name, when], found) => {
            Ok(Step::Reset((*name).into(), parse_when(when)?, parse_found(found, "moved")?))
        }
        (["advance", when], None) => Ok(Step::Advance(parse_when(when)?)),
        (["pop"], fired) => Ok(Step::Pop(fired.map(parse_fired))),
        (["drain"], fired) => Ok(Step::Drain(fired.map(parse_fired))),
        (["wakeup"], Some("none")) => Ok(Step::Wakeup(Wakeup::None)),
        (["wakeup"], Some(tick)) => match tick.strip_prefix("by ") {
            Some(tick) => Ok(Step::Wakeup(Wakeup::By(parse_number(tick)?))),
            None => Ok(Step::Wakeup(Wakeup::Exactly(parse_number(tick)?))),
        },
        (["compact"], None) => Ok(Step::Compact),
        (["trim"], None) => Ok(Step::Trim),
        (["len"], Some(count)) => Ok(Step::Len(parse_number(count)? as usize)),
        _ => Err(
            "schedule, cancel, reset, advance, pop, drain, wakeup, len, compact or trim with its arguments",
        ),
    }
}

fn parse_when(word: &str) -> Result<When, &'static str> {
    match (word, word.strip_prefix('+')) {
        ("wakeup", _) => Ok(When::Wakeup),
        (_, Some(delay)) => Ok(When::After(parse_number(delay)?)),
        (tick, None) => Ok(When::At(parse_number(tick)?)),
    }
}

fn parse_number(word: &str) -> Result<u64, &'static str> {
    if word == "max" {
        return Ok(u64::MAX);
    }
    word.parse().map_err(|_| "a number of ticks or max")
}

fn parse_found(word: Option<&str>, pending: &str) -> Result<Option<Presence>, &'static str> {
    match word {
        None => Ok(None),
        Some("gone") => Ok(Some(Presence::Gone)),
        Some(word) if word == pending => Ok(Some(Presence::Pending)),
        Some(_) => Err("returned, moved or gone after =>"),
    }
}

fn parse_fired(words: &str) -> ExpectedFirings {
    let mut names: Vec<Name> = words.split_whitespace().map(Name::from).collect();
    if names == ["nothing"] {
        return ExpectedFirings::InOrder(Vec::new());
    }
    if names.first().is_some_and(|word| word == "any") {
        names.remove(0);
        return ExpectedFirings::InAnyOrder(names);
    }
    ExpectedFirings::InOrder(names)
}

impl fmt::Display for Script {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps.iter().try_for_each(|step| writeln!(formatter, "{step}"))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Schedule(name, when) => write!(formatter, "schedule {name} {when}"),
            Step::Cancel(name, found) => {
                write!(formatter, "cancel {name}{}", found_text(*found, " => returned"))
            }
            Step::Reset(name, when, found) => {
                write!(formatter, "reset {name} {when}{}", found_text(*found, " => moved"))
            }
            Step::Advance(when) => write!(formatter, "advance {when}"),
            Step::Pop(None) => formatter.write_str("pop"),
            Step::Pop(Some(fired)) => write!(formatter, "pop => {fired}"),
            Step::Drain(None) => formatter.write_str("drain"),
            Step::Drain(Some(fired)) => write!(formatter, "drain => {fired}"),
            Step::Wakeup(Wakeup::None) => formatter.write_str("wakeup => none"),
            Step::Wakeup(Wakeup::Exactly(tick)) => write!(formatter, "wakeup => {tick}"),
            Step::Wakeup(Wakeup::By(tick)) => write!(formatter, "wakeup => by {tick}"),
            Step::Compact => formatter.write_str("compact"),
            Step::Trim => formatter.write_str("trim"),
            Step::Len(count) => write!(formatter, "len => {count}"),
        }
    }
}

fn found_text(found: Option<Presence>, pending: &'static str) -> &'static str {
    match found {
        None => "",
        Some(Presence::Pending) => pending,
        Some(Presence::Gone) => " => gone",
    }
}

impl fmt::Display for When {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            When::At(u64::MAX) => formatter.write_str("max"),
            When::At(tick) => tick.fmt(formatter),
            When::After(delay) => write!(formatter, "+{delay}"),
            When::Wakeup => formatter.write_str("wakeup"),
        }
    }
}

impl fmt::Display for ExpectedFirings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExpectedFirings::InOrder(names) if names.is_empty() => formatter.write_str("nothing"),
            ExpectedFirings::InOrder(names) => formatter.write_str(&names.join(" ")),
            ExpectedFirings::InAnyOrder(names) => write!(formatter, "any {}", names.join(" ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_prints_as_it_was_written() {
        let text = "schedule a 10\nschedule b +5\nschedule c max\nreset a wakeup => moved\ncancel b => gone\n\
                    advance 30\npop => a\npop => nothing\ndrain => any a b\ndrain\nwakeup => by 7\nwakeup => none\n\
                    len => 1\ncompact\n";
        assert_eq!(Script::parse(text).expect("the script is right").to_string(), text);
    }

    #[test]
    fn a_wrong_line_is_named() {
        let error = Script::parse("# fine\nschedule a\n").expect_err("the line lacks a time");
        assert_eq!(error.line, 2);
        let error = Script::parse("cancel a => moved").expect_err("cancel does not move");
        assert!(error.to_string().contains("returned, moved or gone"), "{error}");
        assert!(Script::parse("advance soon").is_err());
    }

    #[test]
    fn any_bytes_are_a_script() {
        for length in 0..64_u8 {
            let bytes: Vec<u8> = (0..length).map(|byte| byte.wrapping_mul(151)).collect();
            let script = Script::from_bytes(&bytes);
            assert!(script.steps.len() <= bytes.len() / 2);
            assert_eq!(Script::parse(&script.to_string()), Ok(script));
        }
    }
}
