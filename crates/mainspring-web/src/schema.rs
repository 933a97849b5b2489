//! Schemas of answers and bodies, made of the types that are written and read.
//!
//! | schemars says | the description of the API says |
//! |---|---|
//! | the format of an integer's type, and its bounds | `int32` or `int64`, the one that holds it; for a body with its bounds |
//! | the value of a field that is left out | nothing |
//! | of an answer: null also of a field that is left out | the field's type |
//! | of an answer: an instant, or one with its zone | `Instant`, `Civil` |
//! | of an answer: nothing of other fields | that there are none |
//! | a schema for each word of an `enum` | the words |
//! | a doc comment as it is written | its text in one line, without links |
//!
//! Cost: some hundred kilobytes for a moment, for each description.
//!
//! Does not know routes: see [`openapi`](crate::openapi).
//!
//! Source: <https://graham.cool/schemars/>.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// What gives the schema of a type.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The schema of a type: a reference, if it has a name.
pub fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// A reference to the schema of a name.
pub fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// An object with one of these fields, which no type says.
pub fn one_field_of(fields: [(&str, Value); 2]) -> Vec<Value> {
    let of = |(name, schema): (&str, Value)| {
        json!({
            "type": "object", "additionalProperties": false, "properties": { name: schema }, "required": [name]
        })
    };
    fields.into_iter().map(of).collect()
}

/// What schemas are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What is written.
    Answer,
    /// What is read.
    Body,
}

/// Schemas of one kind that are being gathered.
#[derive(Debug)]
pub struct Schemas {
    generator: SchemaGenerator,
    kind: Kind,
}

impl Schemas {
    /// None yet.
    pub fn new(kind: Kind) -> Schemas {
        let settings = SchemaSettings::draft2020_12().with_transform(kind).with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        let settings = if kind == Kind::Answer { settings.for_serialize() } else { settings };
        Schemas { generator: settings.into_generator(), kind }
    }

    /// The schema of a type, as a place refers to it.
    pub fn reference(&mut self, of: SchemaOf) -> Value {
        let mut schema = of(&mut self.generator);
        self.kind.transform(&mut schema);
        schema.to_value()
    }

    /// What the shape that a reference leads to says of itself.
    pub fn says(&self, reference: &str) -> Option<String> {
        let known = self.generator.definitions().get(reference.rsplit('/').next()?)?;
        known["description"].as_str().map(plain)
    }

    /// The schemas with a name.
    pub fn named(mut self) -> Map<String, Value> {
        let mut named = self.generator.take_definitions(true);
        if self.kind == Kind::Answer {
            let says = "RFC 3339, in UTC.";
            let instant = json!({ "type": "string", "format": "date-time", "description": says });
            named.insert("Instant".to_owned(), instant);
            let says = "RFC 9557: local time, offset and zone.";
            named.insert("Civil".to_owned(), json!({ "type": "string", "description": says }));
        }
        named
    }
}

/// Makes a schema of schemars what the description has: see the table above.
impl Transform for Kind {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(fields) = schema.as_object_mut() else { return };
        fields.remove("default");
        if let Some(Value::String(text)) = fields.get_mut("description") {
            *text = plain(text);
        }
        join_words(fields);
        let format = fields.get("format").and_then(Value::as_str).unwrap_or_default();
        let is_answer = *self == Kind::Answer;
        match format {
            "date-time" if is_answer => refer(fields, "Instant"),
            "zoned-date-time" if is_answer => refer(fields, "Civil"),
            _ if format.starts_with("int") || format.starts_with("uint") => {
                let is_short = ["int8", "int16", "int32", "uint8", "uint16"].contains(&format);
                fields.insert("format".to_owned(), json!(if is_short { "int32" } else { "int64" }));
                if is_answer {
                    fields.remove("minimum");
                    fields.remove("maximum");
                }
            }
            _ => {}
        }
        let required = fields.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        if is_answer && let Some(Value::Object(properties)) = fields.get_mut("properties") {
            let left_out =
                properties.iter_mut().filter(|(name, _)| required.iter().all(|known| known != *name));
            left_out.for_each(|(_, property)| without_null(property));
            fields.entry("additionalProperties").or_insert(json!(false));
        }
    }
}

/// Makes a text of a form a reference to the schema of that form.
fn refer(fields: &mut Map<String, Value>, name: &str) {
    fields.remove("format");
    let (key, value) = match (fields.remove("type"), reference(name)) {
        (Some(Value::Array(_)), reference) => ("anyOf", json!([reference, { "type": "null" }])),
        (_, reference) => ("$ref", reference["$ref"].clone()),
    };
    fields.insert(key.to_owned(), value);
}

/// Words that have a schema each, with what each means, as one list.
fn join_words(fields: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = fields.get("oneOf") else { return };
    let words = |choice: &Value| match (&choice["const"], &choice["enum"]) {
        (Value::String(word), _) => Some(vec![json!(word)]),
        (_, Value::Array(words)) => Some(words.clone()),
        _ => None,
    };
    let Some(words) = choices.iter().map(words).collect::<Option<Vec<_>>>() else { return };
    fields.remove("oneOf");
    fields.extend([("type".to_owned(), json!("string")), ("enum".to_owned(), json!(words.concat()))]);
}

/// Takes null out of what a property may be.
fn without_null(property: &mut Value) {
    let Value::Object(fields) = property else { return };
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|name| name != "null");
        if let [one] = &types[..] {
            let one = one.clone();
            fields.insert("type".to_owned(), one);
        }
    }
    let Some(Value::Array(choices)) = fields.get_mut("anyOf") else { return };
    choices.retain(|choice| choice["type"] != "null");
    if let [Value::Object(one)] = &choices[..] {
        let one = one.clone();
        fields.remove("anyOf");
        // What the place says goes before what the type says.
        for (name, value) in one {
            fields.entry(name).or_insert(value);
        }
    }
}

/// A doc comment as plain text: lines together, and links as their text.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace("[`", "`").replace("`]", "`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::{Timestamp, Zoned};
    use serde::{Deserialize, Serialize};

    /// Which of
    /// two, see [`Kind`] or [`Shape`].
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Word {
        /// The first.
        Yes,
        No,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        #[serde(default)]
        count: usize,
        at: Option<Timestamp>,
    }

    #[derive(Serialize, JsonSchema)]
    struct Shape {
        #[serde(flatten)]
        inner: Inner,
        #[serde(skip_serializing_if = "Option::is_none")]
        civil: Option<Zoned>,
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// Of two.
        #[serde(skip_serializing_if = "Option::is_none")]
        word: Option<Word>,
        length_ms: Option<u64>,
    }

    fn named(kind: Kind, of: SchemaOf) -> Map<String, Value> {
        let mut schemas = Schemas::new(kind);
        schemas.reference(of);
        schemas.named()
    }

    #[test]
    fn an_answer_has_the_fields_of_its_type_and_no_others() {
        let found = named(Kind::Answer, of::<Shape>);
        assert_eq!(
            found["Shape"],
            json!({
                "type": "object", "additionalProperties": false, "required": ["count", "at", "length_ms"],
                "properties": {
                    "count": { "type": "integer", "format": "int64" },
                    "length_ms": { "type": ["integer", "null"], "format": "int64" },
                    "at": { "anyOf": [reference("Instant"), { "type": "null" }] },
                    "civil": reference("Civil"), "text": { "type": "string" },
                    "word": { "$ref": "#/components/schemas/Word", "description": "Of two." }
                }
            })
        );
        assert_eq!(
            found["Word"],
            json!({
                "type": "string", "enum": ["no", "yes"], "description": "Which of two, see `Kind` or `Shape`."
            })
        );
        assert!(["Instant", "Civil"].iter().all(|name| found[*name]["type"] == "string"));
    }

    #[test]
    fn what_a_body_may_leave_out_need_not_be_there() {
        let found = named(Kind::Body, of::<Inner>);
        let count = json!({ "type": "integer", "format": "int64", "minimum": 0 });
        let at = json!({ "type": ["string", "null"], "format": "date-time" });
        assert_eq!(
            found["Inner"],
            json!({
                "type": "object", "additionalProperties": false, "properties": { "count": count, "at": at }
            })
        );
    }

    #[test]
    fn a_comment_keeps_brackets_that_are_no_link() {
        assert_eq!(plain("a [b] [`d`]\ne [`f`]."), "a [b] `d` e `f`.");
        assert_eq!(plain("`[jobs.NAME]` from [0"), "`[jobs.NAME]` from [0");
    }
}
