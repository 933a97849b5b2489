//! Command lines and what they print: the files of testdata/cli.
//!
//! ```text
//! # A comment.
//! $ mainspring next '0 9 * * *' -n 1 --from 2026-01-01T00:00:00Z      a command line, with quotes as a shell has them
//! > 2026-01-01T09:00:00+00:00                                         its standard output
//! ! a message                                                         its standard error
//! = 0                                                                 its exit code
//! ```
//!
//! Each command runs in the root of the repository with TZ=UTC. To write what is printed into the files after
//! a change of messages, run the tests with UPDATE_EXPECTED=1 and read the difference.

use std::fs;

use crate::program::{mainspring, root};

#[test]
fn every_command_line_prints_what_its_file_says() {
    let directory = root().join("testdata/cli");
    let mut names: Vec<String> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".txt"))
        .collect();
    names.sort_unstable();
    assert!(5 <= names.len(), "the files of testdata/cli are there");
    for name in names {
        let path = directory.join(&name);
        let expected = fs::read_to_string(&path).unwrap();
        let found = replayed(&expected);
        if std::env::var_os("UPDATE_EXPECTED").is_some() {
            fs::write(&path, &found).unwrap();
            continue;
        }
        let differing = expected.lines().zip(found.lines()).position(|(expected, found)| expected != found);
        assert!(
            expected == found,
            "{name} differs from line {}; found:\n{found}",
            differing.map_or(0, |at| at + 1)
        );
    }
}

/// The text of a file with what its commands print now.
fn replayed(text: &str) -> String {
    let mut found = String::new();
    for line in text.lines() {
        match line.as_bytes().first() {
            Some(b'>' | b'!' | b'=') => {}
            Some(b'$') => found.push_str(&run(line)),
            _ => found.push_str(&format!("{line}\n")),
        }
    }
    found
}

fn run(line: &str) -> String {
    let words = words(&line[1..]);
    let args: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_eq!(args.first(), Some(&"mainspring"), "{line}");
    let ended = mainspring(&args[1..]);
    let marked = |mark: &str, text: &str| -> String {
        text.lines().map(|line| format!("{mark} {line}").trim_end().to_owned() + "\n").collect()
    };
    format!("{line}\n{}{}= {}\n", marked(">", &ended.stdout), marked("!", &ended.stderr), ended.code)
}

/// Splits a command line at blanks outside of single quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut is_quoted = false;
    for c in line.chars() {
        match c {
            '\'' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            ' ' if !is_quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    assert!(!is_quoted, "a quote is closed: {line}");
    words.extend(word);
    words
}
