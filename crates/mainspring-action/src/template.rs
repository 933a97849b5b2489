//! Text with variables of a run in it: `{job}`, `{nominal}`, `{secret.TOKEN}`.
//!
//! ```text
//! {"job": "{job}", "due": "{nominal}"}     what looks like a variable is one; other braces stay as they are
//! {{job}}                                  is the text {job}
//! ```
//!
//! A variable is a brace, a word of small letters and `_` (or `secret.` and a name), and a brace. An unknown
//! word is an error, because it is usually mistyped.
//!
//! | variable | is |
//! |---|---|
//! | `{job}` | the job's name |
//! | `{run}` | the run's number |
//! | `{nominal}` | the time the run was due, RFC 3339 |
//! | `{attempt}` | 1 for the first try |
//! | `{key}` | the idempotency key: the same for all attempts of one run |
//! | `{secret.NAME}` | the content of a secret's file |
//!
//! Cost: one pass when the file is read, one when the run starts.
//!
//! Escapes in a URL alone: none of the values but secrets can hold a quote or a line end.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use super::secret::Secret;
use super::url::percent;

/// The names that may stand between braces.
pub const VARIABLES: &[&str] = &["job", "run", "nominal", "attempt", "key"];

/// What a secret's name begins with, between braces.
pub const SECRET_PREFIX: &str = "secret.";

/// Text and variables in turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Variable(&'static str),
    Secret(String),
}

/// A word between braces that stands for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    /// The word's place in the text, in bytes.
    pub span: Range<usize>,
    /// What is wrong with it: lower case, no full stop.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl TemplateError {
    fn shifted(self, offset: usize) -> TemplateError {
        TemplateError { span: self.span.start + offset..self.span.end + offset, ..self }
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TemplateError {}

impl Template {
    /// Reads a text. `secrets` are the names that may follow `secret.`.
    ///
    /// # Errors
    ///
    /// At the first word between braces that is no variable.
    ///
    /// # Example
    ///
    /// ```
    /// use mainspring_action::template::{Template, Values};
    ///
    /// let template = Template::parse(r#"{"job": "{job}", "literal": "{{job}}"}"#, &[])?;
    /// let values = Values { job: "backup".into(), ..Values::default() };
    /// assert_eq!(template.fill(&values), r#"{"job": "backup", "literal": "{job}"}"#);
    /// assert!(Template::parse("{jobb}", &[]).is_err());
    /// # Ok::<(), mainspring_action::template::TemplateError>(())
    /// ```
    pub fn parse(text: &str, secrets: &[&str]) -> Result<Template, TemplateError> {
        Template::parse_with(VARIABLES, text, secrets)
    }

    /// The same where other words than [`VARIABLES`] may stand between braces.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse).
    pub fn parse_with(
        words: &[&'static str],
        text: &str,
        secrets: &[&str],
    ) -> Result<Template, TemplateError> {
        let mut template = Template::default();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            let (before, braced) = rest.split_at(at);
            template.push_text(before);
            let offset = text.len() - braced.len();
            if let Some(word) = braced
                .strip_prefix("{{")
                .and_then(word_before_brace)
                .filter(|word| braced[2 + word.len()..].starts_with("}}"))
            {
                template.push_text(&braced[1..word.len() + 3]);
                rest = &braced[word.len() + 4..];
            } else if let Some(word) = word_before_brace(&braced[1..]) {
                let part = variable(words, word, secrets).map_err(|error| error.shifted(offset + 1))?;
                template.parts.push(part);
                rest = &braced[word.len() + 2..];
            } else {
                template.push_text("{");
                rest = &braced[1..];
            }
        }
        template.push_text(rest);
        Ok(template)
    }

    /// The text with its values.
    pub fn fill(&self, values: &Values) -> String {
        self.fill_with(values, str::to_owned)
    }

    /// The URL with its values, each as it stands in a part of one. A secret stands as it is: it may be
    /// several parts.
    ///
    /// # Example
    ///
    /// ```
    /// use mainspring_action::template::{Template, Values};
    ///
    /// let values = Values { key: "a b/50%?".into(), ..Values::default() };
    /// let url = Template::parse("https://example.com/{key}?of={key}", &[])?.fill_url(&values);
    /// assert_eq!(url, "https://example.com/a%20b%2F50%25%3F?of=a%20b%2F50%25%3F");
    /// # Ok::<(), mainspring_action::template::TemplateError>(())
    /// ```
    pub fn fill_url(&self, values: &Values) -> String {
        self.fill_with(values, percent)
    }

    fn fill_with(&self, values: &Values, written: fn(&str) -> String) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Variable(name) => text.push_str(&written(values.value(name))),
                Part::Secret(name) => {
                    debug_assert!(values.secrets.contains_key(name), "a secret is read before it is sent");
                    text.push_str(values.secrets.get(name).map_or("", Secret::reveal));
                }
            }
        }
        text
    }

    /// The template that is left when each word has its value: only secrets stand between its braces.
    ///
    /// # Example
    ///
    /// ```
    /// use mainspring_action::template::Template;
    ///
    /// let template = Template::parse_with(&["event"], "{event} {secret.T}", &["T"])?;
    /// assert_eq!(template.bind(|_| "{job}".to_owned()), "{{job}} {secret.T}");
    /// # Ok::<(), mainspring_action::template::TemplateError>(())
    /// ```
    pub fn bind(&self, value: impl Fn(&str) -> String) -> String {
        let (mut bound, mut text) = (String::new(), String::new());
        for part in &self.parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Variable(name) => text.push_str(&value(name)),
                Part::Secret(name) => {
                    bound.push_str(&escaped(&std::mem::take(&mut text)));
                    bound.push_str(&format!("{{{SECRET_PREFIX}{name}}}"));
                }
            }
        }
        bound + &escaped(&text)
    }

    /// Whether it begins as a JSON document does: with a brace or a bracket of its own.
    pub fn begins_as_json(&self) -> bool {
        matches!(self.parts.first(), Some(Part::Text(text)) if text.trim_start().starts_with(['{', '[']))
    }

    fn push_text(&mut self, text: &str) {
        match self.parts.last_mut() {
            _ if text.is_empty() => {}
            Some(Part::Text(last)) => last.push_str(text),
            _ => self.parts.push(Part::Text(text.to_owned())),
        }
    }
}

/// A text as a template in which nothing is a variable.
///
/// # Example
///
/// ```
/// use mainspring_action::template::{Template, Values, escaped};
///
/// let text = "said {job}, {{job}} and {";
/// assert_eq!(Template::parse(&escaped(text), &[])?.fill(&Values::default()), text);
/// # Ok::<(), mainspring_action::template::TemplateError>(())
/// ```
pub fn escaped(text: &str) -> String {
    let mut template = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        template.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if let Some(word) = word_before_brace(after) {
            template.push_str(&format!("{{{{{word}}}}}"));
            rest = &after[word.len() + 1..];
        } else {
            template.push('{');
            rest = after;
        }
    }
    template.push_str(rest);
    debug_assert!(
        Template::parse(&template, &[]).is_ok_and(|read| read.fill(&Values::default()) == text),
        "it stands for the text, whatever that has in braces",
    );
    template
}

/// What stands for the variables of one attempt.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "the fields are the variables of the same names")]
pub struct Values {
    pub job: String,
    pub run: String,
    pub nominal: String,
    pub attempt: String,
    pub key: String,
    pub secrets: BTreeMap<String, Secret>,
}

impl Values {
    fn value(&self, name: &str) -> &str {
        match name {
            "job" => &self.job,
            "run" => &self.run,
            "nominal" => &self.nominal,
            "attempt" => &self.attempt,
            "key" => &self.key,
            _ => unreachable!("a template holds only the names of VARIABLES"),
        }
    }
}

/// The word at the start of the text, if a closing brace follows it.
fn word_before_brace(text: &str) -> Option<&str> {
    let (word, _) = text.split_once('}')?;
    let name = word.strip_prefix(SECRET_PREFIX);
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_word = |word: &str| word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let fits = !word.is_empty() && name.map_or_else(|| is_word(word), is_name);
    fits.then_some(word)
}

fn variable(words: &[&'static str], word: &str, secrets: &[&str]) -> Result<Part, TemplateError> {
    if let Some(name) = word.strip_prefix(SECRET_PREFIX) {
        if secrets.contains(&name) {
            return Ok(Part::Secret(name.to_owned()));
        }
        return Err(TemplateError {
            span: 0..word.len(),
            message: format!("there is no secret `{name}`"),
            hint: "the table secrets names the file of each".to_owned(),
        });
    }
    let known = words.iter().find(|&&known| known == word);
    known.map(|&name| Part::Variable(name)).ok_or_else(|| TemplateError {
        span: 0..word.len(),
        message: format!("there is no variable `{word}`"),
        hint: format!("known are {}; the text itself is written {{{{{word}}}}}", words.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_and_other_braces_stay() {
        let mut values =
            Values { job: "j".into(), run: "7".into(), attempt: "2".into(), ..Values::default() };
        values.secrets.insert("T1".into(), Secret::new("s"));
        let cases = [
            ("", ""),
            ("{job}#{run}", "j#7"),
            ("{\"a\": {\"b\": {attempt}}}", "{\"a\": {\"b\": 2}}"),
            ("{{job}} {{{job}}}", "{job} {{job}}"),
            ("{} {Job} { job } {", "{} {Job} { job } {"),
            ("Bearer {secret.T1}", "Bearer s"),
        ];
        for (text, expected) in cases {
            assert_eq!(Template::parse(text, &["T1"]).unwrap().fill(&values), expected, "{text}");
        }
    }

    #[test]
    fn a_mistyped_variable_is_pointed_at() {
        let error = Template::parse("ab {nominl}", &[]).unwrap_err();
        assert_eq!(error.span, 4..10);
        assert_eq!(Template::parse("{secret.B}", &["A"]).unwrap_err().message, "there is no secret `B`");
    }
}
