//! Environment settings of a crontab: `NAME = value`.
//!
//! ```text
//! setting = name blanks "=" blanks value            blanks: spaces and tabs, also none
//! name    = 'any text but ='  |  "any text but ="  |  text without blank and =
//! value   = 'any text'        |  "any text"        |  text up to the end of the line, without trailing blanks
//! ```
//!
//! Nothing is expanded, no backslash is special, `#` begins no comment, and an empty value needs quotes. A
//! quote counts only as the first character; after a closing quote nothing may follow. A setting applies to
//! the entries below it.
//!
//! Cost: one pass over the line. All entries of a file share its settings, and each knows how many of them
//! stand above it: a value is found in O(log settings).
//!
//! Does not accept a setting without a name, which Debian's cron takes and then cannot use.
//!
//! Source: crontab(5) of Debian's cron 3.0pl1
//! (<https://manpages.debian.org/bookworm/cron/crontab.5.en.html>). Where the page says nothing, this file
//! does what that program does. Where the two differ, it follows the page: the program drops blanks at the
//! end of a value also inside of quotes, and a second pair of quotes, and the page says that both are kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::entry::skip_blanks;
use crate::problem::Fault;

/// All settings of a file, in its order.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    all: Vec<Setting>,
    /// Those that are the first of their name, in order.
    firsts: Vec<usize>,
    /// Those of each name, in order.
    of_name: BTreeMap<String, Vec<usize>>,
}

impl Settings {
    /// Adds the next setting of the file.
    pub fn add(&mut self, setting: Setting) {
        let places = self.of_name.entry(setting.name.clone()).or_default();
        if places.is_empty() {
            self.firsts.push(self.all.len());
        }
        places.push(self.all.len());
        self.all.push(setting);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }
}

/// The first settings of a file. Names and values are in the order of their first setting; a later value
/// replaces an earlier one.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    settings: Arc<Settings>,
    count: usize,
}

impl Environment {
    /// The first `count` of these settings.
    pub fn new(settings: Arc<Settings>, count: usize) -> Environment {
        debug_assert!(count <= settings.count(), "those above an entry are among all");
        Environment { settings, count }
    }

    /// The value of `name`, if it was set.
    pub fn value(&self, name: &str) -> Option<&str> {
        let places = self.settings.of_name.get(name)?;
        let before = places.partition_point(|place| *place < self.count).checked_sub(1)?;
        Some(self.settings.all[places[before]].value.as_str())
    }

    /// All names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let firsts = self.settings.firsts.iter().take_while(|place| **place < self.count);
        let names = firsts.map(|place| self.settings.all[*place].name.as_str());
        names.filter_map(|name| Some((name, self.value(name)?)))
    }
}

/// One line `NAME = value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Not empty and without `=`.
    pub name: String,
    /// Without its quotes.
    pub value: String,
}

impl Setting {
    /// Reads a line that has no leading blanks.
    ///
    /// # Errors
    ///
    /// A fault, if the line does not have the form of a setting. An entry of a crontab never has it, since
    /// its second word is not `=`: try this first, as cron does.
    ///
    /// # Example
    ///
    /// ```
    /// use mainspring_file::crontab::environment::Setting;
    ///
    /// let setting = Setting::parse("GREETING = ' hello # world '")?;
    /// assert_eq!((setting.name.as_str(), setting.value.as_str()), ("GREETING", " hello # world "));
    /// assert!(Setting::parse("* * * * * A=1 true").is_err());
    /// # Ok::<(), mainspring_file::problem::Fault>(())
    /// ```
    pub fn parse(text: &str) -> Result<Setting, Fault> {
        let (name, equals) = parse_name(text)?;
        if !text[equals..].starts_with('=') {
            let next = text[equals..].chars().next().map_or(0, char::len_utf8);
            let fault = Fault::new(equals..equals + next, "expected = after the name of a setting");
            return Err(match text.starts_with("export ") {
                true => fault.with_hint("a crontab is no script: the setting stands there without export"),
                false => fault,
            });
        }
        if name.is_empty() {
            return Err(Fault::new(equals..equals + 1, "a setting needs a name before ="));
        }
        let value = parse_value(text, skip_blanks(text, equals + 1))?;
        Ok(Setting { name: name.to_owned(), value: value.to_owned() })
    }

    /// Whether a line that is not a setting was probably meant to be one: for the choice of the message.
    pub fn is_likely(text: &str) -> bool {
        let entry_start = |c: char| c.is_ascii_digit() || c == '*' || c == '@';
        !text.starts_with(entry_start) && (text.contains('=') || text.starts_with(['"', '\'']))
    }
}

/// The name and where the `=` after it must stand.
fn parse_name(text: &str) -> Result<(&str, usize), Fault> {
    let Some(quote) = leading_quote(text) else {
        let end = text.find([' ', '\t', '=']).unwrap_or(text.len());
        return Ok((&text[..end], skip_blanks(text, end)));
    };
    let Some(length) = text[1..].find([quote, '=']) else {
        return Err(unclosed(0, quote));
    };
    let end = 1 + length;
    if text[end..].starts_with('=') {
        return Err(Fault::new(end..end + 1, "the name of a setting cannot contain ="));
    }
    Ok((&text[1..end], skip_blanks(text, end + 1)))
}

fn parse_value(text: &str, start: usize) -> Result<&str, Fault> {
    if start == text.len() {
        let fault = Fault::new(start..start, "expected a value after =");
        return Err(fault.with_hint("an empty value is written \"\""));
    }
    let Some(quote) = leading_quote(&text[start..]) else {
        return Ok(text[start..].trim_end_matches([' ', '\t']));
    };
    let Some(length) = text[start + 1..].find(quote) else {
        return Err(unclosed(start, quote));
    };
    let end = start + 1 + length;
    let rest = skip_blanks(text, end + 1);
    if rest < text.len() {
        let fault = Fault::new(rest..text.len(), "nothing may follow the closing quote");
        return Err(
            fault.with_hint("to keep quotes as part of a value, put the whole value in the other kind")
        );
    }
    Ok(&text[start + 1..end])
}

fn unclosed(at: usize, quote: char) -> Fault {
    Fault::new(at..at + 1, format!("the quote {quote} is never closed"))
}

fn leading_quote(text: &str) -> Option<char> {
    text.chars().next().filter(|c| matches!(c, '"' | '\''))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line with what Debian's cron 3.0pl1-162 makes of it; `None`: it refuses the file.
    const LINES: &[(&str, Option<(&str, &str)>)] = &[
        ("A=1", Some(("A", "1"))),
        ("B = \" two words\"", Some(("B", " two words"))),
        ("C= 'x\" y' ", Some(("C", "x\" y"))),
        ("\"D\" = q", Some(("D", "q"))),
        ("'F F'=sp", Some(("F F", "sp"))),
        ("E = a \"b\" c   ", Some(("E", "a \"b\" c"))),
        ("G=a#b # c", Some(("G", "a#b # c"))),
        ("K=\"\"", Some(("K", ""))),
        ("K=''", Some(("K", ""))),
        ("L = a=b", Some(("L", "a=b"))),
        ("N\t=\ttab\tx\t", Some(("N", "tab\tx"))),
        ("A=x'y", Some(("A", "x'y"))),
        ("A\"B=c", Some(("A\"B", "c"))),
        ("*=x", Some(("*", "x"))),
        ("P=\"a\tb\"   ", Some(("P", "a\tb"))),
        ("PATH=$HOME/bin:\\n", Some(("PATH", "$HOME/bin:\\n"))),
        ("H = \"unterminated", None),
        ("I = \"abc\" trailing", None),
        ("A='x'y'", None),
        ("J=", None),
        ("J =   ", None),
        ("A B=c", None),
        ("\"A=B\"=c", None),
        ("\"S\"T=1", None),
        ("0 5 * * * true", None),
        ("* * * * * A=1 true", None),
    ];

    #[test]
    fn lines_are_read_as_debians_cron_reads_them() {
        for (line, expected) in LINES {
            let parsed = Setting::parse(line).ok();
            let expected = expected.map(|(name, value)| Setting { name: name.into(), value: value.into() });
            assert_eq!(parsed, expected, "{line}");
        }
    }

    #[test]
    fn quotes_keep_blanks_at_both_ends_as_the_manual_promises() {
        for (line, value) in [("A=\" b \"", " b "), ("A='\tb\t' ", "\tb\t"), ("A=\"'b'\"", "'b'")] {
            assert_eq!(Setting::parse(line).unwrap().value, value, "{line}");
        }
    }

    #[test]
    fn faults_point_at_the_characters_meant() {
        let cases = [
            ("A = \"b", 4..5, "never closed"),
            ("'A", 0..1, "never closed"),
            ("A = 'b' c d", 8..11, "nothing may follow"),
            ("A B = c", 2..3, "expected ="),
            ("A", 1..1, "expected ="),
            ("A =", 3..3, "expected a value"),
            ("= b", 0..1, "needs a name"),
            ("'' = b", 3..4, "needs a name"),
            ("'A=B'=c", 2..3, "cannot contain ="),
        ];
        for (line, span, message) in cases {
            let fault = Setting::parse(line).unwrap_err();
            assert_eq!(fault.span, span, "{line}");
            assert!(fault.message.contains(message), "{line}: {}", fault.message);
        }
    }

    #[test]
    fn a_later_setting_replaces_an_earlier_one_in_its_place() {
        let mut settings = Settings::default();
        for line in ["A=1", "B=2", "A=3", "C=4"] {
            settings.add(Setting::parse(line).unwrap());
        }
        let settings = Arc::new(settings);
        let environment = Environment::new(Arc::clone(&settings), 3);
        assert_eq!(environment.iter().collect::<Vec<_>>(), [("A", "3"), ("B", "2")]);
        assert_eq!((environment.value("A"), environment.value("C")), (Some("3"), None));
        let above = Environment::new(settings, 1);
        assert_eq!(above.iter().collect::<Vec<_>>(), [("A", "1")]);
        assert_eq!((above.value("A"), above.value("B")), (Some("1"), None));
    }

    #[test]
    fn lines_that_begin_like_an_entry_are_not_taken_for_settings() {
        assert!(Setting::is_likely("A B=c"));
        assert!(Setting::is_likely("\"A"));
        assert!(!Setting::is_likely("* * * * 8 A=1"));
        assert!(!Setting::is_likely("@dayly A=1"));
        assert!(!Setting::is_likely("backup.sh"));
    }
}
