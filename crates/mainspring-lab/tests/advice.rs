//! All queues make the same of a trace, and typical programs are told apart by their features.

use mainspring_lab::advise::{Features, Outcome, replay};
use mainspring_lab::case::Failure;
use mainspring_lab::subjects::queues;

use mainspring::trace::Trace;

use crate::generate::{KindOfTrace, generate};

fn replay_all(trace: &Trace) -> Vec<(&'static str, Outcome)> {
    let outcome = |subject: mainspring_lab::subject::Subject| {
        let make = subject.queue.expect("ours are queues");
        match replay(trace, make) {
            Ok(outcome) => Some((subject.name, outcome)),
            Err(Failure::Unable(_)) => None,
            Err(failure) => panic!("{}: {failure}", subject.name),
        }
    };
    queues::subjects().into_iter().filter_map(outcome).collect()
}

#[test]
fn all_queues_fire_the_same_timers_at_their_deadlines() {
    let outcomes = replay_all(&generate(KindOfTrace::Heartbeats));
    assert!(outcomes.len() > 8, "{outcomes:?}");
    let (_, first) = &outcomes[0];
    for (name, outcome) in &outcomes {
        assert_eq!(
            (outcome.fired_count, outcome.fingerprint),
            (first.fired_count, first.fingerprint),
            "{name}"
        );
    }
}

#[test]
fn a_replay_goes_by_deadlines_and_leaves_out_what_the_trace_did_not_schedule() {
    let text = "mainspring-trace 1 tick_ns 1000000 dropped 0
0 schedule 7 10
0 schedule 8 20
1 cancel 99
2 reset 8 30
3 reset 99 5
15 cancel 7
40 fire 8
";
    for (name, outcome) in replay_all(&text.parse().expect("the text is a trace")) {
        // 7 is due at 10, before its cancel at 15: in a replay it fires.
        assert_eq!(outcome.fired_count, 2, "{name}");
    }
}

#[test]
fn features_tell_typical_programs_apart() {
    let requests = Features::of(&generate(KindOfTrace::Requests));
    assert!(requests.cancelled_share > 0.95, "{requests:?}");
    assert!(requests.same_delay_share > 0.99);
    let keep_alive = Features::of(&generate(KindOfTrace::KeepAlive));
    assert!(keep_alive.reset_share > 0.9, "{keep_alive:?}");
    assert!(keep_alive.later_share > 0.9);
    let cache = Features::of(&generate(KindOfTrace::Cache));
    assert!(cache.same_delay_share < 0.01, "{cache:?}");
    assert!(cache.cancelled_share < 0.2);
}
