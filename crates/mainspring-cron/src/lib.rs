//! Cron expressions: from text to a pattern, and from a pattern to the next occurrence in a time zone.
//!
//! ```text
//! text -> Expression ------> Schedule (+ zone, + DST policy) --> next_after(t), prev_before(t), explain(t)
//!           |  Pattern         |
//!           |  OnCalendar      windows between two changes of the zone's offset (zone)
//!           |    `-> one calendar of bit sets, searched field by field (civil, days)
//!           `-> translate(language)
//! ```
//!
//! | to read | see |
//! |---|---|
//! | the language of cron, and Quartz as a dialect | [`Expression`], [`ParseOptions`], [`Unit`] |
//! | systemd's language | [`OnCalendar`] |
//! | what happens when the clock changes | [`DstPolicy`] |
//! | what a text means, in English | [`Schedule::explain`] |
//! | what is wrong with a text | [`ParseError`] |
//!
//! Parsing, explaining and translating allocate; finding an occurrence does not. It is found by jumping from field to
//! field of the bit sets, never by stepping through minutes: the cost does not depend on how far away it is, and a
//! date that never comes (30 February) is known at once.
//!
//! Nothing here reads a clock, sleeps, spawns or does I/O, save for the time zone database that [`jiff`] reads when
//! a zone is looked up by name. The caller says what time it is.
//!
//! Source: [crontab(5)](https://manpages.debian.org/bookworm/cron/crontab.5.en.html) and
//! [cron(8)](https://manpages.debian.org/bookworm/cron/cron.8.en.html) of Debian for the language and for daylight
//! saving, the [Quartz
//! tutorial](https://www.quartz-scheduler.org/documentation/quartz-2.3.0/tutorials/crontrigger.html) for `L`, `W` and
//! `#`.
//!
//! # Example
//!
//! ```
//! use jiff::{Timestamp, tz::TimeZone};
//! use mainspring_cron::{Expression, Schedule};
//!
//! let schedule = Schedule::new(Expression::parse("30 2 * * *")?, TimeZone::get("America/New_York")?);
//! let after: Timestamp = "2025-03-09T00:00:00-05:00".parse()?;
//! let next = schedule.next_after(after).expect("every day has one");
//! // 02:30 does not exist on that day: a fixed time inside a gap runs once, right after it.
//! assert_eq!(next.to_string(), "2025-03-09T03:00:00-04:00[America/New_York]");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod error;
mod word;

mod options;
mod unit;
mod values;

mod item;
mod item_day;
mod spread;

mod civil;
mod days;
mod second;

mod every;
mod pattern;

mod oncalendar;

mod expression;
mod nickname;

mod dst;
mod zone;

mod schedule;
mod schedule_text;

mod explain;
mod translate;

pub use dst::{DstPolicy, Gap, Overlap};
pub use error::{ParseError, Warning};
pub use every::Every;
pub use explain::{ClockChange, Explanation, FieldSet};
pub use expression::Expression;
pub use oncalendar::OnCalendar;
pub use options::{BareStep, DayRule, Dialect, ParseOptions, UnknownName};
pub use pattern::{Field, Pattern};
pub use schedule::{Schedule, Upcoming};
pub use schedule_text::ScheduleError;
pub use spread::spread;
pub use translate::{Language, Translation, Untranslatable};
pub use unit::Unit;
