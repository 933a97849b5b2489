//! Results are read as they were written, and tables are made of them.

use std::fs;
use std::path::PathBuf;

use clap::ValueEnum;
use mainspring_lab::case::{Case, Failure, Figure, Workload};
use mainspring_lab::results::{RESULTS_FILE, Record, Results, SkippedSubject};
use mainspring_lab::{explain, table};

/// A folder of a test's own.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("the folder for tests can be written");
    folder
}

pub(crate) fn some_results() -> Results {
    let mut results = Results::default();
    for (subject, cost) in [("floor", 5.0), ("wheel::Bitmap", 10.0), ("tokio-sleep", 80.5)] {
        for (size, factor) in [(1_000, 1.0), (1_000_000, 8.0)] {
            for seed in 0..3 {
                let case = Case { workload: Workload::W1, size, thread_count: 1, seed };
                let figure = Figure::new("pair_ns", cost * factor + seed as f64);
                results.records.push(Record { subject: subject.to_owned(), case, figure });
            }
        }
    }
    let case = Case { workload: Workload::W4, size: 1_000, thread_count: 1, seed: 0 };
    let failure = Failure::Unable("it has no clock, and no threads".to_owned());
    results.skipped.push(SkippedSubject { subject: "floor".to_owned(), case, failure });
    results
}

#[test]
fn what_is_saved_is_loaded() {
    let folder = folder("saved");
    let results = some_results();
    results.save(&folder).expect("the folder can be written");
    assert_eq!(Results::load(&folder), Ok(results));
}

#[test]
fn a_bad_row_is_named_by_file_and_line() {
    let folder = folder("bad");
    some_results().save(&folder).expect("the folder can be written");
    let path = folder.join(RESULTS_FILE);
    let text = fs::read_to_string(&path).expect("the file was written");
    for (from, to) in [("W1,1000,1,floor,1", "W99,1000,1,floor,1"), ("pair_ns,6", "pair_ns,six")] {
        fs::write(&path, text.replacen(from, to, 1)).expect("the file can be written");
        let error = Results::load(&folder).expect_err("the row is none");
        assert!(error.contains("results.csv:3: this is not a row"), "{error}");
    }
    fs::write(&path, "size\n").expect("the file can be written");
    assert!(Results::load(&folder).expect_err("the header is none").contains("results.csv:1:"));
}

#[test]
fn tables_show_the_median_and_the_range() {
    let tables = table::tables(&some_results());
    let texts: Vec<String> = tables.iter().map(table::text).collect();
    let expected = "W1, N = 1,000    pair_ns
  floor          6.00 (5.00..7.00)
  wheel::Bitmap  11.0 (10.0..12.0)
  tokio-sleep    81.5 (80.5..82.5)
";
    assert_eq!(texts[0], expected);
}

#[test]
fn every_workload_is_explained() {
    for &workload in Workload::value_variants() {
        let name = workload.to_string();
        assert_eq!(Workload::named(&name), Some(workload));
        let text = explain::text(workload);
        assert!(text.contains(&name), "{text}");
        assert!(text.lines().count() > 5, "{text}");
    }
}
