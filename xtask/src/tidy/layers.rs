//! The imports that a module may have, within the pure crates and where unsafe code is.
//!
//! `xtask/layers.toml` is the rule, see [`LayerFile`]:
//!
//! ```text
//!   "mainspring_job::hook" = ["mainspring_job::name", "jiff"]
//!    a module and all below    what it may name, and all below those
//! ```
//!
//! The row with the longest matching module counts. No row allows a crate to itself: that would be no rule. A
//! module may always use itself, what is below it, and the standard library. Every path in the code that
//! begins with `crate`, `super`, `self` or a crate's name is looked at, in `use` lines and elsewhere;
//! tests are not. A crate that is not pure has no rows: Cargo refuses what its manifest does not name, and
//! [`circles`](super::circles) looks at its files.

use std::collections::BTreeSet;
use std::path::Path;

use super::file_node::{FileNode, module_of};
use super::layer_file::{Layer, LayerFile, PATH};
use super::{Finding, Source};

/// Checks all files against the rows of `xtask/layers.toml`. `dependencies` are the crates that the manifests
/// name.
pub fn check(file: &LayerFile, dependencies: &BTreeSet<String>, sources: &[Source]) -> Vec<Finding> {
    let named = file.layers.iter().flat_map(|layer| layer.may_use.iter()).map(|path| root(path));
    let crates: BTreeSet<&str> = named.chain(dependencies.iter().map(String::as_str)).collect();
    let mut findings = Vec::new();
    let mut modules = Vec::new();
    for source in sources.iter().filter(|source| !source.is_test()) {
        let Some(module) = module_of(&source.path) else { continue };
        let is_unsafe = file.unsafe_files.iter().any(|path| source.path == Path::new(path));
        if is_unsafe || file.pure.iter().any(|pure| is_within(&module, pure)) {
            findings.extend(check_source(&file.layers, &crates, source, &module));
            modules.push(module);
        }
    }
    findings.extend(file.layers.iter().flat_map(wildcards));
    for layer in &file.layers {
        if !modules.iter().any(|module| is_within(module, &layer.module)) {
            let text =
                format!("`{}` names no module of a pure crate, and none with unsafe code", layer.module);
            findings.push(Finding::new(Path::new(PATH), 0, text));
        }
    }
    findings
}

/// What a row allows that is no rule: a crate to itself.
fn wildcards(layer: &Layer) -> Vec<Finding> {
    let own = root(&layer.module);
    let finding = |text: String| Finding::new(Path::new(PATH), 0, text);
    let name = &layer.module;
    let of_own = layer.may_use.iter().filter(|used| is_within(used, own));
    of_own
        .filter_map(|used| {
            if used == own {
                Some(finding(format!("the layer `{name}` may use all of its own crate: name the modules")))
            } else if name == own {
                let text = "is a whole crate and may use";
                Some(finding(format!("the layer `{name}` {text} `{used}` of it: give each module a row")))
            } else {
                None
            }
        })
        .collect()
}

fn root(path: &str) -> &str {
    path.split("::").next().unwrap_or(path)
}

/// Whether a path is a module or something below it.
fn is_within(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn check_source(layers: &[Layer], crates: &BTreeSet<&str>, source: &Source, module: &str) -> Vec<Finding> {
    // A crate's root only declares and re-exports; a crate without a row has no rule yet, which is a finding
    // itself.
    if !module.contains("::") && source.path.ends_with("lib.rs") {
        return Vec::new();
    }
    let matching = layers.iter().filter(|layer| is_within(module, &layer.module));
    let Some(layer) = matching.max_by_key(|layer| layer.module.len()) else {
        return vec![Finding::new(&source.path, 1, format!("no row of {PATH} covers `{module}`"))];
    };
    let Some(node) = FileNode::new(source, crates) else { return Vec::new() };
    let is_allowed =
        |path: &str| is_within(path, module) || layer.may_use.iter().any(|allowed| is_within(path, allowed));
    let found: BTreeSet<(String, usize)> =
        node.uses.iter().chain(&node.passed_on).map(|(path, line)| (path.join("::"), *line)).collect();
    let broken = found.iter().filter(|(path, _)| !is_allowed(path));
    broken
        .map(|(path, line)| {
            let text = format!("`{module}` uses `{path}`, and the layer `{}` may not", layer.module);
            Finding::new(&source.path, *line, text)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &str =
        "\"a::lower\" = []\n\"a::lower::deep\" = [\"a::upper\"]\n\"a::upper\" = [\"a::lower\", \"other\"]\n";

    fn check_rows(rows: &str, sources: &[Source]) -> Vec<String> {
        let (file, findings) = LayerFile::parse(&format!("pure = [\"a\", \"b\"]\n[layers]\n{rows}"));
        assert_eq!(findings, []);
        check(&file, &BTreeSet::new(), sources).iter().map(ToString::to_string).collect()
    }

    fn check_file(path: &str, text: &str) -> Vec<String> {
        let paths = ["crates/a/src/upper.rs", "crates/a/src/lower.rs", "crates/a/src/lower/deep.rs"];
        let texts = paths.map(|known| if known == path { text } else { "" });
        let sources: Vec<Source> = paths
            .iter()
            .zip(texts)
            .map(|(path, text)| Source::parse(Path::new(path), text.to_owned()).expect("the text is Rust"))
            .collect();
        check_rows(ROWS, &sources)
    }

    #[test]
    fn what_the_table_allows_passes() {
        let text = "use std::fmt;\nuse crate::lower::{self, deep::Thing};\nfn f() { other::g(); self::h(); }\nfn h() {}";
        assert_eq!(check_file("crates/a/src/upper.rs", text), [] as [String; 0]);
        assert_eq!(check_file("crates/a/src/lower/deep.rs", "use crate::upper::Thing;"), [] as [String; 0]);
    }

    #[test]
    fn what_it_does_not_allow_is_named_with_module_and_rule() {
        let expected =
            "crates/a/src/lower.rs:2: `a::lower` uses `a::upper::Thing`, and the layer `a::lower` may not";
        assert_eq!(check_file("crates/a/src/lower.rs", "\nuse crate::upper::Thing;"), [expected]);
        assert_eq!(check_file("crates/a/src/lower.rs", "\nfn f(_: super::upper::Thing) {}"), [expected]);
        assert_eq!(check_file("crates/a/src/lower.rs", "use other::x;").len(), 1);
        assert_eq!(check_file("crates/a/src/lower.rs", "mod inner { use super::super::upper::x; }").len(), 1);
    }

    #[test]
    fn tests_may_use_anything() {
        let text = "#[cfg(test)]\nmod tests { use crate::upper::Thing; }";
        assert_eq!(check_file("crates/a/src/lower.rs", text), [] as [String; 0]);
    }

    #[test]
    fn a_module_without_a_layer_and_a_layer_without_a_module_are_named() {
        let source = Source::parse(Path::new("crates/b/src/new.rs"), String::new()).expect("nothing is Rust");
        let findings = check_rows(ROWS, &[source]);
        assert!(findings[0].contains("no row of xtask/layers.toml covers `b::new`"));
        assert!(findings[1].contains("`a::lower` names no module of a pure crate"));
    }

    #[test]
    fn a_crate_that_is_not_pure_is_checked_only_where_it_is_unsafe() {
        let read =
            |path: &str, text: &str| Source::parse(Path::new(path), text.to_owned()).expect("it is Rust");
        let sources = [
            read("crates/c/src/free.rs", "use crate::x::y;"),
            read("crates/c/src/sys.rs", "use crate::x::y;"),
        ];
        let text = "[layers]\n\"c::sys\" = []\n[unsafe]\n\"crates/c/src/sys.rs\" = \"why\"\n";
        let findings = check(&LayerFile::parse(text).0, &BTreeSet::new(), &sources);
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["crates/c/src/sys.rs:1: `c::sys` uses `c::x::y`, and the layer `c::sys` may not"]);
    }

    #[test]
    fn a_row_that_allows_a_whole_crate_to_itself_is_named() {
        let findings = |rows: &str| -> Vec<String> {
            let paths = ["crates/a/src/upper.rs", "crates/a/src/lower.rs"];
            let source =
                |path: &&str| Source::parse(Path::new(path), String::new()).expect("nothing is Rust");
            let sources: Vec<Source> = paths.iter().map(source).collect();
            check_rows(rows, &sources)
        };
        let whole = "the layer `a::upper` may use all of its own crate: name the modules";
        assert_eq!(
            findings("\"a\" = []\n\"a::upper\" = [\"a\", \"b\"]\n"),
            [format!("xtask/layers.toml:0: {whole}")]
        );
        let own = "the layer `a` is a whole crate and may use `a::lower` of it: give each module a row";
        assert_eq!(findings("\"a\" = [\"a::lower\"]\n"), [format!("xtask/layers.toml:0: {own}")]);
        assert_eq!(findings("\"a\" = [\"b\"]\n\"a::upper\" = [\"a::lower\", \"b\"]\n"), [] as [String; 0]);
    }
}
