//! Cron fields of other programs: what they mean by two restricted day fields, and a zone behind them.
//!
//! Cost: one pass.
//!
//! Does not parse expressions: `mainspring_cron` does.

/// Whether an expression restricts both day fields and one of them begins with `*`: cron then wants both
/// days, and Kubernetes, whose parser looks for a whole `*`, either.
pub(crate) fn is_or_beside_star(fields: &str) -> bool {
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let [_, _, days, _, weekdays] = fields[..] else { return false };
    let is_whole = |field: &str| matches!(field, "*" | "?" | "*/1");
    let is_restricted = !is_whole(days) && !is_whole(weekdays);
    is_restricted && (days.starts_with('*') || weekdays.starts_with('*'))
}

/// The fields of an expression, and the zone that stands behind them.
pub(crate) fn without_zone(text: &str) -> (&str, Option<&str>) {
    let text = text.trim();
    match text.rsplit_once(char::is_whitespace) {
        Some((fields, last)) if is_zone(last) => (fields.trim_end(), Some(last)),
        _ => (text, None),
    }
}

fn is_zone(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase()) && jiff::tz::TimeZone::get(word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_stands_behind_the_fields_and_is_no_weekday() {
        assert_eq!(without_zone("0 9 * * 1 Europe/Berlin"), ("0 9 * * 1", Some("Europe/Berlin")));
        assert_eq!(without_zone("0 9 * * MON"), ("0 9 * * MON", None));
        assert_eq!(without_zone("@daily"), ("@daily", None));
    }

    #[test]
    fn a_step_of_a_star_beside_another_day_is_read_otherwise() {
        assert!(is_or_beside_star("0 0 */2 * 1"));
        assert!(!is_or_beside_star("0 0 1 * 1"));
        assert!(!is_or_beside_star("0 0 */2 * *"));
    }
}
