//! Makes a failing script short.
//!
//! First everything after the failure goes; then pieces are removed, large ones first, as long as the script
//! still fails, and pairs of steps, of which one makes up for the other; then numbers are made smaller. A
//! failure is a difference or a panic, and any failure will do: a script often shrinks to another sign of the
//! same fault.
//!
//! Cost: bounded by [`ATTEMPT_MAX`] runs. It does not find the shortest script of all.
//!
//! Source: A. Zeller and R. Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (2002).

use std::any::Any;
use std::cell::Cell;
use std::format;
use std::panic::{self, AssertUnwindSafe};
use std::string::{String, ToString};
use std::sync::Once;
use std::vec::Vec;

use super::outcome::{Difference, Outcome};
use super::runner::{Token, run};
use super::script::{Script, Step, When};
use crate::queue::TimerQueue;

/// How many scripts are tried; at a few milliseconds each this is some seconds.
const ATTEMPT_MAX: usize = 4_000;

/// Up to how many steps all pairs are tried: 40 steps make 780 pairs.
const PAIRED_MAX: usize = 40;

std::thread_local! {
    /// Whether this thread's panics are caught here and should not be printed.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs a script; a panic becomes a difference.
pub(super) fn run_caught<Q: TimerQueue<Token>>(
    script: &Script,
    make: &impl Fn() -> Q,
) -> Result<Outcome, Difference> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(std::boxed::Box::new(move |report| {
            if !IS_QUIET.get() {
                previous(report);
            }
        }));
    });
    let was_quiet = IS_QUIET.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(|| run(script, make())));
    IS_QUIET.set(was_quiet);
    result.unwrap_or_else(|panic| {
        // The step is not known; the shrinker does without.
        Err(Difference { step: script.steps.len() - 1, text: format!("panic: {}", message(&*panic)) })
    })
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "(no message)".to_string())
}

/// Returns a shorter script that fails too, and how.
pub(super) fn shrink<Q: TimerQueue<Token>>(
    script: Script,
    difference: Difference,
    make: &impl Fn() -> Q,
) -> (Script, Difference) {
    let mut shrinker = Shrinker { script, difference, attempt_count: 0 };
    shrinker.cut_tail();
    let mut size = shrinker.script.steps.len() / 2;
    while size > 0 && shrinker.attempt_count < ATTEMPT_MAX {
        // Each piece that is not needed goes.
        let remove = |steps: &mut Vec<Step>, start: usize| {
            steps.drain(start..steps.len().min(start + size));
            !steps.is_empty()
        };
        let has_shrunk = shrinker.pass(size, &[&remove], make);
        if size > 1 || !has_shrunk {
            size /= 2;
        }
    }
    shrinker.remove_pairs(make);
    shrinker.pass(1, &[&join_advances], make);
    // Each number is lowered: to 0, else to half, else by one.
    let lower =
        |lower: fn(u64) -> u64| move |steps: &mut Vec<Step>, place| lower_step(&mut steps[place], lower);
    shrinker.pass(1, &[&lower(|_| 0), &lower(|ticks| ticks / 2), &lower(|ticks| ticks - 1)], make);
    (shrinker.script, shrinker.difference)
}

/// Changes steps at a place; tells whether it did.
type Edit<'a> = dyn Fn(&mut Vec<Step>, usize) -> bool + 'a;

struct Shrinker {
    script: Script,
    difference: Difference,
    attempt_count: usize,
}

impl Shrinker {
    fn cut_tail(&mut self) {
        self.script.steps.truncate(self.difference.step + 1);
    }

    /// Keeps `candidate` if it fails.
    fn try_script<Q: TimerQueue<Token>>(&mut self, candidate: Script, make: &impl Fn() -> Q) -> bool {
        self.attempt_count += 1;
        let Err(difference) = run_caught(&candidate, make) else { return false };
        self.script = candidate;
        self.difference = difference;
        self.cut_tail();
        true
    }

    /// Makes one of the edits at each place, the first with which the script still fails. It is kept, and the
    /// place is tried again. Tells whether there was one.
    fn pass<Q: TimerQueue<Token>>(&mut self, stride: usize, edits: &[&Edit], make: &impl Fn() -> Q) -> bool {
        let (mut place, mut has_shrunk) = (0, false);
        while place < self.script.steps.len() && self.attempt_count < ATTEMPT_MAX {
            let is_kept = edits.iter().any(|edit| {
                let mut candidate = self.script.clone();
                edit(&mut candidate.steps, place) && self.try_script(candidate, make)
            });
            has_shrunk |= is_kept;
            place += if is_kept { 0 } else { stride };
        }
        has_shrunk
    }

    /// Removes two steps at once as long as that helps: a schedule and the pop that balances it. For short
    /// scripts.
    fn remove_pairs<Q: TimerQueue<Token>>(&mut self, make: &impl Fn() -> Q) {
        let (mut first, mut second) = (0, 1);
        while second < self.script.steps.len().min(PAIRED_MAX) && self.attempt_count < ATTEMPT_MAX {
            let mut candidate = self.script.clone();
            candidate.steps.remove(second);
            candidate.steps.remove(first);
            if !candidate.steps.is_empty() && self.try_script(candidate, make) {
                (first, second) = (0, 1);
                continue;
            }
            first += 1;
            if first == second {
                (first, second) = (0, second + 1);
            }
        }
    }
}

/// Makes one advance of two that follow each other; tells whether there are two.
fn join_advances(steps: &mut Vec<Step>, place: usize) -> bool {
    let Some([Step::Advance(When::After(first)), Step::Advance(When::After(second))]) =
        steps.get(place..place + 2)
    else {
        return false;
    };
    let joined = Step::Advance(When::After(first.saturating_add(*second)));
    steps.splice(place..place + 2, [joined]);
    true
}

/// Lowers the number of a step; tells whether that made a difference.
fn lower_step(step: &mut Step, lower: fn(u64) -> u64) -> bool {
    let (Step::Schedule(_, when) | Step::Reset(_, when, _) | Step::Advance(when)) = step else {
        return false;
    };
    match when {
        When::At(ticks) | When::After(ticks) if *ticks > 0 => {
            let before = *ticks;
            *ticks = lower(before);
            *ticks < before
        }
        _ => false,
    }
}
