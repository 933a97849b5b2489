//! SECURITY.md, the manual and the trials say the same.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const SECURITY: &str = include_str!("../../../../SECURITY.md");
const MANUAL: &str = include_str!("../../../../docs/manual.md");

/// The trials of a file, as SECURITY.md names them.
fn trials(path: &Path) -> Vec<String> {
    let module = path.file_stem().unwrap().to_str().unwrap();
    let text = fs::read_to_string(path).unwrap();
    let functions = text.split("#[test]\nfn ").skip(1);
    functions.map(|rest| format!("{module}::{}", rest.split('(').next().unwrap())).collect()
}

#[test]
fn every_promise_has_a_trial_and_every_trial_a_promise() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trials");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let there: BTreeSet<String> =
        paths.filter(|path| !path.ends_with("promises.rs")).flat_map(|path| trials(&path)).collect();
    let promises = SECURITY.split("## What is promised").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows: Vec<&str> = promises.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    let named: BTreeSet<String> = rows
        .iter()
        .flat_map(|row| row.split('`').skip(1).step_by(2))
        .filter(|word| word.contains("::"))
        .map(str::to_owned)
        .collect();
    assert!(rows.iter().all(|row| row.contains("::")), "{rows:#?}");
    assert!(30 < there.len(), "{there:#?}");
    assert_eq!(named, there);
}

#[test]
fn the_pages_lead_to_each_other() {
    assert!(MANUAL.contains("(../SECURITY.md)"));
    assert!(SECURITY.contains("(docs/manual.md#files-and-safety)"));
}
