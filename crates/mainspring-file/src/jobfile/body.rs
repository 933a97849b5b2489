//! The keys of what a job does, read by their rows: those of a [process](mainspring_action::process::KEYS)
//! and of a [webhook](mainspring_action::webhook::KEYS).
//!
//! ```text
//! run = ["/usr/bin/rsync", "-a", "/srv", "backup:"]     a program and its arguments
//! shell = "rsync -a /srv backup: && touch /srv/done"    or text for a shell
//! user = "backup:staff"      cwd = "/srv"     env = { LANG = "C" }     secrets = { TOKEN = "/etc/secrets/token" }
//! ```
//!
//! A key is read as its form says. So a new key of a form that is there already needs nothing here.
//!
//! Cost: one pass.
//!
//! Does not look up the user, so that a file can be checked on another machine.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use toml::Spanned;
use toml::de::DeValue;

use super::fields::{Faults, Fields, Name, integer_of, kind, text_of};
use crate::problem::Fault;
use crate::spelling::suggestion;
use crate::url;
use mainspring_action::key::{Form, Key, MAX_UMASK, bytes_of, check_variable, check_word};
use mainspring_action::names::{LIMIT_NAMES, MAX_HEADERS, METHODS};
use mainspring_action::secret::SecretBody;

/// The body that these fields say, by the rows of its keys.
pub(super) fn read<B: Default>(keys: &[Key<B>], fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> B {
    let mut body = B::default();
    for key in keys {
        if let Some(value) = fields.get(key.name) {
            fill(key, value, fields, faults, &mut body);
        }
    }
    body
}

fn fill<B>(
    Key { name, form, .. }: &Key<B>,
    value: &Spanned<DeValue<'_>>,
    fields: &Fields<'_, '_>,
    faults: &mut Faults<'_>,
    body: &mut B,
) {
    match form {
        Form::Words(field) => field.set(body, words(value, faults)),
        Form::Text(field) | Form::Input(field) => {
            field.set(body, text_of(value, faults).map(|text| text.value.to_owned()));
        }
        Form::Url(field) | Form::Template(field) => {
            field.set(body, text_of(value, faults).map_or_else(String::new, |text| text.value.to_owned()));
        }
        Form::Method(field) => field.set(body, method(value, faults)),
        Form::Headers(field) => field.set(body, headers(name, fields, faults)),
        Form::Statuses(field) => {
            let values = fields.values(name).into_iter();
            field.set(body, values.filter_map(|value| statuses(value, faults)).collect());
        }
        Form::Path(field) => field.set(body, absolute(value, faults)),
        Form::Paths(field) => {
            let values = fields.values(name).into_iter();
            field.set(body, values.filter_map(|value| absolute(value, faults)).collect());
        }
        Form::Flag(field) => field.set(body, fields.boolean(name, faults).unwrap_or(false)),
        Form::OneOf(field, words) => field.set(body, word(value, words, faults)),
        Form::Variables(field) => field.set(body, variables(name, fields, faults)),
        Form::Secrets(field) => field.set(body, secrets(name, fields, faults)),
        Form::Mask(field) => field.set(body, mask(name, value, faults)),
        Form::Number(field, range) => field.set(body, integer_of(value, range, faults)),
        Form::Limits(field) => field.set(body, limits(name, fields, faults)),
        Form::Memory(field, least) => field.set(body, memory(name, *least, value, faults)),
        Form::Percent(field, range) => field.set(body, percent(name, range, value, faults)),
        Form::Bytes(field, most) => field.set(body, integer_of(value, &(0..=*most), faults)),
    }
}

/// One of two words.
fn word(value: &Spanned<DeValue<'_>>, words: &[&str; 2], faults: &mut Faults<'_>) -> Option<String> {
    let text = text_of(value, faults)?;
    faults.accept(text.span, check_word(text.value, words).map(|()| text.value.to_owned()))
}

fn words(value: &Spanned<DeValue<'_>>, faults: &mut Faults<'_>) -> Vec<String> {
    let DeValue::Array(values) = value.get_ref() else {
        let fault = Fault::new(value.span(), "expected a list: the program and its arguments");
        faults.push(fault.with_hint("a command line for a shell is written shell = \"..\""));
        return Vec::new();
    };
    let texts = values.iter().filter_map(|value| text_of(value, faults));
    let words: Vec<String> = texts.map(|text| text.value.to_owned()).collect();
    if words.first().is_none_or(String::is_empty) {
        faults.push(Fault::new(value.span(), "expected the name of a program first"));
    }
    words
}

/// A path that means the same wherever the server was started.
pub(super) fn absolute(value: &Spanned<DeValue<'_>>, faults: &mut Faults<'_>) -> Option<PathBuf> {
    let text = text_of(value, faults)?;
    let path = text.value.starts_with('/').then(|| PathBuf::from(text.value));
    faults.expect(path, || Fault::new(text.span, "expected a path that begins with /"))
}

fn variables(key: &str, fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> Vec<(String, String)> {
    let Some(table) = fields.table(key, faults) else { return Vec::new() };
    let mut found = Vec::new();
    for (name, value) in table.all() {
        let text = match value.get_ref() {
            DeValue::Integer(number) => Some(number.as_str().to_owned()),
            DeValue::Boolean(answer) => Some(answer.to_string()),
            _ => text_of(value, faults).map(|text| text.value.to_owned()),
        };
        if let (true, Some(text)) = (is_variable(name, faults), text) {
            found.push((name.get_ref().to_string(), text));
        }
    }
    found
}

fn secrets(key: &str, fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> Vec<SecretBody> {
    let Some(table) = fields.table(key, faults) else { return Vec::new() };
    let mut found = Vec::new();
    for (name, value) in table.all() {
        let is_path = matches!(value.get_ref(), DeValue::Table(_));
        let path = match value.get_ref() {
            DeValue::Table(inner) => {
                let inner = Fields::of(inner);
                inner.check_known(&["path"], faults);
                inner.get("path").and_then(|value| absolute(value, faults))
            }
            _ => absolute(value, faults),
        };
        if let (true, Some(path)) = (is_variable(name, faults), path) {
            found.push(SecretBody { name: name.get_ref().to_string(), path, is_path });
        }
    }
    found
}

fn is_variable(name: &Name<'_>, faults: &mut Faults<'_>) -> bool {
    faults.accept(name.span(), check_variable(name.get_ref())).is_some()
}

fn mask(name: &str, value: &Spanned<DeValue<'_>>, faults: &mut Faults<'_>) -> Option<u32> {
    let found = match value.get_ref() {
        DeValue::String(text) => u32::from_str_radix(text, 8).ok(),
        DeValue::Integer(number) if number.radix() == 8 => u32::from_str_radix(number.as_str(), 8).ok(),
        _ => None,
    };
    let found = found.filter(|mask| *mask <= MAX_UMASK);
    faults.expect(found, || {
        let fault = Fault::new(value.span(), "expected up to three octal digits in quotes");
        fault.with_hint(format!("for example: {name} = \"027\""))
    })
}

/// Bytes, or a number with K, M, G or T.
fn memory(name: &str, least: u64, value: &Spanned<DeValue<'_>>, faults: &mut Faults<'_>) -> Option<u64> {
    let found = match value.get_ref() {
        DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
        DeValue::String(text) => bytes_of(text),
        _ => None,
    };
    let found = found.filter(|bytes| (least..=i64::MAX.unsigned_abs()).contains(bytes));
    faults.expect(found, || {
        let fault = Fault::new(value.span(), format!("expected bytes, at least \"{}M\"", least >> 20));
        fault.with_hint(format!("for example: {name} = \"512M\", or K, G, T, or a number"))
    })
}

/// Per cent of one processor.
fn percent(
    name: &str,
    range: &RangeInclusive<u32>,
    value: &Spanned<DeValue<'_>>,
    faults: &mut Faults<'_>,
) -> Option<u32> {
    let found = match value.get_ref() {
        DeValue::String(text) => text.strip_suffix('%').and_then(|number| number.parse().ok()),
        _ => None,
    };
    let found = found.filter(|percent| range.contains(percent));
    faults.expect(found, || {
        let message = format!("expected whole per cent of a processor, from \"{}%\"", range.start());
        let hint = format!("for example: {name} = \"150%\" is one and a half processors");
        Fault::new(value.span(), message).with_hint(hint)
    })
}

fn limits(key: &str, fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> Vec<(String, u64)> {
    let Some(table) = fields.table(key, faults) else { return Vec::new() };
    let mut found = Vec::new();
    for (name, value) in table.all() {
        let known = name.get_ref().as_ref();
        if !LIMIT_NAMES.contains(&known) {
            let fault = Fault::new(name.span(), format!("unknown limit `{known}`"));
            faults.push(fault.with_hint(suggestion(known, &LIMIT_NAMES)));
            continue;
        }
        let amount = match value.get_ref() {
            DeValue::String(text) if text == "unlimited" => Some(u64::MAX),
            DeValue::Integer(_) => integer_of(value, &(0..=i64::MAX.unsigned_abs()), faults),
            other => {
                let message = format!("expected a number or \"unlimited\", found {}", kind(other));
                faults.push(Fault::new(value.span(), message));
                None
            }
        };
        found.extend(amount.map(|amount| (known.to_owned(), amount)));
    }
    found
}

fn method(value: &Spanned<DeValue<'_>>, faults: &mut Faults<'_>) -> Option<String> {
    let text = text_of(value, faults)?;
    let upper = text.value.to_ascii_uppercase();
    let method = Some(upper).filter(|upper| METHODS.contains(&upper.as_str()));
    faults.expect(method, || Fault::new(text.span, format!("expected one of {}", METHODS.join(", "))))
}

fn headers(key: &str, fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> Vec<(String, String)> {
    let Some(table) = fields.table(key, faults) else { return Vec::new() };
    let mut found = Vec::new();
    for (name, value) in table.all() {
        if !url::is_header_name(name.get_ref()) {
            faults.push(Fault::new(name.span(), format!("`{}` is no name of a header", name.get_ref())));
        }
        if found.len() == MAX_HEADERS {
            faults.push(Fault::new(name.span(), format!("a webhook has at most {MAX_HEADERS} headers")));
            break;
        }
        let Some(text) = text_of(value, faults) else { continue };
        if text.value.contains(['\r', '\n']) {
            faults.push(Fault::new(text.span.clone(), "a header is one line"));
        }
        found.push((name.get_ref().to_string(), text.value.to_owned()));
    }
    found
}

/// `204`, or `"200-299"`.
fn statuses(value: &Spanned<DeValue<'_>>, faults: &mut Faults<'_>) -> Option<(u16, u16)> {
    let status = |text: &str| text.trim().parse::<u16>().ok().filter(|status| (100..600).contains(status));
    let range = match value.get_ref() {
        DeValue::Integer(_) => {
            let one = integer_of(value, &(100..=599), faults)?;
            return Some((one, one));
        }
        DeValue::String(text) => {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            status(first).zip(status(last)).filter(|(first, last)| first <= last)
        }
        _ => None,
    };
    faults.expect(range, || {
        Fault::new(value.span(), "expected a status such as 204, or a range such as \"200-299\"")
    })
}
