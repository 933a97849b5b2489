//! A crontab file: settings, comments and entries, line by line.
//!
//! ```text
//! # comment            ignored, like a blank line; never at the end of another line
//! CRON_TZ = Asia/Tokyo the time zone of the entries below; "" goes back to the default. By cron's rules a variable
//! A = 1                part of the environment of the entries below
//! # mainspring: ..     name and policies of the entry on the next line: see note and binding
//! 0 5 * * * backup.sh  an entry, which takes the settings so far with it
//! ```
//!
//! A bad line becomes a [`Problem`]; all other lines are read for their problems as well. As with Debian's
//! cron, a file with one bad line does not come into force; unlike there, the last line needs no newline.
//! By the [`Rules`] of that cron a line that it takes keeps no other out of force: see `crons_line`.
//! Line ends may be `\r\n`. A line is a problem as a whole if it has a NUL byte, has bytes that are not UTF-8
//! (except in a comment), or is longer than [`MAX_LINE_BYTES`].
//!
//! Cost: one pass; memory in proportion to the file.
//!
//! Does not send the mails of MAILTO: see [`hook`](crate::hook). MAILTO is part of the environment like any
//! other setting.
//!
//! Source: crontab(5) of Debian's cron 3.0pl1
//! (<https://manpages.debian.org/bookworm/cron/crontab.5.en.html>); `CRON_TZ` from crontab(5) of cronie.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::tz::TimeZone;
use mainspring_cron::Schedule;
use mainspring_job::JobName;

use crate::classics::of_setting;
use crate::problem::{Fault, Problem, Severity, text_of};
use crate::source::{Line, Source};
use crate::system_zone::zone_named;

mod binding;
pub mod command;
mod crons_line;
pub mod definition;
pub mod entry;
pub mod environment;
mod findings;
mod format;
pub mod habits;
pub mod names;
pub mod note;
pub mod word;

use binding::{LineAbove, minor};
use crons_line::CronsLine;
use entry::Entry;
use environment::{Environment, Setting, Settings};
use findings::Findings;
pub use findings::MAX_KEPT_PROBLEMS;
pub use format::{Format, MAX_LINE_BYTES, Rules};
use note::Note;

/// The setting that chooses the time zone of the entries below it.
pub const ZONE_SETTING: &str = "CRON_TZ";

/// The most entries of a file: some more than
/// [`MAX_MADE_BYTES`](crate::budget::MAX_MADE_BYTES) is enough for.
const MAX_ENTRIES: usize = 80_000;

/// The good lines of a file, and the problems of the others.
#[derive(Clone, Debug, Default)]
pub struct Crontab {
    /// In the order of the file.
    pub entries: Vec<PlacedEntry>,
    /// In the order of the file: the first [`MAX_KEPT_PROBLEMS`].
    pub problems: Vec<Problem>,
    /// How many further lines had problems.
    pub unkept_count: usize,
    /// What is doubtful or worth knowing about comments, in the order of the file: as many at most.
    pub remarks: Vec<Problem>,
    /// The names of entries that are comments now: no other entry gets them.
    pub switched_off: Vec<JobName>,
    /// The commands of the lines that are left out, as they are given to the shell.
    pub left_out: BTreeSet<String>,
}

/// An entry with what the lines above it said.
#[derive(Clone, Debug)]
pub struct PlacedEntry {
    /// The line's number, counted from 1.
    pub line_number: usize,
    /// The line as it stands in the file.
    pub line: String,
    /// The number of blanks before the entry: the offset of its spans in the line.
    pub indent: usize,
    /// What the line itself says.
    pub entry: Entry,
    /// The zone of the last `CRON_TZ` above.
    pub zone: Option<TimeZone>,
    /// The settings above.
    pub environment: Environment,
    /// The note above, if it is this entry's.
    pub note: Option<Box<Note>>,
}

impl PlacedEntry {
    /// Places a fault of this entry's text on its line.
    pub fn problem(&self, fault: Fault) -> Problem {
        let line = Line { number: self.line_number, bytes: self.line.as_bytes() };
        Problem::new(line, fault.shifted(self.indent))
    }

    /// The entry's schedule; `zone` is for an entry above which no `CRON_TZ` stands.
    pub fn schedule(&self, zone: &TimeZone) -> Schedule {
        Schedule::new(self.entry.expression.clone(), self.zone.as_ref().unwrap_or(zone).clone())
    }
}

impl Crontab {
    /// Reads a file. Never fails: what cannot be read is among the problems.
    ///
    /// # Example
    ///
    /// ```
    /// use mainspring_file::crontab::{Crontab, Format};
    /// use mainspring_file::source::Source;
    ///
    /// let source = Source::new("example", "A=1\n0 25 * * * true\n@daily true\n");
    /// let crontab = Crontab::parse(&source, Format::User);
    /// assert_eq!(crontab.entries[0].line_number, 3);
    /// assert_eq!(crontab.problems[0].line_number, 2);
    /// ```
    pub fn parse(source: &Source, format: Format) -> Crontab {
        Crontab::parse_by(Rules::Own, source, format)
    }

    /// The same by other rules.
    pub fn parse_by(rules: Rules, source: &Source, format: Format) -> Crontab {
        let mut reader = Reader {
            rules,
            format,
            zone: None,
            settings: Settings::default(),
            above: LineAbove::Nothing,
            entries: Vec::new(),
            found: Findings::default(),
            left_out: BTreeSet::new(),
        };
        for line in source.lines() {
            reader.read(line);
        }
        std::mem::take(&mut reader.above).tell_unused(&mut reader.found);
        let settings = Arc::new(reader.settings);
        let placed = |(entry, setting_count): (PlacedEntry, usize)| {
            let environment = Environment::new(Arc::clone(&settings), setting_count);
            PlacedEntry { environment, ..entry }
        };
        let entries = reader.entries.into_iter().map(placed).collect();
        let Findings { problems, unkept_count, remarks, switched_off } = reader.found;
        debug_assert!(problems.is_sorted_by_key(|problem| problem.line_number), "they stand as in the file");
        debug_assert!(remarks.is_sorted_by_key(|remark| remark.line_number), "they stand as in the file");
        Crontab { entries, problems, unkept_count, remarks, switched_off, left_out: reader.left_out }
    }
}

/// What holds from one line to the next.
struct Reader<'s> {
    rules: Rules,
    format: Format,
    zone: Option<TimeZone>,
    settings: Settings,
    /// The note on the line above.
    above: LineAbove<'s>,
    /// Each with the number of settings above it: their environments are known when all settings are.
    entries: Vec<(PlacedEntry, usize)>,
    found: Findings,
    left_out: BTreeSet<String>,
}

impl<'s> Reader<'s> {
    fn read(&mut self, line: Line<'s>) {
        let above = std::mem::take(&mut self.above);
        let indent = line.bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        if matches!(line.bytes.get(indent), None | Some(b'#')) {
            self.above = above.comment(line, self.format, &mut self.found);
            return;
        }
        if let Err(fault) = self.read_text(line, indent, above) {
            let text = String::from_utf8_lossy(&line.bytes[indent..]);
            let crons = self.crons_line(&text).filter(|_| self.entries.len() < MAX_ENTRIES);
            let severity = if crons.is_some() { Severity::Minor } else { Severity::Problem };
            self.found.tell(Problem { severity, ..Problem::new(line, fault) });
            self.left_out.extend(crons.map(|crons| crons.shell_text()));
        }
    }

    /// The line as cron reads it, if its rules hold and it takes it.
    fn crons_line(&self, text: &str) -> Option<CronsLine> {
        let is_setting = Setting::parse(text).is_ok();
        if self.rules == Rules::Own || is_setting { None } else { CronsLine::read(text, self.format) }
    }

    /// Reads an entry. A fault beside it is in what cron skips.
    fn entry(&self, text: &str) -> Result<(Entry, Option<Fault>), Fault> {
        Entry::parse(text, self.format).map(|entry| (entry, None)).or_else(|fault| {
            let crons = self.crons_line(text).and_then(|crons| Entry::parse(&crons.text, self.format).ok());
            let entry = crons.ok_or_else(|| fault.clone())?;
            let hint = "cron skips the rest of such a field, and so the entry is due by what is before it";
            Ok((entry, Some(Fault { hint: Some(hint.to_owned()), ..fault })))
        })
    }

    fn read_text(&mut self, line: Line<'_>, indent: usize, above: LineAbove<'_>) -> Result<(), Fault> {
        let whole = line_text(line.bytes)?;
        let text = &whole[indent..];
        let entry = match Setting::parse(text) {
            Ok(setting) => {
                above.tell_unused(&mut self.found);
                for fault in of_setting(&setting, text) {
                    self.found.remark(Problem::warning(line, fault.shifted(indent)));
                }
                match self.rules {
                    _ if setting.name != ZONE_SETTING => {}
                    Rules::Own => {
                        self.zone = zone(&setting.value, text).map_err(|fault| fault.shifted(indent))?;
                    }
                    Rules::Crons => {
                        let message = "to Debian's cron this is a variable like any other: the zone stays";
                        self.found.tell(minor(line, Fault::new(indent..whole.len(), message)));
                    }
                }
                self.settings.add(setting);
                return Ok(());
            }
            Err(fault) if Setting::is_likely(text) => Err(fault),
            Err(_) => self.entry(text),
        };
        // A note was meant for this line, whatever that was meant to be.
        let (entry, skipped) = entry.map_err(|fault| fault.shifted(indent))?;
        if self.entries.len() == MAX_ENTRIES {
            return Err(Fault::new(indent..whole.len(), format!("a file has at most {MAX_ENTRIES} entries")));
        }
        let Ok(note) = above.of_entry(&mut self.found) else { return Ok(()) };
        if let Some(fault) = skipped {
            self.found.tell(minor(line, fault.shifted(indent)));
        }
        let placed = PlacedEntry {
            line_number: line.number,
            line: whole.to_owned(),
            indent,
            entry,
            zone: self.zone.clone(),
            environment: Environment::default(),
            note,
        };
        self.entries.push((placed, self.settings.count()));
        Ok(())
    }
}

/// The text of a line that is not a comment.
fn line_text(bytes: &[u8]) -> Result<&str, Fault> {
    if MAX_LINE_BYTES < bytes.len() {
        let message = format!("the line is longer than {MAX_LINE_BYTES} bytes");
        let fault = Fault::new(bytes.len()..bytes.len(), message);
        return Err(fault.with_hint("put the commands into a script"));
    }
    if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
        return Err(Fault::new(at..at + 1, "a crontab cannot contain a NUL byte"));
    }
    text_of(bytes)
}

/// The zone that a value of `CRON_TZ` names; `None` for the empty value. `text` is the whole setting.
fn zone(value: &str, text: &str) -> Result<Option<TimeZone>, Fault> {
    if value.is_empty() {
        return Ok(None);
    }
    // The name before the = cannot contain the value again: it is CRON_TZ.
    let start = text.rfind(value).expect("the value is a part of the text");
    zone_named(value, start..start + value.len()).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay;

    fn crontab(text: impl Into<Vec<u8>>) -> Crontab {
        Crontab::parse(&Source::new("test", text), Format::User)
    }

    #[test]
    fn a_setting_applies_to_the_entries_below_it() {
        let crontab = crontab("@daily a\nA=1\n@daily b\nA=2\n  # A=3\n\n@daily c\n");
        let values: Vec<_> = crontab.entries.iter().map(|entry| entry.environment.value("A")).collect();
        assert_eq!(values, [None, Some("1"), Some("2")]);
        assert_eq!(crontab.problems, []);
    }

    #[test]
    fn cron_tz_chooses_the_zone_of_the_entries_below_it() {
        let crontab = crontab("@daily a\nCRON_TZ=Asia/Tokyo\n@daily b\nCRON_TZ=\"\"\n@daily c\n");
        let zones: Vec<_> = crontab.entries.iter().map(|entry| entry.zone.as_ref()?.iana_name()).collect();
        assert_eq!(zones, [None, Some("Asia/Tokyo"), None]);
    }

    #[test]
    fn by_the_rules_of_cron_cron_tz_is_a_variable_and_a_minor_problem() {
        let source = Source::new("test", "CRON_TZ=America/New_York\n CRON_TZ = Mars/Base\n59 9 * * * a\n");
        let crontab = Crontab::parse_by(Rules::Crons, &source, Format::User);
        let found =
            crontab.problems.iter().map(|one| (one.line_number, one.severity, one.fault.span.clone()));
        assert_eq!(found.collect::<Vec<_>>(), [(1, Severity::Minor, 0..24), (2, Severity::Minor, 1..20)]);
        let entry = &crontab.entries[0];
        assert_eq!((entry.zone.is_none(), entry.environment.value("CRON_TZ")), (true, Some("Mars/Base")));
    }

    #[test]
    fn an_unknown_zone_is_a_problem_and_changes_nothing() {
        let crontab = crontab("CRON_TZ=Asia/Tokyo\n CRON_TZ = 'Mars/Base'\n@daily b\n");
        assert_eq!(crontab.problems[0].fault.span, 12..21);
        assert_eq!(crontab.entries[0].zone.as_ref().unwrap().iana_name(), Some("Asia/Tokyo"));
    }

    #[test]
    fn one_bad_line_stops_no_other() {
        let crontab = crontab("@daily a\n61 * * * * b\nA B=c\n@daily d\n");
        assert_eq!(crontab.entries.len(), 2);
        let lines: Vec<usize> = crontab.problems.iter().map(|problem| problem.line_number).collect();
        assert_eq!(lines, [2, 3]);
    }

    #[test]
    fn by_the_rules_of_cron_a_line_that_it_takes_is_left_out_or_read_as_there() {
        let text =
            "0 22-6 * * * echo night\n1.5 * * * * echo part\n@reboot\n* * * * *\n61 * * * * x\n@daily b\n";
        let by = |rules| Crontab::parse_by(rules, &Source::new("test", text), Format::User);
        let found = |crontab: &Crontab| {
            crontab.problems.iter().map(|one| (one.line_number, one.severity)).collect::<Vec<_>>()
        };
        use Severity::{Minor, Problem};
        let crons = by(Rules::Crons);
        assert_eq!(found(&crons), [(1, Minor), (2, Minor), (3, Minor), (4, Minor), (5, Problem)]);
        let commands: Vec<_> =
            crons.entries.iter().map(|one| one.entry.command.shell_text.as_str()).collect();
        assert_eq!(commands, ["echo part", "b"]);
        assert!(crons.left_out.iter().eq(["", "echo night"]));
        let own = by(Rules::Own);
        assert_eq!((own.entries.len(), own.left_out.len()), (1, 0));
        assert!(found(&own).iter().all(|(_, severity)| *severity == Problem));
    }

    #[test]
    fn spans_count_from_the_start_of_the_line() {
        assert_eq!(crontab("  \t61 * * * * b\n").problems[0].fault.span, 3..5);
        assert_eq!(crontab("  A B=c\n").problems[0].fault.span, 4..5);
    }

    #[test]
    fn a_nul_byte_is_a_problem_at_its_place() {
        assert_eq!(crontab("@daily a\0b\n").problems[0].fault.span, 8..9);
    }

    #[test]
    fn broken_utf_8_is_a_problem_except_in_a_comment() {
        let crontab = crontab(b"# caf\xE9\n@daily caf\xE9\n@daily caf\xE9 au lait\n".to_vec());
        let spans: Vec<_> = crontab.problems.iter().map(|problem| problem.fault.span.clone()).collect();
        assert_eq!(spans, [10..11, 10..11]);
    }

    #[test]
    fn a_line_at_the_limit_is_read_and_a_longer_one_is_a_problem() {
        let line = format!("@daily {}", "x".repeat(MAX_LINE_BYTES - 7));
        assert_eq!(crontab(line.clone()).entries.len(), 1);
        assert_eq!(crontab(line + "x").problems.len(), 1);
    }

    #[test]
    fn windows_line_ends_and_a_missing_last_one_change_nothing() {
        let crontab = crontab("A=1\r\n@daily a\r\n@daily b");
        let commands: Vec<_> = crontab.entries.iter().map(|entry| &entry.entry.command.shell_text).collect();
        assert_eq!(commands, ["a", "b"]);
        assert_eq!(crontab.entries[0].environment.value("A"), Some("1"));
    }

    #[test]
    fn problems_beyond_the_limit_are_counted() {
        let crontab = crontab("@\n".repeat(MAX_KEPT_PROBLEMS + 3));
        assert_eq!((crontab.problems.len(), crontab.unkept_count), (MAX_KEPT_PROBLEMS, 3));
    }

    #[test]
    fn no_text_makes_the_reader_panic_and_every_span_lies_in_its_line() {
        let words = [
            "@daily", "@every", "*", "0", "5-1", "\"", "'", "=", "CRON_TZ", "A", "ä", "%", "\\", "#", "\0",
            "€",
        ];
        replay::each_seed(0..2_000, |seed| {
            let mut state = seed;
            let mut next = |limit: usize| {
                // Knuth's MMIX generator; its high bits are the good ones.
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as usize % limit
            };
            let mut bytes = Vec::new();
            for _ in 0..next(30) {
                bytes.extend_from_slice(words[next(words.len())].as_bytes());
                bytes.extend_from_slice([" ", "\t", "", "\n", "\r\n", " "][next(6)].as_bytes());
            }
            if next(4) == 0 && !bytes.is_empty() {
                bytes.truncate(next(bytes.len()));
            }
            for format in [Format::User, Format::System] {
                let crontab = Crontab::parse(&Source::new("test", bytes.clone()), format);
                for problem in crontab.problems {
                    assert!(problem.fault.span.end <= problem.line.len(), "seed {seed}");
                    assert!(problem.in_file("test").contains('^'), "seed {seed}");
                }
            }
        });
    }

    #[test]
    fn an_empty_file_is_an_empty_crontab() {
        let crontab = crontab("");
        assert_eq!((crontab.entries.len(), crontab.problems.len()), (0, 0));
    }
}
