//! The text of unit files: sections with keys and values, each with its place.
//!
//! ```text
//! # /etc/systemd/system/backup.timer     as `systemctl cat` writes it: the name of the unit below
//! [Timer]
//! OnCalendar=daily                       a key of the section
//! ExecStart=/bin/a \                     a value continues where a line ends with a backslash
//!   --b                                  comments in between are left out
//! ```
//!
//! Cost: one pass.
//!
//! Does not know what a key means.
//!
//! Source: [systemd.syntax(7)](https://www.freedesktop.org/software/systemd/man/latest/systemd.syntax.html).

use std::ops::Range;

use crate::finding::{Findings, Place, PlacedText};

/// A key of a section, with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) section: String,
    pub(crate) key: String,
    pub(crate) key_place: Place,
    /// Its lines are joined.
    pub(crate) value: PlacedText,
}

/// A unit with all that its files say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unit {
    /// With its suffix.
    pub(crate) name: String,
    /// Where it begins.
    pub(crate) place: Place,
    /// It only adds to the unit of its name.
    pub(crate) is_drop_in: bool,
    pub(crate) entries: Vec<Entry>,
}

impl Unit {
    /// The last value of a key.
    pub(crate) fn last(&self, section: &str, key: &str) -> Option<&PlacedText> {
        let is_it = |entry: &&Entry| entry.section == section && entry.key == key;
        self.entries.iter().rfind(is_it).map(|entry| &entry.value)
    }

    /// Whether it has such a section.
    pub(crate) fn has(&self, section: &str) -> bool {
        self.entries.iter().any(|entry| entry.section == section)
    }
}

/// The units of a file called `name`.
pub(crate) fn units(text: &str, name: &str, file: usize, findings: &mut Findings) -> Vec<Unit> {
    let first = Unit { place: Place { file, span: 0..0 }, ..unit_at(name) };
    let mut parse = Parse { file, units: vec![first], section: String::new(), open: None };
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches(['\n', '\r']);
        parse.line(bare, start, findings);
        start += line.len();
    }
    parse.close();
    parse.units.retain(|unit| !unit.entries.is_empty());
    parse.units
}

struct Parse {
    file: usize,
    units: Vec<Unit>,
    section: String,
    /// An entry whose value continues.
    open: Option<Entry>,
}

impl Parse {
    fn place(&self, span: Range<usize>) -> Place {
        Place { file: self.file, span }
    }

    fn line(&mut self, line: &str, start: usize, findings: &mut Findings) {
        let text = line.trim();
        if text.starts_with(['#', ';']) {
            if let (None, Some(unit)) = (&self.open, unit_named(text)) {
                self.section.clear();
                let place = self.place(start..start + line.len());
                self.units.push(Unit { place, ..unit });
            }
            return;
        }
        if let Some(open) = &mut self.open {
            let goes_on = append(&mut open.value.text, line);
            if !goes_on {
                self.close();
            }
            return;
        }
        if text.is_empty() {
            return;
        }
        let whole = self.place(start..start + line.len());
        if let Some(rest) = text.strip_prefix('[') {
            match rest.strip_suffix(']').filter(|section| !section.is_empty()) {
                Some(section) => section.clone_into(&mut self.section),
                None => findings.problem(&whole, "a section is written [Name]"),
            }
            return;
        }
        let Some((key, value)) = line.split_once('=') else {
            findings.problem(&whole, "expected a section such as [Timer], or Key=value");
            return;
        };
        if self.section.is_empty() {
            findings
                .problem(&whole, "this stands in no section: expected [Unit], [Timer] or [Service] above it");
            return;
        }
        let blanks = value.len() - value.trim_start().len();
        let value_start = start + key.len() + 1 + blanks;
        let indent = key.len() - key.trim_start().len();
        let key_place = self.place(start + indent..start + indent + key.trim().len());
        let value_place = self.place(value_start..(value_start + value.trim().len()).max(value_start));
        let mut given = PlacedText { text: String::new(), place: value_place };
        let goes_on = append(&mut given.text, value);
        let (section, key) = (self.section.clone(), key.trim().to_owned());
        self.open = Some(Entry { section, key, key_place, value: given });
        if !goes_on {
            self.close();
        }
    }

    fn close(&mut self) {
        if let Some(mut entry) = self.open.take() {
            entry.value.text = entry.value.text.trim().to_owned();
            self.units.last_mut().expect("there is always a unit").entries.push(entry);
        }
    }
}

/// Adds a line to a value; whether it continues.
fn append(value: &mut String, line: &str) -> bool {
    let line = line.trim();
    match line.strip_suffix('\\') {
        Some(rest) => {
            value.push_str(rest);
            value.push(' ');
            true
        }
        None => {
            value.push_str(line);
            false
        }
    }
}

/// The unit that a comment of `systemctl cat` names by its path.
fn unit_named(comment: &str) -> Option<Unit> {
    let path = comment.trim_start_matches('#').trim();
    let is_path = path.starts_with('/') && !path.contains(char::is_whitespace);
    let is_unit = |unit: &Unit| unit.name.ends_with(".timer") || unit.name.ends_with(".service");
    is_path.then(|| unit_at(path)).filter(is_unit)
}

/// The unit of the file at a path, or of the drop-in, still without entries.
fn unit_at(path: &str) -> Unit {
    let mut parts = path.rsplit('/');
    let last = parts.next().unwrap_or(path);
    let folder = parts.next().and_then(|folder| folder.strip_suffix(".d"));
    let folder = folder.filter(|_| last.ends_with(".conf"));
    Unit { name: folder.unwrap_or(last).to_owned(), is_drop_in: folder.is_some(), ..Unit::default() }
}
