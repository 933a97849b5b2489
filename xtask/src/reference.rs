//! The pages of `docs/reference`: texts in which tables of the code are put.
//!
//! ```text
//! xtask/pages/limits.txt ──▶ docs/reference/limits.md
//!
//! @limits                                        the rows of a table of the code: see `rows`
//! {mainspring-file/src/jobfile.rs MAX_JOBS}      the value of a constant: see `constants`
//! ```
//!
//! `cargo xtask reference` writes the pages, and the types of the page in a browser: see `types`. A test
//! compares them with the code.
//!
//! Cost: every file is read once. It reads the text of the code and builds no crate, so a table that a
//! function puts together at run time has no page.

mod code;
mod codes;
mod commands;
mod constants;
mod forms;
mod import;
mod keys;
mod notifications;
mod routes;
mod tables;
mod types;

use std::fs;
use std::path::Path;

use crate::tidy::{Source, sources};

/// The folder of the pages, from the workspace's root.
const FOLDER: &str = "docs/reference";

/// The folder of their texts.
const TEXTS: &str = "xtask/pages";

/// The first line of each page below its title.
const MADE: &str = "Made from the code by `cargo xtask reference`; changes here are lost.\n\n";

/// What is written: paths from the workspace's root, and texts.
fn written(root: &Path) -> Vec<(String, String)> {
    let sources = sources(root);
    let texts = fs::read_dir(root.join(TEXTS)).expect("the texts of the pages are there").flatten();
    let page = |entry: fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().replace(".txt", ".md");
        let text = fs::read_to_string(entry.path()).expect("a page is made of a text");
        (format!("{FOLDER}/{name}"), page(root, &sources, &text))
    };
    texts.map(page).chain([(types::PLACE.to_owned(), types::text(root))]).collect()
}

/// The page of a text, whose first line is its title.
fn page(root: &Path, sources: &[Source], text: &str) -> String {
    let mut lines = text.lines().peekable();
    let mut page = lines.next().map(|title| format!("{title}\n{MADE}")).unwrap_or_default();
    while let Some(line) = lines.next() {
        let Some(table) = line.strip_prefix('@') else {
            page.push_str(&constants::fill(sources, line));
            page.push('\n');
            continue;
        };
        let below: Vec<&str> = std::iter::from_fn(|| lines.next_if(|line| line.starts_with("| "))).collect();
        let below: Vec<String> = below.into_iter().map(|line| constants::fill(sources, line)).collect();
        let made = rows(root, sources, table, &below);
        assert!(made.contains("| "), "{line}: there is no such table, or it has no rows");
        page.push_str(&made);
    }
    page
}

/// The rows that stand at the place of a line `@table`, and of those that the page says below it.
fn rows(root: &Path, sources: &[Source], table: &str, below: &[String]) -> String {
    let words: Vec<&str> = table.split(' ').collect();
    let made = match words[..] {
        ["keys", ref of @ ..] => return keys::rows(sources, of, below),
        ["arms", path] => codes::arms(sources, path),
        ["commands"] => commands::text(sources),
        ["facts"] => notifications::facts(sources),
        ["header", path] => tables::header(sources, path),
        ["import", path, name] => import::rows(sources, path, name),
        ["limits"] => tables::limits(sources),
        ["log"] => tables::log(sources),
        ["reasons"] => codes::reasons(sources),
        ["receivers"] => notifications::receivers(sources),
        ["rows", path] => tables::rows_of_text(root, path),
        ["routes"] => routes::rows(root, sources),
        ["services"] => notifications::services(sources),
        ["states", path, name] => codes::states(sources, path, name),
        _ => String::new(),
    };
    made + &below.iter().map(|line| format!("{line}\n")).collect::<String>()
}

/// Writes the pages.
///
/// # Errors
/// One cannot be written: the sentence says which, and why.
pub fn run(root: &Path) -> Result<(), String> {
    let write = |(path, text): (String, String)| {
        fs::write(root.join(&path), text).map_err(|error| format!("{path}: {error}"))
    };
    written(root).into_iter().try_for_each(write)
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
            let committed = fs::read_to_string(&path).unwrap_or_default();
            let differs = committed.lines().zip(text.lines()).find(|(committed, made)| committed != made);
            assert!(committed == text, "{name}: {differs:#?}: `cargo xtask reference` writes it again");
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
    fn a_page_that_says_that_it_is_made_has_its_text() {
        let root = workspace_root();
        let made: Vec<String> = written(&root).into_iter().map(|(path, _)| path).collect();
        for entry in fs::read_dir(root.join(FOLDER)).expect("the pages are there").flatten() {
            let path = format!("{FOLDER}/{}", entry.file_name().to_string_lossy());
            let says_so = fs::read_to_string(root.join(&path)).expect("a page is text").contains(MADE);
            assert_eq!(says_so, made.contains(&path), "{path}");
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
