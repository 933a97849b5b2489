//! The documents about an expression: those of `next`, `explain` and `translate`, on the command line and
//! over HTTP.
//!
//! Cost: one string per time.
//!
//! Does not read expressions.
//!
//! Source: <https://www.rfc-editor.org/rfc/rfc8259>.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring_cron::{
    ClockChange, DayRule, Dialect, DstPolicy, Explanation, Expression, FieldSet, Language, ParseOptions,
    Schedule, Warning,
};
use mainspring_file::problem::Fault;
use serde::Serialize;

use crate::log::rfc3339;

/// What the documents begin with: the expression, and how it was read.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the fields are the options of the same names")]
pub struct Question {
    pub expression: String,
    #[cfg_attr(feature = "schema", schemars(with = "super::schema::DialectName"))]
    pub dialect: Language,
    pub zone: String,
    pub dst: String,
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub day_rule: DayRule,
    pub from: String,
}

/// An expression in its zone, and from when on it is looked at.
#[derive(Clone, Debug)]
pub struct ExpressionRequest {
    /// When it is due.
    pub schedule: Schedule,
    /// The times that are told are later than this.
    pub from: Timestamp,
}

impl ExpressionRequest {
    /// Puts an expression into its zone: the one that is asked for, its own, or the usual one.
    pub fn new(
        expression: Expression,
        zone: Option<TimeZone>,
        dst: Option<DstPolicy>,
        from: Timestamp,
        usual: impl FnOnce() -> TimeZone,
    ) -> ExpressionRequest {
        let own = match &expression {
            Expression::OnCalendar(calendar) => calendar.zone().cloned(),
            _ => None,
        };
        let schedule = Schedule::new(expression, zone.or(own).unwrap_or_else(usual));
        let schedule = match dst {
            Some(dst) => schedule.with_dst(dst),
            None => schedule,
        };
        ExpressionRequest { schedule, from }
    }

    /// A moment in the zone of the schedule, as it is shown.
    pub fn show(&self, time: Timestamp) -> String {
        rfc3339(&time.to_zoned(self.schedule.zone().clone()))
    }

    /// What was asked, of an expression with this text.
    pub fn question(&self, text: String, dialect: Language, day_rule: DayRule) -> Question {
        let (zone, dst) = (zone_name(self.schedule.zone()).to_owned(), self.schedule.dst().to_string());
        Question { expression: text, dialect, zone, dst, day_rule, from: self.show(self.from) }
    }
}

/// The name of a zone. Zones without one are those of rare settings of TZ.
pub fn zone_name(zone: &TimeZone) -> &str {
    zone.iana_name().unwrap_or("UTC")
}

/// An expression in another language.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[expect(missing_docs, reason = "the fields are those of `translate`")]
pub struct TranslationWire {
    // The language asked for.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub to: Language,
    // Null if there is no exact one.
    pub translation: Option<String>,
    // What the translation does not carry over.
    pub notes: Vec<String>,
    // Why there is no exact translation, or null.
    pub reason: Option<String>,
}

impl TranslationWire {
    /// What becomes of an expression in another language.
    pub fn new(expression: &Expression, to: Language) -> TranslationWire {
        let (translation, notes, reason) = match expression.translate(to) {
            Ok(translation) => (Some(translation.text), translation.notes, None),
            Err(reason) => (None, Vec::new(), Some(reason.to_string())),
        };
        TranslationWire { to, translation, notes, reason }
    }
}

/// An [`Explanation`].
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[expect(missing_docs, reason = "the fields are those of Explanation")]
pub struct ExplanationWire {
    pub sentence: String,
    pub fields: Vec<FieldWire>,
    pub notes: Vec<String>,
    pub changes: Vec<ChangeWire>,
    pub warnings: Vec<WarningWire>,
}

/// A [`FieldSet`].
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[expect(missing_docs, reason = "the fields are those of FieldSet")]
pub struct FieldWire {
    pub unit: String,
    pub text: String,
    pub values: String,
}

/// A [`ClockChange`].
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[expect(missing_docs, reason = "the fields are those of ClockChange")]
pub struct ChangeWire {
    pub at: String,
    pub text: String,
    pub effect: String,
}

/// A [`Warning`], with the bytes of the expression that it is about.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[expect(missing_docs, reason = "the fields are those of Warning")]
pub struct WarningWire {
    pub text: String,
    pub start: usize,
    pub end: usize,
}

impl From<Explanation> for ExplanationWire {
    fn from(explanation: Explanation) -> ExplanationWire {
        let Explanation { sentence, fields, notes, changes, warnings, .. } = explanation;
        let field = |of: FieldSet| FieldWire { unit: of.unit.to_string(), text: of.text, values: of.values };
        let change = |of: ClockChange| ChangeWire { at: rfc3339(&of.at), text: of.text, effect: of.effect };
        let warning = |of: Warning| WarningWire { text: of.text, start: of.span.start, end: of.span.end };
        ExplanationWire {
            sentence,
            fields: fields.into_iter().map(field).collect(),
            notes,
            changes: changes.into_iter().map(change).collect(),
            warnings: warnings.into_iter().map(warning).collect(),
        }
    }
}

/// Reads an expression of a language. `name` is that of the job, from which `H` and `~` choose their values.
/// A fault of a text that another language can read says so.
///
/// # Errors
///
/// The first thing that is wrong.
pub fn read_expression(
    text: &str,
    language: Language,
    day_rule: DayRule,
    name: Option<&str>,
) -> Result<Expression, Fault> {
    read_as(text, language, day_rule, name).map_err(|fault| {
        let others = [Language::Cron, Language::Quartz, Language::OnCalendar];
        match others.into_iter().find(|&other| read_as(text, other, day_rule, name).is_ok()) {
            Some(other) => fault.with_hint(format!("--dialect {other} can read it")),
            None => fault,
        }
    })
}

fn read_as(
    text: &str,
    language: Language,
    day_rule: DayRule,
    name: Option<&str>,
) -> Result<Expression, Fault> {
    let dialect = match language {
        Language::OnCalendar => return Ok(Expression::parse_oncalendar(text)?),
        Language::Quartz => Dialect::Quartz,
        _ => Dialect::Unix,
    };
    let mut options = ParseOptions::new().with_dialect(dialect).with_day_rule(day_rule);
    options.job_name = name;
    Ok(Expression::parse_with(text, &options)?)
}
