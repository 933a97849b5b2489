//! The requests of the command line: one document of the socket's protocol, whose answers come a line each.
//!
//! ```text
//! POST {"command": "run", "job": "backup", "wait": true}
//!   ─▶ {"id":0,"planned":{"run":..}}     at once
//!      an empty line                      each 15 s, so that neither side takes the other for gone
//!      {"id":0,"ended":{..}}              when the run has ended
//! ```
//!
//! So `--url` gives every command what the socket gives it, from the same code. What can be asked needs the
//! scope that [`scope_of`] says; the caller is known by the token, whatever the document says.
//!
//! Cost: a question of the loop. One that waits has a connection to the loop of its own, and a place among
//! the streams.
//!
//! Does not read files of the client: the command line sends what is in them.

use std::pin::pin;

use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use mainspring_host::socket::connect;
use mainspring_server::protocol::{Answers, IdentifiedRequest, Power, Request, Response};
use schemars::JsonSchema;
use tokio::time::timeout;

use super::log::too_many_streams;
use crate::body_stream::Sender;
use crate::call::{Call, Reply, text};
use crate::event_stream::{BEAT, EventStream, StreamSlot};
use crate::guard::check_scope;
use crate::pool::{Actor, Connection};
use crate::problem::{Code, Problem};
use crate::scope::Scope;

/// A document of the protocol of the socket: the name of a command, and its arguments.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is a shape")]
pub(crate) struct RequestParams {
    command: String,
    #[serde(default)]
    id: u64,
}

/// The media type of lines of JSON.
const LINES: &str = "application/x-ndjson";

/// What a request needs; `None` for what the server's own listener alone may ask, or who is at the machine.
pub fn scope_of(request: &Request) -> Option<Scope> {
    match request.row().power {
        Power::Looks => Some(Scope::Look),
        Power::Operates => Some(Scope::Operate),
        Power::Defines => Some(Scope::Define),
        Power::Local | Power::Listener => None,
    }
}

/// Answers a request of the command line.
///
/// # Errors
///
/// 400 if it is none, 403 without its scope, 429 while there are as many streams as may be, and what the loop
/// says.
pub async fn answer(call: Call) -> Reply {
    let IdentifiedRequest { id, request, actor: _, comment } = call.read(parse).await?;
    let here = || Problem::new(Code::DENIED, "that is asked on the machine of the server alone");
    let scope = scope_of(&request).ok_or_else(here)?;
    check_scope(&call.app, call.who()?, scope)?;
    match request {
        Request::Run { job, wait: true, due, key } => {
            // First, because a run that has started is not taken back.
            let place = place(&call)?;
            let run = Request::Run { job, wait: false, due, key };
            let first = call.app.change(call.who()?, comment, run).await?;
            let Response::Planned { run } = &first else { return lines(&first, id) };
            let wait = Request::Wait { run: run.to_string() };
            waiting(&call, place, id, Some(first), wait).await
        }
        request if request.row().answers != Answers::One => {
            waiting(&call, place(&call)?, id, None, request).await
        }
        request if scope == Scope::Look => lines(&call.app.pool.look(request).await?, id),
        request => lines(&call.app.change(call.who()?, comment, request).await?, id),
    }
}

fn parse(body: &[u8]) -> Result<IdentifiedRequest, Problem> {
    IdentifiedRequest::read(body).map_err(Problem::from)
}

/// Reads a body.
///
/// # Errors
///
/// 400 as [`answer`].
pub(crate) fn read(body: &[u8]) -> Result<(), Problem> {
    parse(body).map(drop)
}

fn lines(response: &Response, id: u64) -> Reply {
    Ok(text(LINES, response.line(id)))
}

/// A place among the streams, and a connection of its own to the loop.
fn place(call: &Call) -> Result<(StreamSlot, Connection), Problem> {
    let slot = EventStream::slot(&call.app.feed, &call.who()?.identity).ok_or_else(too_many_streams)?;
    let gone = |_| Problem::new(Code::TEMPORARY, "the server is stopping");
    let stream = connect(&call.app.data.socket()).map_err(gone)?;
    Ok((slot, Connection::new(stream).map_err(gone)?))
}

/// Answers with what comes, as it comes.
async fn waiting(
    call: &Call,
    (slot, mut line): (StreamSlot, Connection),
    id: u64,
    first: Option<Response>,
    request: Request,
) -> Reply {
    // An error that comes at once is one of HTTP.
    let next = match &first {
        None => Some(line.ask(Actor::default(), request.clone()).await?),
        Some(_) => None,
    };
    let (sender, mut response) = call.stream();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(LINES));
    tokio::spawn(async move {
        tell(&mut line, id, [first, next], request, &sender).await;
        drop(slot);
    });
    Ok(response)
}

async fn tell(
    line: &mut Connection,
    id: u64,
    known: [Option<Response>; 2],
    request: Request,
    sender: &Sender,
) {
    let is_asked = known[1].is_some();
    for response in known.into_iter().flatten() {
        let is_last = is_asked && !matches!(response, Response::Line(_));
        if !sender.send(response.line(id)).await || is_last {
            return;
        }
    }
    let mut question = Some(request).filter(|_| !is_asked);
    loop {
        let response = {
            let mut next = pin!(async {
                match question.take() {
                    Some(request) => line.ask(Actor::default(), request).await,
                    None => line.next().await,
                }
            });
            loop {
                match sender.while_read(timeout(BEAT, next.as_mut())).await {
                    Some(Ok(response)) => break response,
                    Some(Err(_)) if sender.send("\n".to_owned()).await => {}
                    _ => return,
                }
            }
        };
        let response = response.unwrap_or_else(Response::Error);
        if !sender.send(response.line(id)).await || !matches!(response, Response::Line(_)) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_a_command_needs_to_define_and_what_signs_in_is_not_asked_from_elsewhere() {
        let submit = serde_json::from_str(r#"{"command":"submit","due":"2100-01-01T00:00:00Z"}"#).unwrap();
        assert_eq!(scope_of(&submit), Some(Scope::Define));
        assert_eq!(
            scope_of(&Request::Apply { files: Vec::new(), prune: false, preview: true }),
            Some(Scope::Define)
        );
        assert_eq!(
            scope_of(&Request::Pause(mainspring_server::protocol::PauseWire::default())),
            Some(Scope::Operate)
        );
        assert_eq!(scope_of(&Request::Status), Some(Scope::Look));
        assert_eq!((scope_of(&Request::LoginCode), scope_of(&Request::Watch)), (None, None));
    }
}
