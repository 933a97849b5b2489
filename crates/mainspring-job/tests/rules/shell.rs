//! A shell that does what it should, on a store in memory and a clock that is a number.

use mainspring_job::RunKey;

use super::*;

pub(super) fn name(text: &str) -> JobName {
    JobName::new(text).unwrap()
}

pub(super) fn at(time: &str) -> Timestamp {
    time.parse().unwrap()
}

pub(super) fn work(policies: &str) -> Work {
    let action = Action::new("process", "true").unwrap();
    Work::new(action).with_policies(policies.parse().unwrap())
}

pub(super) fn job(text: &str, expression: &str, policies: &str) -> Job {
    let trigger = Schedule::new(Expression::parse(expression).unwrap(), TimeZone::UTC);
    Job::new(name(text), Timetable::new(vec![trigger]).unwrap(), work(policies))
}

/// An action needs a worker that carries out its kind.
fn needs(action: &Action) -> Needs {
    Needs::new([(action.kind().parse().unwrap(), 0)])
}

/// A shell that does what it should.
pub(super) struct Shell {
    pub(super) now: Timestamp,
    pub(super) store: MemoryStore,
    pub(super) lease: Lease,
    pub(super) planner: Planner,
    pub(super) jobs: Vec<Job>,
    /// What was defined last, as the store keeps it.
    pub(super) former: Vec<Job>,
    pub(super) knows_former: bool,
    /// The start of the machine on which the next server runs.
    pub(super) machine_start: String,
    /// How long ago the server before was last heard of, when the next one comes.
    pub(super) silent: Option<std::time::Duration>,
    /// When the machine was started, for jobs of that.
    pub(super) booted: Timestamp,
    pub(super) groups: Vec<Group>,
    pub(super) limits: Limits,
    /// How many runs may run at once at the one worker.
    pub(super) capacity: usize,
    /// Workers that are there beside that of the server that has the lease, over all planners.
    pub(super) others: Vec<Worker>,
    /// What the next planner is told of runs and workers before planning begins.
    pub(super) early: Vec<Input>,
    /// Which actions the next server's worker carries out.
    pub(super) executes: fn(&Action) -> bool,
    pub(super) started: Vec<Start>,
    pub(super) killed_count: usize,
    pub(super) notes: Vec<Note>,
    pub(super) replies: Vec<Reply>,
    pub(super) load_count: usize,
    pub(super) operation_count: usize,
    pub(super) batch_sizes: Vec<usize>,
    /// All that was committed, in order.
    pub(super) operations: Vec<Operation>,
}

impl Shell {
    pub(super) fn new(now: &str, jobs: Vec<Job>) -> Shell {
        Shell::with(now, jobs, Vec::new(), Limits::default())
    }

    pub(super) fn with(now: &str, jobs: Vec<Job>, groups: Vec<Group>, limits: Limits) -> Shell {
        let mut store = MemoryStore::new();
        let lease = store.acquire(&Owner::new("test")).unwrap();
        let mut shell = Shell {
            now: at(now),
            store,
            lease,
            planner: Planner::new(0, limits),
            former: Vec::new(),
            knows_former: true,
            machine_start: "first".to_owned(),
            silent: None,
            booted: Timestamp::MAX,
            jobs,
            groups,
            limits,
            capacity: 1_000,
            others: Vec::new(),
            early: Vec::new(),
            executes: |_| true,
            started: Vec::new(),
            killed_count: 0,
            notes: Vec::new(),
            replies: Vec::new(),
            load_count: 0,
            operation_count: 0,
            batch_sizes: Vec::new(),
            operations: Vec::new(),
        };
        shell.boot();
        shell
    }

    /// The same, whose worker runs so many at once from now on.
    pub(super) fn of_capacity(mut self, capacity: usize) -> Shell {
        self.capacity = capacity;
        self.tell(Input::Worker(WorkerEvent::Present(self.worker())));
        self
    }

    /// The worker of the server that has the lease.
    pub(super) fn worker(&self) -> Worker {
        let worker = Worker::new(WorkerId(self.lease.epoch), "test", self.capacity);
        let kinds = ["process", "handler"].map(|kind| Action::new(kind, "").unwrap());
        let executed = kinds.iter().filter(|action| (self.executes)(action));
        executed.fold(worker, |worker, action| worker.with_label(action.kind().parse().unwrap(), 0))
    }

    /// Ends without a word and starts again.
    pub(super) fn boot(&mut self) {
        let owner = Owner::new("test").with_machine_start(&self.machine_start);
        self.lease = self.store.acquire(&owner).unwrap();
        self.planner = Planner::new(self.lease.epoch, self.limits).requiring(needs).following(self.silent);
        self.planner.set_machine_start(self.booted);
        let (jobs, paused) = self.store.jobs().unwrap();
        let runs = self.store.open_runs(None, 1_000).unwrap();
        let former = if self.knows_former { self.former.clone() } else { Vec::new() };
        self.tell(Input::Restore { jobs, former, runs, paused });
        for worker in [self.worker()].into_iter().chain(self.others.clone()) {
            self.tell(Input::Worker(WorkerEvent::Present(worker)));
        }
        std::mem::take(&mut self.early).into_iter().for_each(|input| self.tell(input));
        self.apply(self.jobs.clone());
        self.tell(Input::Begin { takeover: self.lease.takeover });
        self.tell(Input::Tick);
    }

    /// Why a job does not run. A server that does not plan says the same, by the rows of the store; and of
    /// each run of it that waits.
    pub(super) fn holds(&mut self, job: &JobName) -> Vec<Hold> {
        let keys: Vec<RunKey> = self.planner.runs_of(job).map(|run| run.key.clone()).collect();
        keys.iter().for_each(|key| drop(self.run_holds(key)));
        let holds = self.planner.holds(job, self.now);
        let Some(job) = self.planner.job(job).map(|(job, _)| job.clone()) else { return holds };
        let by_rows = self.with_rows(&job.name, &job.work, |_| true, |rows, now| rows.holds(&job, now));
        assert_eq!(by_rows, holds, "by the store and by the planner");
        holds
    }

    /// Why a run does not start, by both.
    pub(super) fn run_holds(&mut self, key: &RunKey) -> Vec<Hold> {
        let holds = self.planner.run_holds(key, self.now);
        let Some(run) = self.store.run(key).unwrap() else { panic!("{key} is on record") };
        let of_job = self.planner.job(&key.job).map(|(job, _)| Arc::clone(&job.work));
        let work = run.work.clone().or(of_job).expect("each run has work");
        let is_each = work.policies.on.is_each() && run.cause != Cause::Once;
        let is_in_lane = |other: &Run| !is_each || other.worker == run.worker;
        let by_rows = self.with_rows(&key.job, &work, is_in_lane, |rows, now| rows.run_holds(&run, now));
        assert_eq!(by_rows, holds, "by the store and by the planner: {run:?}");
        holds
    }

    /// What a server that does not plan makes of the rows of a name.
    fn with_rows<T>(
        &mut self,
        of: &JobName,
        work: &Work,
        is_in_lane: impl Fn(&Run) -> bool,
        ask: impl Fn(&HoldRows<'_>, Timestamp) -> T,
    ) -> T {
        let (records, paused) = self.store.jobs().unwrap();
        let mark = records.iter().find(|record| record.mark.job == *of).map(|record| &record.mark);
        let open = self.store.open_runs(None, 1_000).unwrap();
        let first = |state| {
            let found = open.iter().find(|run| run.key.job == *of && run.state == state && is_in_lane(run));
            found.cloned()
        };
        let group = work.group.clone().and_then(|name| {
            let is_running = |run: &&Run| run.state == RunState::Running;
            let running = open.iter().filter(is_running);
            let of_group = |run: &&Run| {
                let of_job = self.planner.job(&run.key.job).map(|(job, _)| &job.work);
                run.work.as_ref().or(of_job).is_some_and(|work| work.group.as_ref() == Some(&name))
            };
            let limit = self.groups.iter().find(|group| group.name == name)?.limit?;
            Some((limit, running.filter(of_group).map(|run| run.key.clone()).collect()))
        });
        let batch = work.policies.after_batch.as_ref();
        let rows = HoldRows {
            work,
            mark,
            paused: paused.as_ref(),
            in_the_way: [RunState::Running, RunState::Queued].into_iter().filter_map(first).collect(),
            workers: self.planner.workers().map(|(worker, count)| (worker.clone(), count)).collect(),
            group,
            full_rate: work.group.as_ref().and_then(|group| {
                self.planner.full_rates().find(|(name, _)| *name == group).map(|(_, rate)| rate)
            }),
            awaits_batch: self.planner.awaited_batches().any(|awaited| batch == Some(awaited)),
            has_crowded: self.planner.has_crowded(),
            needs: needs(&work.action),
        };
        ask(&rows, self.now)
    }

    pub(super) fn apply(&mut self, jobs: Vec<Job>) -> ApplyReport {
        self.former.clone_from(&jobs);
        let groups = self.groups.clone();
        let definitions = Definitions::new("test", jobs).with_groups(groups).with_prune(Prune::Remove);
        match self.command(Command::Apply(definitions)) {
            Reply::Applied(applied) => applied,
            reply => panic!("{reply:?}"),
        }
    }

    pub(super) fn command(&mut self, command: Command) -> Reply {
        self.replies.clear();
        self.tell(Input::Command { ticket: Ticket(1), command });
        self.replies.pop().expect("every command has a reply")
    }

    pub(super) fn tell(&mut self, input: Input) {
        let mut outputs = Vec::new();
        self.planner.handle(self.now, input, &mut outputs);
        self.planner.check();
        while let Some(batch) = self.planner.take_batch() {
            self.batch_sizes.push(batch.operations.len());
            self.operation_count += batch.operations.len();
            self.operations.extend(batch.operations.iter().cloned());
            let answers = self.store.commit(self.lease, &batch).unwrap().answers;
            let holders = Holder::of_batch(&mut self.store, &batch, &answers).unwrap();
            self.planner.handle(self.now, Input::Holders(holders), &mut outputs);
            self.planner.handle(self.now, Input::Committed { number: batch.number, answers }, &mut outputs);
        }
        for output in outputs {
            match output {
                Output::Start(start) => self.started.push(start),
                Output::Kill { .. } => self.killed_count += 1,
                Output::Reply { reply, .. } => self.replies.push(reply),
                Output::Note(note) => self.notes.push(note),
                Output::Load { up_to, limit } => {
                    self.load_count += 1;
                    let first = OnceId::first_at(Timestamp::MIN);
                    let pending = self.store.load(first, up_to, limit).unwrap();
                    let is_complete = pending.len() < limit;
                    self.tell(Input::Loaded { pending, is_complete });
                }
                Output::LoadIds { after, up_to, limit } => {
                    self.load_count += 1;
                    let ids = self.store.load_ids(after, up_to, limit).unwrap();
                    let is_complete = ids.len() < limit;
                    self.tell(Input::LoadedIds { ids, is_complete });
                }
                Output::CheckBatch { batch } => {
                    let is_pending = self.store.has_pending_of(&batch).ok();
                    self.tell(Input::BatchChecked { batch, is_pending });
                }
            }
        }
    }

    /// Lives up to a time, looking whenever something is due.
    pub(super) fn live(&mut self, until: &str) {
        let until = at(until);
        while let Some(due) = self.planner.next_due().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            self.tell(Input::Tick);
        }
        self.now = until;
    }

    /// Looks once, at that time.
    pub(super) fn wake(&mut self, now: &str) {
        self.now = at(now);
        while self.planner.next_due().is_some_and(|due| due <= self.now) {
            self.tell(Input::Tick);
        }
    }

    pub(super) fn end(&mut self, index: usize, outcome: Outcome) {
        let (key, attempt) = (self.started[index].key.clone(), self.started[index].attempt);
        self.tell(AttemptEnd::new(key, attempt, outcome).into());
    }

    pub(super) fn end_until(&mut self, index: usize, outcome: Outcome, retry_at: Timestamp) {
        let mut end = AttemptEnd::new(self.started[index].key.clone(), self.started[index].attempt, outcome);
        end.retry_at = Some(retry_at);
        self.tell(end.into());
    }

    pub(super) fn runs(&mut self, job: &str) -> Vec<Run> {
        let query = Query::new(10_000).of(name(job));
        let mut runs = self.store.find(&query).unwrap();
        runs.reverse();
        runs
    }

    pub(super) fn states(&mut self, job: &str) -> String {
        self.runs(job).iter().map(|run| run.state.name()).collect::<Vec<_>>().join(" ")
    }

    /// Which open states a job's runs were recorded in.
    pub(super) fn recorded_states(&self, job: &str) -> Vec<RunState> {
        let state = |operation: &Operation| match operation {
            Operation::Plan(run) if run.key.job.as_str() == job => Some(run.state),
            Operation::Begin { key, .. } if key.job.as_str() == job => Some(RunState::Running),
            Operation::Move { key, to, .. } if key.job.as_str() == job => Some(*to),
            _ => None,
        };
        self.operations.iter().filter_map(state).filter(|state| state.is_open()).collect()
    }

    pub(super) fn started_names(&self) -> String {
        self.started.iter().map(|start| start.key.job.as_str()).collect::<Vec<_>>().join(" ")
    }
}
