//! A plan: the servers of a history with their clocks, and what happens to them and when, from a seed. The
//! jobs are those of the script of the same seed.

use std::fmt;

use crate::simulation::random::Random;
use crate::simulation::script::{Script, Step};

/// Tells the numbers of plans apart from those of scripts.
const PLANNED: u64 = 0x6f77_6e65_7273_0000;

/// How the clocks of a machine differ from that of the store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clocks {
    /// How much later its wall clock shows at the start.
    pub apart_ms: i64,
    /// How much faster its wall clock runs, in millionths.
    pub drift: i64,
    /// The same of its boot time. A hundredth is more than quartz does.
    pub boot_drift: i64,
}

/// What the network does to a server's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    /// Each comes and is answered within milliseconds.
    Good,
    /// Up to a second each way.
    Slow,
    /// Requests do not arrive.
    NoRequests,
    /// Requests arrive and are done; their answers do not.
    NoAnswers,
    /// Requests arrive after the server has given them up, up to 25 s later.
    Late,
    /// Each of these, in turn by chance.
    Wild,
}

/// Something that happens, to the server of that number where there is one.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// `kill -9`; it is started again after so many seconds.
    Crash(usize, i64),
    /// SIGSTOP, and SIGCONT after so many seconds. What it has started goes on.
    Freeze(usize, i64),
    /// The same, when its next batch has come to the store and it has no answer yet.
    FreezeInCommit(usize, i64),
    Network(usize, Network),
    /// Its wall clock is set, forward or back.
    SetClock(usize, i64),
    /// It is asked to end, and started again after so many seconds.
    Stop(usize, i64),
    /// A person ends the lease in the store by hand.
    Steal,
    /// The store is too busy for the next requests, of any server.
    Busy(u64),
    /// A command for the server that owns the jobs, or thinks so.
    Ask(Step),
}

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub script: Script,
    pub clocks: Vec<Clocks>,
    /// Each so many milliseconds after the one before.
    pub acts: Vec<(i64, Act)>,
    /// For what is drawn while it runs: delays, and how long processes take.
    pub seed: u64,
}

impl Plan {
    pub(crate) fn generate(seed: u64) -> Plan {
        let mut random = Random(seed ^ PLANNED);
        let count = 2 + random.below(2) as usize;
        let clocks = (0..count).map(|_| clocks(&mut random)).collect();
        let mut script = Script::generate(seed);
        script.steps.clear();
        // A rate goes by the planner's clock, and each of these servers has another.
        script.rate = None;
        let subject_count = script.subjects.len();
        let acts = (0..8 + random.below(30)).map(|_| act(&mut random, count, subject_count)).collect();
        Plan { script, clocks, acts, seed }
    }
}

fn clocks(random: &mut Random) -> Clocks {
    Clocks {
        apart_ms: random.pick(&[0, 3, -40, 900, -2_500, 61_000, -61_000, 3_700_000]),
        drift: random.pick(&[0, 0, 50, -50, 20_000, -20_000]),
        boot_drift: random.pick(&[0, 50, -50, 10_000, -10_000]),
    }
}

fn act(random: &mut Random, server_count: usize, subject_count: usize) -> (i64, Act) {
    let server = random.below(server_count as u64) as usize;
    let (job, pick) = (random.below(subject_count as u64) as usize, random.below(8) as usize);
    let wait = random.pick(&[1, 40, 300, 1_100, 2_600, 5_000, 9_900, 14_000, 17_500, 40_000]);
    let act = match random.below(40) {
        0..=3 => Act::Crash(server, random.pick(&[0, 1, 8, 30])),
        4..=5 => Act::Freeze(server, random.pick(&[1, 6, 11, 14, 16, 17, 25, 60])),
        6..=7 => Act::FreezeInCommit(server, random.pick(&[1, 11, 14, 17, 25, 60])),
        8..=16 => {
            let kinds = [
                Network::Good,
                Network::Good,
                Network::Slow,
                Network::NoRequests,
                Network::NoAnswers,
                Network::Late,
                Network::Wild,
                Network::Wild,
            ];
            Act::Network(server, random.pick(&kinds))
        }
        17..=19 => Act::SetClock(server, random.pick(&[-3_600, -61, -12, -5, 1, 15, 300])),
        20..=21 => Act::Stop(server, random.pick(&[1, 10, 30])),
        22 => Act::Steal,
        23 => Act::Busy(1 + random.below(4)),
        24..=31 => Act::Ask(Step::Submit {
            due_in: random.pick(&[-5, 0, 1, 7, 30, 100]),
            policies: random.pick(&["", "", "retry=2,backoff=3s", "retry=1,backoff=1s,on=abandoned"]),
            key: random.one_in(3).then(|| random.below(3) as u8),
            name: random.one_in(4).then(|| random.below(3) as u8),
        }),
        32..=34 => Act::Ask(Step::Trigger {
            job,
            due_in: [0, 0, 0, 0, 0, 7, 30, 100][pick],
            key: (pick % 3 == 0).then_some(1),
        }),
        35 => Act::Ask(Step::Cancel(pick)),
        36 => Act::Ask(Step::Withdraw(pick)),
        37 => Act::Ask(Step::Pause(Some(job), None)),
        38 => Act::Ask(Step::Resume(Some(job))),
        _ => Act::Ask(Step::RetryDead(pick)),
    };
    (wait, act)
}

/// With clocks that are farther apart, or drift more, a time on record says little of when its server died.
const MAX_APART_MS: i64 = 5_000;
const MAX_DRIFT: i64 = 1_000;

impl Plan {
    /// Whether the store can tell when an owner died. All servers go by nearly the same time, as those do
    /// that follow the store's; and no request comes late and renews the lease of an owner that is dead.
    pub(crate) fn tells_deaths(&self) -> bool {
        let is_near =
            |clocks: &Clocks| clocks.apart_ms.abs() < MAX_APART_MS && clocks.drift.abs() < MAX_DRIFT;
        let misleads =
            |act: &Act| matches!(act, Act::SetClock(..) | Act::Network(_, Network::Late | Network::Wild));
        self.clocks.iter().all(is_near) && !self.acts.iter().any(|(_, act)| misleads(act))
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.script)?;
        for (index, clocks) in self.clocks.iter().enumerate() {
            writeln!(f, "  server {index}: {clocks:?}")?;
        }
        self.acts.iter().try_for_each(|(wait, act)| writeln!(f, "  {wait} ms later: {act:?}"))
    }
}
