//! The report shows what was measured, and is one file.

use mainspring_lab::case::Workload;
use mainspring_lab::case::{Case, Figure};
use mainspring_lab::report::page::{Section, Topic, html};
use mainspring_lab::report::{beside, section};
use mainspring_lab::results::Record;

use crate::results::some_results;

#[test]
fn each_plot_names_its_subjects_and_its_unit() {
    let (plots, tables) = section(&some_results(), Workload::W1);
    let names: Vec<&str> = plots.iter().map(|plot| plot.name.as_str()).collect();
    assert_eq!(names, ["W1-against-size-pair_ns", "W1-1000000-pair_ns"]);
    assert_eq!(tables.len(), 2);
    for plot in &plots {
        for text in ["wheel::Bitmap", "tokio-sleep", "floor", "ns per schedule and cancel"] {
            assert!(plot.svg.contains(text), "{}: {text}", plot.name);
        }
    }
}

#[test]
fn the_page_loads_nothing() {
    let results = some_results();
    let (plots, tables) = section(&results, Workload::W1);
    let page = html(None, &[Section { topic: Topic::Workload(Workload::W1), plots, tables }], &results);
    for outside in ["<script", "<link", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert_eq!(page.matches("<svg ").count(), 2);
    assert!(page.contains("it has no clock, and no threads"));
}

#[test]
fn presets_stand_below_their_structure_and_in_no_other_plot() {
    let mut results = some_results();
    for (subject, cost) in [("preset::kafka", 90.0), ("wheel::Overflow", 40.0), ("preset::go_1_9", 70.0)] {
        let case = Case { workload: Workload::W1, size: 1_000_000, thread_count: 1, seed: 0 };
        let figure = Figure::new("pair_ns", cost);
        results.records.push(Record { subject: subject.to_owned(), case, figure });
    }
    let (plots, tables) = section(&results, Workload::W1);
    assert!(plots.iter().all(|plot| !plot.svg.contains("preset::")));
    assert!(tables.iter().all(|table| table.rows.iter().all(|(subject, _)| !subject.contains("preset"))));
    let (plots, tables) = beside::section(&results);
    assert_eq!(
        plots.iter().map(|plot| plot.name.as_str()).collect::<Vec<_>>(),
        ["presets-W1-1000000-pair_ns"]
    );
    let order: Vec<&str> = tables[0].rows.iter().map(|(subject, _)| subject.as_str()).collect();
    assert_eq!(order, ["preset::go_1_9", "wheel::Overflow", "preset::kafka"]);
    assert!(!plots[0].svg.contains("tokio"));
}
