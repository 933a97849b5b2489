//! The scheduled jobs: each puts another policy at stake.

use std::path::Path;

use jiff::Timestamp;

/// A scheduled job.
pub(crate) struct ScheduledJob {
    pub(crate) name: &'static str,
    pub(crate) period_s: i64,
    /// How long each attempt lasts.
    sleep_ms: u64,
    /// How many attempts fail first.
    failures: u32,
    /// The most retries, and whether an abandoned attempt is one that is retried.
    pub(crate) retries: u32,
    pub(crate) retries_abandoned: bool,
    policies: &'static str,
}

const fn job(name: &'static str, period_s: i64, sleep_ms: u64, policies: &'static str) -> ScheduledJob {
    ScheduledJob { name, period_s, sleep_ms, failures: 0, retries: 0, retries_abandoned: false, policies }
}

const fn retried(
    mut job: ScheduledJob,
    failures: u32,
    retries: u32,
    retries_abandoned: bool,
) -> ScheduledJob {
    (job.failures, job.retries, job.retries_abandoned) = (failures, retries, retries_abandoned);
    job
}

/// All of them.
pub(crate) const JOBS: &[ScheduledJob] = &[
    job("second", 1, 0, "overlap = 'allow'\ndead_letters = 'never'"),
    job("strict", 1, 20, "misfire = 'none,grace=0s'"),
    job("latest", 1, 0, "misfire = 'latest,grace=0s,spread=0s'"),
    job("all", 2, 0, "misfire = 'all,cap=5,grace=0s,spread=1s'"),
    retried(job("failing", 2, 0, "overlap = 'allow'\ndead_letters = 'never'"), 1, 3, false),
    retried(job("again", 1, 100, "overlap = 'allow'\ndead_letters = 'never'"), 1, 4, true),
    job("skipping", 1, 1_300, "overlap = 'skip'"),
    retried(job("queueing", 1, 700, "overlap = 'queue-all,cap=3'"), 0, 2, true),
];

/// The job file. `program` is this program, `effects` the file that it writes; after `end_ns` nothing is due.
pub(crate) fn text(program: &Path, effects: &Path, end_ns: Option<i64>) -> String {
    let end = end_ns.and_then(|end_ns| Timestamp::from_nanosecond(end_ns.into()).ok());
    let end = end.map_or_else(String::new, |end| format!("end = {end:.3}\n"));
    JOBS.iter().map(|job| format!("{}{end}\n", table(job, program, effects))).collect()
}

fn table(job: &ScheduledJob, program: &Path, effects: &Path) -> String {
    let ScheduledJob { name, period_s, sleep_ms, failures, retries, policies, .. } = job;
    let on = if job.retries_abandoned { "failed+abandoned" } else { "failed" };
    format!(
        "[jobs.{name}]\nevery = '{period_s}s'\ncwd = '/'\n\
         run = ['{}', 'effect', '{}', '{name}', '{sleep_ms}', '{failures}']\n\
         retry = '{retries},backoff=100ms,factor=1,on={on}'\nretention = 'keep=1000000'\n{policies}\n",
        program.display(),
        effects.display()
    )
}
