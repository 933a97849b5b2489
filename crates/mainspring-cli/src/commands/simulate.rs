//! `mainspring simulate`: shows what files of jobs would run in a span of time.
//!
//! Cost: see [`simulation`](crate::simulation).
//!
//! Does not run anything, and does not ask whether the users of the jobs exist.

use std::path::Path;

use jiff::tz::TimeZone;
use mainspring_job::Group;

use super::named_files::named_files;
use super::{print, print_json, zone_or_system};
use crate::cli::format::FormatArgs;
use crate::cli::simulate::SimulateArgs;
use crate::cli::value::NamedDuration;
use crate::simulation::document::Document;
use crate::simulation::{MAX_EVENTS, Outcome, Scenario, SimulatedJob, report, simulate as run};
use mainspring_file::claims::{Claimant, InForce, settle};
use mainspring_file::crontab::Format;
use mainspring_file::loaded_file::LoadedFile;
use mainspring_file::source::Source;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::message::{note, say};

/// The name in `--durations` that means every job without a name of its own there.
const OTHERS: &str = "*";

pub(super) fn simulate(args: &SimulateArgs) -> Result<Exit, Error> {
    if args.to <= args.from {
        note("--to must be later than --from");
        return Ok(Exit::Usage);
    }
    let zone = zone_or_system(args.zone.clone());
    let (mut jobs, groups, read) = jobs_of_files(&args.files, args.format, &zone)?;
    if let Some(unknown) = set_durations(&mut jobs, &args.durations) {
        note(&format!("--durations: no job is called `{unknown}`"));
        return Ok(Exit::Usage);
    }
    let scenario = Scenario {
        jobs,
        groups,
        from: args.from,
        to: args.to,
        outages: args.off.clone(),
        clock_sets: args.set_clock.clone(),
        listed_count: args.count as usize,
        events_max: MAX_EVENTS,
    };
    let outcome = run(&scenario);
    if args.json {
        print_json(&Document::new(&scenario, &outcome, &zone))?;
    } else {
        print(&report::text(&scenario, &outcome, &zone))?;
    }
    Ok(read.and(ended(&outcome, &zone)))
}

/// The jobs and groups of all files, and [`Exit::Invalid`] if there was a problem in one. Its problems are
/// shown, and as in `serve` nothing of that file is in force.
pub(super) fn jobs_of_files(
    names: &[String],
    format: FormatArgs,
    zone: &TimeZone,
) -> Result<(Vec<SimulatedJob>, Vec<Group>, Exit), Error> {
    let mut files = Vec::new();
    for file in &named_files(names) {
        let format = Format::from(format).of(Path::new(file));
        let loaded = LoadedFile::parse(&Source::read(file)?, format, zone);
        files.push(Claimant { job_source: file.clone(), loaded });
    }
    settle(&mut files, &InForce::nothing());
    let (mut jobs, mut groups, mut exit) = (Vec::new(), Vec::new(), Exit::Ok);
    for Claimant { loaded, .. } in files {
        if !loaded.is_good() {
            say(&loaded.problems_text());
            exit = Exit::Invalid;
            continue;
        }
        let file = loaded.source.name().to_owned();
        groups.extend(loaded.groups);
        jobs.extend(loaded.jobs.into_iter().map(|placed| SimulatedJob {
            job: placed.job,
            place: (file.clone(), placed.line_number),
            duration: None,
        }));
    }
    Ok((jobs, groups, exit))
}

/// Gives the jobs their durations. Returns a name that no job has.
fn set_durations<'d>(jobs: &mut [SimulatedJob], durations: &'d [NamedDuration]) -> Option<&'d str> {
    for NamedDuration { name, duration } in durations {
        let mut is_known = name == OTHERS;
        for simulated in jobs.iter_mut().filter(|simulated| simulated.job.name.as_str() == name) {
            simulated.duration = Some(*duration);
            is_known = true;
        }
        if !is_known {
            return Some(name);
        }
    }
    if let Some(others) = durations.iter().rfind(|durations| durations.name == OTHERS) {
        for simulated in jobs.iter_mut().filter(|simulated| simulated.duration.is_none()) {
            simulated.duration = Some(others.duration);
        }
    }
    None
}

/// Says so if the simulation ended early.
fn ended(outcome: &Outcome, zone: &TimeZone) -> Exit {
    if !outcome.is_cut_short {
        return Exit::Ok;
    }
    let end = mainspring_server::log::rfc3339(&outcome.end.to_zoned(zone.clone()));
    note(&format!(
        "the simulation ended at {end}, after {MAX_EVENTS} events: the numbers are those up to then"
    ));
    Exit::Failed
}
