//! A request as it comes: one document, all of which must be known here.
//!
//! ```text
//! {"command":"pause","job":"backup","for_ever":true}  ─▶  this server, version 0.1.0, does not know `for_ever`: ..
//! ```
//!
//! A client that is newer than the server may ask for more than the server knows. What is left out would be
//! done otherwise than it was asked for, so nothing of it is done. The answers of a newer server may have
//! more fields than a client knows: the client ignores them.
//!
//! Cost: one pass over the document, and one over a long one before.
//!
//! Does not check what a request asks for.

use serde::{Deserialize, Serialize};

use super::{ErrorKind, ErrorWire, Request};

/// The version of this server, as people know it.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A request with its id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IdentifiedRequest {
    /// Comes back with each answer.
    #[serde(default)]
    pub id: u64,
    /// The user that asks, where the server's own listener knows it. Nothing that comes over the socket is
    /// believed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// What is said about a change, to be kept with who asked for it. A pause has a note of its own, which
    /// others are told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// What is asked.
    #[serde(flatten)]
    pub request: Request,
}

/// The most values in a document that is asked, names among them. A value of two bytes takes a hundred while
/// it is read, so that the longest document would take gigabytes. A thousand one-shot jobs, each with a
/// hundred variables, have fewer.
pub const MAX_VALUES: usize = 256 << 10;

/// Refuses a document with more than [`MAX_VALUES`] before a value of it is made.
///
/// # Errors
///
/// A sentence for its client.
pub fn check_values(document: &[u8]) -> Result<(), String> {
    if document.len() <= MAX_VALUES {
        return Ok(());
    }
    // Each value follows one of these. As far as it is a document, a parser sees the same texts.
    let (mut count, mut is_text, mut is_escaped) = (1, false, false);
    for byte in document {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b',' | b'[' | b'{' | b':' if !is_text => count += 1,
            _ => {}
        }
    }
    if count <= MAX_VALUES {
        return Ok(());
    }
    Err(format!("there are more than {MAX_VALUES} values in it"))
}

impl IdentifiedRequest {
    /// Reads one request.
    ///
    /// # Errors
    ///
    /// When it is no request, has something in it that this version does not know, or too many values.
    pub fn read(document: &[u8]) -> Result<IdentifiedRequest, ErrorWire> {
        check_values(document).map_err(|text| ErrorWire::new(ErrorKind::Usage, text))?;
        serde_json::from_slice(document).map_err(|error| refused(&error))
    }
}

/// Serde names what it does not know between backticks, and then all that it would know.
fn refused(error: &serde_json::Error) -> ErrorWire {
    let text = error.to_string();
    let rest = ["unknown field `", "unknown variant `"].iter().find_map(|begin| text.strip_prefix(begin));
    match rest.and_then(|rest| rest.split('`').next()) {
        Some(name) => unknown(name),
        None => {
            let message = format!("the request cannot be read by this server, version {VERSION}: {text}");
            ErrorWire::new(ErrorKind::Usage, message)
        }
    }
}

fn unknown(name: &str) -> ErrorWire {
    let message = format!(
        "this server, version {VERSION}, does not know `{name}`, and has done nothing: the client is of another version"
    );
    ErrorWire::new(ErrorKind::Usage, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// The fields of [`IdentifiedRequest`], and the one that says which request it is.
    const OF_EVERY_REQUEST: [&str; 4] = ["id", "actor", "comment", "command"];

    #[test]
    fn each_command_is_read_back_and_refused_with_a_field_of_a_later_version() {
        for line in include_str!("requests.txt").lines() {
            let text = line.rsplit(" | ").next().unwrap();
            let request: Request = serde_json::from_str(text).unwrap();
            let own = serde_json::to_value(&request).unwrap();
            let twice = OF_EVERY_REQUEST.iter().find(|name| own.get(name).is_some() && **name != "command");
            assert_eq!(twice, None, "the field of {text} would be taken for that of the request");
            let (actor, comment) = (Some("ada".into()), Some("why".into()));
            let identified = IdentifiedRequest { id: 7, actor, comment, request };
            let document = serde_json::to_value(&identified).unwrap();
            assert_eq!(IdentifiedRequest::read(document.to_string().as_bytes()).unwrap(), identified);
            for path in objects(&document) {
                let mut later = document.clone();
                later.pointer_mut(&path).unwrap()["later"] = Value::Null;
                let refused = IdentifiedRequest::read(later.to_string().as_bytes()).unwrap_err();
                assert!(refused.message.contains("does not know `later`"), "{later}: {}", refused.message);
            }
        }
    }

    /// The places of all objects in a document.
    fn objects(value: &Value) -> Vec<String> {
        let below = |name: &str, value: &Value| -> Vec<String> {
            objects(value).into_iter().map(|path| format!("/{name}{path}")).collect()
        };
        match value {
            Value::Object(fields) => {
                let inner = fields.iter().flat_map(|(name, value)| below(name, value));
                std::iter::once(String::new()).chain(inner).collect()
            }
            Value::Array(values) => {
                let inner = values.iter().enumerate();
                inner.flat_map(|(index, value)| below(&index.to_string(), value)).collect()
            }
            _ => Vec::new(),
        }
    }

    #[test]
    fn as_many_values_are_read_as_may_be_and_text_is_none() {
        // The brackets, the comma and two texts beside those that are counted.
        let list =
            |count: usize| format!("[\"a\\\"{}\",[{}]]", ",".repeat(MAX_VALUES), vec!["1"; count].join(","));
        assert_eq!(check_values(list(MAX_VALUES - 3).as_bytes()), Ok(()));
        assert!(check_values(list(MAX_VALUES - 2).as_bytes()).unwrap_err().contains("262144 values"));
        let text = format!("{{\"command\":\"status\",\"x\":{}}}", list(MAX_VALUES));
        assert!(IdentifiedRequest::read(text.as_bytes()).unwrap_err().message.contains("values"));
    }

    #[test]
    fn a_command_of_a_later_version_is_named_and_other_mistakes_are_shown() {
        let error = |text: &str| IdentifiedRequest::read(text.as_bytes()).unwrap_err().message;
        assert!(
            error(r#"{"command":"teleport"}"#).contains("does not know `teleport`, and has done nothing")
        );
        assert!(error(r#"{"command":"run","wait":true}"#).contains("missing field `job`"));
        assert!(error("nonsense").starts_with("the request cannot be read by this server, version "));
    }
}
