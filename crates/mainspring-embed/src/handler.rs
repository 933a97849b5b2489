//! Names of handlers that know the type of what they get.
//!
//! ```text
//!  const SEND: Handler<Email> ─┬─ builder.handler(SEND, |run, email| ..)    the function takes an Email
//!                              └─ jobs.submit(SEND, &email)                 and so does the submission
//! ```
//!
//! A text names a handler as well, and says nothing of its payload: then only the submission finds out.
//!
//! Cost: none; the type is gone when the program runs.
//!
//! Does not hold the function: see [`registry`](crate::registry).

use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;

use crate::options::Options;

/// A handler by its name, whose payload is a `T`. Two of one name are the same handler.
///
/// # Example
/// ```
/// use mainspring_embed::{Handler, Jobs, ManualClock, Run, RunState};
///
/// const GREET: Handler<String> = Handler::new("greet");
///
/// let clock = ManualClock::at("2026-01-01T00:00:00Z".parse()?);
/// let jobs = Jobs::simulated(&clock)
///     .handler(GREET.with(|options| options.retry(3)), |run: &Run, name: String| {
///         run.say(format!("hello, {name}"));
///         Ok::<(), String>(())
///     })
///     .start()?;
/// let submitted = jobs.submit(GREET, &"ada".to_owned())?;
/// clock.advance(std::time::Duration::ZERO);
/// assert_eq!(jobs.runs_of(submitted.job(), 1)?[0].state, RunState::Succeeded);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Another type does not compile:
/// ```compile_fail
/// # use mainspring_embed::{Handler, Jobs, ManualClock, Run};
/// # const GREET: Handler<String> = Handler::new("greet");
/// # let jobs = Jobs::simulated(&ManualClock::at("2026-01-01T00:00:00Z".parse().unwrap())).start().unwrap();
/// jobs.submit(GREET, &17);
/// ```
pub struct Handler<T> {
    name: &'static str,
    payload: PhantomData<fn(&T)>,
}

impl<T> Handler<T> {
    /// One of this name. What is no name is refused when the handler is defined.
    #[must_use]
    pub const fn new(name: &'static str) -> Handler<T> {
        Handler { name, payload: PhantomData }
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The same with rules for its runs, to be defined by.
    #[must_use]
    pub fn with(self, rules: impl FnOnce(Options) -> Options) -> HandlerOptions<T> {
        HandlerOptions { options: rules(Options::new(self.name)), payload: PhantomData }
    }
}

impl<T> Clone for Handler<T> {
    fn clone(&self) -> Handler<T> {
        *self
    }
}

impl<T> Copy for Handler<T> {}

impl<T> fmt::Debug for Handler<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Handler").field(&self.name).finish()
    }
}

/// A [`Handler`] with rules for its runs.
#[derive(Debug)]
pub struct HandlerOptions<T> {
    options: Options,
    payload: PhantomData<fn(&T)>,
}

/// What a handler with payloads of type `T` is defined by: a text, [`Options`], or a [`Handler`].
pub trait DefinedBy<T> {
    /// Its name and its rules.
    fn options(self) -> Options;
}

impl<T, O: Into<Options>> DefinedBy<T> for O {
    fn options(self) -> Options {
        self.into()
    }
}

impl<T> DefinedBy<T> for Handler<T> {
    fn options(self) -> Options {
        Options::new(self.name)
    }
}

impl<T> DefinedBy<T> for HandlerOptions<T> {
    fn options(self) -> Options {
        self.options
    }
}

/// What a submission names its handler by: a text, or a [`Handler`].
pub trait HandlerName {
    /// What it says of the payload.
    type Payload;

    /// The name.
    fn into_name(self) -> String;
}

/// Of a payload of which nothing is said: anything that can be written.
#[derive(Debug)]
pub struct AnyPayload;

impl<S: AsRef<str>> HandlerName for S {
    type Payload = AnyPayload;

    fn into_name(self) -> String {
        self.as_ref().to_owned()
    }
}

impl<T> HandlerName for Handler<T> {
    type Payload = Handler<T>;

    fn into_name(self) -> String {
        self.name.to_owned()
    }
}

/// Says which payloads a submission takes.
pub trait Accepts<S: ?Sized> {}

impl<S: Serialize + ?Sized> Accepts<S> for AnyPayload {}

impl<T: Serialize> Accepts<T> for Handler<T> {}
