//! The calendar front, on manual clocks.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use mainspring::Handle;
use mainspring::clock::wall::{ManualWall, WallClock};
use mainspring::clock::{Clock, Manual};
use mainspring::driver::Single;
use mainspring::front::Calendar;
use mainspring::front::calendar::{Entry, Occurrence};
use mainspring::front::{RunTasks, Task};
use mainspring_cron::{Expression, Schedule};
use mainspring_queue::Tick;
use mainspring_queue::wheel::Chunked;

/// A calendar whose time is moved by hand, and which starts at noon, UTC, on a Monday.
struct Desk {
    driver: Arc<Single<Chunked<Task>>>,
    clock: Manual,
    wall: Arc<ManualWall>,
    calendar: Calendar,
}

const NOON: &str = "2026-03-02T12:00:00Z";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

impl Desk {
    fn new() -> Desk {
        let clock = Manual::leaping();
        let wall = Arc::new(ManualWall::new(clock.clone(), at(NOON)));
        let driver = Arc::new(Single::new(Chunked::new(), Arc::new(clock.clone())));
        let calendar = Calendar::with_wall(Handle::new(driver.clone()), wall.clone());
        Desk { driver, clock, wall, calendar }
    }

    /// Schedules an expression whose occurrences arrive in a channel.
    fn schedule(&self, expression: &str) -> (Entry, Receiver<Occurrence>) {
        let (sender, receiver) = channel();
        let schedule = Schedule::new(Expression::parse(expression).unwrap(), TimeZone::UTC);
        let entry = self.calendar.schedule(schedule, move |occurrence| drop(sender.send(occurrence)));
        (entry.unwrap(), receiver)
    }

    /// Lets time pass, timer by timer, for so many seconds.
    fn pass(&self, seconds: u64) {
        self.driver.run_until(self.clock.now().after(seconds * 1_000), &mut RunTasks);
    }
}

fn nominal_times(receiver: &Receiver<Occurrence>) -> Vec<String> {
    receiver.try_iter().map(|occurrence| occurrence.nominal.timestamp().to_string()).collect()
}

#[test]
fn each_occurrence_runs_at_its_time() {
    let desk = Desk::new();
    let (entry, receiver) = desk.schedule("*/15 12,13 * * *");
    assert_eq!(entry.next_run().unwrap().timestamp(), at("2026-03-02T12:15:00Z"));
    assert_eq!(desk.calendar.next_run().unwrap().timestamp(), at("2026-03-02T12:15:00Z"));
    desk.pass(3_600);
    let occurrences: Vec<Occurrence> = receiver.try_iter().collect();
    let times: Vec<String> = occurrences.iter().map(|run| run.nominal.timestamp().to_string()).collect();
    assert_eq!(
        times,
        ["2026-03-02T12:15:00Z", "2026-03-02T12:30:00Z", "2026-03-02T12:45:00Z", "2026-03-02T13:00:00Z",]
    );
    assert!(occurrences.iter().all(|run| run.lateness.is_zero() && run.missed_count == 0));
}

#[test]
fn a_job_a_month_away_takes_one_wakeup() {
    let desk = Desk::new();
    let (_, receiver) = desk.schedule("0 0 1 4 *");
    desk.pass(29 * 86_400 + 12 * 3_600);
    assert_eq!(desk.clock.wait_count(), 1);
    assert_eq!(nominal_times(&receiver), ["2026-04-01T00:00:00Z"]);
}

#[test]
fn a_schedule_without_occurrences_is_taken_and_never_runs() {
    let desk = Desk::new();
    for expression in ["0 0 30 2 *", "@reboot"] {
        let (entry, _) = desk.schedule(expression);
        assert!(entry.next_run().is_none());
        assert!(entry.cancel());
    }
    assert_eq!(Handle::<Task>::new(desk.driver.clone()).pending_count(), 0);
}

#[test]
fn a_cancelled_entry_does_not_run_and_leaves_nothing_behind() {
    let desk = Desk::new();
    let (entry, receiver) = desk.schedule("* * * * *");
    assert!(entry.cancel());
    assert!(!entry.cancel());
    assert!(entry.next_run().is_none());
    assert_eq!(Handle::<Task>::new(desk.driver.clone()).pending_count(), 0);
    desk.pass(120);
    assert!(receiver.recv().is_err(), "the callback was dropped");
}

#[test]
fn an_entry_may_cancel_itself() {
    let desk = Desk::new();
    let own: Arc<Mutex<Option<Entry>>> = Arc::default();
    let count = Arc::new(Mutex::new(0));
    let schedule = Schedule::new(Expression::parse("* * * * *").unwrap(), TimeZone::UTC);
    let entry = desk.calendar.schedule(schedule, {
        let (own, count) = (Arc::clone(&own), Arc::clone(&count));
        move |_| {
            *count.lock().unwrap() += 1;
            assert!(own.lock().unwrap().as_ref().unwrap().cancel());
        }
    });
    *own.lock().unwrap() = Some(entry.unwrap());
    desk.pass(600);
    assert_eq!(*count.lock().unwrap(), 1);
}

#[test]
fn occurrences_that_passed_while_the_process_stood_still_run_once_as_the_latest() {
    let desk = Desk::new();
    let (_, receiver) = desk.schedule("* * * * *");
    desk.clock.advance(Duration::from_secs(10 * 60 + 5));
    desk.pass(1);
    let run = receiver.try_recv().unwrap();
    assert_eq!(run.nominal.timestamp(), at("2026-03-02T12:10:00Z"));
    assert_eq!((run.missed_count, run.lateness), (9, Duration::from_secs(5)));
    assert!(receiver.try_recv().is_err());
    desk.pass(60);
    assert_eq!(nominal_times(&receiver), ["2026-03-02T12:11:00Z"]);
}

#[test]
fn three_years_of_missed_seconds_take_a_bounded_time() {
    let desk = Desk::new();
    let (_, receiver) = desk.schedule("* * * * * *");
    desk.clock.advance(Duration::from_secs(3 * 365 * 86_400));
    desk.pass(0);
    let run = receiver.try_recv().unwrap();
    assert_eq!(run.nominal.timestamp(), desk.wall.now());
    assert_eq!(run.missed_count, 10_000);
}

#[test]
fn an_occurrence_that_is_older_than_the_window_does_not_run_and_the_next_run_counts_it() {
    let desk = Desk::new();
    let (entry, receiver) = desk.schedule("0 0 5,6,20 * *");
    desk.wall.set(at("2026-03-10T00:00:00Z"));
    desk.calendar.clock_changed();
    desk.pass(60);
    assert_eq!(nominal_times(&receiver), [] as [&str; 0], "the latest is four days old");
    assert_eq!(entry.next_run().unwrap().timestamp(), at("2026-03-20T00:00:00Z"));
    desk.pass(10 * 86_400);
    let run = receiver.try_recv().unwrap();
    assert_eq!((run.nominal.timestamp(), run.missed_count), (at("2026-03-20T00:00:00Z"), 2));
    // A window is a day, and its end is within.
    let desk = Desk::new();
    let (_, receiver) = desk.schedule("0 0 5 * *");
    desk.wall.set(at("2026-03-06T00:00:00Z"));
    desk.calendar.clock_changed();
    desk.pass(0);
    assert_eq!(nominal_times(&receiver), ["2026-03-05T00:00:00Z"]);
}

/// Sets the wall clock by so many minutes at noon, lets three hours pass, and returns when the entry ran, by
/// the wall.
fn after_a_jump(expression: &str, minutes: i64) -> Vec<String> {
    let desk = Desk::new();
    let (_, receiver) = desk.schedule(expression);
    desk.wall.set(desk.wall.now() + SignedDuration::from_mins(minutes));
    desk.calendar.clock_changed();
    desk.pass(3 * 3_600);
    nominal_times(&receiver)
}

#[test]
fn what_a_clock_set_forward_passed_over_runs_once_as_the_latest() {
    assert_eq!(after_a_jump("30 12 * * *", 60), ["2026-03-02T12:30:00Z"]);
    assert_eq!(after_a_jump("30 13 * * *", 300), ["2026-03-02T13:30:00Z"]);
    assert_eq!(
        after_a_jump("40 * * * *", 60),
        ["2026-03-02T12:40:00Z", "2026-03-02T13:40:00Z", "2026-03-02T14:40:00Z", "2026-03-02T15:40:00Z",]
    );
}

#[test]
fn nothing_runs_again_after_the_clock_was_set_back() {
    assert_eq!(after_a_jump("30 11 * * *", -60), [] as [&str; 0], "the entry was made at noon");
    assert_eq!(after_a_jump("30 12 * * *", -60), ["2026-03-02T12:30:00Z"]);
    assert_eq!(after_a_jump("40 * * * *", -60), ["2026-03-02T12:40:00Z", "2026-03-02T13:40:00Z"]);
    assert_eq!(after_a_jump("30 7 * * *", -300), [] as [&str; 0]);
}

#[test]
fn an_entry_paused_until_the_clock_has_caught_up_and_rewinding_ends_that() {
    let desk = Desk::new();
    let (entry, receiver) = desk.schedule("0 * * * *");
    desk.wall.set(at("2029-01-01T00:30:00Z"));
    desk.calendar.clock_changed();
    desk.pass(3_600);
    assert_eq!(nominal_times(&receiver), ["2029-01-01T00:00:00Z", "2029-01-01T01:00:00Z"]);
    desk.wall.set(at("2026-03-02T14:30:00Z"));
    desk.calendar.clock_changed();
    desk.pass(86_400);
    assert_eq!(nominal_times(&receiver), [] as [&str; 0]);
    assert_eq!(entry.next_run().unwrap().timestamp(), at("2029-01-01T02:00:00Z"));
    assert_eq!(entry.rewind().unwrap().timestamp(), at("2026-03-03T15:00:00Z"));
    desk.pass(3_600);
    assert_eq!(nominal_times(&receiver), ["2026-03-03T15:00:00Z"]);
    assert!(entry.cancel());
    assert!(entry.rewind().is_none());
}

#[test]
fn a_change_that_nobody_reported_is_noticed_when_a_timer_fires() {
    let desk = Desk::new();
    let (_, receiver) = desk.schedule("0 13 * * *");
    desk.wall.set(at("2026-03-02T11:00:00Z"));
    desk.pass(3_600 + 60);
    assert_eq!(nominal_times(&receiver), [] as [&str; 0], "it is noon by the wall clock");
    desk.pass(3_600);
    assert_eq!(nominal_times(&receiver), ["2026-03-02T13:00:00Z"]);
    assert!(desk.clock.now() >= Tick::new(2 * 3_600_000));
}

#[test]
fn a_dropped_calendar_runs_nothing() {
    let desk = Desk::new();
    let (entry, receiver) = desk.schedule("* * * * *");
    let Desk { driver, calendar, .. } = desk;
    drop(calendar);
    driver.run_until_idle(&mut RunTasks);
    assert!(receiver.recv().is_err());
    assert!(entry.next_run().is_none());
    assert!(!entry.cancel());
}

#[test]
fn the_timers_of_entries_end_with_the_last_clone_of_their_calendar() {
    let desk = Desk::new();
    let (entry, occurrences) = desk.schedule("30 4 * * *");
    let handle = Handle::new(desk.driver);
    assert_eq!(handle.pending_count(), 1);
    drop(desk.calendar);
    assert_eq!((handle.pending_count(), entry.next_run().is_none()), (0, true));
    assert!(occurrences.recv().is_err(), "the callback is dropped");
}
