//! The laboratory of schedules: what an expression means, when it is due, and how other languages say it.
//!
//! Cost: a search of the calendar for the next times, and one for each time of a year, at most
//! `MAX_YEAR_TIMES`, on a thread of its own.
//!
//! Does not ask the loop.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use mainspring_cron::{DayRule, DstPolicy, Language, Schedule};
use mainspring_file::problem::{Fault as ParseFault, Severity};
use mainspring_server::protocol::schema::DialectName;
use mainspring_server::protocol::{
    ExplanationWire, ExpressionRequest, Question, TranslationWire, read_expression,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Call, Reply, ok, read_time};
use crate::problem::{Code, Fault, Problem};
use crate::view::Moment;

/// How many next times may be asked for.
const MAX_NEXT: usize = 100;

/// How many are listed where the client does not say.
const DEFAULT_NEXT: usize = 20;

const _: () = assert!(DEFAULT_NEXT <= MAX_NEXT);

/// How many times of a year are counted by day: once a minute, and some more.
const MAX_YEAR_TIMES: usize = 600_000;

const _: () = assert!(366 * 24 * 60 < MAX_YEAR_TIMES, "a year of minutes is counted whole");

/// The longest expression: many times that of any that people write.
const MAX_EXPRESSION_BYTES: usize = 1_000;

const LANGUAGES: [Language; 3] = [Language::Cron, Language::Quartz, Language::OnCalendar];

/// An expression, and what is asked of it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExplainParams {
    #[schemars(extend("maxLength" = MAX_EXPRESSION_BYTES))]
    schedule: String,
    #[schemars(with = "Option<DialectName>")]
    dialect: Option<String>,
    /// A name of the IANA database.
    zone: Option<String>,
    dst: Option<String>,
    #[schemars(extend("enum" = ["star", "or", "and", null]))]
    day_rule: Option<String>,
    #[schemars(with = "Option<Timestamp>")]
    from: Option<String>,
    /// The name of the job, from which H and ~ choose their values.
    name: Option<String>,
    #[schemars(extend("minimum" = 1, "maximum" = MAX_NEXT))]
    n: Option<usize>,
}

/// The documents of `explain`, `next` and `translate` in one, and a year by days.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Explained")]
pub struct ExplainedExpression {
    /// How it was read.
    #[serde(flatten)]
    question: Question,
    explanation: ExplanationWire,
    times: Vec<Moment>,
    /// The document of `translate` for each dialect.
    translations: Vec<TranslationWire>,
    /// How often on each day of the 12 months from `from`; days with none are left out.
    days: Vec<Day>,
    /// It is due more often than 600,000 times, which are counted: later days are left out.
    is_cut: bool,
}

/// How often an expression is due on a day.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Day {
    date: String,
    count: u64,
}

fn wrong(text: impl Into<String>) -> Problem {
    Problem::new(Code::INVALID, text)
}

/// What an expression means.
///
/// # Errors
///
/// 422 for one that cannot be read, with the place of what is wrong, and for an option that is none.
pub async fn explain(call: Call) -> Reply {
    let params: ExplainParams = call.document().await?;
    if MAX_EXPRESSION_BYTES < params.schedule.len() {
        return Err(wrong(format!("an expression has at most {MAX_EXPRESSION_BYTES} bytes")));
    }
    let language = params.dialect.as_deref().unwrap_or("unix").parse();
    let language: Language = language.map_err(|_| wrong("`dialect` is unix, quartz or oncalendar"))?;
    let day_rule = params.day_rule.as_deref().unwrap_or("star").parse();
    let day_rule: DayRule = day_rule.map_err(|_| wrong("`day_rule` is star, or or and"))?;
    let dst = params.dst.as_deref().map(str::parse::<DstPolicy>).transpose();
    let dst = dst.map_err(|error| wrong(format!("`dst`: {error}")))?;
    let from = params.from.as_deref().map_or(Ok(call.now.wall), |from| read_time("from", from));
    let from = from.map_err(wrong)?;
    let zone = match params.zone.as_deref() {
        None => None,
        Some(name) => Some(TimeZone::get(name).map_err(|_| wrong(format!("there is no zone `{name}`")))?),
    };
    let count = params.n.unwrap_or(DEFAULT_NEXT);
    if !(1..=MAX_NEXT).contains(&count) {
        return Err(wrong(format!("`n` must be a number from 1 to {MAX_NEXT}")));
    }
    let expression = read_expression(&params.schedule, language, day_rule, params.name.as_deref())
        .map_err(|fault| unreadable(&params.schedule, &fault))?;
    let request = ExpressionRequest::new(expression, zone, dst, from, || call.app.zone.clone());
    let question = request.question(params.schedule, language, day_rule);
    let search = move || document(&request, question, count);
    ok(&call.app.computations.run(&call.who()?.identity, search).await?)
}

/// A fault of an expression, with its place: it has one line.
fn unreadable(text: &str, found: &ParseFault) -> Problem {
    let chars = |end: usize| text.get(..end).map_or(0, |part| part.chars().count());
    let fault = Fault {
        column: Some(chars(found.span.start) + 1),
        end_column: Some(chars(found.span.end) + 1),
        field: Some("schedule".into()),
        hint: found.hint.clone(),
        excerpt: Some(text.to_owned()),
        ..Fault::new(Severity::Problem, found.message.clone())
    };
    Problem { faults: vec![fault], ..wrong(found.message.clone()) }
}

fn document(request: &ExpressionRequest, question: Question, count: usize) -> ExplainedExpression {
    let (schedule, from) = (&request.schedule, request.from);
    let translation = |to| TranslationWire::new(schedule.expression(), to);
    let translations = LANGUAGES.map(translation).into();
    let explanation: ExplanationWire = schedule.explain(from).into();
    let moment = |at: Zoned| Moment::new(at.timestamp(), schedule.zone());
    let times = schedule.upcoming(from).take(count).map(moment).collect();
    let (days, is_cut) = days(schedule, from);
    let days = days.into_iter().map(|(date, count)| Day { date, count }).collect();
    ExplainedExpression { question, explanation, times, translations, days, is_cut }
}

/// How often it is due on each day of the year after an instant, and whether more are due than are counted.
fn days(schedule: &Schedule, from: Timestamp) -> (BTreeMap<String, u64>, bool) {
    let year = jiff::Span::new().years(1);
    let end = from.to_zoned(schedule.zone().clone()).checked_add(year).map_or(from, |end| end.timestamp());
    let mut found = BTreeMap::new();
    let is_within = |at: &Zoned| at.timestamp() < end;
    let mut times = schedule.upcoming(from).take_while(is_within);
    for at in times.by_ref().take(MAX_YEAR_TIMES) {
        *found.entry(at.date().to_string()).or_default() += 1;
    }
    (found, times.next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_year_is_counted_by_day_in_the_zone() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let expression = read_expression("30 2 * * *", Language::Cron, DayRule::Star, None).unwrap();
        let from = "2026-01-01T00:00:00Z".parse().unwrap();
        let request = ExpressionRequest::new(expression, Some(zone.clone()), None, from, || TimeZone::UTC);
        let question = request.question("30 2 * * *".to_owned(), Language::Cron, DayRule::Star);
        let found = document(&request, question, 2);
        assert_eq!((found.days.len(), found.is_cut), (365, false));
        let expression = read_expression("* * * * * ?", Language::Quartz, DayRule::Star, None).unwrap();
        let (days, is_cut) = days(&Schedule::new(expression, zone), from);
        assert_eq!((days.len(), is_cut), (7, true), "600,000 seconds");
        assert_eq!(found.times[0].civil.to_string(), "2026-01-01T02:30:00+01:00[Europe/Berlin]");
        assert_eq!(found.translations[2].translation.as_deref(), Some("*-*-* 02:30:00"));
    }

    #[test]
    fn a_fault_has_its_place_in_characters() {
        let fault = read_expression("0 24 * * *", Language::Cron, DayRule::Star, None).unwrap_err();
        let problem = unreadable("0 24 * * *", &fault);
        assert_eq!((problem.faults[0].column, problem.faults[0].end_column), (Some(3), Some(5)));
    }
}
