//! Documents of starts, which workers are told.
//!
//! Cost: the text of the action is copied once when it is written, and once when it is read.
//!
//! Does not know the formats of actions: their executors do.

use std::sync::Arc;

use jiff::Timestamp;
use mainspring_job::{Action, Assignment, Cause, JobName, Policies, Start, Work};
use serde::{Deserialize, Serialize};

/// A start without its key, which stands beside it.
#[derive(Debug, Serialize, Deserialize)]
struct Document {
    cause: Cause,
    due: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_before: Option<Timestamp>,
    fence: u64,
    kind: String,
    body: String,
    policies: Policies,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<JobName>,
    priority: i8,
}

/// The assignment of a start.
pub(super) fn written(start: &Start) -> Assignment {
    let Start { key, attempt, worker, cause, due, not_before, work, fence, .. } = start;
    let document = Document {
        cause: *cause,
        due: *due,
        not_before: *not_before,
        fence: *fence,
        kind: work.action.kind().to_owned(),
        body: work.action.body().to_owned(),
        policies: work.policies.clone(),
        group: work.group.clone(),
        priority: work.priority,
    };
    let text = serde_json::to_string(&document).expect("texts and numbers are a document");
    let assignment = Assignment::new(*worker, key.clone(), *attempt, text);
    debug_assert!(read(&assignment).is_ok_and(|read| read.fence == *fence), "a worker reads what is written");
    assignment
}

/// The start of an assignment.
///
/// # Errors
/// When the planner is of a version whose document is another.
pub(super) fn read(assignment: &Assignment) -> Result<Start, String> {
    let Document { cause, due, not_before, fence, kind, body, policies, group, priority } =
        serde_json::from_str(&assignment.document).map_err(|error| error.to_string())?;
    let action = Action::new(kind, body).map_err(|error| error.to_string())?;
    let mut work = Work::new(action).with_policies(policies);
    (work.group, work.priority) = (group, priority);
    let (key, attempt, worker) = (assignment.key.clone(), assignment.attempt, assignment.worker);
    let mut start = Start::new(key, attempt, worker, Arc::new(work));
    (start.cause, start.due, start.not_before, start.fence) = (cause, due, not_before, fence);
    Ok(start)
}

#[cfg(test)]
mod tests {
    use mainspring_job::WorkerId;

    use super::*;

    #[test]
    fn a_start_comes_back_as_it_was() {
        let mut work = Work::new(Action::new("process", "{\"run\": [\"a \\u0000 b\"]}").unwrap());
        work = work.with_policies("retry=3 overlap=queue-one".parse().unwrap());
        (work.group, work.priority) = (Some("g".parse().unwrap()), -3);
        let key = "backup@2026-11-21T03:00:00Z".parse().unwrap();
        let mut start = Start::new(key, 2, WorkerId(7), Arc::new(work));
        (start.cause, start.fence) = (Cause::Request, u64::MAX);
        start.due = "2026-11-21T03:00:00.25Z".parse().unwrap();
        for not_before in [None, Some(start.due)] {
            start.not_before = not_before;
            assert_eq!(read(&written(&start)), Ok(start.clone()));
        }
        let key = start.key.clone();
        assert!(read(&Assignment::new(WorkerId(7), key, 2, "{\"cause\": 3}")).is_err());
    }
}
