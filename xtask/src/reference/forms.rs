//! The values that a key takes, as the form in its row says: `Number(field!(nice), -20..=19)`.
//!
//! What a form is stands beside its variant in mainspring-action; its limits stand in the row, or are
//! constants that the row names.
//!
//! Cost: one pass over the variants.

use super::code::{constant, doc_of, elements, file, list, string_of, text_of};
use crate::tidy::Source;

/// Where the forms of values are.
const FORMS: &str = "crates/mainspring-action/src/key.rs";

/// Where the limits are that forms name.
const NAMES: &str = "crates/mainspring-action/src/names.rs";

/// What a form says of the values that it takes, and its limits.
pub(super) fn value(sources: &[Source], source: &Source, form: &syn::Expr) -> Option<String> {
    let syn::Expr::Call(call) = form else { return None };
    let variant = text_of(source, &call.func);
    let forms = file(sources, FORMS)?.syntax.items.iter().find_map(|item| match item {
        syn::Item::Enum(found) if found.ident == "Form" => Some(found),
        _ => None,
    })?;
    let doc = doc_of(&forms.variants.iter().find(|found| found.ident == variant)?.attrs);
    let mut value = doc.trim_end_matches('.').to_owned();
    value[..1].make_ascii_lowercase();
    for limit in call.args.iter().skip(1) {
        value = format!("{value}: {}", words(sources, &text_of(source, limit)));
    }
    let limits =
        list(sources, "mainspring-action/src/names.rs", "LIMIT_NAMES").into_iter().filter_map(string_of);
    let limits: Vec<String> = limits.map(|name| format!("`{name}`")).collect();
    Some(value.replace("`LIMIT_NAMES`", &limits.join(", ")))
}

/// A limit in words: `-20..=19`, the value of a constant, or the words of a type.
fn words(sources: &[Source], limit: &str) -> String {
    let Some(names) = file(sources, NAMES) else { return limit.to_owned() };
    if let Some(name) = limit.strip_suffix("::WORDS") {
        return words_of(names, name).join(", ");
    }
    let known = constant(names, limit).map(|constant| text_of(names, &constant.expr));
    let text = known.as_deref().unwrap_or(limit);
    match text.split_once("..=") {
        Some((least, most)) => format!("{least} to {most}"),
        None => format!("`{text}`"),
    }
}

/// The first of each pair of the constant `NAMES` of a type.
fn words_of(names: &Source, of: &str) -> Vec<String> {
    let implementations = names.syntax.items.iter().filter_map(|item| match item {
        syn::Item::Impl(found) if text_of(names, &found.self_ty) == of => Some(found),
        _ => None,
    });
    let pairs = implementations.flat_map(|found| &found.items).filter_map(|item| match item {
        syn::ImplItem::Const(found) if found.ident == "NAMES" => Some(elements(&found.expr)),
        _ => None,
    });
    let word = |pair: &syn::Expr| match pair {
        syn::Expr::Tuple(pair) => string_of(pair.elems.first()?).map(|word| format!("`{word}`")),
        _ => None,
    };
    pairs.flatten().filter_map(word).collect()
}
