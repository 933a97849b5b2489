//! SECURITY.md, the manual and the trials say the same.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use mainspring_exec::descriptors::{self, MAX_RUNNING};
use mainspring_exec::secret::MAX_SECRET_BYTES;
use mainspring_file::jobfile::MAX_JOBS;
use mainspring_file::source::MAX_FILE_BYTES;
use mainspring_server::protocol::MAX_REQUEST_BYTES;

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

/// A number as the manual writes it.
fn written(number: usize) -> String {
    let digits = number.to_string();
    match digits.len() {
        4.. => format!("{},{}", &digits[..digits.len() - 3], &digits[digits.len() - 3..]),
        _ => digits,
    }
}

#[test]
fn the_limits_of_the_manual_are_those_of_the_program() {
    let limits = MANUAL.split("| limit | is |").nth(1).unwrap().split("\n\n").next().unwrap();
    let needed = written(usize::try_from(descriptors::NEEDED).unwrap());
    let rows = [
        ("running at once", written(MAX_RUNNING)),
        ("running at once", needed),
        ("jobs in a file", written(MAX_JOBS)),
        ("jobs in a file", format!("{} MiB", MAX_FILE_BYTES >> 20)),
        ("a request over the socket", format!("{} MiB", MAX_REQUEST_BYTES >> 20)),
        ("a secret", format!("{} KiB", MAX_SECRET_BYTES >> 10)),
    ];
    for (limit, value) in rows {
        let row = limits.lines().find(|line| line.contains(limit)).unwrap();
        assert!(row.contains(&value), "{row}: {value}");
    }
}

#[test]
fn the_pages_lead_to_each_other() {
    assert!(MANUAL.contains("(../SECURITY.md)"));
    let anchors: Vec<String> = MANUAL
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .map(|title| title.to_lowercase().replace(' ', "-"))
        .collect();
    let links: Vec<&str> = SECURITY.split("(docs/manual.md#").skip(1).collect();
    assert!(!links.is_empty());
    for link in links {
        let anchor = link.split(')').next().unwrap();
        assert!(anchors.iter().any(|known| known == anchor), "{anchor}");
    }
}
