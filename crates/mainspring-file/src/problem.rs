//! A problem in a text, the characters with the fault, and how both are shown.
//!
//! ```text
//! nightly.crontab:7:3: hour must be 0-23, not 24        file:line:column: what is wrong
//!   7 | 0 24 * * * backup.sh                            the line
//!     |   ^^                                            under exactly the characters meant
//!     = hint: midnight is hour 0                        what to do, when that is known
//! ```
//!
//! A [`Fault`] knows only its own line's text; a [`Problem`] is a fault with its place in a file. A
//! [`Severity::Warning`] looks the same, with `warning: ` before the message.
//!
//! Columns are counted in characters, from 1 on. In the underline a tab stays a tab, so that the caret
//! stands under its character whatever the terminal's tab width. Characters that are not [`plain`] and bytes
//! that are not UTF-8 are shown as one symbol each in the line, and in message, hint and name as `\u{1b}`.
//!
//! Cost: one copy of the bad line per problem.
//!
//! Does not know how wide a terminal shows a sequence of characters that it joins, such as flags.
//!
//! Source: the layout follows the Rust compiler's diagnostics,
//! <https://doc.rust-lang.org/rustc/json.html#diagnostics>.

use std::ops::Range;

use unicode_width::UnicodeWidthChar;

use crate::plain::{self, is_plain};
use crate::source::{Line, MAX_FILE_BYTES, Source};
use mainspring_action::template::TemplateError;

/// The most characters of a line that are shown; of a longer one the part around the problem is.
pub const MAX_EXCERPT_CHARS: usize = 120;

/// The most problems of one file that are shown one by one: a file with more is probably no crontab at all.
pub const MAX_SHOWN_PROBLEMS: usize = 100;

/// What is wrong with one text, and where in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Byte offsets into the text; empty for "here something is missing".
    pub span: Range<usize>,
    /// What is wrong and what was expected: lower case, no full stop.
    pub message: String,
    /// What to do about it, when that is known.
    pub hint: Option<String>,
}

impl Fault {
    /// Makes a fault without a hint.
    pub fn new(span: Range<usize>, message: impl Into<String>) -> Fault {
        debug_assert!(span.start <= span.end);
        Fault { span, message: message.into(), hint: None }
    }

    /// Adds what to do about it.
    pub fn with_hint(self, hint: impl Into<String>) -> Fault {
        Fault { hint: Some(hint.into()), ..self }
    }

    /// Moves the span right: for a fault found in a part of a text that begins at `offset`.
    pub fn shifted(self, offset: usize) -> Fault {
        Fault { span: self.span.start + offset..self.span.end + offset, ..self }
    }
}

impl From<mainspring_cron::ParseError> for Fault {
    fn from(error: mainspring_cron::ParseError) -> Fault {
        // The hint of a parse error is what could stand in place of the bad characters.
        let hint = error.hint().map(|instead| format!("did you mean `{}`?", instead.trim()));
        Fault { span: error.span(), message: error.to_string(), hint }
    }
}

impl From<TemplateError> for Fault {
    fn from(error: TemplateError) -> Fault {
        Fault { span: error.span, message: error.message, hint: Some(error.hint) }
    }
}

/// Whether something is wrong or only doubtful.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// It cannot be understood or done: its file does not come into force.
    Problem,
    /// It is wrong, and no entry is another for it: the rest of its file comes into force.
    Minor,
    /// It is valid, and probably not what was meant.
    Warning,
    /// It is valid and probably meant, and does more than it shows.
    Remark,
}

impl Severity {
    /// What programs read.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Problem | Severity::Minor => "problem",
            Severity::Warning => "warning",
            Severity::Remark => "note",
        }
    }
}

/// A fault on a certain line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line's number, counted from 1.
    pub line_number: usize,
    /// The line as it stands in the file.
    pub line: Vec<u8>,
    /// What is wrong there. Its span lies within the line.
    pub fault: Fault,
    /// How bad that is.
    pub severity: Severity,
}

impl Problem {
    /// Places a fault on its line.
    pub fn new(line: Line<'_>, fault: Fault) -> Problem {
        debug_assert!(fault.span.start <= fault.span.end, "a span has its start before its end");
        debug_assert!(fault.span.end <= line.bytes.len(), "a span lies within its line");
        Problem { line_number: line.number, line: line.bytes.to_vec(), fault, severity: Severity::Problem }
    }

    /// Places a fault of the whole text on its line. A span that goes beyond the line ends with it.
    pub fn at(source: &Source, fault: Fault) -> Problem {
        let (line, line_start) = source.line_at(fault.span.start);
        let within = |offset: usize| offset.saturating_sub(line_start).min(line.bytes.len());
        let span = within(fault.span.start)..within(fault.span.end);
        Problem::new(line, Fault { span, ..fault })
    }

    /// Places something doubtful on its line.
    pub fn warning(line: Line<'_>, fault: Fault) -> Problem {
        Problem::new(line, fault).into_warning()
    }

    /// The same as something doubtful.
    #[must_use]
    pub fn into_warning(self) -> Problem {
        Problem { severity: Severity::Warning, ..self }
    }

    /// That of a text that is longer than a file of jobs may be; `None` for any other.
    pub fn of_length(source: &Source) -> Option<Problem> {
        if source.bytes().len() as u64 <= MAX_FILE_BYTES {
            return None;
        }
        let text = format!("this is longer than {MAX_FILE_BYTES} bytes, the limit for a file of jobs");
        Some(Problem::new(Line { number: 1, bytes: b"" }, Fault::new(0..0, text)))
    }

    /// The column of the first bad character, counted in characters from 1.
    pub fn column(&self) -> usize {
        displayed(&self.line[..self.fault.span.start]).count() + 1
    }

    /// The problem as text of several lines, under the name of its file.
    pub fn in_file(&self, name: &str) -> String {
        let Problem { line_number, fault, severity, .. } = self;
        let Excerpt { text, padding, caret_count } = Excerpt::around(self);
        let gutter = line_number.to_string().len() + 2;
        let label = match severity {
            Severity::Problem | Severity::Minor => "",
            Severity::Warning => "warning: ",
            Severity::Remark => "note: ",
        };
        let (name, message) = (plain::line(name), plain::line(&fault.message));
        let mut shown = format!("{name}:{line_number}:{}: {label}{message}\n", self.column());
        shown += &format!("{line_number:>gutter$} | {text}\n");
        shown += &format!("{:>gutter$} | {padding}{}\n", "", "^".repeat(caret_count));
        if let Some(hint) = &fault.hint {
            shown += &format!("{:>gutter$} = hint: {}\n", "", plain::line(hint));
        }
        shown
    }
}

/// The text that bytes are.
///
/// # Errors
///
/// A fault at the first that are not UTF-8.
pub fn text_of(bytes: &[u8]) -> Result<&str, Fault> {
    std::str::from_utf8(bytes).map_err(|error| {
        let start = error.valid_up_to();
        let end = error.error_len().map_or(bytes.len(), |length| start + length);
        Fault::new(start..end, "this is not UTF-8 text").with_hint("save the file in the encoding UTF-8")
    })
}

/// All problems of one file as text, at most [`MAX_SHOWN_PROBLEMS`] of them one by one. `unkept_count` is the
/// number of those that are not among `problems`.
pub fn render(name: &str, problems: &[Problem], unkept_count: usize) -> String {
    let shown = problems.iter().take(MAX_SHOWN_PROBLEMS);
    let mut text: String = shown.map(|problem| problem.in_file(name)).collect();
    let more = problems.len().saturating_sub(MAX_SHOWN_PROBLEMS) + unkept_count;
    if 0 < more {
        text.push_str(&format!("{}: and {more} more\n", plain::line(name)));
    }
    text
}

/// The part of a line that is shown, and what stands under it.
struct Excerpt {
    text: String,
    padding: String,
    caret_count: usize,
}

impl Excerpt {
    fn around(problem: &Problem) -> Excerpt {
        let Problem { line, fault, .. } = problem;
        let before: Vec<char> = displayed(&line[..fault.span.start]).collect();
        let marked: Vec<char> = displayed(&line[fault.span.clone()]).collect();
        let after: Vec<char> = displayed(&line[fault.span.end..]).collect();
        let all = before.len() + marked.len() + after.len();
        // Of a line that is cut a third of the room goes to what stands before; "…" marks each cut.
        let is_cut = MAX_EXCERPT_CHARS < all;
        let start = if is_cut { before.len().saturating_sub(MAX_EXCERPT_CHARS / 3) } else { 0 };
        let end = all.min(start + MAX_EXCERPT_CHARS);
        debug_assert!(before.len() <= end, "what is marked begins in what is shown");
        let shown = before.iter().chain(&marked).chain(&after).skip(start).take(end - start);
        let (left, right) = (if start == 0 { "" } else { "…" }, if end == all { "" } else { "…" });
        let text = format!("{left}{}{right}", shown.collect::<String>());
        let padding: String = before[start..].iter().map(blank).collect();
        let padding = format!("{}{padding}", if left.is_empty() { "" } else { " " });
        let caret_count = columns(&marked[..marked.len().min(end - before.len())]).max(1);
        Excerpt { text, padding, caret_count }
    }
}

/// What stands under a character that is not underlined: as many blanks as it takes columns.
fn blank(above: &char) -> &'static str {
    match above.width() {
        _ if *above == '\t' => "\t",
        Some(0) => "",
        Some(2) => "  ",
        _ => " ",
    }
}

/// How many columns characters take, a tab one.
fn columns(text: &[char]) -> usize {
    text.iter().map(|c| c.width().unwrap_or(1)).sum()
}

/// The characters of a text as they are shown, one for one: only plain ones reach the terminal.
fn displayed(bytes: &[u8]) -> impl Iterator<Item = char> {
    let shown = |c: char| match c {
        '\t' => '\t',
        // The Unicode block "Control Pictures" has one symbol for each of the ASCII controls, in their order.
        '\0'..='\x1F' => char::from_u32(0x2400 + u32::from(c)).expect("U+2400 to U+241F are characters"),
        '\x7F' => '\u{2421}',
        c if !is_plain(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    bytes.utf8_chunks().flat_map(move |chunk| {
        let invalid = (!chunk.invalid().is_empty()).then_some(char::REPLACEMENT_CHARACTER);
        chunk.valid().chars().map(shown).chain(invalid)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(line: &[u8], fault: Fault) -> String {
        Problem::new(Line { number: 7, bytes: line }, fault).in_file("f")
    }

    #[test]
    fn the_underline_covers_the_characters_meant() {
        let text = rendered(b"0 24 * * * x", Fault::new(2..4, "bad hour").with_hint("use 0"));
        assert_eq!(text, "f:7:3: bad hour\n  7 | 0 24 * * * x\n    |   ^^\n    = hint: use 0\n");
    }

    #[test]
    fn a_warning_is_labelled() {
        let warning = Problem::warning(Line { number: 1, bytes: b"x" }, Fault::new(0..1, "odd"));
        assert_eq!(warning.in_file("f"), "f:1:1: warning: odd\n  1 | x\n    | ^\n");
    }

    #[test]
    fn a_missing_thing_gets_one_caret_at_its_place() {
        let text = rendered(b"1 2", Fault::new(3..3, "expected more"));
        assert_eq!(text, "f:7:4: expected more\n  7 | 1 2\n    |    ^\n");
    }

    #[test]
    fn a_tab_counts_as_one_column_and_stays_a_tab_under_the_line() {
        let text = rendered(b"\t0\t24", Fault::new(3..5, "bad"));
        assert_eq!(text, "f:7:4: bad\n  7 | \t0\t24\n    | \t \t^^\n");
    }

    #[test]
    fn columns_count_characters_and_not_bytes() {
        let text = rendered("ä € x".as_bytes(), Fault::new(7..8, "bad"));
        assert_eq!(text, "f:7:5: bad\n  7 | ä € x\n    |     ^\n");
    }

    #[test]
    fn carets_are_as_wide_as_the_characters_above_them() {
        let text = rendered("日本 24 仕事 x".as_bytes(), Fault::new(10..16, "bad"));
        assert_eq!(text, "f:7:7: bad\n  7 | 日本 24 仕事 x\n    |         ^^^^\n");
    }

    #[test]
    fn control_characters_and_broken_bytes_are_one_symbol_each() {
        let text = rendered(b"\xFF\0\x1B[2Jx", Fault::new(6..7, "bad"));
        assert_eq!(text, "f:7:7: bad\n  7 | \u{FFFD}␀␛[2Jx\n    |       ^\n");
    }

    #[test]
    fn no_part_of_a_problem_moves_the_cursor() {
        let fault = Fault::new(0..1, "unknown zone `Eur\u{1e}ope`").with_hint("not \u{202e}this");
        let line = Line { number: 1, bytes: "x\u{2028}\u{202e}".as_bytes() };
        let text = Problem::new(line, fault).in_file("f\u{1b}[2J");
        assert!(text.lines().flat_map(str::chars).all(is_plain), "{text}");
        assert!(
            text.starts_with("f\\u{1b}[2J:1:1: unknown zone `Eur\\u{1e}ope`\n  1 | x\u{FFFD}\u{FFFD}\n"),
            "{text}"
        );
    }

    #[test]
    fn a_long_line_is_cut_around_the_problem() {
        let line = format!("{}BAD{}", "a".repeat(500), "b".repeat(500));
        let text = rendered(line.as_bytes(), Fault::new(500..503, "bad"));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "f:7:501: bad");
        let mark = lines[2].find('^').unwrap();
        let shown: Vec<char> = lines[1].chars().collect();
        assert_eq!(shown[mark..mark + 3].iter().collect::<String>(), "BAD");
        assert_eq!(lines[2].matches('^').count(), 3);
        assert!(lines[1].starts_with("  7 | …a") && lines[1].ends_with("b…"));
        assert_eq!(shown.len(), "  7 | ".len() + MAX_EXCERPT_CHARS + 2);
    }

    #[test]
    fn an_underline_is_cut_where_its_line_is() {
        let line = "x".repeat(1000);
        let text = rendered(line.as_bytes(), Fault::new(0..1000, "too long"));
        assert_eq!(text.matches('^').count(), MAX_EXCERPT_CHARS);
    }

    #[test]
    fn more_problems_than_can_be_shown_are_counted() {
        let problem = Problem::new(Line { number: 1, bytes: b"x" }, Fault::new(0..1, "bad"));
        let text = render("f", &vec![problem; MAX_SHOWN_PROBLEMS + 2], 3);
        assert_eq!(text.matches("f:1:1: bad").count(), MAX_SHOWN_PROBLEMS);
        assert!(text.ends_with("f: and 5 more\n"));
    }
}
