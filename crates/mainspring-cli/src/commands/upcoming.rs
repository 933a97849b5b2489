//! The next times of a job: of all its triggers, without what it excludes.
//!
//! ```text
//! next backup                  a job of the server, or of the store if no server runs
//! next backup --in jobs.toml   a job of files, which need not be served
//! show -n 5 backup             the same beside the rest that is known of it
//! ```
//!
//! Cost: one search of the calendar for each time.
//!
//! Does not know of pauses, jitter and what is in the way: `simulate` does.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring_cron::{DayRule, Language};
use mainspring_job::{Job, JobName, Next, Timetable};

use super::answers::QuerySource;
use super::simulate::jobs_of_files;
use super::{print, print_json, zone_or_system};
use crate::cli::expression::{MAX_TIMES, NextArgs};
use crate::client::Address;
use crate::wire::JobTimes;
use mainspring_exec::clock::Moment;
use mainspring_file::jobfile::JobFile;
use mainspring_file::source::Source;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::log::rfc3339;
use mainspring_server::message::{note, say};
use mainspring_server::protocol::{Request, Response, zone_name};

/// How many times are printed when the command does not say how many, nor until when.
const DEFAULT_COUNT: u32 = 10;

const _: () = assert!(DEFAULT_COUNT <= MAX_TIMES);

/// How many moments in a row may have no answer: each is a thousand excluded occurrences further.
const MAX_EMPTY_STEPS: usize = 1_000;

/// Prints the next times of the job called `name`.
pub(super) fn of_job(name: &JobName, args: &NextArgs) -> Result<Exit, Error> {
    if let Some(option) = expression_option(args) {
        return Err(Error::Usage(format!(
            "{option} is for an expression, and `{name}` is the name of a job"
        )));
    }
    let from = args.zone.from.unwrap_or_else(|| Moment::now().wall);
    let (found, read) = if args.files.is_empty() { of_server(name, args)? } else { of_files(name, args)? };
    let Some(timetable) = found else {
        note(&format!("there is no job `{name}` that has a time to come"));
        return Ok(read.and(Exit::NotFound));
    };
    let own = timetable.triggers().iter().find_map(|trigger| Some(trigger.schedule()?.zone().clone()));
    let zone = zone_or_system(args.zone.zone.clone().or(own));
    if timetable.is_at_boot() {
        say("one of its triggers is the start of the machine, which has no time\n");
    }
    if timetable.is_at_server_start() {
        say("one of its triggers is each start of the server, which has no time\n");
    }
    for after in timetable.follows() {
        say(&format!("one of its triggers is the end of a run of another job, which has no time: {after}\n"));
    }
    let (found, cut) = first_times(args, upcoming(&timetable, from), |found| found.unwrap_or_else(|at| at));
    debug_assert!(found.iter().rev().skip(1).all(Result::is_ok), "a search that is given up is the last");
    let text = |time: Timestamp| rfc3339(&time.to_zoned(zone.clone()));
    let times: Vec<String> = found.iter().flatten().map(|time| text(*time)).collect();
    let cut = match found.last() {
        Some(Err(at)) => Some(format!("gave up at {}: too many times in a row are excluded", text(*at))),
        _ => cut,
    };
    if args.expression.json {
        let (job, zone) = (name.to_string(), zone_name(&zone).to_owned());
        print_json(&JobTimes { job, zone, from: from.to_string(), times })?;
    } else {
        print(&times.iter().map(|time| format!("{time}\n")).collect::<String>())?;
    }
    let Some(cut) = cut else { return Ok(read) };
    note(&cut);
    Ok(read.and(Exit::Failed))
}

/// The first of some times in their order, as far and as many as are asked for, and what to say if the limit
/// of the program leaves out more of them.
pub(super) fn first_times<T>(
    args: &NextArgs,
    times: impl Iterator<Item = T>,
    instant: impl Fn(&T) -> Timestamp,
) -> (Vec<T>, Option<String>) {
    let default = if args.until.is_some() { MAX_TIMES } else { DEFAULT_COUNT };
    let count = args.count.unwrap_or(default);
    assert!(count <= MAX_TIMES, "the command line was refused otherwise");
    let mut wanted = times.take_while(|time| args.until.is_none_or(|until| instant(time) <= until));
    let found = wanted.by_ref().take(count as usize).collect();
    let is_cut_short = args.count.is_none() && args.until.is_some() && wanted.next().is_some();
    let cut = || format!("ended after {MAX_TIMES} times, and more are due: ask again from the last one");
    (found, is_cut_short.then(cut))
}

/// What was given that says how an expression is read or shown, and means nothing of a job.
fn expression_option(args: &NextArgs) -> Option<&'static str> {
    let expression = &args.expression;
    let options = [
        ("--explain", args.explain),
        ("--dst", args.zone.dst.is_some()),
        ("--name", expression.name.is_some()),
        ("--dialect", expression.dialect != Language::Cron),
        ("--day-rule", expression.day_rule != DayRule::default()),
    ];
    options.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
}

/// A time at which a job is due, or the moment up to which none was found.
type Upcoming = Result<Timestamp, Timestamp>;

/// The occurrences after a moment. A search that is given up is the last of them.
pub(super) fn upcoming(timetable: &Timetable, from: Timestamp) -> impl Iterator<Item = Upcoming> + '_ {
    let mut after = Some(from);
    std::iter::from_fn(move || {
        let mut moment = after.take()?;
        for _ in 0..MAX_EMPTY_STEPS {
            match timetable.next_after(moment) {
                Next::At(time) => {
                    debug_assert!(moment < time, "the times go on");
                    after = Some(time);
                    return Some(Ok(time));
                }
                Next::NotBefore(time) => {
                    debug_assert!(moment < time, "the search gets further");
                    moment = time;
                }
                Next::Never => return None,
            }
        }
        Some(Err(moment))
    })
}

/// The job of a definition as `show` gives it.
pub(super) fn defined(definition: &str) -> Option<Job> {
    let file = JobFile::parse(&Source::new("definition", definition), &TimeZone::UTC);
    file.jobs.into_iter().next().map(|placed| placed.job)
}

/// What is found of a job, and [`Exit::Invalid`] if a file has problems.
type JobAnswer = (Option<Timetable>, Exit);

fn of_server(name: &JobName, args: &NextArgs) -> Result<JobAnswer, Error> {
    let answer = QuerySource::open(&Address::Here(args.data.directory()))?
        .ask(Request::Show { job: name.to_string() })?;
    let definition = match answer {
        Response::Job(job) => job.definition,
        Response::Once(once) => once.definition,
        _ => String::new(),
    };
    Ok((defined(&definition).map(|job| job.timetable), Exit::Ok))
}

/// The job of that name in files, of which all are read, because names of crontabs depend on the others.
fn of_files(name: &JobName, args: &NextArgs) -> Result<JobAnswer, Error> {
    let zone = zone_or_system(args.zone.zone.clone());
    let (jobs, _, read) = jobs_of_files(&args.files, args.format, &zone)?;
    let found = jobs.into_iter().find(|simulated| simulated.job.name == *name);
    Ok((found.map(|simulated| simulated.job.timetable), read))
}
