//! The documents about an expression: those of `next`, `explain` and `translate`, on the command line and
//! over HTTP.
//!
//! Cost: one string per time.
//!
//! Does not read expressions.
//!
//! Source: <https://www.rfc-editor.org/rfc/rfc8259>.

use mainspring_cron::{
    ClockChange, DayRule, Dialect, Explanation, Expression, FieldSet, Language, ParseOptions, Warning,
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
    pub dialect: &'static str,
    pub zone: String,
    pub dst: String,
    pub day_rule: &'static str,
    pub from: String,
}

/// The document of `translate`.
#[derive(Clone, Debug, Serialize)]
pub struct TranslationDocument {
    /// As it was given.
    pub expression: String,
    /// Its language.
    pub dialect: &'static str,
    /// The language asked for.
    pub to: &'static str,
    /// Null if there is no exact one.
    pub translation: Option<String>,
    /// What the translation does not carry over.
    pub notes: Vec<String>,
    /// Why there is no exact translation, or null.
    pub reason: Option<String>,
}

impl TranslationDocument {
    /// What becomes of an expression in another language.
    pub fn new(expression: &Expression, text: &str, dialect: Language, to: Language) -> TranslationDocument {
        let (expressed, dialect, to_name) = (text.to_owned(), language_name(dialect), language_name(to));
        let (translation, notes, reason) = match expression.translate(to) {
            Ok(translation) => (Some(translation.text), translation.notes, None),
            Err(reason) => (None, Vec::new(), Some(reason.to_string())),
        };
        TranslationDocument { expression: expressed, dialect, to: to_name, translation, notes, reason }
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

/// The name of a language, as the options have it.
pub fn language_name(language: Language) -> &'static str {
    match language {
        Language::OnCalendar => "oncalendar",
        Language::Quartz => "quartz",
        _ => "unix",
    }
}

/// The name of a rule for two fields of days, as the options have it.
pub fn day_rule_name(rule: DayRule) -> &'static str {
    match rule {
        DayRule::Or => "or",
        DayRule::And => "and",
        _ => "star",
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
            Some(other) => fault.with_hint(format!("--dialect {} can read it", language_name(other))),
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
