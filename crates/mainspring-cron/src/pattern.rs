//! A calendar pattern: five, six or seven fields, parsed into bit sets.
//!
//! ```text
//! 5:          minute hour day-of-month month day-of-week
//! 6:   second minute hour day-of-month month day-of-week
//! 7:   second minute hour day-of-month month day-of-week year
//! ```
//!
//! Parsing is linear in the text and allocates for the text, the fields and the warnings. There are no time
//! zones here: see [`crate::Schedule`].
//!
//! Source: [crontab(5)](https://manpages.debian.org/bookworm/cron/crontab.5.en.html).

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::str::FromStr;

use crate::civil::{Calendar, Fields};
use crate::days::{Days, Join};
use crate::error::{ParseError, Warning};
use crate::item::Reader;
use crate::options::{DayRule, Dialect, ParseOptions};
use crate::second::Moments;
use crate::unit::Unit;
use crate::values::Values;
use crate::word::Word;

const UNITS: [Unit; 7] =
    [Unit::Second, Unit::Minute, Unit::Hour, Unit::DayOfMonth, Unit::Month, Unit::DayOfWeek, Unit::Year];

/// The set of each field of a cron expression: which times of a calendar match.
///
/// Bit sets are indexed by the value itself: bit 30 of [`Pattern::minutes`] is minute 30. Days are not a set,
/// because they differ from month to month; [`Pattern::fields`] has their text and
/// [`Schedule`](crate::Schedule) their dates.
///
/// # Example
/// ```
/// let pattern = mainspring_cron::Pattern::parse("0,30 9-17 * * mon-fri")?;
/// assert_eq!(pattern.minutes(), 1 << 0 | 1 << 30);
/// assert_eq!(pattern.to_string(), "0,30 9-17 * * mon-fri");
/// assert!(pattern.is_possible());
/// # Ok::<(), mainspring_cron::ParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    fields: Vec<Field>,
    calendar: Calendar,
    is_wildcard: bool,
    dialect: Dialect,
    day_rule: DayRule,
    warnings: Vec<Warning>,
}

/// One field of a pattern as it was written: an element of [`Pattern::fields`].
///
/// # Example
/// ```
/// use mainspring_cron::{Pattern, Unit};
///
/// let pattern = Pattern::parse("30 2 * * mon")?;
/// let last = &pattern.fields()[4];
/// assert_eq!((last.unit, last.span.clone(), last.text.as_str()), (Unit::DayOfWeek, 9..12, "mon"));
/// # Ok::<(), mainspring_cron::ParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field {
    /// The unit that the field counts.
    pub unit: Unit,
    /// The bytes of the pattern's text at which the field stands. For a nickname: the whole nickname.
    pub span: Range<usize>,
    /// The characters of the field. For a nickname: those of the field that the nickname stands for.
    pub text: String,
}

impl Pattern {
    /// Reads a pattern as a crontab does. Linear in the text; allocates.
    ///
    /// # Errors
    /// The first fault from the left. A nickname is not a pattern: see [`crate::Expression::parse`].
    ///
    /// # Example
    /// ```
    /// let pattern = mainspring_cron::Pattern::parse("*/20 * * * *")?;
    /// assert_eq!(pattern.minutes(), 1 << 0 | 1 << 20 | 1 << 40);
    /// assert!(mainspring_cron::Pattern::parse("@daily").is_err());
    /// # Ok::<(), mainspring_cron::ParseError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Pattern, ParseError> {
        Pattern::parse_with(text, &ParseOptions::default())
    }

    /// Reads a pattern by the given options.
    ///
    /// # Errors
    /// As [`Pattern::parse`].
    ///
    /// # Example
    /// ```
    /// use mainspring_cron::{DayRule, ParseOptions, Pattern};
    ///
    /// let options = ParseOptions::new().with_day_rule(DayRule::And);
    /// let friday_the_13th = Pattern::parse_with("0 0 13 * fri", &options)?;
    /// # Ok::<(), mainspring_cron::ParseError>(())
    /// ```
    pub fn parse_with(text: &str, options: &ParseOptions<'_>) -> Result<Pattern, ParseError> {
        let words: Vec<Word<'_>> = Word::whole(text).fields().collect();
        let first_unit = first_unit(Word::whole(text), &words, options.dialect)?;
        let mut reader = Reader::new(options);
        let mut days = Days::ALL;
        let mut sets = [Values::default(); UNITS.len()];
        let mut year_set = None;
        let mut fields = Vec::with_capacity(words.len());
        let mut has_plus = false;
        for (index, &word) in (first_unit..).zip(&words) {
            let unit = UNITS[index];
            match unit {
                Unit::DayOfMonth => reader.dates(word, &mut days)?,
                Unit::DayOfWeek => {
                    let rest = word.after_prefix('+');
                    has_plus = rest.is_some();
                    reader.weekdays(rest.unwrap_or(word), &mut days)?;
                }
                // `*` is every year, also those that cannot be written.
                Unit::Year => year_set = Some(reader.list(word, unit)?.words()).filter(|_| word.text != "*"),
                _ => sets[index] = reader.list(word, unit)?,
            }
            fields.push(Field { unit, span: word.span(), text: word.text.to_owned() });
        }
        let seconds = if first_unit == 0 { sets[0].low() } else { 1 };
        let day_fields = DayFields::of(&fields);
        if options.dialect == Dialect::Quartz {
            day_fields.check_question_marks()?;
        }
        days.join = if has_plus { Join::And } else { day_fields.join(options.day_rule) };
        day_fields.warn(days.join, &mut reader.warnings);
        let calendar = Calendar::new(Fields {
            years: year_set,
            months: sets[4].months(),
            days,
            hours: sets[2].hours(),
            minutes: sets[1].low(),
            moments: Moments::Whole(seconds),
        });
        if !calendar.is_possible() {
            let span = day_fields.date.span.start..fields.last().map_or(0, |field| field.span.end);
            reader
                .warnings
                .push(Warning { span, text: "no such day ever comes: it will never run".to_owned() });
        }
        let is_wildcard = is_wildcard(&fields);
        let (dialect, day_rule) = (options.dialect, options.day_rule);
        let (text, warnings) = (text.to_owned(), reader.warnings);
        Ok(Pattern { text, fields, calendar, is_wildcard, dialect, day_rule, warnings })
    }

    /// Reads the fields that a nickname stands for. The pattern keeps the nickname as its text.
    pub(crate) fn of_nickname(nickname: Word<'_>, fields: &str) -> Pattern {
        let mut pattern = Pattern::parse(fields).expect("the nicknames' own fields are valid");
        pattern.text = nickname.text.to_owned();
        pattern.fields.iter_mut().for_each(|field| field.span = 0..nickname.text.len());
        pattern
    }

    /// The fields in the order in which they were written, with their places in the text.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    pub(crate) fn field(&self, unit: Unit) -> Option<&Field> {
        self.fields.iter().find(|field| field.unit == unit)
    }

    /// What is valid but probably not meant, with its place in the text.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The dialect in which the text was read.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The day rule by which the text was read.
    pub fn day_rule(&self) -> DayRule {
        self.day_rule
    }

    /// The seconds, 0 to 59: bit n for second n. Without this field only bit 0 is set.
    pub fn seconds(&self) -> u64 {
        match &self.calendar.fields().moments {
            Moments::Whole(seconds) => *seconds,
            Moments::Fractions(_) => unreachable!("a cron pattern has whole seconds"),
        }
    }

    /// The minutes, 0 to 59: bit n for minute n.
    pub fn minutes(&self) -> u64 {
        self.calendar.fields().minutes
    }

    /// The hours, 0 to 23: bit n for hour n.
    pub fn hours(&self) -> u32 {
        self.calendar.fields().hours
    }

    /// The months, 1 (January) to 12: bit n for month n.
    pub fn months(&self) -> u16 {
        self.calendar.fields().months
    }

    /// Whether a year matches. Without this field, or with `*`, every year does; otherwise only years from
    /// 1970 to 2199 can.
    pub fn has_year(&self, year: i16) -> bool {
        self.calendar.has_year(year)
    }

    /// Whether any day matches. `0 0 30 2 *` has none. Costs at most 400 looks at a table.
    pub fn is_possible(&self) -> bool {
        self.calendar.is_possible()
    }

    /// Whether the text of the minute or of the hour begins with `*`. Such a job follows the wall clock at
    /// changes of the clock; any other is a fixed-time job, under a [`DstPolicy`](crate::DstPolicy).
    pub fn is_wildcard(&self) -> bool {
        self.is_wildcard
    }

    pub(crate) fn calendar(&self) -> &Calendar {
        &self.calendar
    }
}

/// What else a pattern holds follows from these three and from a job's name.
impl Hash for Pattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
        self.dialect.hash(state);
        self.day_rule.hash(state);
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Pattern {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Pattern, ParseError> {
        Pattern::parse(text)
    }
}

/// The two day fields. The meaning of each depends on the other.
struct DayFields<'f> {
    date: &'f Field,
    weekday: &'f Field,
}

impl<'f> DayFields<'f> {
    fn of(fields: &'f [Field]) -> DayFields<'f> {
        let field =
            |unit| fields.iter().find(|field| field.unit == unit).expect("every pattern has both day fields");
        DayFields { date: field(Unit::DayOfMonth), weekday: field(Unit::DayOfWeek) }
    }

    fn join(&self, rule: DayRule) -> Join {
        let is_free = match rule {
            DayRule::Star => |field: &Field| field.text.starts_with(['*', '?']),
            DayRule::Or => |field: &Field| matches!(field.text.as_str(), "*" | "*/1" | "?"),
            DayRule::And => return Join::And,
        };
        if is_free(self.date) || is_free(self.weekday) { Join::And } else { Join::Or }
    }

    /// Quartz wants a `?` in exactly one of the two.
    fn check_question_marks(&self) -> Result<(), ParseError> {
        match (self.date.text == "?", self.weekday.text == "?") {
            (true, false) | (false, true) => Ok(()),
            (true, true) => {
                let message = "`?` in both day fields leaves no day: expected a value in one of them";
                Err(ParseError::new(self.weekday.span.clone(), message).with_hint("*"))
            }
            (false, false) => {
                let field = if self.weekday.text == "*" { self.weekday } else { self.date };
                let message = format!(
                    "Quartz cannot combine both day fields: expected `?` in one, found `{}`",
                    field.text
                );
                Err(ParseError::new(field.span.clone(), message).with_hint("?"))
            }
        }
    }

    fn warn(&self, join: Join, warnings: &mut Vec<Warning>) {
        let is_any = |field: &Field| matches!(field.text.as_str(), "*" | "?");
        if is_any(self.date) || is_any(self.weekday) {
            return;
        }
        let span = self.date.span.start..self.weekday.span.end;
        let text = match join {
            Join::Or => "both day fields are given: it runs when either one matches",
            Join::And => "both day fields are given: it runs only when both match",
        };
        warnings.push(Warning { span, text: text.to_owned() });
    }
}

/// The index of the unit of the first field, by the number of fields.
fn first_unit(text: Word<'_>, words: &[Word<'_>], dialect: Dialect) -> Result<usize, ParseError> {
    let (least, expected) = match dialect {
        Dialect::Unix => (
            5,
            "expected 5 fields (minute, hour, day, month, weekday), 6 with seconds first, \
             or 7 with a year last",
        ),
        Dialect::Quartz => {
            (6, "expected 6 fields (second, minute, hour, day, month, weekday), or 7 with a year last")
        }
    };
    match words {
        [] => {
            Err(ParseError::new(0..0, format!("the expression is empty: {expected}")).with_hint("* * * * *"))
        }
        words if words.len() < least => {
            let end = text.text.trim_end().len();
            let whole = text.text.trim().to_owned() + &" *".repeat(least - words.len());
            let error = ParseError::new(end..end, format!("{expected}, found {}", words.len()));
            // A name or a sentence is no beginning of an expression.
            let is_begun = words[0].text.starts_with(|c: char| c.is_ascii_digit() || "*?~".contains(c));
            Err(if is_begun { error.with_hint(whole) } else { error })
        }
        [.., last] if UNITS.len() < words.len() => {
            let span = words[UNITS.len()].start..last.end();
            Err(ParseError::new(span, format!("{expected}, found {}", words.len())))
        }
        words => Ok(usize::from(words.len() == 5)),
    }
}

/// Whether Debian's cron has it follow the wall clock when that changes.
fn is_wildcard(fields: &[Field]) -> bool {
    fields
        .iter()
        .filter(|field| matches!(field.unit, Unit::Minute | Unit::Hour))
        .any(|field| field.text.starts_with('*'))
}
