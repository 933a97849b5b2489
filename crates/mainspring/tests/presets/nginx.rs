//! nginx's timers, and its loop.

use super::*;

#[test]
fn a_timer_that_would_move_by_less_than_300_ms_is_left_alone() {
    let trial = Trial::of(|clock| preset::nginx(clock).unwrap());
    let timer = trial.after(60_000, 1).unwrap();
    trial.clock.advance_to(Tick::new(299));
    assert!(timer.reset_lazily(ms(60_000), preset::NGINX_LAZINESS));
    assert_eq!(timer.deadline(), Some(Tick::new(60_000)));
    assert_eq!(trial.engine.counts().reset, 0);
    trial.clock.advance_to(Tick::new(300));
    assert!(timer.reset_lazily(ms(60_000), preset::NGINX_LAZINESS));
    assert_eq!(timer.deadline(), Some(Tick::new(60_300)));
    assert!(timer.cancel());
    assert!(!timer.reset_lazily(ms(60_000), preset::NGINX_LAZINESS));
}

#[test]
fn equal_deadlines_are_kept_apart_and_fire_in_order() {
    let trial = Trial::of(|clock| preset::nginx(clock).unwrap());
    for name in 0..5 {
        trial.after(10, name).unwrap();
    }
    assert_eq!(trial.at(10, 5), (0..5).map(|name| (name, 10)).collect::<Vec<_>>());
}

#[test]
fn the_loop_runs_timers_of_the_tree() {
    use mainspring::driver::poll::{AnySource, Ready, Serve};
    use mainspring::driver::{Fire, FiredTimer, Timers};

    /// Runs tasks, and knows no sockets.
    struct Tasks;

    impl Fire<Task> for Tasks {
        fn fire(&mut self, fired: FiredTimer<Task>) {
            let firing = Firing::from(&fired);
            fired.payload.run(firing);
        }
    }

    impl Serve<Task, AnySource> for Tasks {
        fn ready(&mut self, _ready: Ready<AnySource>) {
            unreachable!("no socket is registered");
        }
    }

    let driver = Arc::new(preset::nginx_loop::<AnySource>(Arc::new(Manual::leaping())).unwrap());
    let (sender, told) = channel();
    let stop = Arc::clone(&driver);
    let task = Task::new(move |firing| {
        sender.send(firing.now).unwrap();
        stop.stop();
    });
    driver.schedule(Tick::new(60_000), task).unwrap();
    driver.run(&mut Tasks).unwrap();
    assert_eq!(told.try_recv(), Ok(Tick::new(60_000)));
}
