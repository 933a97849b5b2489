//! Traits of the public types: they go to other threads, are printed, and are keys of a map.

use std::collections::{BTreeSet, HashSet};
use std::fmt::{Debug, Display};

use mainspring_cron::*;

#[test]
fn every_public_type_goes_to_other_threads_and_can_be_printed() {
    fn assert_value<T: Send + Sync + Clone + Debug + Unpin + 'static>() {}
    assert_value::<Expression>();
    assert_value::<Pattern>();
    assert_value::<Field>();
    assert_value::<OnCalendar>();
    assert_value::<Every>();
    assert_value::<Schedule>();
    assert_value::<Upcoming<'static>>();
    assert_value::<Explanation>();
    assert_value::<FieldSet>();
    assert_value::<ClockChange>();
    assert_value::<Warning>();
    assert_value::<Translation>();
    assert_value::<ParseOptions<'static>>();
}

#[test]
fn every_error_is_one_that_a_question_mark_turns_into_a_boxed_one() {
    fn assert_error<T: std::error::Error + Send + Sync + Clone + PartialEq + 'static>() {}
    assert_error::<ParseError>();
    assert_error::<ScheduleError>();
    assert_error::<UnknownName>();
    assert_error::<Untranslatable>();
}

#[test]
fn every_choice_shows_a_name_of_its_own() {
    fn names<T: Display + Copy, const N: usize>(choices: [T; N]) {
        let names: BTreeSet<String> = choices.iter().map(ToString::to_string).collect();
        assert_eq!(names.len(), N, "{names:?}");
    }
    names([Dialect::Unix, Dialect::Quartz]);
    names([DayRule::Star, DayRule::Or, DayRule::And]);
    names([BareStep::Warn, BareStep::Reject]);
    names([Gap::Run, Gap::Skip, Gap::Shift]);
    names([Overlap::First, Overlap::Last, Overlap::Both]);
    names([Language::Cron, Language::Quartz, Language::OnCalendar]);
}

#[test]
fn equal_schedules_are_one_key_and_different_ones_are_several() {
    let texts = [
        "30 2 * * *",
        "30 2 * * *",
        "@daily",
        "@every 90s",
        "@reboot",
        "OnCalendar=daily",
        "OnCalendar=daily",
        "DST=shift 30 2 * * *",
        "CRON_TZ=Europe/Paris 30 2 * * *",
        "CRON_TZ=Europe/Paris 30 2 * * *",
        "CRON_TZ=Asia/Tokyo 30 2 * * *",
    ];
    let schedules: HashSet<Schedule> = texts.into_iter().map(|text| text.parse().unwrap()).collect();
    assert_eq!(schedules.len(), 8);
}
