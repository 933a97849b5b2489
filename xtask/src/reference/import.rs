//! The page of what the keys of other schedulers are called here: the rows of the readers.
//!
//! A row of the code is a call: `is("there", "here", read, "says")`, `near(..)` of the same,
//! `lost("there", "says", "todo")` or `unneeded("there", "says")`.
//!
//! Cost: one pass over the tables.

use super::code::{last_name, list, quoted, string_of};
use crate::tidy::Source;

/// The rows of a table, by its file and its name.
pub(super) fn rows(sources: &[Source], path: &str, name: &str) -> String {
    list(sources, &format!("mainspring-import/src/{path}"), name).into_iter().filter_map(row).collect()
}

/// A row of the page.
fn row(element: &syn::Expr) -> Option<String> {
    let syn::Expr::Call(call) = element else { return None };
    let cell = |index: usize| call.args.get(index).and_then(string_of).unwrap_or_default();
    // A key of a job file is one word; all else is a sentence.
    let here = |text: &str| {
        let is_key = |word: &str| word.chars().all(|c| c.is_ascii_lowercase() || "_.NAME".contains(c));
        if text.split(", ").all(is_key) { quoted(text.split(", ")) } else { text.to_owned() }
    };
    let fate = last_name(&call.func);
    assert!(["is", "near", "lost", "unneeded"].contains(&fate.as_str()), "{fate} is what becomes of a key");
    let (here, says) = match fate.as_str() {
        "is" | "near" => (here(&cell(1)), cell(3)),
        "lost" => ("no equal".to_owned(), format!("{}; what to do: {}", cell(1), cell(2))),
        "unneeded" => ("not needed".to_owned(), cell(1)),
        _ => return None,
    };
    Some(format!("| {} | {here} | {} |\n", quoted(cell(0).split(' ')), says.replace('|', "\\|")))
}
