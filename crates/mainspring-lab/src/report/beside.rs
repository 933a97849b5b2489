//! Presets beside their structures: what an engine adds to its queue.
//!
//! ```text
//!   heap::Quaternary   |#####-| 628          one thread: the structure first, its presets below it
//!   preset::go_1_9     |#########-| 890
//!   preset::go_1_10    |#########-| 901
//!
//!   engine-single      |###| 55              the real clock: our own engines first, then all presets
//!   preset::go_1_9     |###-| 58
//! ```
//!
//! They have a section of their own, because they double the subjects: the other plots and tables leave them
//! out.
//!
//! Cost: none. It does not compare presets with the originals: those are other programs on other machines.

use super::bars::{self, Bar};
use super::plot::{Plot, axis_title};
use crate::case::Workload;
use crate::results::Results;
use crate::subjects::{engines, presets};
use crate::table::{self, Table};

/// Whether a subject is a preset, and so has its place here.
pub fn is_preset(subject: &str) -> bool {
    presets::named(subject).is_some()
}

/// What of the real clock is drawn of each preset: three of the many figures of W6 tell all.
const METRICS_OF_W6: [&str; 3] = ["p50_us", "p99_us", "cpu_s"];

/// Beside which engines of our own presets stand on the real clock.
const ENGINES: [&str; 2] = [engines::DEFAULT, engines::SINGLE];

/// All plots and tables of presets, at the largest size at which there are any.
pub fn section(results: &Results) -> (Vec<Plot>, Vec<Table>) {
    let mut with_presets = table::tables(results);
    with_presets.retain(|table| table.rows.iter().any(|(subject, _)| is_preset(subject)));
    let size_max = |workload: Workload| {
        with_presets.iter().filter(|table| table.case.workload == workload).map(|table| table.case.size).max()
    };
    let largest = with_presets.iter().filter(|table| Some(table.case.size) == size_max(table.case.workload));
    let groups: Vec<Vec<Table>> = largest.map(groups).collect();
    let plots = groups.iter().flat_map(|groups| plots(groups)).collect();
    (plots, groups.into_iter().filter_map(joined).collect())
}

/// A table's rows by structure, each with its presets; by the real clock our own engines, and all presets.
fn groups(table: &Table) -> Vec<Table> {
    let with = |names: &[&str]| {
        let row = |name: &&str| table.rows.iter().find(|(subject, _)| subject == name).cloned();
        let rows: Vec<_> = names.iter().filter_map(row).collect();
        Table { rows, metrics: table.metrics.clone(), ..*table }
    };
    if table.case.workload.is_real_time() {
        let all: Vec<&str> = presets::PRESETS.iter().map(|preset| preset.name).collect();
        return vec![with(&ENGINES), with(&all)];
    }
    let mut structures: Vec<&str> = presets::PRESETS.iter().map(|preset| preset.structure).collect();
    structures.dedup();
    let mut groups: Vec<Table> = Vec::new();
    for (place, structure) in structures.iter().enumerate() {
        if structures[..place].contains(structure) {
            continue;
        }
        let mut names = vec![*structure];
        let own = presets::PRESETS.iter().filter(|preset| preset.structure == *structure);
        names.extend(own.map(|preset| preset.name));
        let group = with(&names);
        // A structure whose presets cannot do the workload has nothing to be beside.
        if group.rows.iter().any(|(subject, _)| is_preset(subject)) {
            groups.push(group);
        }
    }
    groups
}

fn joined(groups: Vec<Table>) -> Option<Table> {
    groups.into_iter().reduce(|mut all, group| {
        debug_assert_eq!(all.metrics, group.metrics, "what is joined has the same columns");
        all.rows.extend(group.rows);
        all
    })
}

fn plots(groups: &[Table]) -> Vec<Plot> {
    let Some(first) = groups.first() else { return Vec::new() };
    let mut plots = Vec::new();
    for (column, metric) in first.metrics.iter().enumerate() {
        let title = axis_title(metric);
        let is_drawn = first.case.workload != Workload::W6 || METRICS_OF_W6.contains(&metric.as_str());
        if title.is_empty() || !is_drawn {
            continue;
        }
        let bar = |(subject, row): &(String, Vec<Option<_>>)| {
            Some(Bar { subject: subject.clone(), summary: row[column]? })
        };
        let bars: Vec<Vec<Bar>> =
            groups.iter().map(|group| group.rows.iter().filter_map(bar).collect()).collect();
        let name = format!("presets-{}", first.plot_name(metric));
        let heading = format!("Presets, {}", first.title());
        plots.push(Plot { name, svg: bars::draw_groups(&heading, title, &bars) });
    }
    plots
}
