//! The command lines of a service as what a job runs.
//!
//! | there | here |
//! |---|---|
//! | one line of plain words | `run = [..]` |
//! | variables, `-`, several lines | `shell = "a && { b \|\| true; }"` |
//!
//! Cost: one pass.
//!
//! Does not look for the programs.
//!
//! Source: the table of prefixes in
//! [systemd.service(5)](https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html).

use super::words::{HasVariables, Piece, Specifiers, Split, Word, literal, of_shell, split};
use crate::finding::{Findings, PlacedText};

/// One command.
#[derive(Debug, Default)]
struct Command {
    words: Vec<Word>,
    failure: Failure,
    /// A shell reads the whole.
    is_shell: bool,
}

/// What becomes of the others when a command fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Failure {
    /// They do not run, and the run has failed.
    #[default]
    Counts,
    /// They run.
    Forgiven,
    /// They do not run, and the run has succeeded.
    EndsWell,
}

/// What a job runs: a list of words, or a line for a shell.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Run {
    Words(Vec<String>),
    Shell(String),
}

/// The commands of these lines, one after the other, if the conditions hold.
pub(super) fn run_of(
    conditions: &[PlacedText],
    lines: &[PlacedText],
    specifiers: &Specifiers<'_>,
    findings: &mut Findings,
) -> Option<Run> {
    let mut all = Vec::new();
    for condition in conditions {
        let of_line = commands(condition, specifiers, findings);
        all.extend(of_line.into_iter().map(|command| Command { failure: Failure::EndsWell, ..command }));
    }
    for line in lines {
        all.extend(commands(line, specifiers, findings));
    }
    match all.as_slice() {
        [] => None,
        [one] => match one.literals() {
            Some(words) if one.failure == Failure::Counts && !one.is_shell => Some(Run::Words(words)),
            _ => Some(Run::Shell(one.alone())),
        },
        several => {
            Some(Run::Shell(several.iter().map(Command::among_others).collect::<Vec<_>>().join(" && ")))
        }
    }
}

impl Command {
    /// The words, unless one has a variable.
    fn literals(&self) -> Option<Vec<String>> {
        self.words.iter().map(|word| literal(word)).collect()
    }

    fn line(&self) -> String {
        let text = |word: &Word| match self.is_shell {
            true => literal(word).unwrap_or_default(),
            false => of_shell(word),
        };
        self.words.iter().map(text).collect::<Vec<_>>().join(" ")
    }

    /// The command for a shell that has no other.
    fn alone(&self) -> String {
        match self.failure {
            Failure::Counts => self.line(),
            Failure::Forgiven => format!("{} || true", self.line()),
            Failure::EndsWell => format!("{} || exit 0", self.line()),
        }
    }

    /// The command between `&&`.
    fn among_others(&self) -> String {
        match self.failure {
            Failure::Counts => self.line(),
            _ => format!("{{ {}; }}", self.alone()),
        }
    }
}

/// What stands before the program, and is no part of its path.
fn prefix(text: &str) -> &str {
    &text[..text.len() - text.trim_start_matches(['-', '@', ':', '+', '!', '|']).len()]
}

fn commands(line: &PlacedText, specifiers: &Specifiers<'_>, findings: &mut Findings) -> Vec<Command> {
    let has_variables = if prefix(&line.text).contains(':') { HasVariables::No } else { HasVariables::Yes };
    let Split { words, unknown, is_broken } = split(&line.text, specifiers, has_variables);
    if is_broken {
        findings.problem(&line.place, "a quote is not closed");
        return Vec::new();
    }
    for specifier in unknown {
        let message = format!("what `%{specifier}` stands for is not known here");
        findings.warn(&line.place, message, "write it out in the job file");
    }
    let mut all = Vec::new();
    for part in words.split(|word| word == &[Piece::Semicolon]).filter(|part| !part.is_empty()) {
        let mut words = part.to_vec();
        // The first word of each command has its own.
        let prefix = match words[0].first_mut() {
            Some(Piece::Literal(text)) => {
                let length = prefix(text).len();
                text.drain(..length).collect()
            }
            _ => String::new(),
        };
        if prefix.contains(['+', '!']) {
            let message = "the prefix `+` or `!` has no equal here: the command runs as the job's user";
            let todo = "give the job the user that it needs, or take the command out of it";
            findings.warn(&line.place, message, todo);
        }
        if prefix.contains('@') && 1 < words.len() {
            let name = words.remove(1);
            let message = format!("the program is told its own name, and not {}", of_shell(&name));
            findings.warn(&line.place, message, "in a shell: exec -a NAME PROGRAM");
        }
        let failure = if prefix.contains('-') { Failure::Forgiven } else { Failure::Counts };
        all.push(Command { words, failure, is_shell: prefix.contains('|') });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(lines: &[&str]) -> Option<Run> {
        let given: Vec<PlacedText> = lines
            .iter()
            .map(|text| PlacedText { text: (*text).to_owned(), ..PlacedText::default() })
            .collect();
        run_of(&[], &given, &Specifiers { unit: "a.service", user: None }, &mut Findings::default())
    }

    #[test]
    fn plain_words_are_a_list_and_all_else_is_for_a_shell() {
        let shell = |text: &str| Some(Run::Shell(text.to_owned()));
        assert_eq!(run(&["/bin/a 'b c'"]), Some(Run::Words(vec!["/bin/a".to_owned(), "b c".to_owned()])));
        assert_eq!(run(&["/bin/a $X"]), shell("/bin/a $X"));
        assert_eq!(run(&[":/bin/a $X"]), Some(Run::Words(vec!["/bin/a".to_owned(), "$X".to_owned()])));
        assert_eq!(run(&["-/bin/a"]), shell("/bin/a || true"));
        assert_eq!(run(&["-/bin/a", "/bin/b"]), shell("{ /bin/a || true; } && /bin/b"));
        assert_eq!(run(&["/bin/a ; /bin/b"]), shell("/bin/a && /bin/b"));
        assert_eq!(run(&["@/bin/a b c"]), Some(Run::Words(vec!["/bin/a".to_owned(), "c".to_owned()])));
        assert_eq!(run(&[]), None);
    }

    #[test]
    fn only_a_bare_semicolon_ends_a_command_and_each_command_has_its_own_prefix() {
        let words = |text: &str| Some(Run::Words(text.split(' ').map(str::to_owned).collect()));
        for text in [r"/bin/find -exec rm {} \;", r#"/bin/find -exec rm {} ";""#, "/bin/find -exec rm {} ';'"]
        {
            assert_eq!(run(&[text]), words("/bin/find -exec rm {} ;"), "{text}");
        }
        let shell = |text: &str| Some(Run::Shell(text.to_owned()));
        assert_eq!(run(&[r"/bin/a \; ; -/bin/b"]), shell("/bin/a ';' && { /bin/b || true; }"));
        assert_eq!(run(&["-/bin/a ; /bin/b;"]), shell("{ /bin/a || true; } && '/bin/b;'"));
    }
}
