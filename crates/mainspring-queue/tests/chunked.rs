//! Promises of the chunked wheel beyond the contract: bounded steps, whatever the crowd.

use mainspring_queue::wheel::Chunked;
use mainspring_queue::{Budget, PopResult, Tick, TimerQueue};

const PLENTY: usize = 1_000_000_000;

fn schedule_all(wheel: &mut Chunked<u64>, deadlines: impl Iterator<Item = u64>) {
    for (deadline, number) in deadlines.zip(0..) {
        wheel.schedule(Tick::new(deadline), number).expect("there is room");
    }
}

/// Advances tick by tick and returns the most timers that one tick looked at, those that it handed out not
/// counted.
fn work_max(wheel: &mut Chunked<u64>, ticks: u64) -> usize {
    let mut most = 0;
    let start = wheel.now().get();
    for now in start + 1..=start + ticks {
        let mut budget = Budget::new(PLENTY);
        wheel.advance_within(Tick::new(now), &mut budget);
        let mut fired_count = 0;
        while let PopResult::Timer(timer) = wheel.pop_within(&mut budget) {
            assert_eq!(timer.deadline, Tick::new(now), "each fires at its tick");
            fired_count += 1;
        }
        most = most.max(PLENTY - budget.left() - fired_count);
    }
    most
}

#[test]
fn no_tick_moves_the_whole_of_the_next_minute() {
    let mut wheel = Chunked::new();
    // All of them wait in one slot of 65,536 ticks, which comes next.
    schedule_all(&mut wheel, (0..200_000).map(|number| 65_536 + number * 7_919 % 65_536));
    let most = work_max(&mut wheel, 2 * 65_536);
    assert!(wheel.is_empty());
    assert!(most < 200, "a tick looked at {most} timers that it did not fire");
}

#[test]
fn no_tick_moves_the_whole_of_the_next_four_hours() {
    let mut wheel = Chunked::new();
    let start = (1 << 24) - 70_000;
    wheel.advance(Tick::new(start));
    schedule_all(&mut wheel, (0..100_000).map(|number| (1 << 24) + number * 7_919 % (1 << 24)));
    let most = work_max(&mut wheel, 300_000);
    assert!(most < 300, "a tick looked at {most} timers that it did not fire");
}

#[test]
fn a_crowd_of_one_tick_is_handed_out_in_steps() {
    let mut wheel = Chunked::new();
    schedule_all(&mut wheel, std::iter::repeat_n(70_000, 100_000));
    let (mut turn_count, mut numbers) = (0, Vec::new());
    loop {
        let (mut budget, before) = (Budget::new(10), numbers.len());
        wheel.advance_within(Tick::new(80_000), &mut budget);
        let last = loop {
            match wheel.pop_within(&mut budget) {
                PopResult::Timer(timer) => numbers.push(timer.payload),
                last => break last,
            }
        };
        assert!(numbers.len() <= before + 10, "a budget of 10 lets 10 through");
        turn_count += 1;
        if last == PopResult::Nothing {
            break;
        }
        assert!(budget.is_used_up(), "a pause says that the budget is used up");
    }
    assert!(numbers.into_iter().eq(0..100_000), "equals come in order");
    assert!(10_000 < turn_count, "the work was done in {turn_count} turns");
}

#[test]
fn with_a_budget_of_nothing_nothing_is_handed_out() {
    let mut wheel = Chunked::new();
    schedule_all(&mut wheel, std::iter::repeat_n(70_000, 1_000));
    wheel.advance(Tick::new(70_000));
    assert_eq!(wheel.pop_within(&mut Budget::new(0)), PopResult::Paused);
    let first = wheel.pop_expired().expect("one is due");
    assert_eq!(wheel.pop_within(&mut Budget::new(0)), PopResult::Paused, "the rest of a batch is handed out");
    assert_eq!((first.payload, wheel.len()), (0, 999));
}

#[test]
fn a_jump_over_all_deadlines_is_worked_off_in_steps_and_in_order() {
    let mut wheel = Chunked::new();
    schedule_all(&mut wheel, (0..50_000).map(|number| 1 + number * 7_919 % 3_600_000));
    wheel.advance_within(Tick::new(4_000_000), &mut Budget::new(1));
    let mut deadlines = Vec::new();
    loop {
        match wheel.pop_within(&mut Budget::new(50)) {
            PopResult::Timer(timer) => deadlines.push(timer.deadline),
            PopResult::Paused => wheel.check(),
            PopResult::Nothing => break,
        }
        if deadlines.len() == 20_000 {
            let id = wheel.schedule(Tick::new(1), 0).expect("there is room");
            assert_eq!(wheel.cancel(id), Some(0), "what came late can be cancelled as well");
        }
    }
    assert_eq!(deadlines.len(), 50_000);
    assert!(deadlines.is_sorted());
}

#[test]
fn a_record_may_change_so_often_that_an_old_hint_looks_current() {
    let mut wheel = Chunked::new();
    let first = wheel.schedule(Tick::new(1 << 20), 0).expect("there is room");
    assert_eq!(wheel.cancel(first), Some(0));
    for number in 0..65_535 {
        let id = wheel.schedule(Tick::new(5), number).expect("there is room");
        assert_eq!(wheel.cancel(id), Some(number));
    }
    wheel.compact();
    wheel.check();
    wheel.advance(Tick::new(1 << 21));
    assert_eq!(wheel.pop_expired(), None);
}

/// Sleeps from wakeup to wakeup until something is due, and returns how often it woke.
fn wakeup_count(wheel: &mut Chunked<u64>) -> usize {
    let mut wakeup_count = 0;
    loop {
        wheel.advance(wheel.next_wakeup().expect("a timer is pending"));
        wheel.check();
        wakeup_count += 1;
        if wheel.pop_expired().is_some() {
            return wakeup_count;
        }
    }
}

#[test]
fn a_crowd_that_was_cancelled_wakes_nobody_twice() {
    for scale in [1, 7, 300, 70_000, 20_000_000] {
        let mut wheel = Chunked::new();
        let last = 1_000 * scale;
        let schedule = |number| wheel.schedule(Tick::new(number * scale), number).expect("there is room");
        let ids: Vec<_> = (1..1_000).map(schedule).collect();
        wheel.schedule(Tick::new(last), 0).expect("there is room");
        // The hints of those that are moved lie where they were.
        for (number, id) in ids.into_iter().enumerate() {
            match number % 2 {
                0 => _ = wheel.cancel(id).expect("it is pending"),
                _ => wheel.reset(id, Tick::new(last)).expect("it is pending"),
            }
        }
        let count = wakeup_count(&mut wheel);
        assert!(count <= 3, "woken {count} times at {scale} ticks from timer to timer");
        assert_eq!(wheel.now(), Tick::new(last));
        assert_eq!(1 + std::iter::from_fn(|| wheel.pop_expired()).count(), 500);
    }
}

#[test]
fn equals_that_are_not_moved_keep_their_order_where_the_dead_are_dropped() {
    let mut wheel = Chunked::new();
    for number in 0..200 {
        let first = wheel.schedule(Tick::new(300 + number % 3), 0).expect("there is room");
        wheel.schedule(Tick::new(400), number).expect("there is room");
        wheel.cancel(first).expect("it is pending");
    }
    assert!(wakeup_count(&mut wheel) <= 3);
    let rest: Vec<u64> = std::iter::from_fn(|| wheel.pop_expired()).map(|timer| timer.payload).collect();
    assert!(rest.into_iter().eq(1..200));
}
