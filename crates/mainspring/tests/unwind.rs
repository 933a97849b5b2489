//! Handles and fronts beside panics: `catch_unwind` takes each without `AssertUnwindSafe`.

use std::panic::{RefUnwindSafe, UnwindSafe, catch_unwind};
use std::time::Duration;

use mainspring::epoch::Epoch;
use mainspring::front::{
    Calendar, Callbacks, ChannelTimer, Channels, DelayQueue, Entry, Firings, Futures, Interval, KeyedTasks,
    Mailboxes, Occurrences, Periodic, Sleep, Threads, Ticker, Timeout, Timer,
};
use mainspring::{Engine, Handle, Simulation};

/// Payloads, keys and values are behind locks, whatever they are.
type Unsafe = Box<dyn FnMut() + Send>;

const fn assert_unwind_safe<T: UnwindSafe + RefUnwindSafe>() {}

const _: () = {
    assert_unwind_safe::<Engine>();
    assert_unwind_safe::<Engine<Unsafe>>();
    assert_unwind_safe::<Handle>();
    assert_unwind_safe::<Simulation>();
    assert_unwind_safe::<Epoch>();
    assert_unwind_safe::<Callbacks>();
    assert_unwind_safe::<Timer>();
    assert_unwind_safe::<Periodic>();
    assert_unwind_safe::<Futures>();
    assert_unwind_safe::<Sleep>();
    assert_unwind_safe::<Interval>();
    assert_unwind_safe::<Timeout<Sleep>>();
    assert_unwind_safe::<Channels>();
    assert_unwind_safe::<ChannelTimer>();
    assert_unwind_safe::<Ticker>();
    assert_unwind_safe::<Firings>();
    assert_unwind_safe::<DelayQueue<String, Unsafe>>();
    assert_unwind_safe::<KeyedTasks<String>>();
    assert_unwind_safe::<Mailboxes>();
    assert_unwind_safe::<Calendar>();
    assert_unwind_safe::<Entry>();
    assert_unwind_safe::<Occurrences>();
    assert_unwind_safe::<Threads>();
};

#[test]
fn a_timer_is_as_good_after_a_panic_as_before() {
    let simulation = Simulation::new();
    let timer = simulation.engine().callbacks().after(Duration::from_secs(5), |_| ()).unwrap();
    let caught = catch_unwind(|| {
        assert!(timer.reset(Duration::from_secs(10)));
        panic!("on purpose");
    });
    assert!(caught.is_err());
    assert_eq!([5, 5].map(|seconds| simulation.advance(Duration::from_secs(seconds))), [0, 1]);
}
