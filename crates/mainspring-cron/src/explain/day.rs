//! The days of a calendar as a phrase: "on the 13th if it is a Friday", "on the last workday of March".
//!
//! Linear in the number of values.

use jiff::civil::Date;

use super::list::{Shape, compact, join, join_by, members, ordinal, runs, shape};
use crate::civil::{Calendar, FIRST_YEAR};
use crate::days::{ALL_DATES, ALL_WEEKDAYS, Days, Join, bits};

pub(crate) const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const NUMBERS: [&str; 6] = ["last", "first", "second", "third", "fourth", "fifth"];

/// Which days, months and years; `None` if all of them.
pub(crate) fn day_phrase(calendar: &Calendar) -> Option<String> {
    let days = &calendar.fields().days;
    let (dates, weekdays) = (date_words(days), weekday_words(days));
    let months = month_words(calendar.fields().months);
    let of_months = |phrase: String| match &months {
        Some(months) => format!("{phrase} of {months}"),
        None => format!("{phrase} of the month"),
    };
    let in_months = |phrase: String| match &months {
        Some(months) => format!("{phrase} in {months}"),
        None => phrase,
    };
    let phrase = match (dates, weekdays, days.join) {
        (None, _, Join::Or) | (_, None, Join::Or) | (None, None, Join::And) => {
            months.map(|months| format!("in {months}"))
        }
        (Some(dates), None, Join::And) => Some(of_months(format!("on {}", join(&dates)))),
        (None, Some(weekdays), Join::And) if days.has_nth_weekdays() => {
            Some(of_months(format!("on {}", join(&weekdays))))
        }
        (None, Some(weekdays), Join::And) => Some(in_months(format!("on {}", join(&weekdays)))),
        (Some(dates), Some(weekdays), Join::And) => {
            let condition = join_by(&condition_words(days, &weekdays), "or");
            Some(of_months(format!("on {}", join(&dates))) + &format!(", if that is {condition}"))
        }
        (Some(dates), Some(weekdays), Join::Or) => {
            let days = of_months(format!("on {}", join(&dates)));
            let every = weekdays
                .iter()
                .map(|word| if word.starts_with("the ") { word.clone() } else { format!("every {word}") });
            Some(format!(
                "{days}, and also {}",
                in_months(format!("on {}", join(&every.collect::<Vec<_>>())))
            ))
        }
    };
    let years = calendar
        .fields()
        .years
        .map(|years| format!("in {}", join(&runs(&year_members(years), |year| year.to_string()))));
    match (phrase, years) {
        (Some(phrase), Some(years)) => Some(format!("{phrase}, {years}")),
        (phrase, years) => phrase.or(years),
    }
}

/// The listed years of a set.
pub(crate) fn year_members(years: [u64; 4]) -> Vec<u16> {
    let words = years.iter().zip([0, 64, 128, 192]);
    words
        .flat_map(|(word, offset)| members(*word).into_iter().map(move |bit| bit + offset))
        .map(|bit| bit + FIRST_YEAR.unsigned_abs())
        .collect()
}

/// `January to March and June`; `None` for all.
fn month_words(months: u16) -> Option<String> {
    let values = members(months.into());
    let month_of = |month: u16| Date::constant(1970, i8::try_from(month).expect("months are 1 to 12"), 1);
    let name = |month: u16| month_of(month).strftime("%B").to_string();
    match shape(&values, 1, 12) {
        Shape::All => None,
        _ => Some(join(&runs(&values, name))),
    }
}

/// `None` for all.
fn date_words(days: &Days) -> Option<Vec<String>> {
    if days.dates == ALL_DATES {
        return None;
    }
    let dates = members(days.dates.into());
    let the = |day: u16| format!("the {}", ordinal(day));
    let mut words = if dates.is_empty() {
        Vec::new()
    } else {
        match shape(&dates, 1, 31) {
            Shape::Step { first, step, .. } => {
                vec![format!("every {} day from the {}", ordinal(step), ordinal(first))]
            }
            _ => runs(&dates, the),
        }
    };
    words
        .extend(bits(days.workdays).map(|day| format!("the workday nearest to the {}", ordinal(day.into()))));
    let from_end = days.dates_from_end;
    match from_end.trailing_ones() {
        count @ 2.. if from_end.count_ones() == count => words.push(format!("the last {count} days")),
        _ => words.extend(bits(from_end).map(before_last)),
    }
    words.extend(bits(days.workdays_from_end).map(|back| match back {
        0 => "the last workday".to_owned(),
        _ => format!("the workday nearest to {}", before_last(back)),
    }));
    Some(words)
}

fn before_last(back: u8) -> String {
    match back {
        0 => "the last day".to_owned(),
        1 => "the last day but one".to_owned(),
        _ => format!("the {} day before the last", ordinal(back.into())),
    }
}

/// `None` for all.
fn weekday_words(days: &Days) -> Option<Vec<String>> {
    if days.weekdays == ALL_WEEKDAYS {
        return None;
    }
    let name = |weekday: u16| WEEKDAYS[usize::from(weekday) % 7].to_owned();
    // A week that ends with Sunday reads better: Friday to Sunday.
    let from_monday = members((u64::from(days.weekdays) & !1) | u64::from(days.weekdays & 1) << 7);
    let mut words = runs(&from_monday, name);
    for (weekday, numbers) in WEEKDAYS.iter().zip(days.nth_weekdays) {
        let numbers: Vec<String> =
            bits(numbers.into()).map(|number| format!("the {}", NUMBERS[usize::from(number)])).collect();
        if !numbers.is_empty() {
            words.push(format!("{} {weekday}", join(&numbers)));
        }
    }
    Some(words)
}

/// The weekdays one by one, each with an article.
fn condition_words(days: &Days, words: &[String]) -> Vec<String> {
    let plain = bits(days.weekdays.into()).map(|weekday| format!("a {}", WEEKDAYS[usize::from(weekday)]));
    let numbered = words.iter().filter(|word| word.starts_with("the ")).cloned();
    plain.chain(numbered).collect()
}

/// The day sets as the table of fields shows them: date, weekday.
pub(crate) fn day_sets(days: &Days) -> (String, String) {
    let dates = date_words(days).map_or("every day".to_owned(), |words| {
        let is_plain = days.dates_from_end | days.workdays | days.workdays_from_end == 0;
        if is_plain { compact(&members(days.dates.into())) } else { words.join(", ") }
    });
    let weekdays = weekday_words(days).map_or("every day".to_owned(), |words| words.join(", "));
    (dates, weekdays)
}
