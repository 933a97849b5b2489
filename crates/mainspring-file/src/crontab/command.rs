//! The command of an entry: text for the shell and, after `%`, text for its standard input.
//!
//! | in the command | becomes | after the first `%` | becomes |
//! |---|---|---|---|
//! | `%` | the end of the command | `%` | a line end |
//! | `\%` | `%` | `\%` | `%` |
//! | `\\` | `\` | `\\` | `\\` |
//! | `\x` | `\x` | `\x` | `\x` |
//!
//! A final line end is added to the input, unless it is empty or has one. So `mail joe%Hello,%%Joe` sends
//! three lines.
//!
//! Cost: one pass and one copy.
//!
//! Does not interpret the command in any other way: the shell does.
//!
//! Source: crontab(5) of Debian's cron 3.0pl1. The page says nothing of `\\`; the program halves it before
//! the first `%` and not after it, and so does this file.

/// What a run gives to the shell.
///
/// # Example
///
/// ```
/// use mainspring_file::crontab::command::Command;
///
/// let command = Command::parse(r"date +\%F; cat%one%two");
/// assert_eq!(command.shell_text, "date +%F; cat");
/// assert_eq!(command.input.as_deref(), Some("one\ntwo\n"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The argument of `$SHELL -c`.
    pub shell_text: String,
    /// Standard input; `None`: there was no `%`, and standard input is empty.
    pub input: Option<String>,
}

impl Command {
    /// Reads the command part of an entry. Any text is a command; an empty `shell_text` is for the caller to
    /// refuse.
    pub fn parse(text: &str) -> Command {
        let (shell, input) = match input_mark(text) {
            Some(at) => (&text[..at], Some(parse_input(&text[at + 1..]))),
            None => (text, None),
        };
        Command { shell_text: shell.replace(r"\\", r"\").replace(r"\%", "%"), input }
    }
}

/// Where the `%` stands that ends a command: the first before which no backslash is left to take it.
pub fn input_mark(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let is_mark = byte == b'%' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_mark
    })
}

fn parse_input(text: &str) -> String {
    let mut input = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        match c {
            '%' if input.ends_with('\\') => {
                input.pop();
                input.push('%');
            }
            '%' => input.push('\n'),
            c => input.push(c),
        }
    }
    if !input.is_empty() && !input.ends_with('\n') {
        input.push('\n');
    }
    input
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each text with the command and the input that Debian's cron 3.0pl1-162 makes of it.
    const TEXTS: &[(&str, &str, Option<&str>)] = &[
        ("cat", "cat", None),
        ("cat%", "cat", Some("")),
        ("cat%%", "cat", Some("\n")),
        ("cat%a%", "cat", Some("a\n")),
        (r"cat%one%two\%x%thr\ee", "cat", Some("one\ntwo%x\nthr\\ee\n")),
        (r"cat%a\", "cat", Some("a\\\n")),
        (r"cat%a\\%b\\\%c", "cat", Some("a\\%b\\\\%c\n")),
        (r"echo 'a\%b \\c \d \\\%'", r"echo 'a%b \c \d \%'", None),
        (r"a\\%b", r"a\", Some("b\n")),
        (r"echo \", r"echo \", None),
        ("%x", "", Some("x\n")),
        ("echo ä%ö", "echo ä", Some("ö\n")),
    ];

    #[test]
    fn percent_signs_and_backslashes_are_read_as_debians_cron_reads_them() {
        for (text, shell_text, input) in TEXTS {
            let command = Command::parse(text);
            assert_eq!(command.shell_text, *shell_text, "{text}");
            assert_eq!(command.input.as_deref(), *input, "{text}");
        }
    }
}
