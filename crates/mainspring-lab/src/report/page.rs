//! The page: one file of HTML with every plot in it, a table beneath each, and the machine.
//!
//! Cost: the size of the plots, some hundred kilobytes. It does not load anything, nor run anything.

use std::fmt::Write;

use super::plot::Plot;
use crate::case::Workload;
use crate::explain::{Explanation, explain};
use crate::machine::Machine;
use crate::results::Results;
use crate::table::{Table, cell_text};

const STYLE: &str = "
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { margin-bottom: 0 } h2 { margin-top: 3rem; border-top: 1px solid #ddd; padding-top: 1rem }
table { border-collapse: collapse; margin: 1rem 0; font-size: 14px; font-variant-numeric: tabular-nums }
td, th { padding: .15rem .7rem; border-bottom: 1px solid #e5e5e5; text-align: right }
td:first-child, th:first-child, .text td, .text th { text-align: left }
figure { margin: 1rem 0 } .scroll { overflow-x: auto } .machine, .remark { color: #555 } details { margin: 1rem 0 }
";

/// What a part of the page is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// One workload by all subjects but the presets.
    Workload(Workload),
    /// Presets beside their structures.
    Presets,
}

impl Topic {
    fn name(self) -> String {
        match self {
            Topic::Workload(workload) => workload.to_string(),
            Topic::Presets => "presets".to_owned(),
        }
    }

    fn title(self) -> &'static str {
        match self {
            Topic::Workload(workload) => explain(workload).title,
            Topic::Presets => "beside their structures",
        }
    }
}

/// What the presets' part begins with.
const ABOUT_PRESETS: &str = "Each preset through its own engine, beside the queue that it stands on. A preset's figure \
    includes what a program pays: a closure boxed per timer, the handle, the driver's lock. By the real clock (W5 to W7) \
    presets stand beside our own engines, and are as precise as what they stand for.";

/// A part of the page.
#[derive(Clone, Debug)]
pub struct Section {
    /// About what.
    pub topic: Topic,
    /// Its plots.
    pub plots: Vec<Plot>,
    /// Its tables.
    pub tables: Vec<Table>,
}

/// Writes the page.
pub fn html(machine: Option<&Machine>, sections: &[Section], results: &Results) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>mainspring-lab</title>\n\
         <style>{STYLE}</style></head><body>\n<h1>Timer queues, side by side</h1>\n"
    );
    let machine = machine.map_or_else(|| "The machine is not known.".to_owned(), Machine::sentence);
    let _ = writeln!(page, "<p class=\"machine\">{}</p>", escape(&machine));
    page += "<p>Medians of rounds in fresh processes, subjects in turn; whiskers and brackets are the range. \
             Less is better unless an axis says otherwise.</p>\n<p>";
    for section in sections {
        let name = section.topic.name();
        let _ = write!(page, "<a href=\"#{name}\">{name} {}</a> &nbsp; ", section.topic.title());
    }
    page += "</p>\n";
    for section in sections {
        write_section(&mut page, section);
    }
    write_skipped(&mut page, results);
    page += "</body></html>\n";
    page
}

fn write_section(page: &mut String, section: &Section) {
    let (name, title) = (section.topic.name(), section.topic.title());
    match section.topic {
        Topic::Workload(workload) => {
            let Explanation { work, purpose, remark, subjects, .. } = explain(workload);
            let _ = writeln!(page, "<h2 id=\"{name}\">{name}: {title}</h2>");
            let _ = writeln!(page, "<p>{} {}</p>", escape(work), escape(purpose));
            let (remark, subjects) = (escape(remark), escape(subjects));
            let _ = writeln!(page, "<p class=\"remark\">{remark} Measured by: {subjects}</p>");
        }
        Topic::Presets => {
            let _ =
                writeln!(page, "<h2 id=\"{name}\">Presets {title}</h2>\n<p>{}</p>", escape(ABOUT_PRESETS));
        }
    }
    for plot in &section.plots {
        let _ = writeln!(page, "<figure>{}</figure>", plot.svg);
    }
    for table in &section.tables {
        let _ = writeln!(
            page,
            "<details open><summary>{}</summary>\n<div class=\"scroll\">",
            escape(&table.title())
        );
        let heads: Vec<String> = table.metrics.iter().map(|metric| format!("<th>{metric}</th>")).collect();
        let _ = writeln!(page, "<table><tr><th>subject</th>{}</tr>", heads.concat());
        for (subject, row) in &table.rows {
            let cell =
                |cell: &Option<_>| format!("<td>{}</td>", cell.as_ref().map_or("-".to_owned(), cell_text));
            let cells: Vec<String> = row.iter().map(cell).collect();
            let _ = writeln!(page, "<tr><td>{}</td>{}</tr>", escape(subject), cells.concat());
        }
        *page += "</table></div></details>\n";
    }
}

fn write_skipped(page: &mut String, results: &Results) {
    if results.skipped.is_empty() {
        return;
    }
    *page += "<h2>Not measured, and why</h2>\n\
              <table class=\"text\"><tr><th>workload</th><th>reason</th><th>subjects</th></tr>\n";
    for ((workload, reason), subjects) in results.skipped_by_reason() {
        let (reason, subjects) = (escape(&reason), escape(&subjects.join(", ")));
        let _ = writeln!(page, "<tr><td>{workload}</td><td>{reason}</td><td>{subjects}</td></tr>");
    }
    *page += "</table>\n";
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
