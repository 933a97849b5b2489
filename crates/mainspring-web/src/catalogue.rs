//! Caches what the loop says of the jobs, their definitions, and how their last runs went.
//!
//! ```text
//! List and Export of the loop ─▶ JobWire + Plan (timetable, zone, sentences), again after FRESH;
//! while changes are watched ─▶ Show of each job that changed, and of no other
//! History of one job, where its document has changed ─▶ Recent (last runs, median, 95th percentile)
//! ```
//!
//! Cost: a page of 250 jobs is a question, and a job that changed is one; a definition is read once, and the
//! runs of a job once for each change of it. One request reads at a time, and the others share what it found.
//!
//! Does not decide what a job does: the loop has the last word, and these are its documents.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring_exec::clock::Moment;
use mainspring_job::{RunKey, RunState};
use mainspring_server::protocol::{
    ALL_CAUSES, ChangesWire, HistoryWire, JobWire, ListWire, Request, Response, RunWire,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::job_schedule::{JobSchedule, name_of, read};
use crate::lock::locked;
use crate::pool::Pool;
use crate::problem::{Code, Problem, strange};

/// How old the list of jobs may be: many pages that ask at once share one, and no client sees the difference.
const FRESH: Duration = Duration::from_millis(250);

/// So many jobs are asked for one by one; more that changed at once are found faster in the list of all.
const MAX_ASKED_ALONE: usize = 200;

/// How many runs of a job are looked at for its medians.
pub const RECENT_RUNS: usize = 100;

/// Of so many jobs a list asks how their last runs went: a question each, and as many as a page shows.
const MAX_LOOKED_BACK: usize = 60;

/// For so long a list still asks, a millisecond or two each: a person waits for the list.
const LOOK_BACK: Duration = Duration::from_millis(10);

/// A job.
#[derive(Debug)]
pub struct CachedJob {
    /// As `list` has it.
    pub wire: JobWire,
    /// Its definition as text.
    pub definition: String,
    /// What that says; `None` if it cannot be read, which the loop says in its log.
    pub plan: Option<Arc<JobSchedule>>,
}

/// How the last runs of a job went.
#[derive(Debug, Default)]
pub struct Recent {
    /// The latest nominal time first.
    pub runs: Vec<RunWire>,
    /// How long those took that succeeded.
    pub duration: Distribution,
}

/// How some lengths of time are spread.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct Distribution {
    count: usize,
    pub(crate) median_ms: Option<u64>,
    pub(crate) p95_ms: Option<u64>,
    max_ms: Option<u64>,
}

impl Distribution {
    /// That of some lengths.
    pub fn of(mut lengths: Vec<u64>) -> Distribution {
        lengths.sort_unstable();
        let [median_ms, p95_ms] = [50, 95].map(|percent| percentile(&lengths, percent));
        Distribution { count: lengths.len(), median_ms, p95_ms, max_ms: lengths.last().copied() }
    }
}

/// What tells one state of a job's history from the next.
type Mark = (u64, usize, usize, Option<(RunKey, Option<RunState>, u32)>);

/// All jobs, in the order of their names.
pub type Jobs = Arc<Vec<Arc<CachedJob>>>;

/// Which jobs have changed since they were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Stale {
    /// Any of them may have.
    #[default]
    All,
    /// Only jobs with these names.
    Some(BTreeSet<String>),
}

impl Stale {
    fn add(&mut self, job: &str) {
        match self {
            Stale::All => {}
            Stale::Some(names) if names.len() < MAX_ASKED_ALONE => {
                names.insert(job.to_owned());
            }
            Stale::Some(_) => *self = Stale::All,
        }
    }
}

#[derive(Debug, Default)]
struct Cache {
    jobs: Option<(Moment, Jobs)>,
    /// Whether all changes are told as they happen.
    is_watched: bool,
    /// What changed since.
    stale: Stale,
    /// By the text of the definition; those of [`jobs`](Self::jobs) alone.
    plans: HashMap<String, Option<Arc<JobSchedule>>>,
    recent: HashMap<String, (Mark, Arc<Recent>)>,
}

impl Cache {
    /// Forgets the definitions and the runs that no job has any more: a job that is defined again and
    /// again would leave one of each behind.
    fn prune(&mut self, jobs: &[Arc<CachedJob>]) {
        // Each job has one of each at most, so that the look at all of them is worth it only beyond that.
        if jobs.len() < self.plans.len() {
            let texts: HashSet<&str> = jobs.iter().map(|known| known.definition.as_str()).collect();
            self.plans.retain(|text, _| texts.contains(text.as_str()));
        }
        if jobs.len() < self.recent.len() {
            let names: HashSet<&str> = jobs.iter().map(|known| known.wire.name.as_str()).collect();
            self.recent.retain(|name, _| names.contains(name.as_str()));
        }
    }
}

/// What is known of the jobs.
#[derive(Debug)]
pub struct Catalogue {
    zone: TimeZone,
    pool: Arc<Pool>,
    cache: Mutex<Cache>,
    /// One request asks the loop, and the others wait for what it finds.
    asking: tokio::sync::Mutex<()>,
}

/// What is asked for at the moment. If it is not ended, because the loop said no or the client went away, it
/// is stale as before.
struct PendingRequest<'c> {
    catalogue: &'c Catalogue,
    stale: Stale,
}

impl PendingRequest<'_> {
    fn end(mut self) {
        self.stale = Stale::Some(BTreeSet::new());
    }
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        let mut cache = locked(&self.catalogue.cache);
        match &self.stale {
            Stale::All => cache.stale = Stale::All,
            Stale::Some(names) => names.iter().for_each(|name| cache.stale.add(name)),
        }
    }
}

impl Catalogue {
    /// One that knows nothing. `zone` is that of jobs which name none.
    pub fn new(zone: TimeZone, pool: Arc<Pool>) -> Catalogue {
        Catalogue { zone, pool, cache: Mutex::default(), asking: tokio::sync::Mutex::default() }
    }

    /// Notes what has changed. From now on nothing else has.
    pub fn note(&self, changes: &ChangesWire) {
        let mut cache = locked(&self.cache);
        cache.is_watched = true;
        // An empty name is all of them.
        if changes.is_cut_short || changes.jobs.iter().any(String::is_empty) {
            cache.stale = Stale::All;
        }
        changes.runs.iter().for_each(|run| cache.stale.add(run.job.as_str()));
        changes.jobs.iter().for_each(|job| cache.stale.add(job));
    }

    /// Changes are not told any more.
    pub fn end_watch(&self) {
        locked(&self.cache).is_watched = false;
    }

    /// Something was changed from here: a job, the job of a run, or it is not known what.
    pub fn touch(&self, of: Option<&str>) {
        let mut cache = locked(&self.cache);
        match of.filter(|_| cache.is_watched) {
            Some(of) => cache.stale.add(of.parse::<RunKey>().as_ref().map_or(of, |run| run.job.as_str())),
            None => cache.stale = Stale::All,
        }
    }

    /// All jobs, in the order of their names.
    ///
    /// # Errors
    ///
    /// What the loop says.
    pub async fn jobs(&self) -> Result<Jobs, Problem> {
        let _alone = self.asking.lock().await;
        let now = Moment::now();
        let (known, asking) = {
            let mut cache = locked(&self.cache);
            let known = cache.jobs.clone().filter(|(at, _)| cache.is_watched || now.since(*at) < FRESH);
            // What changes from here on is noted again.
            let stale = std::mem::replace(&mut cache.stale, Stale::Some(BTreeSet::new()));
            let stale = if known.is_none() { Stale::All } else { stale };
            (known, PendingRequest { catalogue: self, stale })
        };
        let jobs = match (&asking.stale, known) {
            (Stale::Some(names), Some((_, jobs))) if names.is_empty() => return Ok(jobs),
            (Stale::Some(names), Some((_, jobs))) => self.renewed(&jobs, names).await?,
            _ => self.all().await?,
        };
        asking.end();
        debug_assert!(jobs.is_sorted_by(|one, next| one.wire.name < next.wire.name), "in the order of names");
        let mut cache = locked(&self.cache);
        cache.prune(&jobs);
        cache.jobs = Some((now, Arc::clone(&jobs)));
        Ok(jobs)
    }

    /// Asks for all of them.
    async fn all(&self) -> Result<Jobs, Problem> {
        let mut wires = Vec::new();
        let mut after = None;
        loop {
            let answer = self.pool.look(Request::List(ListWire { after, ..ListWire::default() })).await?;
            let Response::Jobs { jobs, after: next } = answer else { return Err(strange()) };
            wires.extend(jobs);
            after = next;
            if after.is_none() {
                break;
            }
        }
        let mut texts = Vec::new();
        loop {
            let answer = self.pool.look(Request::Export { after }).await?;
            let Response::Export { texts: page, after: next } = answer else { return Err(strange()) };
            texts.extend(page);
            after = next;
            if after.is_none() {
                break;
            }
        }
        let named = |text: String| Some((name_of(&text)?, text));
        let mut texts: HashMap<String, String> = texts.into_iter().filter_map(named).collect();
        let known = |wire: JobWire| {
            let definition = texts.remove(&wire.name).unwrap_or_default();
            self.cached(wire, definition)
        };
        Ok(Arc::new(wires.into_iter().map(known).collect()))
    }

    /// Asks for those that changed.
    async fn renewed(&self, known: &Jobs, stale: &BTreeSet<String>) -> Result<Jobs, Problem> {
        let mut jobs = Vec::clone(known);
        for name in stale {
            let place = place(&jobs, name);
            let found = match self.pool.look(Request::Show { job: name.clone() }).await {
                Ok(Response::Job(wire)) => Some(self.known(*wire)),
                // A one-shot job of that name.
                Ok(_) => None,
                Err(problem) if problem.code == Code::NOT_FOUND => None,
                Err(problem) => return Err(problem),
            };
            match (place, found) {
                (Ok(index), Some(found)) => jobs[index] = found,
                (Err(index), Some(found)) => jobs.insert(index, found),
                (Ok(index), None) => drop(jobs.remove(index)),
                (Err(_), None) => {}
            }
        }
        Ok(Arc::new(jobs))
    }

    /// A job as `show` has it: with its definition.
    pub fn known(&self, mut wire: JobWire) -> Arc<CachedJob> {
        let definition = std::mem::take(&mut wire.definition);
        (wire.holds, wire.waiting, wire.waiting_count) = (Vec::new(), Vec::new(), 0);
        let mut cache = locked(&self.cache);
        // Jobs that no list has shown yet would add up.
        cache.jobs.clone().into_iter().for_each(|(_, jobs)| cache.prune(&jobs));
        drop(cache);
        self.cached(wire, definition)
    }

    /// A job with its definition, which is read if no job had it yet.
    fn cached(&self, wire: JobWire, definition: String) -> Arc<CachedJob> {
        let mut cache = locked(&self.cache);
        let plan = cache.plans.entry(definition.clone()).or_insert_with(|| read(&definition, &self.zone));
        Arc::new(CachedJob { wire, plan: plan.clone(), definition })
    }

    /// One job.
    ///
    /// # Errors
    ///
    /// 404 if there is none, and what the loop says.
    pub async fn job(&self, name: &str) -> Result<Arc<CachedJob>, Problem> {
        let jobs = self.jobs().await?;
        let found = place(&jobs, name).ok().map(|index| Arc::clone(&jobs[index]));
        found.ok_or_else(|| Problem::new(Code::NOT_FOUND, format!("there is no job `{name}`")))
    }

    /// How the last runs of a job went.
    ///
    /// # Errors
    ///
    /// What the loop says.
    pub async fn recent(&self, known: &CachedJob) -> Result<Arc<Recent>, Problem> {
        let wire = &known.wire;
        let last = wire.last.as_ref().map(|run| (run.run.clone(), run.state.known(), run.attempt));
        let mark = (wire.runs, wire.running, wire.queued, last);
        if let Some((found, recent)) = locked(&self.cache).recent.get(&wire.name)
            && *found == mark
        {
            return Ok(Arc::clone(recent));
        }
        let recent = Arc::new(Recent::of(self.history(&wire.name, RECENT_RUNS).await?));
        locked(&self.cache).recent.insert(wire.name.clone(), (mark, Arc::clone(&recent)));
        Ok(recent)
    }

    /// Asks how the last runs of these jobs went, of those that ran and of which it is not known: the first
    /// ones, `MAX_LOOKED_BACK` at most and for `LOOK_BACK`, and others with the next request.
    ///
    /// # Errors
    ///
    /// What the loop says.
    pub async fn look_back(&self, jobs: impl Iterator<Item = &CachedJob>) -> Result<(), Problem> {
        let has_run = |known: &&CachedJob| 0 < known.wire.runs || known.wire.last.is_some();
        let is_unknown = |known: &&CachedJob| !locked(&self.cache).recent.contains_key(&known.wire.name);
        let unknown: Vec<_> = jobs.filter(has_run).filter(is_unknown).take(MAX_LOOKED_BACK).collect();
        let began = Moment::now();
        for known in unknown {
            self.recent(known).await?;
            if LOOK_BACK <= Moment::now().since(began) {
                break;
            }
        }
        Ok(())
    }

    /// The latest runs of a job, as `history` has them.
    ///
    /// # Errors
    ///
    /// What the loop says.
    pub async fn history(&self, job: &str, limit: usize) -> Result<Vec<RunWire>, Problem> {
        let mut found = Vec::new();
        let mut cursor = None;
        while found.len() < limit {
            let request = HistoryWire {
                job: Some(job.to_owned()),
                cause: Some(ALL_CAUSES.to_owned()),
                limit: limit - found.len(),
                cursor,
                ..HistoryWire::default()
            };
            let request = Request::History(request);
            let Response::Runs { runs, cursor: next } = self.pool.look(request).await? else {
                return Err(strange());
            };
            found.extend(runs);
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        debug_assert!(found.len() <= limit);
        Ok(found)
    }

    /// How long a run of a job usually takes, as far as somebody has asked.
    pub fn usual_ms(&self, job: &str) -> Option<u64> {
        locked(&self.cache).recent.get(job).and_then(|(_, recent)| recent.duration.median_ms)
    }
}

/// The place of a job among all, or the one where it would be.
fn place(jobs: &[Arc<CachedJob>], name: &str) -> Result<usize, usize> {
    jobs.binary_search_by(|known| known.wire.name.as_str().cmp(name))
}

/// The job of a name among all of them.
pub fn find<'j>(jobs: &'j [Arc<CachedJob>], name: &str) -> Option<&'j CachedJob> {
    place(jobs, name).ok().map(|index| &*jobs[index])
}

/// A time between two instants, in milliseconds.
pub fn between_ms(from: Option<Timestamp>, to: Option<Timestamp>) -> Option<u64> {
    Some(u64::try_from(to?.as_millisecond() - from?.as_millisecond()).unwrap_or(0))
}

/// The value that so many of a hundred are not above.
fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let index = (sorted.len() * percent / 100).min(sorted.len().checked_sub(1)?);
    sorted.get(index).copied()
}

impl Recent {
    fn of(runs: Vec<RunWire>) -> Recent {
        let good = runs.iter().filter(|run| run.state == RunState::Succeeded);
        let lengths = good.filter_map(|run| between_ms(run.started, run.ended)).collect();
        Recent { duration: Distribution::of(lengths), runs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_job::{Cause, Run};

    #[test]
    fn what_changed_is_asked_for_alone_while_changes_are_watched() {
        let catalogue = Catalogue::new(TimeZone::UTC, Pool::new(Vec::new()));
        let stale = || locked(&catalogue.cache).stale.clone();
        let begin = || locked(&catalogue.cache).stale = Stale::Some(BTreeSet::new());
        let names = |names: &[&str]| Stale::Some(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(stale(), Stale::All, "nothing is known");
        begin();
        catalogue.touch(Some("a"));
        assert_eq!(stale(), Stale::All, "what others change is not told");
        let change = |jobs: &[&str]| ChangesWire {
            jobs: jobs.iter().map(|job| (*job).to_owned()).collect(),
            ..ChangesWire::default()
        };
        catalogue.note(&change(&["x"]));
        assert_eq!(stale(), Stale::All, "what was before the first change is not told either");
        begin();
        catalogue.note(&change(&["b"]));
        catalogue.touch(Some("a@host@2026-01-01T00:00:00Z#2"));
        assert_eq!(stale(), names(&["a@host", "b"]));
        let asking = PendingRequest { catalogue: &catalogue, stale: stale() };
        begin();
        catalogue.note(&change(&["c"]));
        drop(asking);
        assert_eq!(stale(), names(&["a@host", "b", "c"]), "what was not answered is asked again");
        PendingRequest { catalogue: &catalogue, stale: Stale::All }.end();
        assert_eq!(stale(), names(&["a@host", "b", "c"]));
        catalogue.note(&change(&[""]));
        assert_eq!(stale(), Stale::All, "everything was paused");
        begin();
        (0..=MAX_ASKED_ALONE).for_each(|number| catalogue.note(&change(&[&format!("j{number}")])));
        assert_eq!(stale(), Stale::All);
    }

    #[test]
    fn a_job_that_is_defined_anew_leaves_nothing_behind() {
        let catalogue = Catalogue::new(TimeZone::UTC, Pool::new(Vec::new()));
        let definition = |hours: u32| format!("[jobs.a]\nevery = \"{hours}h\"\nrun = [\"true\"]\n");
        let wire = |hours| JobWire { definition: definition(hours), name: "a".into(), ..JobWire::default() };
        let mut jobs = Vec::new();
        for hours in 1..=5 {
            jobs = vec![catalogue.known(wire(hours))];
            locked(&catalogue.cache).recent.insert(format!("gone-{hours}"), Default::default());
            locked(&catalogue.cache).prune(&jobs);
        }
        let cache = locked(&catalogue.cache);
        assert_eq!(cache.plans.keys().collect::<Vec<_>>(), [&definition(5)]);
        assert!(cache.recent.len() <= jobs.len(), "{:?}", cache.recent);
    }

    #[test]
    fn medians_are_of_runs_that_succeeded() {
        let at = Timestamp::UNIX_EPOCH;
        let run = |state, seconds| {
            let mut run = Run::new(RunKey::new("a".parse().unwrap(), at), Cause::Trigger, state, at, at);
            (run.started, run.ended) = (Some(at), Some(at + Duration::from_secs(seconds)));
            RunWire::from(&run)
        };
        let (good, bad) = (RunState::Succeeded, RunState::Failed);
        let recent = Recent::of(vec![run(bad, 50), run(good, 3), run(good, 1), run(good, 2)]);
        assert_eq!((recent.duration.median_ms, recent.duration.p95_ms), (Some(2_000), Some(3_000)));
        assert_eq!(Recent::default().duration.median_ms, None);
        assert_eq!(percentile(&[], 50), None);
    }
}
