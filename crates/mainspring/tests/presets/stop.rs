//! Go's own test of its issue 69312, with its numbers, on every preset: what is stopped or reset and says
//! that it had fired has fired.

use super::*;
use crossbeam_channel::select;
use mainspring::clock::Monotonic;
use mainspring::front::channel::ChannelTimer;

/// Two timers of a millisecond race so many times in each of so many threads.
const THREAD_COUNT: usize = 64;
const RACE_COUNT: usize = 100;
/// Netty's ticks are a hundred times as long.
const RACE_COUNT_NETTY: usize = 5;

fn race(channels: &Channels, stop_or_reset: fn(&ChannelTimer) -> bool) {
    let timers = [channels.timer(ms(1)).unwrap(), channels.timer(ms(1)).unwrap()];
    let loser = select! {
        recv(timers[0].receiver()) -> _ => &timers[1],
        recv(timers[1].receiver()) -> _ => &timers[0],
    };
    if !stop_or_reset(loser) {
        loser.receiver().recv_timeout(PATIENCE).expect("a timer that says that it fired has sent");
    }
}

fn race_on_every_preset(stop_or_reset: fn(&ChannelTimer) -> bool) {
    for (name, start) in ENGINES {
        let engine = start(Arc::new(Monotonic::new()));
        let race_count = if name == "netty" { RACE_COUNT_NETTY } else { RACE_COUNT };
        let channels = Channels::new(engine.handle().clone());
        let race_all = || (0..race_count).for_each(|_| race(&channels, stop_or_reset));
        std::thread::scope(|scope| {
            (0..THREAD_COUNT).for_each(|_| drop(scope.spawn(race_all)));
        });
    }
}

#[test]
fn stop_says_false_only_of_what_has_fired() {
    race_on_every_preset(ChannelTimer::stop);
}

#[test]
fn reset_says_false_only_of_what_has_fired() {
    race_on_every_preset(|timer| timer.reset(Duration::from_secs(3_600)).unwrap());
}
