//! The description of the API for programs: OpenAPI 3.1, made of the table of routes and of schemas.
//!
//! ```text
//! ROUTES (method, path, access, query, body, answers) ─┐
//! the types of bodies and answers (see `schema`) ──────┼─▶ api/v1/openapi.json, testdata/openapi.json
//! KEYS of mainspring-action (what a job does) ─────────┘                              └─▶ page/api.d.ts
//! ```
//!
//! `cargo xtask contract` compares it with what a real server answers.
//!
//! Cost: some hundred kilobytes for a moment, for each caller.
//!
//! Does not describe what is inside the streams of events: OpenAPI has no words for it.
//!
//! Source: <https://spec.openapis.org/oas/v3.1.1.html>, RFC 9457.

use std::collections::BTreeMap;

use axum::http::Method;
use mainspring_action::{key, process, webhook};
use serde_json::{Map, Value, json};

use crate::guard::PROBES;
use crate::problem;
use crate::route::{Access, Content, Route};
use crate::routes::ROUTES;
use crate::schema::{Kind, Schemas, of};

/// A parameter: its name, its schema, what it is.
type Parameter = (&'static str, fn() -> Value, &'static str);

fn text() -> Value {
    json!({ "type": "string" })
}

/// A number from one to another.
fn number(minimum: u64, maximum: u64) -> Value {
    let mut schema = json!({ "type": "integer", "minimum": minimum, "maximum": maximum });
    if u64::from(i32::MAX.unsigned_abs()) < maximum {
        schema["format"] = json!("int64");
    }
    schema
}

fn time() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

/// Parameters behind the question mark.
const QUERY: &[Parameter] = &[
    ("actor", text, "only what this person or program did"),
    ("after", text, "the page that begins behind this: `next` of the page before"),
    ("attempt", || number(1, u32::MAX.into()), "only this attempt"),
    ("cause", text, "only runs with this cause; `notify`: of notifications, which else only `all` shows"),
    ("from", time, "from this time on"),
    ("group", text, "only of this group"),
    ("history", || json!({ "enum": ["keep", "drop"] }), "what becomes of its runs"),
    ("job", text, "only of this job"),
    ("label", text, "only with this label, `name` or `name=value`"),
    ("limit", || number(1, 1_000), "how many at most"),
    ("line", text, "only runs whose last line, outcome or reason this is"),
    ("n", || number(1, 100), "how many"),
    (
        "order",
        || json!({ "enum": ["ended", "nominal"] }),
        "what comes first: what ended last, or what was due last",
    ),
    ("q", text, "only what has this in its name"),
    ("since", time, "only from this time on"),
    (
        "sort",
        || json!({ "type": "string", "pattern": "^-?(name|state|next|last|median|p95)$" }),
        "by what; with - before it the other way round",
    ),
    ("source", text, "only what comes from there"),
    ("state", text, "only in these states, with commas between"),
    ("tail", || number(1, 10_000), "the last so many lines"),
    ("to", time, "up to this time"),
    ("until", time, "only before this time"),
    ("window", || json!({ "enum": ["7d", "30d", "90d"] }), "how far back"),
    ("year", || number(1, 9_999), "which year"),
];

/// Parameters in a path.
const PATH: &[Parameter] = &[
    ("job", text, "the name of a job"),
    ("nominal", text, "the time for which the run is, in RFC 3339"),
    ("series", || number(0, u32::MAX.into()), "0, or the number of a backfill"),
    ("id", text, "what the answer before called it"),
    ("hash", text, "the hash of all assets"),
    ("name", text, "the name of an asset"),
];

fn parameter(place: &str, name: &str, known: &[Parameter]) -> Value {
    let found = known.iter().find(|parameter| parameter.0 == name);
    let (schema, says) = found.map_or((text(), ""), |found| ((found.1)(), found.2));
    json!({ "name": name, "in": place, "required": place == "path", "schema": schema, "description": says })
}

/// The names in the braces of a path.
fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('{').skip(1).filter_map(|part| part.split('}').next())
}

/// The statuses with which a route may refuse.
pub fn refusals(route: &Route) -> Vec<u16> {
    let mut found = vec![400];
    if !PROBES.contains(&route.path) {
        found.push(421);
    }
    if let Access::Needs(_) = route.access {
        found.extend([401, 403]);
    }
    if route.path.starts_with("/api/") || route.path == "/metrics" || route.path == "/readyz" {
        found.extend([429, 500, 503]);
    }
    if names(route.path).next().is_some() {
        found.push(404);
    }
    if route.method != Method::GET {
        found.extend([403, 408, 413, 415, 422]);
    }
    found.extend(route.refusals);
    found.sort_unstable();
    found.dedup();
    found
}

fn answers(route: &Route, schemas: &mut Schemas) -> Value {
    let mut found = Map::new();
    for (status, content) in route.answers {
        let media = |name: &str, schema: Value| (name.to_owned(), json!({ "schema": schema }));
        let content: Map<String, Value> = match content {
            Content::Nothing => Map::new(),
            Content::Json(schema) => Map::from_iter([media("application/json", schemas.reference(*schema))]),
            Content::Media(names) => names.iter().map(|name| media(name, json!({}))).collect(),
        };
        let mut answer = json!({ "description": meaning(route, *status, &content, schemas) });
        if !content.is_empty() {
            answer["content"] = Value::Object(content);
        }
        found.insert(status.to_string(), answer);
    }
    if is_known_by_tag(route) {
        found.insert(
            "304".to_owned(),
            json!({ "description": "The client has it: its tag is in `If-None-Match`." }),
        );
    }
    for status in refusals(route) {
        found.insert(status.to_string(), json!({ "$ref": "#/components/responses/Problem" }));
    }
    Value::Object(found)
}

/// Whether a client that has an answer is told so instead of the answer. The tag of a job is for those who
/// change it.
fn is_known_by_tag(route: &Route) -> bool {
    let is_document =
        route.answers.iter().any(|(status, content)| *status == 200 && matches!(content, Content::Json(_)));
    route.method == Method::GET && is_document && route.path != "/api/v1/jobs/{job}"
}

/// What an answer is: as the route has it, or its shape, or what the route is.
fn meaning(route: &Route, status: u16, content: &Map<String, Value>, schemas: &Schemas) -> String {
    let own = route.meanings.iter().find(|meaning| meaning.0 == status).map(|meaning| meaning.1.to_owned());
    let shape = content.values().find_map(|content| schemas.says(content["schema"]["$ref"].as_str()?));
    own.or(shape).unwrap_or_else(|| match status {
        204 => "It is done.".to_owned(),
        _ => sentence(route.says),
    })
}

/// A text of the table as a sentence.
fn sentence(says: &str) -> String {
    let (first, rest) = says.split_at(says.chars().next().map_or(0, char::len_utf8));
    format!("{}{rest}.", first.to_uppercase())
}

/// What operations belong to, with the first words of their paths.
const TAGS: [(&str, &str, &[&str]); 6] = [
    (
        "jobs",
        "Jobs: what they are, when they are due, and what is done to them.",
        &["jobs", "explain", "upcoming"],
    ),
    ("runs", "Runs, with their output.", &["runs"]),
    ("once", "What is done once.", &["once"]),
    ("files", "Files of jobs.", &["files", "export", "check", "apply"]),
    (
        "server",
        "The server as a whole.",
        &[
            "status",
            "health",
            "livez",
            "readyz",
            "metrics",
            "openapi.json",
            "pause",
            "resume",
            "actions",
            "audit",
            "events",
            "requests",
        ],
    ),
    ("page", "The page, and signing in.", &["", "assets", "session"]),
];

/// What an operation belongs to.
fn tag(route: &Route) -> Option<&'static str> {
    let path = route.path.strip_prefix("/api/v1/").unwrap_or(route.path.trim_start_matches('/'));
    let first = path.split('/').next().unwrap_or_default();
    TAGS.iter().find(|tag| tag.2.contains(&first)).map(|tag| tag.0)
}

fn operation(route: &Route, answered: &mut Schemas, read: &mut Schemas) -> Value {
    let in_path = names(route.path).map(|name| parameter("path", name, PATH));
    let in_query = route.query.iter().map(|name| parameter("query", name, QUERY));
    let parameters: Vec<Value> = in_path.chain(in_query).collect();
    let mut operation = json!({
        "summary": route.says, "operationId": id(route), "tags": Vec::from_iter(tag(route)),
        "parameters": parameters, "responses": answers(route, answered)
    });
    match route.access {
        Access::Anybody => operation["security"] = json!([]),
        Access::Needs(scope) => {
            operation["description"] = json!(format!("Needs the scope `{scope}`."));
            operation["x-scope"] = json!(scope);
        }
    }
    if let Some(body) = route.body {
        let schema = read.reference(body.schema);
        let is_required = (body.read)(b"").is_err();
        operation["requestBody"] =
            json!({ "required": is_required, "content": { "application/json": { "schema": schema } } });
    }
    operation
}

/// A name for code that is made of the document: `post_jobs_job_run`.
fn id(route: &Route) -> String {
    let path = route.path.strip_prefix("/api/v1").unwrap_or(route.path).replace(['{', '}'], "");
    let path = path.trim_matches('/').replace(['/', '.', '-'], "_");
    let name = format!("{}_{path}", route.method.as_str().to_ascii_lowercase());
    name.trim_end_matches('_').to_owned()
}

/// The document.
pub fn document() -> Value {
    let (mut answered, mut read) = (Schemas::new(Kind::Answer), Schemas::new(Kind::Body));
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for route in ROUTES {
        let method = route.method.as_str().to_ascii_lowercase();
        paths.entry(route.path).or_default().insert(method, operation(route, &mut answered, &mut read));
    }
    let problem = answered.reference(of::<problem::Document<'static>>);
    let mut schemas = read.named();
    schemas.extend(answered.named());
    let says = "What is started, with the keys of the job file.";
    schemas.insert("Process".to_owned(), key::schema(process::KEYS, says, &[]));
    let says = "What is sent, with the keys of the job file.";
    schemas.insert("Webhook".to_owned(), key::schema(webhook::KEYS, says, &["url"]));
    json!({
        "openapi": "3.1.1",
        "info": {
            "title": "Mainspring", "version": env!("CARGO_PKG_VERSION"),
            "description": "What a server of `mainspring serve --listen` tells and does. Tokens: `mainspring token add`.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" }
        },
        "servers": [{ "url": "../../" }],
        "security": [{ "token": [] }, { "session": [] }],
        "tags": TAGS.map(|(name, says, _)| json!({ "name": name, "description": says })),
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": { "Problem": {
                "description": "What is wrong, in the words of the command line.",
                "content": { "application/problem+json": { "schema": problem } }
            } },
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
                "session": { "type": "apiKey", "in": "cookie", "name": "mainspring" }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Where the description is committed, so that a change of it is seen.
    const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/openapi.json");

    #[test]
    fn the_committed_description_is_that_of_the_routes() {
        let text = format!("{}\n", serde_json::to_string_pretty(&document()).unwrap());
        if std::env::var_os("UPDATE_EXPECTED").is_some() {
            std::fs::write(COMMITTED, &text).unwrap();
        }
        let committed = std::fs::read_to_string(COMMITTED).unwrap_or_default();
        assert!(
            committed == text,
            "UPDATE_EXPECTED=1 cargo test -p mainspring-web openapi accepts the change"
        );
    }

    #[test]
    fn every_schema_parameter_and_status_that_is_named_is_described() {
        let document = document();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let text = document.to_string();
        for part in text.split("#/components/schemas/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(schemas.contains_key(name), "{name}");
        }
        for name in schemas.keys() {
            assert!(
                text.contains(&format!("#/components/schemas/{name}\"")),
                "nothing has the schema {name}"
            );
        }
        let mut ids = HashSet::new();
        for route in ROUTES {
            assert!(ids.insert(id(route)), "{}", id(route));
            assert!(!route.answers.is_empty(), "{} answers nothing", route.path);
            for name in route.query {
                assert!(QUERY.iter().any(|known| known.0 == *name), "{name}");
            }
            for name in names(route.path) {
                assert!(PATH.iter().any(|known| known.0 == name), "{name}");
            }
        }
    }

    /// Whether a schema is of a number that 32 bits do not hold.
    fn is_long(value: &Value) -> bool {
        let is_integer = value["type"] == "integer";
        is_integer && value["maximum"].as_u64().is_some_and(|most| i32::MAX as u64 <= most)
    }

    /// What a generator of clients stumbles over in a document, each with its place.
    fn lacks(place: &str, value: &Value, found: &mut Vec<String>) {
        let below: Vec<(String, &Value)> = match value {
            Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
            Value::Array(items) => {
                items.iter().enumerate().map(|(i, value)| (i.to_string(), value)).collect()
            }
            _ => return,
        };
        let is_array = value["type"] == "array"
            || value["type"].as_array().is_some_and(|of| of.contains(&json!("array")));
        let (is_operation, is_answer) = (value["operationId"].is_string(), place.contains("/responses/"));
        let is_empty = |name: &str| value[name].as_str().is_none_or(str::is_empty);
        for (is_lacking, what) in [
            (is_array && value.get("items").is_none(), "items"),
            (is_long(value) && value["format"] != "int64", "format of a long number"),
            (is_operation && value["tags"].as_array().is_none_or(Vec::is_empty), "tags"),
            (is_operation && is_empty("summary"), "summary"),
            (is_answer && value.get("content").is_some() && is_empty("description"), "description"),
            (place.ends_with("/requestBody") && !value["required"].is_boolean(), "required"),
        ] {
            if is_lacking {
                found.push(format!("{place} has no {what}"));
            }
        }
        below.into_iter().for_each(|(name, value)| lacks(&format!("{place}/{name}"), value, found));
    }

    #[test]
    fn a_generator_of_clients_finds_tags_items_and_what_each_answer_is() {
        let mut document = document();
        let (mut found, mut reasons) = (Vec::new(), Vec::new());
        lacks("", &document, &mut found);
        assert!(found.is_empty(), "{found:#?}");
        for (status, answer) in
            operations(&document).flat_map(|operation| operation["responses"].as_object().unwrap())
        {
            let says = answer["description"].as_str();
            reasons.extend(
                says.filter(|says| !says.ends_with('.') || ["OK.", "Created."].contains(says))
                    .map(|says| (status, says)),
            );
        }
        assert!(reasons.is_empty(), "no sentences: {reasons:?}");
        let known: Vec<&str> = TAGS.map(|tag| tag.0).to_vec();
        let used = operations(&document).map(|operation| operation["tags"][0].as_str().unwrap());
        assert!(used.collect::<HashSet<_>>().into_iter().all(|tag| known.contains(&tag)));
        // Each of them is missed where it is taken away.
        let run = document["paths"]["/api/v1/jobs/{job}/run"]["post"].as_object_mut().unwrap();
        run.remove("tags");
        run["requestBody"].as_object_mut().unwrap().remove("required");
        run["responses"]["202"]["description"] = json!("");
        document["components"]["schemas"]["JobList"]["properties"]["items"]
            .as_object_mut()
            .unwrap()
            .remove("items");
        found.clear();
        lacks("", &document, &mut found);
        assert_eq!(found.len(), 4, "{found:#?}");
    }

    fn operations(document: &Value) -> impl Iterator<Item = &Value> {
        document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values())
    }

    #[test]
    fn what_the_server_takes_and_answers_stands_in_the_description() {
        let document = document();
        let history = &document["paths"]["/api/v1/jobs/{job}"]["delete"]["parameters"][1];
        assert_eq!(
            (&history["name"], &history["schema"]["enum"]),
            (&json!("history"), &json!(["keep", "drop"]))
        );
        let note = &document["components"]["schemas"]["Noted"]["properties"]["note"];
        assert_eq!(note["maxLength"], 1_024, "{note}");
        let statuses = |path: &str| document["paths"][path]["get"]["responses"].as_object().unwrap().clone();
        for (path, is_tagged) in [
            ("/api/v1/jobs", true),
            ("/api/v1/jobs/{job}", false),
            ("/api/v1/export", false),
            ("/metrics", false),
        ] {
            assert_eq!(statuses(path).contains_key("304"), is_tagged, "{path}");
        }
        assert!(!statuses("/livez").contains_key("421") && statuses("/").contains_key("421"));
    }

    #[test]
    fn a_body_that_may_be_absent_is_so_in_the_description() {
        let document = document();
        let is_required =
            |path: &str, method: &str| document["paths"][path][method]["requestBody"]["required"].clone();
        assert_eq!(is_required("/api/v1/jobs/{job}/run", "post"), false);
        assert_eq!(is_required("/api/v1/pause", "post"), false);
        assert_eq!(is_required("/api/v1/once", "post"), true);
        assert_eq!(is_required("/api/v1/apply", "post"), true);
    }
}
