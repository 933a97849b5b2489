//! A layer that gives up on requests which take too long.
//!
//! ```
//! use std::time::Duration;
//! use mainspring::adapter::tower::TimeoutLayer;
//!
//! let engine = mainspring::Engine::new()?;
//! let layer = TimeoutLayer::new(engine.futures(), Duration::from_secs(10));
//! # let _ = layer;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The error of a request that took too long is [`Elapsed`](crate::front::future::Elapsed), in a box; the
//! inner service's future is dropped then. What is ready in time is handed on as it is.
//!
//! Cost: that of [`Timeout`] per request.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tower_layer::Layer;
use tower_service::Service;

use crate::front::Futures;
use crate::front::future::Timeout;

/// Any error, as tower's middlewares hand them on.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Puts a timeout around services.
///
/// ```
/// use std::time::Duration;
/// use mainspring::adapter::tower::TimeoutLayer;
/// use tower_layer::Layer;
/// use tower_service::Service;
///
/// /// Never answers.
/// struct Silent;
///
/// impl Service<()> for Silent {
///     type Response = ();
///     type Error = std::convert::Infallible;
///     type Future = std::future::Pending<Result<(), Self::Error>>;
///
///     fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> {
///         std::task::Poll::Ready(Ok(()))
///     }
///
///     fn call(&mut self, (): ()) -> Self::Future {
///         std::future::pending()
///     }
/// }
///
/// let layer = TimeoutLayer::new(mainspring::global()?.futures(), Duration::from_millis(1));
/// let mut service = layer.layer(Silent);
/// let answer = smol::block_on(service.call(()));
/// assert!(answer.unwrap_err().is::<mainspring::Elapsed>());
/// # Ok::<(), mainspring::driver::Refusal>(())
/// ```
#[derive(Clone, Debug)]
pub struct TimeoutLayer {
    futures: Futures,
    timeout: Duration,
}

impl TimeoutLayer {
    /// Gives up on requests after `timeout`, by the engine's clock.
    pub fn new(futures: Futures, timeout: Duration) -> TimeoutLayer {
        TimeoutLayer { futures, timeout }
    }
}

impl<S> Layer<S> for TimeoutLayer {
    type Service = TimeoutService<S>;

    fn layer(&self, service: S) -> TimeoutService<S> {
        TimeoutService { service, layer: self.clone() }
    }
}

/// A service with a timeout: see [`TimeoutLayer`].
///
/// ```
/// use std::time::Duration;
/// use mainspring::adapter::tower::{TimeoutLayer, TimeoutService};
/// use tower_layer::Layer;
/// use tower_service::Service;
///
/// /// Never answers.
/// struct Silent;
///
/// impl Service<()> for Silent {
///     type Response = ();
///     type Error = std::convert::Infallible;
///     type Future = std::future::Pending<Result<(), Self::Error>>;
///
///     fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> {
///         std::task::Poll::Ready(Ok(()))
///     }
///
///     fn call(&mut self, (): ()) -> Self::Future {
///         std::future::pending()
///     }
/// }
///
/// let layer = TimeoutLayer::new(mainspring::global()?.futures(), Duration::from_millis(1));
/// let mut service: TimeoutService<Silent> = layer.layer(Silent);
/// assert!(smol::block_on(service.call(())).is_err());
/// # Ok::<(), mainspring::driver::Refusal>(())
/// ```
#[derive(Clone, Debug)]
pub struct TimeoutService<S> {
    service: S,
    layer: TimeoutLayer,
}

impl<S, Request> Service<Request> for TimeoutService<S>
where
    S: Service<Request>,
    S::Error: Into<BoxError>,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Response<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.service.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request) -> Response<S::Future> {
        let answer = self.service.call(request);
        Response { timeout: self.layer.futures.timeout(self.layer.timeout, answer) }
    }
}

/// The answer of a service, or [`Elapsed`](crate::front::future::Elapsed).
///
/// ```
/// use std::time::Duration;
/// use mainspring::adapter::tower::{Response, TimeoutLayer};
/// use tower_layer::Layer;
/// use tower_service::Service;
///
/// /// Never answers.
/// struct Silent;
///
/// impl Service<()> for Silent {
///     type Response = ();
///     type Error = std::convert::Infallible;
///     type Future = std::future::Pending<Result<(), Self::Error>>;
///
///     fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> {
///         std::task::Poll::Ready(Ok(()))
///     }
///
///     fn call(&mut self, (): ()) -> Self::Future {
///         std::future::pending()
///     }
/// }
///
/// let layer = TimeoutLayer::new(mainspring::global()?.futures(), Duration::from_millis(1));
/// let response: Response<_> = layer.layer(Silent).call(());
/// assert!(smol::block_on(response).is_err());
/// # Ok::<(), mainspring::driver::Refusal>(())
/// ```
#[derive(Debug)]
#[must_use = "futures do nothing unless they are polled"]
pub struct Response<F> {
    timeout: Timeout<F>,
}

impl<F, Answer, Failure> Future for Response<F>
where
    F: Future<Output = Result<Answer, Failure>>,
    Failure: Into<BoxError>,
{
    type Output = Result<Answer, BoxError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.timeout).poll(context).map(|outcome| match outcome {
            Ok(answer) => answer.map_err(Into::into),
            Err(elapsed) => Err(elapsed.into()),
        })
    }
}
