//! Maps each sentence of the manual to the check that judges it.
//!
//! The sections on the promise and on the rules are here, word for word: the first half in `promise`, the
//! second in `changes`. The rows about planning in the tables of keys are here too. A sentence that
//! changes has to be read again, and so does its check. A check is a function of the checker, or a test of
//! `rules` where a history cannot tell.

use std::fs;
use std::path::{Path, PathBuf};

mod changes;
mod promise;

/// The sections of which every sentence has its row.
const SECTIONS: [(&str, &str); 2] =
    [("## The promise\n", "## Installing"), ("### Misfire\n", "## Notifications")];

/// Rows of the tables of keys and of notifications, by their first and their last cell, and the names of
/// their checks.
const ROWS: &[(&str, &[&str])] = &[
    (
        "| `at_boot` | once at each start of the machine; see [At a start](../manual.md#reboot) |",
        &["starting::check_boots"],
    ),
    (
        "| `at_server_start` | once at each start of the server, and at each takeover of a shared database |",
        &["starting::check_boots"],
    ),
    ("| `exclude` | what lies in a minute that they name is not due |", &["coverage::check"]),
    ("| `exclude_dates` | whole days on which nothing is due |", &["coverage::check"]),
    (
        "| `max_runs` | how many occurrences become runs, ever; skipped and missed occurrences and runs \
         by hand do not count |",
        &["coverage::watch_end"],
    ),
    (
        "| `end` | nothing is due at this time or after it |",
        &["rules::a_job_ends_after_its_last_run_or_at_its_end"],
    ),
    (
        "| `silent_after` | how long a job may go without a successful run before this is reported, also while \
         nothing runs; of a job that has never succeeded, from when it was defined |",
        &["notifications::check"],
    ),
    (
        "| `failed` | when a run has failed, timed out or been abandoned, and is not tried again; of failures in a \
         row the 1st, 2nd, 4th, 8th .. and the one that pauses |",
        &["notifications::check"],
    ),
    ("| `recovered` | when a run has succeeded after failures |", &["notifications::check"]),
    ("| `missed` | for each record of missed occurrences, with their count |", &["notifications::check"]),
    (
        "| `unserved` | when a run has waited five minutes for a server that can run it |",
        &["rules/hooks::a_run_that_waits_five_minutes_for_what_no_worker_has_is_told_once"],
    ),
    (
        "| `silent` | once, until a run succeeds again |",
        &[
            "notifications::check",
            "rules/hooks::silence_is_told_while_nothing_runs_and_not_again_by_the_next_server",
        ],
    ),
    ("| `jitter` | how much later than its nominal time a run may start |", &["coverage::check"]),
    (
        "| `after_batch` | a run starts when no one-shot job and no run of this batch waits or runs any more, however \
         they ended |",
        &[
            "slots::watch",
            "slots::watch_batch",
            "rules/batch::a_run_waits_for_the_last_member_whatever_its_end_and_for_its_retries",
        ],
    ),
];

/// Sentences of other sections that are about planning, and the names of their checks.
const ELSEWHERE: &[(&str, &[&str])] = &[
    (
        "Where jobs that came by `apply` give it others than a file does, the smaller limit holds, and each rate.",
        &[
            "rules/group::the_smallest_limit_holds_as_long_as_a_source_defines_it",
            "rules/rate::the_rates_of_several_sources_hold_all_as_long_as_a_source_says_them",
        ],
    ),
    (
        "A webhook's answer may put the next attempt off with `Retry-After`, in seconds or as a date.",
        &["rules/server::a_receiver_may_put_the_next_attempt_off"],
    ),
    (
        "It holds where the policy would try again earlier, for at most a day.",
        &["rules/server::a_receiver_may_put_the_next_attempt_off"],
    ),
    (
        "A run that the server killed is recorded as `abandoned`, with the time of its end.",
        &["attempts::check_retries", "starting::watch_dead_first"],
    ),
    ("Its retry policy decides what follows at the next start.", &["attempts::check_retries"]),
    (
        "A notification is a one-shot job, `notify:JOB:EVENT:1`.",
        &["notifications::check", "acknowledged::watch_once", "acknowledged::check_end"],
    ),
    (
        "It is on disk with the event, so it runs at least once, even if the server dies.",
        &["notifications::check", "rules/hooks::what_happens_is_told_in_the_batch_that_records_it"],
    ),
    (
        "At most four run at once, of another user two, after all other runs that wait.",
        &["rules/hooks::what_is_told_of_an_owner_takes_nothing_of_another"],
    ),
    ("While one waits, no second of its kind is made.", &["notifications::check"]),
    (
        "Of pings and mails of output 100 of a job may wait; the log names what is left out.",
        &["rules/hooks::what_waits_of_a_job_has_a_bound_and_of_what_is_for_people_one_waits"],
    ),
    (
        "A target gets at most ten of a user in a minute, then one that says that there are more.",
        &[
            "notifications::check",
            "rules/hooks::what_is_told_of_an_owner_takes_nothing_of_another",
            "rules/hooks::of_a_storm_ten_are_told_one_by_one_and_one_says_that_there_are_more",
        ],
    ),
    ("A pause of everything holds notifications too.", &["rest::check_pauses"]),
];

/// A row's first and last cell.
fn short(line: &str) -> Option<String> {
    let cells = line.strip_prefix("| ")?.strip_suffix(" |")?;
    let (first, last) = (cells.split(" | ").next()?, cells.rsplit(" | ").next()?);
    Some(format!("| {first} | {last} |"))
}

/// A text without its line ends.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The sentences of a paragraph, or the rows of a table.
fn sentences(paragraph: &str) -> Vec<String> {
    let lines: Vec<&str> = paragraph.lines().filter(|line| !line.starts_with('#')).collect();
    if lines.first().is_some_and(|line| line.starts_with('|')) {
        return lines[2..].iter().map(|line| (*line).to_owned()).collect();
    }
    let mut items: Vec<String> = Vec::new();
    for line in lines {
        match (line.strip_prefix("- "), items.last_mut()) {
            (Some(item), _) => items.push(item.to_owned()),
            (None, Some(last)) => *last = format!("{last} {line}"),
            (None, None) => items.push(line.to_owned()),
        }
    }
    items.iter().flat_map(|item| split(&joined(item))).collect()
}

/// Ends a sentence at a full stop before a capital, a backquote or a star.
fn split(text: &str) -> Vec<String> {
    let ends = text.match_indices(". ").map(|(index, _)| index + 1);
    let starts_next =
        |end: &usize| text[end + 1..].starts_with(|c: char| c.is_uppercase() || "`*".contains(c));
    let mut start = 0;
    let mut found = Vec::new();
    for end in ends.filter(starts_next).chain([text.len()]) {
        found.push(text[start..end].trim().to_owned());
        start = end;
    }
    found
}

/// Names the repository to the tests of a package, which is unpacked away from it.
const REPOSITORY: &str = "MAINSPRING_REPOSITORY";

/// A page of `docs`. `None` where only the package is there: it has none.
fn page(name: &str) -> Option<String> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let is_beside = beside.join("docs").exists() || beside.join("xtask").exists();
    let root = std::env::var_os(REPOSITORY).map(PathBuf::from).or(is_beside.then_some(beside))?;
    Some(text(&root.join("docs").join(name)))
}

fn read(path: &str) -> String {
    text(&Path::new(env!("CARGO_MANIFEST_DIR")).join(path))
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_sentence_of_the_manual_about_planning_names_its_check() {
    let (Some(manual), Some(keys)) = (page("manual.md"), page("reference/keys.md")) else {
        return println!("skipped: the manual is not in the package");
    };
    let mut rows = promise::SENTENCES.iter().chain(changes::SENTENCES);
    for (from, to) in SECTIONS {
        let start = manual.find(from).unwrap() + from.len();
        let section = &manual[start..start + manual[start..].find(to).unwrap()];
        for sentence in section.split("\n\n").flat_map(sentences) {
            let row = rows.next().map(|(sentence, _)| *sentence);
            assert_eq!(row, Some(sentence.as_str()), "each sentence has its row, in the order of the manual");
        }
    }
    assert_eq!(rows.next(), None);
    for (row, _) in ROWS {
        let is_there = manual.lines().chain(keys.lines()).any(|line| short(line).as_deref() == Some(*row));
        assert!(is_there, "no page has the row {row}");
    }
    for (sentence, _) in ELSEWHERE {
        assert!(joined(&manual).contains(sentence), "the manual does not say: {sentence}");
    }
}

#[test]
fn every_check_that_a_sentence_names_is_there() {
    let published = promise::SENTENCES.iter().chain(changes::SENTENCES);
    for (sentence, checks) in published.chain(ROWS).chain(ELSEWHERE) {
        for check in *checks {
            let (file, function) = check.split_once("::").unwrap();
            let path = match file.strip_prefix("rules") {
                Some(rest) => format!("tests/rules{rest}.rs"),
                None => format!("tests/simulation/checker/{file}.rs"),
            };
            let is_there = read(&path).contains(&format!("fn {function}("));
            assert!(is_there, "{check} is not there, and judges: {sentence}");
        }
    }
}
