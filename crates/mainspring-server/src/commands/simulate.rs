//! `mainspring simulate`: shows what crontabs would run in a span of time.
//!
//! Cost: see [`simulation`](crate::simulation).
//!
//! Does not run anything, and does not ask whether the users of system crontabs exist.
//!
//! Source: own.

use jiff::tz::TimeZone;

use super::{print, print_json, zone_or_system};
use crate::cli::simulate::SimulateArgs;
use crate::cli::value::NamedDuration;
use crate::crontab::{Crontab, Format};
use crate::error::Error;
use crate::exit::Exit;
use crate::job::job_name;
use crate::message::{PROGRAM, say};
use crate::problem::render;
use crate::simulation::document::Document;
use crate::simulation::{
    Bounds, MAX_AT_ONCE, MAX_FIRINGS, Outcome, SimulatedJob, Stopped, report, simulate as run,
};
use crate::source::Source;

/// The name in `--durations` that means every job without a name of its own there.
const OTHERS: &str = "*";

pub(super) fn simulate(args: &SimulateArgs) -> Result<Exit, Error> {
    if args.to <= args.from {
        say(&format!("{PROGRAM}: --to must be later than --from\n"));
        return Ok(Exit::Usage);
    }
    let zone = zone_or_system(args.zone.clone());
    let (mut jobs, read) = jobs(args, &zone)?;
    if let Some(unknown) = set_durations(&mut jobs, &args.durations) {
        say(&format!("{PROGRAM}: --durations: no job is called `{unknown}`\n"));
        return Ok(Exit::Usage);
    }
    let bounds = Bounds {
        from: args.from,
        to: args.to,
        listed_count: args.count as usize,
        firings_max: MAX_FIRINGS,
        at_once_max: MAX_AT_ONCE,
    };
    let outcome = run(&jobs, &bounds);
    if args.json {
        print_json(&Document::new(&jobs, &bounds, &outcome, &zone))?;
    } else {
        print(&report::text(&jobs, &bounds, &outcome, &zone))?;
    }
    Ok(read.and(ended(&outcome, &zone)))
}

/// The jobs of all files, and [`Exit::Invalid`] if there was a problem in one. Problems are shown, and the good lines
/// are simulated, as `run` does it.
fn jobs(args: &SimulateArgs, zone: &TimeZone) -> Result<(Vec<SimulatedJob>, Exit), Error> {
    let mut jobs = Vec::new();
    let mut exit = Exit::Ok;
    for file in &args.files {
        let source = Source::read(file)?;
        let crontab = Crontab::parse(&source, Format::from(args.format));
        if !crontab.problems.is_empty() {
            say(&render(source.name(), &crontab.problems, crontab.unkept_count));
            exit = Exit::Invalid;
        }
        jobs.extend(crontab.entries.iter().map(|placed| {
            let name = job_name(placed);
            SimulatedJob {
                // With several files the line number alone is not unique.
                name: if args.files.len() == 1 { name } else { format!("{}:{name}", source.name()) },
                place: (source.name().to_owned(), placed.line_number),
                schedule: placed.schedule(zone),
                duration: None,
            }
        }));
    }
    Ok((jobs, exit))
}

/// Gives the jobs their durations. Returns a name that no job has.
fn set_durations<'d>(jobs: &mut [SimulatedJob], durations: &'d [NamedDuration]) -> Option<&'d str> {
    for NamedDuration { name, duration } in durations {
        let mut is_known = name == OTHERS;
        for job in jobs.iter_mut().filter(|job| is_called(job, name)) {
            job.duration = Some(*duration);
            is_known = true;
        }
        if !is_known {
            return Some(name);
        }
    }
    if let Some(others) = durations.iter().rfind(|durations| durations.name == OTHERS) {
        for job in jobs.iter_mut().filter(|job| job.duration.is_none()) {
            job.duration = Some(others.duration);
        }
    }
    None
}

/// Whether a name is a job's whole name or the word at its end.
fn is_called(job: &SimulatedJob, name: &str) -> bool {
    let word = job.name.rsplit(':').next().unwrap_or_default();
    job.name == name || word == name
}

/// Says so if the simulation ended early.
fn ended(outcome: &Outcome, zone: &TimeZone) -> Exit {
    let Some(stopped) = outcome.stopped else { return Exit::Ok };
    let why = match stopped {
        Stopped::Firings => format!("after {MAX_FIRINGS} firings"),
        Stopped::AtOnce => format!("because more than {MAX_AT_ONCE} runs would be running at once"),
    };
    let end = crate::log::rfc3339(&outcome.end.to_zoned(zone.clone()));
    say(&format!("{PROGRAM}: the simulation ended at {end}, {why}: the numbers are those up to then\n"));
    Exit::Failed
}
