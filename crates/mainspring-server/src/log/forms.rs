//! The forms of a line: columns, a JSON object, and a datagram of journald.
//!
//! | form | has |
//! |---|---|
//! | columns | time, subject, kind and text; characters that are not [`plain`] are escaped |
//! | JSON | each field that the line has, and its whole text |
//! | datagram | the same, as `NAME=value`, or with a binary length where the value has a line's end |
//!
//! Cost: one pass over the line, into a buffer that is there already.
//!
//! Source: <https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>.

use std::fmt;
use std::io::Write;

use serde::{Serialize, Serializer};

use super::fields::FIELDS;
use super::line::{Line, PROGRAM};
use mainspring_file::plain;

/// The longest text of a line in the journal: what journald takes of a line that it reads itself (`LineMax=`
/// in journald.conf(5)). A socket takes a datagram of four times that by default.
pub const MAX_JOURNAL_TEXT_BYTES: usize = 48 * 1_024;

/// What stands for the rest of such a text.
const CUT_MARK: &str = " [..]";

/// The least width of the second column: that of most runs.
const SUBJECT_WIDTH: usize = 32;

/// The width of the third.
const KIND_WIDTH: usize = 6;

const _: () = assert!(CUT_MARK.len() < MAX_JOURNAL_TEXT_BYTES);
const _: () = {
    let mut index = 0;
    while index < super::line::Kind::ALL.len() {
        assert!(
            super::line::Kind::ALL[index].name().len() <= KIND_WIDTH,
            "the column is as wide as its widest word"
        );
        index += 1;
    }
};

const WRITTEN: &str = "a buffer in memory takes everything";

/// Appends the line as columns.
pub(super) fn columns(line: &Line<'_>, bytes: &mut Vec<u8>) {
    write!(bytes, "{:.3} ", line.time).expect(WRITTEN);
    let start = bytes.len();
    write!(bytes, "{}", line.subject).expect(WRITTEN);
    let width = bytes[start..].iter().filter(|byte| (**byte).cast_signed() >= -0x40).count();
    bytes.resize(bytes.len() + SUBJECT_WIDTH.saturating_sub(width), b' ');
    writeln!(bytes, " {:<KIND_WIDTH$} {}", line.kind.name(), plain::line(&line.text)).expect(WRITTEN);
    debug_assert!(!bytes[start..bytes.len() - 1].contains(&b'\n'), "no text forges a line");
}

/// The fields that a line has, as an object.
struct Object<'l>(&'l Line<'l>);

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = FIELDS.iter().filter_map(|field| Some((field.name, (field.value)(self.0)?)));
        serializer.collect_map(fields)
    }
}

/// Appends the line as a JSON object.
pub(crate) fn object(line: &Line<'_>, bytes: &mut Vec<u8>) {
    let start = bytes.len();
    serde_json::to_writer(&mut *bytes, &Object(line)).expect("texts and numbers are a document");
    debug_assert!(!bytes[start..].contains(&b'\n'), "a document is one line");
    bytes.push(b'\n');
}

/// Appends the line as a datagram of journald.
pub(super) fn datagram(line: &Line<'_>, bytes: &mut Vec<u8>) {
    assignment("SYSLOG_IDENTIFIER", &PROGRAM, bytes);
    for field in FIELDS {
        match (field.journal_name, (field.value)(line)) {
            ("", _) | (_, None) => {}
            ("PRIORITY", _) => assignment("PRIORITY", &line.level.priority(), bytes),
            ("MESSAGE", _) if MAX_JOURNAL_TEXT_BYTES < line.text.len() => {
                let end = line.text.floor_char_boundary(MAX_JOURNAL_TEXT_BYTES - CUT_MARK.len());
                assignment("MESSAGE", &format_args!("{}{CUT_MARK}", &line.text[..end]), bytes);
            }
            (name, Some(value)) => assignment(name, &value, bytes),
        }
    }
}

fn assignment(name: &str, value: &dyn fmt::Display, bytes: &mut Vec<u8>) {
    let start = bytes.len();
    write!(bytes, "{name}={value}").expect(WRITTEN);
    let (sign, value) = (start + name.len(), start + name.len() + 1);
    if bytes[value..].contains(&b'\n') {
        let length = (bytes.len() - value) as u64;
        let head = [b"\n".as_slice(), &length.to_le_bytes()].concat();
        bytes.splice(sign..value, head);
    }
    bytes.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::fields::{Field, Form};
    use crate::log::line::{Answer, Kind, Level, Subject};
    use jiff::Timestamp;
    use mainspring_job::{Cause, Outcome, Reason, RunKey};
    use serde_json::{Map, Value, json};
    use std::time::Duration;

    fn key() -> RunKey {
        "backup@2026-11-21T03:00:00Z".parse().unwrap()
    }

    fn end<'l>(key: &'l RunKey, outcome: &'l Outcome) -> Line<'l> {
        let time: Timestamp = "2026-11-21T05:47:58.0019Z".parse().unwrap();
        Line {
            level: Level::Warning,
            cause: Some(Cause::CatchUp),
            due: Some(key.nominal),
            outcome: Some(outcome),
            answer: Some(Answer::Exit(3)),
            duration: Some(Duration::from_millis(2_500)),
            ..Line::new(time, Subject::Attempt(key, 2), Kind::End, "exit status 3\nafter \"2.5\" s")
        }
    }

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut bytes = Vec::new();
        write(&mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn an_object_has_the_fields_that_the_line_has() {
        let (key, outcome) = (key(), Outcome::from("exit 3"));
        let object = written(|bytes| object(&end(&key, &outcome), bytes));
        let expected = r#"{"time":"2026-11-21T05:47:58.001Z","level":"warning","kind":"end","job":"backup","run":"backup@2026-11-21T03:00:00Z","attempt":2,"cause":"catch_up","due":"2026-11-21T03:00:00Z","outcome":"exit","exit_code":3,"duration_ms":2500,"text":"exit status 3\nafter \"2.5\" s"}"#;
        assert_eq!(object, format!("{expected}\n"));
    }

    #[test]
    fn columns_name_the_attempt_and_escape_the_text() {
        let (key, outcome) = (key(), Outcome::TimedOut);
        let columns = written(|bytes| columns(&end(&key, &outcome), bytes));
        let expected = "2026-11-21T05:47:58.001Z backup@2026-11-21T03:00:00Z/2    end    exit status 3\\nafter \"2.5\" s\n";
        assert_eq!(columns, expected);
    }

    #[test]
    fn a_datagram_has_the_same_fields_and_a_length_before_what_has_lines() {
        let (key, outcome) = (key(), Outcome::from("exit 3"));
        let datagram = written(|bytes| datagram(&end(&key, &outcome), bytes));
        let expected = "SYSLOG_IDENTIFIER=mainspring\nPRIORITY=4\nMAINSPRING_KIND=end\nMAINSPRING_JOB=backup\n\
             MAINSPRING_RUN=backup@2026-11-21T03:00:00Z\nMAINSPRING_ATTEMPT=2\nMAINSPRING_CAUSE=catch_up\n\
             MAINSPRING_DUE=2026-11-21T03:00:00Z\nMAINSPRING_OUTCOME=exit\nMAINSPRING_EXIT_CODE=3\n\
             MAINSPRING_DURATION_MS=2500\nMESSAGE\n\u{1b}\0\0\0\0\0\0\0exit status 3\nafter \"2.5\" s\n";
        assert_eq!(datagram, expected);
    }

    #[test]
    fn each_field_is_written_in_an_object_and_in_the_journal() {
        let (key, outcome, reason) = (key(), Outcome::TimedOut, Reason::Paused);
        let answers = [Answer::Exit(3), Answer::Signal(15), Answer::Status(503)];
        let lines = answers.map(|answer| Line {
            answer: Some(answer),
            lateness: Some(Duration::from_millis(7)),
            reason: Some(&reason),
            count: Some(2),
            worker: Some("one"),
            ..end(&key, &outcome)
        });
        let all = |write: fn(&Line<'_>, &mut Vec<u8>)| {
            written(|bytes| lines.iter().for_each(|line| write(line, bytes)))
        };
        let (objects, datagrams) = (all(object), all(datagram));
        for Field { name, journal_name, .. } in FIELDS {
            assert!(objects.contains(&format!("\"{name}\":")), "{name}: {objects}");
            let is_in_journal = datagrams.lines().any(|line| line.split('=').next() == Some(journal_name));
            assert!(journal_name.is_empty() || is_in_journal, "{journal_name}: {datagrams}");
        }
        for part in
            ["\"lateness_ms\":7", "\"signal\":15", "\"status\":503", "\"count\":2", "\"worker\":\"one\""]
        {
            assert!(objects.contains(part), "{part}: {objects}");
        }
        let code = reason.code();
        assert!(datagrams.contains(&format!("\nMAINSPRING_REASON={code}\n")), "{datagrams}");
    }

    #[test]
    fn a_long_text_is_cut_between_characters_in_the_journal() {
        let text = "é".repeat(MAX_JOURNAL_TEXT_BYTES);
        let line = Line::note(Timestamp::UNIX_EPOCH, text.as_str());
        let datagram = written(|bytes| datagram(&line, bytes));
        let message = datagram.split_once("MESSAGE=").unwrap().1.trim_end();
        assert!(message.ends_with("é [..]"));
        assert!((MAX_JOURNAL_TEXT_BYTES - 1..=MAX_JOURNAL_TEXT_BYTES).contains(&message.len()));
    }

    #[test]
    fn names_in_the_journal_are_those_of_the_objects() {
        for Field { name, journal_name, .. } in FIELDS {
            let expected = match *name {
                "time" => String::new(),
                "level" => "PRIORITY".to_owned(),
                "text" => "MESSAGE".to_owned(),
                name => format!("MAINSPRING_{}", name.to_uppercase()),
            };
            assert_eq!(*journal_name, expected);
        }
    }

    /// The schema of a line: of each kind of line the fields that it has, and may have.
    fn schema() -> Value {
        let form = |field: &Field| match field.form {
            Form::Instant => json!({ "type": "string", "format": "date-time" }),
            Form::Number => json!({ "type": "integer" }),
            Form::Text => json!({ "type": "string" }),
            Form::Word(words) => json!({ "enum": words() }),
        };
        let definitions: Map<String, Value> =
            FIELDS.iter().map(|field| (field.name.to_owned(), form(field))).collect();
        let of_kind = |kind: Kind| {
            let has = |kinds: &[Kind]| kinds.contains(&kind);
            let all = FIELDS.iter().filter(|field| has(field.kinds) || has(field.other_kinds));
            let mut properties: Map<String, Value> = all
                .map(|field| (field.name.to_owned(), json!({ "$ref": format!("#/$defs/{}", field.name) })))
                .collect();
            properties.insert("kind".to_owned(), json!({ "const": kind.name() }));
            let required: Vec<&str> =
                FIELDS.iter().filter(|field| has(field.kinds)).map(|field| field.name).collect();
            json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
        };
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "A line of the log of `mainspring serve --log json`",
            "oneOf": Kind::ALL.map(of_kind),
            "$defs": definitions,
        })
    }

    #[test]
    fn the_schema_beside_the_reference_is_that_of_the_fields() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/log.schema.json");
        let made = format!("{}\n", serde_json::to_string_pretty(&schema()).unwrap());
        if std::env::var_os("UPDATE_EXPECTED").is_some() {
            std::fs::write(path, &made).unwrap();
        }
        let on_disk = std::fs::read_to_string(path).unwrap_or_default();
        assert!(on_disk == made, "UPDATE_EXPECTED=1 writes docs/reference/log.schema.json again");
    }
}
