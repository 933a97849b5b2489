//! The process that a job starts, and how.
//!
//! ```text
//! run = ["/usr/bin/rsync", "-a", "/srv", "backup:"]     a program and its arguments
//! shell = "rsync -a /srv backup: && touch /srv/done"    or text for a shell
//! user = "backup:staff"      cwd = "/srv"     env = { LANG = "C" }     secrets = { TOKEN = "/etc/secrets/token" }
//! ```
//!
//! Cost: one pass.
//!
//! Does not look up the user, so that a file can be checked on another machine.

use std::path::PathBuf;

use toml::Spanned;
use toml::de::DeValue;

use super::fields::{Faults, Fields, Name, integer_of, kind, text_of};
use crate::problem::Fault;
use crate::spelling::suggestion;
use mainspring_action::body::{ProcessBody, SecretBody};
use mainspring_action::names::{
    CPU_PERCENT, LIMIT_NAMES, MAX_OUTPUT_BYTES, MIN_MEMORY_BYTES, OnLeaseLoss, OnServerDeath,
};

/// The keys beside `run` and `shell`.
pub(super) const OPTIONS: &[&str] = &[
    "interpreter",
    "user",
    "cwd",
    "env",
    "env_file",
    "inherit_env",
    "secrets",
    "umask",
    "nice",
    "limits",
    "memory_max",
    "cpu_max",
    "stdin",
    "output_bytes",
    "on_server_death",
    "on_lease_loss",
    "no_new_privileges",
];

/// The same as an integer of a file.
pub(super) const MAX_OUTPUT: i64 = MAX_OUTPUT_BYTES.cast_signed();

pub(super) fn read(fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> Option<ProcessBody> {
    let text =
        |name: &str, faults: &mut Faults<'_>| fields.text(name, faults).map(|text| text.value.to_owned());
    let run = run(fields, faults);
    Some(ProcessBody {
        run,
        shell: text("shell", faults),
        interpreter: text("interpreter", faults),
        user: text("user", faults),
        cwd: path(fields, "cwd", faults),
        inherit_env: fields.boolean("inherit_env", faults).unwrap_or(false),
        env: environment(fields, faults),
        env_file: fields.values("env_file").into_iter().filter_map(|value| absolute(value, faults)).collect(),
        secrets: secrets(fields, faults),
        umask: umask(fields, faults),
        nice: fields
            .integer("nice", -20, 19, faults)
            .map(|nice| i32::try_from(nice).expect("the range was checked")),
        limits: limits(fields, faults),
        memory_max: memory_max(fields, faults),
        cpu_max: cpu_max(fields, faults),
        stdin: text("stdin", faults),
        output_bytes: fields.integer("output_bytes", 0, MAX_OUTPUT, faults).map(i64::unsigned_abs),
        on_server_death: word(fields, "on_server_death", &OnServerDeath::NAMES, faults),
        on_lease_loss: word(fields, "on_lease_loss", &OnLeaseLoss::NAMES, faults),
        no_new_privileges: fields.boolean("no_new_privileges", faults).unwrap_or(false),
    })
}

/// One of two words.
fn word<T>(
    fields: &Fields<'_, '_>,
    name: &str,
    [first, last]: &[(&str, T); 2],
    faults: &mut Faults<'_>,
) -> Option<String> {
    let text = fields.text(name, faults)?;
    if ![first.0, last.0].contains(&text.value) {
        let message = format!("expected \"{}\" or \"{}\", found \"{}\"", first.0, last.0, text.value);
        faults.push(Fault::new(text.span, message));
        return None;
    }
    Some(text.value.to_owned())
}

fn run(fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> Vec<String> {
    let Some(value) = fields.get("run") else { return Vec::new() };
    let DeValue::Array(_) = value.get_ref() else {
        let fault = Fault::new(value.span(), "expected a list: the program and its arguments");
        faults.push(fault.with_hint("a command line for a shell is written shell = \"..\""));
        return Vec::new();
    };
    let words: Vec<String> = fields.texts("run", faults).iter().map(|text| text.value.to_owned()).collect();
    if words.first().is_none_or(String::is_empty) {
        faults.push(Fault::new(value.span(), "expected the name of a program first"));
    }
    words
}

/// A path that means the same wherever the server was started.
pub(super) fn path(fields: &Fields<'_, '_>, name: &str, faults: &mut Faults<'_>) -> Option<PathBuf> {
    absolute(fields.get(name)?, faults)
}

fn absolute(value: &Spanned<DeValue<'_>>, faults: &mut Faults<'_>) -> Option<PathBuf> {
    let text = text_of(value, faults)?;
    if !text.value.starts_with('/') {
        faults.push(Fault::new(text.span, "expected a path that begins with /"));
        return None;
    }
    Some(PathBuf::from(text.value))
}

fn environment(fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> Vec<(String, String)> {
    let Some(table) = fields.table("env", faults) else { return Vec::new() };
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

pub(super) fn secrets(fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> Vec<SecretBody> {
    let Some(table) = fields.table("secrets", faults) else { return Vec::new() };
    let mut found = Vec::new();
    for (name, value) in table.all() {
        let is_path = matches!(value.get_ref(), DeValue::Table(_));
        let path = match value.get_ref() {
            DeValue::Table(inner) => {
                let inner = Fields::of(inner);
                inner.check_known(&["path"], faults);
                path(&inner, "path", faults)
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
    let text = name.get_ref();
    let fits = !text.is_empty() && !text.contains(['=', '\0']);
    if !fits {
        faults.push(Fault::new(name.span(), "the name of a variable is not empty and has no = in it"));
    }
    fits
}

fn umask(fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> Option<u32> {
    let value = fields.get("umask")?;
    let found = match value.get_ref() {
        DeValue::String(text) => u32::from_str_radix(text, 8).ok(),
        DeValue::Integer(number) if number.radix() == 8 => u32::from_str_radix(number.as_str(), 8).ok(),
        _ => None,
    };
    let found = found.filter(|mask| *mask <= 0o777);
    if found.is_none() {
        let fault = Fault::new(value.span(), "expected up to three octal digits in quotes");
        faults.push(fault.with_hint("for example: umask = \"027\""));
    }
    found
}

/// Bytes, or a number with K, M, G or T: powers of 1,024, as systemd has them.
fn memory_max(fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> Option<u64> {
    let value = fields.get("memory_max")?;
    let found = match value.get_ref() {
        DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
        DeValue::String(text) => bytes(text),
        _ => None,
    };
    let found = found.filter(|bytes| (MIN_MEMORY_BYTES..=i64::MAX.unsigned_abs()).contains(bytes));
    if found.is_none() {
        let fault = Fault::new(value.span(), "expected bytes, at least \"1M\"");
        faults.push(fault.with_hint("for example: memory_max = \"512M\", or K, G, T, or a number"));
    }
    found
}

fn bytes(text: &str) -> Option<u64> {
    let shift = match text.as_bytes().last()? {
        b'K' => 10,
        b'M' => 20,
        b'G' => 30,
        b'T' => 40,
        _ => return text.parse().ok(),
    };
    text[..text.len() - 1].parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Per cent of one processor.
fn cpu_max(fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> Option<u32> {
    let value = fields.get("cpu_max")?;
    let found = match value.get_ref() {
        DeValue::String(text) => text.strip_suffix('%').and_then(|number| number.parse().ok()),
        _ => None,
    };
    let found = found.filter(|percent| CPU_PERCENT.contains(percent));
    if found.is_none() {
        let fault = Fault::new(value.span(), "expected whole per cent of a processor, from \"1%\"");
        faults.push(fault.with_hint("for example: cpu_max = \"150%\" is one and a half processors"));
    }
    found
}

fn limits(fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> Vec<(String, u64)> {
    let Some(table) = fields.table("limits", faults) else { return Vec::new() };
    let names: Vec<&str> = LIMIT_NAMES.to_vec();
    let mut found = Vec::new();
    for (name, value) in table.all() {
        let known = name.get_ref().as_ref();
        if !names.contains(&known) {
            let fault = Fault::new(name.span(), format!("unknown limit `{known}`"));
            faults.push(fault.with_hint(suggestion(known, &names)));
            continue;
        }
        let amount = match value.get_ref() {
            DeValue::String(text) if text == "unlimited" => Some(u64::MAX),
            DeValue::Integer(_) => integer_of(value, 0, i64::MAX, faults).map(i64::unsigned_abs),
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
