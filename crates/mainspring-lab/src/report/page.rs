//! The page: one file of HTML with every plot in it, a table beneath each, and the machine.
//!
//! Cost: the size of the plots, some hundred kilobytes. It does not load anything, nor run anything.

use std::fmt::Write;

use super::Plot;
use crate::case::Workload;
use crate::explain::explain;
use crate::machine::Machine;
use crate::results::Results;
use crate::table::{Table, cell_text};

const STYLE: &str = "
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { margin-bottom: 0 } h2 { margin-top: 3rem; border-top: 1px solid #ddd; padding-top: 1rem }
table { border-collapse: collapse; margin: 1rem 0; font-size: 14px; font-variant-numeric: tabular-nums }
td, th { padding: .15rem .7rem; border-bottom: 1px solid #e5e5e5; text-align: right }
td:first-child, th:first-child { text-align: left }
figure { margin: 1rem 0 } .scroll { overflow-x: auto } .machine, .remark { color: #555 } details { margin: 1rem 0 }
";

/// A workload's part of the page.
#[derive(Clone, Debug)]
pub struct Section {
    /// Which.
    pub workload: Workload,
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
        let name = section.workload.name();
        let _ = write!(page, "<a href=\"#{name}\">{name} {}</a> &nbsp; ", explain(section.workload).title);
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
    let explanation = explain(section.workload);
    let name = section.workload.name();
    let _ = writeln!(page, "<h2 id=\"{name}\">{name}: {}</h2>", explanation.title);
    let _ = writeln!(page, "<p>{} {}</p>", escape(explanation.work), escape(explanation.purpose));
    let (remark, subjects) = (escape(explanation.remark), escape(explanation.subjects));
    let _ = writeln!(page, "<p class=\"remark\">{remark} Measured by: {subjects}</p>");
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
    *page +=
        "<h2>Not measured, and why</h2>\n<table><tr><th>workload</th><th>subject</th><th>reason</th></tr>\n";
    let mut rows: Vec<String> = Vec::new();
    for skipped in &results.skipped {
        let (subject, reason) = (escape(&skipped.subject), escape(&skipped.reason));
        let row = format!("<tr><td>{}</td><td>{subject}</td><td>{reason}</td></tr>\n", skipped.case.workload);
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    *page += &rows.concat();
    *page += "</table>\n";
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
