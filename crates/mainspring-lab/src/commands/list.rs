//! `lab list`: all workloads and all subjects.
//!
//! Cost: none. It does not measure.

use clap::ValueEnum;

use crate::case::Workload;
use crate::explain::{Explanation, explain};
use crate::subject::Subject;
use crate::subjects::{all, presets};
use crate::table::align;

/// What a subject is, and which workloads a preset cannot do.
fn about(subject: &Subject) -> String {
    let unable = presets::named(subject.name).map_or(&[][..], |preset| preset.unable);
    unable.iter().fold(subject.about.to_owned(), |about, (workload, reason)| {
        format!("{about}; not {workload}: {reason}")
    })
}

/// The list.
pub fn text() -> String {
    let workloads = Workload::value_variants().iter().map(|&workload| {
        let Explanation { title, figures, .. } = explain(workload);
        vec![format!("  {workload}"), title.to_owned(), figures.to_owned()]
    });
    let workloads: Vec<_> = workloads.collect();
    let subjects: Vec<Vec<String>> = all()
        .iter()
        .map(|subject| vec![format!("  {}", subject.name), subject.kind.to_string(), about(subject)])
        .collect();
    format!("workloads\n{}\nsubjects\n{}", align(&workloads), align(&subjects))
}
