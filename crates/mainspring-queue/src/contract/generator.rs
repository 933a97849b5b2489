//! Makes random scripts.
//!
//! A seed first draws a *temper*: how far away deadlines usually are, where time starts (0, or shortly before
//! a boundary at which wheels wrap), and how many timers it likes to keep. Then each step is drawn. Both
//! sides of every power of two, and the ends of time, come up on purpose rather than by luck.
//!
//! Cost: O(steps). The same seed makes the same script on every machine.

use std::format;
use std::string::ToString;
use std::vec::Vec;

use super::script::{Name, Script, Step, When};

/// A generator of numbers: xorshift64 with multiply-high bounding.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        // Neighbouring seeds must not make similar streams, and 0 is the one state that xorshift cannot
        // leave.
        Random((seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// Where time may start: here, and shortly before the boundaries of 8, 14, 20, 26, 30, 32, 36 and 63 bits.
const STARTS: [u64; 10] = [
    0,
    0,
    (1 << 8) - 3,
    (1 << 14) - 100,
    (1 << 20) - 1_000,
    (1 << 26) - 1_000,
    (1 << 30) - 1_000,
    (1 << 32) - 2_000,
    (1 << 36) - 5_000,
    (1 << 63) - 10_000,
];

/// How many bits the usual delay has.
const DELAY_BITS: [u64; 8] = [3, 6, 8, 10, 12, 16, 24, 40];

/// How many timers a script likes to keep.
const CROWDS: [usize; 4] = [3, 20, 60, 150];

struct Temper {
    delay_bits: u64,
    crowd: usize,
}

/// Makes the script of a seed.
pub(super) fn script(seed: u64, step_count: usize) -> Script {
    let mut random = Random::new(seed);
    let temper = Temper { delay_bits: random.pick(&DELAY_BITS), crowd: random.pick(&CROWDS) };
    let mut steps = Vec::with_capacity(step_count);
    let mut names: Vec<Name> = Vec::new();
    match random.pick(&STARTS) {
        0 => (),
        start => steps.push(Step::Advance(When::At(start))),
    }
    while steps.len() < step_count {
        let step = draw_step(&mut random, &temper, &mut names);
        steps.push(step);
    }
    // Some scripts run to the end of time.
    if seed.is_multiple_of(8) && step_count > 4 {
        let last = step_count - 4;
        steps[last..].clone_from_slice(&[
            Step::Advance(When::At(u64::MAX - 1)),
            Step::Schedule("last".to_string(), When::At(u64::MAX)),
            Step::Advance(When::At(u64::MAX)),
            Step::Drain(None),
        ]);
    }
    Script { steps }
}

fn draw_step(random: &mut Random, temper: &Temper, names: &mut Vec<Name>) -> Step {
    // The list of names is longer than the crowd, so that some names are of timers that are gone.
    let is_crowded = names.len() > temper.crowd;
    match random.below(20) {
        0..=5 if !is_crowded => {
            let name = format!("t{}", names.len());
            names.push(name.clone());
            Step::Schedule(name, draw_deadline(random, temper))
        }
        0..=5 => {
            // The name is given to a new timer; the old one, if it is pending, lives on without a name.
            let name = names[random.below(names.len() as u64) as usize].clone();
            Step::Schedule(name, draw_deadline(random, temper))
        }
        6..=9 => Step::Cancel(draw_name(random, names), None),
        10..=12 => Step::Reset(draw_name(random, names), draw_deadline(random, temper), None),
        13..=16 => Step::Advance(draw_target(random, temper)),
        17..=18 => Step::Pop(None),
        _ => match random.below(8) {
            0 => Step::Compact,
            1..=2 => Step::Trim,
            _ => Step::Drain(None),
        },
    }
}

fn draw_name(random: &mut Random, names: &[Name]) -> Name {
    if names.is_empty() { "t0".to_string() } else { names[random.below(names.len() as u64) as usize].clone() }
}

fn draw_deadline(random: &mut Random, temper: &Temper) -> When {
    match random.below(32) {
        0 => When::At(0),
        1..=2 => When::After(0),
        3 => When::At(random.next() >> random.below(64)),
        4 => When::At(u64::MAX - random.below(2)),
        5 => When::Wakeup,
        6..=8 => When::After(draw_edge(random)),
        _ => When::After(random.below(1 << temper.delay_bits)),
    }
}

/// A number at or beside a power of two.
fn draw_edge(random: &mut Random) -> u64 {
    ((1 << random.below(44)) + random.below(3)).saturating_sub(1)
}

fn draw_target(random: &mut Random, temper: &Temper) -> When {
    match random.below(16) {
        0 => When::After(0),
        1..=4 => When::After(1),
        5..=8 => When::Wakeup,
        9 => When::At(random.below(1 << 16)),
        10 => When::After(draw_edge(random)),
        _ => When::After(random.below(1 << (temper.delay_bits / 2 + 1))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_makes_the_same_script_and_another_seed_another() {
        assert_eq!(script(3, 500), script(3, 500));
        assert_ne!(script(3, 500), script(4, 500));
        assert_eq!(script(3, 500).steps.len(), 500);
    }

    #[test]
    fn scripts_contain_every_kind_of_step() {
        let steps = script(1, 2_000).steps;
        let kinds: [fn(&Step) -> bool; 6] = [
            |step| matches!(step, Step::Schedule(..)),
            |step| matches!(step, Step::Cancel(..)),
            |step| matches!(step, Step::Reset(..)),
            |step| matches!(step, Step::Advance(When::Wakeup)),
            |step| matches!(step, Step::Pop(_)),
            |step| matches!(step, Step::Drain(_)),
        ];
        for kind in kinds {
            assert!(steps.iter().filter(|step| kind(step)).count() > 40);
        }
    }
}
