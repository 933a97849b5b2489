//! What can be measured: the face that a workload sees, and the table of all subjects.
//!
//! ```text
//!   QueueSubject    one thread, the workload says what time it is      W1, W1b, W2, W3, W4, W8
//!   EngineSubject   any threads, the real clock                        W5, W6, W7
//!   a preset        both: see `presets`
//! ```
//!
//! Every subject holds a payload of 8 bytes and gives a key back that cancels. [`all`] is the one table: a
//! new queue of ours is a line in [`queues`], a rival a file and a line here.
//!
//! Cost: the workloads are generic over their subject, so that a call is a call, and not one through a
//! pointer.
//!
//! It does not measure: see [`workload`].

pub mod async_io_timer;
pub mod btree;
pub mod delay_queue;
pub mod engines;
pub mod floor;
pub mod fronts;
pub mod futures_delay;
pub mod go;
pub mod hash_wheel;
pub mod hash_wheel_thread;
pub mod heap_lazy;
pub mod heap_positions;
pub mod locked;
pub mod nexus;
pub mod pingora;
pub mod presets;
pub mod queues;
pub mod sink;
pub mod slab;
pub mod slab_wheel;
pub mod tokio_interval;
pub mod tokio_runtime;
pub mod tokio_sleep;
pub mod waking;

use std::sync::Arc;
use std::time::{Duration, Instant};

use mainspring_queue::TimerQueue;

use crate::case::{Case, Failure, Measured, Workload};
use crate::workload;

/// A structure on one thread, by virtual time: ticks of 1 ms from 0.
pub trait QueueSubject {
    /// What cancels and resets a timer.
    type Key;

    /// How much of a key is the id alone. Memory is counted without it: it is the program's.
    const KEY_BYTES: u64 = size_of::<Self::Key>() as u64;

    /// Adds a timer.
    ///
    /// # Errors
    /// The structure cannot hold that deadline.
    fn schedule(&mut self, deadline: u64, payload: u64) -> Result<Self::Key, Failure>;

    /// Removes a timer. Tells whether it was pending.
    fn cancel(&mut self, key: Self::Key) -> bool;

    /// Moves a pending timer, and gives its key from now on.
    ///
    /// # Errors
    /// The structure cannot hold that deadline.
    fn reset(&mut self, key: Self::Key, deadline: u64) -> Result<Self::Key, Failure>;

    /// Moves time to `now` and hands out what is due.
    fn advance(&mut self, now: u64, due: &mut Due);

    /// Moves time to the next wakeup and hands out what is due there, if anything. `None`: no timer is
    /// pending.
    fn step(&mut self, due: &mut Due) -> Option<Step>;

    /// Lets go of the key of a timer that fired. Most need not be told.
    fn release(&mut self, key: Self::Key) {
        drop(key);
    }

    /// How many timers are pending.
    fn pending_count(&self) -> u64;

    /// How long handing over between the workload's thread and the subject's own took since this was last
    /// asked, in ns: time that only the lab needs, to be taken off.
    fn take_handover_ns(&mut self) -> f64 {
        0.0
    }

    /// How many ticks, less one, a timer may be late.
    fn granularity(&self) -> u64 {
        1
    }
}

/// One step of a program that sleeps until the next wakeup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Where time stands after it.
    pub now: u64,
    /// How often the program woke.
    pub wakeup_count: u64,
}

/// What takes fired timers: counts them, and sums their payloads so that no reading of one can be left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Due {
    /// How many timers fired.
    pub count: u64,
    /// The sum of their payloads, wrapping.
    pub payload_sum: u64,
    /// The largest payload. Where payloads are deadlines, one above now fired early.
    pub payload_max: u64,
    /// Timers whose payload the subject does not hand out on firing.
    pub silent_count: u64,
}

impl Due {
    /// Takes a timer.
    #[inline]
    pub fn fire(&mut self, payload: u64) {
        self.count += 1;
        self.payload_sum = self.payload_sum.wrapping_add(payload);
        self.payload_max = self.payload_max.max(payload);
    }

    /// Takes timers of which only the number is known.
    #[inline]
    pub fn fire_silently(&mut self, count: u64) {
        self.count += count;
        self.silent_count += count;
    }
}

/// Timers for any thread, by the real clock. What fires goes to the [`Sink`](sink::Sink) that the subject was
/// made with.
pub trait EngineSubject: Send + Sync + 'static {
    /// What cancels a timer, from any thread.
    type Key: Send + 'static;

    /// What a thread needs to take part.
    type Local;

    /// Whether a cancel tells for certain that the timer will not fire. If not, the check allows for timers
    /// that were counted twice.
    const CANCEL_TELLS: bool;

    /// Lets the calling thread, the `number`th, take part.
    fn enter(&self, number: u64) -> Self::Local;

    /// Adds a timer.
    ///
    /// # Errors
    /// The engine does not take it.
    fn schedule(&self, local: &mut Self::Local, delay: Duration, payload: u64) -> Result<Self::Key, Failure>;

    /// Removes a timer. Tells whether it was pending.
    fn cancel(&self, local: &mut Self::Local, key: Self::Key) -> bool;

    /// Waits until what the calling thread asked for has been done, where calls are only messages: an answer
    /// that nobody waits for is no work done.
    fn flush(&self, local: &mut Self::Local) {
        let _ = local;
    }

    /// Adds a timer that nobody will cancel, as a program would that only waits for it.
    ///
    /// # Errors
    /// The engine does not take it, or cannot fire by the real clock.
    fn launch(&self, local: &mut Self::Local, at: Instant, payload: u64) -> Result<(), Failure>;
}

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

/// What a subject can be asked for at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Face {
    /// By virtual time, on one thread.
    Structure,
    /// By the real clock.
    Engine,
    /// It says so when it is asked.
    Any,
}

/// Why a structure is not asked for what needs a clock.
pub const STRUCTURE_ALONE: &str = "a structure alone: it has no clock and no threads";

/// Why an engine is not asked for what its structure does.
pub const ENGINE_ALONE: &str = "an engine: its structure is measured by itself";

/// The function that measures one subject.
type Measure = Box<dyn Fn(&Case) -> Measured>;

/// The function that makes an empty queue of ours.
type MakeQueue = Box<dyn Fn() -> Box<dyn TimerQueue<u64>>>;

/// One subject.
pub struct Subject {
    /// Its name, as on the command line and in tables.
    pub name: &'static str,
    /// Where it comes from.
    pub kind: Kind,
    /// What it is, in a sentence.
    pub about: &'static str,
    face: Face,
    measure: Measure,
    queue: Option<MakeQueue>,
}

impl Subject {
    /// Makes a subject of a function that measures any case, or says why not.
    pub fn new(
        name: &'static str,
        kind: Kind,
        about: &'static str,
        measure: impl Fn(&Case) -> Measured + 'static,
    ) -> Subject {
        Subject { name, kind, about, face: Face::Any, measure: Box::new(measure), queue: None }
    }

    /// Makes a subject of a structure on one thread.
    pub fn queue<S: QueueSubject>(
        name: &'static str,
        kind: Kind,
        about: &'static str,
        make: impl Fn(&Case) -> S + 'static,
    ) -> Subject {
        let measure = move |case: &Case| workload::measure_queue(case, || make(case));
        Subject { face: Face::Structure, ..Subject::new(name, kind, about, measure) }
    }

    /// Makes a subject of an engine.
    pub fn engine<S: EngineSubject>(
        name: &'static str,
        kind: Kind,
        about: &'static str,
        make: impl Fn(Arc<sink::Sink>) -> Result<S, Failure> + 'static,
    ) -> Subject {
        let measure = move |case: &Case| workload::measure_engine(case, &make);
        Subject { face: Face::Engine, ..Subject::new(name, kind, about, measure) }
    }

    /// Why it cannot do a workload at all, if that is known without trying.
    pub fn unable(&self, workload: Workload) -> Option<&'static str> {
        match (self.face, workload.is_real_time()) {
            (Face::Structure, true) => Some(STRUCTURE_ALONE),
            (Face::Engine, false) => Some(ENGINE_ALONE),
            _ => None,
        }
    }

    /// Measures, in this process, now.
    ///
    /// # Errors
    /// The subject cannot do the workload, or its answers were wrong.
    pub fn measure(&self, case: &Case) -> Measured {
        (self.measure)(case)
    }

    /// Makes an empty queue, if the subject is one of our own.
    pub fn make_queue(&self) -> Option<Box<dyn TimerQueue<u64>>> {
        self.queue.as_ref().map(|make| make())
    }
}

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
    subjects.extend(engines::subjects());
    subjects.extend(fronts::subjects());
    subjects.extend(presets::subjects());
    subjects.extend(locked::subjects());
    subjects.extend(tokio_runtime::subjects());
    subjects.extend([
        tokio_interval::subject(),
        pingora::subject(),
        async_io_timer::subject(),
        futures_delay::subject(),
        hash_wheel_thread::subject(),
        go::subject(),
    ]);
    subjects
}

/// The subject of that name.
pub fn named(name: &str) -> Option<Subject> {
    all().into_iter().find(|subject| subject.name.eq_ignore_ascii_case(name))
}
