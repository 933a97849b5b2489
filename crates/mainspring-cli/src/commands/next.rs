//! `mainspring next`: prints the next times of an expression, or of a job.
//!
//! Cost: one search per time, and its memory: for [`MAX_TIMES`](crate::cli::expression::MAX_TIMES) of them
//! some 100 MB, and 160 MB as JSON.
//!
//! Does not read files: see [`upcoming`](super::upcoming).
//!
//! Source: the format is RFC 3339, <https://www.rfc-editor.org/rfc/rfc3339>.

use jiff::Zoned;
use mainspring_cron::Language;
use mainspring_job::JobName;

use super::expression::{explanation_text, question, read, refuse, request, warnings_text};
use super::upcoming::{first_times, of_job};
use super::{print, print_json};
use crate::cli::expression::NextArgs;
use crate::wire::Times;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::log::rfc3339;
use mainspring_server::message::{PROGRAM, note, say};
use mainspring_server::protocol::ExpressionRequest;

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
    let request = request(expression, &args.zone);
    if request.schedule.is_reboot() {
        say("@reboot has no times: it runs once when the machine starts\n");
    }
    let upcoming = request.schedule.upcoming(request.from);
    let (found, cut) = first_times(args, upcoming, Zoned::timestamp);
    debug_assert!(found.is_sorted_by(|one, next| one < next), "each time is told once");
    if args.expression.json {
        print_json(&Times {
            question: question(&request, &args.expression),
            until: args.until.map(|until| request.show(until)),
            count: args.count,
            is_cut_short: cut.is_some(),
            times: found.iter().map(rfc3339).collect(),
            explanation: args.explain.then(|| request.schedule.explain(request.from).into()),
        })?;
    } else {
        if args.explain {
            print(&commented(&request, args))?;
        }
        print(&found.iter().map(|time| rfc3339(time) + "\n").collect::<String>())?;
    }
    if found.is_empty() && args.count != Some(0) && !request.schedule.is_reboot() {
        let when = if args.until.is_some() { "not due by then" } else { "never due" };
        note(&format!("it is {when}"));
    }
    let Some(cut) = cut else { return Ok(Exit::Ok) };
    note(&cut);
    Ok(Exit::Failed)
}

/// The explanation, as lines that are no times.
fn commented(request: &ExpressionRequest, args: &NextArgs) -> String {
    let (text, warnings) = explanation_text(request);
    let warnings = warnings_text(&args.expression, warnings);
    text.lines().chain(warnings.lines()).map(|line| format!("# {line}\n")).collect()
}
