//! A notification: the facts of what happened to a job, and where they go.
//!
//! ```text
//! hook of a job ─▶ facts, destination ─▶ store ─┬─ start ─▶ request of the receiver's kind
//! output of the run, as far as it is kept ──────┘        └▶ environment of a line for a shell
//! ```
//!
//! [`FACTS`] has a row for each fact: it is a field of the JSON object, a variable `NOTIFY_..` of a line for
//! a shell, and a word between braces in a template.
//!
//! Cost: a small document for each notification; its request is one pass over the output.
//!
//! Does not send anything, and does not read the output.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::process::ProcessBody;
use crate::webhook::WebhookBody;

/// How many characters of a reason a notification has: the rest is in the history.
pub const MAX_REASON_CHARACTERS: usize = 500;

/// How much of the output a line for a shell has, in bytes: Linux takes 128 KiB in one variable.
pub const MAX_VARIABLE_BYTES: usize = 16 * 1_024;

const _: () = assert!(MAX_VARIABLE_BYTES < 128 << 10, "`MAX_ARG_STRLEN` of Linux");
const _: () = assert!(4 * MAX_REASON_CHARACTERS < MAX_VARIABLE_BYTES, "a reason fits into a variable");

/// What happened, as texts and numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "FACTS says of each what it is")]
pub struct NotificationFacts {
    pub title: String,
    pub event: String,
    pub job: String,
    pub run: String,
    pub at: String,
    pub reason: String,
    pub url: String,
    pub host: String,
    pub attempts: u32,
    pub failures: u32,
    pub count: u64,
}

/// A fact of a notification.
#[derive(Debug)]
pub struct Fact {
    /// As JSON and templates have it; in capitals behind `NOTIFY_` for a shell.
    pub name: &'static str,
    /// What it is, in words.
    pub says: &'static str,
}

/// The facts.
pub const FACTS: &[Fact] = &[
    Fact { name: "text", says: "all that follows as a message for people" },
    Fact { name: "title", says: "its first line" },
    Fact {
        name: "event",
        says: "`failed`, `recovered`, `missed`, `unserved`, `silent`, or `more` for events that are not told one by one",
    },
    Fact { name: "job", says: "the job" },
    Fact { name: "run", says: "the run, as commands take it; the first of several that were missed" },
    Fact { name: "at", says: "when it happened" },
    Fact {
        name: "reason",
        says: "the exit code, the signal, the status, `timed out`, or why it did not start or was missed",
    },
    Fact {
        name: "output",
        says: "the end of what the run's last attempt wrote, with secrets masked; empty but for `failed`",
    },
    Fact { name: "url", says: "the run, or else the job, on the page; empty without `serve --public-url`" },
    Fact { name: "host", says: "the machine of the server" },
    Fact { name: "attempts", says: "how many attempts there were" },
    Fact { name: "failures", says: "how many runs failed in a row" },
    Fact { name: "count", says: "how many were missed" },
];

/// The names of the facts, as templates have them.
pub fn fact_names() -> Vec<&'static str> {
    FACTS.iter().map(|fact| fact.name).collect()
}

/// The facts, with as much of the output as its receiver takes.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// What happened.
    pub facts: &'a NotificationFacts,
    /// The last lines that the run wrote; none is allowed.
    pub output: &'a str,
}

impl Message<'_> {
    /// Whether somebody should act on it.
    pub fn is_urgent(&self) -> bool {
        self.facts.event != "recovered"
    }

    /// The lines between title and output.
    pub fn lines(&self) -> String {
        let NotificationFacts { run, reason, attempts, failures, .. } = self.facts;
        let mut lines = vec![reason.clone()];
        if !run.is_empty() {
            lines.push(format!("run {run}, {}", counted((*attempts).into(), "attempt")));
        }
        if 1 < *failures {
            lines.push(format!("{failures} failures in a row"));
        }
        lines.retain(|line| !line.is_empty());
        lines.join("\n")
    }

    /// Title, lines, link and output, with these around the output.
    pub fn framed(&self, before: &str, after: &str) -> String {
        let output = match self.output.trim_end() {
            "" => String::new(),
            output => format!("{before}{output}{after}"),
        };
        let parts = [self.facts.title.clone(), self.lines(), self.facts.url.clone(), output];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// The same as a letter, without the output, which follows.
    pub fn letter(&self) -> String {
        let mut text = format!("{}\n\n", self.facts.title);
        let names = ["job", "run", "at", "reason", "url"];
        for (name, value) in names.map(|name| (name, self.text(name))) {
            if !value.is_empty() {
                text.push_str(&format!("{name:<10}{value}\n"));
            }
        }
        if 0 < self.facts.failures {
            text.push_str(&format!("failures  {} in a row\n", self.facts.failures));
        }
        text
    }

    /// The same as plain text.
    pub fn whole(&self) -> String {
        self.framed("\n", "")
    }

    fn value(&self, name: &str) -> Option<Value> {
        match name {
            "text" => Some(self.whole().into()),
            "output" => Some(self.output.into()),
            name => serde_json::to_value(self.facts).ok()?.get(name).cloned(),
        }
    }

    /// A fact by its name; empty if there is none.
    pub fn text(&self, name: &str) -> String {
        match self.value(name) {
            Some(Value::String(text)) => text,
            Some(value) => value.to_string(),
            None => String::new(),
        }
    }

    /// All facts as a JSON object.
    pub fn object(&self) -> Map<String, Value> {
        let named = |fact: &Fact| Some((fact.name.to_owned(), self.value(fact.name)?));
        let all: Map<String, Value> = FACTS.iter().filter_map(named).collect();
        debug_assert_eq!(all.len(), FACTS.len(), "each row has a value, and no name stands twice");
        all
    }

    /// All facts as variables of a process: each but the output, which has lines, is one line.
    pub fn variables(&self) -> Vec<(String, String)> {
        let one_line = |text: String| text.replace(|c: char| c.is_control(), " ");
        let of = |name: &str| match name {
            "output" => last(self.output, MAX_VARIABLE_BYTES).to_owned(),
            name => one_line(self.text(name)),
        };
        let names = FACTS.iter().map(|fact| fact.name).filter(|name| *name != "text");
        names.map(|name| (format!("NOTIFY_{}", name.to_ascii_uppercase()), of(name))).collect()
    }
}

/// Where a notification goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Destination {
    /// A receiver at a URL.
    Webhook(WebhookTarget),
    /// A process, with the facts in its environment.
    Process(ProcessBody),
}

/// A receiver at a URL.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WebhookTarget {
    /// The name of its kind, if it is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The request. Where it has a body, facts stand in this between braces, and it has no kind.
    pub webhook: WebhookBody,
}

impl WebhookTarget {
    /// Roughly how many bytes its texts take.
    pub fn weight(&self) -> usize {
        let WebhookBody { url, headers, body, secrets, .. } = &self.webhook;
        let headers =
            headers.iter().map(|(name, value)| size_of::<(String, String)>() + name.len() + value.len());
        let secrets =
            secrets.iter().map(|one| size_of_val(one) + one.name.len() + one.path.as_os_str().len());
        url.len() + body.len() + headers.sum::<usize>() + secrets.sum::<usize>()
    }
}

/// A notification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotificationBody {
    /// Where it goes.
    pub to: Destination,
    /// What happened.
    pub facts: NotificationFacts,
    /// The run whose output it has, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_of: Option<String>,
    /// Those of one sequence are sent one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<String>,
}

/// The last of a text: the lines that are in its last `bytes`, or the end of the last line if this is longer.
pub fn last(text: &str, bytes: usize) -> &str {
    let text = text.trim_end();
    let from = text.ceil_char_boundary(text.len().saturating_sub(bytes));
    let rest = &text[from..];
    debug_assert!(rest.len() <= bytes);
    if from == 0 || text[..from].ends_with('\n') {
        return rest;
    }
    rest.split_once('\n').map_or(rest, |(_, lines)| lines)
}

/// A count of things, in words.
pub fn counted(count: u64, of: &str) -> String {
    if count == 1 { format!("1 {of}") } else { format!("{count} {of}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fact_is_a_field_a_variable_and_a_word() {
        let facts = NotificationFacts { reason: "exit\n3".into(), failures: 2, ..Default::default() };
        let message = Message { facts: &facts, output: "one\ntwo" };
        let variables = message.variables();
        let variable = |name: &str| variables.iter().find(|(found, _)| found == name).unwrap().1.clone();
        assert_eq!(variable("NOTIFY_REASON"), "exit 3", "one line");
        assert_eq!(variable("NOTIFY_OUTPUT"), "one\ntwo");
        assert_eq!((message.object()["failures"].clone(), message.text("failures")), (2.into(), "2".into()));
        assert_eq!(variables.len() + 1, FACTS.len());
    }

    #[test]
    fn the_last_of_a_text_is_whole_lines_if_one_fits() {
        assert_eq!(last("one\ntwo\nthree\n", 8), "three");
        assert_eq!(last("one\ntwo\nthree\n", 9), "two\nthree");
        assert_eq!(last("one\n", 9), "one");
        assert_eq!(last("äöü", 3), "ü");
    }
}
