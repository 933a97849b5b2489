//! Every subject passes its own check, at a size that takes no time.

use mainspring_lab::case::{Case, Failure, Workload};
use mainspring_lab::subject::Kind;
use mainspring_lab::subjects::{self, presets};

/// Workloads on one thread by virtual time.
const VIRTUAL: [Workload; 7] =
    [Workload::W1, Workload::W1b, Workload::W2, Workload::W3, Workload::W4, Workload::W8, Workload::W9];

/// Workloads of engines that are over soon.
const LIVE: [Workload; 6] =
    [Workload::W1, Workload::W1b, Workload::W2, Workload::W5, Workload::W9, Workload::W10];

#[test]
fn every_subject_answers_rightly_or_says_why_it_cannot() {
    for subject in subjects::structures().into_iter().chain(presets::subjects()) {
        for workload in VIRTUAL {
            let case = Case { workload, size: 100, thread_count: 1, seed: 7 };
            match subject.measure(&case) {
                Ok(figures) => assert!(
                    figures.iter().all(|figure| figure.value.is_finite()),
                    "{} at {workload}: {figures:?}",
                    subject.name
                ),
                Err(Failure::Unable(reason)) => assert!(!reason.is_empty()),
                Err(failure) => panic!("{} at {workload}: {failure}", subject.name),
            }
        }
    }
}

#[test]
fn names_are_unique_and_fit_into_a_field_of_a_file() {
    let mut names: Vec<&str> = subjects::all().iter().map(|subject| subject.name).collect();
    assert!(names.iter().all(|name| !name.contains([',', ' '])), "{names:?}");
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn engines_account_for_every_timer() {
    // Another language's program is not built by a test.
    for subject in subjects::all().iter().filter(|subject| subject.kind != Kind::Foreign) {
        for workload in LIVE {
            let case = Case { workload, size: 100, thread_count: 2, seed: 7 };
            match subject.measure(&case) {
                Ok(figures) => assert!(figures[0].value.is_finite(), "{} at {workload}", subject.name),
                Err(Failure::Unable(reason)) => assert!(!reason.is_empty()),
                Err(failure) => panic!("{} at {workload}: {failure}", subject.name),
            }
        }
    }
}

#[test]
fn every_preset_stands_beside_a_structure_and_does_all_but_what_it_says() {
    for preset in presets::PRESETS {
        let structure = subjects::named(preset.structure).expect(preset.structure);
        assert!(structure.queue.is_some(), "{}", preset.structure);
        let subject = subjects::named(preset.name).expect(preset.name);
        assert_eq!(subject.kind, Kind::Preset);
        for workload in VIRTUAL {
            let case = Case { workload, size: 100, thread_count: 1, seed: 3 };
            let is_able = subject.measure(&case).is_ok();
            // Thirty days: beyond the ring of one, and thousands of wakeups a timer for two.
            let is_expected =
                workload != Workload::W4 || !["wheel::Simple", "wheel::Rounds"].contains(&preset.structure);
            assert_eq!(is_able, is_expected, "{} at {workload}", preset.name);
        }
    }
}
