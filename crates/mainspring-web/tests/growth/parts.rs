//! The ways in which parts of requests, and what jobs and receivers write, may expand, for
//! [`growth`](super).

use mainspring_action::body::{Body, ProcessBody, WebhookBody};
use mainspring_action::secret::Secret;
use mainspring_exec::mask::Masks;
use mainspring_exec::webhook::RetryAfter;
use mainspring_job::{JobName, OnceId, Policies, RunKey};

use super::Row;
use super::rows::{lines, list};

/// Ways in which what is taken grows with the text.
pub(super) const PARTS: &[Row] = &[
    Row { name: "policies", size: 8_000, text: |n| list(n, "retry=1"), read: policies },
    Row {
        name: "policies: one long value",
        size: 40_000,
        text: |n| "retry=".to_owned() + &"1".repeat(n),
        read: policies,
    },
    Row { name: "a webhook: its body", size: 8_000, text: |n| "{nominal}".repeat(n), read: body_of_webhook },
    Row {
        name: "a webhook: a brace that is not closed",
        size: 40_000,
        text: |n| "{".repeat(n),
        read: body_of_webhook,
    },
    Row {
        name: "a webhook: its address",
        size: 8_000,
        text: |n| format!("http://a/{}", "{job}".repeat(n)),
        read: address,
    },
    Row {
        name: "a webhook: headers",
        size: 4_000,
        text: |n| lines(n, |i| format!("X-{i}=a\n")),
        read: headers,
    },
    Row { name: "a process: arguments", size: 8_000, text: |n| "a\n".repeat(n), read: arguments },
    Row {
        name: "a process: variables",
        size: 4_000,
        text: |n| lines(n, |i| format!("A{i}=a\n")),
        read: variables,
    },
    Row { name: "a name", size: 40_000, text: |n| "a".repeat(n), read: names },
    Row {
        name: "a run",
        size: 40_000,
        text: |n| format!("a@2026-01-01T00:00:00.{}Z#1", "0".repeat(n)),
        read: names,
    },
    Row { name: "an answer that puts off", size: 40_000, text: |n| "1".repeat(n), read: put_off },
    Row {
        name: "an answer that puts off to a date",
        size: 40_000,
        text: |n| "Thu, ".repeat(n / 5),
        read: put_off,
    },
    Row {
        name: "an output beside a secret of many lines",
        size: 4_000,
        text: |n| lines(n, |i| format!("{i:05}\n")),
        read: output,
    },
    Row {
        name: "an output beside a secret that repeats itself",
        size: 40_000,
        text: |n| "a".repeat(n),
        read: output,
    },
];

fn policies(text: &str) -> usize {
    let parsed = text.parse::<Policies>();
    drop(std::hint::black_box(parsed.map_err(|error| error.to_string())));
    0
}

fn checked(body: &Body) -> usize {
    drop(std::hint::black_box(body.check()));
    drop(std::hint::black_box(body.encode().map_err(|error| error.to_string())));
    0
}

fn body_of_webhook(text: &str) -> usize {
    checked(&Body::Webhook(WebhookBody {
        url: "http://a".into(),
        body: text.into(),
        ..WebhookBody::default()
    }))
}

fn address(text: &str) -> usize {
    checked(&Body::Webhook(WebhookBody { url: text.into(), ..WebhookBody::default() }))
}

fn headers(text: &str) -> usize {
    let headers = pairs(text);
    checked(&Body::Webhook(WebhookBody { url: "http://a".into(), headers, ..WebhookBody::default() }))
}

fn arguments(text: &str) -> usize {
    let run = text.lines().map(str::to_owned).collect();
    checked(&Body::Process(ProcessBody { run, ..ProcessBody::default() }))
}

fn variables(text: &str) -> usize {
    let run = vec!["a".to_owned()];
    checked(&Body::Process(ProcessBody { run, env: pairs(text), ..ProcessBody::default() }))
}

fn pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn names(text: &str) -> usize {
    drop(std::hint::black_box(JobName::new(text).map_err(|error| error.to_string())));
    drop(std::hint::black_box(text.parse::<RunKey>().map_err(|error| error.to_string())));
    drop(std::hint::black_box(text.parse::<OnceId>().map_err(|error| error.to_string())));
    0
}

fn put_off(text: &str) -> usize {
    std::hint::black_box(RetryAfter::parse(text));
    0
}

/// An output that is like the secret.
fn output(text: &str) -> usize {
    let mut masks = Masks::default();
    masks.add(&Secret::new(text));
    std::hint::black_box(masks.apply(text.as_bytes()));
    0
}
