//! skynet's services, mailboxes and time.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use jiff::SignedDuration;
use mainspring::Handle;
use mainspring::clock::following::Setbacks;
use mainspring::clock::wall::{ManualWall, WallClock};
use mainspring::clock::{Clock, Following, Manual};
use mainspring::driver::{Refusal, Single};
use mainspring::front::mailbox::Message;
use mainspring::front::{Mailboxes, RunTasks, Task};
use mainspring::preset::{self, SKYNET_TICK};
use mainspring_queue::Tick;
use mainspring_queue::wheel::Cascading;

/// A service's world: hundredths of a second that follow a wall clock which can be set.
struct World {
    driver: Arc<Single<Cascading<Task>>>,
    wall: Arc<ManualWall>,
    clock: Arc<Following>,
    handle: Handle<Task>,
    mailboxes: Mailboxes,
}

impl World {
    fn new() -> World {
        let base = Manual::leaping();
        let wall = Arc::new(ManualWall::new(base.clone(), "2026-03-02T12:00:00Z".parse().unwrap()));
        let clock = Arc::new(Following::new(wall.clone(), Arc::new(base), SKYNET_TICK));
        let driver = Arc::new(Single::new(Cascading::new(), clock.clone() as Arc<dyn Clock>));
        let handle = Handle::new(driver.clone());
        World { driver, wall, clock, mailboxes: Mailboxes::new(handle.clone()), handle }
    }

    fn pass_until(&self, tick: u64) {
        self.driver.run_until(Tick::new(tick), &mut RunTasks);
    }

    fn set(&self, change: SignedDuration) {
        self.wall.set(self.wall.now() + change);
    }
}

fn sessions(mailbox: &Receiver<Message>) -> Vec<(u64, u64)> {
    mailbox.try_iter().map(|message| (message.session, message.now.get())).collect()
}

#[test]
fn a_timeout_is_a_message_with_its_session() {
    let world = World::new();
    let (service, mailbox) = world.mailboxes.register();
    world.mailboxes.timeout_ticks(100, service, 1).unwrap();
    world.mailboxes.timeout_ticks(50, service, 2).unwrap();
    world.pass_until(49);
    assert_eq!(sessions(&mailbox), []);
    world.pass_until(200);
    assert_eq!(sessions(&mailbox), [(2, 50), (1, 100)]);
    assert_eq!(world.mailboxes.now(), Tick::new(200));
}

#[test]
fn messages_of_one_tick_arrive_in_order_at_each_service() {
    let world = World::new();
    let (first, first_mailbox) = world.mailboxes.register();
    let (second, second_mailbox) = world.mailboxes.register();
    for session in 0..100 {
        world.mailboxes.timeout_ticks(300, if session % 3 == 0 { first } else { second }, session).unwrap();
    }
    world.pass_until(300);
    let expected = |of_first| -> Vec<(u64, u64)> {
        let sessions = (0..100).filter(|session| (session % 3 == 0) == of_first);
        sessions.map(|session| (session, 300)).collect()
    };
    assert_eq!(sessions(&first_mailbox), expected(true));
    assert_eq!(sessions(&second_mailbox), expected(false));
}

#[test]
fn a_delay_of_zero_is_delivered_at_once_and_does_not_touch_the_wheel() {
    let world = World::new();
    let (service, mailbox) = world.mailboxes.register();
    world.mailboxes.timeout_ticks(0, service, 9).unwrap();
    assert_eq!(sessions(&mailbox), [(9, 0)]);
    assert_eq!(world.handle.counts().scheduled, 0);
}

#[test]
fn a_service_that_is_gone_is_sent_nothing() {
    let world = World::new();
    let (service, mailbox) = world.mailboxes.register();
    world.mailboxes.timeout_ticks(10, service, 1).unwrap();
    assert!(world.mailboxes.unregister(service));
    assert!(!world.mailboxes.unregister(service));
    world.pass_until(20);
    assert_eq!(mailbox.try_recv(), Err(TryRecvError::Disconnected));
    assert_eq!(world.mailboxes.timeout_ticks(0, service, 2), Err(Refusal::NoService));
    assert_eq!(world.mailboxes.timeout_ticks(5, service, 2), Err(Refusal::NoService));
    let (deaf, its_mailbox) = world.mailboxes.register();
    drop(its_mailbox);
    assert_eq!(world.mailboxes.timeout_ticks(0, deaf, 3), Err(Refusal::NoService));
}

#[test]
fn a_wall_clock_that_is_set_forward_is_caught_up_in_one_go_and_in_order() {
    let world = World::new();
    let (service, mailbox) = world.mailboxes.register();
    for session in 1..=5 {
        world.mailboxes.timeout_ticks(session * 1_000, service, session).unwrap();
    }
    world.set(SignedDuration::from_secs(60));
    world.pass_until(6_000);
    let messages = sessions(&mailbox);
    assert_eq!(messages.iter().map(|message| message.0).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert!(messages.iter().all(|message| message.1 == 6_000), "all at once: {messages:?}");
    assert_eq!(world.clock.setbacks(), Setbacks::default());
}

#[test]
fn a_wall_clock_that_is_set_back_refires_nothing_and_is_reported() {
    let world = World::new();
    let (service, mailbox) = world.mailboxes.register();
    world.mailboxes.timeout_ticks(500, service, 1).unwrap();
    world.pass_until(600);
    world.set(SignedDuration::from_secs(-3_600));
    world.mailboxes.timeout_ticks(100, service, 2).unwrap();
    world.pass_until(800);
    assert_eq!(sessions(&mailbox), [(1, 500), (2, 700)]);
    let setbacks = world.clock.setbacks();
    assert_eq!((setbacks.count, setbacks.total), (1, SignedDuration::from_secs(3_600)));
    assert_eq!(world.clock.start_time().to_string(), "2026-03-02T12:00:00Z");
}

#[test]
fn a_sleeping_driver_is_told_when_the_wall_clock_is_set() {
    let base = Manual::stepped();
    let wall = Arc::new(ManualWall::new(base.clone(), "2026-03-02T12:00:00Z".parse().unwrap()));
    let clock = Arc::new(Following::new(wall.clone(), Arc::new(base.clone()), SKYNET_TICK));
    let engine = preset::skynet(clock.clone()).unwrap();
    let mailboxes = Mailboxes::new(engine.handle().clone());
    let (service, mailbox) = mailboxes.register();
    mailboxes.timeout_ticks(360_000, service, 1).unwrap();
    wall.set(wall.now() + SignedDuration::from_hours(1));
    clock.look();
    assert_eq!(mailbox.recv_timeout(Duration::from_secs(60)).unwrap().session, 1);
    drop(engine);
    assert_eq!(mailboxes.timeout_ticks(5, service, 2), Err(Refusal::Stopped));
}

#[test]
fn clocks_that_follow_the_systems_own_are_never_early() {
    for clock in [Following::wall(SKYNET_TICK).unwrap(), Following::boot_time(SKYNET_TICK).unwrap()] {
        let engine = preset::skynet(clock.clone()).unwrap();
        let earliest = clock.after(Duration::from_millis(15));
        let (sender, fired) = std::sync::mpsc::channel();
        let callback = move |firing: mainspring::front::Firing| sender.send(firing).unwrap();
        engine.callbacks().after(Duration::from_millis(15), callback).unwrap();
        let firing = fired.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(earliest <= firing.deadline && firing.deadline <= firing.now);
    }
}
