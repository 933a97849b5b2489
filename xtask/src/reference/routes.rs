//! The routes of the HTTP API, from the table that its router is made of.
//!
//! Cost: one pass over the elements of `ROUTES`.

use std::fmt::Write;

use super::code::{constant, elements, file, string_of, text_of};
use crate::tidy::Source;

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
pub(super) fn text(sources: &[Source]) -> String {
    let mut text = "`openapi.json` of a server has bodies and answers as well.\n\n| method | path | scope | is | query |\n\
                    |---|---|---|---|---|\n"
        .to_owned();
    let routes = file(sources, "crates/mainspring-web/src/routes.rs");
    let routes = routes.and_then(|source| Some((source, constant(source, "ROUTES")?)));
    if let Some((source, routes)) = routes {
        for element in elements(&routes.expr) {
            let mut route = Route::default();
            read(source, element, &mut route);
            let Route { method, path, access, says, query } = route;
            let _ = writeln!(text, "| {method} | `{path}` | {access} | {says} | {} |", query.join(", "));
        }
    }
    text
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
