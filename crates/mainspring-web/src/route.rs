//! A route: method, path, who may, what it takes, what it answers with, and what answers.
//!
//! A route without an [`Access`] cannot be written down: each constructor takes one first.
//!
//! ```
//! use mainspring_web::call::{Call, nothing};
//! use mainspring_web::route::{Access, Route};
//! use mainspring_web::scope::Scope;
//! const LOOK: Access = Access::Needs(Scope::Look);
//! const NEW: Route = Route::get(LOOK, "/api/v1/new", "something new", &async |_: Call| Ok(nothing()));
//! ```
//!
//! ```compile_fail
//! use mainspring_web::call::{Call, nothing};
//! use mainspring_web::route::{Access, Route};
//! use mainspring_web::scope::Scope;
//! const NEW: Route = Route::get("/api/v1/new", "something new", &async |_: Call| Ok(nothing()));
//! ```
//!
//! Cost: none.
//!
//! Does not answer: see [`api`](crate::api).

use std::borrow::Cow;

use axum::http::Method;
use mainspring_server::protocol::MAX_REQUEST_BYTES;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::call::{Call, Reply, Replying, document};
use crate::memory_budget::{MAX_IDENTITY_BYTES, SHORT_BYTES};
use crate::problem::Problem;
use crate::schema::{SchemaOf, of};
use crate::scope::Scope;
use crate::tokens::TOKEN_BYTES;

/// The longest body of most routes.
const MAX_BODY_BYTES: usize = 4 << 20;

/// The longest body of a route that takes files of jobs: the longest request of the loop.
const MAX_FILES_BYTES: usize = 16 << 20;

/// The longest body of a route that anybody may ask: a token or a code, with a lot of room. A client that has
/// not signed in fills no memory.
const MAX_OPEN_BODY_BYTES: usize = 4 << 10;

const _: () = assert!(MAX_OPEN_BODY_BYTES <= SHORT_BYTES, "`Call::read` reads it without an identity");
const _: () = assert!(2 * TOKEN_BYTES + 100 < MAX_OPEN_BODY_BYTES, "a token has room in it");
const _: () = assert!(MAX_BODY_BYTES <= MAX_FILES_BYTES);
const _: () = assert!(MAX_FILES_BYTES <= MAX_REQUEST_BYTES, "the loop takes what a route takes");
const _: () = assert!(4 * MAX_FILES_BYTES <= MAX_IDENTITY_BYTES);

/// Who may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Anybody, without signing in.
    Anybody,
    /// Who has this scope or one that holds it.
    Needs(Scope),
}

/// What is in an answer.
#[derive(Clone, Copy, Debug)]
pub enum Content {
    /// There is nothing in it.
    Nothing,
    /// A document of this schema.
    Json(SchemaOf),
    /// Something of one of these types, of which nothing more is described.
    Media(&'static [&'static str]),
}

/// An answer: its status, and what is in it.
pub type Answer = (u16, Content);

/// What a route takes.
#[derive(Clone, Copy, Debug)]
pub struct BodyKind {
    /// The name of its schema.
    pub name: fn() -> Cow<'static, str>,
    /// What gives it.
    pub schema: SchemaOf,
    /// Reads it as its handler does: what that takes is in the test `growth`.
    pub read: fn(&[u8]) -> Result<(), Problem>,
}

/// Reads a body that is a document.
///
/// # Errors
///
/// 422 as [`document`].
pub fn read<T: DeserializeOwned>(body: &[u8]) -> Result<(), Problem> {
    document::<T>(body).map(drop)
}

/// An asynchronous function of a call.
pub trait HandlerFunction: Sync {
    /// Answers a call.
    fn answer(&self, call: Call) -> Replying;
}

/// What answers.
pub type Handler = &'static dyn HandlerFunction;

impl<F, A> HandlerFunction for F
where
    F: Fn(Call) -> A + Sync,
    A: Future<Output = Reply> + Send + 'static,
{
    fn answer(&self, call: Call) -> Replying {
        Box::pin(self(call))
    }
}

/// A route.
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path below the base, with names in braces.
    pub path: &'static str,
    /// Who may ask.
    pub access: Access,
    /// What it is.
    pub says: &'static str,
    /// The parameters behind the question mark.
    pub query: &'static [&'static str],
    /// Its body, if it takes one.
    pub body: Option<BodyKind>,
    /// What it answers when all is well.
    pub answers: &'static [Answer],
    /// What an answer means, where its shape does not say it: with several, by their status.
    pub meanings: &'static [(u16, &'static str)],
    /// How it may refuse, beside what all routes may refuse for.
    pub refusals: &'static [u16],
    /// The longest body.
    pub body_bytes_max: usize,
    /// What answers.
    pub answer: Handler,
}

impl Route {
    const fn new(
        method: Method,
        access: Access,
        path: &'static str,
        says: &'static str,
        answer: Handler,
    ) -> Route {
        assert!(path.as_bytes()[0] == b'/', "the path of a route begins with a slash");
        let body_bytes_max = match access {
            Access::Anybody => MAX_OPEN_BODY_BYTES,
            Access::Needs(_) => MAX_BODY_BYTES,
        };
        let (query, body, answers, meanings, refusals): (_, _, &[Answer], _, _) = (&[], None, &[], &[], &[]);
        Route { method, path, access, says, query, body, answers, meanings, refusals, body_bytes_max, answer }
    }

    /// A route that tells something.
    pub const fn get(access: Access, path: &'static str, says: &'static str, answer: Handler) -> Route {
        Route::new(Method::GET, access, path, says, answer)
    }

    /// A route that does something.
    pub const fn post(access: Access, path: &'static str, says: &'static str, answer: Handler) -> Route {
        Route::new(Method::POST, access, path, says, answer)
    }

    /// A route that puts something in a place.
    pub const fn put(access: Access, path: &'static str, says: &'static str, answer: Handler) -> Route {
        Route::new(Method::PUT, access, path, says, answer)
    }

    /// A route that takes something away.
    pub const fn delete(access: Access, path: &'static str, says: &'static str, answer: Handler) -> Route {
        Route::new(Method::DELETE, access, path, says, answer)
    }

    /// The same with parameters behind the question mark.
    pub const fn with_query(mut self, query: &'static [&'static str]) -> Route {
        self.query = query;
        self
    }

    /// The same with a body that is a document.
    pub const fn with_body<T: DeserializeOwned + JsonSchema>(self) -> Route {
        self.with_body_read::<T>(read::<T>)
    }

    /// The same with a body of a schema, and what reads it.
    pub const fn with_body_read<T: JsonSchema>(mut self, read: fn(&[u8]) -> Result<(), Problem>) -> Route {
        self.body = Some(BodyKind { name: T::schema_name, schema: of::<T>, read });
        self
    }

    /// The same with room for files of jobs in its body.
    pub const fn with_files(mut self) -> Route {
        assert!(matches!(self.access, Access::Needs(_)), "a client without an identity fills no memory");
        assert!(self.body.is_some(), "files stand in a body");
        self.body_bytes_max = MAX_FILES_BYTES;
        self
    }

    /// The same with its answers.
    pub const fn with_answers(mut self, answers: &'static [Answer]) -> Route {
        let mut index = 0;
        while index < answers.len() {
            assert!(answers[index].0 < 400, "an answer is no refusal");
            assert!(index == 0 || answers[index - 1].0 < answers[index].0, "each status stands there once");
            index += 1;
        }
        self.answers = answers;
        self
    }

    /// The same with what its answers mean.
    pub const fn with_meanings(mut self, meanings: &'static [(u16, &'static str)]) -> Route {
        self.meanings = meanings;
        self
    }

    /// The same with how it may refuse.
    pub const fn with_refusals(mut self, refusals: &'static [u16]) -> Route {
        let mut index = 0;
        while index < refusals.len() {
            assert!(400 <= refusals[index], "a refusal is an error");
            assert!(index == 0 || refusals[index - 1] < refusals[index], "each status stands there once");
            index += 1;
        }
        self.refusals = refusals;
        self
    }
}
