//! Words of a value as systemd splits them: quotes, escapes, specifiers, variables.
//!
//! ```text
//! /bin/a "b c" \x41 ${HOME} $X %n ──▶ /bin/a | b c | A | (HOME) | (X, split) | backup.service
//! ```
//!
//! A word is pieces: literal text, and variables that systemd puts in when it starts the program.
//!
//! Cost: one pass.
//!
//! Does not know the specifiers that depend on the machine, such as `%H`: they are named.
//!
//! Source: "Command lines" of
//! [systemd.service(5)](https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html), and
//! "Specifiers" of
//! [systemd.unit(5)](https://www.freedesktop.org/software/systemd/man/latest/systemd.unit.html).

use std::iter::Peekable;
use std::str::Chars;

use crate::shell;

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Literal(String),
    /// `${NAME}`, which is put in as it is.
    Variable(String),
    /// `$NAME` as a word of its own: split at blanks.
    Split(String),
    /// `;` as a word of its own, with no escape and no quotes: a command ends before it.
    Semicolon,
}

/// A word as its pieces; none for the empty word.
pub(crate) type Word = Vec<Piece>;

/// What specifiers stand for.
#[derive(Clone, Debug)]
pub(crate) struct Specifiers<'u> {
    /// The unit's whole name.
    pub(crate) unit: &'u str,
    /// Its user, if it says one.
    pub(crate) user: Option<&'u str>,
}

/// Words, and the specifiers that are not known here.
#[derive(Debug, Default)]
pub(crate) struct Split {
    pub(crate) words: Vec<Word>,
    pub(crate) unknown: Vec<char>,
    /// A quote that is not closed.
    pub(crate) is_broken: bool,
}

/// Splits a value; variables are put in only where it is a command line.
pub(crate) fn split(text: &str, specifiers: &Specifiers<'_>, has_variables: HasVariables) -> Split {
    let mut out = Split::default();
    let mut chars = text.chars().peekable();
    let mut word: Option<Builder> = None;
    let mut quote = None;
    while let Some(c) = chars.next() {
        match (c, quote) {
            (';', None) if word.is_none() && chars.peek().is_none_or(|c| c.is_whitespace()) => {
                out.words.push(vec![Piece::Semicolon]);
            }
            (c, None) if c.is_whitespace() => out.words.extend(word.take().map(Builder::finish)),
            ('"' | '\'', None) => {
                word.get_or_insert_default().is_quoted = true;
                quote = Some(c);
            }
            (c, Some(open)) if c == open => quote = None,
            ('\\', _) => {
                let escaped = escape(&mut chars);
                word.get_or_insert_default().literal.push_str(&escaped);
            }
            ('%', _) => {
                let c = chars.next().unwrap_or('%');
                let word = word.get_or_insert_default();
                match expand(c, specifiers) {
                    Some(text) => word.literal.push_str(&text),
                    None if c == 'h' && has_variables == HasVariables::Yes => word.variable("HOME"),
                    None => {
                        out.unknown.push(c);
                        word.literal.extend(['%', c]);
                    }
                }
            }
            ('$', _) if has_variables == HasVariables::Yes => {
                let rest = name_behind(&chars);
                let taken = variable(&rest, word.get_or_insert_default());
                debug_assert!(taken <= rest.chars().count(), "what is taken was looked at");
                chars.by_ref().take(taken).for_each(drop);
            }
            (c, _) => word.get_or_insert_default().literal.push(c),
        }
    }
    out.is_broken = quote.is_some();
    out.words.extend(word.map(Builder::finish));
    out
}

/// The longest name of a variable that is looked for.
const MAX_VARIABLE_CHARS: usize = 256;

/// What stands behind a `$`, as far as it may be the name of a variable, and one character more.
fn name_behind(chars: &Peekable<Chars<'_>>) -> String {
    let mut text = String::new();
    for c in chars.clone().take(MAX_VARIABLE_CHARS) {
        text.push(c);
        let is_part = c.is_ascii_alphanumeric() || c == '_' || c == '{' && text.len() == 1;
        if !is_part {
            break;
        }
    }
    text
}

/// Whether variables are put into a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HasVariables {
    Yes,
    No,
}

#[derive(Default)]
struct Builder {
    pieces: Word,
    literal: String,
    /// A part of it stands in quotes.
    is_quoted: bool,
}

impl Builder {
    fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.literal.is_empty() && !self.is_quoted
    }

    fn variable(&mut self, name: &str) {
        self.end_literal();
        self.pieces.push(Piece::Variable(name.to_owned()));
    }

    fn end_literal(&mut self) {
        if !self.literal.is_empty() {
            self.pieces.push(Piece::Literal(std::mem::take(&mut self.literal)));
        }
    }

    fn finish(mut self) -> Word {
        self.end_literal();
        self.pieces
    }
}

/// Reads what follows a `$`; how many characters of it were taken.
fn variable(rest: &str, word: &mut Builder) -> usize {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if rest.starts_with('$') {
        word.literal.push('$');
        return 1;
    }
    if let Some((name, _)) = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'))
        && !name.is_empty()
        && name.chars().all(is_name)
    {
        word.variable(name);
        return name.len() + 2;
    }
    let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
    let is_word = rest[end..].chars().next().is_none_or(char::is_whitespace);
    if word.is_empty() && is_word && 0 < end {
        word.pieces.push(Piece::Split(rest[..end].to_owned()));
        return end;
    }
    // Within a word systemd leaves it as it is.
    word.literal.push('$');
    0
}

fn escape(chars: &mut Peekable<Chars<'_>>) -> String {
    let Some(c) = chars.next() else { return "\\".to_owned() };
    let mut number = |digits: usize, radix: u32, first: &str| {
        let mut text = first.to_owned();
        while text.len() < digits {
            match chars.next_if(|c| c.is_digit(radix)) {
                Some(c) => text.push(c),
                None => break,
            }
        }
        let code = u32::from_str_radix(&text, radix).ok();
        code.and_then(char::from_u32).filter(|c| *c != '\0').map_or(String::new(), String::from)
    };
    match c {
        'a' => "\u{7}".to_owned(),
        'b' => "\u{8}".to_owned(),
        'f' => "\u{c}".to_owned(),
        'n' => "\n".to_owned(),
        'r' => "\r".to_owned(),
        't' => "\t".to_owned(),
        'v' => "\u{b}".to_owned(),
        's' => " ".to_owned(),
        '\\' | '"' | '\'' | ';' => c.to_string(),
        'x' => number(2, 16, ""),
        'u' => number(4, 16, ""),
        'U' => number(8, 16, ""),
        '0'..='7' => number(3, 8, &c.to_string()),
        c => format!("\\{c}"),
    }
}

/// What a specifier stands for, with the folders of the system's manager.
fn expand(c: char, specifiers: &Specifiers<'_>) -> Option<String> {
    let unit = specifiers.unit;
    let bare = unit.rsplit_once('.').map_or(unit, |(name, _)| name);
    let (prefix, instance) = bare.split_once('@').unwrap_or((bare, ""));
    let last_part = prefix.rsplit_once('-').map_or(prefix, |(_, last)| last);
    Some(match c {
        '%' => "%".to_owned(),
        'n' => unit.to_owned(),
        'N' => bare.to_owned(),
        'p' => prefix.to_owned(),
        'P' => unescaped(prefix)?,
        'i' => instance.to_owned(),
        'I' => unescaped(instance)?,
        'j' => last_part.to_owned(),
        'J' => unescaped(last_part)?,
        'f' => {
            let path = unescaped(if instance.is_empty() { prefix } else { instance })?;
            format!("/{}", path.trim_start_matches('/'))
        }
        't' => "/run".to_owned(),
        'S' => "/var/lib".to_owned(),
        'C' => "/var/cache".to_owned(),
        'L' => "/var/log".to_owned(),
        'E' => "/etc".to_owned(),
        'T' => "/tmp".to_owned(),
        'V' => "/var/tmp".to_owned(),
        // Of the user whose manager it is: a unit that says a user is one of the system.
        'u' => specifiers.user.map(|_| "root".to_owned())?,
        'h' => specifiers.user.map(|_| "/root".to_owned())?,
        _ => return None,
    })
}

/// A part of a unit's name without its escapes: `-` is a slash, and `\xNN` is a byte. `None` if it has
/// others, or is no text then.
fn unescaped(part: &str) -> Option<String> {
    let mut pieces = part.split('\\');
    let mut bytes = pieces.next().unwrap_or_default().replace('-', "/").into_bytes();
    for piece in pieces {
        let digits = piece.strip_prefix('x')?.get(..2)?;
        let is_byte = digits.bytes().all(|digit| digit.is_ascii_hexdigit()) && digits != "00";
        bytes.push(u8::from_str_radix(digits, 16).ok().filter(|_| is_byte)?);
        bytes.extend(piece[1 + digits.len()..].replace('-', "/").into_bytes());
    }
    String::from_utf8(bytes).ok()
}

/// The text of a word without variables.
pub(crate) fn literal(word: &[Piece]) -> Option<String> {
    word.iter()
        .map(|piece| match piece {
            Piece::Literal(text) => Some(text.as_str()),
            Piece::Semicolon => Some(";"),
            _ => None,
        })
        .collect()
}

/// A word as a shell reads it.
pub(crate) fn of_shell(word: &[Piece]) -> String {
    match word {
        [] => "''".to_owned(),
        pieces => pieces
            .iter()
            .map(|piece| match piece {
                Piece::Literal(text) => shell::quoted(text),
                Piece::Variable(name) => format!("\"${{{name}}}\""),
                Piece::Split(name) => format!("${name}"),
                Piece::Semicolon => shell::quoted(";"),
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell_line(text: &str) -> String {
        let specifiers = Specifiers { unit: "backup@home.service", user: Some("mara") };
        let split = split(text, &specifiers, HasVariables::Yes);
        split.words.iter().map(|word| of_shell(word)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn quotes_escapes_specifiers_and_variables_are_read_as_systemd_reads_them() {
        for (text, expected) in [
            (r#"/bin/a "b c" 'd e'  f"#, "/bin/a 'b c' 'd e' f"),
            (r"/bin/a \x41 \s \\", r"/bin/a A ' ' '\'"),
            ("/bin/a %i %n %p %%", "/bin/a home backup@home.service backup %"),
            ("/bin/a ${X} --y=${X}z $X --y=$X $$X", "/bin/a \"${X}\" --y=\"${X}\"z $X '--y=$X' '$X'"),
            ("%h/bin/a %u", "/root/bin/a root"),
            (r#"/bin/a """#, "/bin/a ''"),
        ] {
            assert_eq!(shell_line(text), expected, "{text}");
        }
    }

    #[test]
    fn the_capital_specifiers_are_without_the_escapes_of_the_name() {
        for (unit, text, expected) in [
            ("btrfs-scrub@mnt-data.service", "/%I %i", Some("/mnt/data mnt-data")),
            ("a@-.service", "%I", Some("/")),
            (r"a@x\x2dy-z\xc3\xa9.service", "%I", Some("x-y/zé")),
            (
                r"sync-my\x2dbox@1.service",
                "%p %P %j %J",
                Some(r"sync-my\x2dbox sync/my-box my\x2dbox my-box"),
            ),
            ("a-b.service", "%J%I %f", Some("b /a/b")),
            ("a@mnt-data.service", "%f", Some("/mnt/data")),
            ("a@-.service", "%f", Some("/")),
            // Escapes that are none, and what is no text.
            (r"a@x\y.service", "%I", None),
            (r"a@\x2.service", "%I", None),
            (r"a@\x+2.service", "%I", None),
            (r"a@\x00.service", "%I", None),
            (r"a@\xff.service", "%I", None),
        ] {
            let found = split(text, &Specifiers { unit, user: None }, HasVariables::No);
            let words: Vec<String> = found.words.iter().filter_map(|word| literal(word)).collect();
            assert_eq!(
                found.unknown.is_empty().then(|| words.join(" ")).as_deref(),
                expected,
                "{unit} {text}"
            );
        }
    }

    #[test]
    fn what_is_not_known_is_named() {
        let specifiers = Specifiers { unit: "a.service", user: None };
        let found = split("%H %u \"x", &specifiers, HasVariables::No);
        assert_eq!((found.unknown, found.is_broken), (vec!['H', 'u'], true));
        let found = split("%h/bin/a", &specifiers, HasVariables::Yes);
        assert_eq!(of_shell(&found.words[0]), "\"${HOME}\"/bin/a");
    }
}
