//! A list as Python writes it, made YAML.
//!
//! ```text
//! [{'args': (1, 'a\n', 'it\'s'), 'jitter': None}]
//! [{'args': [1, "a\n", 'it''s'], 'jitter': null}]     each byte has its place
//! ```
//!
//! Cost: one pass over the text, and one over the tree.
//!
//! Does not evaluate anything: a call is a problem. A tuple is a list.
//!
//! Source: [literals of Python](https://docs.python.org/3/reference/lexical_analysis.html#literals).

use std::borrow::Cow;

use crate::finding::{Findings, Place};
use crate::yaml::{Node, Value};

/// The text as YAML of the same length. What is YAML or JSON stays as it is.
pub(super) fn as_yaml<'t>(text: &'t str, file: usize, findings: &mut Findings) -> Cow<'t, str> {
    // Keys of YAML need no quotes.
    let is_python = text.trim_start().starts_with(['[', '{', '('])
        && ["'func'", "\"func\""].iter().any(|key| text.contains(key));
    if !is_python {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    while let Some(c) = text[out.len()..].chars().next() {
        let rest = &text[out.len()..];
        let token = &rest[..length(c, rest)];
        let place = Place { file, span: out.len()..out.len() + token.len() };
        let is_called = out.ends_with(|before: char| before.is_alphanumeric() || before == '_');
        match c {
            '(' | '\'' | '"' if is_called => {
                let message = "a call, or a letter before a string, is not read: write the value itself";
                findings.problem(&place, message);
                return Cow::Borrowed("");
            }
            '(' => out.push('['),
            ')' => out.push(']'),
            '\'' => match string(token) {
                Some(string) => out.push_str(&string),
                None => {
                    findings.problem(&place, "these escapes are not read: write the string in double quotes");
                    return Cow::Borrowed("");
                }
            },
            _ => out.push_str(token),
        }
    }
    assert_eq!(out.len(), text.len(), "places stay as they are");
    Cow::Owned(out)
}

/// The length of what begins with `c`: a string, a comment, or a character.
fn length(c: char, text: &str) -> usize {
    let mut is_escaped = false;
    let ends = |next: char| {
        let is_end = next == c && !is_escaped;
        is_escaped = next == '\\' && !is_escaped;
        is_end
    };
    match c {
        '\'' | '"' => text[1..].find(ends).map_or(text.len(), |at| at + 2),
        '#' => text.find('\n').unwrap_or(text.len()),
        c => c.len_utf8(),
    }
}

/// A string in single quotes, as YAML of the same length, if it can be said so.
fn string(token: &str) -> Option<String> {
    // The parser of YAML says that a quote is not closed.
    let Some(inner) = token[1..].strip_suffix('\'') else { return Some(token.to_owned()) };
    let doubled = inner.replace("\\'", "''");
    match doubled.contains('\\') {
        false => Some(format!("'{doubled}'")),
        true if doubled == inner && !inner.contains('"') => Some(format!("\"{inner}\"")),
        true => None,
    }
}

/// Makes null of each `None` that stands without quotes.
pub(super) fn without_none(node: &mut Node) {
    match &mut node.value {
        Value::Text(text) if text == "None" => node.value = Value::Null,
        Value::List(nodes) => nodes.iter_mut().for_each(without_none),
        Value::Table(pairs) => pairs.iter_mut().for_each(|(_, value)| without_none(value)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_of_python_are_yaml_of_the_same_length() {
        let begin = "[{'func': 'a:b', 'args': ";
        for (text, expected) in [
            ("(1, (2,), ())", "[1, [2,], []]"),
            ("('a(b)', \"c)\")", "['a(b)', \"c)\"]"),
            (r"'it\'s'", "'it''s'"),
            (r"'a\n\\'", r#""a\n\\""#),
            ("1, # (it's\n 'é')", "1, # (it's\n 'é']"),
        ] {
            let mut findings = Findings::default();
            let made = as_yaml(&format!("{begin}{text}"), 0, &mut findings).into_owned();
            assert_eq!(made, format!("{begin}{expected}"));
            assert!(!findings.has_problem(), "{text}");
        }
        for text in ["datetime(2026, 1, 1)", "u'a'", r#"'a"\n'"#] {
            let mut findings = Findings::default();
            as_yaml(&format!("{begin}{text}"), 0, &mut findings);
            assert!(findings.has_problem(), "{text}");
        }
        assert_eq!(
            as_yaml("[{func: a(b), name: (c)}]", 0, &mut Findings::default()),
            "[{func: a(b), name: (c)}]"
        );
    }
}
