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
        let has_shrunk = shrinker.remove_pieces(size, make);
        if size > 1 || !has_shrunk {
            size /= 2;
        }
    }
    shrinker.remove_pairs(make);
    shrinker.join_advances(make);
    shrinker.lower_numbers(make);
    (shrinker.script, shrinker.difference)
}

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

    /// Removes every piece of `size` steps that is not needed.
    fn remove_pieces<Q: TimerQueue<Token>>(&mut self, size: usize, make: &impl Fn() -> Q) -> bool {
        let mut has_shrunk = false;
        let mut start = 0;
        while start < self.script.steps.len() && self.attempt_count < ATTEMPT_MAX {
            let mut candidate = self.script.clone();
            let end = candidate.steps.len().min(start + size);
            candidate.steps.drain(start..end);
            if !candidate.steps.is_empty() && self.try_script(candidate, make) {
                has_shrunk = true;
            } else {
                start += size;
            }
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

    /// Makes one advance of two that follow each other.
    fn join_advances<Q: TimerQueue<Token>>(&mut self, make: &impl Fn() -> Q) {
        let mut index = 1;
        while index < self.script.steps.len() && self.attempt_count < ATTEMPT_MAX {
            let mut candidate = self.script.clone();
            let joined = match (&candidate.steps[index - 1], &candidate.steps[index]) {
                (Step::Advance(When::After(first)), Step::Advance(When::After(second))) => {
                    Some(Step::Advance(When::After(first.saturating_add(*second))))
                }
                _ => None,
            };
            let is_joined = joined.is_some_and(|joined| {
                candidate.steps.splice(index - 1..=index, [joined]);
                self.try_script(candidate, make)
            });
            index += usize::from(!is_joined);
        }
    }

    /// Lowers each number: to 0, else to half, else by one.
    fn lower_numbers<Q: TimerQueue<Token>>(&mut self, make: &impl Fn() -> Q) {
        let mut index = 0;
        while index < self.script.steps.len() && self.attempt_count < ATTEMPT_MAX {
            let lowered = [|_| 0, |ticks| ticks / 2, |ticks: u64| ticks - 1].iter().any(|lower| {
                let mut candidate = self.script.clone();
                lower_step(&mut candidate.steps[index], lower) && self.try_script(candidate, make)
            });
            if !lowered {
                index += 1;
            }
        }
    }
}

/// Lowers the number of a step; tells whether that made a difference.
fn lower_step(step: &mut Step, lower: &fn(u64) -> u64) -> bool {
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
