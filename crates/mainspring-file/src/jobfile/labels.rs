//! The labels of a job: `labels = { team = "ops", service = "billing" }`.
//!
//! The labels of `[defaults]` are added to a job's own, which take precedence.
//!
//! Cost: one pass.
//!
//! Does not choose jobs by them: see [`Selector`].

use std::collections::BTreeMap;

use mainspring_job::{MAX_LABEL_BYTES, MAX_LABELS};

use super::fields::{Faults, Fields, text_of};
use crate::problem::Fault;

/// Reads the labels, and says what is wrong with them.
pub(super) fn read(fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    let Some(table) = fields.table("labels", faults) else { return labels };
    for (name, value) in table.all() {
        if let Some(text) = text_of(value, faults) {
            if let Err(message) = check(name.get_ref(), text.value) {
                faults.push(Fault::new(name.span(), message));
            }
            labels.insert(name.get_ref().to_string(), text.value.to_owned());
        }
        if labels.len() == MAX_LABELS + 1 {
            faults.push(Fault::new(name.span(), too_many()));
        }
    }
    labels
}

/// Whether a job may have these labels.
///
/// # Errors
/// What is wrong with one of them, or that there are too many.
pub fn check_labels(labels: &BTreeMap<String, String>) -> Result<(), String> {
    if MAX_LABELS < labels.len() {
        return Err(too_many());
    }
    labels.iter().try_for_each(|(name, text)| check(name, text))
}

fn too_many() -> String {
    format!("a job has at most {MAX_LABELS} labels")
}

/// Whether a label may be so.
fn check(name: &str, text: &str) -> Result<(), String> {
    let is_plain = |found: char| found.is_ascii_alphanumeric() || "-_./".contains(found);
    if name.is_empty() || MAX_LABEL_BYTES < name.len() || !name.chars().all(is_plain) {
        let rule = format!("expected at most {MAX_LABEL_BYTES} letters, digits and -_./");
        return Err(format!("`{name}` is no name of a label: {rule}"));
    }
    if MAX_LABEL_BYTES < text.len() || text.chars().any(char::is_control) {
        let rule = format!("expected at most {MAX_LABEL_BYTES} bytes, and no control characters");
        return Err(format!("the text of the label `{name}` is not allowed: {rule}"));
    }
    Ok(())
}

/// Chooses jobs: those with all of these labels.
///
/// ```
/// use std::collections::BTreeMap;
/// use mainspring_file::jobfile::Selector;
///
/// let selector = Selector::parse(&["team=ops"]).unwrap();
/// assert!(selector.holds(&BTreeMap::from([("team".to_owned(), "ops".to_owned())])));
/// assert!(!selector.holds(&BTreeMap::new()));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector(Vec<(String, String)>);

impl Selector {
    /// Reads `name=text` for each label.
    ///
    /// # Errors
    ///
    /// When one of them is not that.
    pub fn parse(texts: &[impl AsRef<str>]) -> Result<Selector, String> {
        let pair = |text: &str| {
            let (name, value) =
                text.split_once('=').ok_or_else(|| format!("`{text}` is no label: name=text"))?;
            check(name, value)?;
            Ok((name.to_owned(), value.to_owned()))
        };
        let pairs = texts.iter().map(|text| pair(text.as_ref()));
        pairs.collect::<Result<_, String>>().map(Selector)
    }

    /// Whether a job with these labels is chosen.
    pub fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|(name, text)| labels.get(name) == Some(text))
    }
}
