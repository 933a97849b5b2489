//! A budget for the jobs of one file: what a file makes is bounded, and not only its length.
//!
//! ```text
//! settings x entries, [defaults] x jobs ─▶ jobs, each with all that holds for it ─▶ taken from the budget, job by job
//! ```
//!
//! A job has its whole definition: as text, as the body of its action and as its hook. So a file of n lines
//! can make n x n of them. The budget is that of a file, and so limits its author: no other file has less.
//!
//! Cost: one look at each job.
//!
//! Does not limit what is in force: many files may have many jobs.

use mainspring_cron::Schedule;
use mainspring_job::Exclusion;

use crate::hook::{JobHook, Target};
use crate::jobfile::PlacedJob;
use crate::problem::Fault;
use crate::source::MAX_FILE_BYTES;

/// What the jobs of one file may take. It is enough for the most jobs of a job file with six KiB each, and for
/// some 60,000 entries of a crontab.
pub const MAX_MADE_BYTES: usize = 64 << 20;

// A file whose jobs share nothing makes some copies of it.
const _: () = assert!(16 * MAX_FILE_BYTES <= MAX_MADE_BYTES as u64);

/// What is left for the jobs of a file.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    left: usize,
}

impl Budget {
    pub(crate) fn of_file() -> Budget {
        Budget { left: MAX_MADE_BYTES }
    }

    /// Takes what a job takes.
    ///
    /// # Errors
    ///
    /// A fault without a place if that is more than is left: nothing may be made after it.
    pub(crate) fn take(&mut self, placed: &PlacedJob) -> Result<(), Fault> {
        self.take_bytes(weight(placed))
    }

    /// Takes so many bytes.
    ///
    /// # Errors
    ///
    /// As of [`take`](Budget::take).
    pub(crate) fn take_bytes(&mut self, bytes: usize) -> Result<(), Fault> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                let message = format!(
                    "the jobs up to here take more than {} MiB, with what holds for all of them",
                    MAX_MADE_BYTES >> 20
                );
                let hint =
                    "give fewer jobs in one file, or less in the defaults or settings that each job gets";
                Err(Fault::new(0..0, message).with_hint(hint))
            }
        }
    }
}

/// Roughly how many bytes a job takes.
fn weight(placed: &PlacedJob) -> usize {
    let PlacedJob { job, hook, follows, .. } = placed;
    let exclusion = |exclusion: &Exclusion| match exclusion {
        Exclusion::Times(_) => size_of::<Exclusion>() + size_of::<Schedule>(),
        _ => size_of::<Exclusion>(),
    };
    let labels: usize = job.labels.iter().map(|(name, text)| name.len() + text.len()).sum();
    size_of::<PlacedJob>()
        + job.source.len()
        + job.text.len()
        + job.work.action.body().len()
        + labels
        + job.timetable.exclusions().iter().map(exclusion).sum::<usize>()
        + size_of_val(job.timetable.triggers())
        + size_of_val(follows.as_slice())
        // The file's own, and the job's.
        + 2 * hook_weight(hook)
}

fn hook_weight(hook: &JobHook) -> usize {
    let addresses = |all: &[String]| all.iter().map(|one| size_of::<String>() + one.len()).sum::<usize>();
    let target = |target: &Target| match target {
        Target::Mail(all) => addresses(all),
        Target::Url(text) | Target::Command(text) => text.len(),
    };
    hook.targets.iter().flatten().map(target).sum::<usize>()
        + addresses(&hook.mail_output)
        + hook.ping_url.as_ref().map_or(0, String::len)
        + hook.sendmail.as_os_str().len()
        + hook.summary.len()
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::crontab::Format;
    use crate::loaded::Loaded;
    use crate::source::Source;

    #[test]
    fn the_job_at_which_the_budget_ends_is_a_problem_at_its_place() {
        let defaults = format!("[defaults]\nping_url = 'http://a/{}'\n", "x".repeat(1 << 20));
        let job = |index: usize| format!("[jobs.j{index:03}]\nevery = '1m'\nshell = 'a'\n");
        let jobs: String = (0..100).map(job).collect();
        let value = "x".repeat(15 << 10);
        let setting = |index: usize| format!("A{index}={value}\n");
        let settings: String = (0..10).map(setting).collect();
        let files = [("a.toml", defaults + &jobs, 7), ("a", settings + &"@daily a\n".repeat(400), 1)];
        for (name, text, column) in files {
            let loaded = Loaded::parse(&Source::new(name, text), Format::User, &TimeZone::UTC);
            let made: usize = loaded.jobs.iter().map(weight).sum();
            assert!(!loaded.is_good() && MAX_MADE_BYTES / 2 < made && made <= MAX_MADE_BYTES, "{made}");
            let [problem] = loaded.problems.as_slice() else { panic!("{}", loaded.problems.len()) };
            let last = loaded.jobs.last().expect("some have a place").line_number;
            assert!(last < problem.line_number && problem.line_number <= last + 3, "{name}");
            assert_eq!(problem.column(), column);
            assert!(problem.fault.message.contains("more than 64 MiB"), "{}", problem.fault.message);
        }
    }
}
