//! A script: the jobs of a history, and its steps, from a seed.

mod additions;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use mainspring_cron::{Expression, Schedule};
use mainspring_job::{
    Action, After, Ending, Exclusion, Group, Hooks, Job, JobName, Rate, Timetable, Trigger, Work,
};

use crate::simulation::calendar::Calendar;
use crate::simulation::fault::Fault;
use crate::simulation::hook::ReportingHook;
use crate::simulation::random::Random;

/// When a subject is due: the expression, and the same as arithmetic. An expression alone: at each start of
/// the server. Neither: only when another ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times {
    expression: &'static str,
    pub calendar: Option<Calendar>,
}

/// One seed in so many is the history of a dead letter: every other of those that would rewind.
const REVIVED_IN: u64 = 8;
const REVIVED: u64 = 0x7265_7669_7665_6400;

/// One seed in so many has jobs that follow others.
const FOLLOWED_IN: u64 = 4;
const FOLLOWED: u64 = 0x666f_6c6c_6f77_6564;

/// One seed in so many has jobs with hooks.
const HOOKED_IN: u64 = 4;
const HOOKED: u64 = 0x686f_6f6b_6564_0000;

/// Four seeds in so many have a lead: starts of one-shot jobs are recorded so much before their time. They go
/// through all the kinds above.
const LED_IN: u64 = 16;
const LED: u64 = 0x6c65_6164_0000_0000;
const MAX_LEAD_S: u64 = 20;

/// One seed in so many has a group with a rate, and most jobs in it.
const RATED_IN: u64 = 8;
const RATED: u64 = 0x7261_7465_6400_0000;
const RATES: [&str; 6] = ["1/1s", "2/1s", "2/7s", "1/10s", "3/1m", "5/10m"];

/// A job of a history.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    /// As it is defined first, and as an edit leaves it.
    pub times: [Times; 2],
    /// Whose ends it follows beside that, as it is defined first and as an edit leaves it.
    pub follows: [Vec<(usize, Ending)>; 2],
    pub policies: String,
    pub group: Option<&'static str>,
    pub priority: i8,
    pub max_runs: Option<u64>,
    /// Each start of it kills the server.
    pub is_poison: bool,
    /// What it wants done about its failures and its silence.
    pub hook: Option<ReportingHook>,
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Time passes, and the shell does what is due in time.
    Live(i64),
    /// Time passes, or is set forward, and there is no look.
    Pass(i64),
    /// The clock is set back.
    Back(i64),
    Tick,
    /// The next inputs are told before anything is committed.
    Gather(usize),
    Fault(Fault),
    Restart,
    /// The server ends, time passes, and the next one finds other definitions.
    Away {
        ends: Ends,
        seconds: i64,
        change: Change,
    },
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
    /// The second is for how many seconds.
    Pause(Option<usize>, Option<i64>),
    Resume(Option<usize>),
    /// So many runs of a job are asked for before anything is committed.
    Burst(usize, u64),
    /// A run by hand, in so many seconds.
    Trigger {
        job: usize,
        due_in: i64,
        key: Option<u8>,
    },
    Backfill(usize, i64),
    Rewind(usize),
    RetryDead(usize),
    DropDead(usize),
    /// Changes the set while the server runs.
    Change(Change),
}

/// How a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    Crash,
    PowerCut,
    InGoodOrder,
}

/// What becomes of the set of definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    None,
    /// A job has its other timetable.
    Edit(usize),
    /// Takes a job out of the set, or puts it back.
    Toggle(usize),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    Succeeded,
    Failed,
    TimedOut,
    Killed,
    /// Its server ended it by itself.
    CutOff,
    /// It was not begun.
    Returned,
    /// Its handler put it off.
    PutOff,
}

#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub subjects: Vec<Subject>,
    /// How long before its time the start of a one-shot job may be recorded.
    pub lead: Duration,
    pub group_limit: u32,
    pub rate: Option<Rate>,
    pub max_running: usize,
    pub max_open: usize,
    pub steps: Vec<Step>,
    /// Two for each subject: with the one timetable and with the other.
    jobs: Vec<[Job; 2]>,
}

const fn every(expression: &'static str, period: i64, rests: Option<i64>) -> Times {
    Times { expression, calendar: Some(Calendar { period, rests }) }
}

/// The hour that begins soon after a history does.
const RESTS: Option<i64> = Some(10);

const TIMES: [Times; 9] = [
    every("@every 60s", 60, None),
    every("* * * * *", 60, None),
    every("*/5 * * * *", 300, None),
    every("@every 7m", 420, None),
    every("0 * * * *", 3_600, None),
    every("* * * * *", 60, RESTS),
    // More than a thousand occurrences are excluded, in both languages.
    every("* * * * * *", 1, RESTS),
    every("@every 1s", 1, RESTS),
    every("*/20 * * * * *", 20, None),
];
const AT_BOOT: Times = Times { expression: "@reboot", calendar: None };
const AT_SERVER_START: Times = Times { expression: "server start", calendar: None };
const NEVER: Times = Times { expression: "", calendar: None };
const MISFIRES: [&str; 8] = [
    "",
    "misfire=none",
    "misfire=latest,window=1h,spread=0s",
    "misfire=latest,spread=1m,grace=5s",
    "misfire=earliest,window=2h,spread=0s",
    "misfire=earliest,window=10m,spread=0s,grace=0s",
    "misfire=all,cap=3,spread=0s",
    "misfire=all,cap=20,window=30m,spread=40s,grace=30s",
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

/// One history in so many is a crowd: two jobs of each second catch up on a thousand occurrences each.
const CROWD_IN: u64 = 2_000;

impl Script {
    pub(crate) fn generate(seed: u64) -> Script {
        let mut random = Random(seed);
        let is_crowd = random.one_in(CROWD_IN);
        let count = if is_crowd { 2 } else { 1 + random.below(3) };
        let mut subjects: Vec<Subject> = (0..count).map(|_| subject(&mut random)).collect();
        // Some histories are calm, so that what needs a long quiet stretch is reached too.
        let is_calm = random.one_in(3);
        let mut steps: Vec<Step> =
            (0..12 + random.below(38)).map(|_| step(&mut random, subjects.len(), is_calm)).collect();
        if is_crowd {
            for subject in &mut subjects {
                subject.times = [every("@every 1s", 1, None); 2];
                subject.policies = format!("misfire=all,cap=1000,spread=0s {KEEP_ALL}");
                subject.max_runs = None;
            }
            steps.truncate(6);
            steps.push(Step::Pass(3_000));
            steps.push(Step::Tick);
        }
        // In others a dead letter is tried again by hand, and the server dies while it is.
        if seed % REVIVED_IN == REVIVED_IN - 1 {
            subjects.truncate(1);
            subjects[0].policies = format!("retry=2,backoff=5s,factor=1,jitter=0% {KEEP_ALL}");
            (subjects[0].max_runs, subjects[0].is_poison) = (None, false);
            steps = revival(&mut Random(seed ^ REVIVED));
        }
        additions::add_rewinds(seed, subjects.len(), &mut steps);
        additions::add_requests(seed, &mut subjects, &mut steps);
        if !is_crowd {
            additions::add_absences(seed, subjects.len(), &mut steps);
        }
        // In some histories jobs follow each other, without a circle.
        if seed % FOLLOWED_IN == 1 && !is_crowd {
            follow(&mut Random(seed ^ FOLLOWED), &mut subjects);
        }
        // In some histories the end of a run is reported, and so are missed occurrences and silence.
        if seed % HOOKED_IN == 2 {
            let mut random = Random(seed ^ HOOKED);
            for subject in &mut subjects {
                let silent_after = random.pick(&[None, Some(600), Some(7_200)]).map(Duration::from_secs);
                subject.hook = (!random.one_in(4)).then_some(ReportingHook { silent_after });
            }
        }
        additions::move_starts(seed, &mut subjects);
        let rate = (seed % RATED_IN == 5 && !is_crowd).then(|| {
            let mut random = Random(seed ^ RATED);
            subjects.iter_mut().for_each(|subject| subject.group = (!random.one_in(4)).then_some("group"));
            random.pick(&RATES).parse().unwrap()
        });
        let is_led = seed % LED_IN < LED_IN / 4;
        let lead_s = if is_led { 1 + Random(seed ^ LED).below(MAX_LEAD_S) } else { 0 };
        Script {
            lead: Duration::from_secs(lead_s),
            rate,
            group_limit: 1 + random.below(2) as u32,
            max_running: 1 + random.below(5) as usize,
            max_open: if random.one_in(20) { 4 + random.below(8) as usize } else { 100_000 },
            steps,
            jobs: subjects.iter().enumerate().map(|(index, subject)| jobs(index, subject)).collect(),
            subjects,
        }
    }

    /// The group that jobs share.
    pub(crate) fn group(&self) -> Group {
        let group = Group::new(JobName::new("group").unwrap(), self.group_limit);
        match self.rate {
            Some(rate) => group.with_rate(rate),
            None => group,
        }
    }

    pub(crate) fn name(index: usize) -> JobName {
        JobName::new(&format!("job-{index}")).unwrap()
    }

    /// Which subject a job is. `None`: it is a one-shot job.
    pub(crate) fn index(name: &JobName) -> Option<usize> {
        name.as_str().strip_prefix("job-")?.parse().ok()
    }

    /// Whether the server dies whenever this job starts.
    pub(crate) fn is_poison(&self, name: &JobName) -> bool {
        Script::index(name).is_some_and(|index| self.subjects[index].is_poison)
    }

    pub(crate) fn job(&self, index: usize, times: usize) -> &Job {
        &self.jobs[index][times]
    }

    /// The calendar whose timetable has this text.
    pub(crate) fn calendar(&self, index: usize, timetable: &str) -> Option<Calendar> {
        let times = self.jobs[index].iter().position(|job| job.timetable.to_string() == timetable)?;
        self.subjects[index].times[times].calendar
    }

    /// Whose ends a subject follows by the timetable that has this text.
    pub(crate) fn follows(&self, index: usize, timetable: &str) -> &[(usize, Ending)] {
        let times = self.jobs[index].iter().position(|job| job.timetable.to_string() == timetable);
        times.map_or(&[], |times| &self.subjects[index].follows[times])
    }
}

fn jobs(index: usize, subject: &Subject) -> [Job; 2] {
    let mut work = Work::new(Action::new("process", "true").unwrap());
    work.policies = subject.policies.parse().unwrap();
    work.group = subject.group.map(|name| JobName::new(name).unwrap());
    work.priority = subject.priority;
    let work = Arc::new(work);
    [0, 1].map(|version| {
        let times = subject.times[version];
        let schedule = |text: &str| Schedule::new(Expression::parse(text).unwrap(), TimeZone::UTC);
        let rests = times.calendar.and_then(|calendar| calendar.rests);
        let excluded = rests.map(|hour| Exclusion::Times(Box::new(schedule(&format!("* {hour} * * *")))));
        let own = match times.expression {
            "" => None,
            text if text == AT_SERVER_START.expression => Some(Trigger::ServerStart),
            text => Some(Trigger::from(schedule(text))),
        };
        let after = |(of, ending): &(usize, Ending)| After::new(Script::name(*of), *ending).into();
        let triggers = own.into_iter().chain(subject.follows[version].iter().map(after));
        let timetable = Timetable::new(triggers).unwrap();
        let timetable = timetable.without(excluded.into_iter().collect()).unwrap();
        let mut job = Job::new(Script::name(index), timetable, Arc::clone(&work));
        job.max_runs = subject.max_runs;
        job.hooks = subject.hook.map(Hooks::new);
        job
    })
}

fn subject(random: &mut Random) -> Subject {
    let words = [random.pick(&MISFIRES), random.pick(&OVERLAPS), random.pick(&RETRIES), random.pick(&OTHERS)];
    let times = if random.one_in(6) { AT_BOOT } else { random.pick(&TIMES) };
    Subject {
        times: [times, random.pick(&TIMES)],
        follows: [Vec::new(), Vec::new()],
        policies: format!("{} {KEEP_ALL}", words.join(" ")),
        group: random.one_in(3).then_some("group"),
        priority: random.pick(&[0, 0, 5, -5]),
        max_runs: random.one_in(8).then_some(3),
        is_poison: random.one_in(12),
        hook: None,
    }
}

/// Every subject but the first follows earlier ones, in one of its timetables or in both.
fn follow(random: &mut Random, subjects: &mut Vec<Subject>) {
    if subjects.len() == 1 {
        subjects.push(subject(random));
    }
    for (index, subject) in subjects.iter_mut().enumerate().skip(1) {
        for version in 0..2 {
            for _ in 0..random.below(3) {
                let of = random.below(index as u64) as usize;
                subject.follows[version].push((of, random.pick(&Ending::ALL)));
            }
            if !subject.follows[version].is_empty() && random.one_in(2) {
                subject.times[version] = NEVER;
            }
        }
    }
}

fn run_now(job: usize) -> Step {
    Step::Trigger { job, due_in: 0, key: None }
}

/// A run fails until it is a dead letter, is tried again, and fails again; the server dies between two of
/// those attempts.
fn revival(random: &mut Random) -> Vec<Step> {
    let attempts = |count| (0..count).flat_map(|_| [Step::End(0, End::Failed), Step::Live(10)]);
    let mut steps = vec![run_now(0)];
    steps.extend(attempts(3));
    steps.extend([Step::RetryDead(0), Step::Live(1)]);
    steps.extend(attempts(random.below(2)));
    // Between two attempts: one that the end of the server cuts off is not tried again.
    steps.extend([Step::End(0, End::Failed), Step::Restart, Step::Live(10)]);
    steps.extend(attempts(3));
    steps
}

fn change(random: &mut Random, job: usize) -> Change {
    random.pick(&[Change::None, Change::None, Change::Edit(job), Change::Edit(job), Change::Toggle(job)])
}

fn rest_seconds(random: &mut Random) -> Option<i64> {
    random.one_in(2).then(|| random.pick(&[-60, 1, 59, 600, 7_200]))
}

fn step(random: &mut Random, subject_count: usize, is_calm: bool) -> Step {
    let job = random.below(subject_count as u64) as usize;
    let pick = random.below(8) as usize;
    match random.below(if is_calm { 50 } else { 104 }) {
        0..=17 => Step::Live(random.pick(&[1, 10, 60, 61, 300, 3_600])),
        18..=20 => Step::Pass(random.pick(&[1, 30, 59, 120, 1_800])),
        21..=22 => Step::Tick,
        23..=39 => Step::End(
            pick,
            random.pick(&[End::Succeeded, End::Succeeded, End::Failed, End::Failed, End::TimedOut]),
        ),
        40..=43 => Step::Submit {
            due_in: random.pick(&[-5, 0, 1, 59, 3_600, 100_000]),
            policies: random.pick(&[
                "",
                "",
                "retry=2,backoff=3s",
                "misfire=none,grace=10s",
                "batch=b",
                "retry=1,backoff=3s batch=b",
                "after-batch=b",
                "misfire=none,grace=1h after-batch=b",
            ]),
            key: random.one_in(3).then(|| random.below(3) as u8),
            name: random.one_in(4).then(|| random.below(3) as u8),
        },
        44..=45 => run_now(job),
        46..=47 => Step::Cancel(pick),
        48 => Step::Backfill(job, random.pick(&[60, 60, 300, 1_200])),
        49..=51 => Step::Restart,
        52..=57 => Step::Away {
            ends: random.pick(&[Ends::Crash, Ends::PowerCut, Ends::InGoodOrder]),
            seconds: random.pick(&[0, 5, 61, 1_800, 4_000]),
            change: change(random, job),
        },
        58..=70 => Step::Fault(random.pick(&Fault::ALL)),
        71..=72 => Step::Pass(random.pick(&[3_700, 7_200, 90_000, 200_000])),
        73..=75 => Step::Back(random.pick(&[1, 61, 3_600, 10_000])),
        76..=79 => Step::Gather(1 + random.below(4) as usize),
        80..=81 => Step::Withdraw(pick),
        82 => Step::Pause(None, rest_seconds(random)),
        83..=85 => Step::Pause(Some(job), rest_seconds(random)),
        86..=87 => Step::Resume(None),
        88..=90 => Step::Resume(Some(job)),
        91..=94 => Step::RetryDead(pick),
        95 => Step::DropDead(pick),
        96 => Step::Change(Change::Toggle(job)),
        97 => Step::Change(Change::Edit(job)),
        98 => Step::End(pick, random.pick(&[End::Killed, End::CutOff])),
        99 => Step::End(pick, random.pick(&[End::Returned, End::PutOff])),
        100 => Step::Stop,
        _ => Step::Live(random.pick(&[9, 60])),
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, subject) in self.subjects.iter().enumerate() {
            writeln!(f, "  job-{index}: {subject:?}")?;
        }
        writeln!(
            f,
            "  a group with {}, at most {} running and {} open",
            self.group(),
            self.max_running,
            self.max_open
        )?;
        self.steps.iter().try_for_each(|step| writeln!(f, "  {step:?}"))
    }
}
