//! Limits, metrics and exit codes: pages with one row for each constant or element.
//!
//! Cost: one pass over the items of each file. A value is shown as the code writes it.

use std::fmt::Write;

use super::code::{constant, doc_of, elements, file, first_sentence, string_of, text_of};
use super::met;
use crate::tidy::Source;

/// The limits that people meet, and each constant with `MAX` in its name, by crate.
pub(super) fn limits(sources: &[Source]) -> String {
    let mut text = met::text(sources)
        + "\nThe other tables have each constant with `MAX` in its name. A limit that an option or a field of `Limits` \
           (`mainspring-job`) sets has its default there.\n";
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
            let (value, says) = (text_of(source, &constant.expr), first_sentence(&doc));
            let _ = writeln!(text, "| `{name}` | `{value}` | {says} | `{}` |", within.join("/"));
        }
    }
    text
}

/// The metrics of the server.
pub(super) fn metrics(sources: &[Source]) -> String {
    let mut text = "Each name begins with `mainspring_`; a counter ends in `_total`.\n\n| name | kind | labels | says |\n\
                    |---|---|---|---|\n"
        .to_owned();
    let rows = file(sources, "crates/mainspring-web/src/metric_rows.rs");
    let rows = rows.and_then(|source| Some((source, constant(source, "ROWS")?)));
    if let Some((source, rows)) = rows {
        for row in elements(&rows.expr) {
            let syn::Expr::Tuple(row) = row else { continue };
            let cell = |index: usize| row.elems.get(index).and_then(string_of).unwrap_or_default();
            let kind = row.elems.get(1).map(|kind| text_of(source, kind)).unwrap_or_default();
            let kind = kind.trim_start_matches("Kind::").to_lowercase();
            let _ = writeln!(text, "| `{}` | {kind} | {} | {} |", cell(0), cell(2), cell(3));
        }
    }
    text
}

/// The fields of a line of the log, and the levels.
pub(super) fn log(sources: &[Source]) -> String {
    let mut text = "With `serve --log json` each line is an object with these fields, as [its schema](log.schema.json) says. Where journald \
                    reads the log it is sent the same. A field stands on each line of its kinds; on those in brackets if it \
                    is known.\n\n| field | in the journal | value | lines | says |\n|---|---|---|---|---|\n"
        .to_owned();
    if let Some(source) = file(sources, "crates/mainspring-server/src/log/fields.rs")
        && let Some(fields) = constant(source, "FIELDS")
    {
        for row in elements(&fields.expr) {
            let syn::Expr::Call(row) = row else { continue };
            let args: Vec<&syn::Expr> = row.args.iter().collect();
            let [syn::Expr::Tuple(names), form, syn::Expr::Array(kinds), says, _] = args[..] else {
                continue;
            };
            let name = |index: usize| names.elems.get(index).and_then(string_of).unwrap_or_default();
            let form = variant_doc(source, "Form", form);
            let [always, others] = [0, 1].map(|index| kinds.elems.get(index).map(|of| kinds_of(source, of)));
            let others = others.filter(|others| !others.is_empty()).map(|others| format!("({others})"));
            let lines: Vec<String> = always.filter(|of| !of.is_empty()).into_iter().chain(others).collect();
            let (lines, says) = (lines.join(" "), string_of(says).unwrap_or_default());
            let journal = if name(1).is_empty() { String::new() } else { format!("`{}`", name(1)) };
            let _ = writeln!(text, "| `{}` | {journal} | {form} | {lines} | {says} |", name(0));
        }
    }
    text
}

/// The doc of the variant of an enum that an expression makes.
fn variant_doc(source: &Source, of: &str, expression: &syn::Expr) -> String {
    let text = text_of(source, expression);
    let name = text.split('(').next().unwrap_or_default().trim_start_matches(&format!("{of}::")).to_owned();
    let doc = super::codes::variants(source, of)
        .into_iter()
        .find(|variant| variant.ident == name)
        .map(|variant| doc_of(&variant.attrs));
    doc.unwrap_or_default().trim_end_matches('.').to_owned()
}

/// Kinds of lines in words: those of an array, or of a constant that names one.
fn kinds_of(source: &Source, of: &syn::Expr) -> String {
    let named = constant(source, &text_of(source, of)).map(|constant| &*constant.expr);
    let words = elements(named.unwrap_or(of)).into_iter().map(|kind| text_of(source, kind).to_lowercase());
    words.collect::<Vec<_>>().join(", ")
}

/// The table in the header of the exit codes.
pub(super) fn exit_codes(sources: &[Source]) -> String {
    let source = file(sources, "crates/mainspring-server/src/exit.rs");
    let lines = source.into_iter().flat_map(|source| source.text.lines());
    let rows = lines.filter_map(|line| line.strip_prefix("//! |"));
    rows.fold(String::new(), |mut text, row| {
        let row = row.replace("[`Exit::", "`").replace("`]", "`");
        let _ = writeln!(text, "|{row}");
        text
    })
}
