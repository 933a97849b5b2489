//! Cron fields of other programs: what they mean by two restricted day fields, and a zone behind them.
//!
//! Cost: one pass.
//!
//! Does not parse expressions: `mainspring_cron` does.

/// Whether an expression restricts both day fields and one of them begins with `*`: cron then wants both
/// days, and Kubernetes and fugit, whose parsers look for a whole `*`, either.
pub(crate) fn is_or_beside_star(fields: &str) -> bool {
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let [.., _, _, days, _, weekdays] = fields[..] else { return false };
    let is_whole = |field: &str| matches!(field, "*" | "?" | "*/1");
    let is_restricted = !is_whole(days) && !is_whole(weekdays);
    is_restricted && (days.starts_with('*') || weekdays.starts_with('*'))
}

/// The fields of an expression, and the zone that stands behind them; whole hours from UTC are one too.
pub(crate) fn without_zone(text: &str) -> (&str, Option<String>) {
    let text = text.trim();
    let zone_of = |word: &str| if is_zone(word) { Some(word.to_owned()) } else { zone_of_offset(word) };
    match text.rsplit_once(char::is_whitespace) {
        Some((fields, last)) => match zone_of(last) {
            Some(zone) => (fields.trim_end(), Some(zone)),
            None => (text, None),
        },
        None => (text, None),
    }
}

/// The zone of `+09:00` or `-0300`. The names of these zones have the other sign.
fn zone_of_offset(word: &str) -> Option<String> {
    let sign = if word.starts_with('+') { '-' } else { '+' };
    let digits = word.strip_prefix(['+', '-'])?;
    let hours = digits.strip_suffix(":00").or_else(|| digits.strip_suffix("00"))?;
    let hours: u8 = hours.parse().ok().filter(|_| hours.len() == 2)?;
    let zone = format!("Etc/GMT{sign}{hours}");
    jiff::tz::TimeZone::get(&zone).is_ok().then_some(zone)
}

fn is_zone(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase()) && jiff::tz::TimeZone::get(word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_stands_behind_the_fields_and_is_no_weekday() {
        for (text, fields, zone) in [
            ("0 9 * * 1 Europe/Berlin", "0 9 * * 1", Some("Europe/Berlin")),
            ("0 9 * * MON", "0 9 * * MON", None),
            ("@daily", "@daily", None),
            ("0 9 * * * +09:00", "0 9 * * *", Some("Etc/GMT-9")),
            ("0 9 * * * -0300", "0 9 * * *", Some("Etc/GMT+3")),
            ("0 9 * * * +05:30", "0 9 * * * +05:30", None),
            ("0 9 -3 * *", "0 9 -3 * *", None),
        ] {
            assert_eq!(without_zone(text), (fields, zone.map(str::to_owned)), "{text}");
        }
    }

    #[test]
    fn a_step_of_a_star_beside_another_day_is_read_otherwise() {
        assert!(is_or_beside_star("0 0 */2 * 1"));
        assert!(is_or_beside_star("0 0 0 */2 * 1"));
        assert!(!is_or_beside_star("0 0 1 * 1"));
        assert!(!is_or_beside_star("0 0 */2 * *"));
    }
}
