//! The model of a pool: one planner at a time decides, workers carry out and report, and each may fall.
//!
//! ```text
//!  planner:  rises (reads runs and workers) ─ begins at a worker ─ takes reports ─ takes a worker for lost ─ falls
//!  worker:   joins ─ reads what is its own, starts it once or gives it back ─ appends what it learns ─ dies; comes back as another
//!  report:   a row; it may be taken again, by any planner, until it is removed
//! ```
//!
//! No step has a time: a worker is taken for lost at any moment, also one that lives, and a planner falls
//! between any two steps. Commits are whole and fenced, which `protocol` shows. So what holds here holds
//! whatever the clocks do. That no two attempts run at once does rest on clocks: the worker's lease is over
//! before another takes it for lost. The histories of `mainspring-job` have those.

use stateright::{Checker, HasDiscoveries, Model, Property};

const WORKERS: usize = 2;
const RUNS: usize = 2;
const MAX_ATTEMPTS: u8 = 2;
/// Lives of all workers together, and planners.
const MAX_LIVES: u8 = 3;
const MAX_PLANNERS: u8 = 3;

/// What is left out on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Whole,
    /// A planner that rises takes every run that runs for one of a worker that is gone.
    WorkersForgotten,
    /// What ran at a worker that was taken for lost is not abandoned, and what it appends later is believed.
    LostBelieved,
    /// A report ends whatever attempt runs.
    AttemptIgnored,
    /// A worker does not remember what it has started.
    StartsForgotten,
    /// A planner that ends gives back what it has begun at a worker.
    GivenBackByPlanner,
}

/// Names one life of a worker.
type Life = u8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Run {
    /// So many attempts have been.
    Pending(u8),
    Running(u8, Life),
    Ended,
}

/// That an attempt has ended, by its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Report {
    run: usize,
    attempt: u8,
    life: Life,
    /// It did not begin: another is to follow.
    is_given_back: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    runs: [Run; RUNS],
    /// The lives that have a row: those that no planner has taken for lost.
    rows: Vec<Life>,
    reports: Vec<Report>,
    /// The lives that the planner knows; `None`: none plans.
    planner: Option<Vec<Life>>,
    planners: u8,
    /// What each worker is at the moment; `None`: it is down.
    workers: [Option<Worker>; WORKERS],
    lives: u8,
    /// How many start records each attempt has, how often it started, and how many ends are on record.
    records: [[Count; MAX_ATTEMPTS as usize]; RUNS],
    /// An attempt was abandoned whose worker had a row.
    is_ended_by_a_fall: bool,
    /// An end is on record by a report that its worker appended after it was taken for lost, or of another
    /// attempt.
    is_false: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
struct Count {
    begun: u8,
    started: u8,
    ended: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Worker {
    life: Life,
    /// What it has started or given back, and whether that has ended.
    started: Vec<(usize, u8, bool)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Rise,
    Fall,
    Join(usize),
    Die(usize),
    Begin(usize, Life),
    Start(usize, usize),
    GiveBack(usize, usize),
    End(usize, usize),
    /// What a planner must not do.
    GiveBackAtPlanner(usize),
    Take(Report),
    Remove(Report),
    /// The planner takes a life for lost; what ran at it is abandoned with that.
    Lose(Life),
}

struct Pool {
    rule: Rule,
}

impl State {
    /// Whether what runs at workers that were not taken for lost runs by the records.
    fn is_on_record(&self) -> bool {
        let there = self.workers.iter().flatten().filter(|worker| self.rows.contains(&worker.life));
        there.into_iter().all(|worker| {
            let mut running = worker.started.iter().filter(|(.., has_ended)| !has_ended);
            running.all(|(run, attempt, _)| self.runs[*run] == Run::Running(*attempt, worker.life))
        })
    }

    fn count(&mut self, run: usize, attempt: u8) -> &mut Count {
        &mut self.records[run][usize::from(attempt - 1)]
    }

    /// Abandons what runs at lives for which this is true.
    fn abandon(&mut self, is_gone: impl Fn(Life) -> bool) {
        for run in 0..RUNS {
            if let Run::Running(attempt, life) = self.runs[run]
                && is_gone(life)
            {
                self.is_ended_by_a_fall |= self.rows.contains(&life);
                self.count(run, attempt).ended += 1;
                self.runs[run] = if attempt < MAX_ATTEMPTS { Run::Pending(attempt) } else { Run::Ended };
            }
        }
    }

    /// The process of a run ends at a worker.
    fn end(&mut self, index: usize, run: usize, rule: Rule) -> Option<()> {
        let Worker { life, started } = self.workers[index].as_mut()?;
        let ended = started.iter_mut().find(|(of, _, has_ended)| *of == run && !*has_ended)?;
        ended.2 = true;
        let report = Report { run, attempt: ended.1, life: *life, is_given_back: false };
        self.append(report, rule);
        Some(())
    }

    /// A worker does not start what it was assigned.
    fn give_back(&mut self, index: usize, run: usize, rule: Rule) -> Option<()> {
        let Run::Running(attempt, life) = self.runs[run] else { return None };
        self.workers[index].as_mut()?.started.push((run, attempt, true));
        self.append(Report { run, attempt, life, is_given_back: true }, rule);
        Some(())
    }

    /// A planner says of a worker what only that knows.
    fn give_back_at_planner(&mut self, run: usize) -> Option<()> {
        let Run::Running(attempt, _) = self.runs[run] else { return None };
        self.count(run, attempt).ended += 1;
        self.runs[run] = Run::Pending(attempt);
        Some(())
    }

    /// A worker appends what it has learned where it has a row; else no planner reads it.
    fn append(&mut self, report: Report, rule: Rule) {
        let may = self.rows.contains(&report.life) || rule == Rule::LostBelieved;
        if may && !self.reports.contains(&report) {
            self.reports.push(report);
            self.reports.sort_unstable();
        }
    }
}

impl Model for Pool {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            runs: [Run::Pending(0); RUNS],
            rows: Vec::new(),
            reports: Vec::new(),
            planner: None,
            planners: 0,
            workers: Default::default(),
            lives: 0,
            records: Default::default(),
            is_ended_by_a_fall: false,
            is_false: false,
        }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        for (index, worker) in state.workers.iter().enumerate() {
            let Some(worker) = worker else {
                if state.lives < MAX_LIVES {
                    steps.push(Step::Join(index));
                }
                continue;
            };
            steps.push(Step::Die(index));
            for (run, stands) in state.runs.iter().enumerate() {
                if let Run::Running(attempt, life) = *stands
                    && life == worker.life
                {
                    let has_started =
                        worker.started.iter().any(|(of, number, _)| (*of, *number) == (run, attempt));
                    if !has_started || self.rule == Rule::StartsForgotten {
                        steps.push(Step::Start(index, run));
                    }
                    // The runs are alike: that of one is enough.
                    if run == 0 && !has_started && attempt < MAX_ATTEMPTS {
                        steps.push(Step::GiveBack(index, run));
                    }
                }
                if worker.started.iter().any(|(of, _, has_ended)| *of == run && !has_ended) {
                    steps.push(Step::End(index, run));
                }
            }
        }
        let Some(known) = &state.planner else {
            if state.planners < MAX_PLANNERS {
                steps.push(Step::Rise);
            }
            return;
        };
        steps.push(Step::Fall);
        for (run, stands) in state.runs.iter().enumerate() {
            // The runs are alike: the first begins first.
            let may = run == 0 || state.runs[0] != Run::Pending(0);
            if may && matches!(stands, Run::Pending(_)) {
                steps.extend(known.iter().map(|life| Step::Begin(run, *life)));
            }
            if self.rule == Rule::GivenBackByPlanner && matches!(stands, Run::Running(1, _)) {
                steps.push(Step::GiveBackAtPlanner(run));
            }
        }
        steps.extend(state.reports.iter().flat_map(|report| [Step::Take(*report), Step::Remove(*report)]));
        steps.extend(known.iter().map(|life| Step::Lose(*life)));
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut next = state.clone();
        match step {
            Step::Rise => {
                next.planners += 1;
                next.planner = Some(next.rows.clone());
                let rows = next.rows.clone();
                let is_forgetful = self.rule == Rule::WorkersForgotten;
                next.abandon(|life| is_forgetful || !rows.contains(&life));
            }
            Step::Fall => next.planner = None,
            Step::Join(index) => {
                next.lives += 1;
                let life = next.lives;
                next.rows.push(life);
                next.workers[index] = Some(Worker { life, started: Vec::new() });
                if let Some(known) = &mut next.planner {
                    known.push(life);
                }
            }
            Step::Die(index) => next.workers[index] = None,
            Step::Begin(run, life) => {
                let Run::Pending(been) = next.runs[run] else { return None };
                next.runs[run] = Run::Running(been + 1, life);
                next.count(run, been + 1).begun += 1;
            }
            Step::Start(index, run) => {
                let Run::Running(attempt, _) = next.runs[run] else { return None };
                next.workers[index].as_mut()?.started.push((run, attempt, false));
                next.count(run, attempt).started += 1;
            }
            Step::GiveBack(index, run) => next.give_back(index, run, self.rule)?,
            Step::GiveBackAtPlanner(run) => next.give_back_at_planner(run)?,
            Step::End(index, run) => next.end(index, run, self.rule)?,
            Step::Take(report) => {
                if let Run::Running(attempt, life) = next.runs[report.run] {
                    let is_this = attempt == report.attempt && life == report.life;
                    if is_this || self.rule == Rule::AttemptIgnored {
                        next.is_false |= !is_this || !next.rows.contains(&life);
                        next.count(report.run, attempt).ended += 1;
                        next.runs[report.run] = if report.is_given_back && attempt < MAX_ATTEMPTS {
                            Run::Pending(attempt)
                        } else {
                            Run::Ended
                        };
                    }
                }
            }
            Step::Remove(report) => {
                // Only once what follows from it is on record.
                let open = Run::Running(report.attempt, report.life);
                if next.runs[report.run] == open {
                    return None;
                }
                next.reports.retain(|other| *other != report);
            }
            Step::Lose(life) => {
                next.rows.retain(|other| *other != life);
                next.planner.as_mut()?.retain(|other| *other != life);
                if self.rule != Rule::LostBelieved {
                    next.abandon(|of| of == life);
                }
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::<Self>::always(ONE_RECORD, |_, state| {
                state.records.iter().flatten().all(|count| count.begun <= 1)
            }),
            Property::<Self>::always(ONE_START, |_, state| {
                state.records.iter().flatten().all(|count| count.started <= count.begun)
            }),
            Property::<Self>::always(ONE_END, |_, state| {
                state.records.iter().flatten().all(|count| count.ended <= count.begun)
            }),
            Property::<Self>::always(ON_RECORD, |_, state| state.is_on_record()),
            Property::<Self>::always(NO_FALL, |_, state| !state.is_ended_by_a_fall),
            Property::<Self>::always(TRUE_REPORTS, |_, state| !state.is_false),
            Property::<Self>::sometimes(OUTLIVED, |_, state| {
                state.planners == MAX_PLANNERS && state.runs == [Run::Ended; RUNS] && state.lives == 1
            }),
            Property::<Self>::sometimes(AGAIN, |_, state| {
                state.records[0].iter().all(|count| (count.started, count.ended) == (1, 1))
            }),
        ]
    }
}

const ONE_RECORD: &str = "one start record for each attempt";
const ONE_START: &str = "an attempt starts once, and only with its record";
const ONE_END: &str = "an attempt has one end on record";
const ON_RECORD: &str = "what runs at a worker that was not taken for lost runs by the records";
const NO_FALL: &str = "the fall of a planner ends no run";
const TRUE_REPORTS: &str = "no report is believed of another attempt, or of a worker that was taken for lost";
const OUTLIVED: &str = "two runs of one worker outlive two planners";
const AGAIN: &str = "a run is tried again by another worker";

const LAWS: [&str; 6] = [ONE_RECORD, ONE_START, ONE_END, ON_RECORD, NO_FALL, TRUE_REPORTS];

#[test]
fn all_laws_of_a_pool_hold() {
    let checker = Pool { rule: Rule::Whole }.checker().threads(2).spawn_bfs().join();
    println!("pool: {} states", checker.unique_state_count());
    for name in [OUTLIVED, AGAIN] {
        assert!(checker.discovery(name).is_some(), "{name}");
    }
    let broken: Vec<&str> = LAWS.into_iter().filter(|name| checker.discovery(name).is_some()).collect();
    assert_eq!(broken, [] as [&str; 0]);
}

#[test]
fn each_rule_that_is_left_out_breaks_its_law() {
    let cases = [
        (Rule::WorkersForgotten, NO_FALL),
        (Rule::LostBelieved, TRUE_REPORTS),
        (Rule::AttemptIgnored, TRUE_REPORTS),
        (Rule::StartsForgotten, ONE_START),
        (Rule::GivenBackByPlanner, ON_RECORD),
    ];
    for (rule, law) in cases {
        let first = HasDiscoveries::AllOf([law].into());
        let checker = Pool { rule }.checker().threads(2).finish_when(first).spawn_bfs().join();
        assert!(checker.discovery(law).is_some(), "{rule:?} breaks no law: {law}");
    }
}
