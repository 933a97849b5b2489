//! Error answers, as a document of their own kind.
//!
//! ```text
//! {"type": "urn:mainspring:problem:not_found", "title": "Not found", "status": 404,
//!  "detail": "there is no job `x`"}
//! ```
//!
//! Cost: one document.
//!
//! Does not say what was wrong inside: `detail` is the sentence that the command line prints.
//!
//! Source: RFC 9457.

use std::borrow::Cow;

use axum::body::Body;
use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use mainspring_file::problem::Severity;
use mainspring_server::protocol::{ErrorKind, ErrorWire};
use schemars::JsonSchema;
use serde::Serialize;

/// What kind of trouble it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    status: u16,
    name: &'static str,
    title: &'static str,
}

const _: () = {
    let mut index = 0;
    while index < Code::REFUSALS.len() {
        assert!(Code::REFUSALS[index].status < 500, "a refusal is for what the client did");
        index += 1;
    }
};

#[expect(missing_docs, reason = "each has its title beside it")]
impl Code {
    pub const USAGE: Code = Code::new(400, "usage", "The request cannot be understood");
    pub const UNAUTHENTICATED: Code = Code::new(401, "unauthenticated", "Sign in first");
    pub const DENIED: Code = Code::new(403, "denied", "Not allowed");
    pub const NOT_FOUND: Code = Code::new(404, "not_found", "Not found");
    pub const METHOD: Code = Code::new(405, "method", "No such method here");
    pub const SLOW: Code = Code::new(408, "slow", "The request came too slowly");
    pub const CONFLICT: Code = Code::new(409, "conflict", "It is not in that state");
    pub const CHANGED: Code = Code::new(409, "changed", "It has changed meanwhile");
    pub const GONE: Code = Code::new(410, "gone", "It is no longer kept");
    pub const PRECONDITION: Code = Code::new(412, "precondition", "It is another one now");
    pub const TOO_LARGE: Code = Code::new(413, "too_large", "The request is too long");
    pub const MEDIA_TYPE: Code = Code::new(415, "media_type", "The body must be JSON");
    pub const RANGE: Code = Code::new(416, "range", "There are no such bytes");
    pub const MISDIRECTED: Code = Code::new(421, "misdirected", "This is another host");
    pub const INVALID: Code = Code::new(422, "invalid", "The content is wrong");
    pub const TOO_MANY: Code = Code::new(429, "too_many", "Too many");
    pub const FAILED: Code = Code::new(500, "failed", "It failed");
    pub const TEMPORARY: Code = Code::new(503, "temporary", "Not now");
}

impl Code {
    /// Those for which a request is not looked at.
    pub const REFUSALS: [Code; 6] =
        [Code::UNAUTHENTICATED, Code::DENIED, Code::SLOW, Code::TOO_LARGE, Code::MISDIRECTED, Code::TOO_MANY];

    const fn new(status: u16, name: &'static str, title: &'static str) -> Code {
        assert!(400 <= status, "it is an error");
        Code { status, name, title }
    }

    /// Whether it is one of those.
    pub fn is_refusal(self) -> bool {
        Code::REFUSALS.contains(&self)
    }

    /// The last part of its `type`.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Its status.
    pub fn status(self) -> StatusCode {
        StatusCode::from_u16(self.status).expect("the table has statuses of HTTP")
    }
}

/// Trouble with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Which kind.
    pub code: Code,
    /// For people.
    pub detail: String,
    /// In so many seconds it may be tried again.
    pub retry_after: Option<u32>,
    /// What may be asked here instead.
    pub allow: Option<String>,
    /// What is wrong in a text, each with its place.
    pub faults: Vec<Fault>,
}

impl Problem {
    /// Trouble of a kind.
    pub fn new(code: Code, detail: impl Into<String>) -> Problem {
        let retry_after = (code == Code::TEMPORARY).then_some(1);
        Problem { code, detail: detail.into(), retry_after, allow: None, faults: Vec::new() }
    }

    /// The same, which may be tried again in so many seconds.
    #[must_use]
    pub fn again_after(self, seconds: u32) -> Problem {
        Problem { retry_after: Some(seconds), ..self }
    }

    /// The answer that says so.
    pub fn response(&self) -> Response<Body> {
        let Code { status, name, title } = self.code;
        let document = Document {
            r#type: format!("urn:mainspring:problem:{name}"),
            title,
            status,
            detail: &self.detail,
            problems: &self.faults,
        };
        let text = serde_json::to_string(&document).expect("the document has text and numbers alone");
        let kind = [(CONTENT_TYPE, "application/problem+json")];
        let retry_after = self.retry_after.map(|seconds| [(RETRY_AFTER, HeaderValue::from(seconds))]);
        let allow = self.allow.as_ref().map(|allow| [(ALLOW, allow)]);
        (self.code.status(), kind, retry_after, allow, text).into_response()
    }
}

/// What the loop answers where it answers something else.
pub fn strange() -> Problem {
    Problem::new(Code::FAILED, "the server answers something else than was asked")
}

impl From<ErrorWire> for Problem {
    fn from(error: ErrorWire) -> Problem {
        let code = match error.kind {
            ErrorKind::Usage => Code::USAGE,
            ErrorKind::NotFound => Code::NOT_FOUND,
            ErrorKind::Conflict => Code::CONFLICT,
            ErrorKind::Invalid => Code::INVALID,
            ErrorKind::Denied => Code::DENIED,
            ErrorKind::Temporary => Code::TEMPORARY,
            ErrorKind::Failed => Code::FAILED,
        };
        Problem::new(code, error.message)
    }
}

/// RFC 9457. `detail` is the sentence that the command line prints.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(crate) struct Document<'p> {
    /// `urn:mainspring:problem:CODE`; CODE is usage, unauthenticated, denied, not_found, conflict, changed,
    /// ..
    r#type: String,
    title: &'static str,
    status: u16,
    detail: &'p str,
    /// 422 alone.
    #[serde(skip_serializing_if = "<[Fault]>::is_empty")]
    problems: &'p [Fault],
}

/// What is wrong with a text, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Fault {
    /// The path of the file, where files were sent; else null.
    pub path: Option<String>,
    /// From 1; null if the text is no file.
    pub line: Option<usize>,
    /// In characters, from 1.
    pub column: Option<usize>,
    /// The column after the last bad character.
    pub end_column: Option<usize>,
    /// The field of a JSON body, if the fault is in one: `work.process.run[0]`.
    pub field: Option<Cow<'static, str>>,
    /// How bad it is.
    #[schemars(extend("enum" = [Severity::Problem, Severity::Warning, Severity::Remark].map(Severity::name)))]
    pub severity: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
    /// The line as it stands in the file, shortened around the fault; null if there is none.
    pub excerpt: Option<String>,
}

impl Fault {
    /// A fault without a place.
    pub fn new(severity: Severity, message: impl Into<String>) -> Fault {
        Fault { severity: severity.name(), message: message.into(), ..Fault::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_of_the_server_keeps_its_sentence() {
        let problem = Problem::from(ErrorWire::new(ErrorKind::NotFound, "there is no job `x`"));
        assert_eq!((problem.code.status().as_u16(), problem.detail.as_str()), (404, "there is no job `x`"));
        let response = Problem::new(Code::TEMPORARY, "not now").response();
        assert_eq!(response.status(), 503);
        assert_eq!(response.headers()[RETRY_AFTER], "1");
        assert_eq!(response.headers()[CONTENT_TYPE], "application/problem+json");
    }
}
