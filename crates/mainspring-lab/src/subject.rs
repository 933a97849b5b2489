//! A subject: its name, where it comes from, and the function that measures it.
//!
//! Cost: none. It does not measure: see [`workload`]. The table of all is in [`subjects`](crate::subjects).

use std::fmt;
use std::sync::Arc;

use mainspring_queue::TimerQueue;

use crate::api::{ENGINE_ALONE, EngineSubject, QueueSubject, STRUCTURE_ALONE};
use crate::case::{Case, Failure, Measurement, Workload};
use crate::recorder::Recorder;
use crate::workload;

/// Where a subject comes from, and so what a ratio to it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The accesses that no structure can do without.
    Floor,
    /// A queue or an engine of ours.
    Ours,
    /// A system of the field as we make it.
    Preset,
    /// A structure of std, or one written in an afternoon over it.
    Std,
    /// A library that holds timers and can cancel them.
    Library,
    /// Another language's runtime.
    Foreign,
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A variant is called as in the list, in lower case.
        formatter.pad(&format!("{self:?}").to_lowercase())
    }
}

/// What a subject can be asked for at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Api {
    /// By virtual time, on one thread.
    Structure,
    /// By the real clock.
    Engine,
    /// It says so when it is asked.
    Any,
}

/// The function that measures one subject.
type Measure = Box<dyn Fn(&Case) -> Measurement>;

/// The function that makes an empty queue of ours.
pub type MakeQueue = Box<dyn Fn() -> Box<dyn TimerQueue<u64>>>;

/// One subject.
pub struct Subject {
    /// Its name, as on the command line and in tables.
    pub name: &'static str,
    /// Where it comes from.
    pub kind: Kind,
    /// What it is, in a sentence.
    pub about: &'static str,
    api: Api,
    measure: Measure,
    /// The queue alone, of one of ours: for what replays traces.
    pub queue: Option<MakeQueue>,
}

impl Subject {
    /// Makes a subject of a function that measures any case, or says why not.
    pub fn new(
        name: &'static str,
        kind: Kind,
        about: &'static str,
        measure: impl Fn(&Case) -> Measurement + 'static,
    ) -> Subject {
        Subject { name, kind, about, api: Api::Any, measure: Box::new(measure), queue: None }
    }

    /// Makes a subject of a structure on one thread.
    pub fn queue<S: QueueSubject>(
        name: &'static str,
        kind: Kind,
        about: &'static str,
        make: impl Fn(&Case) -> S + 'static,
    ) -> Subject {
        let measure = move |case: &Case| workload::measure_queue(case, || make(case));
        Subject { api: Api::Structure, ..Subject::new(name, kind, about, measure) }
    }

    /// Makes a subject of an engine.
    pub fn engine<S: EngineSubject>(
        name: &'static str,
        kind: Kind,
        about: &'static str,
        make: impl Fn(Arc<Recorder>) -> Result<S, Failure> + 'static,
    ) -> Subject {
        let measure = move |case: &Case| workload::measure_engine(case, &make);
        Subject { api: Api::Engine, ..Subject::new(name, kind, about, measure) }
    }

    /// Why it cannot do a workload at all, if that is known without trying.
    pub fn unable(&self, workload: Workload) -> Option<&'static str> {
        match (self.api, workload) {
            (Api::Structure, _) if workload.is_real_time() => Some(STRUCTURE_ALONE),
            (Api::Engine, Workload::W3 | Workload::W4 | Workload::W8) => Some(ENGINE_ALONE),
            _ => None,
        }
    }

    /// Whether it does a workload by the real clock, and so with a thread of its own.
    pub fn is_real_time(&self, workload: Workload) -> bool {
        workload.is_real_time() || self.api == Api::Engine
    }

    /// Measures, in this process, now.
    ///
    /// # Errors
    /// The subject cannot do the workload, or its answers were wrong.
    pub fn measure(&self, case: &Case) -> Measurement {
        (self.measure)(case)
    }
}
