//! Classic mistakes in crontabs: lines that are valid, and do not do what they read like.
//!
//! | line | reads like | is |
//! |---|---|---|
//! | `PATH=$PATH:/opt/bin` | a longer path | the text `$PATH:/opt/bin` |
//! | `FOO=bar # comment` | `bar` | the text `bar # comment` |
//! | `HOME=~backup` | a home directory | the text `~backup` |
//! | `MAILTO=Ops <a@b>` | a mail to `a@b` | no address, so that no mail is sent |
//! | `HOME=srv`, `SHELL=""` | a folder, the usual shell | no place where a run can start, no program |
//! | `RANDOM_DELAY=5` | a delay, as cronie has it | a variable like any other |
//! | `cmd >/dev/null 2&1` | errors go along | the command with the argument `2` in the background, then `1` |
//! | `[[ -f x ]] && cmd` | bash | a command `[[` that /bin/sh does not have |
//! | `-q cmd` | a quiet entry, as cronie and BSD have it | a command `-q` |
//!
//! A new mistake is a row of one of the two tables below.
//!
//! Cost: a few searches in each line.
//!
//! Does not parse the language of the shell, but for quotes: what is of bash is not looked for inside of
//! them, because another shell may get it. All of these are warnings.

use std::ops::Range;

use crate::crontab::environment::Setting;
use crate::hook::addresses_of;
use crate::problem::Fault;

/// A mistake in a setting: its place in the line, message and hint are made from what is found.
struct OfSetting {
    /// The place of the mistake within the value, if it is there.
    finds: fn(&Setting) -> Option<Range<usize>>,
    message: &'static str,
    hint: &'static str,
}

const OF_SETTINGS: &[OfSetting] = &[
    OfSetting {
        finds: |setting| {
            let (at, _) = setting.value.match_indices('$').find(|(at, _)| {
                setting.value[at + 1..].starts_with(|c: char| c == '{' || c == '_' || c.is_ascii_alphabetic())
            })?;
            Some(at..at + 1)
        },
        message: "a crontab expands no variable: the value has the `$` in it",
        hint: "write the whole value, or set it in the command",
    },
    OfSetting {
        finds: |setting| {
            let at = setting.value.find(" #").or_else(|| setting.value.find("\t#"))?;
            Some(at + 1..setting.value.len())
        },
        message: "no comment begins here: the text is part of the value",
        hint: "a comment has a line of its own",
    },
    OfSetting {
        finds: |setting| setting.value.starts_with('~').then_some(0..1),
        message: "a crontab expands no `~`: the value has it",
        hint: "write the whole path",
    },
    OfSetting {
        finds: |setting| {
            let is_wrong = setting.name == "MAILTO" && !setting.value.is_empty();
            (is_wrong && addresses_of(&setting.value).is_err()).then_some(0..setting.value.len())
        },
        message: "this is no address, and no mail is sent",
        hint: "write a@example.com,b@example.com, without names and blanks",
    },
    OfSetting {
        finds: |setting| {
            let is_wrong = setting.name == "HOME" && !setting.value.starts_with(['/', '~']);
            is_wrong.then_some(0..setting.value.len())
        },
        message: "the commands below start in this folder, and it is no whole path",
        hint: "write the whole path, or leave the setting out for the home of the user",
    },
    OfSetting {
        finds: |setting| (setting.name == "SHELL" && setting.value.is_empty()).then_some(0..0),
        message: "this runs the commands below, and it is no program",
        hint: "leave the setting out for /bin/sh",
    },
    OfSetting {
        finds: |setting| {
            let others = ["RANDOM_DELAY", "PERSISTENT", "DELAY"];
            others.contains(&setting.name.as_str()).then_some(0..setting.value.len())
        },
        message: "other crons give this setting a meaning; here it is only a variable of the commands below",
        hint: "for a delay see jitter, and for what was missed misfire, in `# mainspring:` above an entry",
    },
];

/// A mistake in a command.
struct OfCommand {
    finds: fn(&str) -> Option<Range<usize>>,
    /// Whether a shell that is not /bin/sh may understand it.
    is_of_sh: bool,
    message: &'static str,
    hint: &'static str,
}

const OF_COMMANDS: &[OfCommand] = &[
    OfCommand {
        finds: |command| {
            let (at, found) = command.match_indices("2&1").find(|(at, found)| {
                let (before, after) = (&command[..*at], &command[at + found.len()..]);
                before.ends_with([' ', '\t']) && !after.starts_with(|c: char| c.is_ascii_alphanumeric())
            })?;
            Some(at..at + found.len())
        },
        is_of_sh: false,
        message: "`2&1` ends the command with the argument 2, in the background, and begins a command `1`",
        hint: "errors go where the output goes with 2>&1",
    },
    OfCommand {
        finds: |command| {
            let option = ["-n ", "-q ", "-s "].into_iter().find(|option| command.starts_with(option))?;
            Some(0..option.len() - 1)
        },
        is_of_sh: false,
        message: "other crons read an option here; in this one it is the first word of the command",
        hint: "leave it out: who gets what an entry writes is said by MAILTO",
    },
    OfCommand {
        finds: |command| word(command, "[["),
        is_of_sh: true,
        message: "`[[` is of bash, and /bin/sh runs the command",
        hint: "SHELL=/bin/bash above the entry, or `[`",
    },
    OfCommand {
        finds: |command| word(command, "source"),
        is_of_sh: true,
        message: "`source` is of bash, and /bin/sh runs the command",
        hint: "SHELL=/bin/bash above the entry, or `.`",
    },
    OfCommand {
        finds: |command| command.find("<(").map(|at| at..at + 2),
        is_of_sh: true,
        message: "`<(` is of bash, and /bin/sh runs the command",
        hint: "SHELL=/bin/bash above the entry",
    },
    OfCommand {
        finds: |command| {
            let at = command.find("&>")?;
            (!command[..at].ends_with('>')).then_some(at..at + 2)
        },
        is_of_sh: true,
        message: "`&>` is of bash; /bin/sh runs the command in the background and then empties the file",
        hint: "SHELL=/bin/bash above the entry, or >FILE 2>&1",
    },
];

/// What is doubtful about a setting that was read from `text`.
pub fn of_setting(setting: &Setting, text: &str) -> Vec<Fault> {
    debug_assert!(text.contains(&setting.value), "the value stands in the line as it is");
    let start = text.rfind(setting.value.as_str()).unwrap_or(0);
    let fault = |mistake: &OfSetting| {
        let found = (mistake.finds)(setting)?;
        Some(Fault::new(start + found.start..start + found.end, mistake.message).with_hint(mistake.hint))
    };
    OF_SETTINGS.iter().filter_map(fault).collect()
}

/// What is doubtful about a command that `shell` runs; places are bytes of the command.
pub fn of_command(command: &str, shell: Option<&str>) -> Vec<Fault> {
    let is_sh = shell.is_none_or(|shell| shell.rsplit('/').next() == Some("sh"));
    let bare = without_quoted(command);
    let fault = |mistake: &OfCommand| {
        let text = if mistake.is_of_sh { &bare } else { command };
        let found = (mistake.finds)(text).filter(|_| is_sh || !mistake.is_of_sh)?;
        Some(Fault::new(found, mistake.message).with_hint(mistake.hint))
    };
    OF_COMMANDS.iter().filter_map(fault).collect()
}

/// A command with a filler for what is quoted, of the same length.
fn without_quoted(command: &str) -> String {
    let (mut quote, mut is_escaped) = (None, false);
    let mut bare = String::with_capacity(command.len());
    for c in command.chars() {
        let is_quoted = is_escaped || quote.is_some();
        match (quote, c) {
            _ if is_escaped => is_escaped = false,
            (None | Some('"'), '\\') => is_escaped = true,
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        let filler = || "_".repeat(c.len_utf8());
        bare += &if is_quoted { filler() } else { c.to_string() };
    }
    debug_assert_eq!(bare.len(), command.len(), "places are those of the command");
    bare
}

/// Where a word stands that begins a command of the shell.
fn word(command: &str, word: &str) -> Option<Range<usize>> {
    let is_first = |before: &str| {
        let before = before.trim_end_matches([' ', '\t']);
        let ends_other = before.is_empty() || before.ends_with([';', '&', '|', '(', '{', '!']);
        ends_other || ["if", "then", "else", "do", "while", "until"].iter().any(|key| before.ends_with(key))
    };
    let (at, _) = command.match_indices(word).find(|(at, found)| {
        is_first(&command[..*at]) && command[at + found.len()..].starts_with([' ', '\t'])
    })?;
    Some(at..at + word.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Vec<String> {
        let setting = Setting::parse(text).expect("it is a setting");
        of_setting(&setting, text).into_iter().map(|fault| text[fault.span].to_owned()).collect()
    }

    #[test]
    fn a_setting_that_reads_like_something_else_is_pointed_at() {
        assert_eq!(settings("PATH=$PATH:/opt/bin"), ["$"]);
        assert_eq!(settings("PATH=/a:${HOME}/bin"), ["$"]);
        assert_eq!(settings("FOO = bar # comment"), ["# comment"]);
        assert_eq!(settings("HOME=~backup"), ["~"]);
        assert_eq!(settings("RANDOM_DELAY=45"), ["45"]);
        assert_eq!(settings("MAILTO=a@x.de b@x.de"), ["a@x.de b@x.de"]);
        assert_eq!(settings("MAILTO=Ops <a@x.de>"), ["Ops <a@x.de>"]);
        assert_eq!(settings("HOME=plain"), ["plain"]);
        for empty in ["HOME=\"\"", "SHELL=\"\""] {
            assert_eq!(settings(empty), [""], "{empty}");
        }
        for right in ["MAILTO=a@x.de, b@x.de", "HOME=/srv", "SHELL=/bin/bash"] {
            assert_eq!(settings(right), [""; 0], "{right}");
        }
        for right in ["PATH=/usr/bin:/bin", "PRICE=5$", "COLOUR=#fff", "A=b#c", "MAILTO=\"\"", "PAT=a$|b"] {
            assert_eq!(settings(right), [""; 0], "{right}");
        }
    }

    #[test]
    fn a_command_that_reads_like_something_else_is_pointed_at() {
        let found = |command: &'static str, shell| -> Vec<&str> {
            of_command(command, shell).into_iter().map(|fault| &command[fault.span]).collect()
        };
        for (command, place) in [
            ("backup >/dev/null 2&1", "2&1"),
            ("-q backup", "-q"),
            ("[[ -f /x ]] && backup", "[["),
            ("cd /srv; source env.sh; backup", "source"),
            ("if [[ -f /x ]]; then backup; fi", "[["),
            ("diff <(a) <(b)", "<("),
            ("backup &>/dev/null", "&>"),
            ("bash -c 'a &> b' \\' &>c", "&>"),
        ] {
            assert_eq!(found(command, None), [place], "{command}");
            let is_for_each = ["2&1", "-q"].contains(&place);
            assert_eq!(found(command, Some("/bin/bash")).is_empty(), !is_for_each, "{command}");
        }
        for right in [
            "bash -c '[[ -f x ]] && y &> z'",
            "bash -c \"diff <(a) <(b)\"",
            "backup >/dev/null 2>&1",
            "a 12&1",
            "[ -f /x ] && a",
            "open-source x",
            "echo source",
            "a >>&b",
        ] {
            assert_eq!(found(right, None), [""; 0], "{right}");
        }
    }
}
