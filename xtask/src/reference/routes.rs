//! The routes of the HTTP API, from the table that its router is made of, and the shapes of their bodies.
//!
//! Cost: one pass over the elements of `ROUTES`.

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use super::code::{constant, elements, file, string_of, text_of};
use super::types::description;
use crate::tidy::Source;

/// What holds for all routes.
const RULES: &str = "`openapi.json` of a server has all shapes.

- Answers have the fields of the `--json` documents, and some more. An unknown parameter or field is refused. An error is \
  `application/problem+json`: `detail` is the sentence that the command line prints, and `problems` lists the places if a text \
  or a field of the body is wrong.
- Answers to GET have an `ETag`; a request with `If-None-Match` and the same tag gets 304, but for `jobs/JOB`: the ETag of a \
  job covers its definition and its pause alone, so a run between GET and PUT does not change it; PUT and DELETE with \
  `If-Match` are done only while the job has it.
- The same `key`, or header `Idempotency-Key`, is one run or one submission, and so is the same `at` of the last minute for \
  `jobs/JOB/run`. `once` with `job` is as that; with `work` it needs `define`.
- A `preview` tells what would be done; `expected` is its count, and another one now is 409. A pause with `until` ends by \
  itself.
- An output is all of it, `?attempt=N`, `?tail=N` (at most 256 KiB) or a `Range`, with `Content-Range` or `X-Left-Out` for what \
  is before; `/output/events` has it as it comes; the answer is 410 if newer output has taken its place.

A scope holds those before it. `define` needs `serve --define-over-http`; without that it is as `operate`.

";

/// A route as far as a row has it.
#[derive(Default)]
struct Route {
    method: String,
    access: String,
    path: String,
    says: String,
    query: Vec<String>,
}

/// The page's table.
pub(super) fn text(root: &Path, sources: &[Source]) -> String {
    let description = description(root);
    let mut text = RULES.to_owned();
    let scopes = file(sources, "crates/mainspring-web/src/scope.rs");
    for row in scopes
        .into_iter()
        .flat_map(|source| source.text.lines())
        .filter_map(|line| line.strip_prefix("//! |"))
    {
        let _ = writeln!(text, "|{row}");
    }
    text.push_str("\nOf a body, what has to be there stands before the semicolon.\n\n");
    text.push_str("| method | path | scope | is | query | body |\n|---|---|---|---|---|---|\n");
    let routes = file(sources, "crates/mainspring-web/src/routes.rs");
    let routes = routes.and_then(|source| Some((source, constant(source, "ROUTES")?)));
    if let Some((source, routes)) = routes {
        for element in elements(&routes.expr) {
            let mut route = Route::default();
            read(source, element, &mut route);
            let body = body(&description, &route);
            let Route { method, path, access, says, query, .. } = route;
            let _ =
                writeln!(text, "| {method} | `{path}` | {access} | {says} | {} | {body} |", query.join(", "));
        }
    }
    text
}

/// The fields of the body of a route.
fn body(description: &Value, route: &Route) -> String {
    let operation = &description["paths"][&route.path][route.method.to_lowercase()];
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"]["$ref"];
    let name = schema.as_str().and_then(|path| path.rsplit('/').next());
    name.map(|name| fields(&description["components"]["schemas"][name])).unwrap_or_default()
}

/// The names of the fields of a shape: those that have to be there first.
fn fields(shape: &Value) -> String {
    if let Some(choices) = shape["oneOf"].as_array() {
        return choices.iter().map(fields).collect::<Vec<_>>().join(" or ");
    }
    let required: Vec<&str> =
        shape["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let names = shape["properties"].as_object().into_iter().flat_map(|names| names.keys());
    let (first, others): (Vec<&str>, Vec<&str>) =
        names.map(String::as_str).partition(|name| required.contains(name));
    let quoted =
        |names: Vec<&str>| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let shown = [quoted(first), quoted(others)];
    shown.iter().filter(|names| !names.is_empty()).cloned().collect::<Vec<_>>().join("; ")
}

/// Reads `Route::get(..).with_query(..)`, from its end to its beginning.
fn read(source: &Source, expression: &syn::Expr, route: &mut Route) {
    match expression {
        syn::Expr::MethodCall(call) => {
            if call.method == "with_query" {
                let names = call.args.first().map(elements).unwrap_or_default();
                route.query =
                    names.into_iter().filter_map(string_of).map(|name| format!("`{name}`")).collect();
            }
            read(source, &call.receiver, route);
        }
        syn::Expr::Call(call) => {
            let name = text_of(source, &*call.func);
            route.method = name.rsplit("::").next().unwrap_or_default().to_uppercase();
            let argument = |index: usize| call.args.get(index);
            route.access =
                argument(0).map(|access| text_of(source, access).to_lowercase()).unwrap_or_default();
            route.path = argument(1).and_then(string_of).unwrap_or_default();
            route.says = argument(2).and_then(string_of).unwrap_or_default();
        }
        _ => {}
    }
}
