//! Timeouts that are messages to services: skynet's way.
//!
//! ```
//! use std::time::Duration;
//!
//! let engine = mainspring::Engine::new()?;
//! let mailboxes = engine.mailboxes();
//! let (service, mailbox) = mailboxes.register();
//!
//! mailboxes.timeout(Duration::ZERO, service, 7)?;
//! assert_eq!(mailbox.try_recv()?.session, 7);
//! mailboxes.timeout(Duration::from_millis(5), service, 8)?;
//! assert_eq!(mailbox.recv()?.session, 8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A *service* is a mailbox with a number, its handle. `timeout(delay, service, session)` sends the service a
//! message with that session when so much time has passed: the service compares sessions, and ignores one
//! that it no longer waits for, so a timeout is never cancelled. A delay of zero is delivered at once and
//! does not touch the queue. Messages of one tick arrive in the order of their calls, where the queue keeps
//! equals in order and the driver has one thread.
//!
//! Sending never blocks: a mailbox has no limit, and its owner should read it. A message to a service that is
//! gone is dropped.
//!
//! Cost: one allocation per message.
//!
//! It does not deliver between processes, and it does not cancel.
//!
//! Source: skynet, `skynet_timer.c` (`skynet_timeout`, `timer_execute`).

use std::collections::{HashMap, hash_map};
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use mainspring_queue::Tick;

use super::task::Task;
use crate::driver::Refusal;
use crate::handle::Handle;
use crate::sync::{Mutex, lock};

/// Sends timeouts to services. Clones are the same front; when the last is dropped, nothing is sent any more.
/// The timers of what was to be sent stay in the queue until they are due: as no timeout is cancelled, no
/// list of them is kept.
///
/// ```
/// use std::time::Duration;
/// use mainspring::Simulation;
///
/// let simulation = Simulation::new();
/// let mailboxes = simulation.engine().mailboxes();
/// let (service, mailbox) = mailboxes.register();
/// mailboxes.timeout(Duration::from_secs(1), service, 7)?;
/// simulation.advance(Duration::from_secs(1));
/// assert_eq!(mailbox.try_recv()?.session, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "what was scheduled ends with the last clone of its mailboxes"]
#[derive(Clone)]
pub struct Mailboxes {
    shared: Arc<Shared>,
}

struct Shared {
    handle: Handle<Task>,
    services: Mutex<Services>,
}

#[derive(Default)]
struct Services {
    by_number: HashMap<u32, Sender<Message>>,
    last_number: u32,
}

/// The number of a service. It is not given to another before 2^32 services have been registered.
///
/// ```
/// use std::time::Duration;
/// use mainspring::Simulation;
///
/// let simulation = Simulation::new();
/// let mailboxes = simulation.engine().mailboxes();
/// let (service, mailbox) = mailboxes.register();
/// assert!(mailboxes.unregister(service));
/// assert!(mailboxes.timeout(Duration::ZERO, service, 7).is_err());
/// # drop((simulation, mailbox));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Service(u32);

/// What a service is sent when a timeout is over.
///
/// ```
/// use std::time::Duration;
/// use mainspring::Simulation;
///
/// let simulation = Simulation::new();
/// let mailboxes = simulation.engine().mailboxes();
/// let (service, mailbox) = mailboxes.register();
/// mailboxes.timeout(Duration::from_secs(1), service, 7)?;
/// simulation.advance(Duration::from_secs(1));
/// let message = mailbox.try_recv()?;
/// assert_eq!((message.session, message.now.get()), (7, 1_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// What the caller of `timeout` gave.
    pub session: u64,
    /// The tick at which it was sent.
    pub now: Tick,
}

impl Mailboxes {
    /// Makes the front of a driver that runs tasks.
    #[inline]
    pub fn new(handle: Handle<Task>) -> Mailboxes {
        Mailboxes { shared: Arc::new(Shared { handle, services: Mutex::default() }) }
    }

    /// Makes a service and its mailbox.
    ///
    /// # Panics
    /// If there are 2^32 services.
    #[inline]
    pub fn register(&self) -> (Service, Receiver<Message>) {
        let (sender, receiver) = channel();
        let mut services = lock(&self.shared.services);
        assert!(services.by_number.len() < u32::MAX as usize, "there are fewer than 2^32 services");
        loop {
            services.last_number = services.last_number.wrapping_add(1);
            let number = services.last_number;
            if let hash_map::Entry::Vacant(vacant) = services.by_number.entry(number) {
                vacant.insert(sender);
                return (Service(number), receiver);
            }
        }
    }

    /// Ends a service; tells whether it was there. Its mailbox is disconnected once it has been read empty.
    #[inline]
    pub fn unregister(&self, service: Service) -> bool {
        lock(&self.shared.services).by_number.remove(&service.0).is_some()
    }

    /// Sends `service` a message with `session`, `delay` from now and not earlier; at once if that is zero.
    ///
    /// # Errors
    /// The service is not registered; or the driver would not take the timer.
    #[inline]
    pub fn timeout(&self, delay: Duration, service: Service, session: u64) -> Result<(), Refusal> {
        let clock = self.shared.handle.clock();
        self.send_at(if delay.is_zero() { Tick::ZERO } else { clock.after(delay) }, service, session)
    }

    /// Sends `service` a message with `session` when `tick_count` ticks of the driver's clock have passed; at
    /// once if that is
    /// 0. That is skynet's `skynet_timeout`.
    ///
    /// # Errors
    /// As [`timeout`](Self::timeout).
    #[inline]
    pub fn timeout_ticks(&self, tick_count: u64, service: Service, session: u64) -> Result<(), Refusal> {
        let clock = self.shared.handle.clock();
        let deadline = if tick_count == 0 { Tick::ZERO } else { clock.now().after(tick_count) };
        self.send_at(deadline, service, session)
    }

    /// Sends a message from `delay` to `delay + tolerance` from now, at the roundest tick of that range,
    /// where it shares a wake-up with others; at once if the delay is zero.
    ///
    /// # Errors
    /// As [`timeout`](Self::timeout).
    #[inline]
    pub fn timeout_within(
        &self,
        delay: Duration,
        tolerance: Duration,
        service: Service,
        session: u64,
    ) -> Result<(), Refusal> {
        let deadline = self.shared.handle.tick_within(delay, tolerance);
        self.send_at(if delay.is_zero() { Tick::ZERO } else { deadline }, service, session)
    }

    /// Sends a message at a tick of the driver's clock; at once if that is the first.
    #[inline]
    fn send_at(&self, deadline: Tick, service: Service, session: u64) -> Result<(), Refusal> {
        if deadline == Tick::ZERO {
            let now = self.now();
            let message = Message { session, now };
            return if self.shared.send(service, message) { Ok(()) } else { Err(Refusal::NoService) };
        }
        if !lock(&self.shared.services).by_number.contains_key(&service.0) {
            return Err(Refusal::NoService);
        }
        let shared = Arc::downgrade(&self.shared);
        let task = Task::brief(move |firing| {
            if let Some(shared) = shared.upgrade() {
                shared.send(service, Message { session, now: firing.now });
            }
        });
        self.shared.handle.schedule_at(deadline, task)?;
        Ok(())
    }

    /// Returns the time in ticks since the driver's clock began.
    #[inline]
    pub fn now(&self) -> Tick {
        self.shared.handle.clock().now()
    }
}

impl Shared {
    /// Puts a message into a mailbox; tells whether there is one. A mailbox whose receiver was dropped is
    /// forgotten.
    #[inline]
    fn send(&self, service: Service, message: Message) -> bool {
        let mut services = lock(&self.services);
        let is_sent = services.by_number.get(&service.0).is_some_and(|sender| sender.send(message).is_ok());
        if !is_sent {
            services.by_number.remove(&service.0);
        }
        is_sent
    }
}

impl fmt::Debug for Mailboxes {
    #[inline]
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Mailboxes").finish_non_exhaustive()
    }
}
