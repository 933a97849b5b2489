//! Misfire: what becomes of occurrences whose time passed while no server planned them.
//!
//! The server may be down, the machine suspended, the process stopped, or the clock set forward. The planner
//! handles all four alike. It compares the time with the watermark of the job, which is the last nominal time
//! that it planned:
//!
//! ```text
//!  watermark                                                     now
//! ─────┴────×────×────×────×────×────×────×────×────×────×────────┴───▶
//!           └───────────────── D: occurrences in (watermark, now] ─────┘
//! ```
//!
//! The last of D is on time if it is at most `grace` old, and runs as if nothing had happened. All others of
//! D have misfired, and so has the last if it is older:
//!
//! | policy | runs | everything else of the misfired |
//! |---|---|---|
//! | `none` | nothing | is recorded as missed |
//! | `latest` (default) | the latest one, if it is at most `window` old, unless the last of D is on time | missed |
//! | `earliest` | the earliest one that is at most `window` old | missed |
//! | `all` | the latest `cap` of those that are at most `window` old, in order, one after the other | missed |
//!
//! A run that starts late by this table is a catch-up run. All catch-up runs of one look are due at one
//! moment, `now` plus a part of `spread`. The part is a hash of the job and of the first nominal time that is
//! caught up, so that a hundred jobs do not start in the same instant after a restart. The runs start in the
//! order of their nominal times, each when the one before has ended, under every overlap rule.
//!
//! Missed occurrences that follow one another are one record: the first nominal time, the last, and the
//! count, which is exact up to [`MAX_COUNTED`](crate::MAX_COUNTED) occurrences and "at least" beyond.
//! Afterwards the watermark is the last of D. Nothing up to it is ever planned again, even if the clock is
//! set back.
//!
//! A one-shot job has one occurrence. With `none` it is missed when it is older than `grace`. With every
//! other rule it runs as soon as a server runs, because a person asked for it.
//!
//! Source: misfire instructions of
//! [Quartz](https://www.quartz-scheduler.org/documentation/2.4.0-SNAPSHOT/tutorials/), the catchup window of
//! [Temporal](https://docs.temporal.io/schedule), `Persistent=` of
//! [systemd.timer(5)](https://www.freedesktop.org/software/systemd/man/latest/systemd.timer.html).

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::text::{self, PolicyError};

/// The most catch-up runs of `all`: a thousand lost minutes. More is a backfill, which people watch.
pub const MAX_CATCH_UP_RUNS: u32 = 1_000;

/// About a century, as the longest period of a trigger.
const MAX_WINDOW: Duration = Duration::from_secs(36_525 * 86_400);

/// Says which misfired occurrences run late.
///
/// # Example
/// ```
/// use mainspring_job::{CatchUp, Misfire};
///
/// let misfire: Misfire = "all,cap=7".parse()?;
/// assert_eq!(misfire.catch_up, CatchUp::All { cap: 7 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CatchUp {
    /// None of them.
    None,
    /// The latest.
    Latest,
    /// The earliest within the window.
    Earliest,
    /// The latest so many, in order; from 1 to [`MAX_CATCH_UP_RUNS`].
    All {
        /// At most so many.
        cap: u32,
    },
}

/// Says what happens to misfired occurrences.
///
/// # Example
/// ```
/// use mainspring_job::Misfire;
///
/// // The latest of those that were missed, if it is at most two hours old.
/// let misfire: Misfire = "latest,window=2h".parse()?;
/// assert_eq!(misfire.window, std::time::Duration::from_secs(7_200));
/// assert_eq!(misfire.grace, Misfire::default().grace);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Misfire {
    /// Which of them run late.
    pub catch_up: CatchUp,
    /// Older ones do not.
    pub window: Duration,
    /// Late runs start within this much time.
    pub spread: Duration,
    /// An occurrence that is no older is not misfired, if it is the last.
    pub grace: Duration,
}

impl Default for Misfire {
    /// The latest, if it is at most 24 hours old, within two minutes. The grace is a minute: less than that
    /// is the delay of a busy machine.
    fn default() -> Misfire {
        Misfire {
            catch_up: CatchUp::Latest,
            window: Duration::from_secs(24 * 3_600),
            spread: Duration::from_secs(120),
            grace: Duration::from_secs(60),
        }
    }
}

impl fmt::Display for Misfire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.catch_up {
            CatchUp::None => f.write_str("none"),
            CatchUp::Latest => f.write_str("latest"),
            CatchUp::Earliest => f.write_str("earliest"),
            CatchUp::All { cap } => write!(f, "all,cap={cap}"),
        }?;
        let [window, spread, grace] = [self.window, self.spread, self.grace].map(text::duration_text);
        write!(f, ",window={window},spread={spread},grace={grace}")
    }
}

impl FromStr for Misfire {
    type Err = PolicyError;

    fn from_str(value: &str) -> Result<Misfire, PolicyError> {
        let (head, parts) = text::split("misfire", value)?;
        let catch_up = match head {
            "none" => CatchUp::None,
            "latest" => CatchUp::Latest,
            "earliest" => CatchUp::Earliest,
            "all" => CatchUp::All { cap: 10 },
            _ => return Err(PolicyError::new("misfire", head, "none, latest, earliest or all")),
        };
        let mut misfire = Misfire { catch_up, ..Misfire::default() };
        for (name, part) in parts {
            match (name, &mut misfire.catch_up) {
                ("cap", CatchUp::All { cap }) => {
                    *cap = text::number("cap of misfire", part, 1, MAX_CATCH_UP_RUNS)?;
                }
                ("window", _) => misfire.window = text::duration("window of misfire", part, MAX_WINDOW)?,
                ("spread", _) => {
                    misfire.spread = text::duration("spread of misfire", part, super::MAX_JITTER)?;
                }
                ("grace", _) => misfire.grace = text::duration("grace of misfire", part, MAX_WINDOW)?,
                _ => {
                    return Err(text::unknown_part("misfire", name, "window, spread, grace, or for all cap"));
                }
            }
        }
        Ok(misfire)
    }
}
