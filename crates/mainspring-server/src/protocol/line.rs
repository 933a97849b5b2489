//! An answer as the line that is sent.
//!
//! Serde would copy each field of an answer before it writes a flattened one, which took half the time of a
//! list; and it would copy each when it reads one. A page of a list is a quarter of a megabyte, so it is
//! written in its place behind the id, and read there.
//!
//! Cost: the bytes of the line, once.
//!
//! Does not send anything.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::{IdentifiedResponse, Response};

impl Response {
    /// The line of [`write_line`](Self::write_line) alone.
    ///
    /// # Panics
    ///
    /// Never: the types have string keys and finite numbers.
    pub fn line(&self, id: u64) -> String {
        let mut line = Vec::new();
        self.write_line(id, &mut line);
        String::from_utf8(line).expect("JSON is UTF-8")
    }

    /// Adds the line that answers a request to what is to be sent: what [`IdentifiedResponse`] is as
    /// JSON, with the end of the line.
    ///
    /// # Panics
    ///
    /// Never: the types have string keys and finite numbers.
    pub fn write_line(&self, id: u64, unsent: &mut Vec<u8>) {
        unsent.extend_from_slice(format!("{{\"id\":{id}").as_bytes());
        let body = unsent.len();
        serde_json::to_writer(&mut *unsent, self).expect("wire types have string keys and finite numbers");
        assert_eq!(unsent[body], b'{', "each answer is an object with one field");
        unsent[body] = b',';
        unsent.push(b'\n');
    }
}

impl<'de> Deserialize<'de> for IdentifiedResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<IdentifiedResponse, D::Error> {
        deserializer.deserialize_map(AnsweredVisitor)
    }
}

struct AnsweredVisitor;

impl<'de> Visitor<'de> for AnsweredVisitor {
    type Value = IdentifiedResponse;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of an id and then an answer")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<IdentifiedResponse, A::Error> {
        let first: Option<Cow<'de, str>> = map.next_key()?;
        if first.as_deref() != Some("id") {
            return Err(A::Error::missing_field("id"));
        }
        let id = map.next_value()?;
        let response = Response::deserialize(MapAccessDeserializer::new(&mut map))?;
        // A later version may add fields.
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(IdentifiedResponse { id, response })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_its_id_and_then_what_is_said() {
        let read = |line: &str| serde_json::from_str::<IdentifiedResponse>(line);
        let done = IdentifiedResponse { id: 3, response: Response::Done(super::super::Done {}) };
        assert_eq!(read(r#"{"id":3,"done":{}}"#).expect("an answer"), done);
        assert_eq!(read(r#"{"id":3,"done":{"new":1},"newer":[2]}"#).expect("fields are added"), done);
        for bad in [
            "{}",
            r#"{"id":3}"#,
            r#"{"done":{},"id":3}"#,
            r#"{"id":3,"dome":{}}"#,
            r#"{"id":-1,"done":{}}"#,
            "3",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
