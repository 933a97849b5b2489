//! The ways in which bodies of the API and requests over the socket may expand, for [`growth`](super).
//!
//! A body is read as its route does, by the name of its schema. A request over the socket is that of
//! `POST /api/v1/requests`: one function reads both.

use mainspring_server::protocol::MAX_VALUES;
use mainspring_web::routes::ROUTES;

use super::Row;
use super::rows::{lines, list};

/// Ways in which what is taken grows with the body.
pub(super) const BODIES: &[Row] = &[
    Row {
        name: "SignIn: a token",
        size: 4_000,
        text: |n| text("token", n),
        read: |text| read("SignIn", text),
    },
    Row {
        name: "CheckParams: files",
        size: 1_000,
        text: |n| files(n, "@daily a\\n"),
        read: |text| read("CheckParams", text),
    },
    Row {
        name: "CheckParams: escapes",
        size: 40_000,
        text: |n| files(1, &"\\u0001".repeat(n)),
        read: |text| read("CheckParams", text),
    },
    Row {
        name: "ApplyParams: files",
        size: 1_000,
        text: |n| files(n, "@daily a\\n"),
        read: |text| read("ApplyParams", text),
    },
    Row {
        name: "DefineParams: text",
        size: 40_000,
        text: |n| format!("{{\"toml\":\"{}\"}}", "\\n".repeat(n)),
        read: |text| read("DefineParams", text),
    },
    Row {
        name: "DefineParams: keys",
        size: 1_000,
        text: |n| job(&fields(n, "1")),
        read: |text| read("DefineParams", text),
    },
    Row {
        name: "DefineParams: a list",
        size: 8_000,
        text: |n| job(&format!("\"run\":[{}]", list(n, "1"))),
        read: |text| read("DefineParams", text),
    },
    Row {
        name: "DefineParams: a list of tables",
        size: 1_000,
        text: |n| job(&format!("\"notify\":[{}]", list(n, "{\"a\":{}}"))),
        read: |text| read("DefineParams", text),
    },
    Row {
        name: "DefineParams: deep lists",
        size: 40_000,
        text: |n| job(&format!("\"run\":{}", "[".repeat(n))),
        read: |text| read("DefineParams", text),
    },
    Row {
        name: "DefineParams: characters that are escaped",
        size: 40_000,
        text: |n| job(&format!("\"shell\":\"{}\"", "\u{7f}".repeat(n))),
        read: |text| read("DefineParams", text),
    },
    Row {
        name: "RunParams: a key",
        size: 40_000,
        text: |n| text("key", n),
        read: |text| read("RunParams", text),
    },
    Row {
        name: "PauseParams: a note",
        size: 40_000,
        text: |n| text("note", n),
        read: |text| read("PauseParams", text),
    },
    Row { name: "Noted: a note", size: 40_000, text: |n| text("note", n), read: |text| read("Noted", text) },
    Row {
        name: "BackfillParams: a time",
        size: 40_000,
        text: |n| text("from", n),
        read: |text| read("BackfillParams", text),
    },
    Row {
        name: "ActionParams: names",
        size: 4_000,
        text: |n| format!("{{\"do\":\"run\",\"of\":\"jobs\",\"ids\":[{}]}}", list(n, "\"a\"")),
        read: |text| read("ActionParams", text),
    },
    Row {
        name: "ActionParams: a filter",
        size: 4_000,
        text: |n| format!("{{\"do\":\"run\",\"of\":\"jobs\",\"filter\":{{{}}}}}", fields(n, "\"\"")),
        read: |text| read("ActionParams", text),
    },
    Row {
        name: "OnceParams: variables",
        size: 4_000,
        text: |n| format!("{{\"work\":{{\"process\":{{\"env\":{{{}}}}}}}}}", fields(n, "\"\"")),
        read: |text| read("OnceParams", text),
    },
    Row {
        name: "OnceBatch: items",
        size: 1_000,
        text: |n| format!("{{\"items\":[{}]}}", list(n, "{}")),
        read: |text| read("OnceBatch", text),
    },
    Row {
        name: "OnceBatch: variables of each item",
        size: 400,
        text: |n| {
            let item = format!("{{\"work\":{{\"process\":{{\"env\":{{{}}}}}}}}}", fields(20, "\"\""));
            format!("{{\"items\":[{}]}}", list(n, &item))
        },
        read: |text| read("OnceBatch", text),
    },
    Row {
        name: "ExplainParams: an expression",
        size: 40_000,
        text: |n| text("schedule", n),
        read: |text| read("ExplainParams", text),
    },
    Row {
        name: "RequestParams: files",
        size: 1_000,
        text: |n| {
            let file = "{\"name\":\"a\",\"text\":\"@daily a\\n\",\"system\":false}";
            format!(
                "{{\"command\":\"apply\",\"prune\":false,\"preview\":true,\"files\":[{}]}}",
                list(n, file)
            )
        },
        read: |text| read("RequestParams", text),
    },
    Row {
        name: "RequestParams: variables",
        size: 4_000,
        text: |n| {
            let due = "2100-01-01T00:00:00Z";
            let env = fields(n, "\"\"");
            format!("{{\"command\":\"submit\",\"due\":\"{due}\",\"process\":{{\"env\":{{{env}}}}}}}")
        },
        read: |text| read("RequestParams", text),
    },
    Row {
        name: "RequestParams: what no request has",
        size: 8_000,
        text: |n| format!("{{\"command\":\"status\",\"x\":[{}]}}", list(n, "1")),
        read: |text| read("RequestParams", text),
    },
    Row {
        name: "RequestParams: fields that no request has",
        size: 4_000,
        text: |n| format!("{{\"command\":\"status\",{}}}", fields(n, "1")),
        read: |text| read("RequestParams", text),
    },
];

/// Bodies that take the most for their length, at the greatest length or with the most values at which they
/// are read, and longer ones.
pub(super) const LONGEST_BODIES: &[Row] = &[
    Row {
        name: "CheckParams: one long text",
        size: 15 << 20,
        text: |n| files(1, &"\\n".repeat(n / 2)),
        read: |text| read("CheckParams", text),
    },
    Row {
        name: "CheckParams: the most files",
        size: MAX_VALUES / 5 - 2,
        text: |n| files(n, ""),
        read: |text| read("CheckParams", text),
    },
    Row {
        name: "CheckParams: too many files",
        size: 600_000,
        text: |n| files(n, ""),
        read: |text| read("CheckParams", text),
    },
    Row {
        name: "DefineParams: the most keys",
        size: MAX_VALUES / 2 - 10,
        text: |n| job(&fields(n, "1")),
        read: |text| read("DefineParams", text),
    },
    Row {
        name: "DefineParams: the most values",
        size: MAX_VALUES - 10,
        text: |n| job(&format!("\"run\":[{}]", list(n, "1"))),
        read: |text| read("DefineParams", text),
    },
    Row {
        name: "DefineParams: too many values",
        size: 2 << 20,
        text: |n| job(&format!("\"run\":[{}]", list(n, "1"))),
        read: |text| read("DefineParams", text),
    },
    Row {
        name: "ActionParams: the most names",
        size: MAX_VALUES - 10,
        text: |n| format!("{{\"do\":\"run\",\"of\":\"jobs\",\"ids\":[{}]}}", list(n, "\"\"")),
        read: |text| read("ActionParams", text),
    },
    Row {
        name: "RequestParams: the most values",
        size: MAX_VALUES - 10,
        text: |n| format!("{{\"command\":\"status\",\"x\":[{}]}}", list(n, "1")),
        read: |text| read("RequestParams", text),
    },
    Row {
        name: "RequestParams: the most fields",
        size: MAX_VALUES / 2 - 10,
        text: |n| format!("{{\"command\":\"status\",{}}}", fields(n, "1")),
        read: |text| read("RequestParams", text),
    },
    Row {
        name: "RequestParams: too many values",
        size: 8 << 20,
        text: |n| format!("{{\"command\":\"status\",\"x\":[{}]}}", list(n - 100, "1")),
        read: |text| read("RequestParams", text),
    },
];

/// Reads a body as its route does.
fn read(schema: &str, body: &str) -> usize {
    let found = ROUTES.iter().filter_map(|route| route.body).find(|body| (body.name)() == schema);
    let read = found.expect("a route takes it").read;
    let _refused = std::hint::black_box(read(body.as_bytes()));
    0
}

fn text(name: &str, length: usize) -> String {
    format!("{{\"{name}\":\"{}\"}}", "x".repeat(length))
}

fn fields(count: usize, value: &str) -> String {
    lines(count, |index| format!("{}\"k{index}\":{value}", if index == 0 { "" } else { "," }))
}

fn files(count: usize, text: &str) -> String {
    format!("{{\"files\":[{}]}}", list(count, &format!("{{\"path\":\"\",\"text\":\"{text}\"}}")))
}

fn job(keys: &str) -> String {
    format!("{{\"name\":\"a\",\"job\":{{{keys}}}}}")
}
