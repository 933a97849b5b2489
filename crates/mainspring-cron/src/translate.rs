//! From one language to another, where that is exact; and the reason where it is not.
//!
//! | from / to | cron | Quartz | OnCalendar |
//! |---|---|---|---|
//! | both days, either (OR) | yes | no | no |
//! | both days, both (AND) | `+` | no | yes |
//! | `L`, `L-3` | yes | yes | `~`, not mixed with dates |
//! | `15W`, `LW` | yes | yes | no |
//! | `5#3`, `5L` | yes | one of them | as dates, if they are alike |
//! | fractions of a second | no | no | yes |
//!
//! A translation names the same wall-clock times. What the languages do when the clock changes is not in their texts:
//! a note says so. Linear in the size of the sets.

use std::str::FromStr;

use crate::civil::Calendar;
use crate::expression::Expression;
use crate::options::{Dialect, UnknownName};

use cron::Stars;

mod cron;
mod oncalendar;
mod translation;

pub use translation::{Translation, Untranslatable};

/// A language that an expression can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// Five fields, or six or seven where seconds or years need them, in the Unix dialect with the `star` day rule.
    Cron,
    /// Six or seven fields in the Quartz dialect.
    Quartz,
    /// systemd's calendar expressions.
    OnCalendar,
}

impl Expression {
    /// Writes the expression in another language. Into its own language, it comes back in its simplest form.
    ///
    /// # Errors
    /// If there is no exact translation: the reason, lower case, with no full stop.
    ///
    /// # Example
    /// ```
    /// use mainspring_cron::{Expression, Language};
    ///
    /// let expression = Expression::parse("*/15 9-17 * * mon-fri")?;
    /// assert_eq!(expression.translate(Language::OnCalendar)?.text, "Mon..Fri *-*-* 09..17:00/15:00");
    /// assert_eq!(expression.translate(Language::Quartz)?.text, "0 */15 9-17 ? * MON-FRI");
    /// let friday_or_13th = Expression::parse("0 0 13 * fri")?;
    /// assert_eq!(
    ///     friday_or_13th.translate(Language::Quartz).unwrap_err().to_string(),
    ///     "Quartz cannot combine a day of the month with a day of the week"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn translate(&self, to: Language) -> Result<Translation, Untranslatable> {
        match (self, to) {
            (Expression::Calendar(pattern), _) => {
                let mut translation = translate_calendar(pattern.calendar(), Stars::of(pattern), to)?;
                translation.notes.extend(clock_note(to).map(str::to_owned));
                Ok(translation)
            }
            (Expression::OnCalendar(calendar), _) => {
                let mut translation = translate_calendar(calendar.calendar(), Stars::Free, to)?;
                let zone = calendar.zone().and_then(|zone| zone.iana_name());
                if to == Language::OnCalendar {
                    zone.into_iter().for_each(|zone| translation.text.push_str(&format!(" {zone}")));
                } else {
                    translation.notes.extend(
                        zone.map(|zone| format!("the zone {zone} must be set beside the expression")),
                    );
                    translation.notes.push(SYSTEMD_NOTE.to_owned());
                }
                Ok(translation)
            }
            (Expression::At(moment), Language::OnCalendar) => oncalendar::at(*moment),
            (Expression::At(_) | Expression::Every(_) | Expression::Reboot, Language::Cron) => {
                Ok(Translation { text: self.to_string(), notes: vec![NICKNAME_NOTE.to_owned()] })
            }
            (Expression::At(_), Language::Quartz) => Err(Untranslatable::new(
                "a single moment is not a calendar: Quartz has a simple trigger for it",
            )),
            (Expression::Every(_), _) => Err(Untranslatable::new(
                "a period on the time line is not a calendar: it needs a timer of its own",
            )),
            (Expression::Reboot, _) => {
                Err(Untranslatable::new("a start of the scheduler has no time of the calendar"))
            }
        }
    }
}

const SYSTEMD_NOTE: &str = "when the clock changes systemd leaves out a gap and takes the first pass of an overlap, \
                            whatever the other language does";
const QUARTZ_NOTE: &str = "when the clock changes Quartz leaves out a gap and takes the last pass of an overlap, \
                           whatever the other language does";
const NICKNAME_NOTE: &str = "crontab(5) itself knows @reboot, but neither @every nor @at";

/// How the target treats changes of the clock, where that is not as in cron.
fn clock_note(to: Language) -> Option<&'static str> {
    match to {
        Language::Cron => None,
        Language::Quartz => Some(QUARTZ_NOTE),
        Language::OnCalendar => Some(SYSTEMD_NOTE),
    }
}

fn translate_calendar(
    calendar: &Calendar,
    stars: Stars,
    to: Language,
) -> Result<Translation, Untranslatable> {
    match to {
        Language::Cron => cron::write(calendar, stars, Dialect::Unix),
        Language::Quartz => cron::write(calendar, stars, Dialect::Quartz),
        Language::OnCalendar => oncalendar::write(calendar),
    }
}

impl FromStr for Language {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Language, UnknownName> {
        match name {
            "unix" | "cron" => Ok(Language::Cron),
            "quartz" => Ok(Language::Quartz),
            "oncalendar" => Ok(Language::OnCalendar),
            _ => Err(UnknownName::new(name, "unix, quartz or oncalendar")),
        }
    }
}
