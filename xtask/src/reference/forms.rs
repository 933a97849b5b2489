//! The values that a key takes, as the form in its row says: `Number(field!(nice), -20..=19)`.
//!
//! What a form is stands beside its variant in mainspring-action; its limits stand in the row, or are
//! constants that the row names.
//!
//! Cost: one pass over the variants.

use super::code::{constant, elements, file, list, quoted, string_of, text_of, variant_doc};
use crate::tidy::Source;

/// Where the forms of values are.
const FORMS: &str = "mainspring-action/src/key.rs";

/// Where the limits are that forms name.
const NAMES: &str = "mainspring-action/src/names.rs";

/// What a form says of the values that it takes, and its limits.
pub(super) fn value(sources: &[Source], source: &Source, form: &syn::Expr) -> Option<String> {
    let syn::Expr::Call(call) = form else { return None };
    let variant = text_of(source, &call.func);
    let doc = variant_doc(file(sources, FORMS), "Form", &variant)?;
    let mut value = doc.trim_end_matches('.').to_owned();
    value[..1].make_ascii_lowercase();
    for limit in call.args.iter().skip(1) {
        value = format!("{value}: {}", words(sources, source, limit));
    }
    let limits = quoted(list(sources, NAMES, "LIMIT_NAMES").into_iter().filter_map(string_of));
    Some(value.replace("`LIMIT_NAMES`", &limits))
}

/// A limit in words: `-20..=19`, the value of a constant, or those of a list.
fn words(sources: &[Source], source: &Source, limit: &syn::Expr) -> String {
    if let syn::Expr::Array(_) = limit {
        return quoted(elements(limit).into_iter().filter_map(string_of));
    }
    let (names, limit) = (file(sources, NAMES), text_of(source, limit));
    let known = constant(names, &limit).map(|constant| text_of(names, &constant.expr));
    let text = known.unwrap_or(limit);
    match text.split_once("..=") {
        Some((least, most)) => format!("{least} to {most}"),
        None => format!("`{text}`"),
    }
}
