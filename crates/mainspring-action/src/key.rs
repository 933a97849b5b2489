//! A row of a table of keys: the key's name, the form of its value, and a sentence for the reference.
//!
//! ```text
//!  KEYS of a body ─┬─▶ reader of job files      mainspring-file, jobfile/body.rs
//!                  ├─▶ their writer             mainspring-file, jobfile/written.rs
//!                  ├─▶ check of a client's body here
//!                  ├─▶ schema of the HTTP API   here
//!                  └─▶ docs/reference/keys.md   cargo xtask reference
//! ```
//!
//! A form names the values that a key takes, and the field of the body that has them. A row whose field is of
//! another type does not compile. A new key is a field and a row; a new kind of value is a form, and an arm
//! in each of the four.
//!
//! Cost: none for a row; a check or a schema is one walk over the rows.
//!
//! Does not read TOML, and does not look at two keys together: the body's own check does.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::names::{LIMIT_NAMES, MAX_HEADERS, METHODS};
use crate::secret::SecretBody;

/// All bits of a file's mode that a mask can take away.
pub const MAX_UMASK: u32 = 0o777;

/// One key of the body `B`.
#[derive(Debug)]
pub struct Key<B> {
    /// As files and documents write it.
    pub name: &'static str,
    /// What its value may be, and where the body has it.
    pub form: Form<B>,
    /// What holds where nothing is said, in words.
    pub default: &'static str,
    /// What it does, in words.
    pub says: &'static str,
}

/// A row.
pub(crate) const fn key<B>(
    name: &'static str,
    form: Form<B>,
    default: &'static str,
    says: &'static str,
) -> Key<B> {
    Key { name, form, default, says }
}

/// A field of the body `B`.
#[derive(Debug)]
pub struct Field<B, T> {
    pub(crate) of: fn(&B) -> &T,
    pub(crate) of_mut: fn(&mut B) -> &mut T,
}

impl<B, T> Field<B, T> {
    /// Its value.
    pub fn of<'b>(&self, body: &'b B) -> &'b T {
        (self.of)(body)
    }

    /// Gives it another value.
    pub fn set(&self, body: &mut B, value: T) {
        *(self.of_mut)(body) = value;
    }
}

/// The field of this name.
macro_rules! field {
    ($name:ident) => {
        $crate::key::Field { of: |body| &body.$name, of_mut: |body| &mut body.$name }
    };
}

pub(crate) use field;

/// The values that a key takes. In a document each is as its field has it.
#[derive(Debug)]
pub enum Form<B> {
    /// A list: a program and its arguments.
    Words(Field<B, Vec<String>>),
    /// A string.
    Text(Field<B, Option<String>>),
    /// A string; a client's may have NUL characters in it.
    Input(Field<B, Option<String>>),
    /// A path that begins with `/`.
    Path(Field<B, Option<PathBuf>>),
    /// A path that begins with `/`, or a list of them.
    Paths(Field<B, Vec<PathBuf>>),
    /// `true` or `false`.
    Flag(Field<B, bool>),
    /// One of these words.
    OneOf(Field<B, Option<String>>, [&'static str; 2]),
    /// A table of strings.
    Variables(Field<B, Vec<(String, String)>>),
    /// A table of paths, each a string or `{ path = ".." }`.
    Secrets(Field<B, Vec<SecretBody>>),
    /// Up to three octal digits in quotes.
    Mask(Field<B, Option<u32>>),
    /// A whole number.
    Number(Field<B, Option<i32>>, RangeInclusive<i32>),
    /// A table of [`LIMIT_NAMES`], each a whole number or `"unlimited"`.
    Limits(Field<B, Vec<(String, u64)>>),
    /// Bytes, or a string with K, M, G or T; the least.
    Memory(Field<B, Option<u64>>, u64),
    /// Whole per cent in quotes.
    Percent(Field<B, Option<u32>>, RangeInclusive<u32>),
    /// Bytes; the most.
    Bytes(Field<B, Option<u64>>, u64),
    /// A string that begins with `http://` or `https://`; variables of a run may stand in it.
    Url(Field<B, String>),
    /// A method of HTTP.
    Method(Field<B, Option<String>>),
    /// A table of strings, in which variables of a run may stand.
    Headers(Field<B, Vec<(String, String)>>),
    /// A string in which variables of a run may stand.
    Template(Field<B, String>),
    /// Statuses of HTTP, and strings such as `"200-299"`: one, or a list.
    Statuses(Field<B, Vec<(u16, u16)>>),
}

impl<B> Form<B> {
    /// Whether a job's own table is laid over that of the defaults, key by key.
    pub fn is_layered(&self) -> bool {
        matches!(self, Form::Variables(_) | Form::Secrets(_) | Form::Limits(_) | Form::Headers(_))
    }

    fn check(&self, body: &B) -> Result<(), String> {
        match self {
            Form::Words(field) => field.of(body).iter().try_for_each(|word| check_text(word)),
            Form::Text(field) => field.of(body).iter().try_for_each(|text| check_text(text)),
            // What may stand in a template depends on the secrets: the body's own check looks.
            Form::Input(_) | Form::Flag(_) | Form::Statuses(_) | Form::Url(_) | Form::Template(_) => Ok(()),
            Form::Path(field) => field.of(body).iter().try_for_each(|path| check_path(path)),
            Form::Paths(field) => field.of(body).iter().try_for_each(|path| check_path(path)),
            Form::OneOf(field, words) => field.of(body).iter().try_for_each(|word| check_word(word, words)),
            Form::Variables(field) => field.of(body).iter().try_for_each(|(name, value)| {
                check_variable(name)?;
                check_text(value)
            }),
            Form::Secrets(field) => field.of(body).iter().try_for_each(|secret| {
                check_variable(&secret.name)?;
                check_path(&secret.path)
            }),
            Form::Mask(field) => {
                within(*field.of(body), &(0..=MAX_UMASK), || "expected up to three octal digits".to_owned())
            }
            Form::Number(field, range) => within(*field.of(body), range, || {
                format!("expected a number from {} to {}", range.start(), range.end())
            }),
            Form::Limits(field) => field.of(body).iter().try_for_each(|(name, _)| {
                let is_known = LIMIT_NAMES.contains(&name.as_str());
                is_known.then_some(()).ok_or_else(|| format!("there is no limit called {name}"))
            }),
            Form::Memory(field, least) => {
                within(*field.of(body), &(*least..=u64::MAX), || format!("expected at least {least} bytes"))
            }
            Form::Percent(field, range) => within(*field.of(body), range, || {
                format!("expected from {} to {} per cent of a processor", range.start(), range.end())
            }),
            Form::Method(field) => field.of(body).iter().try_for_each(|method| {
                let is_known = METHODS.contains(&method.as_str());
                is_known.then_some(()).ok_or_else(|| format!("expected one of {}", METHODS.join(", ")))
            }),
            Form::Headers(field) => match field.of(body).len() <= MAX_HEADERS {
                true => Ok(()),
                false => Err(format!("a webhook has at most {MAX_HEADERS} headers")),
            },
            Form::Bytes(field, most) => {
                within(*field.of(body), &(0..=*most), || format!("at most {most} are kept"))
            }
        }
    }

    fn schema(&self) -> Value {
        let text = json!({ "type": "string" });
        // Generated clients take 32 bits for an integer that has no format.
        let number = |least: i64, most: u64| json!({ "type": "integer", "format": "int64", "minimum": least, "maximum": most });
        let list = |items: Value| json!({ "type": "array", "items": items });
        match self {
            Form::Words(_) | Form::Paths(_) => list(text),
            Form::Text(_) | Form::Input(_) | Form::Path(_) | Form::Template(_) => text,
            Form::Url(_) => json!({ "type": "string", "format": "uri" }),
            Form::Method(_) => json!({ "enum": METHODS }),
            Form::Flag(_) => json!({ "type": "boolean" }),
            Form::OneOf(_, words) => json!({ "enum": words }),
            Form::Variables(_) | Form::Headers(_) => {
                list(json!({ "type": "array", "items": text, "minItems": 2, "maxItems": 2 }))
            }
            Form::Secrets(_) => list(json!({
                "type": "object",
                "properties": { "name": text, "path": text, "is_path": { "type": "boolean" } },
                "additionalProperties": false,
                "required": ["name", "path"]
            })),
            Form::Mask(_) => number(0, u64::from(MAX_UMASK)),
            Form::Number(_, range) => {
                json!({ "type": "integer", "format": "int64", "minimum": range.start(), "maximum": range.end() })
            }
            Form::Limits(_) => {
                let pair =
                    json!([{ "enum": LIMIT_NAMES }, { "type": "integer", "format": "int64", "minimum": 0 }]);
                // Generators that know no `prefixItems` take `items`, which hold for nothing else here.
                list(json!({
                    "type": "array", "prefixItems": pair, "items": { "anyOf": pair }, "minItems": 2, "maxItems": 2
                }))
            }
            Form::Statuses(_) => {
                let status = json!({ "type": "integer", "minimum": 0, "maximum": u16::MAX });
                list(json!({ "type": "array", "items": status, "minItems": 2, "maxItems": 2 }))
            }
            Form::Memory(_, least) => json!({ "type": "integer", "format": "int64", "minimum": least }),
            Form::Percent(_, range) => number(i64::from(*range.start()), u64::from(*range.end())),
            Form::Bytes(_, most) => number(0, *most),
        }
    }
}

/// Checks each key of a body by its row.
pub(crate) fn check<B>(keys: &[Key<B>], body: &B) -> Result<(), String> {
    keys.iter().try_for_each(|key| key.form.check(body).map_err(|message| format!("{}: {message}", key.name)))
}

/// The JSON schema of a document that has these keys, and no others.
pub fn schema<B>(keys: &[Key<B>], says: &str, required: &[&str]) -> Value {
    let properties: Map<String, Value> = keys
        .iter()
        .map(|key| {
            let mut schema = key.form.schema();
            schema["description"] = key.says.into();
            (key.name.to_owned(), schema)
        })
        .collect();
    debug_assert_eq!(properties.len(), keys.len(), "each key has one row");
    debug_assert!(required.iter().all(|name| properties.contains_key(*name)), "what is required is a key");
    let mut schema = json!({
        "type": "object", "description": says, "properties": properties, "additionalProperties": false
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn within<N: PartialOrd>(
    number: Option<N>,
    range: &RangeInclusive<N>,
    expected: impl Fn() -> String,
) -> Result<(), String> {
    if number.is_none_or(|number| range.contains(&number)) { Ok(()) } else { Err(expected()) }
}

/// The kernel takes the texts of a program up to their first NUL.
fn check_text(text: &str) -> Result<(), String> {
    match text.contains('\0') {
        true => Err("a NUL character cannot be part of it".to_owned()),
        false => Ok(()),
    }
}

/// A path means the same wherever the server was started.
fn check_path(path: &Path) -> Result<(), String> {
    path.to_str().map_or(Ok(()), check_text)?;
    if path.is_absolute() { Ok(()) } else { Err("expected a path that begins with /".to_owned()) }
}

/// A number of bytes, or one with K, M, G or T behind it: powers of 1,024, as systemd has them.
pub fn bytes_of(text: &str) -> Option<u64> {
    let shift = match text.as_bytes().last()? {
        b'K' => 10,
        b'M' => 20,
        b'G' => 30,
        b'T' => 40,
        _ => return text.parse().ok(),
    };
    text[..text.len() - 1].parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Whether a variable may have this name.
///
/// # Errors
/// What a name is.
pub fn check_variable(name: &str) -> Result<(), String> {
    match name.is_empty() || name.contains(['=', '\0']) {
        true => Err("the name of a variable is not empty and has no = in it".to_owned()),
        false => Ok(()),
    }
}

/// One of two words.
///
/// # Errors
/// Which are expected.
pub fn check_word(word: &str, words: &[&str; 2]) -> Result<(), String> {
    let [first, last] = words;
    match words.contains(&word) {
        true => Ok(()),
        false => Err(format!("expected \"{first}\" or \"{last}\", found \"{word}\"")),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde::Serialize;
    use serde::de::DeserializeOwned;

    use super::*;

    /// A value of each form, as a document has it.
    fn sample<B>(form: &Form<B>) -> Value {
        match form {
            Form::Words(_) | Form::Paths(_) => json!(["/a"]),
            Form::Text(_) | Form::Input(_) | Form::Path(_) | Form::Template(_) | Form::Url(_) => json!("/a"),
            Form::Flag(_) => json!(true),
            Form::OneOf(_, words) => json!(words[1]),
            Form::Variables(_) | Form::Headers(_) => json!([["A", "a"]]),
            Form::Secrets(_) => json!([{ "name": "A", "path": "/a" }]),
            Form::Limits(_) => json!([["open_files", 1]]),
            Form::Method(_) => json!("PUT"),
            Form::Statuses(_) => json!([[200, 204]]),
            Form::Memory(_, least) => json!(least),
            Form::Number(..) | Form::Mask(_) | Form::Percent(..) | Form::Bytes(..) => json!(7),
        }
    }

    /// Each row names its field, and each field of the body has a row.
    pub(crate) fn assert_complete<B>(keys: &[Key<B>])
    where
        B: Default + PartialEq + std::fmt::Debug + Serialize + DeserializeOwned,
    {
        for key in keys {
            let value = sample(&key.form);
            let body: B = serde_json::from_value(json!({ key.name: value })).unwrap();
            assert_eq!(key.form.check(&body), Ok(()), "{}", key.name);
            assert_eq!(serde_json::to_value(&body).unwrap()[key.name], value, "{}", key.name);
            let without = |body: &B| {
                let mut document = serde_json::to_value(body).unwrap();
                document.as_object_mut().unwrap().remove(key.name);
                document
            };
            assert_eq!(without(&body), without(&B::default()), "{} is all that is said", key.name);
        }
        let error = serde_json::from_str::<B>(r#"{"?": 1}"#).unwrap_err().to_string();
        // "unknown field `?`, expected one of `run`, `shell`, .."
        let mut fields: Vec<&str> = error.split('`').skip(3).step_by(2).collect();
        let mut names: Vec<&str> = keys.iter().map(|key| key.name).collect();
        fields.sort_unstable();
        names.sort_unstable();
        assert_eq!(fields, names);
    }
}
