//! Steps that some histories have beside their own, by numbers of their own: all other seeds stay what they
//! were.

use super::{AT_BOOT, AT_SERVER_START, Change, End, Step, Subject, run_now};
use crate::simulation::random::Random;

/// One seed in so many has a burst of runs by hand in one turn, and some have another at the same moment by
/// the next server, whose names begin where those of the first did.
const BURST_IN: u64 = 4_000;
const BURST: u64 = 0x6275_7273_7400_0000;
const MAX_BURST: u64 = 5_000;
/// One seed in so many has runs that are asked for at a later time, and under a key.
const REQUESTED_IN: u64 = 5;
const REQUESTED: u64 = 0x6173_6b65_6400_0000;

/// One seed in so many has jobs that leave their file and are in it again, most of them within a day.
const ABSENT_IN: u64 = 8;
const ABSENT: u64 = 0x6162_7365_6e74_0000;

/// One seed in so many has steps that rewind a job.
const REWOUND_IN: u64 = 4;

const REWOUND: u64 = 0x7265_776f_756e_6400;

const STARTED: u64 = 0x7374_6172_7400_0000;

/// In some histories somebody rewinds what rests for a clock that was set back.
pub(super) fn add_rewinds(seed: u64, subject_count: usize, steps: &mut Vec<Step>) {
    if seed % REWOUND_IN != REWOUND_IN - 1 {
        return;
    }
    let mut random = Random(seed ^ REWOUND);
    let is_back = |index: &usize| matches!(steps[*index], Step::Back(_));
    let places: Vec<usize> = (0..steps.len()).rev().filter(is_back).collect();
    for index in places {
        let later = (index + 1 + random.below(4) as usize).min(steps.len());
        let job = random.below(subject_count as u64) as usize;
        steps.insert(later, Step::Rewind(job));
    }
}

/// Half of the jobs for the start of the machine are for that of the server.
pub(super) fn move_starts(seed: u64, subjects: &mut [Subject]) {
    let mut random = Random(seed ^ STARTED);
    for times in subjects.iter_mut().map(|subject| &mut subject.times[0]) {
        if times.expression == AT_BOOT.expression && random.one_in(2) {
            *times = AT_SERVER_START;
        }
    }
}

/// In some histories people ask for thousands of runs at once, or for runs at later times and under keys.
pub(super) fn add_requests(seed: u64, subjects: &mut [Subject], steps: &mut Vec<Step>) {
    if seed % BURST_IN == BURST_IN / 2 {
        // Each of thousands would kill a server of its own.
        subjects[0].is_poison = false;
        add_burst(&mut Random(seed ^ BURST), steps);
    }
    if seed.is_multiple_of(REQUESTED_IN) {
        ask_for_later(&mut Random(seed ^ REQUESTED), steps, subjects.len());
    }
}

/// A burst of runs by hand, and at the same moment some of the next server.
fn add_burst(random: &mut Random, steps: &mut Vec<Step>) {
    let at = random.below(steps.len() as u64) as usize;
    let burst = Step::Burst(0, MAX_BURST / 2 + random.below(MAX_BURST / 2));
    steps.splice(at..at, [burst, Step::Restart, Step::Burst(0, 1 + random.below(3))]);
}

fn ask_for_later(random: &mut Random, steps: &mut Vec<Step>, subject_count: usize) {
    for _ in 0..1 + random.below(6) {
        let place = random.below(steps.len() as u64 + 1) as usize;
        let step = Step::Trigger {
            job: random.below(subject_count as u64) as usize,
            due_in: random.pick(&[-60, 0, 1, 59, 600, 4_000, 100_000]),
            key: random.one_in(2).then(|| random.below(2) as u8),
        };
        steps.insert(place, step);
    }
}

/// Jobs leave their file, and come back a while later: a restart, a pause and a retry may fall into that.
pub(super) fn add_absences(seed: u64, subject_count: usize, steps: &mut Vec<Step>) {
    if seed % ABSENT_IN != 4 {
        return;
    }
    let mut random = Random(seed ^ ABSENT);
    for _ in 0..1 + random.below(3) {
        let job = random.below(subject_count as u64) as usize;
        let from = random.below(steps.len() as u64) as usize;
        let to = (from + 1 + random.below(6) as usize).min(steps.len());
        let wait = random.pick(&[1, 6, 61, 3_600, 80_000, 86_400, 90_000]);
        let toggle = Step::Change(Change::Toggle(job));
        steps.splice(to..to, [Step::Live(wait), toggle.clone()]);
        steps.splice(from..from, [run_now(job), Step::End(0, End::Failed), toggle]);
    }
}
