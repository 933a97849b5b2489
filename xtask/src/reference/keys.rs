//! The keys of job files: the tables of the code, and the rows of the page for what these do not say.
//!
//! ```text
//! @keys job,defaults mainspring-file/src/jobfile/timetable.rs OPTIONS
//! | zone | a name of the IANA database | `serve --tz`, else the system's | the zone of expressions |
//! ```
//!
//! Words behind the name of the list are keys that are left out.
//!
//! A table of the code is a list of names, of calls `key("name", form, "default", "says")`, or of structs
//! with fields of these names. Where a key may stand in a crontab's comment is read from the code too.
//!
//! Cost: one pass over the tables for each section.

use std::fmt::Write;

use super::code::{self, field, file, string_of};
use super::forms;
use crate::tidy::Source;

/// A key as the code has it, or as the page does.
#[derive(Default)]
struct Row {
    key: String,
    value: String,
    default: String,
    says: String,
}

/// The rows of the keys of a list, in the order in which the page says them; those that it does not follow.
/// `of` has the places where they stand, with commas between, or `table`; the file and the name of the list;
/// and the keys that are left out.
pub(super) fn rows(sources: &[Source], of: &[&str], order: &[String]) -> String {
    let [places, path, name, left_out @ ..] = of else { return String::new() };
    let order: Vec<Vec<&str>> =
        order.iter().map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect();
    let mut found = list(sources, path, name);
    found.retain(|row| !left_out.contains(&row.key.as_str()));
    for row in &mut found {
        row.key = row.key.replace('-', "_");
        let Some(cells) = order.iter().find(|cells| cells[0] == row.key) else { continue };
        for (cell, other) in [&mut row.value, &mut row.default, &mut row.says].into_iter().zip(&cells[1..]) {
            (*other).clone_into(cell);
        }
    }
    for cells in &order {
        assert!(found.iter().any(|row| row.key == cells[0]), "{path} has no key {}", cells[0]);
    }
    found.sort_by_key(|row| order.iter().position(|cells| cells[0] == row.key).unwrap_or(usize::MAX));
    let of_comment = list(sources, "mainspring-file/src/crontab/note.rs", "KEYS");
    let is_policy = places.contains("comment");
    let mut text = String::new();
    for Row { key, value, mut default, says } in found {
        assert!(!says.is_empty(), "{path}: what {key} does is not said");
        let is_of_comment = of_comment.iter().any(|word| word.key == key.replace('_', "-"));
        let mut shown = places.replace(',', ", ");
        shown.push_str(if key == "webhook" { ", defaults" } else { "" });
        shown.push_str(if is_of_comment { ", comment" } else { "" });
        let shown = if *places == "table" { String::new() } else { format!(" {shown} |") };
        if is_policy && !default.starts_with('`') {
            default = format!("`{default}`");
        }
        let _ = writeln!(text, "| `{key}` |{shown} {value} | {default} | {says} |");
    }
    text
}

/// The rows of a list in the code: a constant, or a variable of a function.
fn list(sources: &[Source], path: &str, name: &str) -> Vec<Row> {
    let source = file(sources, path);
    let elements = code::list(sources, path, name);
    if !elements.is_empty() {
        let rows: Vec<Row> = elements.iter().filter_map(|element| row(sources, source, element)).collect();
        assert_eq!(rows.len(), elements.len(), "{name}: each row is read");
        return rows;
    }
    let within = source.text.split_once(&format!("let {name} = [")).map_or("", |(_, rest)| rest);
    let words = within.split(']').next().unwrap_or_default().split(',');
    let words = words.map(|word| word.trim().trim_matches('"')).filter(|word| !word.is_empty());
    words.map(|word| Row { key: word.to_owned(), ..Row::default() }).collect()
}

/// An element of a list.
fn row(sources: &[Source], source: &Source, element: &syn::Expr) -> Option<Row> {
    match element {
        syn::Expr::Call(call) => {
            let text = |index: usize| call.args.get(index).and_then(string_of);
            Some(Row {
                key: text(0)?,
                value: forms::value(sources, source, call.args.get(1)?)?,
                default: text(2).unwrap_or_default(),
                says: text(3).unwrap_or_default(),
            })
        }
        syn::Expr::Struct(row) => {
            let text = |name: &str| field(row, name).and_then(string_of);
            Some(Row {
                key: text("name")?,
                value: text("value").unwrap_or_default(),
                default: text("default").unwrap_or_default(),
                says: text("says").unwrap_or_default(),
            })
        }
        _ => Some(Row { key: string_of(element)?, ..Row::default() }),
    }
}
