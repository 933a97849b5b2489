//! Simulations of small scenarios, judged by what the manual says of each policy.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::*;
use mainspring_file::claims::{Claimant, InForce, settle};
use mainspring_file::crontab::Format;
use mainspring_file::loaded_file::LoadedFile;
use mainspring_file::source::Source;

fn at(time: &str) -> Timestamp {
    time.parse().unwrap()
}

/// A day of the jobs of a text: a job file if it begins with a bracket, else a crontab.
fn day(text: &str, durations_s: &[Option<u64>]) -> Scenario {
    let name = if text.starts_with('[') { "a.toml" } else { "crontab" };
    let loaded = LoadedFile::parse(&Source::new(name, text), Format::User, &TimeZone::UTC);
    assert!(loaded.is_good(), "{}", loaded.problems_text());
    let mut files = [Claimant { job_source: name.to_owned(), loaded }];
    settle(&mut files, &InForce::nothing());
    let [Claimant { loaded, .. }] = files;
    let durations = durations_s.iter().copied().chain(std::iter::repeat(None));
    let jobs = loaded.jobs.into_iter().zip(durations).map(|(placed, duration_s)| SimulatedJob {
        job: placed.job,
        place: (name.to_owned(), placed.line_number),
        duration: duration_s.map(Duration::from_secs),
    });
    Scenario {
        jobs: jobs.collect(),
        groups: loaded.groups,
        from: at("2026-01-01T00:00:00Z"),
        to: at("2026-01-02T00:00:00Z"),
        outages: Vec::new(),
        clock_sets: Vec::new(),
        listed_count: 1_000,
        events_max: MAX_EVENTS,
    }
}

fn totals(scenario: &Scenario) -> Vec<(u64, u64, u64)> {
    let outcome = simulate(scenario);
    outcome.totals.iter().map(|total| (total.start_count, total.skipped_count, total.missed_count)).collect()
}

#[test]
fn the_first_moment_counts_and_the_last_does_not() {
    let outcome = simulate(&day("0 0 * * * true", &[]));
    let started = JobEvent::Started { attempt: 1 };
    let from = at("2026-01-01T00:00:00Z");
    assert_eq!(outcome.listed, [Event { time: from, job_index: 0, nominal: from, what: started }]);
    assert_eq!((outcome.start_count, outcome.end), (1, at("2026-01-02T00:00:00Z")));
}

#[test]
fn a_reboot_job_starts_once_with_the_server() {
    let mut scenario = day("@reboot true\n0 12 * * * false\n", &[Some(3)]);
    assert_eq!(totals(&scenario), [(1, 0, 0), (1, 0, 0)]);
    scenario.outages = vec![Outage { from: at("2026-01-01T06:00:00Z"), to: at("2026-01-01T06:00:01Z") }];
    assert_eq!(totals(&scenario), [(1, 0, 0), (1, 0, 0)], "the machine went on");
    // Over before the first moment, and over after it: the server starts then.
    let span = |from: &str, to: &str| Outage { from: at(from), to: at(to) };
    scenario.outages = vec![span("2025-12-31T06:00:00Z", "2025-12-31T07:00:00Z")];
    assert_eq!(totals(&scenario), [(1, 0, 0), (1, 0, 0)]);
    scenario.outages = vec![span("2025-12-31T06:00:00Z", "2026-01-01T07:00:00Z")];
    let outcome = simulate(&scenario);
    assert_eq!((outcome.start_count, outcome.listed[0].time), (2, at("2026-01-01T07:00:00Z")));
}

#[test]
fn nothing_happens_after_the_last_moment_and_no_server_starts_between_outages_that_meet() {
    let span = |from: &str, to: &str| Outage {
        from: at(&format!("2026-01-01T{from}Z")),
        to: at(&format!("2026-01-01T{to}Z")),
    };
    let mut scenario = day("10 * * * * true\n", &[]);
    scenario.to = at("2026-01-01T04:10:00Z");
    scenario.outages = vec![span("02:30:00", "09:30:00")];
    assert_eq!(totals(&scenario), [(3, 0, 0)]);
    scenario.outages = vec![Outage { from: at("2025-12-31T00:00:00Z"), to: scenario.to }];
    assert_eq!(totals(&scenario), [(0, 0, 0)]);
    scenario.outages = vec![span("01:30:00", "03:30:00"), span("00:30:00", "02:30:00")];
    let outcome = simulate(&scenario);
    let starts = outcome.listed.iter().filter(|event| event.what == JobEvent::Started { attempt: 1 });
    let times: Vec<String> = starts.map(|event| event.time.to_string()).collect();
    assert!(!times.iter().any(|time| time.starts_with("2026-01-01T02:")), "{times:?}");
    scenario.outages = Vec::new();
    scenario.clock_sets = vec![ClockSet { at: at("2026-01-01T02:30:00Z"), to: at("2026-01-01T09:30:00Z") }];
    assert_eq!(totals(&scenario), [(3, 0, 0)], "a clock that is set beyond the last moment ends it");
    scenario.clock_sets = vec![ClockSet { at: at("2025-12-31T02:30:00Z"), to: at("2026-01-01T03:30:00Z") }];
    assert_eq!(totals(&scenario), [(4, 0, 0)], "what was set before is as it is");
}

#[test]
fn a_run_that_ends_as_the_next_one_is_due_is_not_in_its_way() {
    assert_eq!(totals(&day("0 * * * * true", &[Some(3_600)])), [(24, 0, 0)]);
    assert_eq!(totals(&day("0 * * * * true", &[Some(3_601)])), [(12, 12, 0)]);
}

#[test]
fn each_overlap_rule_is_the_planners() {
    let of = |rule: &str| {
        let text = format!("# mainspring: overlap={rule}\n0 * * * * true\n");
        let outcome = simulate(&day(&text, &[Some(5_400)]));
        let total = outcome.totals[0];
        (total.start_count, total.skipped_count, total.cut_count, outcome.most_at_once.unwrap().count)
    };
    assert_eq!(of("skip"), (12, 12, 0, 1));
    assert_eq!(of("allow"), (24, 0, 0, 2));
    assert_eq!(of("kill-old"), (24, 0, 23, 1));
    assert_eq!(of("queue-one").0, 16, "one run after the other, all day");
}

#[test]
fn a_timeout_ends_a_run_and_a_retry_follows_it() {
    let text = "# mainspring: timeout=10m retry=1,backoff=1m,jitter=0,on=timed_out\n0 12 * * * true\n";
    let outcome = simulate(&day(text, &[Some(3_600)]));
    let whats: Vec<JobEvent> = outcome.listed.iter().map(|event| event.what).collect();
    let started = |attempt| JobEvent::Started { attempt };
    assert_eq!(whats, [started(1), JobEvent::TimedOut, started(2), JobEvent::TimedOut]);
    assert_eq!(outcome.listed[2].time, at("2026-01-01T12:11:00Z"));
}

#[test]
fn a_group_holds_back_what_exceeds_its_limit() {
    let text = "[groups.slow]\nlimit = 1\n[jobs.a]\ncron = '0 1 * * *'\nrun = ['a']\ngroup = 'slow'\n\
        [jobs.b]\ncron = '0 1 * * *'\nrun = ['b']\ngroup = 'slow'\n";
    let outcome = simulate(&day(text, &[Some(60), Some(60)]));
    assert_eq!(outcome.listed[1].time, at("2026-01-01T01:01:00Z"));
    assert_eq!(outcome.most_at_once.unwrap().count, 1);
}

#[test]
fn a_group_starts_as_many_as_its_rate_allows_at_the_first_moment_too() {
    let job = |name: &str| format!("[jobs.{name}]\ncron = '0 0 * * *'\nrun = ['a']\ngroup = 'bank'\n");
    let text = format!("[groups.bank]\nrate = '2/1m'\n{}", ["a", "b", "c", "d", "e"].map(job).concat());
    let outcome = simulate(&day(&text, &[]));
    let times: Vec<String> = outcome.listed.iter().map(|event| event.time.to_string()).collect();
    let minute = |minute: u32| format!("2026-01-01T00:0{minute}:00Z");
    assert_eq!(times, [0, 0, 1, 1, 2].map(minute));
}

#[test]
fn an_outage_is_made_good_for_as_the_misfire_rule_says() {
    let of = |rule: &str| {
        let text = format!("# mainspring: misfire={rule}\n0 * * * * true\n");
        let mut scenario = day(&text, &[]);
        scenario.outages = vec![Outage { from: at("2026-01-01T03:30:00Z"), to: at("2026-01-01T08:30:00Z") }];
        totals(&scenario)[0]
    };
    assert_eq!(of("none"), (19, 0, 5));
    assert_eq!(of("latest,spread=0s"), (20, 0, 4));
    assert_eq!(of("all,spread=0s"), (24, 0, 0));
}

#[test]
fn what_runs_when_the_server_dies_is_abandoned() {
    let mut scenario = day("0 12 * * * true", &[Some(600)]);
    scenario.outages = vec![Outage { from: at("2026-01-01T12:05:00Z"), to: at("2026-01-01T12:06:00Z") }];
    let outcome = simulate(&scenario);
    assert_eq!(outcome.listed[1].what, JobEvent::Abandoned);
    assert_eq!((outcome.totals[0].start_count, outcome.totals[0].cut_count), (1, 1));
}

#[test]
fn a_clock_that_is_set_back_repeats_nothing_and_one_set_forward_misses() {
    let mut scenario = day("# mainspring: misfire=none\n0 * * * * true\n", &[]);
    scenario.clock_sets = vec![ClockSet { at: at("2026-01-01T06:30:00Z"), to: at("2026-01-01T03:30:00Z") }];
    assert_eq!(totals(&scenario), [(24, 0, 0)]);
    scenario.clock_sets = vec![ClockSet { at: at("2026-01-01T03:30:00Z"), to: at("2026-01-01T06:30:00Z") }];
    assert_eq!(totals(&scenario), [(21, 0, 3)]);
}

#[test]
fn the_busiest_minutes_are_few_and_the_earlier_come_first() {
    let outcome = simulate(&day("* * * * * true\n30 5,9 * * * false\n", &[]));
    let starts: Vec<String> = outcome.busiest.iter().map(|minute| minute.time.to_string()).collect();
    let expected = ["05:30", "09:30", "00:00", "00:01", "00:02"].map(|time| format!("2026-01-01T{time}:00Z"));
    assert_eq!(starts, expected);
}

#[test]
fn the_limit_ends_a_simulation_and_says_where() {
    let mut scenario = day("0 * * * * true", &[]);
    scenario.events_max = 5;
    let outcome = simulate(&scenario);
    assert_eq!((outcome.is_cut_short, outcome.event_count), (true, 5));
    assert_eq!(outcome.end, at("2026-01-01T04:00:00Z"));
}

#[test]
#[should_panic(expected = "two jobs have one name")]
fn two_jobs_of_one_name_are_refused() {
    let mut scenario = day("0 * * * * true", &[]);
    scenario.jobs.push(scenario.jobs[0].clone());
    simulate(&scenario);
}

#[test]
fn counts_agree_with_a_walk_through_the_timetable() {
    let text = "*/7 3-20 * * * a\n5 */2 1,15 * * b\n@every 11m c\n";
    let mut scenario = day(text, &[]);
    scenario.to = at("2026-03-01T00:00:00Z");
    let outcome = simulate(&scenario);
    for (simulated, total) in scenario.jobs.iter().zip(&outcome.totals) {
        let timetable = &simulated.job.timetable;
        let before = scenario.from - jiff::SignedDuration::from_nanos(1);
        let last = scenario.to - jiff::SignedDuration::from_nanos(1);
        let times = timetable.occurrences(before, last, usize::MAX);
        assert_eq!(total.start_count, times.len() as u64, "{}", simulated.job.name);
    }
}
