//! The workers on which a run may start, where a store has several: `on=gpu,region=eu`.
//!
//! | text | a run starts |
//! |---|---|
//! | `any` | at any worker that has what its action needs |
//! | `gpu,region=eu` | at one that has both of these labels too |
//!
//! Cost: a reference to the labels, which jobs and their runs share.
//!
//! Does not know which workers there are.
//!
//! Source: the node selector of Kubernetes.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::text::PolicyError;
use crate::worker::{Needs, WorkerLabel};

/// The most labels of a selector.
pub const MAX_SELECTOR_LABELS: usize = 16;

const ANY: &str = "any";

/// Labels that a worker must have. The default selects every worker.
///
/// # Example
/// ```
/// use mainspring_job::WorkerSelector;
///
/// let selector: WorkerSelector = "region=eu,gpu".parse()?;
/// assert_eq!(selector.to_string(), "gpu,region=eu", "the order does not matter");
/// assert_eq!(WorkerSelector::default().to_string(), "any");
/// # Ok::<(), mainspring_job::PolicyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct WorkerSelector(Arc<[WorkerLabel]>);

impl WorkerSelector {
    /// The labels, in order.
    pub fn labels(&self) -> &[WorkerLabel] {
        &self.0
    }

    /// What an action needs, and these.
    pub(crate) fn add_to(&self, needs: Needs) -> Needs {
        if self.0.is_empty() {
            return needs;
        }
        let own = self.0.iter().map(|label| (label.clone(), 0));
        Needs::new(needs.iter().cloned().chain(own))
    }
}

impl fmt::Display for WorkerSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(ANY);
        }
        self.0.iter().enumerate().try_for_each(|(index, label)| {
            f.write_str(if index == 0 { "" } else { "," })?;
            write!(f, "{label}")
        })
    }
}

impl FromStr for WorkerSelector {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<WorkerSelector, PolicyError> {
        if text == ANY {
            return Ok(WorkerSelector::default());
        }
        let wrong =
            || PolicyError::new("on", text, "labels with commas between, such as gpu,region=eu; or any");
        let mut labels =
            text.split(',').map(WorkerLabel::new).collect::<Result<Vec<_>, _>>().map_err(|_| wrong())?;
        labels.sort_unstable();
        labels.dedup();
        if MAX_SELECTOR_LABELS < labels.len() || labels.iter().any(|label| label.as_str() == ANY) {
            return Err(wrong());
        }
        Ok(WorkerSelector(labels.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_list_of_labels_is_refused() {
        let many = (0..=MAX_SELECTOR_LABELS).map(|number| format!("l{number}")).collect::<Vec<_>>().join(",");
        for bad in ["", ",", "gpu,", "any,gpu", "a\u{7}", &many] {
            let error = bad.parse::<WorkerSelector>().unwrap_err();
            assert!(error.to_string().contains("labels with commas between"), "{bad}: {error}");
        }
        assert_eq!("gpu,gpu".parse::<WorkerSelector>().unwrap().labels().len(), 1);
    }
}
