//! `mainspring translate`: writes an expression in another language, where that is exact.
//!
//! Cost: that of a translation.
//!
//! Does not approximate: where there is no exact translation, the reason is shown and the exit code is 1.

use super::expression::{read, refuse, whole_text};
use super::{print, print_json};
use crate::cli::expression::TranslateArgs;
use crate::wire::TranslationDocument;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::message::say;
use mainspring_server::protocol::TranslationWire;

pub(super) fn translate(args: &TranslateArgs) -> Result<Exit, Error> {
    let expression = match read(&args.expression) {
        Ok(expression) => expression,
        Err(fault) => return refuse(&args.expression, fault),
    };
    let translation = TranslationWire::new(&expression, args.to);
    let exit = if translation.translation.is_some() { Exit::Ok } else { Exit::Failed };
    show(args, translation)?;
    Ok(exit)
}

fn show(args: &TranslateArgs, translation: TranslationWire) -> Result<(), Error> {
    if args.expression.json {
        let (expression, dialect) = (args.expression.text.clone(), args.expression.dialect);
        return print_json(&TranslationDocument { expression, dialect, translation });
    }
    for note in &translation.notes {
        say(&format!("note: {note}\n"));
    }
    if let Some(reason) = &translation.reason {
        let message = format!("no exact translation into {}: {reason}", translation.to);
        say(&whole_text(&args.expression, message));
    }
    translation.translation.map_or(Ok(()), |text| print(&format!("{text}\n")))
}
