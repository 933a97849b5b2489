//! The routes of the HTTP API, from the table that its router is made of, and the shapes of their bodies.
//!
//! Cost: one pass over the elements of `ROUTES`.

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use super::code::{elements, last_name, list, quoted, string_of};
use super::types::description;
use crate::tidy::Source;

/// A route as far as a row has it.
#[derive(Default)]
struct Route {
    method: String,
    access: String,
    path: String,
    says: String,
    query: String,
}

/// The rows of the page.
pub(super) fn rows(root: &Path, sources: &[Source]) -> String {
    let description = description(root);
    let mut text = String::new();
    for element in list(sources, "mainspring-web/src/routes.rs", "ROUTES") {
        let mut route = Route::default();
        read(element, &mut route);
        let body = body(&description, &route);
        let Route { method, path, access, says, query, .. } = route;
        assert!(["GET", "PUT", "POST", "DELETE"].contains(&method.as_str()), "{method} is a method");
        assert!(path.starts_with('/'), "{path} is a path");
        assert!(!says.is_empty(), "{path}: it is said what it is");
        let _ = writeln!(text, "| {method} | `{path}` | {access} | {says} | {query} | {body} |");
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
    let shown = [quoted(first), quoted(others)];
    shown.iter().filter(|names| !names.is_empty()).cloned().collect::<Vec<_>>().join("; ")
}

/// Reads `Route::get(..).with_query(..)`, from its end to its beginning.
fn read(expression: &syn::Expr, route: &mut Route) {
    match expression {
        syn::Expr::MethodCall(call) => {
            if call.method == "with_query" {
                let names = call.args.first().map(elements).unwrap_or_default();
                route.query = quoted(names.into_iter().filter_map(string_of));
            }
            read(&call.receiver, route);
        }
        syn::Expr::Call(call) => {
            let text = |index: usize| call.args.get(index).and_then(string_of).unwrap_or_default();
            route.method = last_name(&call.func).to_uppercase();
            route.access = call.args.first().map(last_name).unwrap_or_default().to_lowercase();
            (route.path, route.says) = (text(1), text(2));
        }
        _ => {}
    }
}
