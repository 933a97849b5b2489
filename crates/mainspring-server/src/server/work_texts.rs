//! The text that describes the work of each job. It is kept, because it takes as long to write as the rest of
//! a row of `list`.
//!
//! Cost: some hundred bytes for each job that was listed. A text is written when its job is first listed, and
//! anew when the job has other work.
//!
//! Does not know timetables, nor how far a job is planned.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use mainspring_action::body::Body;
use mainspring_job::{Action, Job, JobName, Work};

/// How many texts may come before those of jobs that are gone are looked for: a few hundred KiB.
const MAX_STALE: usize = 1_024;

/// What an action does, in short.
pub(super) fn summary(action: &Action) -> String {
    Body::decode(action).map_or_else(|error| error.to_string(), |body| body.summary())
}

/// What is told of a work.
#[derive(Clone, Debug)]
pub(super) struct WorkText {
    of: Arc<Work>,
    /// What is done, in short.
    pub(super) action: String,
    /// By which policies.
    pub(super) policies: String,
}

impl WorkText {
    pub(super) fn of(work: &Arc<Work>) -> WorkText {
        WorkText { of: work.clone(), action: summary(&work.action), policies: work.policies.to_string() }
    }
}

/// The texts of all jobs that were told of.
#[derive(Default)]
pub(super) struct WorkTexts {
    texts: RefCell<HashMap<JobName, Arc<WorkText>>>,
    /// How many there were when those of jobs that are gone were dropped last.
    swept: Cell<usize>,
}

impl WorkTexts {
    /// What is told of a job's work.
    pub(super) fn of(&self, job: &Job) -> Arc<WorkText> {
        let mut texts = self.texts.borrow_mut();
        // Work does not change behind its `Arc`, and the text keeps that, so no other work gets its address.
        if let Some(text) = texts.get(&job.name).filter(|text| Arc::ptr_eq(&text.of, &job.work)) {
            return text.clone();
        }
        let text = Arc::new(WorkText::of(&job.work));
        texts.insert(job.name.clone(), text.clone());
        text
    }

    /// Drops texts of jobs that are gone, once there may be many of them.
    pub(super) fn forget_others(&self, is_there: impl Fn(&JobName) -> bool) {
        let mut texts = self.texts.borrow_mut();
        if self.swept.get() + MAX_STALE < texts.len() {
            texts.retain(|name, _| is_there(name));
            self.swept.set(texts.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_action::body::ProcessBody;
    use mainspring_job::{After, Ending, Timetable};

    fn job(name: &str, shell: &str) -> Job {
        let name = JobName::new(name).expect("a name");
        let body = Body::Process(ProcessBody { shell: Some(shell.to_owned()), ..ProcessBody::default() });
        let timetable = Timetable::new([After::new(name.clone(), Ending::Any)]).expect("one trigger");
        Job::new(name, timetable, Work::new(body.encode().expect("a small body")))
    }

    #[test]
    fn a_text_is_that_of_the_work_that_the_job_has_now() {
        let texts = WorkTexts::default();
        let (first, second) = (job("backup", "first"), job("backup", "second"));
        for job in [&first, &second, &first] {
            assert_eq!(texts.of(job).action, WorkText::of(&job.work).action, "{job:?}");
        }
        assert_eq!(texts.of(&second).action, "second");
        texts.of(&first);
        assert!(Arc::ptr_eq(&texts.of(&first), &texts.of(&first.clone())), "it is kept");
    }

    #[test]
    fn texts_of_jobs_that_are_gone_do_not_stay() {
        let texts = WorkTexts::default();
        for index in 0..=MAX_STALE {
            texts.of(&job(&format!("j{index}"), "kind"));
        }
        texts.forget_others(|name| name.as_str() == "j7");
        assert_eq!(texts.texts.borrow().len(), 1);
        for index in 0..MAX_STALE {
            texts.of(&job(&format!("j{index}"), "kind"));
        }
        texts.forget_others(|_| false);
        assert_eq!(texts.texts.borrow().len(), MAX_STALE, "few enough");
    }
}
