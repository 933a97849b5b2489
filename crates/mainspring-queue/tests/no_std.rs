//! The program without an operating system, whose crate is compiled with `no_std`, runs.

#[expect(unreachable_pub, reason = "it is public in the crate of the example")]
#[path = "../examples/no_std/pulse.rs"]
mod pulse;

use mainspring_queue::Tick;
use pulse::{Deed, Pulse};

#[test]
fn a_small_machine_blinks_and_stops_its_motor() {
    let mut pulse = Pulse::new().unwrap();
    pulse.run_motor(Tick::ZERO).unwrap();
    pulse.run_motor(Tick::new(100)).unwrap();
    let mut deeds = Vec::new();
    for now in (0..=2_100).map(Tick::new) {
        assert!(pulse.next_wakeup().is_some_and(|wakeup| now <= wakeup));
        deeds.extend(pulse.tick(now).unwrap().into_iter().map(|deed| (now.get(), deed)));
    }
    let blinks = [500, 1_000, 1_500, 2_000].map(|tick| (tick, Deed::Blink));
    assert_eq!(deeds[..4], blinks);
    assert_eq!(deeds[4..], [(2_100, Deed::StopMotor)], "it was asked for a second time at 100");
}
