//! The last steps before an answer is sent: the tag of what is in it, and room for it.
//!
//! ```text
//! answer ─▶ a document that was asked for: its tag, or 304 ─▶ in memory as a whole: room for its bytes ─▶ hyper
//! ```
//!
//! Cost: a hash of a document that was asked for. That of a long one is made in pieces, and others are
//! answered between them.
//!
//! Does not send.

use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use sha2::{Digest, Sha256};
use tokio::task::yield_now;

use crate::memory_budget::MemoryBudget;
use crate::problem::Problem;
use crate::sessions::Identity;
use crate::tokens::{HASH_CHARS, hexadecimal};

/// How many characters of a hash are a tag: enough that no two are the same by chance.
pub const TAG_CHARS: usize = 32;

const _: () = assert!(TAG_CHARS <= HASH_CHARS);

/// How much is hashed at a time: a millisecond where the processor has no instructions for it.
const PIECE_BYTES: usize = 256 << 10;

/// Marks an answer that is in memory as a whole and for its client alone: until it is sent it takes the room
/// of its identity.
#[derive(Clone, Copy, Debug)]
pub struct Whole;

/// What a client has asked with, as far as it decides how its answer is sent.
#[derive(Clone, Debug, Default)]
pub struct SendOptions {
    /// Whether it has asked for a document, and not for a deed.
    pub is_look: bool,
    /// The tags that it has already.
    pub known: Option<HeaderValue>,
}

impl SendOptions {
    /// That of a request.
    pub fn new(method: &Method, headers: &HeaderMap) -> SendOptions {
        SendOptions { is_look: method == Method::GET, known: headers.get(IF_NONE_MATCH).cloned() }
    }

    /// Whether the client has an answer with this tag.
    fn has(&self, tag: &str) -> bool {
        let known = self.known.as_ref().and_then(|known| known.to_str().ok());
        known.is_some_and(|known| known.split(',').any(|known| plain(known) == tag))
    }
}

/// A tag without the mark of a proxy that has packed the answer.
fn plain(tag: &str) -> &str {
    let tag = tag.trim();
    tag.strip_prefix("W/").unwrap_or(tag)
}

/// The answer as it is sent.
///
/// # Errors
///
/// 429 and 503 where there is no room for it.
pub async fn prepared(
    budget: &Arc<MemoryBudget>,
    owner: Option<&Identity>,
    wanted: &SendOptions,
    response: Response<Body>,
) -> Result<Response<Body>, Problem> {
    let (mut parts, body) = response.into_parts();
    let is_whole = parts.extensions.remove::<Whole>().is_some();
    let kind = parts.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let is_document = parts.status == StatusCode::OK && kind == Some(b"application/json");
    let is_tagged = wanted.is_look && is_document;
    if !is_whole && !is_tagged {
        return Ok(Response::from_parts(parts, body));
    }
    // It is one piece: nothing is copied.
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    if is_tagged && !parts.headers.contains_key(ETAG) {
        let tag = tag_of(&bytes).await;
        parts.headers.extend(HeaderValue::from_str(&tag).ok().map(|tag| (ETAG, tag)));
        if wanted.has(&tag) {
            parts.status = StatusCode::NOT_MODIFIED;
            parts.headers.remove(CONTENT_TYPE);
            return Ok(Response::from_parts(parts, Body::empty()));
        }
    }
    let bytes = if is_whole { MemoryBudget::take(budget, owner, bytes.len())?.hold(bytes) } else { bytes };
    Ok(Response::from_parts(parts, Body::from(bytes)))
}

async fn tag_of(bytes: &Bytes) -> String {
    let mut hash = Sha256::new();
    for (index, piece) in bytes.chunks(PIECE_BYTES).enumerate() {
        if 0 < index {
            yield_now().await;
        }
        hash.update(piece);
    }
    format!("\"{}\"", &hexadecimal(&hash.finalize())[..TAG_CHARS])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_budget::MAX_IDENTITY_BYTES;
    use crate::problem::Code;
    use crate::tokens::hash;
    use std::cell::Cell;
    use std::rc::Rc;

    fn whole(kind: &'static str, text: String) -> Response<Body> {
        let mut response = Response::new(Body::from(text));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        response.extensions_mut().insert(Whole);
        response
    }

    fn run<F: Future>(future: F) -> F::Output {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, future)
    }

    #[test]
    fn a_document_has_the_tag_of_its_text_and_is_not_sent_to_a_client_that_has_it() {
        run(async {
            let budget = Arc::new(MemoryBudget::default());
            let document = "x".repeat(3 * PIECE_BYTES);
            let send = async |known: Option<HeaderValue>| {
                let wanted = SendOptions { is_look: true, known };
                prepared(&budget, None, &wanted, whole("application/json", document.clone())).await.unwrap()
            };
            let first = send(None).await;
            let tag = first.headers()[ETAG].clone();
            assert_eq!(tag.to_str().unwrap().trim_matches('"'), &hash(&document)[..TAG_CHARS]);
            let again = send(Some(tag)).await;
            assert_eq!(
                (again.status(), again.headers().contains_key(CONTENT_TYPE)),
                (StatusCode::NOT_MODIFIED, false)
            );
        });
    }

    #[test]
    fn others_are_answered_while_a_long_answer_is_hashed() {
        run(async {
            let turns = Rc::new(Cell::new(0));
            let counted = Rc::clone(&turns);
            tokio::task::spawn_local(async move {
                loop {
                    counted.set(counted.get() + 1);
                    yield_now().await;
                }
            });
            tag_of(&Bytes::from(vec![b'x'; 10 * PIECE_BYTES])).await;
            assert!(9 <= turns.get(), "{} turns of others", turns.get());
        });
    }

    #[test]
    fn an_answer_waits_in_the_room_of_its_identity_and_one_that_all_share_in_none() {
        run(async {
            let budget = Arc::new(MemoryBudget::default());
            let [mara, ada] = ["mara", "ada"].map(|name| Identity::Proxy(name.to_owned()));
            let wanted = SendOptions::default();
            let long = || whole("text/plain", "x".repeat(MAX_IDENTITY_BYTES / 4));
            let mut waiting = Vec::new();
            for _ in 0..4 {
                waiting.push(prepared(&budget, Some(&mara), &wanted, long()).await.unwrap());
            }
            let refused = prepared(&budget, Some(&mara), &wanted, long()).await.unwrap_err();
            assert_eq!((refused.code, refused.retry_after.is_some()), (Code::TOO_MANY, true));
            assert!(prepared(&budget, Some(&mara), &wanted, refused.response()).await.is_ok());
            assert!(prepared(&budget, Some(&ada), &wanted, long()).await.is_ok());
            let shared = Response::new(Body::from("x".repeat(MAX_IDENTITY_BYTES / 4)));
            assert!(prepared(&budget, Some(&mara), &wanted, shared).await.is_ok());
            // A client that goes away takes its answer with it.
            waiting.pop();
            assert!(prepared(&budget, Some(&mara), &wanted, long()).await.is_ok());
        });
    }
}
