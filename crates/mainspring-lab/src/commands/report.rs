//! `lab report`: plots and a page from the results of a run.
//!
//! Cost: a second. It does not measure.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::ValueEnum;

use crate::case::Workload;
use crate::machine::Machine;
use crate::report::page::{Section, Topic, html};
use crate::report::{beside, section};
use crate::results::Results;

/// The name of the page.
const PAGE_FILE: &str = "report.html";

/// `lab report`.
///
/// # Errors
/// Results that cannot be read, or files that cannot be written.
pub fn report(folder: &Path) -> Result<ExitCode, Box<dyn Error>> {
    let results = Results::load(folder)?;
    let machine = Machine::load(folder);
    let measured =
        |workload: &Workload| results.records.iter().any(|record| record.case.workload == *workload);
    let workloads = Workload::value_variants().iter().copied().filter(measured).map(|workload| {
        let (plots, tables) = section(&results, workload);
        Section { topic: Topic::Workload(workload), plots, tables }
    });
    let (plots, tables) = beside::section(&results);
    let presets = Section { topic: Topic::Presets, plots, tables };
    let sections: Vec<Section> =
        workloads.chain([presets]).filter(|section| !section.tables.is_empty()).collect();
    for plot in sections.iter().flat_map(|section| &section.plots) {
        fs::write(folder.join(format!("{}.svg", plot.name)), &plot.svg)?;
    }
    let page = folder.join(PAGE_FILE);
    fs::write(&page, html(machine.as_ref(), &sections, &results))?;
    let plot_count: usize = sections.iter().map(|section| section.plots.len()).sum();
    println!("{plot_count} plots, and all of them in {}", page.display());
    Ok(ExitCode::SUCCESS)
}
