//! Requests with several answers, over the database, which passes one on for each.
//!
//! | request | is asked as | until |
//! |---|---|---|
//! | `logs` | `logs` without `follow`, whose lines come as one reply; again each second if it follows | the run is over; of a job, for ever |
//! | `run` with `wait` | `run`, then whether the run is over, each second | it is |
//! | `wait` | whether the run is over, each second | it is |
//!
//! Cost: a request through the database each second, as long as somebody waits.
//!
//! Does not pass on more than the last [`MAX_REPLY_BYTES`] of an output at a time: a note stands for what was
//! before.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use mainspring_exec::clock::Moment;
use mainspring_host::net::{AsFd, LocalStream};
use mainspring_job::RunKey;
use serde::{Deserialize, Serialize};

use mainspring_server::error::Error;
use mainspring_server::protocol::{
    Answers, Done, ErrorKind, ErrorWire, FoundWire, LineWire, Request, Response,
};
use mainspring_server::server::read_only_backend::ReadOnlyBackend;
use mainspring_server::waiting::{is_left, wait_for_any};

/// How much of an output one reply has: some screens, and little for a table.
const MAX_REPLY_BYTES: usize = 256 << 10;

/// How often it is asked again.
const INTERVAL: Duration = Duration::from_secs(1);

/// An answer that says that it may be another one later.
pub(super) fn temporary(message: String) -> Response {
    ErrorWire::response(ErrorKind::Temporary, message)
}

/// Whether a request has several answers.
pub(super) fn has_several(request: &Request) -> bool {
    request.row().answers != Answers::One
}

/// The last lines of an output, as far as one reply has room for them.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LogsReply {
    /// How many lines stand before these.
    left_out: usize,
    lines: VecDeque<LineWire>,
    /// Whether there will be no more.
    is_over: bool,
    /// How long the lines are, in bytes.
    #[serde(skip)]
    bytes: usize,
}

impl LogsReply {
    fn push(&mut self, line: LineWire) {
        self.bytes += line.text.len();
        self.lines.push_back(line);
        while MAX_REPLY_BYTES < self.bytes
            && let Some(first) = self.lines.pop_front()
        {
            self.bytes -= first.text.len();
            self.left_out += 1;
        }
        debug_assert!(self.bytes <= MAX_REPLY_BYTES, "the bytes are those of the lines");
    }

    fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// What the database has of an output.
///
/// # Errors
/// What is said instead.
pub(super) fn logs_of(backend: &mut ReadOnlyBackend<'_>, of: &str) -> Result<String, Error> {
    let is_over = !is_run(of) || is_end(&backend.ask(&Request::Find { run: of.to_owned() })?);
    let mut gathered = LogsReply { is_over, ..LogsReply::default() };
    backend.logs(of, &mut |response| {
        if let Response::Line(line) = response {
            gathered.push(line);
        }
        Ok(())
    })?;
    Ok(gathered.text())
}

/// Whether it names a run: a job may have an `@` in its name as well.
fn is_run(of: &str) -> bool {
    of.parse::<RunKey>().is_ok()
}

/// Whether it is a run that is over.
fn is_end(response: &Response) -> bool {
    matches!(response, Response::Found(found) if is_over(found))
}

fn is_over(found: &FoundWire) -> bool {
    found.run.state.known().is_some_and(|state| !state.is_open())
}

/// Gives all answers to a request, for each of which `ask` has a reply, to a client.
///
/// # Errors
/// When the client has gone.
pub(super) fn answer(
    request: &Request,
    mut ask: impl FnMut(&Request) -> String,
    client: &LocalStream,
    mut give: impl FnMut(Response) -> io::Result<()>,
) -> io::Result<()> {
    let read = |text: &str| {
        serde_json::from_str::<Response>(text).unwrap_or_else(|error| temporary(error.to_string()))
    };
    match request {
        Request::Logs { of, follow } => {
            let (mut run, mut shown_count) = (String::new(), 0);
            loop {
                let text = ask(&Request::Logs { of: of.clone(), follow: false });
                let Ok(reply) = serde_json::from_str::<LogsReply>(&text) else { return give(read(&text)) };
                let of_run = reply.lines.front().map_or_else(|| run.clone(), |line| line.run.clone());
                if of_run != run {
                    (run, shown_count) = (of_run, 0);
                }
                if shown_count < reply.left_out {
                    give(left_out(&reply, reply.left_out - shown_count))?;
                }
                let end = reply.left_out + reply.lines.len();
                for line in reply.lines.into_iter().skip(shown_count.saturating_sub(reply.left_out)) {
                    give(Response::Line(line))?;
                }
                shown_count = shown_count.max(end);
                if !follow || is_run(of) && reply.is_over {
                    return give(Response::Done(Done {}));
                }
                pause(client)?;
            }
        }
        Request::Run { job, wait: true, due, key } => {
            let (due, key) = (due.clone(), key.clone());
            let begun = read(&ask(&Request::Run { job: job.clone(), wait: false, due, key }));
            let Response::Planned { run } = begun else { return give(begun) };
            give(Response::Planned { run: run.clone() })?;
            give_end(&run.to_string(), |request| read(&ask(request)), client, give)
        }
        Request::Wait { run } => give_end(run, |request| read(&ask(request)), client, give),
        other => give(read(&ask(other))),
    }
}

/// Waits for the end of a run.
fn give_end(
    run: &str,
    mut ask: impl FnMut(&Request) -> Response,
    client: &LocalStream,
    mut give: impl FnMut(Response) -> io::Result<()>,
) -> io::Result<()> {
    loop {
        match ask(&Request::Find { run: run.to_owned() }) {
            Response::Found(found) if is_over(&found) => return give(Response::Ended(Box::new(found.run))),
            Response::Found(_) => pause(client)?,
            other => return give(other),
        }
    }
}

/// What stands for lines that were not passed on.
fn left_out(reply: &LogsReply, count: usize) -> Response {
    let first = reply.lines.front();
    Response::Line(LineWire {
        run: first.map(|line| line.run.clone()).unwrap_or_default(),
        attempt: first.map_or(1, |line| line.attempt),
        time: first.map(|line| line.time.clone()).unwrap_or_default(),
        stream: "note".to_owned(),
        goes_on: false,
        text: format!("{count} lines before these are at the server that ran it"),
    })
}

/// Waits for the next time to ask. A client that has gone is an error.
fn pause(client: &LocalStream) -> io::Result<()> {
    let began = Moment::now();
    loop {
        if is_left(client.as_fd()) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let left = INTERVAL.saturating_sub(Moment::now().since(began));
        if left.is_zero() {
            return Ok(());
        }
        wait_for_any(&[], &[], &[client.as_fd()], Some(left))?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_job::{Cause, Run, RunState};
    use mainspring_server::protocol::RunWire;

    const RUN: &str = "a@2026-11-21T03:00:00Z";

    fn line(run: &str, text: &str) -> LineWire {
        let (run, text) = (run.to_owned(), text.to_owned());
        let (time, stream) = ("2026-11-21T03:00:00Z".to_owned(), "stdout".to_owned());
        LineWire { run, attempt: 1, time, stream, goes_on: false, text }
    }

    fn reply(left_out: usize, run: &str, texts: &[&str], is_over: bool) -> String {
        let mut reply = LogsReply { is_over, left_out, ..LogsReply::default() };
        texts.iter().for_each(|text| reply.push(line(run, text)));
        reply.text()
    }

    /// What a client is told, if these are the replies; each line as its text.
    fn client_lines(request: &Request, replies: &[String]) -> Vec<String> {
        let (ours, _theirs) = LocalStream::pair().unwrap();
        let (mut next, mut lines) = (replies.iter(), Vec::new());
        let give = |response: Response| {
            lines.push(match response {
                Response::Line(line) => line.text,
                other => serde_json::to_string(&other).unwrap().chars().take_while(|c| *c != ':').collect(),
            });
            Ok(())
        };
        answer(request, |_| next.next().expect("it is not asked again").clone(), &ours, give).unwrap();
        lines
    }

    #[test]
    fn each_line_is_told_once_however_often_it_is_asked() {
        let request = Request::Logs { of: RUN.to_owned(), follow: true };
        let replies = [
            reply(0, RUN, &[], false),
            reply(0, RUN, &["one"], false),
            reply(0, RUN, &["one", "two"], false),
            reply(3, RUN, &["four"], true),
        ];
        let note = "1 lines before these are at the server that ran it";
        assert_eq!(client_lines(&request, &replies), ["one", "two", note, "four", "{\"done\""]);
        let once = Request::Logs { of: RUN.to_owned(), follow: false };
        assert_eq!(client_lines(&once, &replies[1..]), ["one", "{\"done\""]);
        let job = Request::Logs { of: "user@host".to_owned(), follow: true };
        let refused = serde_json::to_string(&temporary("no".to_owned())).unwrap();
        assert_eq!(client_lines(&job, &[reply(0, RUN, &["one"], true), refused]), ["one", "{\"error\""]);
    }

    #[test]
    fn the_end_of_a_run_is_waited_for_and_an_error_ends_it() {
        let state = |state: RunState| {
            let key: RunKey = RUN.parse().unwrap();
            let planned = key.nominal;
            let run = RunWire::from(&Run::new(key, Cause::Request, state, planned, planned));
            let found = FoundWire { planned, run, attempts: Vec::new(), holds: Vec::new() };
            serde_json::to_string(&Response::Found(Box::new(found))).unwrap()
        };
        let planned = serde_json::to_string(&Response::Planned { run: RUN.parse().unwrap() }).unwrap();
        let request = Request::Run { job: "a".to_owned(), wait: true, due: None, key: None };
        let replies =
            [planned.clone(), state(RunState::Queued), state(RunState::Running), state(RunState::Succeeded)];
        assert_eq!(client_lines(&request, &replies), ["{\"planned\"", "{\"ended\""]);
        let refused = serde_json::to_string(&temporary("no".to_owned())).unwrap();
        assert_eq!(client_lines(&request, std::slice::from_ref(&refused)), ["{\"error\""]);
        assert_eq!(client_lines(&request, &[planned, refused]), ["{\"planned\"", "{\"error\""]);
    }
}
