//! The workers on which a run may start, where a store has several: `on=gpu,region=eu`.
//!
//! | text | a run starts |
//! |---|---|
//! | `any` | at any worker that has what its action needs |
//! | `gpu,region=eu` | at one that has both of these labels too |
//! | `all` | at each of them: there is a run for each worker |
//! | `all,gpu` | at each that has the label |
//!
//! Cost: a reference to the labels, which jobs and their runs share.
//!
//! Does not know which workers there are.
//!
//! Source: the node selector of Kubernetes, and the system batch jobs of Nomad.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::text::PolicyError;
use crate::worker::{Needs, WorkerLabel};

/// The most labels of a selector.
pub const MAX_SELECTOR_LABELS: usize = 16;

const ANY: &str = "any";
const ALL: &str = "all";

/// Labels that a worker must have, and whether each that has them gets a run. The default is a run at any.
///
/// # Example
/// ```
/// use mainspring_job::WorkerSelector;
///
/// let selector: WorkerSelector = "region=eu,gpu".parse()?;
/// assert_eq!(selector.to_string(), "gpu,region=eu", "the order does not matter");
/// assert_eq!(WorkerSelector::default().to_string(), "any");
/// assert!("all,gpu".parse::<WorkerSelector>()?.is_each() && !selector.is_each());
/// # Ok::<(), mainspring_job::PolicyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct WorkerSelector {
    is_each: bool,
    labels: Arc<[WorkerLabel]>,
}

impl WorkerSelector {
    /// The labels, in order.
    pub fn labels(&self) -> &[WorkerLabel] {
        &self.labels
    }

    /// Whether each worker that has the labels gets a run of its own.
    pub const fn is_each(&self) -> bool {
        self.is_each
    }

    /// What an action needs, and these.
    pub(crate) fn add_to(&self, needs: Needs) -> Needs {
        if self.labels.is_empty() {
            return needs;
        }
        let own = self.labels.iter().map(|label| (label.clone(), 0));
        Needs::new(needs.iter().cloned().chain(own))
    }
}

impl fmt::Display for WorkerSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scope = match (self.is_each, self.labels.is_empty()) {
            (true, _) => Some(ALL),
            (false, true) => Some(ANY),
            (false, false) => None,
        };
        let words = scope.into_iter().chain(self.labels.iter().map(WorkerLabel::as_str));
        f.write_str(&words.collect::<Vec<_>>().join(","))
    }
}

impl FromStr for WorkerSelector {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<WorkerSelector, PolicyError> {
        if text == ANY {
            return Ok(WorkerSelector::default());
        }
        let wrong =
            || PolicyError::new("on", text, "labels with commas between, such as gpu,region=eu; any; or all");
        let mut labels =
            text.split(',').map(WorkerLabel::new).collect::<Result<Vec<_>, _>>().map_err(|_| wrong())?;
        labels.sort_unstable();
        labels.dedup();
        let count = labels.len();
        labels.retain(|label| label.as_str() != ALL);
        if MAX_SELECTOR_LABELS < labels.len() || labels.iter().any(|label| label.as_str() == ANY) {
            return Err(wrong());
        }
        Ok(WorkerSelector { is_each: labels.len() < count, labels: labels.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_list_of_labels_is_refused() {
        let many = (0..=MAX_SELECTOR_LABELS).map(|number| format!("l{number}")).collect::<Vec<_>>().join(",");
        for bad in ["", ",", "gpu,", "any,gpu", "any,all", "all,", "a\u{7}", &many] {
            let error = bad.parse::<WorkerSelector>().unwrap_err();
            assert!(error.to_string().contains("labels with commas between"), "{bad}: {error}");
        }
        assert_eq!("gpu,gpu".parse::<WorkerSelector>().unwrap().labels().len(), 1);
        for (text, shown) in
            [("all", "all"), ("gpu,all", "all,gpu"), ("region=eu,all,gpu", "all,gpu,region=eu")]
        {
            let selector: WorkerSelector = text.parse().unwrap();
            assert_eq!((selector.to_string().as_str(), selector.is_each()), (shown, true));
            assert_eq!(shown.parse(), Ok(selector));
        }
    }
}
