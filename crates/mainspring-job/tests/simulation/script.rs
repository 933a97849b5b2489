//! A script: the jobs of a history, and its steps, from a seed.

use std::fmt;
use std::sync::Arc;

use jiff::tz::TimeZone;
use mainspring_cron::Expression;
use mainspring_job::{Action, Job, JobName, Timetable, Trigger, Work};

use crate::simulation::fault::Fault;
use crate::simulation::random::Random;

/// A job of a history. All its occurrences are whole multiples of the period since the epoch.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub expression: &'static str,
    pub period: i64,
    pub policies: String,
    pub group: Option<&'static str>,
    pub priority: i8,
    pub max_runs: Option<u64>,
    /// Each start of it kills the server.
    pub is_poison: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Time passes, and the shell does what is due in time.
    Live(i64),
    /// Time passes, or is set forward, and nobody looks.
    Pass(i64),
    /// The clock is set back.
    Back(i64),
    Tick,
    /// The next inputs are told before anything is committed.
    Gather(usize),
    Fault(Fault),
    Restart,
    /// The server is asked to end, and does when nothing runs any more.
    Stop,
    /// The executor says how one of the running attempts ended.
    End(usize, End),
    Submit {
        due_in: i64,
        policies: &'static str,
        key: Option<u8>,
        name: Option<u8>,
    },
    Withdraw(usize),
    Cancel(usize),
    Pause(Option<usize>),
    Resume(Option<usize>),
    Trigger(usize),
    Backfill(usize, i64),
    RetryDead(usize),
    DropDead(usize),
    /// Takes a job out of the set, or puts it back.
    Toggle(usize),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    Succeeded,
    Failed,
    TimedOut,
    Killed,
}

#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub subjects: Vec<Subject>,
    pub group_limit: u32,
    pub max_running: usize,
    pub steps: Vec<Step>,
    /// One for each subject.
    pub jobs: Vec<Job>,
}

const PERIODS: [(&str, i64); 5] =
    [("@every 60s", 60), ("* * * * *", 60), ("*/5 * * * *", 300), ("@every 7m", 420), ("0 * * * *", 3_600)];
const MISFIRES: [&str; 7] = [
    "",
    "misfire=none",
    "misfire=latest,window=1h,spread=0s",
    "misfire=latest,spread=1m,grace=5s",
    "misfire=earliest,window=2h,spread=0s",
    "misfire=all,cap=3,spread=0s",
    "misfire=all,cap=20,window=30m,spread=10s,grace=30s",
];
const OVERLAPS: [&str; 7] = [
    "",
    "overlap=skip",
    "overlap=queue-one",
    "overlap=queue-all,cap=3",
    "overlap=replace",
    "overlap=kill-old",
    "overlap=allow",
];
const RETRIES: [&str; 5] = [
    "",
    "",
    "retry=1,backoff=5s",
    "retry=3,backoff=1s,factor=3,cap=20s,on=failed+timed_out+abandoned",
    "retry=2,backoff=30s,on=abandoned dead-letters=always",
];
/// The checker wants to see everything.
const KEEP_ALL: &str = "retention=keep=1000000,days=36525";
const OTHERS: [&str; 5] =
    ["", "", "jitter=20s", "jitter=50s pause-after=3", "pause-after=2 dead-letters=never"];

impl Script {
    pub(crate) fn generate(seed: u64) -> Script {
        let mut random = Random(seed);
        let subjects: Vec<Subject> = (0..1 + random.below(3)).map(|_| subject(&mut random)).collect();
        let step_count = 12 + random.below(38);
        // Some histories are calm, so that what needs a long quiet stretch is reached too.
        let is_calm = random.one_in(3);
        Script {
            group_limit: 1 + random.below(2) as u32,
            max_running: 1 + random.below(5) as usize,
            steps: (0..step_count).map(|_| step(&mut random, subjects.len(), is_calm)).collect(),
            jobs: subjects.iter().enumerate().map(|(index, subject)| job(index, subject)).collect(),
            subjects,
        }
    }

    pub(crate) fn name(index: usize) -> JobName {
        JobName::new(&format!("job-{index}")).unwrap()
    }

    /// Whether the server dies whenever this job starts.
    pub(crate) fn is_poison(&self, name: &JobName) -> bool {
        self.subjects.iter().enumerate().any(|(index, it)| it.is_poison && Script::name(index) == *name)
    }

    pub(crate) fn job(&self, index: usize) -> Job {
        self.jobs[index].clone()
    }
}

fn job(index: usize, subject: &Subject) -> Job {
    let trigger = Trigger::new(Expression::parse(subject.expression).unwrap(), TimeZone::UTC);
    let work = Work {
        policies: subject.policies.parse().unwrap(),
        group: subject.group.map(|name| JobName::new(name).unwrap()),
        priority: subject.priority,
        ..Work::new(Action::new("process", "true").unwrap())
    };
    Job {
        name: Script::name(index),
        timetable: Timetable::new(vec![trigger]).unwrap(),
        max_runs: subject.max_runs,
        work: Arc::new(work),
        source: String::new(),
        text: String::new(),
    }
}

fn subject(random: &mut Random) -> Subject {
    let (expression, period) = random.pick(&PERIODS);
    let words = [random.pick(&MISFIRES), random.pick(&OVERLAPS), random.pick(&RETRIES), random.pick(&OTHERS)];
    Subject {
        expression,
        period,
        policies: format!("{} {KEEP_ALL}", words.join(" ")),
        group: random.one_in(3).then_some("group"),
        priority: random.pick(&[0, 0, 5, -5]),
        max_runs: random.one_in(10).then_some(3),
        is_poison: random.one_in(12),
    }
}

fn step(random: &mut Random, subject_count: usize, is_calm: bool) -> Step {
    let job = random.below(subject_count as u64) as usize;
    let pick = random.below(8) as usize;
    match random.below(if is_calm { 50 } else { 100 }) {
        0..=17 => Step::Live(random.pick(&[1, 10, 60, 61, 300, 3_600])),
        18..=20 => Step::Pass(random.pick(&[1, 30, 59, 120, 1_800])),
        21..=22 => Step::Tick,
        23..=39 => Step::End(
            pick,
            random.pick(&[End::Succeeded, End::Succeeded, End::Failed, End::Failed, End::TimedOut]),
        ),
        40..=43 => Step::Submit {
            due_in: random.pick(&[-5, 0, 1, 59, 3_600, 100_000]),
            policies: random.pick(&["", "", "retry=2,backoff=3s", "misfire=none,grace=10s"]),
            key: random.one_in(3).then(|| random.below(3) as u8),
            name: random.one_in(4).then(|| random.below(3) as u8),
        },
        44..=45 => Step::Trigger(job),
        46..=47 => Step::Cancel(pick),
        48 => Step::Backfill(job, random.pick(&[60, 600, 1_200])),
        49..=53 => Step::Restart,
        54..=69 => Step::Fault(random.pick(&Fault::ALL)),
        70..=71 => Step::Pass(random.pick(&[7_200, 90_000, 200_000])),
        72..=75 => Step::Back(random.pick(&[1, 61, 3_600, 10_000])),
        76..=79 => Step::Gather(1 + random.below(4) as usize),
        80..=82 => Step::Withdraw(pick),
        83 => Step::Pause(None),
        84..=85 => Step::Pause(Some(job)),
        86..=87 => Step::Resume(None),
        88..=90 => Step::Resume(Some(job)),
        91..=92 => Step::RetryDead(pick),
        93 => Step::DropDead(pick),
        94 => Step::Toggle(job),
        95..=96 => Step::End(pick, End::Killed),
        97 => Step::Stop,
        _ => Step::Live(random.pick(&[9, 60])),
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, subject) in self.subjects.iter().enumerate() {
            writeln!(f, "  job-{index}: {subject:?}")?;
        }
        writeln!(f, "  group limit {}, at most {} running", self.group_limit, self.max_running)?;
        self.steps.iter().try_for_each(|step| writeln!(f, "  {step:?}"))
    }
}
