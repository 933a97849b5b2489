//! The thread and the loop, over a store in memory.

use mainspring_job::{MemoryStore, Operation, Owner, Shard};

use super::*;
use crate::waiting::wait_for;

const BATCH_COUNT: u64 = 3_000;

/// A report that is not rung for would hold the loop up for this long.
const RING_WAIT: Duration = Duration::from_secs(60);

#[test]
fn each_report_is_heard_however_long_the_loop_lingers() {
    let mut store = MemoryStore::new();
    let lease = store.acquire(Shard::WHOLE, &Owner::new("test")).unwrap();
    let mut writer = Writer::start(Box::new(store), lease).unwrap();
    for number in 1..=BATCH_COUNT {
        let now = Moment::now();
        writer.commit(Batch::new(number, vec![Operation::PauseAll(true)]), now);
        // From no wait to a wait that ends about when the report comes.
        let mut is_there = writer.linger(now, Duration::from_micros(number % 50));
        let report = loop {
            if !is_there {
                wait_for(&[writer.as_fd()], &[], Some(RING_WAIT)).unwrap();
                assert!(Moment::now().since(now) < RING_WAIT, "nothing was rung for batch {number}");
            }
            writer.quiet();
            // The ring of the batch before may come after its report was taken.
            match writer.next_report(Moment::now()) {
                Some(report) => break report,
                None => is_there = false,
            }
        };
        assert!(matches!(report, Report::Committed { number: written, .. } if written == number));
        assert!(writer.is_idle());
    }
}

#[test]
fn the_loop_does_not_linger_when_nothing_was_given() {
    let mut store = MemoryStore::new();
    let lease = store.acquire(Shard::WHOLE, &Owner::new("test")).unwrap();
    let mut writer = Writer::start(Box::new(store), lease).unwrap();
    assert!(!writer.linger(Moment::now(), Duration::MAX));
}
