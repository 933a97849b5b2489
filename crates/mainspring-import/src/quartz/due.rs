//! An expression of Quartz as a trigger.
//!
//! Cost: one pass over the expression.
//!
//! An expression of six fields without a `?` is no expression of Quartz. It is read as Spring reads it, whose
//! weekdays are those of cron, and which wants both days where two are restricted.
//!
//! Does not approximate: what cron cannot say keeps the dialect of Quartz.
//!
//! Source: [cron expressions of
//! Spring](https://docs.spring.io/spring-framework/reference/integration/scheduling.html).

use mainspring_cron::{DayRule, Dialect, Expression, Language, ParseError, ParseOptions};
use mainspring_job::CatchUp;

use crate::facts::{ANY_AGE, JobFacts, When};

/// The fields of an expression of Spring: seconds first, and no year.
const SPRING_FIELDS: usize = 6;

/// Gives a job an expression of Quartz, in the form that job files take.
pub(super) fn due(job: &mut JobFacts, text: &str) -> Result<(), ParseError> {
    if !text.contains('?') && text.split_whitespace().count() == SPRING_FIELDS {
        let options = ParseOptions::new().with_day_rule(DayRule::And);
        let expression = Expression::parse_with(text, &options)?;
        let both = text
            .split_whitespace()
            .enumerate()
            .filter(|(index, field)| [3, 5].contains(index) && *field != "*");
        job.day_rule = (both.count() == 2).then_some("and");
        let plain = expression.translate(Language::Cron).map(|translation| translation.text);
        // A translation has no rule of its own for two days.
        // Spring does not look back.
        job.policies.misfire.catch_up = CatchUp::None;
        job.due(When::Cron(plain.ok().filter(|_| job.day_rule.is_none()).unwrap_or_else(|| text.to_owned())));
        return Ok(());
    }
    let options = ParseOptions::new().with_dialect(Dialect::Quartz);
    let expression = Expression::parse_with(text, &options)?;
    if job.policies.misfire.catch_up != CatchUp::None {
        // However old: Quartz has no window.
        job.policies.misfire.window = ANY_AGE;
    }
    // The rule of Quartz: a gap is left out, and of a time that comes twice the last is taken.
    job.dst = Some("skip+last");
    match expression.translate(Language::Cron) {
        Ok(translation) => job.due(When::Cron(translation.text)),
        Err(_) => {
            job.is_quartz = true;
            job.due(When::Cron(text.to_owned()));
        }
    }
    Ok(())
}
