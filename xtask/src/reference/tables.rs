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
