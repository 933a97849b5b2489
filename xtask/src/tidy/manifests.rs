//! A reason beside every dependency.
//!
//! In a table of dependencies of a Cargo.toml, each entry from a registry has a comment above it. Entries
//! that are crates of this workspace, or inherit from the workspace's own table, where the reason stands,
//! need none.

use std::path::Path;

use super::Finding;

/// Checks the text of one Cargo.toml.
pub fn check(path: &Path, manifest: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut is_dependencies = false;
    let mut has_reason = false;
    for (index, line) in manifest.lines().map(str::trim).enumerate() {
        if line.starts_with('[') {
            is_dependencies = line.trim_end_matches(']').ends_with("dependencies");
            has_reason = false;
        } else if line.starts_with('#') {
            has_reason = true;
        } else if line.is_empty() {
            has_reason = false;
        } else if let Some((name, value)) = line.split_once('=')
            && is_dependencies
        {
            let is_own =
                value.contains("workspace = true") || value.contains("path =") || name.contains(".workspace");
            if !is_own && !has_reason {
                let text = format!("the dependency {} has no reason in a comment above it", name.trim());
                findings.push(Finding::new(path, index + 1, text));
            }
            has_reason = false;
        }
    }
    findings
}

/// The names, as code writes them, of all dependencies in the text of one Cargo.toml.
pub fn dependency_names(manifest: &str) -> Vec<String> {
    let mut is_dependencies = false;
    let mut names = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            is_dependencies = line.trim_end_matches(']').ends_with("dependencies");
        } else if let Some((name, _)) = line.split_once('=')
            && is_dependencies
            && !line.starts_with('#')
        {
            names.push(name.trim().trim_end_matches(".workspace").replace('-', "_"));
        }
    }
    names
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
