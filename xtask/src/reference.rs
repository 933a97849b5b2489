//! The pages of `docs/reference`, made from tables in the code.
//!
//! | page | made from |
//! |---|---|
//! | `limits.md` | the rows of `met.rs`, and every constant with `MAX` in its name, outside of tests |
//! | `metrics.md` | `ROWS` of `mainspring-web/src/metric_rows.rs` |
//! | `log.md` | `FIELDS` of `mainspring-server/src/log/fields.rs` |
//! | `routes.md` | `ROUTES` of `mainspring-web/src/routes.rs`, and the bodies in `testdata/openapi.json` beside it |
//! | `keys.md` | the tables of keys in the code, and the rows of `key_rows.rs` for what these do not say |
//! | `codes.md` | the types of the codes in documents for programs |
//! | `commands.md` | the arguments in `mainspring-cli/src/cli` |
//! | `import.md` | the rows of keys in `mainspring-import` |
//! | `exit-codes.md` | the table in the header of `mainspring-server/src/exit.rs` |
//!
//! `cargo xtask reference` writes the pages, and the types of the page in a browser: see `types`. A test
//! compares them with the code.
//!
//! Cost: every file is read once. It reads the text of the code and builds no crate, so a table that a
//! function puts together at run time has no page.

mod code;
mod codes;
mod commands;
mod forms;
mod import;
mod key_rows;
mod keys;
mod met;
mod notifications;
mod routes;
mod tables;
mod types;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use crate::tidy::sources;

/// The folder of the pages, from the workspace's root.
const FOLDER: &str = "docs/reference";

/// The first line of each page below its title.
const MADE: &str = "Made from the code by `cargo xtask reference`; changes here are lost.";

/// What is written: paths from the workspace's root, and texts.
fn written(root: &Path) -> Vec<(String, String)> {
    let pages = pages(root).into_iter().map(|(name, text)| (format!("{FOLDER}/{name}"), text));
    pages.chain([(types::PLACE.to_owned(), types::text(root))]).collect()
}

/// The pages with their texts.
pub fn pages(root: &Path) -> Vec<(&'static str, String)> {
    let sources = sources(root);
    let page = |title: &str, text: String| format!("# {title}\n{MADE}\n\n{text}");
    vec![
        ("codes.md", page("Codes for programs", codes::text(&sources))),
        ("commands.md", page("Commands and their options", commands::text(&sources))),
        ("exit-codes.md", page("Exit codes", tables::exit_codes(&sources))),
        ("import.md", page("What the keys of other schedulers are called here", import::text(&sources))),
        ("keys.md", page("Keys of job files", keys::text(&sources))),
        ("limits.md", page("Limits", tables::limits(&sources))),
        ("log.md", page("Fields of the log", tables::log(&sources))),
        ("metrics.md", page("Metrics", tables::metrics(&sources))),
        ("routes.md", page("Routes of the HTTP API", routes::text(root, &sources))),
    ]
}

/// Writes the pages.
pub fn run(root: &Path) -> ExitCode {
    for (path, text) in written(root) {
        if let Err(error) = fs::write(root.join(&path), text) {
            eprintln!("{path}: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::workspace_root;

    #[test]
    fn the_pages_are_those_that_the_code_makes() {
        let root = workspace_root();
        for (name, text) in written(&root) {
            let path = root.join(&name);
            if std::env::var_os("UPDATE_EXPECTED").is_some() {
                fs::write(&path, &text).expect("the page can be written");
            }
            let kept = fs::read_to_string(&path).unwrap_or_default();
            let differs = kept.lines().zip(text.lines()).find(|(kept, made)| kept != made);
            assert!(kept == text, "{name}: {differs:#?}: `cargo xtask reference` writes it anew");
        }
    }

    // What follows looks at the committed pages, which are those that the code makes.

    fn page(name: &str) -> String {
        fs::read_to_string(workspace_root().join(FOLDER).join(name)).expect("the page is committed")
    }

    #[test]
    fn each_page_has_its_rows() {
        for (name, least) in [
            ("codes.md", 50),
            ("commands.md", 20),
            ("exit-codes.md", 10),
            ("import.md", 150),
            ("keys.md", 60),
            ("limits.md", 100),
            ("log.md", 15),
            ("metrics.md", 20),
            ("routes.md", 30),
        ] {
            let rows = page(name).lines().filter(|line| line.starts_with("| ")).count();
            assert!(least < rows, "{name} has {rows} rows");
        }
    }

    #[test]
    fn each_constant_that_a_row_names_has_a_value() {
        let page = page("limits.md");
        let (met, _) = page.split_once("The other tables").expect("the limits that people meet come first");
        assert!(!met.contains(".rs"), "{met}");
        for shown in ["| 10,000, of at most 4 MiB;", "| 16, 10 s |", "below 1,728: 6 for", "up to 5 min,"] {
            assert!(met.contains(shown), "{shown}: {met}");
        }
    }

    #[test]
    fn a_form_is_told_with_its_limits() {
        for expected in ["a whole number: -20 to 19", "one of these words: `leave`, `kill`"] {
            assert!(page("keys.md").contains(expected), "{expected}");
        }
    }
}
