//! The needs of an action: which worker can carry it out.
//!
//! | an action | needs the label | which has |
//! |---|---|---|
//! | a process, a webhook, a mail | [`SERVER`] | `mainspring serve` |
//! | a handler | `handler=NAME`, at least with the version of its payload | a program with that handler |
//! | a handler that cannot be read | [`HANDLERS`] | any program with handlers: its run fails there, with the reason |
//!
//! Cost: a handler's body is read; else a reference is counted.
//!
//! Does not know which workers there are.

use std::sync::LazyLock;

use mainspring_job::{Action, Needs, WorkerLabel, WorkerSelector};

use crate::body::{Body, HANDLER};

/// What a server has that starts processes and sends webhooks and mails.
pub const SERVER: &str = "mainspring-serve";

/// What a program has that has handlers.
pub const HANDLERS: &str = "handlers";

/// What an action needs of the worker that carries it out.
pub fn needs(action: &Action) -> Needs {
    if action.kind() != HANDLER {
        return OF_SERVER.clone();
    }
    let of_handler = match Body::decode(action) {
        Ok(Body::Handler(body)) => handler(&body.name).map(|label| Needs::new([(label, body.version)])),
        _ => None,
    };
    of_handler.unwrap_or_else(|| OF_HANDLERS.clone())
}

/// Those of most actions, made once: each start asks for them.
static OF_SERVER: LazyLock<Needs> = LazyLock::new(|| Needs::new([(known(SERVER), 0)]));
static OF_HANDLERS: LazyLock<Needs> = LazyLock::new(|| Needs::new([(known(HANDLERS), 0)]));

/// The label of a handler. `None` if no handler can have that name.
pub fn handler(name: &str) -> Option<WorkerLabel> {
    WorkerLabel::new(&format!("handler={name}")).ok()
}

/// A label that a person gives to a worker.
///
/// # Errors
/// Why that is none.
pub fn given(text: &str) -> Result<WorkerLabel, String> {
    let label = WorkerLabel::new(text).map_err(|error| error.to_string())?;
    if is_own(text) {
        return Err(format!("`{text}` is what a server says of itself"));
    }
    // Alone in `on` it names a label, unless it says something else there.
    match text.parse::<WorkerSelector>().is_ok_and(|selector| !selector.labels().is_empty()) {
        true => Ok(label),
        false => Err(format!("`{text}` says in `on` which servers are meant, and is no label of one")),
    }
}

/// Whether a label says what a program carries out, which no person gives.
fn is_own(text: &str) -> bool {
    [SERVER, HANDLERS].contains(&text) || text.starts_with("handler=")
}

/// A label of this program's own.
///
/// # Panics
/// When the text is no label, or one that a person may give.
pub fn known(text: &str) -> WorkerLabel {
    let label = WorkerLabel::new(text).expect("a word of ours is a label");
    assert!(is_own(text), "no person gives it to a worker");
    label
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::HandlerBody;

    fn shown(action: &Action) -> String {
        needs(action).to_string()
    }

    #[test]
    fn a_word_that_says_something_else_is_no_label() {
        let cases = [
            ("all", "`all` says in `on`"),
            ("any", "`any` says in `on`"),
            ("a,b", "`,` may not"),
            ("handler=mail", "says of itself"),
            (SERVER, "says of itself"),
            (HANDLERS, "says of itself"),
        ];
        for (text, part) in cases {
            let error = given(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        assert_eq!(given("all=gpu").unwrap().as_str(), "all=gpu");
    }

    #[test]
    fn each_kind_of_action_needs_what_carries_it_out() {
        let of_handler = |name: &str, version| {
            let body = HandlerBody { name: name.to_owned(), version, payload: String::new() };
            Body::Handler(body).encode().unwrap()
        };
        for kind in ["process", "webhook", "mail", "of a later version"] {
            assert_eq!(shown(&Action::new(kind, "{").unwrap()), SERVER);
        }
        assert_eq!(shown(&of_handler("send+mail", 0)), "handler=send+mail");
        assert_eq!(shown(&of_handler("send", 3)), "handler=send of version 3");
        assert_eq!(shown(&of_handler("two words", 3)), HANDLERS);
        assert_eq!(shown(&Action::new(HANDLER, "{").unwrap()), HANDLERS);
    }
}
