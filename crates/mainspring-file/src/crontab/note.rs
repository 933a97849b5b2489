//! The comment line that gives the entry below it a name and policies.
//!
//! ```text
//! # mainspring: name=backup timeout=1h overlap=queue-one retry=3,backoff=10s
//! 30 2 * * *  /usr/local/bin/backup --all
//! ```
//!
//! To cron the line is a comment, so the file stays a crontab. Words are separated by blanks and contain
//! none. `name`, `group`, `priority` and `max-runs` are read here; all other words are policies of
//! `mainspring-job`, in their text form. With a second `#` before it the line is switched off.
//!
//! Cost: one pass over the line.
//!
//! Does not find the entry: see `binding.rs`.

use std::ops::Range;

use mainspring_job::{JobName, Policies};

use super::entry::{BLANKS, word};
use crate::problem::Fault;
use crate::spelling::{nearest, suggestion};

/// What a comment begins with, after `#` and blanks, to be one of these.
pub const MARK: &str = "mainspring:";

/// The words before `=` that are no policies.
const KEYS: [&str; 4] = ["name", "group", "priority", "max-runs"];

/// The words before `=`.
fn known() -> Vec<&'static str> {
    KEYS.into_iter().chain(Policies::KEYS.iter().map(|key| key.name)).collect()
}

/// What such a line says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Note {
    /// The job's name.
    pub name: Option<JobName>,
    /// Its group.
    pub group: Option<JobName>,
    /// Its priority.
    pub priority: i8,
    /// After how many runs it is done.
    pub max_runs: Option<u64>,
    /// Its policies.
    pub policies: Policies,
    /// The keys that it has.
    pub keys: Vec<String>,
}

/// The part of a comment that a note is read from, with its offset; `None` if the line is any other comment.
pub fn noted(line: &str) -> Option<(usize, &str)> {
    let comment = line.trim_start_matches(BLANKS).strip_prefix('#')?;
    let text = comment.trim_start_matches(BLANKS).strip_prefix(MARK)?;
    Some((line.len() - text.len(), text))
}

/// What a comment without the mark says that looks like a note: `# Mainspring: name=a`, `#mainspring name=a`,
/// `## mainspring: name=a`. With its place, and the note that was meant.
pub fn resembling(line: &str) -> Option<(Range<usize>, String)> {
    let text = commented(line)?;
    let word_end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    let word = text[..word_end].to_ascii_lowercase();
    let is_mark = nearest(&word, &[MARK.trim_end_matches(':')]).is_some();
    let words = text[word_end..].trim_start_matches(|c: char| !c.is_alphanumeric());
    let key = words.split_once('=')?.0.trim_end().to_ascii_lowercase().replace('_', "-");
    let start = line.len() - text.len();
    (is_mark && nearest(&key, &known()).is_some())
        .then(|| (start..start + word_end, format!("# {MARK} {}", words.trim_end())))
}

/// The text of a comment without all its `#` and the blanks beside them.
pub(super) fn commented(line: &str) -> Option<&str> {
    let comment = line.trim_start_matches(BLANKS).strip_prefix('#')?;
    Some(comment.trim_start_matches([' ', '\t', '#']))
}

impl Note {
    /// Reads the words after the mark.
    ///
    /// # Errors
    ///
    /// The first fault in reading order.
    ///
    /// # Example
    ///
    /// ```
    /// use mainspring_file::crontab::note::Note;
    ///
    /// let note = Note::parse(" name=backup overlap=queue-one")?;
    /// assert_eq!(note.name.map(|name| name.to_string()).as_deref(), Some("backup"));
    /// assert_eq!(Note::parse("overlp=skip").unwrap_err().hint.as_deref(), Some("did you mean `overlap`?"));
    /// # Ok::<(), mainspring_file::problem::Fault>(())
    /// ```
    pub fn parse(text: &str) -> Result<Note, Fault> {
        let mut note = Note::default();
        let mut seen: Vec<String> = Vec::new();
        for span in words(text) {
            let word = &text[span.clone()];
            let Some((key, value)) = word.split_once('=') else {
                let fault = Fault::new(span, format!("expected a word such as timeout=1h, found `{word}`"));
                return Err(fault.with_hint(format!("known are {}", known().join(", "))));
            };
            let value_start = span.start + key.len() + 1;
            let key_span = span.start..span.start + key.len();
            let name = key.replace('_', "-");
            if !known().contains(&name.as_str()) {
                let fault = Fault::new(key_span, format!("unknown key `{key}`"));
                return Err(fault.with_hint(suggestion(&name, &known())));
            }
            if seen.contains(&name) {
                return Err(Fault::new(key_span, format!("`{key}` stands here twice")));
            }
            note.set(&name, value).map_err(|fault| fault.shifted(value_start))?;
            seen.push(name);
        }
        if seen.is_empty() {
            let end = text.len();
            let fault = Fault::new(end..end, "expected words such as timeout=1h");
            return Err(fault.with_hint(format!("known are {}", known().join(", "))));
        }
        note.keys = seen;
        Ok(note)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), Fault> {
        let whole = 0..value.len();
        let name = || JobName::new(value).map_err(|error| Fault::new(whole.clone(), error.to_string()));
        let number = |expected: &str| Fault::new(whole.clone(), format!("expected {expected}"));
        match key {
            "name" => self.name = Some(name()?),
            "group" => self.group = Some(name()?),
            "priority" => self.priority = value.parse().map_err(|_| number("a number from -128 to 127"))?,
            "max-runs" => {
                let count = value.parse().ok().filter(|count| 0 < *count);
                self.max_runs = Some(count.ok_or_else(|| number("a number from 1"))?);
            }
            _ => {
                self.policies
                    .set(key, value)
                    .map_err(|error| Fault::new(error.place_in(value).unwrap_or(whole), error.to_string()))?;
            }
        }
        Ok(())
    }
}

fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    std::iter::successors(word(text, 0), |before| word(text, before.end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_a_comment_with_a_mark() {
        assert_eq!(noted("# mainspring: a=1"), Some((13, " a=1")));
        assert_eq!(noted("  #mainspring:a=1"), Some((14, "a=1")));
        assert_eq!(noted("## mainspring: a=1"), None);
        assert_eq!(noted("# about mainspring: a=1"), None);
        assert_eq!(noted("mainspring: a=1"), None);
    }

    #[test]
    fn a_comment_that_looks_like_a_note_is_told_from_prose() {
        for text in [
            "# Mainspring: name=a",
            "#mainspring name=a",
            "# mainspring : name=a ",
            "\t#\tMAINSPRING:name=a",
            "## mainspring: name=a",
            "# mainsping: name=a",
            "# mainspring; name=a",
            "# mainspring - name=a",
        ] {
            assert_eq!(
                resembling(text).map(|(_, meant)| meant).as_deref(),
                Some("# mainspring: name=a"),
                "{text}"
            );
        }
        for text in [
            "# mainspring reads this",
            "# mainspring",
            "# main: name=a",
            "#",
            "# mainspring: see x=1",
            "mainspring name=a",
        ] {
            assert_eq!(resembling(text), None, "{text}");
        }
    }

    #[test]
    fn faults_point_at_the_characters_meant() {
        let cases = [
            ("timeuot=1h", 0..7, "unknown key `timeuot`"),
            ("timeout=soon", 8..12, "`soon` is no timeout"),
            ("retry=3,backof=1s", 8..14, "`backof` is no part of retry"),
            ("name=a/b", 5..8, "`/` may not stand there"),
            ("name=a  name=b", 8..12, "stands here twice"),
            ("name=a b", 7..8, "expected a word such as"),
            ("priority=999", 9..12, "expected a number from -128"),
            ("", 0..0, "expected words"),
        ];
        for (text, span, message) in cases {
            let fault = Note::parse(text).unwrap_err();
            assert_eq!(fault.span, span, "{text}");
            assert!(fault.message.contains(message), "{text}: {}", fault.message);
        }
    }
}
