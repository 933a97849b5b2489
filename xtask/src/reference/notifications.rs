//! The tables of notifications: the facts, the receivers and the services that are pinged.
//!
//! Each row is a struct in the code with fields of these names.
//!
//! Cost: one pass over each table.

use std::fmt::Write;

use super::code::{constant, elements, file, string_of, text_of};
use crate::tidy::Source;

/// A row of the code.
struct StructRow<'a> {
    source: &'a Source,
    of: &'a syn::ExprStruct,
}

impl StructRow<'_> {
    fn field(&self, name: &str) -> Option<&syn::Expr> {
        let is_it =
            |field: &&syn::FieldValue| matches!(&field.member, syn::Member::Named(found) if found == name);
        self.of.fields.iter().find(is_it).map(|field| &field.expr)
    }

    fn text(&self, name: &str) -> String {
        self.field(name).and_then(string_of).unwrap_or_default()
    }

    fn texts(&self, name: &str) -> String {
        let texts = self.field(name).map(elements).unwrap_or_default();
        texts.into_iter().filter_map(string_of).map(|text| format!("`{text}`")).collect::<Vec<_>>().join(", ")
    }

    /// The value of the constant that stands there.
    fn number(&self, name: &str) -> String {
        let constant = self.field(name).and_then(|field| constant(self.source, &text_of(self.source, field)));
        constant.map(|constant| text_of(self.source, &constant.expr)).unwrap_or_default()
    }

    /// What is put behind the URL.
    fn form(&self, name: &str) -> String {
        let form = match self.field(name) {
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
    let Some(source) = file(sources, &format!("crates/mainspring-action/src/{path}")) else {
        return Vec::new();
    };
    let all = constant(source, name).map(|constant| elements(&constant.expr)).unwrap_or_default();
    let row = |element: &'a syn::Expr| match element {
        syn::Expr::Struct(of) => Some(StructRow { source, of }),
        _ => None,
    };
    all.into_iter().filter_map(row).collect()
}

/// The text behind the keys.
pub(super) fn text(sources: &[Source]) -> String {
    let mut text = "\n### Facts\nA notification has these facts: as fields of a JSON object, as `NOTIFY_EVENT` and so on in the \
         environment of a line for a shell (but for `text`), and as `{event}` and so on in `url`, `headers` and `body` of a \
         table. In a `body` that begins with `{` or `[` each stands as in a string of JSON.\n\n| fact | is |\n|---|---|\n"
        .to_owned();
    for row in rows(sources, "notification.rs", "FACTS") {
        let _ = writeln!(text, "| `{}` | {} |", row.text("name"), row.text("says"));
    }
    text.push_str(
        "\n### Receivers\nThe kind of a URL is known by its host, and said of another by `kind` or by a prefix, as in \
         `slack:https://chat.example.com/hooks/1`. Each gets the last lines of the output that fit. The header `Retry-After` of \
         an answer is obeyed.\n\n| kind | hosts | gets | at most | output, bytes | source |\n|---|---|---|---|---|---|\n",
    );
    for row in rows(sources, "receiver.rs", "RECEIVERS") {
        let (name, hosts, takes) = (row.text("name"), row.texts("hosts"), row.text("takes"));
        let (limit, unit) = (row.number("limit"), row.text("unit"));
        let (output, link) = (row.number("output_bytes"), row.link());
        let _ = writeln!(text, "| `{name}` | {hosts} | {takes} | {limit} {unit} | {output} | {link} |");
    }
    text.push_str(
        "\n### Pings\nThe service of a `ping_url` is known by its host or its path, and said of another by a prefix, as in \
         `cronitor:https://..`. `{rid}` is a UUID of the run, `{code}` its exit code, or the word in the table without one. \
         A POST has the end of the output as its body. A start is pinged once for all attempts of a run and is not tried again, \
         an end after the last attempt; the end waits for the start that is under way on the same server. A run that is \
         cancelled has no end.\n\n| service | hosts | path | method | start | success | failure | without a code | source |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows(sources, "ping.rs", "SERVICES") {
        let (name, hosts) = (row.text("name"), row.texts("hosts"));
        let (path, method) = (row.text("path"), row.text("method"));
        let [start, success, failure] = ["start", "success", "failure"].map(|name| row.form(name));
        let (no_code, link) = (row.text("no_code"), row.link());
        let _ = writeln!(
            text,
            "| `{name}` | {hosts} | {path} | {method} | {start} | {success} | {failure} | {no_code} | {link} |"
        );
    }
    text
}
