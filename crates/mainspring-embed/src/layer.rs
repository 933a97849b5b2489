//! Layers of tower around each future: the feature `tower-03`.
//!
//! ```text
//! RunCall ─▶ service of the layer ─▶ .. ─▶ HandlerService: the handler's future
//!                    ◀── (), or an error ──┘
//! ```
//!
//! Cost: a clone of the service and two boxes for each run.
//!
//! Does not see functions: a service returns a future.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

use tower_layer::Layer;
use tower_service::Service;

use crate::builder::Builder;
use crate::future::BoxFuture;
use crate::handler_error::HandlerError;
use crate::run::Run;

/// Any error of a service.
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A run that a [`Layer`] has before its handler: see [`Builder::layer`].
///
/// # Example
/// ```
/// use mainspring_embed::RunCall;
/// use tower::util::MapRequestLayer;
///
/// let layer = MapRequestLayer::new(|call: RunCall| {
///     println!("{} begins", call.run().key());
///     call
/// });
/// # let _ = layer;
/// ```
#[must_use = "the handler is not called before the inner service is"]
pub struct RunCall {
    run: Run,
    future: BoxFuture<Result<(), HandlerError>>,
}

impl RunCall {
    /// The run.
    pub fn run(&self) -> &Run {
        &self.run
    }
}

impl fmt::Debug for RunCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunCall").field("run", &self.run).finish_non_exhaustive()
    }
}

/// The innermost service: it awaits the handler. It is always ready.
#[derive(Clone, Debug)]
pub struct HandlerService(());

/// What a handler returned, on its way through layers, which want an error of the standard library.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.message())]
pub struct HandlerFailure(HandlerError);

impl Service<RunCall> for HandlerService {
    type Response = ();
    type Error = HandlerFailure;
    type Future = BoxFuture<Result<(), HandlerFailure>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), HandlerFailure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: RunCall) -> Self::Future {
        Box::pin(async move { call.future.await.map_err(HandlerFailure) })
    }
}

impl Builder {
    /// Puts a layer of tower around each future, as an [`async_around`](Self::async_around) is, and in one
    /// order with those. The layer makes its service once; each run has a clone of it, and waits until that
    /// is ready. An error of a layer is one of the handler. Needs the feature `tower-03`.
    ///
    /// # Example
    /// ```
    /// # use mainspring_embed::{Jobs, ManualClock};
    /// # use std::time::Duration;
    /// # let builder = Jobs::simulated(&ManualClock::at("2026-01-01T00:00:00Z".parse()?));
    /// let builder = builder.layer(tower::timeout::TimeoutLayer::new(Duration::from_secs(30)));
    /// # builder.start()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn layer<L>(self, layer: L) -> Builder
    where
        L: Layer<HandlerService>,
        L::Service: Service<RunCall, Response = ()> + Clone + Send + Sync + 'static,
        <L::Service as Service<RunCall>>::Error: Into<BoxError> + Send,
        <L::Service as Service<RunCall>>::Future: Send,
    {
        let service = layer.layer(HandlerService(()));
        self.async_around(move |run, future| {
            let mut service = service.clone();
            async move {
                poll_fn(|context| service.poll_ready(context)).await.map_err(failure)?;
                service.call(RunCall { run, future }).await.map_err(failure)
            }
        })
    }
}

/// What the handler returned, or what a layer says in its place.
fn failure(error: impl Into<BoxError>) -> HandlerError {
    match error.into().downcast::<HandlerFailure>() {
        Ok(failure) => failure.0,
        Err(error) => HandlerError::because(error),
    }
}
