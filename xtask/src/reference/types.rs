//! The types of the page, from the schemas in the description of the API.
//!
//! ```text
//! testdata/openapi.json (made of the types in the code) ─▶ page/api.d.ts
//! ```
//!
//! Cost: one pass over the schemas.
//!
//! Does not write what the streams of events carry: see `page/events.d.ts`.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// Where the types stand, from the workspace's root.
pub(super) const PLACE: &str = "crates/mainspring-web/page/api.d.ts";

/// What holds for all of them.
const HEAD: &str = "// The documents of the HTTP API, as the page uses them.
//
// ```text
// the types in the code --> testdata/openapi.json --> this file: `cargo xtask reference`; changes here are lost
// ```
//
// - An instant is RFC 3339 in UTC (`2026-10-25T00:30:00Z`). The civil time of the same instant, in the zone
//   of the job, stands in `civil` under the same name, as RFC 9557
//   (`2026-10-25T02:30:00+02:00[Europe/Berlin]`). The server computes it; the page computes civil times only
//   for \"my zone\" and \"UTC\", which belong to no job.
// - A sentence for people has a code beside it. The page decides by codes and shows sentences.
// - A length of time is a number of milliseconds and ends in `_ms`.
// - A list is `{items, next}`; `next` is a text for the parameter `after`, or null at the end.
// - An answer outside of 2xx is `application/problem+json`: see Problem.
// - Every answer has a `Date` header with the server's clock. The page counts down by that clock, not by its
//   own.
//
// Source: RFC 3339, RFC 9557, RFC 9457.
";

/// The description of the API in a workspace.
pub(super) fn description(root: &Path) -> Value {
    let text = fs::read_to_string(root.join("crates/mainspring-web/testdata/openapi.json"));
    serde_json::from_str(&text.unwrap_or_default()).unwrap_or_default()
}

/// The text of the file.
pub(super) fn text(root: &Path) -> String {
    let description = description(root);
    let mut text = HEAD.to_owned();
    for (name, schema) in description["components"]["schemas"].as_object().into_iter().flatten() {
        text.push('\n');
        comment(&mut text, "", schema);
        match schema["properties"].as_object() {
            Some(properties) => {
                let _ = writeln!(text, "export interface {name} {{");
                for (name, property) in properties {
                    comment(&mut text, "  ", property);
                    let _ = writeln!(text, "  {};", field(schema, name, property));
                }
                text.push_str("}\n");
            }
            None => {
                let _ = writeln!(text, "export type {name} = {};", of(schema));
            }
        }
    }
    text
}

/// What is said of a type or a field, above it.
fn comment(text: &mut String, indent: &str, schema: &Value) {
    let Some(description) = schema["description"].as_str() else { return };
    let mut line = format!("{indent}/**");
    for word in description.split_whitespace() {
        if 105 < line.len() + word.len() {
            let _ = writeln!(text, "{line}");
            line = format!("{indent} *");
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(text, "{line} */");
}

fn field(of_object: &Value, name: &str, schema: &Value) -> String {
    let is_required =
        of_object["required"].as_array().is_some_and(|names| names.iter().any(|known| known == name));
    format!("{name}{}: {}", if is_required { "" } else { "?" }, of(schema))
}

/// The type that a schema says.
fn of(schema: &Value) -> String {
    let either =
        |choices: &[Value], of: fn(&Value) -> String| choices.iter().map(of).collect::<Vec<_>>().join(" | ");
    if let Some(reference) = schema["$ref"].as_str() {
        return reference.rsplit('/').next().unwrap_or_default().to_owned();
    }
    if !schema["const"].is_null() {
        return schema["const"].to_string();
    }
    if let Some(words) = schema["enum"].as_array() {
        return either(words, Value::to_string);
    }
    if let Some(choices) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        return either(choices, of);
    }
    let named = |kind: &Value| named(kind.as_str().unwrap_or("unknown"), schema);
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().map(named).collect::<Vec<_>>().join(" | "),
        kind => named(kind),
    }
}

/// The type of one of the kinds of JSON.
fn named(kind: &str, schema: &Value) -> String {
    match (kind, &schema["items"], &schema["properties"], &schema["additionalProperties"]) {
        ("integer", ..) => "number".to_owned(),
        ("array", items, ..) => match of(items) {
            item if item.contains(" | ") && !item.starts_with('{') => format!("({item})[]"),
            item => format!("{item}[]"),
        },
        ("object", _, Value::Object(properties), _) => {
            let fields = properties.iter().map(|(name, property)| field(schema, name, property));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join("; "))
        }
        ("object", .., Value::Bool(_)) => "Record<string, unknown>".to_owned(),
        ("object", .., values) => format!("Record<string, {}>", of(values)),
        _ => kind.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_form_of_a_schema_has_a_type() {
        let run = json!({ "$ref": "#/components/schemas/Run" });
        let none = json!({ "type": "null" });
        for (schema, wanted) in [
            (json!({ "type": ["integer", "null"] }), "number | null"),
            (json!({ "anyOf": [run, none] }), "Run | null"),
            (json!({ "enum": ["a", null] }), "\"a\" | null"),
            (json!({ "type": "string", "const": "server" }), "\"server\""),
            (json!({ "type": "array", "items": { "type": ["string", "null"] } }), "(string | null)[]"),
            (
                json!({ "type": "object", "additionalProperties": { "type": "string" } }),
                "Record<string, string>",
            ),
            (
                json!({ "type": "object", "properties": { "a": run, "b": { "type": "boolean" } }, "required": ["a"] }),
                "{ a: Run; b?: boolean }",
            ),
            (json!({ "type": "object" }), "Record<string, unknown>"),
        ] {
            assert_eq!(of(&schema), wanted, "{schema}");
        }
    }

    #[test]
    fn a_long_comment_has_several_lines() {
        let mut text = String::new();
        comment(&mut text, "  ", &json!({ "description": "word ".repeat(30) }));
        assert!(text.lines().all(|line| line.len() <= 106) && text.ends_with("word */\n"), "{text}");
        assert_eq!(text.lines().count(), 2);
    }
}
