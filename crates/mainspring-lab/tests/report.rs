//! The report shows what was measured, and is one file.

use mainspring_lab::case::Workload;
use mainspring_lab::report::page::{Section, html};
use mainspring_lab::report::section;

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
    let page = html(None, &[Section { workload: Workload::W1, plots, tables }], &results);
    for outside in ["<script", "<link", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert_eq!(page.matches("<svg ").count(), 2);
    assert!(page.contains("it has no clock, and no threads"));
}
