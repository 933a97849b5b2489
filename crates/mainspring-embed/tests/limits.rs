//! Limits: each stands in the documentation of the method that has it, as the number that holds.

use mainspring_embed::mainspring_job::{MAX_BATCH_OPERATIONS, MAX_BODY_BYTES};
use mainspring_embed::mainspring_job::{
    MAX_CATCH_UP_RUNS, MAX_EXCLUSIONS, MAX_JITTER, MAX_KEPT_RUNS, MAX_KEY_BYTES, MAX_KILL_GRACE,
    MAX_LABEL_BYTES, MAX_LABELS, MAX_NAME_CHARS, MAX_QUEUED_RUNS, MAX_RETRIES, MAX_TRIGGERS,
};
use mainspring_embed::{CatchUp, Cron, ManualClock, Options, Overlap, Run, When};

use super::*;

const OPTIONS: &str = include_str!("../src/options.rs");
const SUBMISSION: &str = include_str!("../src/submission.rs");
const WHEN: &str = include_str!("../src/when.rs");
const BUILDER: &str = include_str!("../src/builder.rs");

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(86_400);
/// The longest time of a rule, where a constant of another crate has no name here.
const CENTURY: Duration = Duration::from_secs(36_525 * 86_400);

/// What stands above a method, in one line.
fn documentation(source: &str, method: &str) -> String {
    let at = source.find(&format!("pub fn {method}(")).or_else(|| source.find(&format!("pub fn {method}<")));
    let above = source[..at.unwrap_or_else(|| panic!("there is no `{method}`"))].lines().rev().skip(1);
    let lines = above.skip_while(|line| line.trim().starts_with("#["));
    let mut lines: Vec<&str> = lines.map_while(|line| line.trim().strip_prefix("///")).collect();
    lines.reverse();
    lines.concat()
}

/// A number as people read it: 36,525.
fn grouped(number: usize) -> String {
    match number / 1_000 {
        0 => number.to_string(),
        thousands => format!("{},{:03}", grouped(thousands), number % 1_000),
    }
}

fn days(duration: Duration) -> String {
    assert_eq!(duration.as_secs() % DAY.as_secs(), 0);
    format!("{} days", grouped((duration.as_secs() / DAY.as_secs()) as usize))
}

#[test]
fn each_limit_stands_in_the_documentation_of_its_method() {
    let number = |limit: u32| grouped(limit as usize);
    assert_eq!((MAX_JITTER, MAX_KILL_GRACE), (DAY, 3_600 * SECOND), "the words below");
    let name = format!("at most {MAX_NAME_CHARS} characters");
    let rows = [
        (OPTIONS, "new", name.clone()),
        (OPTIONS, "group", name.replace("at most", "is at most")),
        (OPTIONS, "retry", format!("at most {} times", number(MAX_RETRIES))),
        (OPTIONS, "backoff", format!("at most {}", days(31 * DAY))),
        (OPTIONS, "timeout", format!("at most {}", days(CENTURY))),
        (OPTIONS, "stop_grace", "at most an hour".to_owned()),
        (OPTIONS, "jitter", "at most a day".to_owned()),
        (OPTIONS, "misfire", format!("from 1 to {}", number(MAX_CATCH_UP_RUNS))),
        (OPTIONS, "misfire_within", format!("at most {} and a day", days(CENTURY))),
        (OPTIONS, "overlap", format!("from 1 to {}", number(MAX_QUEUED_RUNS))),
        (OPTIONS, "retention", format!("from 1 to {} runs", number(MAX_KEPT_RUNS))),
        (OPTIONS, "retention", format!("from 1 to {}", days(CENTURY))),
        (OPTIONS, "label", format!("at most {MAX_LABELS} of at most {MAX_LABEL_BYTES} bytes")),
        (SUBMISSION, "key", format!("at most {MAX_KEY_BYTES} bytes")),
        (SUBMISSION, "name", name.clone()),
        (SUBMISSION, "payload", format!("at most {} KiB", MAX_BODY_BYTES / 1_024)),
        (WHEN, "or", format!("At most {MAX_TRIGGERS} triggers")),
        (WHEN, "except", format!("At most {MAX_EXCLUSIONS} exclusions")),
        (WHEN, "except_dates", format!("at most {MAX_EXCLUSIONS} exclusions")),
        (BUILDER, "job", name),
        (BUILDER, "threads", "from 1 to 1024".to_owned()),
    ];
    for (source, method, words) in rows {
        let found = documentation(source, method);
        assert!(found.contains(&words), "`{method}` lacks `{words}`: {found}");
    }
    let ahead = documentation(BUILDER, "ahead");
    assert!(ahead.contains("[`MAX_BATCH_OPERATIONS`]") && 0 < MAX_BATCH_OPERATIONS, "{ahead}");
}

/// Whether jobs with these options start.
fn starts(options: Options) -> bool {
    let clock = ManualClock::at("2026-12-20T00:00:00Z".parse().unwrap());
    Jobs::simulated(&clock).handler(options, |_: &Run, (): ()| -> Done { Ok(()) }).start().is_ok()
}

#[test]
fn what_a_rule_allows_starts_and_what_is_beyond_does_not() {
    type Lengthen = fn(Options, Duration) -> Options;
    let durations: [(Duration, Lengthen); 6] = [
        (31 * DAY, Options::backoff),
        (CENTURY, Options::timeout),
        (MAX_KILL_GRACE, |options, grace| options.timeout(SECOND).stop_grace(grace)),
        (MAX_JITTER, Options::jitter),
        (CENTURY, |options, window| options.misfire_within(window, SECOND)),
        (MAX_JITTER, |options, spread| options.misfire_within(DAY, spread)),
    ];
    for (index, (longest, lengthen)) in durations.into_iter().enumerate() {
        let options = || Options::new("a").retry(1);
        assert!(starts(lengthen(options(), longest)), "row {index}");
        assert!(!starts(lengthen(options(), longest + SECOND)), "row {index}");
    }
    type Count = fn(Options, u32) -> Options;
    let counts: [(u32, u32, Count); 5] = [
        (0, MAX_RETRIES, Options::retry),
        (1, MAX_CATCH_UP_RUNS, |options, cap| options.misfire(CatchUp::All { cap })),
        (1, MAX_QUEUED_RUNS, |options, cap| options.overlap(Overlap::QueueAll { cap })),
        (1, MAX_KEPT_RUNS, |options, runs| options.retention(runs, 1)),
        (1, 36_525, |options, days| options.retention(1, days)),
    ];
    for (index, (least, most, count)) in counts.into_iter().enumerate() {
        assert!(starts(count(Options::new("a"), least)), "row {index}");
        assert!(starts(count(Options::new("a"), most)), "row {index}");
        assert!(!starts(count(Options::new("a"), most + 1)), "row {index}");
        assert!(least == 0 || !starts(count(Options::new("a"), least - 1)), "row {index}");
    }
    let name = |length: usize| Options::new("n".repeat(length));
    assert!(starts(name(MAX_NAME_CHARS)) && !starts(name(MAX_NAME_CHARS + 1)));
    let group = |length: usize| Options::new("a").group("g".repeat(length), 1);
    assert!(starts(group(MAX_NAME_CHARS)) && !starts(group(MAX_NAME_CHARS + 1)));
}

#[test]
fn a_timetable_and_a_submission_have_their_limits() {
    let clock = ManualClock::at("2026-12-20T00:00:00Z".parse().unwrap());
    let cron = || Cron::parse("0 3 * * *").unwrap();
    let starts =
        |when: When| Jobs::simulated(&clock).job("a", when, |_: &Run| -> Done { Ok(()) }).start().is_ok();
    let of = |count: usize| (1..count).fold(When::on(cron()), |when, _| when.or(cron()));
    assert!(starts(of(MAX_TRIGGERS)) && !starts(of(MAX_TRIGGERS + 1)));
    let without =
        |count: usize| (0..count).fold(of(1), |when, _| when.except(Cron::parse("* 12 * * *").unwrap()));
    assert!(starts(without(MAX_EXCLUSIONS)) && !starts(without(MAX_EXCLUSIONS + 1)));

    let builder = Jobs::simulated(&clock).handler("h", |_: &Run, _: String| -> Done { Ok(()) });
    let jobs = builder.start().unwrap();
    let keyed = |length: usize| jobs.once("h").key("k".repeat(length)).payload("").submit().is_ok();
    let key_length = MAX_KEY_BYTES - "h/".len();
    assert!(keyed(key_length) && !keyed(key_length + 1));
    let named = |length: usize| jobs.once("h").name("n".repeat(length)).payload("").submit().is_ok();
    assert!(named(MAX_NAME_CHARS) && !named(MAX_NAME_CHARS + 1));
    // The quotation marks of the text count twice.
    let length = MAX_BODY_BYTES - r#"{"name":"h","payload":"\"\""}"#.len();
    let paid = |length: usize| jobs.once("h").payload(&"p".repeat(length)).submit().is_ok();
    assert!(paid(length) && !paid(length + 1));
}
