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

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use mainspring_host::socket::connect;
use mainspring_server::protocol::{Answers, IdentifiedRequest, Power, Request, Response};
use schemars::JsonSchema;
use tokio::time::timeout;

use crate::body_stream::Sender;
use crate::call::{Call, Reply, text};
use crate::event_stream::BEAT;
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
            let (line, stream) = place(&call)?;
            let run = Request::Run { job, wait: false, due, key };
            let first = call.app.change(call.who()?, comment, run).await?;
            let Response::Planned { run } = &first else { return lines(&first, id) };
            let wait = Request::Wait { run: run.to_string() };
            Ok(waiting(line, stream, id, first, Some(wait)))
        }
        request if request.row().answers != Answers::One => {
            let (mut line, stream) = place(&call)?;
            // An error that comes at once is one of HTTP.
            let first = line.ask(Actor::default(), request).await?;
            Ok(waiting(line, stream, id, first, None))
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

/// An answer that is a stream, with its writing end.
type Stream = (Sender, axum::http::Response<Body>);

/// A connection of its own to the loop, and a place among the streams.
fn place(call: &Call) -> Result<(Connection, Stream), Problem> {
    let stream = call.stream()?;
    let gone = |_| Problem::new(Code::TEMPORARY, "the server is stopping");
    let line = connect(&call.app.data.socket()).map_err(gone)?;
    Ok((Connection::new(line).map_err(gone)?, stream))
}

/// Answers with what comes, as it comes: the first answer, and those that follow.
fn waiting(
    mut line: Connection,
    (sender, mut response): Stream,
    id: u64,
    first: Response,
    question: Option<Request>,
) -> axum::http::Response<Body> {
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(LINES));
    tokio::spawn(async move { tell(&mut line, &sender, id, first, question).await });
    response
}

/// Tells an answer, and then those to a question; without one those that follow to what was asked before.
async fn tell(
    line: &mut Connection,
    sender: &Sender,
    id: u64,
    first: Response,
    mut question: Option<Request>,
) {
    let mut response = first;
    loop {
        let is_last = question.is_none() && !matches!(response, Response::Line(_));
        if !sender.send(response.line(id)).await || is_last {
            return;
        }
        let mut next = pin!(async {
            match question.take() {
                Some(request) => line.ask(Actor::default(), request).await,
                None => line.next().await,
            }
        });
        response = loop {
            match sender.while_read(timeout(BEAT, next.as_mut())).await {
                Some(Ok(answer)) => break answer.unwrap_or_else(Response::Error),
                Some(Err(_)) if sender.send("\n".to_owned()).await => {}
                _ => return,
            }
        };
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
