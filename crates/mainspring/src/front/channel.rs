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
//! The semantics are those that the documentation of Go's `time` promises since 1.23: `stop` and `reset` tell whether they
//! found the timer pending, a value that nobody has received counts as pending and is taken back, and after either of them
//! no stale value is received. A ticker drops ticks for a slow receiver. A delay that is negative or zero is over at once:
//! its value can be received when the call returns. One beyond the clock's range is never over.
//!
//! If the driver is shut down while a timer is pending, its channel is disconnected when what `shutdown` returned is dropped:
//! nobody waits for ever.
//!
//! What bites users of Go, here: a timer in a loop is not leaked, because what [`after`](Channels::after) and
//! [`tick`](Channels::tick) return cancels itself when it is dropped; a reader that blocks on a stopped timer is told when
//! the timer is dropped, because its channel is disconnected then; a period of zero is an error and not a panic.
//!
//! Each channel holds one value, as Go's do. Sending happens on the driver's thread and never blocks it.
//!
//! Cost: two allocations and a channel per timer. `stop` and `reset` take the timer's own lock and the driver's.
//!
//! It does not close a channel when a timer fires or is stopped: Go does not, and `select!` would spin.
//!
//! Source: the documentation of Go's package `time` (1.23).

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use mainspring_queue::Tick;

use super::period::{Add, Period, PeriodError};
use super::task::{Firing, Task, run_then};
use crate::driver::{Refusal, Refused, TimerId};
use crate::handle::{Handle, Local};
use crate::sync::{Mutex, MutexGuard, PoisonError};

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

/// How long to wait: a [`Duration`], or a number of nanoseconds of which a negative one means at once, as in Go.
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

/// A closure that a timer calls, perhaps again.
type Function = Arc<Mutex<dyn FnMut(Firing) + Send>>;

/// One timer of this front. Whoever holds it keeps the channel connected.
struct Inner {
    part: Local<Task>,
    /// Called when the time has come; without it the firing is sent.
    function: Option<Function>,
    /// For taking back what was sent and not received.
    receiver: Receiver<Firing>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Grows with each stop and reset, so that a firing that is under way knows that it came too late.
    generation: u64,
    pending: Option<Pending>,
    /// `None` once the driver has been shut down: the channel is disconnected then.
    sender: Option<Sender<Firing>>,
    /// Whether the function runs.
    is_calling: bool,
    /// `None` for what fires once.
    period: Option<Period>,
}

/// What has still to come of a timer.
#[derive(Clone, Copy, Debug)]
enum Pending {
    /// It is in the driver, or on its way from there.
    Scheduled(TimerId),
    /// It was due at this tick, and waits for the end of the function's last call.
    Waiting(Tick),
}

/// A firing to come, in the driver. If it is dropped there, the driver has ended.
struct Shot {
    inner: Weak<Inner>,
    generation: u64,
}

impl Shot {
    fn fire(mut self, firing: Firing) {
        if let Some(inner) = std::mem::take(&mut self.inner).upgrade() {
            inner.fire(self.generation, firing);
        }
    }
}

impl Drop for Shot {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.upgrade() {
            inner.end(self.generation);
        }
    }
}

/// A timer that fires once: see [`Channels::timer`] and [`Channels::after_func`]. Dropping it stops it and disconnects its
/// channel.
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

/// A timer that fires once a period: see [`Channels::ticker`]. Dropping it stops it and disconnects its channel.
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

/// The channel of a timer that nobody needs to stop: see [`Channels::after`] and [`Channels::tick`]. Dropping it, and
/// all its clones, cancels the timer.
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
        Ok(ChannelTimer { inner: self.begin(delay.into(), None, None)? })
    }

    /// Makes a timer that sends once, anywhere from `delay` to `delay + tolerance` from now: see
    /// [`Handle::schedule_within`].
    ///
    /// # Errors
    /// As [`timer`](Self::timer).
    pub fn timer_within(&self, delay: Duration, tolerance: Duration) -> Result<ChannelTimer, Refusal> {
        let deadline = self.handle.tick_within(delay, tolerance);
        Ok(ChannelTimer { inner: self.begin_at(deadline, None, None)? })
    }

    /// Makes a ticker that sends once a period, for the first time a period from now.
    ///
    /// A tick whose channel still holds the last one is dropped. Ticks that are over when the driver comes to them are
    /// skipped: the next is due at the first multiple of the period, from the ticker's start, that lies ahead. Once taken, it goes
    /// on even if the driver's queue is full.
    ///
    /// # Errors
    /// The period is zero; or as [`timer`](Self::timer).
    pub fn ticker(&self, period: Duration) -> Result<Ticker, PeriodError> {
        let repeat = Period::new(period, self.handle.clock().resolution())?;
        let inner = self.begin(period.into(), Some(repeat), None).map_err(PeriodError::Refused)?;
        Ok(Ticker { inner })
    }

    /// Returns a channel that receives once, `delay` from now and not earlier.
    ///
    /// # Errors
    /// As [`timer`](Self::timer).
    pub fn after(&self, delay: impl Into<Delay>) -> Result<Firings, Refusal> {
        Ok(Firings { inner: self.begin(delay.into(), None, None)? })
    }

    /// Returns a channel that receives once a period.
    ///
    /// # Errors
    /// As [`ticker`](Self::ticker).
    pub fn tick(&self, period: Duration) -> Result<Firings, PeriodError> {
        Ok(Firings { inner: Arc::clone(&self.ticker(period)?.inner) })
    }

    /// Calls `function` on the driver's thread, `delay` from now and not earlier. [`reset`](ChannelTimer::reset) makes it be called
    /// again; a call that is due while the last one runs waits for its end, and can be stopped until then. Its
    /// [receiver](ChannelTimer::receiver) never receives.
    ///
    /// # Errors
    /// As [`timer`](Self::timer).
    pub fn after_func(
        &self,
        delay: impl Into<Delay>,
        function: impl FnMut(Firing) + Send + 'static,
    ) -> Result<ChannelTimer, Refusal> {
        let function: Function = Arc::new(Mutex::new(function));
        Ok(ChannelTimer { inner: self.begin(delay.into(), None, Some(function))? })
    }

    fn begin(
        &self,
        delay: Delay,
        period: Option<Period>,
        function: Option<Function>,
    ) -> Result<Arc<Inner>, Refusal> {
        self.begin_at(self.handle.clock().after(delay.0), period, function)
    }

    fn begin_at(
        &self,
        deadline: Tick,
        period: Option<Period>,
        function: Option<Function>,
    ) -> Result<Arc<Inner>, Refusal> {
        let (sender, receiver) = bounded(1);
        let inner = Arc::new(Inner {
            part: self.handle.local()?,
            function,
            receiver,
            state: Mutex::new(State {
                generation: 0,
                pending: None,
                sender: Some(sender),
                is_calling: false,
                period,
            }),
        });
        let begun = inner.begin(&mut inner.state(), deadline);
        begun.map_err(|refused| refused.reason)?;
        Ok(inner)
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A function that panicked is called again all the same; the state is never left half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Begins what the program asks for. A value whose time has come need not wait for the driver's thread.
    fn begin(self: &Arc<Self>, state: &mut State, deadline: Tick) -> Result<(), Refused<Task>> {
        let now = self.part.clock().now();
        match &state.sender {
            Some(sender) if deadline <= now && self.function.is_none() && state.period.is_none() => {
                sender.try_send(Firing { deadline, now }).unwrap_or_default();
                Ok(())
            }
            _ => self.arm(state, deadline, Local::schedule),
        }
    }

    /// Schedules the next firing. The state's lock is held: the driver's is taken inside it. What comes back must be dropped
    /// with the lock released, because its drop takes it.
    fn arm(self: &Arc<Self>, state: &mut State, deadline: Tick, add: Add) -> Result<(), Refused<Task>> {
        let shot = Shot { inner: Arc::downgrade(self), generation: state.generation };
        let task = match &self.function {
            Some(_) => Task::new(move |firing| shot.fire(firing)),
            None => Task::brief(move |firing| shot.fire(firing)),
        };
        match add(&self.part, deadline, task) {
            Ok(timer) => {
                state.pending = Some(Pending::Scheduled(timer));
                Ok(())
            }
            Err(refused) => {
                if refused.reason == Refusal::Stopped {
                    state.sender = None;
                }
                // Its drop finds another generation: only a driver that ends makes it the timer's end.
                state.generation += 1;
                Err(refused)
            }
        }
    }

    /// The driver dropped the firing of this generation: nothing will be sent any more.
    fn end(&self, generation: u64) {
        let mut state = self.state();
        if state.generation == generation {
            state.pending = None;
            state.sender = None;
        }
    }

    fn fire(self: &Arc<Self>, generation: u64, firing: Firing) {
        // Dropped after the lock is released, as it is declared before.
        let mut _refused = None;
        let mut state = self.state();
        if state.generation != generation {
            return;
        }
        state.pending = None;
        if let (Some(sender), None) = (&state.sender, &self.function) {
            // Under the lock, so that a stop that returns has either seen the value or prevented it. A full channel
            // drops the tick.
            sender.try_send(firing).unwrap_or_default();
        }
        if let Some(next) = state.period.and_then(|period| period.next(firing.deadline, firing.now)) {
            // A refusal means that the driver is shutting down: this was the last tick.
            _refused = self.arm(&mut state, next, Local::schedule_assured).err();
        }
        let Some(function) = &self.function else { return };
        if state.is_calling {
            // It was reset during the call. No second thread waits for the first.
            state.pending = Some(Pending::Waiting(firing.deadline));
            return;
        }
        state.is_calling = true;
        drop(state);
        run_then(|| lock(function)(firing), || self.end_call());
    }

    /// Schedules the call that has been waiting for the end of this one.
    fn end_call(self: &Arc<Self>) {
        // As in `fire`.
        let mut _refused = None;
        let mut state = self.state();
        state.is_calling = false;
        if let Some(Pending::Waiting(deadline)) =
            state.pending.take_if(|it| matches!(it, Pending::Waiting(_)))
        {
            // A refusal means that the driver is shutting down: there is no other call.
            _refused = self.arm(&mut state, deadline, Local::schedule_assured).err();
        }
    }

    /// Takes the timer out of the driver and its value out of the channel; tells whether there was either. A firing that is
    /// under way and has not come to the state's lock counts as pending: the new generation prevents it. The task must be
    /// dropped with the lock released, because its drop takes it.
    fn disarm(&self, state: &mut State) -> (bool, Option<Task>) {
        state.generation += 1;
        let pending = state.pending.take();
        let task = match pending {
            Some(Pending::Scheduled(id)) => self.part.cancel(id),
            _ => None,
        };
        let is_unreceived = self.receiver.try_recv().is_ok();
        (pending.is_some() || is_unreceived, task)
    }

    fn stop(&self) -> bool {
        let (was_pending, task) = self.disarm(&mut self.state());
        drop(task);
        was_pending
    }

    /// Stops it and begins anew.
    fn restart(self: &Arc<Self>, change: impl FnOnce(&mut State), deadline: Tick) -> Result<bool, Refusal> {
        let mut state = self.state();
        let (was_pending, task) = self.disarm(&mut state);
        change(&mut state);
        let begun = self.begin(&mut state, deadline);
        drop(state);
        drop(task);
        begun.map(|()| was_pending).map_err(|refused| refused.reason)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop();
    }
}

impl ChannelTimer {
    /// The channel that receives the firing. Clone it for `select!` elsewhere; it is disconnected when the timer is dropped.
    pub fn receiver(&self) -> &Receiver<Firing> {
        &self.inner.receiver
    }

    /// Stops the timer; tells whether it was pending, which a firing that nobody received still is. Afterwards nothing is
    /// received until a reset.
    pub fn stop(&self) -> bool {
        self.inner.stop()
    }

    /// Makes the timer fire `delay` from now, whether it was pending or not; tells whether it was. What was sent before and
    /// not received is taken back.
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
        &self.inner.receiver
    }

    /// Stops the ticks; a tick that nobody received is taken back. The channel stays connected, as Go's stays open.
    pub fn stop(&self) {
        self.inner.stop();
    }

    /// Stops the ticks and begins anew with another period, the first tick a period from now.
    ///
    /// # Errors
    /// The period is zero, and nothing changed; or the driver would not take the timer, and the ticker is stopped.
    pub fn reset(&self, period: Duration) -> Result<(), PeriodError> {
        let repeat = Period::new(period, self.inner.part.clock().resolution())?;
        let deadline = self.inner.part.clock().after(period);
        let begun = self.inner.restart(|state| state.period = Some(repeat), deadline);
        begun.map(|_| ()).map_err(PeriodError::Refused)
    }
}

impl Firings {
    /// The channel, for `select!`. A clone of it does not keep the timer alive.
    pub fn receiver(&self) -> &Receiver<Firing> {
        &self.inner.receiver
    }
}

/// `for firing in &ticker` waits for each tick.
impl<'a> IntoIterator for &'a Ticker {
    type Item = Firing;
    type IntoIter = crossbeam_channel::Iter<'a, Firing>;

    fn into_iter(self) -> Self::IntoIter {
        self.inner.receiver.iter()
    }
}

/// `for firing in &channels.tick(period)?` waits for each tick.
impl<'a> IntoIterator for &'a Firings {
    type Item = Firing;
    type IntoIter = crossbeam_channel::Iter<'a, Firing>;

    fn into_iter(self) -> Self::IntoIter {
        self.inner.receiver.iter()
    }
}

impl Deref for Firings {
    type Target = Receiver<Firing>;

    fn deref(&self) -> &Receiver<Firing> {
        &self.inner.receiver
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Inner").finish_non_exhaustive()
    }
}
