//! A mail: what a hook makes of a notice, and no job by itself.
//!
//! ```text
//! headers of its own (From, X-Cron-Env, ..) ─┐
//! To, Subject, the usual headers ────────────┴─▶ message ─▶ standard input of sendmail, in the order of cron's mails
//! text, and what a run wrote ─ a line beyond 998 bytes, or a NUL ─▶ quoted-printable
//! ```
//!
//! Cost: one copy of its text.
//!
//! Does not send anything.
//!
//! Source: RFC 5322, 2.1.1 (length of lines); RFC 2045, 6.7 (quoted-printable).

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The longest line of a mail, without its end. A longer header continues in another line, as far as it
/// has blanks, and is cut where it has none.
pub const MAX_LINE_BYTES: usize = 998;

/// The longest line of an encoded mail, with the `=` at its end.
const MAX_ENCODED_BYTES: usize = 76;

const _: () = assert!(MAX_ENCODED_BYTES <= MAX_LINE_BYTES, "what is encoded is what a mail may have");

/// A mail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MailBody {
    /// The program that takes the mail on its standard input, and the addresses as its arguments.
    pub sendmail: PathBuf,
    /// Who runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// To whom it goes.
    pub to: Vec<String>,
    /// One line.
    pub subject: String,
    /// More headers, `Name: value` each. They replace the usual ones of the same name; one without a value
    /// leaves the usual one out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    /// The beginning of its text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The run whose output follows, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_of: Option<String>,
    /// Nothing is sent where there is no output.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub needs_output: bool,
}

impl MailBody {
    /// The mail as text, with what a run wrote, and variables of the user for [`variable_of_user`]. Control
    /// characters in headers are blanks.
    pub fn message(&self, output: &str, of_user: &[(String, String)]) -> String {
        let text = [self.text.as_str(), output].concat();
        let is_given = |name: &str| self.headers.iter().any(|header| is_of(header, name));
        let is_plain = text.split('\n').all(|line| line.len() <= MAX_LINE_BYTES) && !text.contains('\0');
        let (encoding, text) = match is_plain || is_given("Content-Transfer-Encoding") {
            true => ("8bit", text),
            false => ("quoted-printable", quoted(&text)),
        };
        let usual = [
            ("From", String::new()),
            ("To", self.to.join(", ")),
            ("Subject", self.subject.clone()),
            ("MIME-Version", "1.0".to_owned()),
            ("Content-Type", "text/plain; charset=UTF-8".to_owned()),
            ("Content-Transfer-Encoding", encoding.to_owned()),
            ("Auto-Submitted", "auto-generated".to_owned()),
            ("Precedence", "bulk".to_owned()),
        ];
        let in_its_place = |(name, value): &(&str, String)| {
            let given: Vec<String> =
                self.headers.iter().filter(|header| is_of(header, name)).cloned().collect();
            if given.is_empty() { vec![format!("{name}: {value}")] } else { given }
        };
        let is_more = |header: &&String| !usual.iter().any(|(name, _)| is_of(header, name));
        let more = self.headers.iter().filter(is_more).map(|header| {
            let known = of_user.iter().find(|(name, _)| *header == variable_of_user(name));
            known.map_or_else(|| header.clone(), |(name, value)| variable(name, value))
        });
        let headers = usual.iter().flat_map(in_its_place).chain(more);
        let has_value =
            |header: &String| header.split_once(':').is_none_or(|(_, value)| !value.trim().is_empty());
        let headers = headers.filter(has_value);
        let clean = |header: String| folded(&header.replace(|c: char| c.is_control(), " ")) + "\n";
        let headers: String = headers.map(clean).collect();
        debug_assert!(headers.lines().all(|line| !line.is_empty()), "an empty line ends the headers");
        format!("{headers}\n{text}")
    }

    /// Whether nothing takes it: a mail of output to users of this machine, which has no mailer.
    pub fn is_undeliverable(&self) -> bool {
        let is_local = self.to.iter().all(|address| !address.contains('@'));
        self.needs_output && is_local && !Path::new(&self.sendmail).exists()
    }
}

/// The header by which cron's mails tell of a variable.
pub fn variable(name: &str, value: &str) -> String {
    format!("X-Cron-Env: <{name}={value}>")
}

/// The same for one whose value is known when the mail is sent.
pub fn variable_of_user(name: &str) -> String {
    variable(name, "{}")
}

fn is_of(header: &str, name: &str) -> bool {
    header.split(':').next().is_some_and(|found| found.eq_ignore_ascii_case(name))
}

/// A header in lines of at most [`MAX_LINE_BYTES`].
fn folded(header: &str) -> String {
    let mut all = String::with_capacity(header.len());
    let mut length = 0;
    for word in header.split_inclusive(' ') {
        if MAX_LINE_BYTES < length + word.len() && 0 < length {
            all.push_str("\n ");
            length = 1;
        }
        let end = word.floor_char_boundary(MAX_LINE_BYTES - length);
        all.push_str(&word[..end]);
        length += end;
    }
    debug_assert!(all.split('\n').all(|line| line.len() <= MAX_LINE_BYTES));
    all
}

/// The text in lines of at most [`MAX_ENCODED_BYTES`], of bytes that every mailer takes.
fn quoted(text: &str) -> String {
    let mut all = String::with_capacity(text.len() + text.len() / 16);
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let mut length = 0;
        for (at, byte) in line.bytes().enumerate() {
            let is_last = at + 1 == line.len();
            let piece = match byte {
                b' ' | b'\t' if !is_last => char::from(byte).to_string(),
                b'!'..=b'~' if byte != b'=' => char::from(byte).to_string(),
                byte => format!("={byte:02X}"),
            };
            if MAX_ENCODED_BYTES <= length + piece.len() {
                all.push_str("=\n");
                length = 0;
            }
            length += piece.len();
            all.push_str(&piece);
        }
        all.push_str(end);
    }
    debug_assert!(all.split('\n').all(|line| line.len() <= MAX_ENCODED_BYTES));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mail() -> MailBody {
        MailBody { to: vec!["a@b".into(), "c".into()], subject: "x\ny".into(), ..MailBody::default() }
    }

    #[test]
    fn headers_of_its_own_replace_the_usual_ones_and_are_one_line_each() {
        let headers = [
            "X-Cron-Env: <HOME={}>",
            "From: root (Cron Daemon)",
            "content-type: text/html\nBcc: x",
            "Precedence: ",
        ];
        let mail = MailBody { headers: headers.map(str::to_owned).to_vec(), ..mail() };
        let message = mail.message("out\n", &[("HOME".into(), "/root".into())]);
        let expected = "From: root (Cron Daemon)\nTo: a@b, c\nSubject: x y\nMIME-Version: 1.0\ncontent-type: text/html Bcc: x\n\
                        Content-Transfer-Encoding: 8bit\nAuto-Submitted: auto-generated\nX-Cron-Env: <HOME=/root>\n\nout\n";
        assert_eq!(message, expected);
    }

    #[test]
    fn a_long_line_and_a_nul_go_in_lines_that_every_mailer_takes() {
        let at_the_limit = "ä".repeat(MAX_LINE_BYTES / 2);
        assert!(mail().message(&at_the_limit, &[]).ends_with(&at_the_limit));
        let long = format!("{at_the_limit}.\nshort = \0 \n");
        let message = mail().message(&long, &[]);
        assert!(
            message.contains("\nContent-Transfer-Encoding: quoted-printable\n")
                && message.contains("\n\n=C3=A4"),
            "{message}"
        );
        assert!(message.ends_with("\nshort =3D =00=20\n"), "{message}");
        assert!(message.lines().all(|line| line.len() <= MAX_ENCODED_BYTES), "{message}");
        // What is between two soft ends of a line is the line again.
        let body = message.split_once("\n\n").unwrap().1.replace("=\n", "");
        assert_eq!(body.matches("=C3=A4").count(), MAX_LINE_BYTES / 2);
    }

    #[test]
    fn no_header_is_longer_than_a_line_may_be_and_one_without_a_value_is_left_out() {
        let long = variable("PATH", &"/usr/bin:".repeat(300));
        let to = (0..99).map(|index| format!("person-{index}@example.com")).collect();
        let headers = vec![long, "Precedence:".into(), "Auto-Submitted: ".into()];
        let message = MailBody { to, headers, ..mail() }.message("", &[]);
        assert!(message.lines().all(|line| line.len() <= MAX_LINE_BYTES), "{message}");
        let whole = message.replace("\n ", "");
        assert!(whole.contains(" person-98@example.com\nSubject: x y\n"), "{whole}");
        assert!(whole.contains("X-Cron-Env: <PATH=/usr/bin:/usr/bin:"), "{whole}");
        assert!(!whole.contains("Precedence") && !whole.contains("Auto-Submitted"), "{whole}");
    }
}
