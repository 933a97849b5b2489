//! Results as plots: SVG files, and one page of HTML that holds them all.
//!
//! ```text
//!   results.csv --> per workload: bars with ranges, cost against N --> *.svg
//!                   lateness as quantiles, memory                  --> report.html: plots, a table each, the machine
//!                   presets beside their structures: see `beside`
//! ```
//!
//! Cost: a second. It does not measure, and needs nothing from the network: the page is one file.

pub mod axis;
pub mod bars;
pub mod beside;
pub mod canvas;
pub mod curves;
pub mod page;
pub mod palette;
pub mod plot;

use crate::case::{Case, Workload};
use crate::results::Results;
use crate::table::{self, Table};
use crate::workload::lateness::QUANTILES;

use bars::Bar;
use curves::{Curve, Point};
use plot::{Plot, axis_title};

/// The plots of one table: bars for each metric that has an axis.
pub fn bar_plots(table: &Table) -> Vec<Plot> {
    let mut plots = Vec::new();
    let is_whole = |(_, row): &(String, Vec<_>)| row.len() == table.metrics.len();
    debug_assert!(table.rows.iter().all(is_whole), "a row has a cell for each metric");
    for (column, metric) in table.metrics.iter().enumerate() {
        let title = axis_title(metric);
        let bar = |(subject, row): &(String, Vec<Option<_>>)| {
            Some(Bar { subject: subject.clone(), summary: row[column]? })
        };
        let bars: Vec<Bar> = table.rows.iter().filter_map(bar).collect();
        if title.is_empty() || bars.is_empty() {
            continue;
        }
        plots.push(Plot { name: table.plot_name(metric), svg: bars::draw(&table.title(), title, bars) });
    }
    plots
}

/// The subjects of all plots but those of [`beside`].
fn subjects(results: &Results) -> impl Iterator<Item = String> {
    results.subjects().into_iter().filter(|subject| !beside::is_preset(subject))
}

/// Cost against the number of timers, one plot per metric that was measured at two sizes or more.
pub fn size_plots(results: &Results, workload: Workload) -> Vec<Plot> {
    let mut plots = Vec::new();
    let mut cases = results.by_case();
    cases.retain(|case, _| (case.workload, case.thread_count) == (workload, 1));
    for metric in results.metrics() {
        let title = axis_title(&metric);
        let of_metric = cases.iter().filter(|(_, results)| results.metrics().contains(&metric));
        let of_metric: Vec<Case> = of_metric.map(|(case, _)| *case).collect();
        if of_metric.len() < 2 || title.is_empty() {
            continue;
        }
        let curve = |subject: String| {
            let point = |case: &Case| {
                let summary = results.summary(&subject, *case, &metric)?;
                Some(Point { x: case.size as f64, y: summary.median })
            };
            Curve { points: of_metric.iter().filter_map(point).collect(), subject: subject.clone() }
        };
        let curves: Vec<Curve> = subjects(results).map(curve).collect();
        let heading = format!("{workload}: cost against the number of timers");
        let svg = curves::against_size(&heading, title, curves);
        plots.push(Plot { name: format!("{workload}-against-size-{metric}"), svg });
    }
    plots
}

/// Lateness as a distribution: quantiles of W6.
pub fn lateness_plot(results: &Results) -> Option<Plot> {
    let case = Case { workload: Workload::W6, size: Workload::W6.fixed_size()?, thread_count: 1, seed: 0 };
    let curve = |subject: String| {
        let points = QUANTILES.iter().enumerate().filter_map(|(place, (_, metric))| {
            Some(Point { x: place as f64, y: results.summary(&subject, case, metric)?.median })
        });
        Curve { points: points.collect(), subject: subject.clone() }
    };
    let curves: Vec<Curve> = subjects(results).map(curve).collect();
    if curves.iter().all(|curve| curve.points.is_empty()) {
        return None;
    }
    let svg = curves::over_quantiles("W6: how late timers fire", "lateness, us", curves);
    Some(Plot { name: "W6-lateness".to_owned(), svg })
}

/// All plots of a workload, with the tables that they are of, without presets.
pub fn section(results: &Results, workload: Workload) -> (Vec<Plot>, Vec<Table>) {
    let tables = table::tables(results).into_iter().filter(|table| table.case.workload == workload);
    let tables: Vec<Table> = tables.filter_map(|table| table.without(beside::is_preset)).collect();
    let mut plots: Vec<Plot> = Vec::new();
    if workload == Workload::W6 {
        plots.extend(lateness_plot(results));
    }
    // Memory by timer is the same at any size that can be measured.
    if workload != Workload::W8 {
        plots.extend(size_plots(results, workload));
    }
    // Of several sizes the largest has bars; the curves show the others. Of threads each has.
    let size_max = tables.iter().map(|table| table.case.size).max().unwrap_or_default();
    plots.extend(tables.iter().filter(|table| table.case.size == size_max).flat_map(bar_plots));
    (plots, tables)
}
