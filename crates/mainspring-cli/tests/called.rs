//! The tables "What X is called here" hold what there is: each command, option, key, word and route that
//! stands in a column of ours is one of the program.

use std::collections::BTreeSet;

use crate::program::mainspring;

const NEIGHBOURS: &str = include_str!("../../../docs/neighbours.md");
const KEYS: &str = include_str!("../../../docs/reference/keys.md");
const ROUTES: &str = include_str!("../../../docs/reference/routes.md");

/// The texts between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Words, numbers and names, without what stands around them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && !['_', '-'].contains(&c)).filter(|word| !word.is_empty())
}

/// Whether a command of ours takes the options of this line.
fn is_command(line: &str) -> bool {
    let mut parts = line.split(" -- ").next().unwrap().split(' ');
    let help = mainspring(&[parts.next().unwrap(), "--help"]);
    let takes = |part: &str| !part.starts_with("--") || help.stdout.contains(part);
    help.code == 0 && parts.all(takes)
}

#[test]
fn what_another_scheduler_has_is_called_here_as_the_tables_say() {
    let chapter = NEIGHBOURS.split("\n## What X is called here\n").nth(1).unwrap();
    let chapter = chapter.split("**Queues inside programs**").next().unwrap();
    let known: BTreeSet<&str> = KEYS.lines().flat_map(quoted).flat_map(words).collect();
    let mut count = 0;
    for row in chapter.lines().filter(|line| line.starts_with('|')) {
        let ours = row.split(" | ").last().unwrap();
        for text in quoted(ours) {
            let is_known = match text {
                _ if text.starts_with("mainspring ") => is_command(&text["mainspring ".len()..]),
                _ if text.starts_with("--") => is_command(&format!("at {text}")),
                _ if text.contains("api/") => {
                    let route = text.trim_start_matches("POST ");
                    ROUTES.lines().flat_map(quoted).any(|known| known.ends_with(route))
                }
                _ => words(text).all(|word| known.contains(word) || word == "x"),
            };
            assert!(is_known, "`{text}` in {row}");
            count += 1;
        }
    }
    assert!(50 < count, "{count}");
}
