//! All that can be measured: the table of subjects.
//!
//! [`all`] is the one table: a new queue of ours is a line in [`queues`], a rival a file and a line here.
//!
//! Cost: none. It does not measure: each [`Subject`] does.

pub mod btree;
pub mod delay_queue;
pub mod engines;
pub mod floor;
pub mod floor_clock;
pub mod fronts;
pub mod go;
pub mod hash_wheel;
pub mod heap_lazy;
pub mod heap_positions;
pub mod locked;
pub mod nexus;
pub mod polled_futures;
pub mod presets;
pub mod queues;
pub mod slab;
pub mod slab_wheel;
pub mod tokio_runtime;
pub mod tokio_sleep;
pub mod waking;

use std::collections::BTreeSet;

use crate::subject::Subject;

/// All structures on one thread, floor first, ours next, in the order of tables.
pub fn structures() -> Vec<Subject> {
    let mut subjects = vec![floor::subject()];
    subjects.extend(queues::subjects());
    subjects.extend([
        heap_lazy::subject(),
        heap_positions::subject(),
        btree::subject(),
        slab_wheel::subject(),
        nexus::subject(),
        hash_wheel::subject(),
        tokio_sleep::subject(),
        delay_queue::subject(),
    ]);
    subjects
}

/// All subjects: the structures, then the engines, ours first.
pub fn all() -> Vec<Subject> {
    let mut subjects = structures();
    subjects.extend(floor_clock::subjects());
    subjects.extend(engines::subjects());
    subjects.extend(fronts::subjects());
    subjects.extend(presets::subjects());
    subjects.extend(locked::subjects());
    subjects.extend(tokio_runtime::subjects());
    subjects.extend(polled_futures::subjects());
    subjects.extend(go::subjects());
    let names: BTreeSet<&str> = subjects.iter().map(|subject| subject.name).collect();
    assert_eq!(names.len(), subjects.len(), "a name is one subject's");
    subjects
}

/// The subject of that name.
pub fn named(name: &str) -> Option<Subject> {
    all().into_iter().find(|subject| subject.name.eq_ignore_ascii_case(name))
}
