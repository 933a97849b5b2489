//! The judgement of `cargo xtask chaos`: a history with a fault is judged bad, and one without is not.
//!
//! What each fault of a server would leave behind was planted in a server, too: see `docs/cluster.md`, Tests.

use crate::chaos_history::History;

const DUE: &str = "2026-11-22T09:00:00Z";
const DUE_NS: i128 = 1_795_338_000_000_000_000;

/// One run that was acknowledged, due, started a millisecond later, and ended.
fn good() -> History {
    History {
        acknowledged: ["key-1".to_owned()].into(),
        ended: ["key-1".to_owned()].into(),
        violations: Vec::new(),
        due: [((format!("tea@{DUE_NS}/0"), "1".to_owned()), DUE_NS)].into(),
        lines: format!("start tea@{DUE} 1 {}\nend tea@{DUE} 1 {}\n", DUE_NS + 1_000_000, DUE_NS + 60_000_000),
    }
}

fn complaints(history: &History) -> Vec<String> {
    history.judge().complaints
}

#[test]
fn a_history_without_a_fault_is_judged_good() {
    assert_eq!(complaints(&good()), [""; 0]);
    assert_eq!(
        good().judge().summary,
        "acknowledged 1 lost 0 starts 1 doubled 0 early 0 unrecorded 0",
        "it was read at all"
    );
}

/// Puts a fault into a history.
type Plant<'p> = &'p dyn Fn(&mut History);

#[test]
fn each_fault_in_a_history_is_complained_of() {
    let start = |attempt: u32, at: i128| format!("start tea@{DUE} {attempt} {at}\n");
    let faults: [(&str, Plant<'_>); 6] = [
        ("key-1 was acknowledged and has no end", &|history| history.ended.clear()),
        ("an old owner: tea started by epoch 3", &|history| {
            history.violations.push("tea started by epoch 3".to_owned());
        }),
        ("began twice", &|history| history.lines.push_str(&start(1, DUE_NS + 2_000_000))),
        ("was tried again", &|history| {
            history.due.insert((format!("tea@{DUE_NS}/0"), "2".to_owned()), DUE_NS);
            history.lines.push_str(&start(2, DUE_NS + 2_000_000));
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
