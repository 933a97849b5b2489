//! The word by which a command is called: the program that does the work.
//!
//! | command | word |
//! |---|---|
//! | `LANG=C /usr/local/bin/backup.sh --all` | `backup.sh` |
//! | `[ -x /usr/sbin/x ] && nice -n 10 /usr/sbin/x` | `x` |
//! | `if [ -x /a/b ]; then /a/b update; fi` | `b` |
//! | `cd / && run-parts --report /etc/cron.daily` | `cron.daily` |
//! | `php --define a=b /usr/share/poller.php` | `poller.php` |
//!
//! Tests, `cd`, `sleep` and the like are skipped if another command follows. A word holds letters, digits and
//! `._+-`, begins with a letter or digit, and has at most [`MAX_WORD_CHARS`] characters.
//!
//! Cost: one pass over the command.
//!
//! Does not understand shell: it finds a readable word, and nothing depends on that word being the right one.

use std::iter::Peekable;
use std::str::Chars;

/// The longest word: a column of a terminal has room for it.
pub const MAX_WORD_CHARS: usize = 24;

/// What stands before a command and belongs to the shell.
const KEYWORDS: &[&str] =
    &["if", "then", "elif", "else", "while", "until", "do", "!", "{", "time", "exec", "command", "eval"];

/// What is not the work itself, if anything else is.
const BESIDE: &[&str] = &[
    "[", "[[", "test", "cd", "sleep", ":", "true", "false", "umask", "export", "set", "ulimit", "unset", ".",
    "source", "fi", "done", "esac", "exit", "which", "type", "hash", "trap", "for", "case", "}", "echo",
    "printf", "command",
];

/// Programs that start another, the letters of their options with a value, and how many words they take
/// themselves.
const WRAPPERS: &[(&str, &str, usize)] = &[
    ("nice", "n", 0),
    ("ionice", "cnpt", 0),
    ("sudo", "ugh", 0),
    ("env", "uCS", 0),
    ("timeout", "ks", 1),
    ("flock", "wE", 1),
    ("nohup", "", 0),
    ("setsid", "", 0),
    ("chronic", "", 0),
    ("cronic", "", 0),
    ("stdbuf", "ioe", 0),
    ("chrt", "", 1),
    ("taskset", "", 1),
    ("systemd-cat", "tp", 0),
];

/// Programs whose work is in a script.
const INTERPRETERS: &[&str] = &[
    "sh", "bash", "dash", "ash", "zsh", "ksh", "perl", "php", "python", "python2", "python3", "ruby", "node",
    "java", "lua",
];

/// The word for a line of shell. `None` if no word in it can be one.
pub fn of_shell(text: &str) -> Option<String> {
    let commands = commands(text);
    let mut beside = None;
    for words in &commands {
        match work(words) {
            CommandWord::Work(word) => return Some(word),
            CommandWord::Beside(word) => beside = beside.or(Some(word)),
            CommandWord::Nothing => {}
        }
    }
    beside
}

/// The word for a program and its arguments.
pub fn of_words(words: &[String]) -> Option<String> {
    match work(words) {
        CommandWord::Work(word) | CommandWord::Beside(word) => Some(word),
        CommandWord::Nothing => None,
    }
}

/// What was found in one simple command.
enum CommandWord {
    Work(String),
    Beside(String),
    Nothing,
}

fn work(words: &[String]) -> CommandWord {
    let words = unwrapped(words);
    let Some((program, arguments)) = words.split_first() else { return CommandWord::Nothing };
    let name = last_part(program);
    if BESIDE.contains(&name) {
        return cleaned(name).map_or(CommandWord::Nothing, CommandWord::Beside);
    }
    let better = match name {
        "run-parts" => arguments.iter().rfind(|word| !word.starts_with('-')).map(|word| last_part(word)),
        _ if INTERPRETERS.contains(&name) => match script(arguments) {
            Some(script) => Some(last_part(script)),
            None => return cleaned(name).map_or(CommandWord::Nothing, CommandWord::Beside),
        },
        _ => None,
    };
    let word = better.and_then(cleaned).or_else(|| cleaned(name));
    word.map_or(CommandWord::Nothing, CommandWord::Work)
}

/// The command without keywords, assignments and programs that only start another.
fn unwrapped(words: &[String]) -> &[String] {
    let mut rest = words;
    while let Some((first, after)) = rest.split_first() {
        let name = last_part(first);
        // `command -v x` asks whether there is an x.
        let is_question = after.first().is_some_and(|word| word.eq_ignore_ascii_case("-v"));
        if is_assignment(first) || (KEYWORDS.contains(&first.as_str()) && !is_question) {
            rest = after;
        } else if let Some((_, letters, own_count)) = WRAPPERS.iter().find(|(wrapper, ..)| *wrapper == name) {
            let inner = inner(after, letters, *own_count);
            if inner.is_empty() {
                return rest;
            }
            rest = inner;
        } else {
            return rest;
        }
    }
    rest
}

/// What stands behind a wrapper's own options and words.
fn inner<'w>(words: &'w [String], letters: &str, own_count: usize) -> &'w [String] {
    let mut index = 0;
    while let Some(option) = words.get(index).filter(|word| 1 < word.len() && word.starts_with('-')) {
        index += 1;
        let takes_value = option.len() == 2 && letters.contains(&option[1..]);
        index += usize::from(takes_value);
    }
    words.get(index + own_count..).unwrap_or_default()
}

/// The script among an interpreter's arguments. `None` if the script is one of them.
fn script(arguments: &[String]) -> Option<&str> {
    let is_text = |word: &String| matches!(word.as_str(), "-c" | "-e" | "-E" | "-r" | "-ne" | "-pe" | "-lc");
    if let Some(at) = arguments.iter().position(|word| word == "-m") {
        return arguments.get(at + 1).map(String::as_str);
    }
    if arguments.iter().take_while(|word| word.starts_with('-')).any(is_text) {
        return None;
    }
    let plain = || arguments.iter().map(String::as_str).filter(|word| !word.starts_with('-'));
    plain().find(|word| word.contains('/')).or_else(|| plain().find(|word| !word.contains('=')))
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The last part of a path.
fn last_part(word: &str) -> &str {
    word.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

/// A word that can be a name. `None` if nothing of it can.
fn cleaned(word: &str) -> Option<String> {
    let is_kept = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-');
    let word: String = word.chars().filter(is_kept).collect();
    let word = word.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let word: String = word.chars().take(MAX_WORD_CHARS).collect();
    (!word.is_empty()).then_some(word)
}

/// The simple commands of a line, each as its words without quotes.
fn commands(text: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word = String::new();
    let mut chars = text.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        match c {
            '\'' => word.extend(chars.by_ref().take_while(|&c| c != '\'')),
            '"' => quoted(&mut chars, &mut word),
            '\\' => word.extend(chars.next()),
            '`' => word.extend(chars.by_ref().take_while(|&c| c != '`').filter(|&c| c != ' ')),
            '$' if chars.peek() == Some(&'(') => skip_substitution(&mut chars),
            // `2>&1` and `&>file` do not end a command.
            '&' if matches!(before, '>' | '<') || chars.peek() == Some(&'>') => word.push(c),
            ';' | '&' | '|' | '(' | ')' | '\n' => {
                end_word(&mut commands, &mut word);
                commands.push(Vec::new());
            }
            c if c.is_whitespace() => end_word(&mut commands, &mut word),
            c => word.push(c),
        }
        before = c;
    }
    end_word(&mut commands, &mut word);
    commands
}

fn end_word(commands: &mut [Vec<String>], word: &mut String) {
    if !word.is_empty() {
        commands.last_mut().expect("there is always a command").push(std::mem::take(word));
    }
}

fn quoted(chars: &mut Peekable<Chars<'_>>, word: &mut String) {
    while let Some(c) = chars.next() {
        match c {
            '"' => return,
            '\\' => word.extend(chars.next()),
            c => word.push(c),
        }
    }
}

/// Passes over `$(..)`, whose commands are not the work.
fn skip_substitution(chars: &mut Peekable<Chars<'_>>) {
    let mut depth = 0_usize;
    for c in chars.by_ref() {
        match c {
            '(' => depth += 1,
            ')' if depth <= 1 => return,
            ')' => depth -= 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_is_the_program_that_does_the_work() {
        let cases = [
            ("LANG=C /usr/local/bin/backup.sh --all", "backup.sh"),
            ("echo hello", "echo"),
            ("[ -x /a ] && /a", "a"),
            ("(cd /; ls)", "ls"),
            ("./a=b", "ab"),
            ("\"/opt/my app/run\"", "run"),
            ("/opt/bin/", "bin"),
            ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaa"),
            ("cd / && run-parts --report /etc/cron.hourly", "cron.hourly"),
            ("test -x /usr/sbin/anacron || ( cd / && run-parts --report /etc/cron.daily )", "cron.daily"),
            (
                "if [ -x /a/checkarray ] && [ $(date +\\%d) -le 7 ]; then /a/checkarray --cron; fi",
                "checkarray",
            ),
            (
                "php --define suhosin.memory_limit=512M /usr/share/poller.php 2>&1 >/dev/null | tee",
                "poller.php",
            ),
            ("test -x /c -a \\! -d /run && perl -e 'sleep int(rand(43200))' && certbot -q renew", "certbot"),
            ("nice -n 19 ionice -c3 flock -n /tmp/lock timeout 5m /opt/sync --fast", "sync"),
            ("sudo -u www-data /srv/job", "job"),
            ("python3 -m http.server", "http.server"),
            ("perl -e 'print 1'", "perl"),
            ("sleep 5", "sleep"),
            ("VAR=1 exec /sbin/x >/dev/null 2>&1", "x"),
            ("_lead --x", "lead"),
            ("command -v debian-sa1 > /dev/null && debian-sa1 60 2", "debian-sa1"),
        ];
        for (command, expected) in cases {
            assert_eq!(of_shell(command).as_deref(), Some(expected), "{command}");
        }
        for nothing in ["A=1", "[ ]", "", "''", "$(date)", "日本"] {
            assert_eq!(of_shell(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn no_text_makes_it_panic_and_every_word_is_a_name() {
        let pieces =
            ["'", "\"", "\\", "$(", ")", "`", "&", ">", "&>", ";", "nice", "-n", "日", "a/", "=", " "];
        let mut state = 7_u64;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..8 {
                // Knuth's MMIX generator; its high bits are the good ones.
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text.push_str(pieces[(state >> 33) as usize % pieces.len()]);
            }
            if let Some(word) = of_shell(&text) {
                assert!(mainspring_job::JobName::new(&word).is_ok(), "{word} of {text}");
            }
        }
    }
}
