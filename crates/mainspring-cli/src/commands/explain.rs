//! `mainspring explain`: says in English what an expression means.
//!
//! Cost: that of an explanation, and three searches.
//!
//! Does not write the sentences: `mainspring-cron` does.

use super::expression::{explanation_text, question, read, refuse, request, warnings_text};
use super::{print, print_json};
use crate::cli::expression::ExplainArgs;
use crate::wire::ExplainDocument;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::log::rfc3339;
use mainspring_server::protocol::ExpressionRequest;

/// How many of the next times are shown, as a check of what the sentence says.
const NEXT_COUNT: usize = 3;

pub(super) fn explain(args: &ExplainArgs) -> Result<Exit, Error> {
    let expression = match read(&args.expression) {
        Ok(expression) => expression,
        Err(fault) => return refuse(&args.expression, fault),
    };
    let request = request(expression, &args.zone);
    if args.expression.json {
        let explanation = request.schedule.explain(request.from).into();
        print_json(&ExplainDocument { question: question(&request, &args.expression), explanation })?;
        return Ok(Exit::Ok);
    }
    let (text, warnings) = explanation_text(&request);
    let warnings = warnings_text(&args.expression, warnings);
    print(&format!("{text}{}{warnings}", next_text(&request)))?;
    Ok(Exit::Ok)
}

fn next_text(request: &ExpressionRequest) -> String {
    let times = request.schedule.upcoming(request.from).take(NEXT_COUNT);
    let text: String = times.map(|time| format!("next: {}\n", rfc3339(&time))).collect();
    if text.is_empty() && !request.schedule.is_reboot() {
        return "next: never\n".to_owned();
    }
    text
}
