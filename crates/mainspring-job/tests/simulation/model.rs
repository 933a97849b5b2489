//! The state of a history's runs and jobs at each moment, from its log.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use mainspring_job::{
    Absence, Answer, Cause, JobName, Mark, OnceId, Operation, Outcome, Overlap, Policies, Run, RunKey,
    RunState, Takeover, Work,
};

use crate::simulation::event::Event;
use crate::simulation::rated_starts::RatedStarts;
use crate::simulation::script::Script;

/// A run, as the disk has it.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub run: Run,
    pub policies: Policies,
    pub group: Option<JobName>,
    pub priority: i8,
    /// It was running when its server ended.
    pub is_cut_off: bool,
    pub is_killed: bool,
    /// Whether it has been a dead letter.
    pub was_dead: bool,
    /// When its present state was decided.
    pub since: Timestamp,
    /// Which event of the log said so.
    pub event_index: usize,
    /// Which life of its job it belongs to.
    pub life: u32,
    /// By which of its job's timetables it was planned, counted from the first.
    pub era: u32,
}

impl View {
    /// Whether it is in the way of others of its job.
    pub(crate) fn is_in_the_way(&self) -> bool {
        !self.is_cut_off && matches!(self.run.state, RunState::Queued | RunState::Running)
    }

    /// Whether a person, or the misfire rule, asked for this very run.
    pub(crate) fn is_kept(&self) -> bool {
        0 < self.run.attempt || !matches!(self.run.cause, Cause::Trigger | Cause::Boot | Cause::After)
    }

    /// Whether a person wants this very start now: the first of a run by hand that was not asked for at a
    /// later time. One-shot jobs have no pause of their own.
    pub(crate) fn starts_in_spite_of_a_pause(&self) -> bool {
        let Run { cause, attempt, due, planned, .. } = &self.run;
        *cause == Cause::Once || *cause == Cause::Request && *attempt == 0 && due <= planned
    }

    /// Whether it is admitted alone.
    pub(crate) fn passes_singly(&self) -> bool {
        self.policies.overlap != Overlap::Allow || self.run.cause == Cause::CatchUp
    }
}

#[derive(Clone, Debug)]
pub(crate) struct JobView {
    pub mark: Mark,
    pub is_defined: bool,
    /// Its source does not have it, and it may come back as it was.
    pub absence: Option<Absence>,
    /// It was removed before all was on disk the last time.
    pub is_removed: bool,
    /// How often it was taken away and put back.
    pub life: u32,
    /// How often it got another timetable.
    pub era: u32,
}

pub(crate) struct Model<'s> {
    pub script: &'s Script,
    /// When the server began, and how the one before ended.
    pub began: Timestamp,
    pub takeover: Takeover,
    pub runs: BTreeMap<RunKey, View>,
    /// Those of them that are open.
    pub open: BTreeSet<RunKey>,
    /// Those of the open ones that are after a batch.
    after_batches: BTreeSet<RunKey>,
    /// Those of them that were running when their server ended.
    pub cut_off: BTreeSet<RunKey>,
    pub jobs: BTreeMap<JobName, JobView>,
    /// What the executor has.
    pub alive: BTreeSet<(RunKey, u32)>,
    pub is_all_paused: bool,
    pub is_stopping: bool,
    /// Several facts may have been told since all was on disk.
    pub is_gathering: bool,
    /// What ended since all was on disk.
    pub ended: BTreeSet<(RunKey, u32)>,
    /// What its server ended by itself.
    pub ended_by_server: BTreeSet<(RunKey, u32)>,
    /// What was planned and refused since all was on disk, because it ran by an earlier timetable or another
    /// run has its key: in the way until then.
    pub refused: Vec<RunKey>,
    /// One-shot jobs that are members of a batch and have not fired.
    pub pending: BTreeMap<OnceId, JobName>,
    /// The batch of the last event.
    batch: Option<(u64, u64)>,
    /// Queued runs that wait for no batch any more: nothing of it was left since they were.
    pub released: BTreeSet<RunKey>,
    /// What counts for the rate of the group.
    pub rated_starts: RatedStarts,
    /// What started since all was on disk.
    pub started: Vec<RunKey>,
    /// How many events were told.
    count: usize,
}

impl<'s> Model<'s> {
    pub(crate) fn new(script: &'s Script) -> Model<'s> {
        Model {
            script,
            began: Timestamp::MIN,
            takeover: Takeover::Clean,
            runs: BTreeMap::new(),
            open: BTreeSet::new(),
            cut_off: BTreeSet::new(),
            jobs: BTreeMap::new(),
            alive: BTreeSet::new(),
            is_all_paused: false,
            is_stopping: false,
            is_gathering: false,
            ended: BTreeSet::new(),
            ended_by_server: BTreeSet::new(),
            refused: Vec::new(),
            pending: BTreeMap::new(),
            batch: None,
            after_batches: BTreeSet::new(),
            released: BTreeSet::new(),
            rated_starts: RatedStarts::default(),
            started: Vec::new(),
            count: 0,
        }
    }

    /// The other open runs of a run's job.
    pub(crate) fn others<'m>(&'m self, key: &'m RunKey) -> impl Iterator<Item = &'m View> {
        let from = RunKey::new(key.job.clone(), Timestamp::MIN);
        let theirs = self.open.range(from..).take_while(|other| other.job == key.job);
        theirs.filter(move |other| *other != key).map(|other| &self.runs[other])
    }

    /// Whether something of the batch is left for which a run waits.
    pub(crate) fn waits_for_batch(&self, view: &View) -> bool {
        let Some(batch) = &view.policies.after_batch else { return false };
        let is_open = || self.open.iter().any(|key| self.runs[key].policies.batch.as_ref() == Some(batch));
        self.pending.values().any(|of| of == batch) || is_open()
    }

    /// Whether a pause of its job, or a batch, holds a run that waits.
    pub(crate) fn is_held(&self, view: &View) -> bool {
        if self.waits_for_batch(view) && !self.released.contains(&view.run.key) {
            return true;
        }
        let Some(job) = self.jobs.get(&view.run.key.job) else { return false };
        let is_paused = job.mark.pause.is_some() && !view.starts_in_spite_of_a_pause();
        is_paused || job.absence.is_some() && view.run.cause != Cause::Once
    }

    /// Since when the job of a run is absent, if it is.
    pub(crate) fn absence(&self, key: &RunKey) -> Option<&Absence> {
        let is_its = self.runs.get(key).is_some_and(|view| view.run.cause != Cause::Once);
        self.jobs.get(&key.job).filter(|_| is_its)?.absence.as_ref()
    }

    /// How many times in a row the server died in it or in its job.
    pub(crate) fn crashes(&self, view: &View) -> u32 {
        match view.run.cause {
            Cause::Once => view.run.crashes,
            _ => self.jobs.get(&view.run.key.job).map_or(0, |job| job.mark.crashes),
        }
    }

    /// How many runs of a job's present life have started or may still, of those that `max_runs` counts.
    pub(crate) fn counted(&self, name: &JobName) -> u64 {
        let life = self.jobs.get(name).map_or(0, |job| job.life);
        let from = RunKey::new(name.clone(), Timestamp::MIN);
        let theirs =
            self.runs.range(from..).map(|(_, view)| view).take_while(|view| view.run.key.job == *name);
        let is_counted = |view: &&View| {
            let may_start = 0 < view.run.attempt || view.run.state.is_open();
            view.life == life && view.run.cause.is_counted() && may_start
        };
        theirs.filter(is_counted).count() as u64
    }

    pub(crate) fn apply(&mut self, event: &Event) {
        self.count += 1;
        let batch = if let Event::Wrote { batch, .. } = event { Some(*batch) } else { None };
        if batch.is_none() || batch != self.batch {
            // Within a batch an end may come before the retry that follows.
            self.release();
        }
        self.batch = batch;
        if let Event::Wrote { operation, .. } = event
            && let Some((_, at)) = self.start_in_group(operation)
        {
            self.rated_starts.add(at);
        }
        match event {
            Event::Began { at, takeover } => {
                (self.began, self.takeover) = (*at, *takeover);
                // A new planner knows nothing of what was left before.
                self.released.clear();
                self.rated_starts.begin(self.script.rate, *at);
            }
            Event::SetBack => self.rated_starts.set_back(),
            Event::Wrote { operation, answer: Answer::New, .. } => self.write(operation),
            Event::Wrote { operation: Operation::Plan(run) | Operation::Fire { run, .. }, .. }
                if run.state.is_open() =>
            {
                self.refused.push(run.key.clone());
            }
            Event::Started { key, attempt, .. } => {
                self.alive.insert((key.clone(), *attempt));
                self.started.push(key.clone());
            }
            Event::Ended { key, attempt, outcome } => {
                self.alive.remove(&(key.clone(), *attempt));
                if let Outcome::CutOff(_) = outcome {
                    self.ended_by_server.insert((key.clone(), *attempt));
                }
                self.ended.insert((key.clone(), *attempt));
            }
            Event::Gathers => self.is_gathering = true,
            Event::Killed { key, .. } => {
                if let Some(view) = self.runs.get_mut(key) {
                    view.is_killed = true;
                }
            }
            Event::Stopped => self.is_stopping = true,
            Event::Crashed { .. } | Event::Rebooted | Event::Released => {
                self.alive.clear();
                self.started.clear();
                self.refused.clear();
                self.ended.clear();
                (self.is_stopping, self.is_gathering) = (false, false);
                for key in &self.open {
                    let view = self.runs.get_mut(key).unwrap();
                    if view.run.state == RunState::Running {
                        view.is_cut_off = true;
                        self.cut_off.insert(key.clone());
                    }
                }
            }
            Event::Settled { .. } => {
                self.rated_starts.settle();
                self.started.clear();
                self.refused.clear();
                self.ended.clear();
                self.is_gathering = false;
                self.jobs.values_mut().for_each(|job| job.is_removed = !job.is_defined);
            }
            _ => (),
        }
    }

    /// What nothing holds of its batch now waits for it no more while it is queued.
    fn release(&mut self) {
        let waits = |key: &&RunKey| self.runs[*key].run.state == RunState::Queued;
        let waiting: BTreeSet<RunKey> = self.after_batches.iter().filter(waits).cloned().collect();
        self.released.retain(|key| waiting.contains(key));
        for key in waiting {
            if !self.waits_for_batch(&self.runs[&key]) {
                self.released.insert(key);
            }
        }
    }

    /// The start of a run of a group that an operation records, whatever the store makes of it, and when.
    pub(crate) fn start_in_group(&self, operation: &Operation) -> Option<(RunKey, Timestamp)> {
        match operation {
            Operation::Begin { key, at, .. } => {
                self.runs.get(key).filter(|view| view.group.is_some()).map(|_| (key.clone(), *at))
            }
            Operation::Plan(run) | Operation::Fire { run, .. } if run.state == RunState::Running => {
                self.work(run).group.as_ref()?;
                Some((run.key.clone(), run.started?))
            }
            _ => None,
        }
    }

    fn work<'m>(&'m self, run: &'m Run) -> &'m Work {
        let index = Script::index(&run.key.job).filter(|_| run.cause != Cause::Once);
        let work = index.map_or(run.work.as_deref(), |index| Some(&*self.script.job(index, 0).work));
        work.unwrap_or_else(|| panic!("{} has nothing to do", run.key))
    }

    fn add(&mut self, run: &Run) {
        let work = self.work(run);
        let view = View {
            run: run.clone(),
            policies: work.policies.clone(),
            group: work.group.clone(),
            priority: work.priority,
            is_cut_off: false,
            is_killed: false,
            was_dead: false,
            since: run.started.unwrap_or(run.planned),
            event_index: self.count,
            life: self.jobs.get(&run.key.job).map_or(0, |job| job.life),
            era: self.jobs.get(&run.key.job).map_or(0, |job| job.era),
        };
        self.runs.insert(run.key.clone(), view);
        self.keep_open(&run.key);
    }

    fn keep_open(&mut self, key: &RunKey) {
        let view = &self.runs[key];
        if view.run.state.is_open() {
            self.open.insert(key.clone());
            if view.policies.after_batch.is_some() {
                self.after_batches.insert(key.clone());
            }
        } else {
            self.open.remove(key);
            self.after_batches.remove(key);
        }
    }

    fn write(&mut self, operation: &Operation) {
        match operation {
            Operation::Plan(run) => self.add(run),
            Operation::Fire { id, run } => drop((self.pending.remove(id), self.add(run))),
            Operation::Begin { key, attempt, at, .. } => {
                let view = self.runs.get_mut(key).unwrap();
                (view.run.state, view.run.attempt, view.run.started) =
                    (RunState::Running, *attempt, Some(*at));
                (view.is_cut_off, view.is_killed) = (false, false);
                (view.since, view.event_index) = (*at, self.count);
            }
            Operation::End { key, state, at, crashes, .. } => {
                let view = self.runs.get_mut(key).unwrap();
                (view.run.state, view.run.ended, view.run.crashes) = (*state, Some(*at), *crashes);
                view.is_cut_off = false;
                (view.since, view.event_index) = (*at, self.count);
                self.cut_off.remove(key);
                self.keep_open(key);
            }
            Operation::Move { key, to, due, at, .. } => {
                let view = self.runs.get_mut(key).unwrap();
                let forgiveness = view.run.state.forgives(*to);
                view.run.forgiven = forgiveness.of(view.run.attempt, view.run.forgiven);
                (view.is_cut_off, view.is_killed) = (false, false);
                self.cut_off.remove(key);
                (view.run.state, view.run.due) = (*to, *due);
                view.was_dead |= *to == RunState::Dead;
                (view.since, view.event_index) = (*at, self.count);
                self.keep_open(key);
            }
            Operation::Clear { key, .. } => self.runs.get_mut(key).unwrap().run.crashes = 0,
            Operation::Define { mark, .. } => {
                let new = JobView {
                    mark: mark.clone(),
                    is_defined: true,
                    absence: None,
                    is_removed: false,
                    life: 0,
                    era: 0,
                };
                let job = self.jobs.entry(mark.job.clone()).or_insert(new);
                job.life += u32::from(!job.is_defined && job.absence.is_none());
                (job.is_defined, job.absence, job.is_removed) = (true, None, false);
            }
            Operation::Mark(mark) => {
                if let Some(job) = self.jobs.get_mut(&mark.job) {
                    job.era += u32::from(job.mark.timetable != mark.timetable);
                    job.mark = mark.clone();
                }
            }
            Operation::Rewind(mark) => {
                let job = self.jobs.get_mut(&mark.job).unwrap();
                job.era += 1;
                job.mark = mark.clone();
            }
            Operation::Forget { job: name, absence, .. } => {
                let job = self.jobs.get_mut(name).unwrap();
                (job.is_defined, job.absence) = (false, absence.clone());
                if absence.is_none() {
                    job.mark.pause = None;
                }
            }
            Operation::PauseAll(paused) => self.is_all_paused = paused.is_some(),
            Operation::Submit(once) => {
                self.pending.extend(once.work.policies.batch.clone().map(|batch| (once.id, batch)));
            }
            Operation::Withdraw { id, .. } => drop(self.pending.remove(id)),
            Operation::Prune { .. } | Operation::Audit(_) => (),
        }
    }
}
