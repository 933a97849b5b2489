//! Serves the output of runs: as bytes, in ranges, and as it comes.
//!
//! ```text
//! GET output           all of it, the last lines of it, or a range: read from the file as it is sent
//! GET output/events    whole lines from an offset on, until the run has ended
//! ```
//!
//! Cost: a read for each piece; a follower looks at the length of the file four times a second, and once a
//! second whether the run has ended.
//!
//! Does not change a byte: what a run wrote is text here, and the page shows it as text.

use std::fs::File;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, RANGE};
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use mainspring_exec::output::MAX_OUTPUT_LINE_BYTES;
use mainspring_server::protocol::RunWire;
use serde_json::json;
use tokio::time::sleep;

use super::runs::found;
use crate::body_stream::{MAX_WAITING_BYTES, Sender};
use crate::call::{Call, Reply};
use crate::event_stream::{BEAT, plain};
use crate::pool::asking_for;
use crate::problem::{Code, Problem};
use crate::tail::{body_of, lines_of_attempt, read_at, start_of_lines};
use crate::view::{is_open, is_output_removed, output_path};

/// How many lines may be asked for from the end.
const MAX_TAIL_LINES: usize = 10_000;

/// The greatest number of an attempt.
const MAX_ATTEMPT: usize = u32::MAX as usize;

/// How much of the end is looked at for them.
const MAX_TAIL_BYTES: u64 = 256 << 10;

const _: () =
    assert!(2 * MAX_OUTPUT_LINE_BYTES as u64 <= MAX_TAIL_BYTES, "a whole line is in it, wherever it is cut");

/// How much one event of a follower carries at most.
const MAX_PIECE_BYTES: u64 = 64 << 10;

const _: () = assert!(MAX_OUTPUT_LINE_BYTES as u64 <= MAX_PIECE_BYTES, "a line of a run is told as a whole");
const _: () =
    assert!(6 * MAX_PIECE_BYTES <= MAX_WAITING_BYTES as u64, "a piece of control characters has room");

/// How often a follower looks whether there is more.
const LOOK: Duration = Duration::from_millis(250);

/// After so many looks it asks whether the run has ended.
const LOOKS_PER_QUESTION: u32 = 4;

/// After so many looks without anything it says that it is still there.
const LOOKS_PER_BEAT: u32 = 60;

const _: () = assert!(LOOK.as_millis() * LOOKS_PER_BEAT as u128 == BEAT.as_millis());

/// Why there is no output of a run whose file was removed.
const REMOVED: &str = "the output of this run is not kept any more: newer output has taken its place";

/// The file of a run's output; `None` if it has written nothing.
///
/// # Errors
///
/// 410 if it is not kept any more.
fn open(call: &Call, run: &RunWire) -> Result<Option<File>, Problem> {
    match File::open(output_path(&call.app, run)) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            if !is_open(run) && is_output_removed(&call.app, run) {
                return Err(Problem::new(Code::GONE, REMOVED));
            }
            Ok(None)
        }
        Err(error) => Err(Problem::new(Code::FAILED, format!("the output cannot be read: {error}"))),
    }
}

/// What a range of bytes asks for, of so many.
fn range(text: &str, length: u64) -> Option<Result<(u64, u64), ()>> {
    let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    let number = |text: &str| text.parse::<u64>().ok();
    let found = match (first.is_empty(), last.is_empty()) {
        (true, false) => (length.saturating_sub(number(last)?), length),
        (false, true) => (number(first)?, length),
        (false, false) => (number(first)?, number(last)?.saturating_add(1).min(length)),
        (true, true) => return None,
    };
    debug_assert!(found.1 <= length, "no byte behind the end is sent");
    Some(if found.0 < found.1 { Ok(found) } else { Err(()) })
}

/// What a run wrote: all, the lines of an attempt, the last lines, or a range.
///
/// # Errors
///
/// 404 if there is no such run or attempt, 410 if its output is not kept any more, 416 for a range that is
/// not there.
pub async fn output(call: Call) -> Reply {
    let params = &call.params;
    let tail = params.get("tail").map(|_| params.number("tail", 1, MAX_TAIL_LINES)).transpose()?;
    let attempt = params.get("attempt").map(|_| params.number("attempt", 1, MAX_ATTEMPT)).transpose()?;
    let attempt = attempt.and_then(|attempt| u32::try_from(attempt).ok());
    let run = found(&call).await?.run;
    if let Some(attempt) = attempt.filter(|attempt| run.attempt < *attempt) {
        return Err(Problem::new(Code::NOT_FOUND, format!("there is no attempt {attempt} of that run")));
    }
    let failed =
        |error: std::io::Error| Problem::new(Code::FAILED, format!("the output cannot be read: {error}"));
    let last_lines = |file: &File, to, lines| start_of_lines(file, to, lines, MAX_TAIL_BYTES).map_err(failed);
    let Some(file) = open(&call, &run)? else { return Ok(part(&run, Body::empty(), 0)) };
    let length = file.metadata().map_err(failed)?.len();
    if let Some(attempt) = attempt {
        // Elsewhere: a long file is read once from its beginning.
        let search = move || Ok((lines_of_attempt(&file, attempt)?, file));
        let found = call.app.computations.run(&call.who()?.identity, search).await?;
        let ((from, to), file) = found.map_err(failed)?;
        let start = match tail {
            Some(lines) if from < to => last_lines(&file, to, lines)?.max(from),
            _ => from,
        };
        let left_out = [("x-left-out", HeaderValue::from(start - from))];
        return Ok((left_out, part(&run, body_of(file, start, to), to - start)).into_response());
    }
    let wanted =
        call.headers.get(RANGE).and_then(|value| value.to_str().ok()).and_then(|text| range(text, length));
    let (from, to) = match (wanted, tail) {
        (Some(Ok(wanted)), _) => wanted,
        (Some(Err(())), _) => {
            let refusal = Problem::new(Code::RANGE, format!("there are {length} bytes")).response();
            return Ok(([(CONTENT_RANGE, format!("bytes */{length}"))], refusal).into_response());
        }
        (None, Some(lines)) if 0 < length => (last_lines(&file, length, lines)?, length),
        (None, _) => return Ok(part(&run, body_of(file, 0, length), length)),
    };
    debug_assert!(from <= to, "the body is as long as its header says");
    debug_assert!(to <= length);
    let range = [(CONTENT_RANGE, format!("bytes {from}-{}/{length}", to.saturating_sub(1)))];
    let response = part(&run, body_of(file, from, to), to - from);
    Ok((StatusCode::PARTIAL_CONTENT, range, response).into_response())
}

fn part(run: &RunWire, body: Body, count: u64) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(count));
    headers.insert("x-complete", HeaderValue::from_static(if is_open(run) { "false" } else { "true" }));
    response
}

/// What a run writes, as it comes.
///
/// # Errors
///
/// 404 if there is no such run, 410 if its output is not kept any more, 429 while there are as many streams
/// as may be.
pub async fn follow(call: Call) -> Reply {
    let after = call.resume_point().unwrap_or("0").parse::<u64>();
    let after = after.map_err(|_| Problem::new(Code::USAGE, "`after` must be a number"))?;
    let run = found(&call).await?.run;
    open(&call, &run)?;
    let (sender, response) = call.stream()?;
    let owner = Some(call.who()?.identity.clone());
    tokio::spawn(asking_for(owner, async move { follow_file(&call, run, after, sender).await }));
    Ok(response)
}

async fn follow_file(call: &Call, mut run: RunWire, after: u64, sender: Sender) {
    let (mut at, mut looks) = (after, 0_u32);
    loop {
        // Whether it is over is asked before the file is looked at, so that nothing is left in it.
        if looks.is_multiple_of(LOOKS_PER_QUESTION) && is_open(&run) {
            match found(call).await {
                Ok(found) => run = found.run,
                Err(_) => return,
            }
        }
        let mut has_more = false;
        if let Ok(Some(file)) = open(call, &run) {
            let Ok(length) = file.metadata().map(|found| found.len()) else { return };
            let Ok(bytes) = read_at(&file, at, length.saturating_sub(at).min(MAX_PIECE_BYTES)) else {
                return;
            };
            let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
            // A line that is longer than a piece is told in pieces.
            let taken = if whole == 0 && bytes.len() as u64 == MAX_PIECE_BYTES { bytes.len() } else { whole };
            if 0 < taken {
                at += taken as u64;
                let text = String::from_utf8_lossy(&bytes[..taken]);
                let event = format!("id: {at}\n{}", plain("text", &json!({ "text": text })));
                if !sender.send(event).await {
                    return;
                }
                has_more = at < length;
            }
        }
        if has_more {
            continue;
        }
        if !is_open(&run) {
            sender.send(plain("end", &json!({ "state": run.state }))).await;
            return;
        }
        if call.app.feed.is_ending() {
            return;
        }
        looks += 1;
        if looks.is_multiple_of(LOOKS_PER_BEAT) && !sender.send(": still there\n\n".to_owned()).await {
            return;
        }
        if sender.while_read(sleep(LOOK)).await.is_none() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_http_has_them() {
        assert_eq!(range("bytes=0-3", 10), Some(Ok((0, 4))));
        assert_eq!(range("bytes=4-", 10), Some(Ok((4, 10))));
        assert_eq!(range("bytes=-3", 10), Some(Ok((7, 10))));
        assert_eq!(range("bytes=-30", 10), Some(Ok((0, 10))));
        assert_eq!(range("bytes=4-400", 10), Some(Ok((4, 10))));
        assert_eq!(range("bytes=10-", 10), Some(Err(())));
        assert_eq!(range("bytes=3-2", 10), Some(Err(())));
        for strange in ["bytes=-", "bytes=a-b", "lines=0-1", "bytes=0-1,3-4", ""] {
            assert_eq!(range(strange, 10), None, "{strange}");
        }
    }
}
