//! The expression of a command line: read, put into its zone, and its problems shown.
//!
//! Cost: one pass over the text.
//!
//! Does not choose what to print of it.

use mainspring_cron::{Expression, Warning};

use super::{print_json, zone_or_system};
use crate::cli::expression::{ExpressionArgs, ZoneArgs};
use crate::wire::Unreadable;
use mainspring_exec::clock::Moment;
use mainspring_file::problem::{Fault, Problem};
use mainspring_file::source::Line;
use mainspring_file::warning;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::message::say;
use mainspring_server::protocol::{ExpressionRequest, Question, read_expression, zone_name};

/// The name under which problems of the expression are shown.
const NAME: &str = "expression";

/// Reads the expression.
pub(super) fn read(args: &ExpressionArgs) -> Result<Expression, Fault> {
    read_expression(&args.text, args.dialect, args.day_rule, args.name.as_deref())
}

/// Shows why the expression cannot be read.
pub(super) fn refuse(args: &ExpressionArgs, fault: Fault) -> Result<Exit, Error> {
    say(&Problem::new(line(args), fault.clone()).in_file(NAME));
    if args.json {
        print_json(&Unreadable { expression: args.text.clone(), problem: fault.into() })?;
    }
    Ok(Exit::Invalid)
}

/// An expression that was understood, in the zone that is asked for, its own, or the system's.
pub(super) fn request(expression: Expression, args: &ZoneArgs) -> ExpressionRequest {
    let from = args.from.unwrap_or_else(|| Moment::now().wall);
    ExpressionRequest::new(expression, args.zone.clone(), args.dst, from, || zone_or_system(None))
}

/// What was asked, for a JSON document.
pub(super) fn question(request: &ExpressionRequest, args: &ExpressionArgs) -> Question {
    request.question(args.text.clone(), args.dialect, args.day_rule)
}

/// The explanation as text: what it says, with the zone after the sentence, and without its warnings.
pub(super) fn explanation_text(request: &ExpressionRequest) -> (String, Vec<Warning>) {
    let mut explanation = request.schedule.explain(request.from);
    let warnings = std::mem::take(&mut explanation.warnings);
    let text = explanation.to_string();
    let sentence_end = text.find('\n').map_or(text.len(), |end| end + 1);
    let (sentence, rest) = text.split_at(sentence_end);
    (format!("{sentence}zone: {}\n{rest}", zone_name(request.schedule.zone())), warnings)
}

/// The warnings as text with carets.
pub(super) fn warnings_text(args: &ExpressionArgs, warnings: Vec<Warning>) -> String {
    let shown = |warning| {
        let fault = warning::fault(warning, &args.text);
        Problem::warning(line(args), fault).in_file(NAME)
    };
    warnings.into_iter().map(shown).collect()
}

/// Something to say about the expression as a whole, with all of it underlined.
pub(super) fn whole_text(args: &ExpressionArgs, message: String) -> String {
    Problem::new(line(args), Fault::new(0..args.text.len(), message)).in_file(NAME)
}

fn line(args: &ExpressionArgs) -> Line<'_> {
    Line { number: 1, bytes: args.text.as_bytes() }
}
