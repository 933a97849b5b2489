//! One finding of a check: its subject, its level, and a hint of what to do.
//!
//! | field | for |
//! |---|---|
//! | `code` | programs: it stays the same when a sentence is reworded |
//! | `subject` | the first column of `mainspring doctor`; several codes may share it |
//! | `level`, `text`, `hint` | people |
//!
//! Cost: some strings.
//!
//! Does not look at anything, and does not print.

use serde::Serialize;

/// How bad something is, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Ok,
    /// It works, and a person should look.
    Warning,
    /// Something does not work.
    Bad,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// What was found, for programs. Equal to the subject unless a subject can have several.
    pub code: &'static str,
    /// What was looked at.
    pub subject: &'static str,
    /// How bad it is.
    pub level: Level,
    /// What was found, for people.
    pub text: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The file that it is about, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

impl Finding {
    /// Something is as it should be.
    pub fn ok(subject: &'static str, text: impl Into<String>) -> Finding {
        Finding { code: subject, subject, level: Level::Ok, text: text.into(), hint: None, file: None }
    }

    /// Something works, and a person should look.
    pub fn warning(subject: &'static str, text: impl Into<String>, hint: impl Into<String>) -> Finding {
        Finding { level: Level::Warning, hint: Some(hint.into()), ..Finding::ok(subject, text) }
    }

    /// Something does not work.
    pub fn bad(subject: &'static str, text: impl Into<String>, hint: impl Into<String>) -> Finding {
        Finding { level: Level::Bad, hint: Some(hint.into()), ..Finding::ok(subject, text) }
    }

    /// The same finding with a code of its own.
    #[must_use]
    pub fn coded(self, code: &'static str) -> Finding {
        Finding { code, ..self }
    }

    /// The same finding, about a file.
    #[must_use]
    pub fn about_file(self, file: &str) -> Finding {
        Finding { file: Some(file.to_owned()), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_level_is_the_greatest() {
        assert!(Level::Ok < Level::Warning);
        assert!(Level::Warning < Level::Bad);
    }

    #[test]
    fn a_document_has_a_hint_only_where_something_is_to_be_done() {
        let fine = serde_json::to_string(&Finding::ok("zone", "UTC")).unwrap();
        assert_eq!(fine, r#"{"code":"zone","subject":"zone","level":"ok","text":"UTC"}"#);
        let wrong = Finding::bad("file", "line 3", "mend it").coded("file_problems").about_file("a.toml");
        let expected = r#"{"code":"file_problems","subject":"file","level":"bad","text":"line 3","hint":"mend it","file":"a.toml"}"#;
        assert_eq!(serde_json::to_string(&wrong).unwrap(), expected);
    }
}
