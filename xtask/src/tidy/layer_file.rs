//! The rows of `xtask/layers.toml`: what the modules of the pure crates may import, and where unsafe code is.
//!
//! ```text
//! pure = ["mainspring_job"]                          crates each module of which has a row
//! [layers]
//! "mainspring_job::hook" = ["jiff"]                  a module and all below it; what it may name
//! [unsafe]
//! "crates/mainspring-exec/src/sys.rs" = "reason"     a file; why
//! ```
//!
//! The file is TOML with one row a line, each section sorted, so that two branches that add rows rarely meet.
//! A line of any other form is a finding.
//!
//! Cost: one pass. It does not read TOML at large: no escapes, no values over several lines.

use std::path::Path;

use super::Finding;

/// The file, from the workspace's root.
pub const PATH: &str = "xtask/layers.toml";

/// A row of the section `layers`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// A module, and all below it.
    pub module: String,
    /// The modules and crates that it may name, and all below those.
    pub may_use: Vec<String>,
}

/// The file, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerFile {
    /// Crates, as code names them, each module of which has a row.
    pub pure: Vec<String>,
    /// The rows, in the order of the file.
    pub layers: Vec<Layer>,
    /// The files that may hold unsafe code, from the workspace's root.
    pub unsafe_files: Vec<String>,
}

impl LayerFile {
    /// Reads the text, and names each line that is no row or out of order.
    pub fn parse(text: &str) -> (LayerFile, Vec<Finding>) {
        let mut file = LayerFile::default();
        let mut findings = Vec::new();
        let mut section = "";
        let mut last_name = String::new();
        for (index, line) in text.lines().map(str::trim).enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                section = name;
                last_name.clear();
                continue;
            }
            let is_added = file.add(section, line);
            let name = line.split('"').nth(1).unwrap_or_default();
            if !is_added {
                let text = "the line is no row: see xtask/src/tidy/layer_file.rs";
                findings.push(Finding::new(Path::new(PATH), index + 1, text));
            } else if name <= last_name.as_str() {
                let text = format!("`{name}` stands after `{last_name}`: the rows are sorted");
                findings.push(Finding::new(Path::new(PATH), index + 1, text));
            }
            name.clone_into(&mut last_name);
        }
        (file, findings)
    }

    /// Takes one line into its section; false for a line that is no row of it.
    fn add(&mut self, section: &str, line: &str) -> bool {
        let Some((key, value)) = line.split_once(" = ") else { return false };
        let is_list = value.starts_with('[') && value.ends_with(']');
        let mut quoted = line.split('"').skip(1).step_by(2).map(str::to_owned);
        match section {
            "" if key == "pure" && is_list => self.pure = quoted.collect(),
            "layers" if key.starts_with('"') && is_list => {
                let Some(module) = quoted.next() else { return false };
                self.layers.push(Layer { module, may_use: quoted.collect() });
            }
            "unsafe" if key.starts_with('"') && value.starts_with('"') => {
                self.unsafe_files.extend(quoted.next());
            }
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_are_read() {
        let text = "# A comment.\npure = [\"a\", \"b\"]\n\n[layers]\n\"a\" = []\n\"a::c\" = [\"a\", \"jiff\"]\n\
            [unsafe]\n\"crates/a/src/c.rs\" = \"why\"\n";
        let layer = |module: &str, may_use: &[&str]| Layer {
            module: module.to_owned(),
            may_use: may_use.iter().map(|&used| used.to_owned()).collect(),
        };
        let expected = LayerFile {
            pure: vec!["a".to_owned(), "b".to_owned()],
            layers: vec![layer("a", &[]), layer("a::c", &["a", "jiff"])],
            unsafe_files: vec!["crates/a/src/c.rs".to_owned()],
        };
        assert_eq!(LayerFile::parse(text), (expected, Vec::new()));
    }

    #[test]
    fn a_line_that_is_no_row_or_out_of_order_is_named() {
        let text = "[layers]\n\"b\" = []\n\"a\" = []\n\"c\"\n\"d\" = \"e\"\n[unsafe]\n\"a\" = []\n[other]\n\"a\" = []\n";
        let lines: Vec<usize> = LayerFile::parse(text).1.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [3, 4, 5, 7, 9]);
    }
}
