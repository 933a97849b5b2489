//! The same random expressions in croner, an independent engine: every disagreement has a name.
//!
//! | disagreement | here | croner 4.0 |
//! |---|---|---|
//! | `DaysBeforeLast` | `L-3` and `L-3W` are read | refused |
//! | `StarInList` | `*,5` is read, as crontab(5) does | refused |
//! | `WholeStep` | by the rule `or`, `*/1` in a day field is `*` | it is a day field like any other |
//! | `ManyTimes` | wildcard: the minute or hour begins with `*` | wildcard: several times of day |
//!
//! A disagreement counts as explained only if reading the text croner's way gives croner's instants.

use std::collections::BTreeMap;

use croner::parser::CronParser;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};
use mainspring_cron::{DayRule, DstPolicy, Expression, ParseOptions, Schedule};

use crate::random::Random;
use crate::replay;

const PLACES: [&str; 6] =
    ["UTC", "America/New_York", "Australia/Lord_Howe", "Europe/Paris", "Asia/Kolkata", "America/Sao_Paulo"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Disagreement {
    DaysBeforeLast,
    StarInList,
    WholeStep,
    ManyTimes,
}

/// A text, where, and from when on.
struct Question {
    text: String,
    zone: TimeZone,
    start: Timestamp,
}

impl Question {
    /// Half of the questions start shortly before a change of the clock.
    fn new(seed: u64) -> Question {
        let mut random = Random::new(seed);
        let text = random.expression();
        let zone = TimeZone::get(PLACES[usize::try_from(random.below(6)).unwrap()]).unwrap();
        let moment = random.moment();
        let change = zone.following(moment).next().filter(|_| seed % 2 == 1);
        let before = SignedDuration::from_mins(i64::try_from(random.below(300)).unwrap());
        let start = change.map_or(moment, |change| change.timestamp() - before);
        Question { text, zone, start }
    }

    fn ours(&self, text: &str, dst: DstPolicy) -> Vec<Timestamp> {
        let options = ParseOptions::new().with_day_rule(DayRule::Or);
        let schedule =
            Schedule::new(Expression::parse_with(text, &options).unwrap(), self.zone.clone()).with_dst(dst);
        schedule.upcoming(self.start).take(8).map(|time| time.timestamp()).collect()
    }

    /// `None` if croner does not read the text.
    fn theirs(&self) -> Option<Vec<Timestamp>> {
        let cron = CronParser::builder().build().parse(&self.text).ok()?;
        let mut from: Zoned = self.start.to_zoned(self.zone.clone());
        let mut found = Vec::new();
        while found.len() < 8
            && let Ok(next) = cron.find_next_occurrence(&from, false)
        {
            found.push(next.timestamp());
            from = next;
        }
        Some(found)
    }

    /// Why croner refuses the text.
    fn refusal(&self) -> Option<Disagreement> {
        let mut items = self.text.split([' ', ',']);
        let is_star_in_list = |field: &str| field.contains(',') && field.split(',').any(|item| item == "*");
        if items.any(|item| item.starts_with("L-")) {
            Some(Disagreement::DaysBeforeLast)
        } else {
            self.text.split(' ').any(is_star_in_list).then_some(Disagreement::StarInList)
        }
    }

    /// Which other reading of the text gives croner's instants.
    fn explanation(&self, theirs: &[Timestamp]) -> Option<Disagreement> {
        let fields: Vec<&str> = self.text.split(' ').collect();
        let (time, days) = fields.split_at(fields.len() - 3);
        let whole = |field: &str, all: &str| if field == "*/1" { all.to_owned() } else { field.to_owned() };
        let plain =
            [time.join(" "), whole(days[0], "1-31"), days[1].to_owned(), whole(days[2], "0-6")].join(" ");
        let has_many_times = time.iter().any(|field| field.contains(['*', '-', ',', '/']));
        if plain != self.text && self.ours(&plain, DstPolicy::CRON) == theirs {
            Some(Disagreement::WholeStep)
        } else if has_many_times && self.ours(&self.text, DstPolicy::LITERAL) == theirs {
            Some(Disagreement::ManyTimes)
        } else {
            None
        }
    }
}

#[test]
fn croner_gives_the_same_instants_or_the_disagreement_has_a_name() {
    let mut counts: BTreeMap<Option<Disagreement>, usize> = BTreeMap::new();
    let all = replay::each_seed(0..12_000, |seed| {
        let question = Question::new(seed);
        let ours = question.ours(&question.text, DstPolicy::CRON);
        let disagreement = match question.theirs() {
            None => Some(
                question.refusal().unwrap_or_else(|| panic!("seed {seed}: croner refuses {}", question.text)),
            ),
            Some(theirs) if theirs == ours => None,
            Some(theirs) => Some(question.explanation(&theirs).unwrap_or_else(|| {
                let zone = question.zone.iana_name().unwrap_or_default();
                panic!(
                    "seed {seed}: {} in {zone} after {}: {ours:?}, croner {theirs:?}",
                    question.text, question.start
                )
            })),
        };
        *counts.entry(disagreement).or_default() += 1;
    });
    if !all {
        return;
    }
    assert_eq!(counts.len(), 5, "a row of the table has no example: {counts:?}");
    assert!(7_000 < counts[&None], "only {} of 12000 agree", counts[&None]);
}
