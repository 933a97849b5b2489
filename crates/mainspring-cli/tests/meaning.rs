//! A set clock has one meaning: the library's calendar and the scheduler's planner, which `simulate` runs,
//! start the same occurrences at the same times by the wall clock.

use std::fmt::Write as _;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use mainspring::Handle;
use mainspring::clock::Manual;
use mainspring::clock::wall::{ManualWall, WallClock};
use mainspring::driver::Single;
use mainspring::front::{Calendar, RunTasks};
use mainspring_cron::{Expression, Schedule};
use mainspring_queue::wheel::Chunked;
use serde_json::Value;

use crate::program::mainspring;
use crate::scratch;

const START: &str = "2026-03-02T00:00:30Z";

const EXPRESSIONS: [&str; 5] = ["*/20 * * * *", "30 4 * * *", "0 9,18 * * *", "0 0 10,14 * *", "@every 5h"];

/// A step of the wall clock: when it shows the first, it is set to the second.
type Step = (Timestamp, Timestamp);

/// One start: which job, when by the wall clock, and for which time.
type Start = (usize, Timestamp, Timestamp);

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// What the calendar starts until the wall clock shows `end`, and how many occurrences it missed.
fn by_the_calendar(steps: &[Step], end: Timestamp) -> (Vec<Start>, u64) {
    let clock = Manual::leaping();
    let wall = Arc::new(ManualWall::new(clock.clone(), at(START)));
    let driver = Arc::new(Single::new(Chunked::new(), Arc::new(clock.clone())));
    let calendar = Calendar::with_wall(Handle::new(driver.clone()), wall.clone());
    let (sender, receiver) = channel();
    let missed = Arc::new(Mutex::new(0));
    for (job, expression) in EXPRESSIONS.iter().enumerate() {
        let schedule = Schedule::new(Expression::parse(expression).unwrap(), TimeZone::UTC);
        let (sender, missed, wall) = (sender.clone(), Arc::clone(&missed), Arc::clone(&wall));
        let run = move |occurrence: mainspring::front::calendar::Occurrence| {
            *missed.lock().unwrap() += u64::from(occurrence.missed_count);
            sender.send((job, wall.now(), occurrence.nominal.timestamp())).unwrap();
        };
        calendar.schedule(schedule, run).unwrap();
    }
    let pass_to = |time: Timestamp| {
        let span = time.duration_since(wall.now()).as_millis();
        let deadline = mainspring::clock::Clock::now(&clock).after(u64::try_from(span).unwrap());
        driver.run_until(deadline, &mut RunTasks);
    };
    for (from, to) in steps {
        pass_to(*from);
        wall.set(*to);
        calendar.clock_changed();
    }
    pass_to(end);
    let starts = receiver.try_iter().filter(|(_, time, _)| *time < end).collect();
    let missed = *missed.lock().unwrap();
    (starts, missed)
}

/// The same by the planner, with the policy that the calendar documents.
fn by_the_planner(steps: &[Step], end: Timestamp, name: &str) -> (Vec<Start>, u64) {
    let mut jobs = String::new();
    for (number, expression) in EXPRESSIONS.iter().enumerate() {
        writeln!(jobs, "[jobs.j{number}]\ncron = \"{expression}\"\nrun = [\"true\"]").unwrap();
        writeln!(jobs, "misfire = \"latest,window=24h,spread=0s\"\noverlap = \"allow\"").unwrap();
    }
    let path = scratch::path(&format!("meaning-{name}.toml"));
    std::fs::write(&path, jobs).unwrap();
    let mut args: Vec<String> = [
        "simulate",
        path.to_str().unwrap(),
        "--json",
        "--tz",
        "UTC",
        "-n",
        "100000",
        "--from",
        START,
        "--to",
    ]
    .map(str::to_owned)
    .into();
    args.push(end.to_string());
    args.extend(steps.iter().map(|(from, to)| format!("--set-clock={from}={to}")));
    let ended = mainspring(&args.iter().map(String::as_str).collect::<Vec<_>>());
    std::fs::remove_file(&path).unwrap();
    let found: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{}", ended.stderr));
    let mut starts = Vec::new();
    let mut missed = 0;
    for event in found["events"].as_array().unwrap() {
        let time = |key: &str| event[key].as_str().unwrap().parse::<Timestamp>().unwrap();
        let job = event["job"].as_str().unwrap()[1..].parse().unwrap();
        match event["what"].as_str().unwrap() {
            "started" => starts.push((job, time("time"), time("nominal"))),
            "missed" => missed += event["count"].as_u64().unwrap(),
            other => panic!("unexpected event {other}"),
        }
    }
    (starts, missed)
}

fn compare(steps: &[Step], end: Timestamp, name: &str) -> usize {
    let (mut calendar, mut planner) = (by_the_calendar(steps, end), by_the_planner(steps, end, name));
    // Which of two jobs that are due at one moment starts first is not promised.
    for (starts, _) in [&mut calendar, &mut planner] {
        starts.sort_by_key(|&(job, _, nominal)| (job, nominal));
    }
    let differs = calendar.0.iter().zip(&planner.0).find(|(one, other)| one != other);
    assert!(differs.is_none(), "{name}: {steps:?}: {differs:?}");
    assert_eq!(
        (calendar.0.len(), calendar.1),
        (planner.0.len(), planner.1),
        "{name}: {steps:?}: starts and missed occurrences"
    );
    calendar.0.len()
}

#[test]
fn a_set_clock_means_the_same_to_the_calendar_and_to_the_scheduler() {
    let cases: [(&str, &[(&str, &str)]); 7] = [
        ("steady", &[]),
        ("an hour forward", &[("2026-03-02T08:30:00Z", "2026-03-02T09:30:00Z")]),
        ("an hour back", &[("2026-03-02T09:30:00Z", "2026-03-02T08:30:00Z")]),
        ("more than three hours forward", &[("2026-03-02T04:00:10Z", "2026-03-02T17:00:00Z")]),
        ("more than three hours back", &[("2026-03-03T04:40:00Z", "2026-03-02T23:00:00Z")]),
        ("nine days forward", &[("2026-03-02T04:00:10Z", "2026-03-11T00:00:01Z")]),
        (
            "forward and back again",
            &[
                ("2026-03-02T04:00:10Z", "2026-03-06T00:10:00Z"),
                ("2026-03-06T00:50:00Z", "2026-03-02T05:00:00Z"),
            ],
        ),
    ];
    for (name, steps) in cases {
        let steps: Vec<Step> = steps.iter().map(|(from, to)| (at(from), at(to))).collect();
        let last = steps.last().map_or(at(START), |step| step.1);
        assert!(0 < compare(&steps, last + SignedDuration::from_hours(24 * 6), &name.replace(' ', "-")));
    }
}

#[test]
fn random_steps_of_the_clock_mean_the_same_to_both() {
    let mut state: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut below = |limit: i64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        i64::try_from(state % u64::try_from(limit).unwrap()).unwrap()
    };
    for case in 0..12 {
        let mut steps: Vec<Step> = Vec::new();
        let (mut now, mut latest) = (at(START), at(START));
        for _ in 0..=below(4) {
            // `simulate` takes a step when the clock shows its time first.
            let from = latest + SignedDuration::from_secs(1 + below(40 * 3_600));
            // Never onto a boundary, where a millisecond decides.
            let step = 1 + 60 * (below(90 * 60) - 40 * 60);
            let to = from + SignedDuration::from_secs(step);
            steps.push((from, to));
            now = to;
            latest = latest.max(from).max(to);
        }
        compare(&steps, now + SignedDuration::from_hours(60), &format!("random-{case}"));
    }
}
