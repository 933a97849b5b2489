//! The judgement of `cargo xtask chaos`: a history with a fault is judged bad, and one without is not.
//!
//! What each fault of a server would leave behind was planted in a server, too: see the header of the example
//! `chaos`.

use std::collections::BTreeSet;

use crate::chaos_history::{EPOCH_SHIFT, History, Unheard};

const DUE: &str = "2026-11-22T09:00:00Z";
const DUE_NS: i128 = 1_795_338_000_000_000_000;

/// One run that was acknowledged, due, started a millisecond later, and ended.
fn good() -> History {
    History {
        acknowledged: ["key-1".to_owned()].into(),
        ended: ["key-1".to_owned()].into(),
        violations: Vec::new(),
        due: [((format!("tea@{DUE_NS}/0"), "1".to_owned()), DUE_NS)].into(),
        lines: format!(
            "start tea@{DUE} 1 {} {}\nend tea@{DUE} 1 {}\n",
            DUE_NS + 1_000_000,
            fence(1),
            DUE_NS + 60_000_000
        ),
        returned: BTreeSet::new(),
        gaps: Vec::new(),
        unheard: Vec::new(),
    }
}

/// What a job is told by an owner of this epoch.
fn fence(epoch: u64) -> u64 {
    (epoch << EPOCH_SHIFT) + 1
}

fn complaints(history: &History) -> Vec<String> {
    history.judge().complaints
}

#[test]
fn a_history_without_a_fault_is_judged_good() {
    assert_eq!(complaints(&good()), [""; 0]);
    assert_eq!(
        good().judge().summary,
        "acknowledged 1 lost 0 gaps 0 starts 1 doubled 0 early 0 unrecorded 0 unheard 0",
        "it was read at all"
    );
}

/// Puts a fault into a history.
type Plant<'p> = &'p dyn Fn(&mut History);

#[test]
fn each_fault_in_a_history_is_complained_of() {
    let start = |attempt: u32, at: i128| format!("start tea@{DUE} {attempt} {at} {}\n", fence(1));
    let faults: [(&str, Plant<'_>); 8] = [
        ("key-1 was acknowledged and has no end", &|history| history.ended.clear()),
        ("an old owner: tea started by epoch 3", &|history| {
            history.violations.push("tea started by epoch 3".to_owned());
        }),
        ("no record of a time of tea", &|history| history.gaps.push("tea after 7".to_owned())),
        ("began twice", &|history| history.lines.push_str(&start(1, DUE_NS + 2_000_000))),
        ("was tried again", &|history| {
            history.due.insert((format!("tea@{DUE_NS}/0"), "2".to_owned()), DUE_NS);
            history.lines.push_str(&start(2, DUE_NS + 2_000_000));
        }),
        ("began and was given back", &|history| {
            history.returned.insert((format!("tea@{DUE_NS}/0"), "1".to_owned()));
        }),
        ("began early", &|history| history.lines = start(1, DUE_NS - 1)),
        ("no record of the start of", &|history| history.due.clear()),
    ];
    for (complaint, plant) in faults {
        let mut history = good();
        plant(&mut history);
        let found = complaints(&history);
        assert!(found.len() == 1 && found[0].contains(complaint), "{complaint}: {found:?}");
    }
}

#[test]
fn the_attempt_after_one_that_was_given_back_is_the_first() {
    let mut history = good();
    let attempt = |number: &str| (format!("tea@{DUE_NS}/0"), number.to_owned());
    history.lines = format!("start tea@{DUE} 2 {} {}\n", DUE_NS + 1_000_000, fence(1));
    history.due.insert(attempt("2"), DUE_NS);
    history.returned.insert(attempt("1"));
    assert_eq!(complaints(&history), [""; 0]);
}

#[test]
fn what_a_standby_never_heard_of_is_not_judged_and_all_else_is() {
    let mut history = good();
    let from = history.lines.len();
    history.unheard = vec![Unheard { from, to: from + 1, epochs: 1..=2 }];
    // The start record of the second is gone with the database that had it.
    history.lines.push_str(&format!("start cup@{DUE} 1 {DUE_NS} {}\n", fence(2)));
    assert_eq!(complaints(&history), [""; 0]);
    assert!(history.judge().summary.ends_with("starts 1 doubled 0 early 0 unrecorded 0 unheard 1"));
    history.lines.push_str(&format!("start cup@{DUE} 1 {DUE_NS} {}\n", fence(3)));
    let found = complaints(&history);
    assert!(found.len() == 1 && found[0].contains("no record of the start of cup"), "{found:?}");
    // What was written before it heard no more is judged, and what was written after that was noticed.
    for place in [0, 2] {
        let mut history = good();
        let from = history.lines.len() * place;
        history.unheard = vec![Unheard { from, to: from, epochs: 1..=1 }];
        history.lines = history.lines.repeat(2);
        let found = complaints(&history);
        assert!(found.len() == 1 && found[0].contains("began twice"), "{place}: {found:?}");
    }
}
