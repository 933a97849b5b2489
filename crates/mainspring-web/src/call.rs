//! A request that has passed all checks, as a handler sees it, and what it may answer.
//!
//! Cost: none of its own.
//!
//! Does not check the caller: see [`guard`](crate::guard).

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::Query;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Response, StatusCode, Uri};
use axum::response::IntoResponse;
use jiff::Timestamp;
use mainspring_cron::TimeText;
use mainspring_exec::clock::Moment;
use mainspring_file::problem::Severity;
use mainspring_server::protocol::check_values;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::task::yield_now;

use crate::app::App;
use crate::body_stream::{Sender, flow};
use crate::guard::{Proof, is_signed_in};
use crate::memory_budget::SHORT_BYTES;
use crate::object::Object;
use crate::private::Private;
use crate::problem::{Code, Fault, Problem};
use crate::sending::Whole;
use crate::sessions::Principal;

/// What a handler answers.
pub type Reply = Result<Response<Body>, Problem>;

/// What a handler is, while it waits.
pub type Replying = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// A request.
#[derive(Clone, Debug)]
pub struct Call {
    /// The part of the address that the cookie of a session is for.
    pub private: Private,
    /// The parameters behind the question mark, which its route has.
    pub params: QueryParams,
    /// What all share.
    pub app: Arc<App>,
    /// The caller; `None` where anybody may.
    pub who: Option<Principal>,
    /// How that is known.
    pub proof: Option<Proof>,
    /// The names in the path of the route, with what stands there.
    pub parameters: HashMap<String, String>,
    /// The address.
    pub uri: Uri,
    /// What stands above the body.
    pub headers: HeaderMap,
    /// The body as a whole.
    pub body: Bytes,
    /// When it came.
    pub now: Moment,
}

/// The parameters behind the question mark.
#[derive(Clone, Debug, Default)]
pub struct QueryParams(HashMap<String, String>);

impl QueryParams {
    /// These, of which only those with a known name may be there, and each once.
    ///
    /// # Errors
    ///
    /// 400 for another one.
    pub fn of(
        pairs: impl IntoIterator<Item = (String, String)>,
        known: &[&str],
    ) -> Result<QueryParams, Problem> {
        let wrong = |text: String| Err(Problem::new(Code::USAGE, text));
        let mut found = HashMap::new();
        for (name, value) in pairs {
            if !known.contains(&name.as_str()) {
                let known = if known.is_empty() { "there is none here".to_owned() } else { known.join(", ") };
                let name: String = name.chars().take(40).collect();
                return wrong(format!("there is no parameter `{}`: {known}", name.escape_debug()));
            }
            if found.insert(name.clone(), value).is_some() {
                return wrong(format!("`{name}` stands there twice"));
            }
        }
        Ok(QueryParams(found))
    }

    /// One of them; an empty one is none.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// A number, at least 1 and at most `max`.
    ///
    /// # Errors
    ///
    /// 400 where it is none.
    pub fn number(&self, name: &str, default: usize, max: usize) -> Result<usize, Problem> {
        debug_assert!(default <= max, "the default is a number that may be asked for");
        let Some(text) = self.get(name) else { return Ok(default) };
        let wrong = || Problem::new(Code::USAGE, format!("`{name}` must be a number from 1 to {max}"));
        let number: usize = text.parse().map_err(|_| wrong())?;
        if (1..=max).contains(&number) { Ok(number) } else { Err(wrong()) }
    }

    /// A time, as every face reads one.
    ///
    /// # Errors
    ///
    /// 400 where it is none, and where it has neither an offset nor a zone.
    pub fn time(&self, name: &str) -> Result<Option<Timestamp>, Problem> {
        let found = self.get(name).map(|text| read_time(name, text)).transpose();
        found.map_err(|why| Problem::new(Code::USAGE, why))
    }

    /// Words with commas between.
    pub fn words(&self, name: &str) -> Vec<String> {
        self.get(name).map(|text| text.split(',').map(str::to_owned).collect()).unwrap_or_default()
    }
}

impl Call {
    /// What stands in the path under a name.
    pub fn parameter(&self, name: &str) -> &str {
        self.parameters.get(name).map_or("", String::as_str)
    }

    /// A reference to an address of this server, such as `api/v1/once/7`, from the one that was asked for. A
    /// client resolves it against the address that it asked (RFC 3986, 5.2), so it holds below any base of a
    /// proxy.
    pub fn link(&self, address: &str) -> String {
        let depth = self.uri.path().matches('/').count().saturating_sub(1);
        format!("{}{address}", "../".repeat(depth))
    }

    /// The caller, where the route says that it must be somebody.
    ///
    /// # Errors
    ///
    /// 401 where it is no user.
    pub fn who(&self) -> Result<&Principal, Problem> {
        self.who.as_ref().ok_or_else(|| Problem::new(Code::UNAUTHENTICATED, "sign in first"))
    }

    /// An answer that is a stream, for as long as the caller is signed in. It has a place among the streams
    /// until its writing end is dropped.
    ///
    /// # Errors
    ///
    /// 429 while there are as many streams as may be.
    pub fn stream(&self) -> Result<(Sender, Response<Body>), Problem> {
        let (app, who, proof) = (Arc::clone(&self.app), self.who()?.clone(), self.proof.clone());
        let slot = app.feed.slot(&who.identity)?;
        Ok(flow(move || {
            let _held = &slot;
            proof.as_ref().is_some_and(|proof| is_signed_in(&app, &who, proof))
        }))
    }

    /// How far a stream was when its client went away. A browser that comes back asks by the same address,
    /// and says it beside.
    pub fn resume_point(&self) -> Option<&str> {
        let last = self.headers.get("last-event-id").and_then(|id| id.to_str().ok());
        last.or(self.params.get("after"))
    }

    /// The body as a document. An empty one is `{}`.
    ///
    /// # Errors
    ///
    /// 422 where it is another one, has a field that is not known, or too many values.
    pub async fn document<T: DeserializeOwned + Send + 'static>(&self) -> Result<T, Problem> {
        self.read(document).await
    }

    /// What is in the body. A long one is read on a thread beside that of the listener.
    ///
    /// # Errors
    ///
    /// What `read` says.
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&[u8]) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        match &self.who {
            Some(who) if SHORT_BYTES < self.body.len() => {
                let body = self.body.clone();
                self.app.computations.run(&who.identity, move || read(&body)).await?
            }
            // A body of a client that has shown no identity is short.
            _ => read(&self.body),
        }
    }
}

/// A body as a document, which is an object. An empty one is `{}`.
///
/// # Errors
///
/// 422 as [`Call::document`], with the field that is wrong, or the place where it is no JSON.
pub fn document<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let wrong = |text| Problem::new(Code::INVALID, text);
    check_values(body).map_err(wrong)?;
    let body: &[u8] = if body.is_empty() { b"{}" } else { body };
    let mut reader = serde_json::Deserializer::from_slice(body);
    let Object(document) = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| misread(&error.path().to_string(), error.inner()))?;
    reader.end().map(|()| document).map_err(|error| misread(WHOLE, &error))
}

/// What `serde_path_to_error` calls the document itself.
const WHOLE: &str = ".";

/// What is wrong with a body: the field at this path, or the place where it stops being JSON.
fn misread(path: &str, error: &serde_json::Error) -> Problem {
    let text = error.to_string();
    if !error.is_data() {
        return Problem::new(Code::INVALID, format!("the body is not JSON: {text}"));
    }
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&place).unwrap_or(&text);
    if path == WHOLE {
        return Problem::new(Code::INVALID, text);
    }
    let fault = Fault { field: Some(path.to_owned().into()), ..Fault::new(Severity::Problem, text) };
    Problem { faults: vec![fault], ..Problem::new(Code::INVALID, format!("`{path}`: {text}")) }
}

/// A time in the field of this name, as every face reads one.
///
/// # Errors
///
/// What is wrong with it.
pub fn read_time(name: &str, text: &str) -> Result<Timestamp, String> {
    TimeText::instant(text).map_err(|error| format!("`{name}` must be a time in RFC 3339: {error}"))
}

/// The parameters of an address, of which only these are known.
///
/// # Errors
///
/// 400 for another one, and for one that stands there twice.
pub fn parameters(uri: &Uri, known: &[&str]) -> Result<QueryParams, Problem> {
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri)
        .map_err(|_| Problem::new(Code::USAGE, "what follows the question mark cannot be read"))?;
    QueryParams::of(pairs, known)
}

/// A document as an answer.
///
/// # Errors
///
/// None; it is what handlers return.
pub fn json(status: StatusCode, document: &impl Serialize) -> Reply {
    Ok((status, text("application/json", written(document)?)).into_response())
}

/// So many rows of a list are made at once: a file is read for each.
const ROWS_AT_ONCE: usize = 50;

/// Lets other requests be answered after each so many rows of a list.
pub async fn after_row(index: usize) {
    if index % ROWS_AT_ONCE == ROWS_AT_ONCE - 1 {
        yield_now().await;
    }
}

/// The text of a document.
///
/// # Errors
///
/// 500 where a document has a key that is no text: none has.
pub fn written(document: &impl Serialize) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec(document)
        .map_err(|error| Problem::new(Code::FAILED, format!("the answer cannot be written: {error}")))
}

/// A document, with status 200.
///
/// # Errors
///
/// As [`json`].
pub fn ok(document: &impl Serialize) -> Reply {
    json(StatusCode::OK, document)
}

/// Text with a type, for this client alone.
pub fn text(media_type: &'static str, body: impl Into<Bytes>) -> Response<Body> {
    (Extension(Whole), shared(media_type, body)).into_response()
}

/// Text with a type that is in memory once for all clients.
pub fn shared(media_type: &'static str, body: impl Into<Bytes>) -> Response<Body> {
    ([(CONTENT_TYPE, media_type)], body.into()).into_response()
}

/// No content.
pub fn nothing() -> Response<Body> {
    StatusCode::NO_CONTENT.into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::Pool;
    use crate::scope::Scope;
    use crate::scratch;
    use crate::sessions::Identity;
    use crate::settings::Settings;
    use jiff::tz::TimeZone;
    use mainspring_server::data_directory::DataDirectory;
    use std::thread::{self, ThreadId};

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Item {
        #[expect(dead_code, reason = "only its shape matters")]
        name: String,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Batch {
        #[expect(dead_code, reason = "only its shape matters")]
        items: Vec<Item>,
    }

    fn call(body: Vec<u8>) -> Call {
        let folder = scratch::path("call");
        let data = DataDirectory::find(Some(&folder));
        let app = App::new(Settings::default(), data, TimeZone::UTC, Pool::new(Vec::new())).unwrap();
        Call {
            private: Private::default(),
            params: QueryParams::default(),
            app: Arc::new(app),
            who: Some(Principal { identity: Identity::Local, scope: Scope::Look }),
            proof: None,
            parameters: HashMap::new(),
            uri: Uri::from_static("/"),
            headers: HeaderMap::new(),
            body: body.into(),
            now: Moment::now(),
        }
    }

    #[test]
    fn a_reference_leads_from_the_address_that_was_asked_for() {
        let mut call = call(Vec::new());
        for (path, wanted) in [("/", "api/v1/once/7"), ("/api/v1/jobs/a/run", "../../../../api/v1/once/7")] {
            call.uri = Uri::from_static(path);
            assert_eq!(call.link("api/v1/once/7"), wanted);
        }
    }

    #[test]
    fn what_is_wrong_with_a_body_is_told_by_its_field_and_of_what_is_no_json_by_its_place() {
        for (body, field, detail) in [
            (
                r#"{"items": [{"name": "a"}, {"name": 7}]}"#,
                Some("items[1].name"),
                "`items[1].name`: invalid type: integer `7`, expected a string",
            ),
            (
                r#"{"items": [{"name": "a", "nome": 1}]}"#,
                Some("items[0].nome"),
                "`items[0].nome`: unknown field `nome`, expected `name`",
            ),
            (r#"{"items": [{}]}"#, Some("items[0]"), "`items[0]`: missing field `name`"),
            ("", None, "missing field `items`"),
            ("[7]\n", None, "invalid type: sequence, expected an object"),
            ("items=a", None, "the body is not JSON: expected value at line 1 column 1"),
            ("{\"items\": [\n", None, "the body is not JSON: EOF while parsing a list at line 2 column 0"),
            ("{\"items\": []} x", None, "the body is not JSON: trailing characters at line 1 column 15"),
        ] {
            let refused = document::<Batch>(body.as_bytes()).unwrap_err();
            let found = refused.faults.first().and_then(|fault| fault.field.as_deref());
            assert_eq!(
                (refused.code, found, refused.detail.as_str()),
                (Code::INVALID, field, detail),
                "{body}"
            );
        }
    }

    #[test]
    fn a_long_body_is_read_beside_the_listener() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let thread_of = async |length: usize| -> ThreadId {
                let read = |_: &[u8]| Ok(thread::current().id());
                call(vec![b' '; length]).read(read).await.unwrap()
            };
            let listener = thread::current().id();
            assert_eq!(thread_of(SHORT_BYTES).await, listener, "a short one at once");
            assert_ne!(thread_of(SHORT_BYTES + 1).await, listener);
        });
    }

    #[test]
    fn a_body_with_more_values_than_may_be_is_refused_before_one_of_them_is_made() {
        let body = format!("[{}", "1,".repeat(mainspring_server::protocol::MAX_VALUES));
        let refused = document::<Vec<u8>>(body.as_bytes()).unwrap_err();
        assert_eq!(refused.code, Code::INVALID);
        assert!(refused.detail.contains("values"), "{}", refused.detail);
        assert_eq!(
            document::<HashMap<String, String>>(b""),
            Ok(HashMap::new()),
            "an empty one is a document"
        );
    }
}
