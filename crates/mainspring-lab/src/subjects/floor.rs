//! The floor: the memory accesses that no structure with ids can do without, on this machine, at this size.
//!
//! | workload | what is done |
//! |---|---|
//! | W1 | read a random id, write its record, write the new id, append an entry |
//! | W1b | the same with the oldest id |
//! | W2 | read a random id, write its record |
//! | W3 insert | append a record and an entry |
//! | W4 | walk through a sorted array of deadlines, a wakeup for each |
//! | W3 fire | stream the entries in order of time, read and free each one's record |
//!
//! A record has 24 bytes (deadline, generation, payload), an entry 16. The draws are part of it, as of every
//! subject.
//!
//! Cost: the figure itself.
//!
//! It is no queue: it keeps no order and checks nothing but that the compiler left the work in.

use std::hint::black_box;

use crate::case::{Case, Failure, Figure, Measurement, RESET_DELAY, SPREAD, Workload};
use crate::random::Random;
use crate::stopwatch::OwnTime;
use crate::subject::{Kind, Subject};
use crate::workload::pace::churn_step_count;
use crate::workload::sparse;

/// The subject.
pub fn subject() -> Subject {
    Subject::new("floor", Kind::Floor, "the random access and the append alone", measure)
}

#[derive(Clone, Copy, Default)]
struct Record {
    deadline: u64,
    generation: u64,
    payload: u64,
}

#[derive(Clone, Copy, Default)]
struct Entry {
    deadline: u64,
    record: u64,
}

/// A table of records, the ids that a program holds, and a log of entries that wraps.
struct Table {
    records: Vec<Record>,
    ids: Vec<u64>,
    entries: Vec<Entry>,
}

impl Table {
    fn new(size: u64) -> Table {
        let records = (0..size).map(|index| Record { payload: index, ..Record::default() }).collect();
        Table { records, ids: (0..size).collect(), entries: vec![Entry::default(); size as usize] }
    }

    /// Takes the record behind an id for a new timer.
    #[inline]
    fn renew(&mut self, held: u64, step: u64, deadline: u64) {
        let held = held as usize;
        let record = self.ids[held];
        let renewed = &mut self.records[record as usize];
        renewed.deadline = deadline;
        renewed.generation += 1;
        self.ids[held] = record;
        let place = (step % self.entries.len() as u64) as usize;
        self.entries[place] = Entry { deadline, record };
    }
}

fn measure(case: &Case) -> Measurement {
    match case.workload {
        Workload::W1 => Ok(steps(case, "pair_ns", |table, random, step| {
            let deadline = 1 + random.below(SPREAD);
            table.renew(random.below(case.size), step, deadline);
        })),
        Workload::W1b => Ok(steps(case, "pair_ns", |table, random, step| {
            table.renew(step % case.size, step, 1 + random.below(SPREAD));
        })),
        Workload::W2 => Ok(steps(case, "reset_ns", |table, random, step| {
            let record = table.ids[random.below(case.size) as usize];
            table.records[record as usize].deadline = step / 1_000 + RESET_DELAY;
        })),
        Workload::W3 => Ok(drain(case)),
        Workload::W4 => Ok(walk(case)),
        _ => Err(Failure::Unable("the floor is memory's: it has no clock and no threads".to_owned())),
    }
}

/// Shuffles the ids, so that they lead to random records as they do after a while of churn.
fn shuffle(ids: &mut [u64], random: &mut Random) {
    for index in (1..ids.len()).rev() {
        ids.swap(index, random.below(index as u64 + 1) as usize);
    }
}

/// Steps of W1, W1b or W2.
fn steps(case: &Case, metric: &str, step: impl Fn(&mut Table, &mut Random, u64)) -> Vec<Figure> {
    let mut random = Random::new(case.seed);
    let mut table = Table::new(case.size);
    if case.workload == Workload::W1 {
        shuffle(&mut table.ids, &mut random);
    }
    let step_count = churn_step_count(case.size);
    let stopwatch = OwnTime::start();
    for number in 0..step_count {
        step(&mut table, &mut random, number);
    }
    let ns = stopwatch.ns_per(step_count);
    black_box((&table.entries, &table.records));
    vec![Figure::new(metric, ns)]
}

/// W4 with nothing but the answers: which deadline is next, and what fires there.
fn walk(case: &Case) -> Vec<Figure> {
    let mut random = Random::new(case.seed);
    let (mut ns, mut now, mut payload_sum, mut wakeup_count) = (0.0, 0, 0_u64, 0_u64);
    for _ in 0..sparse::REPEAT_COUNT {
        let mut deadlines: Vec<u64> =
            (0..case.size).map(|_| now + 1 + random.below(sparse::PERIOD)).collect();
        deadlines.sort_unstable();
        let stopwatch = OwnTime::start();
        for deadline in black_box(&deadlines) {
            wakeup_count += u64::from(now < *deadline);
            now = *deadline;
            payload_sum = payload_sum.wrapping_add(now);
        }
        ns += stopwatch.ns();
    }
    black_box(payload_sum);
    let fired_count = (case.size * sparse::REPEAT_COUNT) as f64;
    vec![
        Figure::new("fire_ns", ns / fired_count),
        Figure::new("wakeups_per_fire", wakeup_count as f64 / fired_count),
    ]
}

fn drain(case: &Case) -> Vec<Figure> {
    let mut random = Random::new(case.seed);
    let mut records = Vec::new();
    let mut entries = Vec::new();
    let stopwatch = OwnTime::start();
    for record in 0..case.size {
        let deadline = 1 + random.below(SPREAD);
        records.push(Record { deadline, generation: 0, payload: deadline });
        entries.push(Entry { deadline, record });
    }
    let insert_ns = stopwatch.ns_per(case.size);
    entries.sort_by_key(|entry| entry.deadline);
    let mut payload_sum = 0_u64;
    let stopwatch = OwnTime::start();
    for entry in &entries {
        let record = &mut records[entry.record as usize];
        record.generation += 1;
        payload_sum = payload_sum.wrapping_add(record.payload ^ entry.deadline);
    }
    let fire_ns = stopwatch.ns_per(case.size);
    black_box((payload_sum, &records));
    vec![Figure::new("insert_ns", insert_ns), Figure::new("fire_ns", fire_ns)]
}
