//! Each preset behaves as the documentation of its original says: a module per system, a test per sentence.

mod crontab;
mod nginx;
mod stop;
mod turns;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use mainspring::Engine;
use mainspring::clock::{Clock, Manual};
use mainspring::driver::Refusal;
use mainspring::front::callback::Timer;
use mainspring::front::{Channels, Firing, KeyedTasks, Task};
use mainspring::preset;
use mainspring_queue::{Reason, Tick};

/// Longer than any of these tests should take; when it is over they fail instead of hanging.
const PATIENCE: Duration = Duration::from_secs(60);

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

pub(crate) type Start = fn(Arc<dyn Clock>) -> Engine<Task>;

/// Every preset that is an engine, by name, on a clock of milliseconds.
pub(crate) const ENGINES: [(&str, Start); 13] = [
    ("go_1_9", |clock| preset::go_1_9(clock).unwrap()),
    ("go_1_10", preset::go_1_10),
    ("go_1_14, 1", |clock| preset::go_1_14(clock, 1).unwrap()),
    ("go_1_14, 4", |clock| preset::go_1_14(clock, 4).unwrap()),
    ("simple_wheel", |clock| preset::simple_wheel(clock, 4_000_000).unwrap()),
    ("rounds_wheel", |clock| preset::rounds_wheel(clock, 60, 1).unwrap()),
    ("hierarchical_wheel", |clock| preset::hierarchical_wheel(clock, &[60, 60, 24]).unwrap()),
    ("kafka", |clock| preset::kafka(clock).unwrap()),
    ("timingwheel", |clock| preset::timingwheel(clock, ms(1), 20).unwrap()),
    ("netty", |clock| preset::netty(clock, usize::MAX).unwrap()),
    ("skynet", |clock| preset::skynet(clock).unwrap()),
    ("nginx", |clock| preset::nginx(clock).unwrap()),
    ("skip_list", |clock| preset::skip_list(clock).unwrap()),
];

/// An engine on a stepped clock, and what its timers told.
struct Trial {
    clock: Manual,
    engine: Engine<Task>,
    sender: Sender<(u64, u64)>,
    told: Receiver<(u64, u64)>,
}

impl Trial {
    fn of(start: impl FnOnce(Arc<Manual>) -> Engine<Task>) -> Trial {
        let clock = Manual::stepped();
        let engine = start(Arc::new(clock.clone()));
        let (sender, told) = channel();
        Trial { clock, engine, sender, told }
    }

    fn tell(&self, name: u64) -> impl FnMut(Firing) + Send + 'static {
        let sender = self.sender.clone();
        move |firing| sender.send((name, firing.now.get())).unwrap()
    }

    fn after(&self, milliseconds: u64, name: u64) -> Result<Timer, Refusal> {
        self.engine.callbacks().after(ms(milliseconds), self.tell(name))
    }

    /// Moves time to a tick and returns what `count` timers told: their names, and when they fired.
    fn at(&self, tick: u64, count: usize) -> Vec<(u64, u64)> {
        self.clock.advance_to(Tick::new(tick));
        (0..count).map(|_| self.told.recv_timeout(PATIENCE).unwrap()).collect()
    }

    fn is_silent(&self) -> bool {
        self.told.try_recv().is_err()
    }
}

mod go_1_9 {
    use super::*;

    #[test]
    fn one_thread_fires_all_timers_in_order() {
        let trial = Trial::of(|clock| preset::go_1_9(clock).unwrap());
        for name in [3, 1, 2] {
            trial.after(name * 10, name).unwrap();
        }
        assert_eq!(trial.at(40, 3), [(1, 40), (2, 40), (3, 40)]);
    }

    #[test]
    fn a_stopped_timer_leaves_the_heap_at_once() {
        let trial = Trial::of(|clock| preset::go_1_9(clock).unwrap());
        let timer = trial.after(10, 1).unwrap();
        assert!(timer.cancel());
        assert_eq!(trial.engine.handle().pending_count(), 0);
    }

    #[test]
    fn a_timer_that_is_reset_moves_in_the_heap() {
        let trial = Trial::of(|clock| preset::go_1_9(clock).unwrap());
        let timer = trial.after(10, 1).unwrap();
        trial.after(20, 2).unwrap();
        assert!(timer.reset(ms(30)));
        assert_eq!(trial.at(20, 1), [(2, 20)]);
        assert_eq!(trial.at(30, 1), [(1, 30)]);
    }
}

mod go_1_10 {
    use super::*;

    #[test]
    fn a_slow_callback_holds_up_its_own_bucket_only() {
        let trial = Trial::of(preset::go_1_10);
        let (free, is_free) = channel::<()>();
        trial.engine.callbacks().after(ms(1), move |_| is_free.recv_timeout(PATIENCE).unwrap()).unwrap();
        let (callbacks, tell) = (trial.engine.callbacks(), trial.tell(7));
        std::thread::scope(|scope| {
            scope.spawn(move || callbacks.after(ms(1), tell).unwrap()).join().unwrap()
        });
        assert_eq!(trial.at(1, 1), [(7, 1)], "another thread's timer is in another bucket");
        free.send(()).unwrap();
    }

    #[test]
    fn a_timer_may_be_stopped_from_any_thread() {
        let trial = Trial::of(preset::go_1_10);
        let timer = trial.after(10, 1).unwrap();
        assert!(std::thread::scope(|scope| scope.spawn(|| timer.cancel()).join().unwrap()));
        assert_eq!(trial.engine.handle().pending_count(), 0);
    }

    #[test]
    fn all_buckets_hand_back_what_did_not_fire() {
        let trial = Trial::of(preset::go_1_10);
        let callbacks = trial.engine.callbacks();
        std::thread::scope(|scope| {
            for delay in [30, 10, 20] {
                let callbacks = &callbacks;
                scope.spawn(move || callbacks.after(ms(delay), |_| ()).unwrap());
            }
        });
        let deadlines: Vec<u64> = trial.engine.shutdown().iter().map(|timer| timer.deadline.get()).collect();
        assert_eq!(deadlines, [10, 20, 30]);
    }
}

mod go_1_14 {
    use super::*;

    #[test]
    fn a_stuck_worker_does_not_hold_up_its_timers() {
        let trial = Trial::of(|clock| preset::go_1_14(clock, 2).unwrap());
        let (free, is_free) = channel::<()>();
        trial.engine.callbacks().after(ms(1), move |_| is_free.recv_timeout(PATIENCE).unwrap()).unwrap();
        for name in 0..4 {
            trial.after(1, name).unwrap();
        }
        // Time continues past the grace that a worker has for its own timers.
        trial.clock.advance_to(Tick::new(1));
        let mut names = Vec::new();
        for tick in 2.. {
            names.extend(trial.at(tick, 0));
            names.extend(trial.told.try_iter());
            if names.len() == 4 {
                break;
            }
            std::thread::yield_now();
        }
        free.send(()).unwrap();
    }

    #[test]
    fn the_channel_front_stops_and_resets_as_in_go_1_23() {
        let trial = Trial::of(|clock| preset::go_1_14(clock, 2).unwrap());
        let timer = Channels::new(trial.engine.handle().clone()).timer(ms(10)).unwrap();
        assert_eq!(timer.reset(ms(20)), Ok(true));
        trial.clock.advance_to(Tick::new(20));
        while timer.receiver().is_empty() {
            std::thread::yield_now();
        }
        assert!(timer.stop(), "what nobody received counts as pending");
        assert!(!timer.stop());
    }

    #[test]
    fn stopping_and_making_timers_for_ever_holds_no_memory() {
        let trial = Trial::of(|clock| preset::go_1_14(clock, 1).unwrap());
        for name in 0..10_000 {
            assert!(trial.after(3_600_000, name).unwrap().cancel());
        }
        assert_eq!(trial.engine.handle().pending_count(), 0);
    }
}

mod simple_wheel {
    use super::*;

    #[test]
    fn a_delay_of_the_whole_ring_is_taken_and_a_longer_one_refused() {
        let trial = Trial::of(|clock| preset::simple_wheel(clock, 60).unwrap());
        trial.after(60, 1).unwrap();
        assert_eq!(trial.after(61, 2).unwrap_err(), Refusal::Rejected(Reason::BeyondHorizon));
        assert_eq!(trial.at(60, 1), [(1, 60)]);
    }

    #[test]
    fn a_slot_is_used_again_when_the_hand_has_passed() {
        let trial = Trial::of(|clock| preset::simple_wheel(clock, 60).unwrap());
        trial.after(10, 1).unwrap();
        assert_eq!(trial.at(10, 1), [(1, 10)]);
        trial.after(60, 2).unwrap();
        assert_eq!(trial.at(69, 0), []);
        assert!(trial.is_silent());
        assert_eq!(trial.at(70, 1), [(2, 70)]);
    }

    #[test]
    fn timers_of_one_slot_fire_in_the_order_of_their_start() {
        let trial = Trial::of(|clock| preset::simple_wheel(clock, 60).unwrap());
        for name in 0..5 {
            trial.after(30, name).unwrap();
        }
        assert_eq!(trial.at(30, 5), (0..5).map(|name| (name, 30)).collect::<Vec<_>>());
    }
}

mod rounds_wheel {
    use super::*;
    use mainspring::front::keyed_tasks::Repeat;

    #[test]
    fn a_far_timer_waits_for_its_round() {
        let trial = Trial::of(|clock| preset::rounds_wheel(clock, 60, 1).unwrap());
        trial.after(5, 1).unwrap();
        trial.after(125, 2).unwrap();
        assert_eq!(trial.at(5, 1), [(1, 5)]);
        assert_eq!(trial.at(65, 0), []);
        assert_eq!(trial.at(125, 1), [(2, 125)]);
    }

    #[test]
    fn a_keyed_task_is_found_and_replaced_by_its_key() {
        let trial = Trial::of(|clock| preset::rounds_wheel(clock, 60, 1).unwrap());
        let tasks = KeyedTasks::new(trial.engine.handle().clone());
        tasks.schedule("task", ms(100), Repeat::from_count(-1), trial.tell(1)).unwrap();
        assert_eq!(tasks.schedule("task", ms(30), Repeat::Times(1), trial.tell(2)), Ok(true));
        assert_eq!(trial.at(30, 1), [(2, 30)]);
        assert_eq!(tasks.find(&"task"), None);
    }
}

mod hierarchical_wheel {
    use super::*;

    #[test]
    fn a_timer_moves_down_the_levels_and_fires_at_its_own_tick() {
        let trial = Trial::of(|clock| preset::hierarchical_wheel(clock, &[60, 60, 24]).unwrap());
        trial.after(2 * 3_600 + 3 * 60 + 4, 1).unwrap();
        assert_eq!(trial.at(2 * 3_600 + 3 * 60 + 3, 0), []);
        assert!(trial.is_silent());
        assert_eq!(trial.at(2 * 3_600 + 3 * 60 + 4, 1), [(1, 7_384)]);
    }

    #[test]
    fn a_timer_beyond_the_top_level_waits() {
        let trial = Trial::of(|clock| preset::hierarchical_wheel(clock, &[60, 60, 24]).unwrap());
        trial.after(10 * 86_400 + 1, 1).unwrap();
        assert_eq!(trial.at(10 * 86_400 + 1, 1), [(1, 864_001)]);
    }

    #[test]
    fn a_timer_on_each_level_fires_at_its_own_tick() {
        let trial = Trial::of(|clock| preset::hierarchical_wheel(clock, &[60, 60, 24]).unwrap());
        for (name, delay) in (0..).zip([59, 60, 3_599, 3_600, 86_399]) {
            trial.after(delay, name).unwrap();
        }
        for (name, delay) in (0..).zip([59, 60, 3_599, 3_600, 86_399]) {
            assert_eq!(trial.at(delay, 1), [(name, delay)]);
        }
    }
}

mod kafka {
    use super::*;

    #[test]
    fn a_task_whose_deadline_has_passed_fires_at_once() {
        let trial = Trial::of(|clock| preset::kafka(clock).unwrap());
        trial.clock.advance_to(Tick::new(100));
        trial.engine.callbacks().at(Tick::new(50), trial.tell(1)).unwrap();
        assert_eq!(trial.at(100, 1), [(1, 100)]);
    }

    #[test]
    fn the_size_counts_pending_tasks_and_a_cancelled_one_never_fires() {
        let trial = Trial::of(|clock| preset::kafka(clock).unwrap());
        let task = trial.after(1_000, 1).unwrap();
        trial.after(2_000, 2).unwrap();
        assert_eq!(trial.engine.handle().pending_count(), 2);
        assert!(task.cancel());
        assert_eq!(trial.engine.handle().pending_count(), 1);
        assert_eq!(trial.at(2_000, 1), [(2, 2_000)]);
    }

    #[test]
    fn empty_ticks_cost_no_wakeup() {
        let trial = Trial::of(|clock| preset::kafka(clock).unwrap());
        trial.after(1_000_000, 1).unwrap();
        assert_eq!(trial.at(1_000_000, 1), [(1, 1_000_000)]);
        assert!(trial.engine.counts().wakeups <= 10, "{}", trial.engine.counts().wakeups);
    }
}

mod timingwheel {
    use super::*;
    use mainspring::preset::TimingwheelError;

    #[test]
    fn a_tick_below_a_millisecond_is_refused() {
        let clock = Arc::new(Manual::stepped());
        let error = preset::timingwheel(clock, Duration::from_micros(999), 20).unwrap_err();
        assert!(matches!(error, TimingwheelError::TickTooShort), "{error}");
    }

    #[test]
    fn schedule_func_runs_until_its_scheduler_ends() {
        let trial = Trial::of(|clock| preset::timingwheel(clock, ms(1), 20).unwrap());
        let next = |last: Tick| (last < Tick::new(300)).then(|| last.after(100));
        trial.engine.callbacks().following(next, trial.tell(1)).unwrap();
        assert_eq!(trial.at(100, 1), [(1, 100)]);
        assert_eq!(trial.at(200, 1), [(1, 200)]);
        assert_eq!(trial.at(1_000, 1), [(1, 1_000)], "the one for 300 is late, and the last");
        assert_eq!(trial.engine.handle().pending_count(), 0);
    }

    #[test]
    fn after_func_fires_once_and_can_be_stopped() {
        let trial = Trial::of(|clock| preset::timingwheel(clock, ms(5), 20).unwrap());
        trial.after(12, 1).unwrap();
        assert!(trial.after(12, 2).unwrap().cancel());
        assert_eq!(trial.at(15, 1), [(1, 15)], "a tick of five milliseconds, and never early");
        assert!(trial.is_silent());
    }

    #[test]
    fn a_tick_that_the_clock_cannot_count_is_refused() {
        let clock = Arc::new(Manual::stepped_by(ms(10)));
        let error = preset::timingwheel(clock, ms(15), 20).unwrap_err();
        assert!(matches!(error, TimingwheelError::TickUneven), "{error}");
    }
}

mod netty {
    use super::*;

    #[test]
    fn a_timeout_fires_at_the_tick_that_follows_its_deadline() {
        let trial = Trial::of(|clock| preset::netty(clock, usize::MAX).unwrap());
        trial.after(101, 1).unwrap();
        assert_eq!(trial.at(199, 0), []);
        assert!(trial.is_silent());
        assert_eq!(trial.at(200, 1), [(1, 200)]);
    }

    #[test]
    fn more_than_the_maximum_of_pending_timeouts_are_refused() {
        let trial = Trial::of(|clock| preset::netty(clock, 2).unwrap());
        let first = trial.after(100, 1).unwrap();
        trial.after(100, 2).unwrap();
        assert_eq!(trial.after(100, 3).unwrap_err(), Refusal::Rejected(Reason::Full));
        first.cancel();
        trial.after(100, 4).unwrap();
    }

    #[test]
    fn stop_returns_the_timeouts_that_did_not_fire() {
        let trial = Trial::of(|clock| preset::netty(clock, usize::MAX).unwrap());
        trial.after(100, 1).unwrap();
        trial.after(90_000, 2).unwrap();
        assert_eq!(trial.at(100, 1), [(1, 100)]);
        let unfired = trial.engine.shutdown();
        assert_eq!(unfired.iter().map(|timer| timer.deadline).collect::<Vec<_>>(), [Tick::new(90_000)]);
    }
}

mod skynet {
    use super::*;

    #[test]
    fn time_is_counted_in_hundredths_of_a_second() {
        let clock = Manual::stepped_by(preset::SKYNET_TICK);
        let engine = preset::skynet(Arc::new(clock.clone())).unwrap();
        let timer = engine.callbacks().after(ms(1_005), |_| ()).unwrap();
        assert_eq!(timer.deadline(), Some(Tick::new(101)));
    }

    #[test]
    fn timers_fire_on_both_sides_of_the_wrap_of_thirty_two_bits() {
        let trial = Trial::of(|clock| preset::skynet(clock).unwrap());
        trial.clock.advance_to(Tick::new((1 << 32) - 2));
        trial.after(1, 1).unwrap();
        trial.after(2, 2).unwrap();
        trial.after(3, 3).unwrap();
        assert_eq!(trial.at((1 << 32) - 1, 1), [(1, (1 << 32) - 1)]);
        assert_eq!(trial.at(1 << 32, 1), [(2, 1 << 32)]);
        assert_eq!(trial.at((1 << 32) + 1, 1), [(3, (1 << 32) + 1)]);
    }

    #[test]
    fn timers_of_one_tick_fire_in_order() {
        let trial = Trial::of(|clock| preset::skynet(clock).unwrap());
        for name in 0..5 {
            trial.after(300, name).unwrap();
        }
        assert_eq!(trial.at(300, 5), (0..5).map(|name| (name, 300)).collect::<Vec<_>>());
    }

    #[test]
    fn a_delay_of_zero_fires_without_waiting_for_a_tick() {
        let trial = Trial::of(|clock| preset::skynet(clock).unwrap());
        trial.after(0, 1).unwrap();
        assert_eq!(trial.at(0, 1), [(1, 0)]);
    }
}

mod skip_list {
    use super::*;

    #[test]
    fn timers_fire_in_order_and_the_first_is_known() {
        let trial = Trial::of(|clock| preset::skip_list(clock).unwrap());
        for name in [5, 1, 4, 2, 3] {
            trial.after(name, name).unwrap();
        }
        assert_eq!(trial.at(5, 5), (1..=5).map(|name| (name, 5)).collect::<Vec<_>>());
    }

    #[test]
    fn equals_keep_their_order_and_a_cancelled_one_leaves_no_gap() {
        let trial = Trial::of(|clock| preset::skip_list(clock).unwrap());
        let timers: Vec<Timer> = (0..5).map(|name| trial.after(10, name).unwrap()).collect();
        assert!(timers[2].cancel());
        assert_eq!(trial.at(10, 4), [(0, 10), (1, 10), (3, 10), (4, 10)]);
    }
}
