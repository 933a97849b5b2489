//! The codes in documents of `--json` and of the HTTP API, from the types that have them.
//!
//! | table | made from |
//! |---|---|
//! | states of a job | the variants of `JobState` in `mainspring-server/src/protocol/job.rs`, with their words |
//! | reasons why a job does not run, outcomes | the arms of `code` in `planner/hold.rs` and `outcome.rs` of `mainspring-job` |
//! | reasons of a run | `PLAIN` in `mainspring-job/src/reason.rs` |
//!
//! Cost: one pass over each of these files.

use std::fmt::Write;

use super::code::{constant, doc_of, elements, file, first_sentence, string_of, text_of};
use crate::tidy::Source;

const INTRODUCTION: &str = "In documents of `--json` and of the HTTP API each sentence has a code beside it. A code, once given, keeps its \
     meaning; new ones are added.\n\nOf times, `next` of a job is the next one of its timetable, and `armed` the one that the server has in its schedule queue: \
     the same, or an earlier one if the next is far away. `next_civil`, `armed_civil` and `until_civil` are in the job's zone, \
     as RFC 9557 writes them: `2026-11-21T03:30:00+01:00[Europe/Berlin]`.\n";

/// The page's text.
pub(super) fn text(sources: &[Source]) -> String {
    let mut text = INTRODUCTION.to_owned();
    let mut table = |field: &str, says: &str, rows: Vec<(String, String)>| {
        let _ = write!(text, "\n## `{field}`\n{says}\n\n| code | says |\n|---|---|\n");
        for (code, says) in rows {
            let _ = writeln!(text, "| `{code}` | {says} |");
        }
    };
    table("state_code", "Of a job: the first of its states.", job_states(sources));
    let holds = arms(sources, "crates/mainspring-job/src/planner/hold.rs");
    table("code", "Of `holds` in `show`: why the job does not run now.", holds);
    let outcomes = arms(sources, "crates/mainspring-job/src/outcome.rs");
    let number = "Of a run. `outcome_number` is the number of the exit status, the signal or the answer.";
    table("outcome_code", number, outcomes);
    let reasons = "Of a run, and as `reason` of a metric; empty if its state says it all. The column `reason` of the store has a \
                   number behind some (`crash_loop 3`), and a sentence in rows of old versions.";
    table("reason_code", reasons, reasons_of_runs(sources));
    text
}

/// The variants of `JobState`, as serde names them.
fn job_states(sources: &[Source]) -> Vec<(String, String)> {
    let Some(source) = file(sources, "crates/mainspring-server/src/protocol/job.rs") else {
        return Vec::new();
    };
    let rows = variants(source, "JobState").into_iter().map(|variant| {
        let renamed = variant
            .attrs
            .iter()
            .map(|attribute| text_of(source, attribute))
            .find_map(|text| Some(text.split_once("rename = \"")?.1.split('"').next()?.to_owned()));
        let name = renamed.unwrap_or_else(|| variant.ident.to_string().to_lowercase());
        (name, first_sentence(&doc_of(&variant.attrs)).to_owned())
    });
    rows.collect()
}

/// The variants of an enum in a file.
pub(super) fn variants<'s>(source: &'s Source, name: &str) -> Vec<&'s syn::Variant> {
    let found = source.syntax.items.iter().find_map(|item| match item {
        syn::Item::Enum(item) if item.ident == name => Some(item),
        _ => None,
    });
    found.into_iter().flat_map(|item| &item.variants).collect()
}

/// The arms of the function `code` in a file, each with the text of the variant that its pattern names last.
fn arms(sources: &[Source], path: &str) -> Vec<(String, String)> {
    let Some(source) = file(sources, path) else { return Vec::new() };
    let Some((_, body)) = source.text.split_once("fn code(&self)") else { return Vec::new() };
    let body = body.split("\n    }\n").next().unwrap_or_default();
    let rows = body.lines().filter_map(|line| line.trim().strip_suffix("\",")?.split_once(" => \""));
    let doc = |pattern: &str| {
        let names = pattern.split(|found: char| !found.is_alphanumeric() && found != ':');
        let named = names.filter_map(|name| name.split_once("::")).next_back()?;
        let of = sources.iter().filter(|source| source.path.starts_with("crates/mainspring-job/src"));
        let variant = of.flat_map(|source| variants(source, named.0)).find(|one| one.ident == named.1)?;
        Some(first_sentence(&doc_of(&variant.attrs)).to_owned())
    };
    rows.map(|(pattern, code)| (code.to_owned(), doc(pattern).unwrap_or_default())).collect()
}

/// The reasons with their sentences, and those that have a number.
fn reasons_of_runs(sources: &[Source]) -> Vec<(String, String)> {
    let Some(source) = file(sources, "crates/mainspring-job/src/reason.rs") else { return Vec::new() };
    let plain = constant(source, "PLAIN").map(|rows| elements(&rows.expr)).unwrap_or_default();
    let rows = plain.into_iter().filter_map(|row| match row {
        syn::Expr::Tuple(row) => Some((string_of(row.elems.get(1)?)?, string_of(row.elems.get(2)?)?)),
        _ => None,
    });
    let numbered = [
        ("CRASH_LOOP", "the server died in it so many times"),
        ("ATTEMPTS", "so many attempts did not succeed"),
        ("FORGOTTEN", "as the reason behind it, of occurrences that are not known any more"),
        ("OTHER", "a sentence of another version"),
    ];
    let code = |name: &str| constant(source, name).and_then(|item| string_of(&item.expr));
    let numbered = numbered
        .iter()
        .filter_map(|(name, says)| Some((code(name)?.trim_end().to_owned(), (*says).to_owned())));
    rows.chain(numbered).collect()
}
