//! The entry that a note belongs to: the one on the line directly below it, and no other.
//!
//! | on the line directly below the note stands | then |
//! |---|---|
//! | an entry | the note is the entry's |
//! | a line with a fault | the note goes with it |
//! | a comment that reads like an entry: `#30 2 * * * backup` | it is switched off, with its note and its name |
//! | a blank line, another comment or note, a setting, nothing | the note is of no job: a minor problem |
//!
//! A note with a fault is a problem where it would be an entry's, since that would be another job without it.
//! Elsewhere its fault is minor.
//!
//! Cost: a commented line below a note is read as an entry; else one look at each comment.
//!
//! Does not bind settings: they hold for all entries below them.

use super::entry::Entry;
use super::findings::Findings;
use super::format::{Format, MAX_LINE_BYTES};
use super::note::{MARK, Note, commented, noted, resembling};
use crate::problem::{Fault, Problem, Severity};
use crate::source::Line;

/// What the line above says of the line that is read now.
#[derive(Default)]
pub(super) enum LineAbove<'s> {
    #[default]
    Nothing,
    /// A note, or what is wrong with it, and where its words begin.
    Note(Line<'s>, usize, Result<Box<Note>, Fault>),
    /// A comment that looks like a note.
    Resembling(Line<'s>, Fault),
}

impl<'s> LineAbove<'s> {
    /// What a comment or a blank line says of the line below it, after what it says of the line above.
    pub(super) fn comment(self, line: Line<'s>, format: Format, found: &mut Findings) -> LineAbove<'s> {
        // A comment may be anything, also what is no text.
        let text = std::str::from_utf8(line.bytes).unwrap_or_default();
        if let Some((offset, words)) = noted(text) {
            self.tell_unused(found);
            let parsed = if text.len() <= MAX_LINE_BYTES { Note::parse(words) } else { Note::parse("") };
            return LineAbove::Note(
                line,
                offset,
                parsed.map(Box::new).map_err(|fault| fault.shifted(offset)),
            );
        }
        match commented(text) {
            Some(entry) if !matches!(self, LineAbove::Nothing) && Entry::parse(entry, format).is_ok() => {
                self.switch_off(found);
            }
            _ => self.tell_unused(found),
        }
        match resembling(text) {
            Some((span, meant)) => {
                let fault = Fault::new(span, "this comment looks like one for Mainspring, and is not read");
                LineAbove::Resembling(line, fault.with_hint(format!("did you mean `{meant}`?")))
            }
            None => LineAbove::Nothing,
        }
    }

    /// Gives the note to the entry on the line below. The error is an entry that cannot be one without it.
    pub(super) fn of_entry(self, found: &mut Findings) -> Result<Option<Box<Note>>, ()> {
        match self {
            LineAbove::Note(_, _, Ok(note)) => Ok(Some(note)),
            LineAbove::Note(line, _, Err(fault)) => {
                found.tell(Problem::new(line, fault));
                Err(())
            }
            LineAbove::Nothing | LineAbove::Resembling(..) => {
                self.tell_unused(found);
                Ok(None)
            }
        }
    }

    /// Tells that the note belongs to no entry.
    pub(super) fn tell_unused(self, found: &mut Findings) {
        match self {
            LineAbove::Nothing => {}
            LineAbove::Note(line, offset, Ok(_)) => {
                let fault =
                    Fault::new(mark(offset), "no entry stands on the line below: this line is not used");
                let hint =
                    "it stands directly above its entry, without a blank line, comment or setting between";
                found.tell(minor(line, fault.with_hint(hint)));
            }
            LineAbove::Note(line, _, Err(fault)) => found.tell(minor(line, fault)),
            // A second `#` before the mark switches a note off.
            LineAbove::Resembling(line, _) if words(&line).is_some() => {}
            LineAbove::Resembling(line, fault) => found.remark(Problem::warning(line, fault)),
        }
    }

    /// Switches the note off together with the entry below.
    fn switch_off(self, found: &mut Findings) {
        match self {
            LineAbove::Note(line, offset, Ok(note)) => {
                let message = match &note.name {
                    Some(name) => format!("the entry below is a comment: `{name}` is switched off"),
                    None => "the entry below is a comment: this line is switched off with it".to_owned(),
                };
                found.switched_off.extend(note.name);
                let remark = Problem::new(line, Fault::new(mark(offset), message));
                found.remark(Problem { severity: Severity::Remark, ..remark });
            }
            // Both are comments, and were made so on purpose.
            LineAbove::Resembling(line, _) => {
                found.switched_off.extend(words(&line).and_then(|words| Note::parse(words).ok()?.name));
            }
            LineAbove::Nothing | LineAbove::Note(..) => self.tell_unused(found),
        }
    }
}

/// A fault that keeps no entry out of force.
pub(super) fn minor(line: Line<'_>, fault: Fault) -> Problem {
    Problem { severity: Severity::Minor, ..Problem::new(line, fault) }
}

/// The words behind the mark in a comment, however many `#` it begins with.
fn words<'s>(line: &Line<'s>) -> Option<&'s str> {
    commented(std::str::from_utf8(line.bytes).ok()?)?.strip_prefix(MARK)
}

/// The place of the mark before the words of a note.
fn mark(offset: usize) -> std::ops::Range<usize> {
    offset - MARK.len()..offset
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crontab::Crontab;
    use crate::problem::Severity;
    use crate::source::Source;

    /// The names of the entries in their order, `-` for none, and after `|` what is reported of which line:
    /// `!` keeps the file out of force, `m` does not, `w` is a warning, and `n` a note.
    const ROWS: &[(&str, &str)] = &[
        ("# mainspring: name=a\n@daily x\n", "a |"),
        ("# mainspring: name=a\r\n@daily x\r\n@daily y\r\n", "a - |"),
        ("\t#\tmainspring:\tname=a\t\n \t@daily x", "a |"),
        // Whatever is no entry ends it.
        ("# mainspring: name=a\n\n@daily x\n", "- | m1"),
        ("# mainspring: name=a\r\n\r\n@daily x\r\n", "- | m1"),
        ("# mainspring: name=a\n \t\n@daily x\n", "- | m1"),
        ("# mainspring: name=a\n# the report\n@daily x\n", "- | m1"),
        ("# mainspring: name=a\n#\n@daily x\n", "- | m1"),
        ("# mainspring: name=a\nA=1\n@daily x\n", "- | m1"),
        ("# mainspring: name=a\nCRON_TZ=UTC\n@daily x\n", "- | m1"),
        ("# mainspring: name=a\n# mainspring: name=b\n@daily x\n", "b | m1"),
        ("@daily x\n# mainspring: name=a\n", "- | m2"),
        ("@daily x\n# mainspring: name=a", "- | m2"),
        ("# mainspring: name=a\n# caf\u{e9}\n@daily x\n", "- | m1"),
        // A line with a fault takes it with it.
        ("# mainspring: name=a\n61 * * * * x\n@daily y\n", "- | !2"),
        ("# mainspring: name=a\nCRON_TZ=Mars/Base\n@daily y\n", "- | m1 !2"),
        ("# mainspring: name=a\nA B=c\n@daily y\n", "- | !2"),
        // An entry that is a comment takes it with it.
        ("# mainspring: name=a timeout=5s\n#30 2 * * * x\n\n# the report\n0 6 * * * y\n", "- | n1"),
        ("# mainspring: name=a\n#30 2 * * * x\n0 6 * * * y\n", "- | n1"),
        ("# mainspring: name=a\n # 30 2 * * * x\n# mainspring: name=b\n0 6 * * * y\n", "b | n1"),
        ("# mainspring: name=a\r\n#\t30\t2 * * *\tx\r\n@daily y", "- | n1"),
        ("# mainspring: name=a\n##30 2 * * * x\n@daily y\n", "- | n1"),
        ("# mainspring: name=a\n#@reboot x\n@daily y\n", "- | n1"),
        ("# mainspring: name=a\n#@every 5m x\n@daily y\n", "- | n1"),
        ("# mainspring: timeout=5s\n#@daily x", "| n1"),
        ("## mainspring: name=a\n#30 2 * * * x\n@daily y\n", "- |"),
        ("# # mainspring: name=a\n# @daily x\n@daily y\n", "- |"),
        ("# mainspring: name=a\n#30 2 * * *\n@daily y\n", "- | m1"),
        ("# mainspring: name=a\n#30 25 * * * x\n@daily y\n", "- | m1"),
        ("# mainspring: name=a\n#A=1\n@daily y\n", "- | m1"),
        // What is wrong with it matters where an entry is below.
        ("# mainspring: timeuot=5s\n@daily x\n", "| !1"),
        ("# mainspring: timeuot=5s\n61 * * * * x\n", "| !2"),
        ("# mainspring: timeuot=5s\n#@daily x\n@daily y\n", "- | m1"),
        ("# mainspring: timeuot=5s\n\n@daily y\n", "- | m1"),
        ("# mainspring:\n@daily y\n", "| !1"),
        // What looks like one is none.
        ("# Mainspring: name=a\n@daily x\n", "- | w1"),
        ("#mainspring name=a\n@daily x\n", "- | w1"),
        ("# mainspring : name=a\n@daily x\n", "- | w1"),
        ("## Mainspring: name=a\n@daily x\n", "- | w1"),
        // One that is switched off is none either, whatever is below.
        ("## mainspring: name=a\n@daily x\n", "- |"),
        ("# # mainspring: name=a\n@daily x\n", "- |"),
        ("# mainspring: name=a\n# Mainspring: name=b\n@daily x\n", "- | m1 w2"),
        ("# MAINSPRING: name=a\n", "| w1"),
        ("# mainspring is what reads this\n@daily x\n", "- |"),
    ];

    fn bound_names(text: &str, format: Format) -> String {
        let crontab = Crontab::parse(&Source::new("test", text), format);
        let name = |note: &Note| note.name.as_ref().map(ToString::to_string);
        let names = crontab.entries.iter().map(|entry| entry.note.as_deref().and_then(name));
        let mut found = crontab.problems;
        found.extend(crontab.remarks);
        found.sort_by_key(|problem| problem.line_number);
        let found = found.iter().map(|problem| {
            let letter = match problem.severity {
                Severity::Problem => '!',
                Severity::Minor => 'm',
                Severity::Warning => 'w',
                Severity::Remark => 'n',
            };
            format!("{letter}{}", problem.line_number)
        });
        let names = names.map(|name| name.unwrap_or_else(|| "-".to_owned()));
        names.chain(["|".to_owned()]).chain(found).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_note_belongs_to_the_entry_directly_below_it_and_to_no_other() {
        for (text, expected) in ROWS {
            assert_eq!(bound_names(text, Format::User), *expected, "{text:?}");
        }
    }

    #[test]
    fn the_rows_of_a_system_crontab_are_the_same() {
        for (text, expected) in ROWS {
            let with_users =
                text.replace(" x", " root x").replace("\tx", "\troot\tx").replace(" y", " root y");
            assert_eq!(bound_names(&with_users, Format::System), *expected, "{with_users:?}");
        }
    }

    #[test]
    fn what_belongs_to_nothing_keeps_no_file_out_of_force() {
        use crate::loaded_file::LoadedFile;
        let good = |text: &str| {
            LoadedFile::parse(&Source::new("x", text), Format::User, &jiff::tz::TimeZone::UTC).is_good()
        };
        for (text, expected) in ROWS {
            assert_eq!(good(text), !expected.contains('!'), "{text:?}");
        }
    }
}
