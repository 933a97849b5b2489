//! **Cron expressions: when is the next one due?** The crate reads the languages of cron, Quartz and systemd.
//! A text becomes a schedule in a time zone. The schedule finds the next and the previous occurrence,
//! explains itself in English, and follows Debian's cron when the clock changes.
//!
//! ```
//! use mainspring_cron::Schedule;
//!
//! let schedule = Schedule::parse("30 2 * * mon-fri", "America/New_York")?;
//! let next = schedule.next_after("2025-03-07T12:00:00-05:00".parse()?).expect("there is one each week");
//! assert_eq!(next.to_string(), "2025-03-10T02:30:00-04:00[America/New_York]");
//! assert_eq!(schedule.expression().sentence(), "At 02:30 on Monday to Friday.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | I want to .. | take |
//! |---|---|
//! | read a crontab's expression in a zone | [`Schedule::parse`] |
//! | one occurrence | [`Schedule::next_after`], [`Schedule::prev_before`] |
//! | several in order | [`Schedule::upcoming`] |
//! | read Quartz, another day rule, or `H` for a job's name | [`ParseOptions`], [`Expression::parse_with`] |
//! | read systemd's language | [`OnCalendar`], [`Expression::parse_oncalendar`] |
//! | choose what happens when the clock changes | [`DstPolicy`], [`Schedule::with_dst`] |
//! | a fixed period, without any calendar | [`Every`], or `@every 90s` |
//! | show a user what a text means, and what looks wrong | [`Schedule::explain`], [`Warning`] |
//! | show a user where a text is wrong | [`ParseError::pointed`] |
//! | write an expression in another language | [`Expression::translate`] |
//! | keep a schedule in a file | `Display` and `FromStr` of [`Schedule`], or the feature `serde` |
//! | look at the sets of a parsed text | [`Pattern`] |
//!
//! # The language
//!
//! Five fields: minute, hour, day of the month, month, weekday. With six fields the first is the seconds;
//! with seven the last is the year. Each is a list of numbers, names, ranges and steps: `*/15`, `9-17/2`,
//! `mon-fri`, `jan,jul`.
//!
//! | item | is | field |
//! |---|---|---|
//! | `L`, `L-3` | the last day of the month, three days before it | day of the month |
//! | `15W`, `LW` | the workday nearest to it, within the month | day of the month |
//! | `5#3`, `5L` | the third, the last Friday of the month | weekday |
//! | `+fri` | this weekday *and* the day of the month | weekday |
//! | `?` | any day | both |
//! | `H`, `H(0-29)`, `H/15`, `6~15` | a number computed from the name of the job: see [`spread`] | all |
//!
//! Instead of fields there may be `@yearly` (`@annually`), `@monthly`, `@weekly`, `@daily` (`@midnight`),
//! `@hourly`, `@reboot`, `@every 90s` or `@at 2030-01-31T08:00:00Z`.
//!
//! # Costs
//!
//! Reading is linear in the text. Reading, explaining and translating allocate. Finding the next occurrence
//! allocates nothing. It searches bit sets field by field and never steps through minutes: mostly three
//! look-ups of an offset and one search of the calendar, however far away the occurrence is. A date that
//! never comes (30 February) is known at once. A schedule that only names times in a gap of the clock ends
//! its search after 400 years.
//!
//! # What it does not do
//!
//! It does not run anything, and reads no clock: the caller says what time it is, and sleeps. The crate
//! `mainspring` does both (its front `calendar`). Nothing here starts a thread or does I/O, with one
//! exception: [`jiff`] reads the time zone database of the system when a zone is looked up by name. There are
//! no leap seconds, as on a system's clock.
//!
//! # Beside other crates
//!
//! | | here | croner 4.0 | cron 0.17 | saffron 0.1 |
//! |---|---|---|---|---|
//! | fields | 5, 6 or 7 | 5, 6 or 7 | 6 or 7 | 5 |
//! | Sunday | 0 or 7; in Quartz 1 | 0 or 7 | 1 | 1 |
//! | `0 0 13 * fri` | either day, or by [`DayRule`] | either day, or both | both days | either day |
//! | `30 2 * * *` in a gap | at its end, or by [`DstPolicy`] | at its end | not that day | UTC only |
//! | `30 2,14 * * *` in a gap | the same | not at 02:30 that day | not that day | UTC only |
//! | `30 1 * * *` that comes twice | once, or by [`DstPolicy`] | once | twice | UTC only |
//! | `L`, `W`, `#` | yes | yes, without `L-3` | no | yes |
//! | `H`, `@every`, systemd's language | yes | no | no | no |
//! | dates and zones | jiff | jiff or chrono | chrono | chrono |
//!
//! The columns were filled by running the versions named. The tests of this crate compare it with croner on
//! random expressions, and name each kind of difference.
//!
//! # Features and versions
//!
//! `serde`: [`Expression`], [`Schedule`], [`OnCalendar`], [`DstPolicy`] and the choices of [`ParseOptions`]
//! as text. It is off unless asked for, and changes nothing else.
//!
//! ```
//! # #[cfg(feature = "serde")] {
//! use mainspring_cron::Schedule;
//!
//! let schedule = Schedule::parse("30 2 * * *", "Europe/Paris")?;
//! let json = serde_json::to_string(&schedule)?;
//! assert_eq!(json, "\"CRON_TZ=Europe/Paris 30 2 * * *\"");
//! assert_eq!(serde_json::from_str::<Schedule>(&json)?, schedule);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The types of [`jiff`] 0.2 are in the signatures, so it is re-exported. This crate stays below 1.0 until
//! jiff is 1.0. The minimum Rust is 1.89, and raising it is a minor version.
//!
//! # How it is cut
//!
//! ```text
//! text -> Expression ------> Schedule (+ zone, + DST policy) --> next_after(t), prev_before(t), explain(t)
//!           |  Pattern         |
//!           |  OnCalendar      windows between two changes of the zone's offset (zone)
//!           |    `-> one calendar of bit sets, searched field by field (civil, days)
//!           `-> translate(language)
//! ```
//!
//! Source: [crontab(5)](https://manpages.debian.org/bookworm/cron/crontab.5.en.html) and
//! [cron(8)](https://manpages.debian.org/bookworm/cron/cron.8.en.html) of Debian for the language and for
//! daylight saving, the [Quartz
//! tutorial](https://www.quartz-scheduler.org/documentation/quartz-2.3.0/tutorials/crontrigger.html) for `L`,
//! `W` and `#`.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
// What a version 1.0 would freeze is chosen, and what a page must say is said.
#![warn(missing_debug_implementations)]
#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc, clippy::return_self_not_must_use)]

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

mod time_text;

mod schedule;
mod schedule_text;

mod explain;
mod translate;

#[cfg(feature = "serde")]
mod serde;

pub use jiff;

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
pub use time_text::TimeText;
pub use translate::{Language, Translation, Untranslatable};
pub use unit::Unit;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
