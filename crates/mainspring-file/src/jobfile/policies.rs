//! The rules of a job: `overlap = "queue-one"`, `retry = 3`, `retry = { max = 3, backoff = "10s" }`.
//!
//! [`Policies::KEYS`] has a row for each. In a file it is a string, a number or a table; its name has `_` for
//! `-`.
//!
//! A table is converted to the text of the policy, so that there is one reader of policies, with one set of
//! limits.
//!
//! Cost: one short text per policy.
//!
//! Does not know what the rules mean: `mainspring-job` does.

use std::sync::LazyLock;

use mainspring_job::{Policies, PolicyError, PolicyKey};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fields::{Faults, Fields, Text, kind};
use crate::problem::Fault;

/// The names in files, in the order of [`Policies::KEYS`].
static NAMES: LazyLock<Vec<String>> =
    LazyLock::new(|| Policies::KEYS.iter().map(|key| key.name.replace('-', "_")).collect());

/// The keys.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(String::as_str)
}

pub(super) fn read(fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> Policies {
    let mut policies = Policies::default();
    for (key, name) in Policies::KEYS.iter().zip(names()) {
        let Some(value) = fields.get(name) else { continue };
        let Some(text) = policy_text(key, value, faults) else { continue };
        set(&mut policies, key, &text, &mut |error| place(error, key.first, value, faults));
    }
    policies
}

/// Reads a policy. After a mistake it is read again without the wrong word, so that one does not hide the
/// next.
fn set(policies: &mut Policies, key: &PolicyKey, text: &str, wrong: &mut dyn FnMut(&PolicyError)) {
    let usual_head = key.first.and(key.default.split(',').next());
    let mut words: Vec<&str> = text.split(',').collect();
    for _ in 0..=words.len() {
        let text = words.join(",");
        let Err(error) = policies.set(key.name, &text) else { return };
        wrong(&error);
        let index = error.place_in(&text).map(|place| text[..place.start].matches(',').count());
        match (index, usual_head) {
            (Some(0), Some(usual)) if words[0] != usual => words[0] = usual,
            (Some(index), _) if 1 < words.len() => drop(words.remove(index)),
            _ => return,
        }
    }
}

/// The text that `Policies::set` reads.
fn policy_text(key: &PolicyKey, value: &Spanned<DeValue<'_>>, faults: &mut Faults<'_>) -> Option<String> {
    match value.get_ref() {
        DeValue::Table(table) => table_text(key.first, table, value, faults),
        // The parts of the policy; a list inside of a table is one part.
        DeValue::Array(values) => texts(values, faults).map(|texts| texts.join(",")),
        _ => part_text(value, faults),
    }
}

fn texts(values: &[Spanned<DeValue<'_>>], faults: &mut Faults<'_>) -> Option<Vec<String>> {
    values.iter().map(|value| part_text(value, faults)).collect()
}

fn table_text(
    head: Option<&str>,
    table: &DeTable<'_>,
    value: &Spanned<DeValue<'_>>,
    faults: &mut Faults<'_>,
) -> Option<String> {
    let mut words = Vec::new();
    if let Some(head) = head {
        let Some(first) = table.get(head) else {
            faults.push(Fault::new(value.span(), format!("expected the key `{head}` in this table")));
            return None;
        };
        words.push(part_text(first, faults)?);
    }
    for (name, part) in table.iter().filter(|(name, _)| Some(name.get_ref().as_ref()) != head) {
        words.push(format!("{}={}", name.get_ref(), part_text(part, faults)?));
    }
    Some(words.join(","))
}

/// A string, a number, or a list of strings.
fn part_text(value: &Spanned<DeValue<'_>>, faults: &mut Faults<'_>) -> Option<String> {
    match value.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.as_str().to_owned()),
        DeValue::Array(values) => texts(values, faults).map(|texts| texts.join("+")),
        other => {
            faults.push(Fault::new(value.span(), format!("expected a string, found {}", kind(other))));
            None
        }
    }
}

/// A fault under the words that are wrong, if they are to be found, or else under the whole value.
fn place(error: &PolicyError, head: Option<&str>, value: &Spanned<DeValue<'_>>, faults: &mut Faults<'_>) {
    let message = error.to_string();
    match value.get_ref() {
        DeValue::String(text) => {
            let at = error.place_in(text).unwrap_or(0..text.len());
            faults.push_inside(&Text { value: text, span: value.span() }, Fault::new(at, message));
        }
        DeValue::Table(table) => {
            let is_wrong = |text: &str| text == error.found;
            // Another part may have the same value.
            let named = error.part().or(head).and_then(|part| table.get_key_value(part));
            let wrong = named.into_iter().chain(table.iter()).find_map(|(name, part)| match part.get_ref() {
                _ if is_wrong(name.get_ref()) => Some(name.span()),
                DeValue::String(text) if is_wrong(text) => Some(part.span()),
                DeValue::Integer(number) if is_wrong(number.as_str()) => Some(part.span()),
                DeValue::Array(values) => {
                    let word = values.iter().find(|value| value.get_ref().as_str().is_some_and(is_wrong));
                    word.map(Spanned::span)
                }
                _ => None,
            });
            faults.push(Fault::new(wrong.unwrap_or(value.span()), message));
        }
        _ => faults.push(Fault::new(value.span(), message)),
    }
}
