//! Our fronts, as a program calls them: callbacks, futures, channels.
//!
//! ```text
//!   wheel::Chunked     the queue alone                                              queues.rs
//!   engine-default     Handle<u64>: a clock read, a lock, the queue                 engines.rs
//!   preset::mainspring Handle<Task>: and a boxed closure                            presets.rs
//!   front::callbacks   Callbacks::after, Timer::cancel: what a program writes       here
//!   front::futures     Futures::sleep, polled once, dropped
//!   front::channels    Channels::timer, Timer::stop, dropped
//! ```
//!
//! Each runs on the default engine, so that the difference between two rows is what that floor of the house
//! costs. A sleep is boxed, as those of other libraries are here.
//!
//! Cost: that of the front.
//!
//! It does not know what a front does inside. A channel's timer fires into its channel, where no thread
//! receives: stopping it takes the value back, so that each stop tells that it prevented something.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mainspring::Engine;
use mainspring::front::{Callbacks, Channels, Futures, Task, callback, channel};
use mainspring::preset;

use super::waking;
use crate::api::EngineSubject;
use crate::case::Failure;
use crate::recorder::Recorder;
use crate::stopwatch::until;
use crate::subject::{Kind, Subject};

/// Closures, which the goals of the APIs are set for.
pub const CALLBACKS: &str = "front::callbacks";

/// Futures that end when their time has come.
pub const FUTURES: &str = "front::futures";

/// Go's timers.
pub const CHANNELS: &str = "front::channels";

/// The subjects.
pub fn subjects() -> [Subject; 3] {
    [
        Subject::engine(CALLBACKS, Kind::Ours, "Callbacks::after and Timer::cancel", |recorder| {
            let engine = engine()?;
            // It lives as long as the process, which measures one case: closures that count references to it
            // would meet there.
            let recorder = Box::leak(Box::new(recorder));
            Ok(ByCallbacks { callbacks: engine.callbacks(), _engine: engine, recorder })
        }),
        Subject::engine(FUTURES, Kind::Ours, "Futures::sleep, boxed, polled once and dropped", |recorder| {
            let engine = engine()?;
            let futures = Futures::new(engine.handle().clone());
            let after = move |delay| futures.sleep(delay);
            // The engine lives as long as the subject: it is in this closure.
            let at = move |instant| engine.futures().sleep(until(instant));
            Ok(waking::futures(recorder, after, at, |key, delay, _| key.reset(delay)))
        }),
        Subject::engine(CHANNELS, Kind::Ours, "Channels::timer and Timer::stop, as Go's", |recorder| {
            let engine = engine()?;
            let (channels, launched) = (Channels::new(engine.handle().clone()), Mutex::default());
            Ok(ByChannels { channels, engine, recorder, launched })
        }),
    ]
}

fn engine() -> Result<Engine<Task>, Failure> {
    preset::mainspring().map_err(|error| Failure::Wrong(format!("the engine did not start: {error}")))
}

fn unable(refusal: impl std::error::Error) -> Failure {
    Failure::Unable(refusal.to_string())
}

fn lost() -> Failure {
    Failure::Wrong("a timer that was to be moved is gone".to_owned())
}

struct ByCallbacks {
    callbacks: Callbacks,
    _engine: Engine<Task>,
    recorder: &'static Recorder,
}

impl EngineSubject for ByCallbacks {
    type Key = callback::Timer;

    #[inline]
    fn schedule(&self, delay: Duration, payload: u64) -> Result<callback::Timer, Failure> {
        let recorder = self.recorder;
        self.callbacks.after(delay, move |_| recorder.fired(payload)).map_err(unable)
    }

    #[inline]
    fn cancel(&self, key: callback::Timer) -> bool {
        key.cancel()
    }

    fn reset(&self, key: callback::Timer, delay: Duration) -> Result<callback::Timer, Failure> {
        if key.reset(delay) { Ok(key) } else { Err(lost()) }
    }
}

struct ByChannels {
    channels: Channels,
    engine: Engine<Task>,
    recorder: Arc<Recorder>,
    /// Timers that are never stopped: dropping one would.
    launched: Mutex<Vec<channel::ChannelTimer>>,
}

impl EngineSubject for ByChannels {
    type Key = channel::ChannelTimer;

    fn forgets_launched(&self) -> bool {
        false
    }

    #[inline]
    fn schedule(&self, delay: Duration, _: u64) -> Result<channel::ChannelTimer, Failure> {
        self.channels.timer(delay).map_err(unable)
    }

    #[inline]
    fn cancel(&self, key: channel::ChannelTimer) -> bool {
        key.stop()
    }

    fn reset(&self, key: channel::ChannelTimer, delay: Duration) -> Result<channel::ChannelTimer, Failure> {
        match key.reset(delay) {
            Ok(true) => Ok(key),
            Ok(false) => Err(lost()),
            Err(refusal) => Err(unable(refusal)),
        }
    }

    fn launch(&self, at: Instant, payload: u64) -> Result<(), Failure> {
        let recorder = Arc::clone(&self.recorder);
        let timer = self.channels.after_func(until(at), move |_| recorder.fired(payload)).map_err(unable)?;
        self.launched.lock().unwrap_or_else(PoisonError::into_inner).push(timer);
        Ok(())
    }

    /// What is sent on a channel tells no recorder.
    fn fired_count(&self, _: &Recorder) -> u64 {
        self.engine.counts().fired
    }
}
