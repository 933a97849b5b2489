//! The handlers of a program, by their names.
//!
//! A handler is called with the run and the body of its action, and gives the outcome. A panic is a failure
//! with its message; a build with `panic = "abort"` has none to catch, and dies.
//!
//! Cost: a look-up by name, and a call through a pointer.
//!
//! Does not know threads: see [`handlers`](crate::handlers) and [`simulation`](crate::simulation), which
//! call.

use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use mainspring_action::body::HandlerBody;

use crate::future::BoxFuture;
use crate::handler_error::{HandlerEnd, HandlerError};
use crate::run::Run;

/// Carries a run out on the thread that calls it.
pub(crate) type Function = Box<dyn Fn(&Run, &HandlerBody) -> Result<(), HandlerError> + Send + Sync>;

/// Makes a future that carries a run out.
pub(crate) type MakeFuture =
    Box<dyn Fn(Run, &HandlerBody) -> Result<BoxFuture<Result<(), HandlerError>>, HandlerError> + Send + Sync>;

/// What a handler is.
pub(crate) enum Handler {
    Function(Function),
    Future(MakeFuture),
}

/// All handlers of a program. Each is owned by one registry until the jobs start.
#[derive(Clone, Default)]
pub(crate) struct Registry {
    handlers: HashMap<String, Arc<Handler>>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.handlers.keys()).finish()
    }
}

impl Registry {
    /// Adds a handler.
    pub(crate) fn add(&mut self, name: &str, handler: Handler) {
        self.handlers.insert(name.to_owned(), Arc::new(handler));
    }

    /// The same with something else for each handler.
    pub(crate) fn map(self, change: impl Fn(Handler) -> Handler) -> Registry {
        let changed = |(name, handler): (String, Arc<Handler>)| {
            let handler = Arc::into_inner(handler).expect("it is shared after the start");
            (name, Arc::new(change(handler)))
        };
        Registry { handlers: self.handlers.into_iter().map(changed).collect() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Handler>> {
        self.handlers.get(name)
    }

    /// Whether any handler makes futures.
    pub(crate) fn has_futures(&self) -> bool {
        self.handlers.values().any(|handler| matches!(**handler, Handler::Future(_)))
    }
}

/// Calls a function; a panic of it is a failure.
pub(crate) fn call(function: &Function, run: &Run, body: &HandlerBody) -> HandlerEnd {
    catch_unwind(AssertUnwindSafe(|| function(run, body))).into()
}

/// The future of a handler. The payload is read, and the program's future made, when it is polled: what
/// panics there does so on the program's runtime, and not in the loop.
pub(crate) fn made(
    handler: Arc<Handler>,
    run: Run,
    body: HandlerBody,
) -> BoxFuture<Result<(), HandlerError>> {
    Box::pin(async move {
        match &*handler {
            Handler::Future(make) => make(run, &body)?.await,
            Handler::Function(function) => function(&run, &body),
        }
    })
}
