//! Limits, metrics, fields of the log, tables of headers: one row for each constant or element.
//!
//! Cost: one pass over the items of each file. A value is shown as the code writes it.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::code::{constant, doc_of, elements, file, first_sentence, list, string_of, text_of, variant_doc};
use crate::tidy::Source;

/// Each constant with `MAX` in its name, by crate.
pub(super) fn limits(sources: &[Source]) -> String {
    let mut text = String::new();
    let mut last_crate = String::new();
    let is_measurement = |source: &&Source| {
        source.is_test()
            || source.path.starts_with("crates/mainspring-lab")
            || source.path.starts_with("xtask")
    };
    for source in sources.iter().filter(|source| !is_measurement(source)) {
        let Ok(path) = source.path.strip_prefix("crates") else { continue };
        let mut parts = path.iter().map(|part| part.to_string_lossy());
        let crate_name = parts.next().unwrap_or_default().into_owned();
        let within: Vec<_> = parts.filter(|part| part != "src").collect();
        for item in &source.syntax.items {
            let syn::Item::Const(constant) = item else { continue };
            let name = constant.ident.to_string();
            if !name.split('_').any(|word| word == "MAX") {
                continue;
            }
            if last_crate != crate_name {
                let _ =
                    write!(text, "\n## {crate_name}\n| limit | value | says | file |\n|---|---|---|---|\n");
                last_crate.clone_from(&crate_name);
            }
            let doc = doc_of(&constant.attrs);
            assert!(!doc.is_empty(), "{name}: it is said what is limited");
            let (value, says) = (text_of(source, &constant.expr), first_sentence(&doc));
            let _ = writeln!(text, "| `{name}` | `{value}` | {says} | `{}` |", within.join("/"));
        }
    }
    text
}

/// The rows of a text whose cells have ` | ` between them.
pub(super) fn rows_of_text(root: &Path, path: &str) -> String {
    let text = fs::read_to_string(root.join("crates").join(path)).unwrap_or_default();
    let row = |row: &str| row.split_once(" | ").map(|(name, cells)| format!("| `{name}` | {cells} |\n"));
    text.lines().filter_map(row).collect()
}

/// The fields of a line of the log, and the levels.
pub(super) fn log(sources: &[Source]) -> String {
    const FIELDS: &str = "mainspring-server/src/log/fields.rs";
    let mut text = String::new();
    let source = file(sources, FIELDS);
    for row in list(sources, FIELDS, "FIELDS") {
        let syn::Expr::Call(row) = row else { continue };
        let args: Vec<&syn::Expr> = row.args.iter().collect();
        let [syn::Expr::Tuple(names), form, syn::Expr::Array(kinds), says, _] = args[..] else { continue };
        let name = |index: usize| names.elems.get(index).and_then(string_of).unwrap_or_default();
        let form = form_of(source, form);
        let [always, others] = [0, 1].map(|index| kinds.elems.get(index).map(|of| kinds_of(source, of)));
        let others = others.filter(|others| !others.is_empty()).map(|others| format!("({others})"));
        let lines: Vec<String> = always.filter(|of| !of.is_empty()).into_iter().chain(others).collect();
        let (lines, says) = (lines.join(" "), string_of(says).unwrap_or_default());
        assert!(!says.is_empty(), "{}: it is said what it is", name(0));
        let journal = if name(1).is_empty() { String::new() } else { format!("`{}`", name(1)) };
        let _ = writeln!(text, "| `{}` | {journal} | {form} | {lines} | {says} |", name(0));
    }
    text
}

/// The doc of the variant of `Form` that an expression makes.
fn form_of(source: &Source, expression: &syn::Expr) -> String {
    let text = text_of(source, expression);
    let name = text.split('(').next().unwrap_or_default().trim_start_matches("Form::");
    variant_doc(source, "Form", name).unwrap_or_default().trim_end_matches('.').to_owned()
}

/// Kinds of lines in words: those of an array, or of a constant that names one.
fn kinds_of(source: &Source, of: &syn::Expr) -> String {
    let named = constant(source, &text_of(source, of)).map(|constant| &*constant.expr);
    let words = elements(named.unwrap_or(of)).into_iter().map(|kind| text_of(source, kind).to_lowercase());
    words.collect::<Vec<_>>().join(", ")
}

/// The table in the header of a file.
pub(super) fn header(sources: &[Source], path: &str) -> String {
    let rows = file(sources, path).text.lines().filter_map(|line| line.strip_prefix("//! |"));
    rows.map(|row| format!("|{}\n", row.replace("[`Exit::", "`").replace("`]", "`"))).collect()
}
