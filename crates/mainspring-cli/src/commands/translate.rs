//! `mainspring translate`: writes an expression in another language, where that is exact.
//!
//! Cost: that of a translation.
//!
//! Does not approximate: where there is no exact translation, the reason is shown and the exit code is 1.

use super::expression::{read, refuse, whole_text};
use super::{print, print_json};
use crate::cli::expression::TranslateArgs;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::message::say;
use mainspring_server::protocol::TranslationDocument;

pub(super) fn translate(args: &TranslateArgs) -> Result<Exit, Error> {
    let expression = match read(&args.expression) {
        Ok(expression) => expression,
        Err(fault) => return refuse(&args.expression, fault),
    };
    let argument = &args.expression;
    let document = TranslationDocument::new(&expression, &argument.text, argument.dialect, args.to);
    show(args, &document)?;
    Ok(if document.translation.is_some() { Exit::Ok } else { Exit::Failed })
}

fn show(args: &TranslateArgs, document: &TranslationDocument) -> Result<(), Error> {
    if args.expression.json {
        return print_json(document);
    }
    for note in &document.notes {
        say(&format!("note: {note}\n"));
    }
    if let Some(reason) = &document.reason {
        let message = format!("no exact translation into {}: {reason}", document.to);
        say(&whole_text(&args.expression, message));
    }
    match &document.translation {
        Some(text) => print(&format!("{text}\n")),
        None => Ok(()),
    }
}
