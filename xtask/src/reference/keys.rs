//! The page of the keys of job files: the tables of the code, and [`SECTIONS`].
//!
//! A table of the code is a list of names, of calls `key("name", form, "default", "says")`, or of structs
//! with fields of these names. What it does not say, a row of [`SECTIONS`] says. Where a key may stand in a
//! crontab's comment is read from the code too.
//!
//! Cost: one pass over the tables for each section.

use std::fmt::Write;

use super::code::{constant, elements, file, string_of};
use super::forms;
use super::key_rows::{KeySection, Place, SECTIONS};
use super::notifications;
use crate::tidy::Source;

/// What stands above the tables.
const INTRODUCTION: &str = "A job file has three tables. `[jobs.NAME]` is a job. `[defaults]` holds for each job of the file \
     that does not say otherwise. `[groups.NAME]` has `limit`, how many runs of the group's jobs may run at once, or \
     `rate`, how many may start in a time (`\"10/1s\"`: 1 to 10,000 in 1 ms to 24 h), or both. A table of a job, such as `env`, `secrets` or `labels`, adds to that of `[defaults]`; a policy replaces it. An \
     unknown key is an error. Durations are texts such as `\"90s\"` and `\"1h30m\"`.\n\nA key stands in `job`, the table \
     of a job, in `defaults`, and in `comment`, that above an entry of a crontab, with `-` for `_`; `name` stands there \
     too.\n";

/// A key as the code has it, or as the page does.
#[derive(Default)]
struct Row {
    key: String,
    value: String,
    default: String,
    says: String,
}

/// The page's text.
pub(super) fn text(sources: &[Source]) -> String {
    let of_comment = list(sources, "mainspring-file/src/crontab/note.rs", "KEYS");
    let is_of_comment = |key: &str| of_comment.iter().any(|word| word.key == key.replace('_', "-"));
    let limits = list(sources, "mainspring-action/src/names.rs", "LIMIT_NAMES");
    let limits = limits.iter().map(|name| format!("`{}`", name.key)).collect::<Vec<_>>().join(", ");
    let mut text = INTRODUCTION.to_owned();
    for section in SECTIONS {
        let _ = write!(text, "\n## {}\n", section.title);
        if !section.note.is_empty() {
            let _ = writeln!(text, "{}\n", section.note);
        }
        let is_table = section.place == Place::Table;
        text.push_str(if is_table {
            "| key | value | default | does |\n|---|---|---|---|\n"
        } else {
            "| key | stands in | value | default | does |\n|---|---|---|---|---|\n"
        });
        for Row { key, value, default, says } in rows(sources, section) {
            let mut places = vec!["job"];
            if section.place == Place::JobOrDefaults || key == "webhook" {
                places.push("defaults");
            }
            if is_of_comment(&key) || section.title == "Policies" {
                places.push("comment");
            }
            let places = if is_table { String::new() } else { format!(" {} |", places.join(", ")) };
            let value = value.replace("`LIMIT_NAMES`", &limits);
            let _ = writeln!(text, "| `{key}` |{places} {value} | {default} | {says} |");
        }
        if section.title == "Notifications" {
            text.push_str(&notifications::text(sources));
        }
    }
    text
}

/// The keys of a section, in the order of its rows; those that have none follow.
fn rows(sources: &[Source], section: &KeySection) -> Vec<Row> {
    let mut found: Vec<Row> =
        section.lists.iter().flat_map(|(path, name)| list(sources, path, name)).collect();
    found.retain(|row| section.title != "Process" || !["run", "shell"].contains(&row.key.as_str()));
    for row in &mut found {
        row.key = row.key.replace('-', "_");
        let said = section.rows.iter().find(|(key, ..)| *key == row.key);
        let (_, value, default, says) = said.copied().unwrap_or_default();
        for (cell, other) in [(&mut row.default, default), (&mut row.says, says)] {
            if cell.is_empty() {
                other.clone_into(cell);
            }
        }
        if !value.is_empty() {
            value.clone_into(&mut row.value);
        }
        if section.title == "Policies" && !row.default.starts_with('`') {
            row.default = format!("`{}`", row.default);
        }
    }
    let place = |row: &Row| section.rows.iter().position(|(key, ..)| *key == row.key);
    found.sort_by_key(|row| place(row).unwrap_or(usize::MAX));
    found
}

/// The rows of a list in the code: a constant, or a variable of a function.
fn list(sources: &[Source], path: &str, name: &str) -> Vec<Row> {
    let Some(source) = file(sources, &format!("crates/{path}")) else { return Vec::new() };
    if let Some(constant) = constant(source, name) {
        return elements(&constant.expr)
            .into_iter()
            .filter_map(|element| row(sources, source, element))
            .collect();
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
            let text = |name: &str| {
                let field = row
                    .fields
                    .iter()
                    .find(|field| matches!(&field.member, syn::Member::Named(found) if found == name))?;
                string_of(&field.expr)
            };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{sources, workspace_root};

    #[test]
    fn each_key_of_the_code_is_explained_and_each_row_has_its_key() {
        let sources = sources(&workspace_root());
        for section in SECTIONS {
            let found = rows(&sources, section);
            for row in &found {
                assert!(!row.says.is_empty(), "{}: {} has no text", section.title, row.key);
            }
            for (key, ..) in section.rows {
                assert!(found.iter().any(|row| row.key == *key), "{}: there is no key {key}", section.title);
            }
        }
    }
}
