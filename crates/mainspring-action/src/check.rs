//! The mistakes of a body that a client sent, and not a file.
//!
//! A reader of files finds the same mistakes while it reads, each with its place in a line. A client's body
//! has no lines, so the first mistake is named by its key.
//!
//! Cost: one pass over the body.
//!
//! Does not look up users and files: only the executor can, when a run starts.

use crate::body::Body;

impl Body {
    /// Checks that a reader of files could have read it.
    ///
    /// # Errors
    /// The first mistake: lower case, no full stop.
    ///
    /// # Example
    /// ```
    /// use mainspring_action::body::{Body, ProcessBody};
    ///
    /// let nothing = Body::Process(ProcessBody::default());
    /// assert_eq!(nothing.check(), Err("run: expected the name of a program first".to_owned()));
    /// ```
    pub fn check(&self) -> Result<(), String> {
        match self {
            Body::Process(body) => body.check(),
            Body::Webhook(body) => body.check(),
            Body::Mail(_) | Body::Notification(_) => {
                Err("a mail or a notification is what a hook sends, and no job".to_owned())
            }
            Body::Handler(body) if body.name.is_empty() => Err("handler: expected a name".to_owned()),
            Body::Handler(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(json: &str) -> Result<(), String> {
        Body::Process(serde_json::from_str(json).unwrap()).check()
    }

    fn webhook(json: &str) -> Result<(), String> {
        Body::Webhook(serde_json::from_str(json).unwrap()).check()
    }

    #[test]
    fn what_a_file_could_not_say_is_refused() {
        let wrong = [
            (process(r#"{"run": [""]}"#), "run: "),
            (process(r#"{"run": ["a"], "shell": "b"}"#), "a job does one thing"),
            (process(r#"{"run": ["a"], "cwd": "b"}"#), "cwd: "),
            (process(r#"{"run": ["a"], "env": [["b=c", ""]]}"#), "env: "),
            (process(r#"{"run": ["a"], "secrets": [{"name": "B", "path": "c"}]}"#), "secrets: "),
            (process(r#"{"shell": "echo a\u0000b"}"#), "shell: a NUL"),
            (process(r#"{"run": ["a", "\u0000"]}"#), "run: a NUL"),
            (process(r#"{"run": ["a"], "env": [["b", "\u0000"]]}"#), "env: a NUL"),
            (process(r#"{"run": ["a"], "cwd": "/\u0000"}"#), "cwd: a NUL"),
            (process(r#"{"run": ["a"], "umask": 512}"#), "umask: "),
            (process(r#"{"run": ["a"], "nice": 20}"#), "nice: "),
            (process(r#"{"run": ["a"], "limits": [["cpu", 1]]}"#), "limits: "),
            (process(r#"{"run": ["a"], "output_bytes": 1073741825}"#), "output_bytes: "),
            (process(r#"{"run": ["a"], "on_server_death": "stay"}"#), "on_server_death: "),
            (
                process(r#"{"run": ["a"], "on_lease_loss": "stay"}"#),
                "on_lease_loss: expected \"kill\" or \"leave\", found \"stay\"",
            ),
            (webhook(r#"{"url": "example.com"}"#), "`example.com` is no URL"),
            (webhook(r#"{"url": "http://a", "method": "get"}"#), "method: "),
            (webhook(r#"{"url": "http://a", "method": "GET", "body": "b"}"#), "body: "),
            (webhook(r#"{"url": "http://a/{jbo}"}"#), "url: "),
            (webhook(r#"{"url": "http://a", "headers": [["B", "{secret.C}"]]}"#), "headers: "),
            (webhook(r#"{"url": "http://a", "ca_file": "b"}"#), "ca_file: "),
        ];
        for (found, expected) in wrong {
            let found = found.unwrap_err();
            assert!(found.starts_with(expected), "{found}");
        }
    }

    #[test]
    fn what_a_file_can_say_passes() {
        assert_eq!(process(r#"{"shell": "true", "cwd": "/", "nice": -20, "umask": 511}"#), Ok(()));
        assert_eq!(process(r#"{"run": ["a"], "on_lease_loss": "kill"}"#), Ok(()));
        assert_eq!(
            process(r#"{"run": ["a"], "on_lease_loss": "leave", "on_server_death": "leave"}"#),
            Ok(())
        );
        assert_eq!(process(r#"{"run": ["a", ""], "limits": [["cpu_seconds", 1]]}"#), Ok(()));
        assert_eq!(webhook(r#"{"url": "https://a/{job}", "headers": [["B", "{key}"]]}"#), Ok(()));
    }
}
