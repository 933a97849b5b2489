//! The codes in documents of `--json` and of the HTTP API, from the types that have them.
//!
//! | table | made from |
//! |---|---|
//! | states of a job | the variants of `JobState` in `mainspring-server/src/protocol/job.rs`, with their words |
//! | reasons why a job does not run, outcomes | the arms of `code` in `planner/hold.rs` and `outcome.rs` of `mainspring-job` |
//! | reasons of a run | `PLAIN` in `mainspring-job/src/reason.rs` |
//!
//! Cost: one pass over each of these files.

use super::code::{doc_of, file, first_sentence, list, string_of, text_of, variant_doc, variants};
use crate::tidy::Source;

/// A row of a page, without the end of a sentence.
fn row(code: &str, says: &str) -> String {
    assert!(!says.is_empty(), "it is said what {code} means");
    format!("| `{code}` | {} |\n", first_sentence(says))
}

/// The variants of an enum, as serde names them.
pub(super) fn states(sources: &[Source], path: &str, name: &str) -> String {
    let source = file(sources, path);
    let rows = variants(source, name).into_iter().map(|variant| {
        let renamed = variant
            .attrs
            .iter()
            .map(|attribute| text_of(source, attribute))
            .find_map(|text| Some(text.split_once("rename = \"")?.1.split('"').next()?.to_owned()));
        row(&renamed.unwrap_or_else(|| variant.ident.to_string().to_lowercase()), &doc_of(&variant.attrs))
    });
    rows.collect()
}

/// The arms of the function `code` in a file, each with the text of the variant that its pattern names last.
pub(super) fn arms(sources: &[Source], path: &str) -> String {
    let Some((_, body)) = file(sources, path).text.split_once("fn code(&self)") else { return String::new() };
    let body = body.split("\n    }\n").next().unwrap_or_default();
    let rows = body.lines().filter_map(|line| line.trim().strip_suffix("\",")?.split_once(" => \""));
    let doc = |pattern: &str| {
        let names = pattern.split(|found: char| !found.is_alphanumeric() && found != ':');
        let named = names.filter_map(|name| name.split_once("::")).next_back()?;
        let mut of = sources.iter().filter(|source| source.path.starts_with("crates/mainspring-job/src"));
        of.find_map(|source| variant_doc(source, named.0, named.1))
    };
    rows.map(|(pattern, code)| row(code, &doc(pattern).unwrap_or_default())).collect()
}

/// The reasons with their sentences.
pub(super) fn reasons(sources: &[Source]) -> String {
    let rows =
        list(sources, "mainspring-job/src/reason.rs", "PLAIN").into_iter().filter_map(|row| match row {
            syn::Expr::Tuple(row) => Some((string_of(row.elems.get(1)?)?, string_of(row.elems.get(2)?)?)),
            _ => None,
        });
    rows.map(|(code, says)| format!("| `{code}` | {says} |\n")).collect()
}
