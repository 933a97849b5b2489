//! `mainspring next`: prints the next times of an expression, or of a job.
//!
//! Cost: one search per time, and its memory: some 100 MB for [`MAX_TIMES`] of them.
//!
//! Does not read files: see [`upcoming`](super::upcoming).
//!
//! Source: the format is RFC 3339, <https://www.rfc-editor.org/rfc/rfc3339>.

use std::io::{self, BufWriter, Write};

use jiff::Zoned;
use mainspring_cron::Language;
use mainspring_job::JobName;

use super::expression::{ExpressionRequest, explanation_text, read, refuse, warnings_text};
use super::upcoming::of_job;
use super::{print_json, printed};
use crate::cli::expression::{MAX_TIMES, NextArgs};
use crate::wire::Times;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::log::rfc3339;
use mainspring_server::message::{PROGRAM, say};

/// How many times are printed when the command does not say how many, nor until when.
const DEFAULT_COUNT: u32 = 10;

const _: () = assert!(DEFAULT_COUNT <= MAX_TIMES);

pub(super) fn next(args: &NextArgs) -> Result<Exit, Error> {
    let name = JobName::new(&args.expression.text);
    let expression = match (read(&args.expression), name) {
        (_, Ok(name)) if !args.files.is_empty() => return of_job(&name, args),
        (Ok(expression), _) => expression,
        // A word that is no expression is the name of a job.
        (Err(fault), Ok(name)) if args.expression.dialect == Language::Cron => {
            let hint = fault.hint.map(|hint| format!("{PROGRAM}: `{name}` is no expression: {hint}\n"));
            return of_job(&name, args).inspect_err(|_| hint.iter().for_each(|hint| say(hint)));
        }
        (Err(fault), _) => return refuse(&args.expression, fault),
    };
    let request = ExpressionRequest::new(expression, &args.zone);
    if request.schedule.is_reboot() {
        say("@reboot has no times: it runs once when the machine starts\n");
    }
    let answer = Answer::find(&request, args);
    if args.expression.json {
        print_json(&document(&request, args, &answer))?;
    } else {
        printed(print_lines(&request, args, &answer))?;
    }
    if answer.times.is_empty() && args.count != Some(0) && !request.schedule.is_reboot() {
        let when = if args.until.is_some() { "not due by then" } else { "never due" };
        say(&format!("{PROGRAM}: it is {when}\n"));
    }
    if !answer.is_cut_short {
        return Ok(Exit::Ok);
    }
    say(&format!(
        "{PROGRAM}: ended after {MAX_TIMES} times, and more are due: ask again from the last one\n"
    ));
    Ok(Exit::Failed)
}

/// The times asked for.
struct Answer {
    /// At most [`MAX_TIMES`].
    times: Vec<Zoned>,
    /// Whether there are more, which only happens with `--until` alone.
    is_cut_short: bool,
}

impl Answer {
    fn find(request: &ExpressionRequest, args: &NextArgs) -> Answer {
        let default = if args.until.is_some() { MAX_TIMES } else { DEFAULT_COUNT };
        let count = args.count.unwrap_or(default);
        assert!(count <= MAX_TIMES, "the command line was refused otherwise");
        let is_wanted = |time: &Zoned| args.until.is_none_or(|until| time.timestamp() <= until);
        let mut wanted = request.schedule.upcoming(request.from).take_while(is_wanted);
        let times: Vec<Zoned> = wanted.by_ref().take(count as usize).collect();
        debug_assert!(times.is_sorted_by(|one, next| one < next), "each time is told once");
        let is_cut_short = args.count.is_none() && args.until.is_some() && wanted.next().is_some();
        Answer { times, is_cut_short }
    }
}

fn print_lines(request: &ExpressionRequest, args: &NextArgs, answer: &Answer) -> io::Result<()> {
    let mut output = BufWriter::new(io::stdout().lock());
    if args.explain {
        let (text, warnings) = explanation_text(request);
        for line in text.lines().chain(warnings_text(&args.expression, warnings).lines()) {
            writeln!(output, "# {line}")?;
        }
    }
    for time in &answer.times {
        writeln!(output, "{}", rfc3339(time))?;
    }
    output.flush()
}

fn document(request: &ExpressionRequest, args: &NextArgs, answer: &Answer) -> Times {
    Times {
        question: request.question(&args.expression),
        until: args.until.map(|until| request.show(until)),
        count: args.count,
        is_cut_short: answer.is_cut_short,
        times: answer.times.iter().map(rfc3339).collect(),
        explanation: args.explain.then(|| request.schedule.explain(request.from).into()),
    }
}
