//! The tables of notifications: the facts, the receivers and the services that are pinged.
//!
//! Each row is a struct in the code with fields of these names.
//!
//! Cost: one pass over each table.

use super::code::{constant, elements, field, file, list, quoted, string_of, text_of};
use crate::tidy::Source;

/// A row of the code.
struct StructRow<'a> {
    source: &'a Source,
    of: &'a syn::ExprStruct,
}

impl StructRow<'_> {
    fn text(&self, name: &str) -> String {
        field(self.of, name).and_then(string_of).unwrap_or_default()
    }

    fn texts(&self, name: &str) -> String {
        let texts = field(self.of, name).map(elements).unwrap_or_default();
        quoted(texts.into_iter().filter_map(string_of))
    }

    /// The value of the constant that stands there.
    fn number(&self, name: &str) -> String {
        let constant =
            field(self.of, name).and_then(|found| constant(self.source, &text_of(self.source, found)));
        constant.map(|constant| text_of(self.source, &constant.expr)).unwrap_or_default()
    }

    /// What is put behind the URL.
    fn form(&self, name: &str) -> String {
        let form = match field(self.of, name) {
            Some(syn::Expr::Call(call)) => call.args.first(),
            form => form,
        };
        let Some(syn::Expr::Struct(of)) = form else { return "nothing".to_owned() };
        let form = StructRow { source: self.source, of };
        let (path, query) = (form.text("path"), form.text("query"));
        match (path.as_str(), query.as_str()) {
            ("", "") => "the URL".to_owned(),
            (path, query) => format!("`{path}?{query}`"),
        }
    }

    fn link(&self) -> String {
        match self.text("source").as_str() {
            "" => String::new(),
            source => format!("<{source}>"),
        }
    }
}

fn rows<'a>(sources: &'a [Source], path: &str, name: &str) -> Vec<StructRow<'a>> {
    let path = format!("mainspring-action/src/{path}");
    let source = file(sources, &path);
    let row = |element: &'a syn::Expr| match element {
        syn::Expr::Struct(of) => Some(StructRow { source, of }),
        _ => None,
    };
    let all = list(sources, &path, name);
    let rows: Vec<StructRow<'_>> = all.iter().copied().filter_map(row).collect();
    assert_eq!(rows.len(), all.len(), "{name}: each row is read");
    rows
}

/// The facts of a notification.
pub(super) fn facts(sources: &[Source]) -> String {
    let row = |row: StructRow<'_>| format!("| `{}` | {} |\n", row.text("name"), row.text("says"));
    rows(sources, "notification.rs", "FACTS").into_iter().map(row).collect()
}

/// The kinds of receivers.
pub(super) fn receivers(sources: &[Source]) -> String {
    let row = |row: StructRow<'_>| {
        let (name, hosts, takes) = (row.text("name"), row.texts("hosts"), row.text("takes"));
        let (limit, unit) = (row.number("limit"), row.text("unit"));
        let (output, link) = (row.number("output_bytes"), row.link());
        format!("| `{name}` | {hosts} | {takes} | {limit} {unit} | {output} | {link} |\n")
    };
    rows(sources, "receiver.rs", "RECEIVERS").into_iter().map(row).collect()
}

/// The services that are pinged.
pub(super) fn services(sources: &[Source]) -> String {
    let row = |row: StructRow<'_>| {
        let (name, hosts) = (row.text("name"), row.texts("hosts"));
        let (path, method) = (row.text("path"), row.text("method"));
        let [start, success, failure] = ["start", "success", "failure"].map(|name| row.form(name));
        let (no_code, link) = (row.text("no_code"), row.link());
        format!(
            "| `{name}` | {hosts} | {path} | {method} | {start} | {success} | {failure} | {no_code} | {link} |\n"
        )
    };
    rows(sources, "ping.rs", "SERVICES").into_iter().map(row).collect()
}
