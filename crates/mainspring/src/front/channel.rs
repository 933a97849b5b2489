//! Timers that send on channels: Go's API, with the traps taken out.
//!
//! ```
//! use std::time::Duration;
//! use mainspring::crossbeam_channel::{select, unbounded};
//!
//! let engine = mainspring::Engine::new()?;
//! let channels = engine.channels();
//! let (_answers, answer) = unbounded::<u32>();
//! select! {
//!     recv(answer) -> _ => unreachable!("no answer comes"),
//!     recv(channels.after(Duration::from_millis(5))?) -> _ => println!("gave up waiting"),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | Go | here |
//! |---|---|
//! | `time.NewTimer(d)`, `t.C`, `t.Stop()`, `t.Reset(d)` | [`Channels::timer`], [`ChannelTimer::receiver`], [`ChannelTimer::stop`], [`ChannelTimer::reset`] |
//! | `time.NewTicker(p)`, `t.C`, `t.Stop()`, `t.Reset(p)` | [`Channels::ticker`], [`Ticker::receiver`], [`Ticker::stop`], [`Ticker::reset`] |
//! | `time.After(d)`, `time.Tick(p)` | [`Channels::after`], [`Channels::tick`] |
//! | `time.AfterFunc(d, f)` | [`Channels::after_func`] |
//!
//! The semantics are those that the documentation of Go's `time` promises since 1.23: `stop` and `reset` tell
//! whether they found the timer pending, a value that is not received counts as pending and is taken
//! back, and after either of them no stale value is received. A ticker drops ticks for a slow receiver. A
//! delay that is negative or zero is over at once: its value can be received when the call returns. One
//! beyond the clock's range is never over.
//!
//! If the driver is shut down while a timer is pending, its channel is disconnected when what `shutdown`
//! returned is dropped: no receiver waits for ever.
//!
//! What bites users of Go, here: a timer in a loop is not leaked, because what [`after`](Channels::after) and
//! [`tick`](Channels::tick) return cancels itself when it is dropped; a reader that blocks on a stopped timer
//! is told when the timer is dropped, because its channel is disconnected then; a period of zero is an error
//! and not a panic.
//!
//! Each channel holds one value, as Go's do. Sending happens on the driver's thread and never blocks it.
//!
//! Cost: an allocation per timer, and a channel, a kilobyte, when its receiver is first asked for. `stop` and
//! `reset` take the timer's own lock and the driver's.
//!
//! It does not close a channel when a timer fires or is stopped: Go does not, and `select!` would spin.
//!
//! Source: the documentation of Go's package `time` (1.23).

mod inner;
mod outlet;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Receiver;
use mainspring_queue::Tick;

use super::period::Series;
use super::task::{Firing, Task};
use crate::driver::Refusal;
use crate::handle::{Handle, Local};
use crate::sync::{Mutex, lock};
use inner::{Function, Inner};

/// Makes timers that send on channels.
///
/// ```
/// use std::time::Duration;
/// use mainspring::Simulation;
///
/// let simulation = Simulation::new();
/// let engine = simulation.engine();
/// let channels = engine.channels();
/// let timer = channels.after(Duration::from_secs(1))?;
/// let ticks = channels.tick(Duration::from_secs(1))?;
/// simulation.advance(Duration::from_secs(1));
/// assert!(timer.try_recv().is_ok() && ticks.try_recv().is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Channels {
    handle: Handle<Task>,
}

/// How long to wait: a [`Duration`], or a number of nanoseconds of which a negative one means at once, as in
/// Go.
///
/// ```
/// use mainspring::front::Delay;
/// use std::time::Duration;
///
/// assert_eq!(Delay::from_nanos(-5), Delay::from(Duration::ZERO), "as in Go");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay(Duration);

impl Delay {
    /// Makes a delay of so many nanoseconds; none if that is negative.
    pub const fn from_nanos(nanoseconds: i64) -> Delay {
        Delay(Duration::from_nanos(if nanoseconds < 0 { 0 } else { nanoseconds as u64 }))
    }
}

impl From<Duration> for Delay {
    fn from(duration: Duration) -> Delay {
        Delay(duration)
    }
}

/// A timer that fires once: see [`Channels::timer`] and [`Channels::after_func`]. Dropping it stops it and
/// disconnects its channel.
///
/// ```
/// use std::time::Duration;
/// use mainspring::Simulation;
///
/// let simulation = Simulation::new();
/// let engine = simulation.engine();
/// let timer = engine.channels().timer(Duration::from_secs(1))?;
/// simulation.advance(Duration::from_secs(1));
/// assert!(timer.reset(Duration::from_secs(1))?, "what was not received is taken back");
/// assert!(timer.receiver().try_recv().is_err());
/// simulation.advance(Duration::from_secs(1));
/// assert_eq!(timer.receiver().recv()?.deadline.get(), 2_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "it is stopped when it is dropped"]
pub struct ChannelTimer {
    inner: Arc<Inner>,
}

/// A timer that fires once a period: see [`Channels::ticker`]. Dropping it stops it and disconnects its
/// channel.
///
/// ```
/// use std::time::Duration;
///
/// let ticker = mainspring::global()?.channels().ticker(Duration::from_millis(1))?;
/// for (tick, number) in (&ticker).into_iter().zip(1..=3) {
///     println!("tick {number}, due at {}", tick.deadline);
/// }
/// ticker.stop();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "it is stopped when it is dropped"]
pub struct Ticker {
    inner: Arc<Inner>,
}

/// The channel of a timer that need not be stopped: see [`Channels::after`] and [`Channels::tick`]. Dropping
/// it, and all its clones, cancels the timer.
///
/// ```
/// use std::time::Duration;
/// use mainspring::crossbeam_channel::select;
///
/// let channels = mainspring::global()?.channels();
/// select! {
///     recv(channels.after(Duration::from_millis(1))?) -> firing => println!("{:?}", firing?.now),
///     recv(channels.after(Duration::from_secs(60))?) -> _ => unreachable!("the other is first"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "the timer is cancelled when this is dropped"]
pub struct Firings {
    inner: Arc<Inner>,
}

impl Channels {
    /// Makes the front of a driver that runs tasks.
    pub fn new(handle: Handle<Task>) -> Channels {
        Channels { handle }
    }

    /// Makes a timer that sends once, `delay` from now and not earlier.
    ///
    /// # Errors
    /// The driver was shut down, or its queue rejects the deadline.
    pub fn timer(&self, delay: impl Into<Delay>) -> Result<ChannelTimer, Refusal> {
        Ok(ChannelTimer { inner: self.begin(delay.into(), None)? })
    }

    /// Makes a timer that sends once, anywhere from `delay` to `delay + tolerance` from now: see
    /// [`Handle::schedule_within`].
    ///
    /// # Errors
    /// As [`timer`](Self::timer).
    pub fn timer_within(&self, delay: Duration, tolerance: Duration) -> Result<ChannelTimer, Refusal> {
        let deadline = self.handle.tick_within(delay, tolerance);
        Ok(ChannelTimer { inner: begin(self.handle.local()?, deadline, None, None)? })
    }

    /// Makes a ticker that sends once a period, for the first time a period from now.
    ///
    /// A tick whose channel still holds the last one is dropped. Ticks that are over when the driver comes to
    /// them are skipped: see [`Callbacks::every`](super::Callbacks::every), which also says what becomes of a
    /// period that is no whole number of ticks. Once taken, it continues even if the driver's queue is full.
    ///
    /// # Errors
    /// The period is zero; or as [`timer`](Self::timer).
    pub fn ticker(&self, period: Duration) -> Result<Ticker, Refusal> {
        let part = self.handle.local()?;
        let series = Series::new(period, &*part)?;
        Ok(Ticker { inner: begin(part, series.due(), Some(series), None)? })
    }

    /// Returns a channel that receives once, `delay` from now and not earlier.
    ///
    /// # Errors
    /// As [`timer`](Self::timer).
    pub fn after(&self, delay: impl Into<Delay>) -> Result<Firings, Refusal> {
        Ok(Firings { inner: self.begin(delay.into(), None)? })
    }

    /// Returns a channel that receives once a period.
    ///
    /// # Errors
    /// As [`ticker`](Self::ticker).
    pub fn tick(&self, period: Duration) -> Result<Firings, Refusal> {
        Ok(Firings { inner: Arc::clone(&self.ticker(period)?.inner) })
    }

    /// Calls `function` on the driver's thread, `delay` from now and not earlier.
    /// [`reset`](ChannelTimer::reset) makes it be called again; a call that is due while the last one runs
    /// waits for its end, and can be stopped until then. Its [receiver](ChannelTimer::receiver) never
    /// receives.
    ///
    /// # Errors
    /// As [`timer`](Self::timer).
    pub fn after_func(
        &self,
        delay: impl Into<Delay>,
        function: impl FnMut(Firing) + Send + 'static,
    ) -> Result<ChannelTimer, Refusal> {
        let function: Function = Arc::new(Mutex::new(function));
        Ok(ChannelTimer { inner: self.begin(delay.into(), Some(function))? })
    }

    fn begin(&self, delay: Delay, function: Option<Function>) -> Result<Arc<Inner>, Refusal> {
        begin(self.handle.local()?, self.handle.clock().after(delay.0), None, function)
    }
}

fn begin(
    part: Local<Task>,
    deadline: Tick,
    series: Option<Series>,
    function: Option<Function>,
) -> Result<Arc<Inner>, Refusal> {
    let inner = Arc::new(Inner::new(part, series, function));
    let begun = inner.begin(&mut lock(&inner.state), deadline);
    begun.map_err(|refused| refused.reason)?;
    Ok(inner)
}

impl ChannelTimer {
    /// The channel that receives the firing. Clone it for `select!` elsewhere; it is disconnected when the
    /// timer is dropped.
    pub fn receiver(&self) -> &Receiver<Firing> {
        self.inner.receiver()
    }

    /// Stops the timer; tells whether it was pending, which a firing that was not received still is.
    /// Afterwards nothing is received until a reset.
    pub fn stop(&self) -> bool {
        self.inner.stop()
    }

    /// Makes the timer fire `delay` from now, whether it was pending or not; tells whether it was. What was
    /// sent before and not received is taken back.
    ///
    /// # Errors
    /// The driver was shut down, or its queue rejects the deadline; the timer is stopped then.
    pub fn reset(&self, delay: impl Into<Delay>) -> Result<bool, Refusal> {
        self.inner.restart(|_| (), self.inner.part.clock().after(delay.into().0))
    }
}

impl Ticker {
    /// The channel that receives the ticks. It is disconnected when the ticker is dropped.
    pub fn receiver(&self) -> &Receiver<Firing> {
        self.inner.receiver()
    }

    /// Stops the ticks; a tick that was not received is taken back. The channel stays connected, as Go's
    /// stays open.
    pub fn stop(&self) {
        self.inner.stop();
    }

    /// Stops the ticks and begins again with another period, the first tick a period from now.
    ///
    /// # Errors
    /// The period is zero, and nothing changed; or the driver would not take the timer, and the ticker is
    /// stopped.
    pub fn reset(&self, period: Duration) -> Result<(), Refusal> {
        let series = Series::new(period, &*self.inner.part)?;
        self.inner.restart(|state| state.series = Some(series), series.due()).map(|_| ())
    }
}

impl Firings {
    /// The channel, for `select!`. A clone of it does not keep the timer alive.
    pub fn receiver(&self) -> &Receiver<Firing> {
        self.inner.receiver()
    }
}

/// `for firing in &ticker` waits for each tick.
impl<'a> IntoIterator for &'a Ticker {
    type Item = Firing;
    type IntoIter = crossbeam_channel::Iter<'a, Firing>;

    fn into_iter(self) -> Self::IntoIter {
        self.inner.receiver().iter()
    }
}

/// `for firing in &channels.tick(period)?` waits for each tick.
impl<'a> IntoIterator for &'a Firings {
    type Item = Firing;
    type IntoIter = crossbeam_channel::Iter<'a, Firing>;

    fn into_iter(self) -> Self::IntoIter {
        self.inner.receiver().iter()
    }
}

impl Deref for Firings {
    type Target = Receiver<Firing>;

    fn deref(&self) -> &Receiver<Firing> {
        self.inner.receiver()
    }
}
