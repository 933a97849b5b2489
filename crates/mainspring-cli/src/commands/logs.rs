//! `mainspring logs`: what a run wrote, all of it or the last lines, and what follows.
//!
//! ```text
//! logs JOB           every line
//! logs -n 3 JOB      every line is read, and the last three are shown
//! logs -f -n 3 JOB   the same, then the lines are asked for again, without those that were left out
//! ```
//!
//! Cost: one request, and with `-f -n` two; with `-n` the memory of so many lines.
//!
//! Does not read files: the server does, or the store if no server runs.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;

use super::answers::{QuerySource, line_text, show};
use super::{json_line, print, print_faithfully};
use crate::cli::serve::AskArgs;
use crate::cli::views::LogsArgs;
use crate::client::Client;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::message::note;
use mainspring_server::protocol::{LineWire, Request, Response};

/// So much is held of what is read without a server. What comes after it keeps a server out until it is
/// printed.
const MAX_HELD_BYTES: usize = 64 << 20;

pub(super) fn logs(args: &LogsArgs) -> Result<Exit, Error> {
    let address = args.ask.server.address();
    // What is written from now on is written by a server.
    let mut source = match args.follow {
        true => QuerySource::Server(Client::connect(&address)?),
        false => QuerySource::open(&address)?,
    };
    let mut printer = Printer { ask: &args.ask, begun: None };
    let mut tail = args.count.map(Tail::of);
    let mut count = 0;
    // The lines that are read without a server: they are printed when the store is free again.
    let mut held = Vec::new();
    let mut room = if matches!(source, QuerySource::OfflineStore(_)) { MAX_HELD_BYTES } else { 0 };
    if !args.follow || tail.is_some() {
        each_line(&mut source, &args.of, &mut |response| {
            count += 1;
            match (response, &mut tail) {
                (Response::Line(line), Some(tail)) => tail.push(line.clone()),
                (Response::Line(line), None) if 0 < room => {
                    room = room.saturating_sub(size_of::<LineWire>() + line.text.len());
                    held.push(response.clone());
                }
                (response, _) => {
                    held.drain(..).try_for_each(|line| printer.show(&line))?;
                    printer.show(response)?;
                }
            }
            Ok(())
        })?;
    }
    if let (QuerySource::Server(client), true) = (&mut source, args.follow) {
        follow(&args.of, client, tail, &mut printer)?;
        return Ok(Exit::Ok);
    }
    // A reader of what is printed that takes its time keeps no server out.
    drop(source);
    held.iter().try_for_each(|line| printer.show(line))?;
    if count == 0 {
        let why = "it wrote nothing, did not start, or its output is not kept any more";
        note(&format!("there is no output of {}: {why}", args.of));
    }
    let lines = tail.map(|tail| tail.lines).unwrap_or_default();
    lines.into_iter().try_for_each(|line| printer.show(&Response::Line(line)))?;
    Ok(Exit::Ok)
}

/// Gives each line of output that is there to `take`.
fn each_line(
    source: &mut QuerySource,
    of: &str,
    take: &mut dyn FnMut(&Response) -> Result<(), Error>,
) -> Result<(), Error> {
    let client = match source {
        QuerySource::Server(client) => client,
        QuerySource::OfflineStore(alone) => {
            return alone.backend().logs(of, &mut |response| take(&response));
        }
    };
    let mut response = client.ask(Request::Logs { of: of.to_owned(), follow: false })?;
    while let Response::Line(_) = &response {
        take(&response)?;
        response = client.next_answer()?;
    }
    Ok(())
}

/// Shows lines until no reader is left. Those that stand before `tail` are left out.
fn follow(of: &str, client: &mut Client, tail: Option<Tail>, printer: &mut Printer<'_>) -> Result<(), Error> {
    // A file of output only grows, so the same lines come first again, unless a newer run has begun since.
    let (run, mut left_out) = tail.map_or((String::new(), 0), |tail| (tail.run, tail.left_out));
    let mut response = client.ask(Request::Logs { of: of.to_owned(), follow: true })?;
    while let Response::Line(line) = &response {
        if 0 < left_out && line.run == run {
            left_out -= 1;
        } else {
            printer.show(&response)?;
            if !client.waits_with_reader(io::stdout().as_fd())? {
                break;
            }
        }
        response = client.next_answer()?;
    }
    Ok(())
}

/// The last lines of an output.
struct Tail {
    count: usize,
    lines: VecDeque<LineWire>,
    /// How many of those that are kept end a line: a long line comes in pieces.
    whole_count: usize,
    /// How many pieces stand before those that are kept.
    left_out: u64,
    run: String,
}

impl Tail {
    fn of(count: u32) -> Tail {
        let count = count as usize;
        Tail { count, lines: VecDeque::new(), whole_count: 0, left_out: 0, run: String::new() }
    }

    fn push(&mut self, line: LineWire) {
        self.run.clone_from(&line.run);
        self.whole_count += usize::from(!line.goes_on);
        self.lines.push_back(line);
        while self.count < self.line_count() {
            let first = self.lines.pop_front().expect("a line that was counted is kept");
            self.whole_count -= usize::from(!first.goes_on);
            self.left_out += 1;
        }
    }

    /// How many lines are kept. One whose end is not written yet is one too, as tail(1) has it.
    fn line_count(&self) -> usize {
        debug_assert!(self.whole_count <= self.lines.len(), "what ends a line is kept");
        self.whole_count + usize::from(self.lines.back().is_some_and(|last| last.goes_on))
    }
}

/// Prints answers.
struct Printer<'a> {
    ask: &'a AskArgs,
    /// The stream of a line of which only the beginning is printed.
    begun: Option<String>,
}

impl Printer<'_> {
    fn show(&mut self, response: &Response) -> Result<(), Error> {
        match response {
            Response::Line(line) if self.ask.json => print(&json_line(line)),
            Response::Line(line) => print_faithfully(&pieced(&mut self.begun, line)),
            response => show(self.ask, response).map(drop),
        }
    }
}

/// A line as it is printed, after what was printed of a longer one: `begun` is the stream of that.
fn pieced(begun: &mut Option<String>, line: &LineWire) -> String {
    let before = begun.take();
    let text = match before {
        Some(stream) if stream == line.stream => format!("{}\n", line.text),
        Some(_) => format!("\n{}", line_text(line)),
        None => line_text(line),
    };
    if !line.goes_on {
        return text;
    }
    *begun = Some(line.stream.clone());
    text.trim_end_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_whose_end_is_not_written_yet_is_one_of_the_last_lines() {
        let last_of = |count: u32, pieces: &[(&str, bool)]| {
            let mut tail = Tail::of(count);
            for (text, goes_on) in pieces {
                tail.push(LineWire {
                    run: "job@2026-11-23T00:00:00Z".to_owned(),
                    attempt: 1,
                    time: "2026-11-23T00:00:00Z".to_owned(),
                    stream: "stdout".to_owned(),
                    goes_on: *goes_on,
                    text: (*text).to_owned(),
                });
            }
            let lines: Vec<String> = tail.lines.into_iter().map(|line| line.text).collect();
            (lines.join(" "), tail.left_out)
        };
        let pieces = [("1", false), ("2", false), ("a", true), ("b", true), ("c", false), ("d", true)];
        let expected = ["1", "1 2", "2 a", "2 a b", "2 a b c", "a b c d"];
        for (length, expected) in (1..).zip(expected) {
            assert_eq!(last_of(2, &pieces[..length]).0, expected);
        }
        assert_eq!(last_of(0, &pieces), (String::new(), 6));
        assert_eq!(last_of(1, &pieces), ("d".to_owned(), 5));
    }
}
