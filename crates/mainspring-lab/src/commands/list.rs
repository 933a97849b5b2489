//! `lab list`: all workloads and all subjects.
//!
//! Cost: none. It does not measure.

use crate::case::Workload;
use crate::explain::explain;
use crate::subject::{Kind, all};
use crate::table::align;

/// The list.
pub fn text() -> String {
    let workloads = Workload::ALL.map(|workload| {
        vec![
            format!("  {workload}"),
            explain(workload).title.to_owned(),
            explain(workload).figures.to_owned(),
        ]
    });
    let subjects: Vec<Vec<String>> = all()
        .iter()
        .map(|subject| {
            let kind = match subject.kind {
                Kind::Floor => "floor",
                Kind::Ours => "ours",
                Kind::Preset => "preset",
                Kind::Std => "std",
                Kind::Library => "library",
                Kind::Foreign => "foreign",
            };
            vec![format!("  {}", subject.name), kind.to_owned(), subject.about.to_owned()]
        })
        .collect();
    format!("workloads\n{}\nsubjects\n{}", align(&workloads), align(&subjects))
}
