//! Judges a history by the manual: each sentence of it that promises something about planning names its check
//! in the table of `sentences`, and each check is about one of them.
//!
//! A check knows what the disk accepted and what the world saw happen, and nothing of the planner. Some look
//! at the history as a whole, others walk through it with a model of what was known at each moment.

mod acknowledged;
mod attempts;
mod coverage;
mod following;
mod lateness;
mod notifications;
mod overlap;
mod quarantine;
mod rest;
mod sentences;
mod slots;
mod starting;

use crate::simulation::checker::attempts::Stories;
use crate::simulation::event::Event;
use crate::simulation::model::Model;
use crate::simulation::world::World;

pub(crate) type Verdict = Result<(), String>;

macro_rules! ensure {
    ($holds:expr, $($text:tt)*) => {
        if !$holds {
            return Err(format!($($text)*));
        }
    };
}

pub(crate) use ensure;

/// How a check looks at a history.
#[derive(Clone, Copy)]
pub(crate) enum Check {
    /// At the whole.
    Whole(fn(&World<'_>, &Stories) -> Verdict),
    /// At each event, with what was known before it.
    Watch(fn(&Model<'_>, &Event) -> Verdict),
    /// The same, and it remembers something of its own.
    CatchingUp,
}

/// Every check by the name that the table of `sentences` knows it by.
pub(crate) const CHECKS: &[(&str, Check)] = &[
    ("attempts::stories", Check::Whole(|world, _| attempts::stories(world).map(drop))),
    ("attempts::check_starts", Check::Whole(attempts::check_starts)),
    ("attempts::check_put_off", Check::Whole(attempts::check_put_off)),
    ("attempts::check_retries", Check::Whole(attempts::check_retries)),
    ("attempts::check_failures", Check::Whole(attempts::check_failures)),
    ("acknowledged::check", Check::Whole(acknowledged::check)),
    ("acknowledged::check_asked", Check::Whole(acknowledged::check_asked)),
    ("rest::check_pauses", Check::Whole(rest::check_pauses)),
    ("rest::check_kept", Check::Whole(|world, _| rest::check_kept(world))),
    ("rest::check_batches", Check::Whole(|world, _| rest::check_batches(world))),
    ("starting::check_boots", Check::Whole(|world, _| starting::check_boots(world))),
    ("quarantine::check", Check::Whole(quarantine::check)),
    ("coverage::check", Check::Whole(|world, _| coverage::check(world))),
    ("following::check", Check::Whole(|world, _| following::check(world))),
    ("notifications::check", Check::Whole(|world, _| notifications::check(world))),
    ("overlap::watch", Check::Watch(overlap::watch)),
    ("overlap::watch_kills", Check::Watch(overlap::watch_kills)),
    ("slots::watch", Check::Watch(slots::watch)),
    ("slots::watch_order", Check::Watch(slots::watch_order)),
    ("slots::watch_side_by_side", Check::Watch(slots::watch_side_by_side)),
    ("slots::watch_rate", Check::Watch(slots::watch_rate)),
    ("slots::watch_batch", Check::Watch(slots::watch_batch)),
    ("slots::watch_catching_up", Check::CatchingUp),
    ("coverage::watch_end", Check::Watch(coverage::watch_end)),
    ("rest::watch_removal", Check::Watch(rest::watch_removal)),
    ("rest::watch_stop", Check::Watch(rest::watch_stop)),
    ("lateness::watch", Check::Watch(lateness::watch)),
    ("starting::watch_dead_first", Check::Watch(starting::watch_dead_first)),
    ("acknowledged::watch_once", Check::Watch(acknowledged::watch_once)),
    ("acknowledged::check_end", Check::Whole(|world, _| acknowledged::check_end(world))),
];

/// Judges a history by all checks.
pub(crate) fn check(world: &World<'_>) -> Verdict {
    judge(world, CHECKS)
}

/// Judges a history by some checks: first those that look at the whole, then the others in one walk.
pub(crate) fn judge(world: &World<'_>, checks: &[(&str, Check)]) -> Verdict {
    let stories = attempts::stories(world)?;
    for (_, check) in checks {
        if let Check::Whole(check) = check {
            check(world, &stories)?;
        }
    }
    let mut model = Model::new(world.script);
    let mut catching_up = slots::CatchingUp::default();
    for event in &world.log {
        for (_, check) in checks {
            match check {
                Check::Whole(_) => (),
                Check::Watch(watch) => watch(&model, event)?,
                Check::CatchingUp => catching_up.watch_catching_up(&model, event)?,
            }
        }
        model.apply(event);
    }
    Ok(())
}
