//! A reason beside every dependency.
//!
//! In a table of dependencies of a Cargo.toml, each entry from a registry has a comment above it. Entries
//! that are crates of this workspace, or inherit from the workspace's own table, where the reason stands,
//! need none.

use std::path::Path;

use super::Finding;

/// A line of a table of dependencies.
struct Entry<'a> {
    line: usize,
    name: &'a str,
    value: &'a str,
    /// Whether a comment stands above it.
    has_reason: bool,
}

fn entries(manifest: &str) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    let (mut is_dependencies, mut has_reason) = (false, false);
    for (index, line) in manifest.lines().map(str::trim).enumerate() {
        if line.starts_with('[') {
            is_dependencies = line.trim_end_matches(']').ends_with("dependencies");
        } else if let Some((name, value)) = line.split_once('=')
            && is_dependencies
            && !line.starts_with('#')
        {
            entries.push(Entry { line: index + 1, name: name.trim(), value, has_reason });
        }
        has_reason = line.starts_with('#');
    }
    entries
}

/// Checks the text of one Cargo.toml.
pub fn check(path: &Path, manifest: &str) -> Vec<Finding> {
    let is_own = |Entry { name, value, .. }: &Entry<'_>| {
        value.contains("workspace = true") || value.contains("path =") || name.contains(".workspace")
    };
    let bare = entries(manifest).into_iter().filter(|entry| !entry.has_reason && !is_own(entry));
    bare.map(|Entry { line, name, .. }| {
        Finding::new(path, line, format!("the dependency {name} has no reason in a comment above it"))
    })
    .collect()
}

/// The names, as code writes them, of all dependencies in the text of one Cargo.toml.
pub fn dependency_names(manifest: &str) -> Vec<String> {
    let name = |entry: Entry<'_>| entry.name.trim_end_matches(".workspace").replace('-', "_");
    entries(manifest).into_iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_named_as_code_names_them() {
        let manifest =
            "[package]\nname = \"x\"\n[dependencies]\n# y = 1\nsignal-hook = \"1\"\njiff.workspace = true\n";
        assert_eq!(dependency_names(manifest), ["signal_hook", "jiff"]);
    }

    #[test]
    fn a_dependency_without_a_reason_is_named() {
        let manifest = "[dependencies]\n# Reads it.\nserde = \"1\"\nother = \"2\"\nmine = { path = \"..\" }\n\n\
            [dev-dependencies]\njiff.workspace = true\nthird = \"3\"\n\n[package]\nname = \"x\"\n";
        let lines: Vec<usize> =
            check(Path::new("Cargo.toml"), manifest).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [4, 9]);
    }
}
