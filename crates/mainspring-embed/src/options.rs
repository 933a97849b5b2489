//! Options of a job or a handler beside its function: its name, and the rules for its runs.
//!
//! Cost: none worth a word.
//!
//! Does not explain the rules: the pages of [`Policies`] and its parts do.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use mainspring_file::hook::MAX_TARGETS;
use mainspring_file::jobfile::check_labels;
use mainspring_job::{CatchUp, DeadLetters, Group, JobName, NoticeKind, Overlap, Policies, WorkerSelector};
use serde_json::Value;

use crate::bounds::Bounds;
use crate::error::Error;
use crate::handler_error::HandlerError;
use crate::notice::Notify;
use crate::payload::{Form, Upgrade};

/// A name and the rules for its runs. A text alone is a name with the usual rules.
///
/// # Example
/// ```
/// use mainspring_embed::{Options, Overlap};
/// use std::time::Duration;
///
/// let options = Options::new("charge")
///     .retry(5)
///     .backoff(Duration::from_secs(2))
///     .timeout(Duration::from_secs(30))
///     .overlap(Overlap::QueueOne)
///     .group("payments", 2);
/// # let _ = options;
/// ```
#[must_use = "options are given to a job or a handler"]
pub struct Options {
    pub(crate) name: String,
    pub(crate) policies: Policies,
    pub(crate) group: Option<(String, Bounds)>,
    pub(crate) priority: i8,
    pub(crate) max_runs: Option<u64>,
    pub(crate) version: u32,
    pub(crate) upgrade: Option<Upgrade>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) notify: Notify,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("name", &self.name).finish_non_exhaustive()
    }
}

impl From<&str> for Options {
    fn from(name: &str) -> Options {
        Options::new(name)
    }
}

impl From<String> for Options {
    fn from(name: String) -> Options {
        Options::new(name)
    }
}

impl Options {
    /// The usual rules under a name of at most 128 characters: letters and digits of ASCII, and `._+-:@~`.
    /// What is beyond the limit of a rule is refused by [`start`](crate::Builder::start).
    pub fn new(name: impl Into<String>) -> Options {
        Options {
            name: name.into(),
            policies: Policies::default(),
            group: None,
            priority: 0,
            max_runs: None,
            version: 0,
            upgrade: None,
            labels: BTreeMap::new(),
            notify: Notify::default(),
        }
    }

    /// All policies at once, as a job file may say them: `"retry=3 overlap=queue-one".parse()?`.
    pub fn policies(self, policies: Policies) -> Options {
        Options { policies, ..self }
    }

    /// How often a failure is tried again, at most 1,000 times; 0, the usual, is never. A run that has used
    /// its attempts up is a dead letter.
    pub fn retry(mut self, max: u32) -> Options {
        self.policies.retry.max = max;
        self
    }

    /// The wait before the first retry, ten seconds unless told, and at most 31 days; each further one is
    /// twice as long, up to an hour.
    pub fn backoff(mut self, wait: Duration) -> Options {
        self.policies.retry.backoff = wait;
        self
    }

    /// A run that was cut off by the end of the program is tried again as well: at least once, and no longer
    /// at most once.
    pub fn retry_abandoned(mut self) -> Options {
        self.policies.retry.on.abandoned = true;
        self
    }

    /// How long an attempt may take before it is told to stop: at most 36,525 days, and without end, unless
    /// told.
    pub fn timeout(mut self, after: Duration) -> Options {
        self.policies.timeout.after = Some(after);
        self
    }

    /// How long an attempt that was told to stop may take to end, ten seconds unless told, and at most an
    /// hour. Then a future is dropped, and a function is left to itself.
    pub fn stop_grace(mut self, grace: Duration) -> Options {
        self.policies.timeout.kill.grace = grace;
        self
    }

    /// What becomes of occurrences whose time passed while no program ran: the latest is caught up,
    /// unless told. The `cap` of [`CatchUp::All`] is from 1 to 1,000.
    pub fn misfire(mut self, catch_up: CatchUp) -> Options {
        self.policies.misfire.catch_up = catch_up;
        self
    }

    /// How old what is caught up may be, and within how long after the start it begins: a day and two
    /// minutes, unless told; at most 36,525 days and a day.
    pub fn misfire_within(mut self, window: Duration, spread: Duration) -> Options {
        (self.policies.misfire.window, self.policies.misfire.spread) = (window, spread);
        self
    }

    /// What if the job's last run still runs: the next is skipped, unless told. The `cap` of
    /// [`Overlap::QueueAll`] is from 1 to 1,000.
    pub fn overlap(mut self, overlap: Overlap) -> Options {
        self.policies.overlap = overlap;
        self
    }

    /// How much history of a job is kept: so many runs, none older than so many days. A hundred and ninety,
    /// unless told; from 1 to 1,000,000 runs, and from 1 to 36,525 days. Of submissions the newest 10,000 are
    /// kept, of all handlers together, none older than 90 days.
    pub fn retention(mut self, runs: u32, days: u32) -> Options {
        (self.policies.retention.keep, self.policies.retention.days) = (runs, days);
        self
    }

    /// Whether failures wait for a person to look: after their retries, unless told.
    pub fn dead_letters(mut self, rule: DeadLetters) -> Options {
        self.policies.dead_letters = rule;
        self
    }

    /// How much later than its nominal time a run may start, by a hash of its job and of that time: at most a
    /// day.
    pub fn jitter(mut self, longest: Duration) -> Options {
        self.policies.jitter = longest;
        self
    }

    /// After so many failed runs in a row the job is paused, until a person resumes it.
    pub fn pause_after(mut self, failures: u32) -> Options {
        self.policies.pause_after = Some(failures.max(1));
        self
    }

    /// A group whose runs share bounds, whichever jobs and handlers they are of: so many at a time, as in
    /// `group("bank", 2)`, or so many starts in a time, as in
    /// `group("bank", Bounds::rate(10, Duration::from_secs(1)))`. A handler that is alone in its group has a
    /// rate of its own. Where several say bounds of one group, all of them hold. Its
    /// name is at most 128 characters long.
    pub fn group(self, name: impl Into<String>, bounds: impl Into<Bounds>) -> Options {
        Options { group: Some((name.into(), bounds.into())), ..self }
    }

    /// In which programs it may run where several share a database: `"gpu,region=eu".parse()?` has it run
    /// where both labels are, and of a job with a schedule `all` is a run in each program. At most 16 labels.
    /// See `Builder::label`.
    pub fn on(mut self, workers: WorkerSelector) -> Options {
        self.policies.on = workers;
        self
    }

    /// Who starts first when there are more than may run: higher before lower, 0 unless told.
    pub fn priority(self, priority: i8) -> Options {
        Options { priority, ..self }
    }

    /// A job with a schedule is done after so many runs.
    pub fn max_runs(self, count: u64) -> Options {
        Options { max_runs: Some(count.max(1)), ..self }
    }

    /// A word about a job with a schedule, by which `mainspring list --label` chooses: at most 16 of at most
    /// 64 bytes each.
    pub fn label(mut self, name: impl Into<String>, text: impl Into<String>) -> Options {
        self.labels.insert(name.into(), text.into());
        self
    }

    /// Which handler of the program is told when something of these kinds happens to a job with a schedule:
    /// it gets a [`Notice`](crate::Notice) as its payload, at least once by its own rules. At most
    /// four handlers.
    pub fn notify(mut self, handler: impl Into<String>, of: impl IntoIterator<Item = NoticeKind>) -> Options {
        self.notify.targets.push((handler.into(), of.into_iter().collect()));
        self
    }

    /// How long no run of a job with a schedule may have succeeded before that is told as
    /// [`NoticeKind::Silent`], once until one succeeds.
    pub fn silent_after(mut self, longest: Duration) -> Options {
        self.notify.silent_after = Some(longest);
        self
    }

    /// The version of the payload's form, 0 unless told. Submissions carry it. A run of a newer version waits
    /// for a program that knows it.
    pub fn version(self, version: u32) -> Options {
        Options { version, ..self }
    }

    /// Makes a payload of this version of one that was submitted with an older one.
    pub fn upgrade(
        self,
        upgrade: impl Fn(u32, Value) -> Result<Value, HandlerError> + Send + Sync + 'static,
    ) -> Options {
        Options { upgrade: Some(Box::new(upgrade)), ..self }
    }

    pub(crate) fn job_name(&self) -> Result<JobName, Error> {
        JobName::new(&self.name).map_err(|error| self.wrong(error))
    }

    pub(crate) fn job_group(&self) -> Result<Option<Group>, Error> {
        let Some((name, bounds)) = &self.group else { return Ok(None) };
        let wrong = |error: &dyn fmt::Display| self.wrong(format!("group `{name}`: {error}"));
        let group_name = JobName::new(name).map_err(|error| wrong(&error))?;
        bounds.group(group_name).map(Some).map_err(|error| wrong(&error))
    }

    pub(crate) fn wrong(&self, reason: impl fmt::Display) -> Error {
        Error::definition(&self.name, reason)
    }

    /// Checks that the policies could have been read from a text, which has their limits.
    pub(crate) fn check(&self) -> Result<(), Error> {
        check_labels(&self.labels).map_err(|error| self.wrong(error))?;
        if MAX_TARGETS < self.notify.targets.len() {
            return Err(self.wrong(format!("at most {MAX_TARGETS} handlers are told")));
        }
        let again: Policies = self.policies.to_string().parse().map_err(|error| self.wrong(error))?;
        match again == self.policies {
            true => Ok(()),
            false => Err(self.wrong("the policies cannot be kept as they are")),
        }
    }

    /// Checks that nothing is said of a handler without a schedule that only a job with one does.
    pub(crate) fn check_handler(&self) -> Result<(), Error> {
        let of_jobs = [
            ("labels", !self.labels.is_empty()),
            ("notify", !self.notify.is_empty()),
            ("max_runs", self.max_runs.is_some()),
        ];
        match of_jobs.iter().find(|(_, is_said)| *is_said) {
            Some((what, _)) => Err(self.wrong(format!("`{what}` is for jobs with a schedule"))),
            None => Ok(()),
        }
    }

    pub(crate) fn form(&mut self) -> Form {
        Form { version: self.version, upgrade: self.upgrade.take() }
    }
}
