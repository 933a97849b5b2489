//! A preset by the real clock: W5, W6, W7 and W7b.
//!
//! Cost: that of the engine, and a boxed closure per timer, on whichever thread schedules it. It does not
//! touch the preset's clock: precision is what the preset has.

use std::sync::Arc;
use std::time::Duration;

use mainspring::driver::TimerId;
use mainspring::front::Task;
use mainspring::{Engine, Handle};

use crate::api::EngineSubject;
use crate::case::Failure;
use crate::recorder::Recorder;

/// A running preset.
pub struct Live {
    handle: Handle<Task>,
    _engine: Engine<Task>,
    recorder: &'static Recorder,
}

impl Live {
    /// Makes the subject of an engine, whose timers tell the recorder.
    pub fn new(engine: Engine<Task>, recorder: Arc<Recorder>) -> Live {
        // It lives as long as the process, which measures one case: threads that count references to it would
        // meet there.
        Live { handle: engine.handle().clone(), _engine: engine, recorder: Box::leak(Box::new(recorder)) }
    }

    #[inline]
    fn task(&self, payload: u64) -> Task {
        let recorder = self.recorder;
        Task::new(move |_| recorder.fired(payload))
    }
}

impl EngineSubject for Live {
    type Key = TimerId;

    #[inline]
    fn schedule(&self, delay: Duration, payload: u64) -> Result<TimerId, Failure> {
        let scheduled = self.handle.schedule_after(delay, self.task(payload));
        scheduled.map_err(|refused| Failure::Unable(refused.reason.to_string()))
    }

    #[inline]
    fn cancel(&self, key: TimerId) -> bool {
        self.handle.cancel(key).is_some()
    }

    fn reset(&self, key: TimerId, delay: Duration) -> Result<TimerId, Failure> {
        match self.handle.reset_after(key, delay) {
            Ok(()) => Ok(key),
            Err(error) => Err(Failure::Wrong(error.to_string())),
        }
    }
}
