//! Code of the program around each call of a handler: to measure it, to trace it, to put it off.
//!
//! ```text
//! first around ─▶ second ─▶ .. ─▶ handler
//!        ◀── result, or a panic ──┘
//! ```
//!
//! Cost: a call through a pointer for each; for a future a box too, and a copy of the payload.
//!
//! Does not see a run that no thread began, nor the end of one that is killed: what it made is dropped then.
//!
//! Source: middleware, as `tower::Layer` is for services.

use std::fmt;
use std::sync::Arc;

use mainspring_action::body::HandlerBody;

use crate::future::BoxFuture;
use crate::handler_error::HandlerError;
use crate::registry::{Function, Handler, MakeFuture};
use crate::run::Run;

/// What a handler returns.
type HandlerResult = Result<(), HandlerError>;

/// Around functions.
pub(crate) type Around = Arc<dyn Fn(&Run, Next<'_>) -> HandlerResult + Send + Sync>;

/// Around futures.
pub(crate) type AroundFuture =
    Arc<dyn Fn(Run, BoxFuture<HandlerResult>) -> BoxFuture<HandlerResult> + Send + Sync>;

/// What [`Builder::around`](crate::Builder::around) stands around: the rest of the call.
#[must_use = "the handler is not called before this is"]
pub struct Next<'n> {
    rest: &'n [Around],
    function: &'n Function,
    run: &'n Run,
    body: &'n HandlerBody,
}

impl fmt::Debug for Next<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").field("run", self.run).finish_non_exhaustive()
    }
}

impl Next<'_> {
    /// Calls the handler, with what is around it further in.
    ///
    /// # Errors
    /// What the handler returns. A payload that cannot be read is one too.
    pub fn call(self) -> Result<(), HandlerError> {
        match self.rest.split_first() {
            Some((first, rest)) => first(self.run, Next { rest, ..self }),
            None => (self.function)(self.run, self.body),
        }
    }
}

/// All that stands around handlers, the outermost first.
#[derive(Clone, Default)]
pub(crate) struct Layers {
    pub(crate) functions: Vec<Around>,
    pub(crate) futures: Vec<AroundFuture>,
}

impl Layers {
    /// The handler with all of them around it.
    pub(crate) fn around(&self, handler: Handler) -> Handler {
        match handler {
            Handler::Function(function) if !self.functions.is_empty() => {
                let rest = self.functions.clone();
                Handler::Function(Box::new(move |run, body| {
                    Next { rest: &rest, function: &function, run, body }.call()
                }))
            }
            Handler::Future(make) if !self.futures.is_empty() => {
                Handler::Future(around_futures(self.futures.clone(), make))
            }
            handler => handler,
        }
    }
}

fn around_futures(layers: Vec<AroundFuture>, make: MakeFuture) -> MakeFuture {
    let make = Arc::new(make);
    Box::new(move |run, body| {
        // The handler is called when what is around it awaits it. What cannot be read is an end as any other.
        let (make, its_run, body) = (Arc::clone(&make), run.clone(), body.clone());
        let handler: BoxFuture<HandlerResult> = Box::pin(async move { make(its_run, &body)?.await });
        Ok(layers.iter().rev().fold(handler, |inner, around| around(run.clone(), inner)))
    })
}
