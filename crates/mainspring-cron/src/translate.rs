//! From one language to another, if that is exact; otherwise the reason why it is not.
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
//! A translation names the same wall-clock times. What a language does when the clock changes is not in its
//! text, so a note says it. Linear in the size of the sets.

use std::fmt;
use std::str::FromStr;

use crate::civil::Calendar;
use crate::expression::Expression;
use crate::options::{Dialect, UnknownName, choice_of};

use cron::Stars;

mod cron;
mod oncalendar;
mod translation;

pub use translation::{Translation, Untranslatable};

/// A language in which an expression can be written.
///
/// `Display` and `FromStr` use the names `unix`, `quartz` and `oncalendar`; `FromStr` also reads `cron`,
/// which means `unix`.
///
/// # Example
/// ```
/// use mainspring_cron::{Expression, Language};
///
/// let target: Language = "quartz".parse()?;
/// assert_eq!(Expression::parse("0 9 * * 1-5")?.translate(target)?.text, "0 0 9 ? * MON-FRI");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// Five fields, or six or seven where seconds or years need them, in the Unix dialect with the `star` day
    /// rule.
    Cron,
    /// Six or seven fields in the Quartz dialect.
    Quartz,
    /// systemd's calendar expressions.
    OnCalendar,
}

impl Expression {
    /// Writes the expression in another language, or in its own language in the simplest form.
    ///
    /// The result names the same wall-clock times; its notes say what the text does not carry over. Linear in
    /// the number of values; allocates.
    ///
    /// # Errors
    /// [`Untranslatable`] if the target cannot express it exactly. Another target may.
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
                Err(Untranslatable::new("a start of the machine has no time of the calendar"))
            }
        }
    }
}

const SYSTEMD_NOTE: &str = "when the clock changes systemd leaves out a gap and takes the first pass of \
                            an overlap, whatever the other language does";
const QUARTZ_NOTE: &str = "when the clock changes Quartz leaves out a gap and takes the last pass of \
                           an overlap, whatever the other language does";
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

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Language::Cron => "unix",
            Language::Quartz => "quartz",
            Language::OnCalendar => "oncalendar",
        })
    }
}

impl FromStr for Language {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Language, UnknownName> {
        let languages = [Language::Cron, Language::Quartz, Language::OnCalendar];
        match name {
            "cron" => Ok(Language::Cron),
            _ => choice_of(&languages, name, "unix, quartz or oncalendar"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_read_by_the_name_they_show() {
        for language in [Language::Cron, Language::Quartz, Language::OnCalendar] {
            assert_eq!(language.to_string().parse(), Ok(language));
        }
        assert_eq!("cron".parse(), Ok(Language::Cron));
    }
}
