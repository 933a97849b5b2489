//! Exclusions that are longer than one question steps over: every occurrence around them is on record, once.

use super::*;

/// Due each second, but for an hour.
fn seconds(policies: &str) -> Job {
    rests(job("s", "* * * * * *", policies), "* 10 * * *")
}

fn rests(mut job: Job, excluded: &str) -> Job {
    let schedule = Schedule::new(Expression::parse(excluded).unwrap(), TimeZone::UTC);
    job.timetable = job.timetable.without(vec![Exclusion::Times(Box::new(schedule))]).unwrap();
    job
}

/// What is on record, one word for each row: the state, how many, the first time of day and the last.
fn rows(shell: &mut Shell) -> Vec<String> {
    let time = |moment: Timestamp| moment.to_zoned(TimeZone::UTC).strftime("%T").to_string();
    let row = |run: &Run| match run.span {
        Some(span) => {
            let (first, last) = (time(run.key.nominal), time(span.last));
            format!("{} {}{} {first} {last}", run.state, span.count, if span.is_exact { "" } else { "+" })
        }
        None => format!("{} {}", run.state, time(run.key.nominal)),
    };
    shell.runs("s").iter().map(row).collect()
}

#[test]
fn what_lies_before_a_long_exclusion_is_missed_and_not_forgotten() {
    let mut shell =
        Shell::new("2026-03-01T09:58:30Z", vec![seconds("misfire=earliest,window=10m,spread=0s,grace=0s")]);
    shell.wake("2026-03-01T11:00:10Z");
    assert_eq!(
        rows(&mut shell),
        [
            "missed 89 09:58:31 09:59:59",
            "running 11:00:00",
            "missed 9 11:00:01 11:00:09",
            "skipped_overlap 11:00:10"
        ]
    );
}

#[test]
fn a_pause_over_a_long_exclusion_is_recorded_and_counted() {
    let mut shell = Shell::new("2026-03-01T09:58:30Z", vec![seconds("retention=keep=1000")]);
    shell.live("2026-03-01T09:59:59.5Z");
    shell.end(0, Outcome::Succeeded);
    shell.command(Command::Pause(Scope::Job(name("s")), PauseTerms::default()));
    shell.now = at("2026-03-01T11:10:00Z");
    shell.command(Command::Resume(Scope::Job(name("s"))));
    assert_eq!(rows(&mut shell).pop().unwrap(), "skipped_paused 601 11:00:00 11:10:00");
    // The same, paused before all that has passed is planned.
    let mut shell = Shell::new("2026-03-01T09:58:30Z", vec![seconds("")]);
    shell.now = at("2026-03-01T11:00:20Z");
    shell.command(Command::Pause(Scope::Job(name("s")), PauseTerms::default()));
    shell.command(Command::Resume(Scope::Job(name("s"))));
    assert_eq!(rows(&mut shell), ["skipped_paused 110 09:58:31 11:00:20"]);
}

#[test]
fn only_the_latest_is_made_good_for_across_a_long_exclusion() {
    let mut shell =
        Shell::new("2026-03-01T09:58:30Z", vec![seconds("overlap=allow misfire=latest,spread=0s")]);
    shell.wake("2026-03-01T10:40:10Z");
    assert_eq!(rows(&mut shell), ["missed 88 09:58:31 09:59:58", "running 09:59:59"]);
}

#[test]
fn an_exclusion_is_of_the_wall_clock_whatever_its_schedule_does_when_a_clock_is_changed() {
    let berlin = |text: &str| Schedule::parse(text, "Europe/Berlin").unwrap();
    let timetable = |cron: &str| {
        let lunch = Exclusion::Times(Box::new(berlin("0-59 2 * * *")));
        Timetable::new([berlin(cron)]).unwrap().without(vec![lunch]).unwrap()
    };
    let next = |cron: &str, after: &str| timetable(cron).next_after(at(after));
    // The hour from 2 to 3 is not there in spring, and is there twice in autumn.
    assert_eq!(
        next("0 3 * * *", "2027-03-27T12:00:00Z"),
        mainspring_job::Next::At(at("2027-03-28T01:00:00Z"))
    );
    assert_eq!(
        next("*/30 * * * *", "2027-10-30T23:30:00Z"),
        mainspring_job::Next::At(at("2027-10-31T02:00:00Z"))
    );
}
