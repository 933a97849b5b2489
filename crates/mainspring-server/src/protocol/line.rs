//! An answer as the line that is sent.
//!
//! Serde would copy each field of an answer before it writes a flattened one, which took half the time of a
//! list. A page of a list is a quarter of a megabyte, so it is written in its place behind the id.
//!
//! Cost: the bytes of the line, once.
//!
//! Does not send anything.

use super::Response;

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

    /// Adds the line that answers a request to what is to be sent: what [`Answered`](super::Answered) is as
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
