//! A row in ARCHITECTURE.md for each file that starts a thread.
//!
//! ```text
//!   thread::Builder, spawn_blocking in crates/a/src/b.rs  ◀──▶  `a/src/b.rs` below the heading Threads
//! ```
//!
//! A file without a row is a finding, and so is a row whose file starts no thread. Tests do not count, nor do
//! measurements and chores. Tasks of a runtime are no threads.
//!
//! Cost: one visit of each file. It does not see a thread that another crate starts by itself.

use std::collections::BTreeSet;
use std::path::Path;

use syn::visit::{self, Visit};

use super::source::is_for_tests;
use super::{Finding, Source};

/// The page with the table, from the workspace's root.
pub const PATH: &str = "ARCHITECTURE.md";

/// The folders whose files have no row.
const LEFT_OUT: [&str; 2] = ["crates/mainspring-lab", "xtask"];

/// Checks all files against the text of ARCHITECTURE.md.
pub fn check(architecture: &str, sources: &[Source]) -> Vec<Finding> {
    let section = architecture.split("\n## Threads").nth(1).unwrap_or_default();
    let rows = section.split("\n## ").next().unwrap_or_default().lines().filter(|line| line.starts_with('|'));
    let quoted = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    let mut unused: BTreeSet<&str> = quoted.filter(|word| word.ends_with(".rs")).collect();
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| !source.is_test()) {
        if LEFT_OUT.iter().any(|folder| source.path.starts_with(folder)) {
            continue;
        }
        let mut starts = Starts { line: None };
        starts.visit_file(&source.syntax);
        let Some(line) = starts.line else { continue };
        let name = source.path.strip_prefix("crates").unwrap_or(&source.path).to_string_lossy();
        if !unused.remove(&*name) {
            let text = format!("the file starts a thread and has no row in {PATH}, Threads");
            findings.push(Finding::new(&source.path, line, text));
        }
    }
    let gone = |name: &str| Finding::new(Path::new(PATH), 0, format!("`{name}` starts no thread"));
    findings.extend(unused.into_iter().map(gone));
    findings
}

/// The first line of a file that starts a thread.
struct Starts {
    line: Option<usize>,
}

impl<'ast> Visit<'ast> for Starts {
    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        let names: Vec<String> =
            path.path.segments.iter().rev().take(3).map(|segment| segment.ident.to_string()).collect();
        let is_builder = names.len() == 3 && names[1] == "Builder" && names[2] == "thread";
        if is_builder || names[0] == "spawn_blocking" {
            self.line.get_or_insert(path.path.segments[0].ident.span().start().line);
        }
        visit::visit_expr_path(self, path);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(table: &str, text: &str) -> Vec<String> {
        let source =
            Source::parse(Path::new("crates/a/src/b.rs"), text.to_owned()).expect("the text is Rust");
        let page = format!("# A\n\n## Threads\n\n| thread | started in |\n|---|---|\n{table}\n## Next\n");
        check(&page, &[source]).iter().map(|finding| finding.text.clone()).collect()
    }

    #[test]
    fn a_file_that_starts_a_thread_has_a_row() {
        let texts = [
            "fn a() { thread::Builder::new().spawn(b); }",
            "fn a() { let _ = std::thread::Builder::new(); }",
            "async fn a() { tokio::task::spawn_blocking(b).await; }",
        ];
        for text in texts {
            assert_eq!(findings("| b | `a/src/b.rs` |\n", text), [] as [String; 0]);
            let missing = "the file starts a thread and has no row in ARCHITECTURE.md, Threads";
            assert_eq!(findings("", text), [missing], "{text}");
        }
    }

    #[test]
    fn a_row_has_a_file_that_starts_a_thread() {
        let text = "#[cfg(test)] mod tests { fn a() { thread::Builder::new(); } }";
        assert_eq!(findings("| b | `a/src/b.rs` |\n", text), ["`a/src/b.rs` starts no thread"]);
        assert_eq!(findings("", "fn a() { runtime::Builder::new(); }"), [] as [String; 0]);
    }
}
