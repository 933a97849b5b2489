//! `mainspring next`: prints the next times of an expression.
//!
//! Cost: one search per time.
//!
//! Does not read crontabs.
//!
//! Source: the format is RFC 3339, <https://www.rfc-editor.org/rfc/rfc3339>.

use std::io::{self, BufWriter, Write};

use jiff::Zoned;

use super::expression::{Asked, explanation_text, read, refuse, warnings_text};
use super::{print_json, printed};
use crate::cli::expression::{MAX_TIMES, NextArgs};
use crate::error::Error;
use crate::exit::Exit;
use crate::log::rfc3339;
use crate::message::{PROGRAM, say};
use crate::wire::Times;

/// How many times are printed when nobody says how many, nor until when.
const DEFAULT_COUNT: u32 = 10;

pub(super) fn next(args: &NextArgs) -> Result<Exit, Error> {
    let expression = match read(&args.expression) {
        Ok(expression) => expression,
        Err(fault) => return refuse(&args.expression, fault),
    };
    let asked = Asked::new(expression, &args.zone);
    if asked.schedule.is_reboot() {
        say("@reboot has no times: it runs once when the scheduler starts\n");
    }
    if args.expression.json {
        print_json(&document(&asked, args))?;
    } else {
        printed(print_lines(&asked, args))?;
    }
    if !is_cut_short(&asked, args) {
        return Ok(Exit::Ok);
    }
    say(&format!(
        "{PROGRAM}: ended after {MAX_TIMES} times, and more are due: ask again from the last one\n"
    ));
    Ok(Exit::Failed)
}

/// The times asked for, at most [`MAX_TIMES`].
fn times<'a>(asked: &'a Asked, args: &NextArgs) -> impl Iterator<Item = Zoned> + use<'a> {
    let until = args.until;
    let default = if until.is_some() { MAX_TIMES } else { DEFAULT_COUNT };
    let count = args.count.unwrap_or(default);
    let is_wanted = move |time: &Zoned| until.is_none_or(|until| time.timestamp() <= until);
    asked.schedule.upcoming(asked.from).take_while(is_wanted).take(count as usize)
}

/// Whether more times than [`MAX_TIMES`] were asked for, which only `--until` alone can do.
fn is_cut_short(asked: &Asked, args: &NextArgs) -> bool {
    let (None, Some(until)) = (args.count, args.until) else { return false };
    let Some(last) = times(asked, args).nth(MAX_TIMES as usize - 1) else { return false };
    asked.schedule.next_after(last.timestamp()).is_some_and(|time| time.timestamp() <= until)
}

fn print_lines(asked: &Asked, args: &NextArgs) -> io::Result<()> {
    let mut output = BufWriter::new(io::stdout().lock());
    if args.explain {
        let (text, warnings) = explanation_text(asked);
        for line in text.lines().chain(warnings_text(&args.expression, warnings).lines()) {
            writeln!(output, "# {line}")?;
        }
    }
    for time in times(asked, args) {
        writeln!(output, "{}", rfc3339(&time))?;
    }
    output.flush()
}

fn document(asked: &Asked, args: &NextArgs) -> Times {
    Times {
        question: asked.question(&args.expression),
        until: args.until.map(|until| asked.show(until)),
        count: args.count,
        is_cut_short: is_cut_short(asked, args),
        times: times(asked, args).map(|time| rfc3339(&time)).collect(),
        explanation: args.explain.then(|| asked.schedule.explain(asked.from).into()),
    }
}
