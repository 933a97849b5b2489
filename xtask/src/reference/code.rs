//! Pieces of code as text: what the pages of the reference are made from.
//!
//! Cost: a walk over the piece. It shows code as it is written, and computes nothing.

use std::fmt::Display;
use std::path::Path;

use syn::spanned::Spanned;

use crate::tidy::Source;

/// The file at this path below `crates`, which a page or a chapter of it names.
pub(super) fn file<'a>(sources: &'a [Source], path: &str) -> &'a Source {
    let found = sources.iter().find(|source| source.path == Path::new("crates").join(path));
    found.unwrap_or_else(|| panic!("{path} is no file"))
}

/// The text of a piece of code, on one line.
pub(super) fn text_of(source: &Source, piece: &impl Spanned) -> String {
    let text = source.text.get(piece.span().byte_range()).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text of a doc comment, on one line.
pub(super) fn doc_of(attributes: &[syn::Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        syn::Meta::NameValue(pair) if pair.path.is_ident("doc") => string_of(&pair.value),
        _ => None,
    });
    let text = lines.map(|line| line.trim().to_owned()).collect::<Vec<_>>().join(" ");
    without_paths(&text).replace('|', "\\|").replace("[`", "`").replace("`]", "`")
}

/// A text of which the links to items have no path any more: `[`MAX`](crate::MAX)` is `[`MAX`]`.
fn without_paths(text: &str) -> String {
    let mut pieces = text.split("`](");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (path, rest) = piece.split_once(')').unwrap_or(("", piece));
        if path.contains("://") {
            text.push_str("`](");
            text.push_str(piece);
        } else {
            text.push_str("`]");
            text.push_str(rest);
        }
    }
    text
}

/// The first sentence of a text.
pub(super) fn first_sentence(text: &str) -> &str {
    let end = text.find(". ").unwrap_or(text.len());
    text[..end].trim_end_matches('.')
}

/// The value of a literal string.
pub(super) fn string_of(expression: &syn::Expr) -> Option<String> {
    match expression {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}

/// The elements of a literal array, behind a reference or not.
pub(super) fn elements(expression: &syn::Expr) -> Vec<&syn::Expr> {
    match expression {
        syn::Expr::Reference(reference) => elements(&reference.expr),
        syn::Expr::Array(array) => array.elems.iter().collect(),
        _ => Vec::new(),
    }
}

/// The constant of this name in a file.
pub(super) fn constant<'a>(source: &'a Source, name: &str) -> Option<&'a syn::ItemConst> {
    source.syntax.items.iter().find_map(|item| match item {
        syn::Item::Const(constant) if constant.ident == name => Some(constant),
        _ => None,
    })
}

/// The elements of a constant that is a literal array, by its file below `crates` and its name.
pub(super) fn list<'a>(sources: &'a [Source], path: &str, name: &str) -> Vec<&'a syn::Expr> {
    constant(file(sources, path), name).map(|found| elements(&found.expr)).unwrap_or_default()
}

/// The variants of an enum in a file.
pub(super) fn variants<'s>(source: &'s Source, name: &str) -> Vec<&'s syn::Variant> {
    let found = source.syntax.items.iter().find_map(|item| match item {
        syn::Item::Enum(item) if item.ident == name => Some(item),
        _ => None,
    });
    found.into_iter().flat_map(|item| &item.variants).collect()
}

/// The doc of a variant of an enum in a file.
pub(super) fn variant_doc(source: &Source, of: &str, name: &str) -> Option<String> {
    let variant = variants(source, of).into_iter().find(|variant| variant.ident == name)?;
    Some(doc_of(&variant.attrs))
}

/// Words as code, with commas between.
pub(super) fn quoted(words: impl IntoIterator<Item = impl Display>) -> String {
    words.into_iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// The field of this name of a literal struct.
pub(super) fn field<'a>(row: &'a syn::ExprStruct, name: &str) -> Option<&'a syn::Expr> {
    let is_it =
        |field: &&syn::FieldValue| matches!(&field.member, syn::Member::Named(found) if found == name);
    row.fields.iter().find(is_it).map(|field| &field.expr)
}

/// The last name of a path.
pub(super) fn last_name(path: &syn::Expr) -> String {
    match path {
        syn::Expr::Path(path) => {
            path.path.segments.last().map(|name| name.ident.to_string()).unwrap_or_default()
        }
        _ => String::new(),
    }
}
