//! The part of STYLE.md and ARCHITECTURE.md that a machine can check.
//!
//! | check | holds |
//! |---|---|
//! | [`layers`] | who may import what within the pure crates, by the rows of [`layer_file`] |
//! | [`circles`] | no files that import each other in a circle |
//! | [`budgets`] | lines per file and per function: the largest, the 90th percentile, the median |
//! | [`sums`] | lines of code, boolean parameters and assertions of each crate |
//! | [`text`] | headers, words that names and comments avoid, left-overs, width, `unsafe` only where it is listed |
//! | [`words`] | types are nouns |
//! | [`manifests`] | a reason beside every dependency |
//! | [`threads`] | a row in ARCHITECTURE.md for each file that starts a thread |
//! | [`sizes`] | the most bytes of pages that people read from end to end |
//! | [`links`] | relative links of the pages lead to a file and a heading |
//!
//! Each finding names the file, the line and the rule. `cargo xtask tidy` runs all of it, and so does the
//! gate.
//!
//! Cost: a second. It does not judge what a reader must judge.

pub mod budgets;
pub mod circles;
mod file_node;
mod finding;
pub mod layer_file;
pub mod layers;
pub mod links;
pub mod manifests;
pub mod sizes;
mod source;
pub mod sums;
pub mod text;
pub mod threads;
pub mod words;

use std::fs;
use std::path::{Path, PathBuf};

pub use finding::Finding;
pub use layer_file::LayerFile;
pub use source::Source;

/// The folder that holds the workspace.
pub fn workspace_root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().expect("xtask lies in the workspace").to_owned()
}

/// Runs every check on the project in `root`.
pub fn check(root: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    let sources = read_sources(root, &mut findings);
    assert!(!sources.is_empty(), "a check of nothing is green");
    let (layer_file, unread) = LayerFile::parse(&read(root, Path::new(layer_file::PATH), &mut findings));
    findings.extend(unread);
    let paths = files(root, Path::new(""), "toml");
    let manifests: Vec<(PathBuf, String)> = paths
        .into_iter()
        .filter(|path| path.ends_with("Cargo.toml"))
        .map(|path| (path.clone(), read(root, &path, &mut findings)))
        .collect();
    let names = manifests.iter().flat_map(|(_, manifest)| manifests::dependency_names(manifest)).collect();
    findings.extend(layers::check(&layer_file, &names, &sources));
    findings.extend(circles::check(&sources));
    findings.extend(budgets::check(&sources));
    findings.extend(sums::check(&sources));
    findings.extend(sizes::check(root));
    findings.extend(text::check(&layer_file.unsafe_files, &sources));
    let architecture = read(root, Path::new(threads::PATH), &mut findings);
    findings.extend(threads::check(&architecture, &sources));
    for path in files(root, Path::new(""), "md") {
        let page = read(root, &path, &mut findings);
        findings.extend(links::check(root, &path, &page));
    }
    findings.extend(manifests.iter().flat_map(|(path, manifest)| manifests::check(path, manifest)));
    findings
}

/// The files of Rust below `root`, read, but for those that cannot be read.
pub fn sources(root: &Path) -> Vec<Source> {
    read_sources(root, &mut Vec::new())
}

fn read_sources(root: &Path, findings: &mut Vec<Finding>) -> Vec<Source> {
    let mut sources = Vec::new();
    for path in files(root, Path::new(""), "rs") {
        let text = read(root, &path, findings);
        match Source::parse(&path, text) {
            Ok(source) => sources.push(source),
            Err(finding) => findings.push(finding),
        }
    }
    sources
}

fn read(root: &Path, path: &Path, findings: &mut Vec<Finding>) -> String {
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| {
        findings.push(Finding::new(path, 0, format!("the file cannot be read: {error}")));
        String::new()
    })
}

/// The files below a folder with this extension, sorted; not what is built, hidden, or made by tools.
fn files(root: &Path, folder: &Path, extension: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(root.join(folder)) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let path = folder.join(&name);
        let is_left_out = name.to_string_lossy().starts_with('.')
            || name == "target"
            || name == "corpus"
            || name == "node_modules";
        if entry.path().is_dir() && !is_left_out {
            found.extend(files(root, &path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_is_found_at_all() {
        let sources = files(&workspace_root(), Path::new("crates"), "rs");
        assert!(sources.len() > 30, "only {} files", sources.len());
    }
}
