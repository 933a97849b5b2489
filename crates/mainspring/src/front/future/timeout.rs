//! A future that is waited for, but not for ever.
//!
//! [`Timeout`] polls the future first: one that is ready when time is up counts as ready. When it is dropped,
//! so is the future, which is how async programs cancel.
//!
//! Cost: that of [`Sleep`], and one allocation that pins the future.

use std::error::Error;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::Sleep;

/// A future with a deadline: see [`Futures::timeout`](super::Futures::timeout).
///
/// ```
/// use std::time::Duration;
///
/// # smol::block_on(async {
/// let mut answer = mainspring::timeout(Duration::from_secs(60), async { "the answer" });
/// answer.sleep_mut().reset(Duration::from_secs(90));
/// assert_eq!(answer.await, Ok("the answer"));
/// # });
/// ```
#[derive(Debug)]
#[must_use = "futures do nothing unless they are polled"]
pub struct Timeout<F> {
    sleep: Sleep,
    future: Pin<Box<F>>,
}

impl<F: Future> Timeout<F> {
    pub(super) fn new(sleep: Sleep, future: F) -> Timeout<F> {
        Timeout { sleep, future: Box::pin(future) }
    }

    /// Returns the future.
    pub fn get_ref(&self) -> &F {
        &self.future
    }

    /// Returns the future, to be changed where it is.
    pub fn get_mut(&mut self) -> Pin<&mut F> {
        self.future.as_mut()
    }

    /// Ends the wait and returns the future, which continues where it is.
    pub fn into_inner(self) -> Pin<Box<F>> {
        self.future
    }

    /// Returns the sleep that ends the wait, to ask for its deadline or to reset it.
    pub fn sleep_mut(&mut self) -> &mut Sleep {
        &mut self.sleep
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(output) = self.future.as_mut().poll(context) {
            return Poll::Ready(Ok(output));
        }
        self.sleep.poll_elapsed(context).map(|()| Err(Elapsed))
    }
}

/// The time was up before the future was ready.
///
/// ```
/// use std::io;
/// use std::time::Duration;
///
/// async fn read() -> io::Result<usize> {
///     std::future::pending().await
/// }
///
/// # smol::block_on(async {
/// async fn read_in_time() -> io::Result<usize> {
///     mainspring::timeout(Duration::from_millis(1), read()).await?
/// }
/// assert_eq!(read_in_time().await.unwrap_err().kind(), io::ErrorKind::TimedOut);
/// # });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Elapsed;

impl fmt::Display for Elapsed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the deadline has elapsed")
    }
}

impl Error for Elapsed {}

impl From<Elapsed> for io::Error {
    fn from(elapsed: Elapsed) -> io::Error {
        io::Error::new(io::ErrorKind::TimedOut, elapsed)
    }
}
