//! The hook of the jobs in a history: one notification for each notice that the manual promises, to one
//! target.

use std::time::Duration;

use mainspring_job::{Action, Call, Hook, Notice, NoticeKind, Work};

/// Who gets all notifications of a history.
const TARGET: &str = "ada";

/// A hook that reports failures, recoveries, missed occurrences and silence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReportingHook {
    pub silent_after: Option<Duration>,
}

impl Hook for ReportingHook {
    fn calls(&self, notice: &Notice) -> Vec<Call> {
        if matches!(notice.kind, NoticeKind::Started | NoticeKind::Ended) {
            return Vec::new();
        }
        let run = notice.run.as_ref().map_or_else(String::new, ToString::to_string);
        let work = Work::new(Action::new("tell", format!("{run} {}", notice.count)).unwrap());
        vec![Call::new(Some(TARGET.to_owned()), work)]
    }

    fn more(&self, _target: &str) -> Option<Work> {
        Some(Work::new(Action::new("tell", "more").unwrap()))
    }

    fn silent_after(&self) -> Option<Duration> {
        self.silent_after
    }

    fn text(&self) -> String {
        format!("{self:?}")
    }
}
