//! hierarchical_hash_wheel_timer's thread: every call is a message to it.
//!
//! Cost: that of the crate: a channel per call, and a table of ids in the thread.
//!
//! It does not answer: a cancel is sent and nothing is heard.
//!
//! Source: <https://docs.rs/hierarchical_hash_wheel_timer>, `thread_timer`.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::time::{Duration, Instant};

use hierarchical_hash_wheel_timer::thread_timer::{TimerRef, TimerWithThread};
use hierarchical_hash_wheel_timer::{OneshotState, PeriodicState, Timer, TimerReturn};

use crate::api::EngineSubject;
use crate::case::Failure;
use crate::recorder::{Recorder, UNTIMED};
use crate::stopwatch;
use crate::subject::{Kind, Subject};

/// The subject.
pub fn subject() -> Subject {
    let about = "the crate hierarchical_hash_wheel_timer 1.4: its thread";
    Subject::engine("hash-wheel-thread", Kind::Library, about, |recorder| {
        let timer = TimerWithThread::new()
            .map_err(|error| Failure::Wrong(format!("its thread did not start: {error}")))?;
        // Dropped, it would panic in its thread; the process, which measures one case, ends it.
        Ok(HashWheelThread { timer: Box::leak(Box::new(timer)), recorder })
    })
}

/// A timer's state: its id and what it fires.
struct Shot {
    id: u64,
    what: TimerAction,
}

enum TimerAction {
    Payload(u64, Arc<Recorder>),
    /// Somebody waits until all messages before this one have been read.
    Flushed(Sender<()>),
}

impl fmt::Debug for Shot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "shot {}", self.id)
    }
}

impl OneshotState for Shot {
    type Id = u64;

    fn id(&self) -> &u64 {
        &self.id
    }

    fn trigger(self) {
        match self.what {
            TimerAction::Payload(payload, recorder) => recorder.fired(payload),
            // Who does not wait any more need not be told.
            TimerAction::Flushed(waiting) => drop(waiting.send(())),
        }
    }
}

/// No timer of the lab repeats.
#[derive(Debug)]
struct Never(u64);

impl PeriodicState for Never {
    type Id = u64;

    fn id(&self) -> &u64 {
        &self.0
    }

    fn trigger(self) -> TimerReturn<Never> {
        TimerReturn::Cancel
    }
}

struct HashWheelThread {
    timer: &'static TimerWithThread<u64, Shot, Never>,
    recorder: Arc<Recorder>,
}

/// A thread's reference and its next id.
struct Local {
    timer: TimerRef<u64, Shot, Never>,
    next_id: u64,
}

impl Local {
    fn send(&mut self, delay: Duration, what: TimerAction) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.timer.schedule_once(delay, Shot { id, what });
        id
    }
}

impl EngineSubject for HashWheelThread {
    type Key = u64;
    type Local = Local;

    const CANCEL_TELLS: bool = false;

    fn enter(&self, number: u64) -> Local {
        Local { timer: self.timer.timer_ref(), next_id: number << 40 }
    }

    fn schedule(&self, local: &mut Local, delay: Duration, payload: u64) -> Result<u64, Failure> {
        Ok(local.send(delay, TimerAction::Payload(payload, Arc::clone(&self.recorder))))
    }

    fn cancel(&self, local: &mut Local, key: u64) -> bool {
        local.timer.cancel(&key);
        true
    }

    fn flush(&self, local: &mut Local) {
        let (sender, receiver) = mpsc::channel();
        local.send(Duration::from_millis(1), TimerAction::Flushed(sender));
        // An error: the thread has ended, and nothing is left to wait for.
        let _ = receiver.recv();
    }

    fn reset(&self, local: &mut Local, key: u64, delay: Duration) -> Result<u64, Failure> {
        // It cannot be moved: the id is cancelled, and another is scheduled.
        local.timer.cancel(&key);
        self.schedule(local, delay, UNTIMED)
    }

    fn launch(&self, local: &mut Local, at: Instant, payload: u64) -> Result<(), Failure> {
        let delay = at.saturating_duration_since(stopwatch::instant());
        self.schedule(local, delay, payload).map(drop)
    }
}
