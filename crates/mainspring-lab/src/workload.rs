//! The workloads of the standard, one file each.
//!
//! | workload | file | subjects |
//! |---|---|---|
//! | W1, W1b | [`churn`] | structures, presets |
//! | W2 | [`reset`] | structures, presets |
//! | W1, W1b, W2 | [`live`] | engines, fronts, and structures behind a mutex |
//! | W3 | [`drain`] | structures, presets |
//! | W4 | [`sparse`] | structures, presets |
//! | W5 | [`threads`] | engines, fronts, presets, and structures behind a mutex |
//! | W6 | [`lateness`] | engines, fronts, presets |
//! | W7, W7b | [`idle`] | engines, fronts, presets |
//! | W8 | [`memory`] | structures, presets |
//! | W9 | [`burst`] | all but structures behind a mutex |
//! | W10 | [`overload`] | engines, presets |
//!
//! Each checks the subject's answers in the same run: fired + cancelled + pending = scheduled, nothing early,
//! nothing lost. Where it can, what is needed for that is worked out again afterwards from the same seed, so
//! that the check does not disturb the caches that the figure is about.
//!
//! Of one thread's work the time for which other threads kept it off its core is taken off: a machine with
//! neighbours costs it caches, and no minutes.
//!
//! Cost: seconds.
//!
//! It does not repeat: a process measures one case, and starting from fresh memory is part of it.

pub mod burst;
pub mod check;
pub mod churn;
pub mod drain;
pub mod idle;
pub mod lateness;
pub mod live;
pub mod memory;
pub mod overload;
pub mod pace;
pub mod reset;
pub mod sparse;
pub mod threads;
pub mod usage;

use std::sync::Arc;

use crate::api::{ENGINE_ALONE, EngineSubject, QueueSubject, STRUCTURE_ALONE};
use crate::case::{Case, Failure, Measurement, Workload};
use crate::recorder::Recorder;

use idle::Crowd;
use live::Victim;

/// Measures a structure on one thread.
///
/// # Errors
/// It cannot do the workload, or its answers were wrong.
pub fn measure_queue<S: QueueSubject>(case: &Case, make: impl FnOnce() -> S) -> Measurement {
    match case.workload {
        Workload::W1 => churn::measure_random(case, make()),
        Workload::W1b => churn::measure_oldest(case, make()),
        Workload::W2 => reset::measure(case, make()),
        Workload::W3 => drain::measure(case, make()),
        Workload::W4 => sparse::measure(case, make()),
        Workload::W8 => memory::measure(case, make()),
        Workload::W9 => burst::measure_queue(case, make()),
        Workload::W5 | Workload::W6 | Workload::W7 | Workload::W7b | Workload::W10 => {
            Err(Failure::Unable(STRUCTURE_ALONE.to_owned()))
        }
    }
}

/// Measures an engine.
///
/// # Errors
/// It cannot do the workload, or its answers were wrong.
pub fn measure_engine<S: EngineSubject>(
    case: &Case,
    make: impl FnOnce(Arc<Recorder>) -> Result<S, Failure>,
) -> Measurement {
    let timed_count = if case.workload == Workload::W6 { case.size } else { 0 };
    let recorder = Arc::new(Recorder::new(timed_count));
    let make = || make(Arc::clone(&recorder));
    match case.workload {
        Workload::W1 => live::measure_churn(case, &make()?, &recorder, Victim::Random),
        Workload::W1b => live::measure_churn(case, &make()?, &recorder, Victim::Oldest),
        Workload::W2 => live::measure_reset(case, &make()?, &recorder),
        Workload::W5 => threads::measure(case, &make()?, &recorder),
        Workload::W6 => {
            let subject = make()?;
            let _entered = subject.enter();
            lateness::measure(case, &recorder, |at, payload| subject.launch(at, payload))
        }
        Workload::W7 => idle::measure(case, &make()?, Crowd::Waits),
        Workload::W7b => idle::measure(case, &make()?, Crowd::Cancelled),
        Workload::W9 => burst::measure_engine(case, &make()?, &recorder),
        Workload::W10 => overload::measure(case, &make()?, &recorder),
        Workload::W3 | Workload::W4 | Workload::W8 => Err(Failure::Unable(ENGINE_ALONE.to_owned())),
    }
}
