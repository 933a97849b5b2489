//! Whom a request is for, where the jobs are spread over several shards.
//!
//! | a request | goes to the loop of |
//! |---|---|
//! | about one job or run | the shard that has it |
//! | that defines a job | the shard that the definition belongs to |
//! | that submits | a shard of this server, or any |
//! | about all jobs | every shard; the answers are merged |
//! | about what the database answers alone | any shard |
//!
//! Cost: the text of a definition is read.
//!
//! Does not ask anybody.

use jiff::tz::TimeZone;
use mainspring_job::{JobName, OnceId, Placement, RunKey, Shard};

use mainspring_file::jobfile::JobFile;
use mainspring_file::source::Source;
use mainspring_server::protocol::{Request, Subject};

/// Whom a request is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// The shard that has this job.
    Job(JobName),
    /// The shard that has this run.
    Run(RunKey),
    /// The shard in which this waits.
    Once(OnceId),
    /// This shard, to which a definition of the name belongs. Another that has such a job keeps it.
    Defines(JobName, Shard),
    /// This shard.
    One(Shard),
    /// Any shard; one of this server, if it has any.
    Any,
    /// The same, each of this server in its turn.
    Turn,
    /// Every shard of this server.
    Here,
    /// Every shard.
    All,
    /// One shard after another: a page of this one, and what was said to be after it.
    InTurn(Shard, Option<String>),
}

/// Whom it is for, among so many shards.
pub(super) fn route(request: &Request, count: u16) -> Route {
    match request.row().subject {
        Subject::Any => Route::Any,
        Subject::Jobs => Route::All,
        Subject::Server => Route::Here,
        Subject::Pages(after) => in_turn(after),
        Subject::Job(job) => of_job(job),
        Subject::Group(group) => {
            JobName::new(group).map_or(Route::Any, |name| Route::One(Shard::of(&name, count)))
        }
        Subject::Run(of) => of_run(of),
        Subject::Name(name) => JobName::new(name).map_or(Route::Any, |name| {
            let shard = Shard::of(&name, count);
            Route::Defines(name, shard)
        }),
        Subject::Definition(text) => defines(text, count),
        Subject::Submission(_) => Route::Turn,
    }
}

/// A text that is no name goes to any loop, which refuses it.
fn of_job(text: &str) -> Route {
    JobName::new(text).map_or(Route::Any, Route::Job)
}

fn of_run(text: &str) -> Route {
    if let Ok(key) = text.parse() {
        return Route::Run(key);
    }
    text.parse().map_or_else(|_| of_job(text), Route::Once)
}

fn defines(text: &str, count: u16) -> Route {
    // The zone does not matter for the place.
    let jobs = JobFile::parse(&Source::new("", text), &TimeZone::UTC).jobs;
    let Some(placed) = jobs.first() else { return Route::Any };
    Route::Defines(placed.job.name.clone(), Placement::new([], count).of(&placed.job))
}

/// The place in an export is `SHARD/NAME`; a name has no slash.
fn in_turn(after: Option<&str>) -> Route {
    let found = after.and_then(|after| after.split_once('/'));
    let shard = found.and_then(|(shard, _)| shard.parse().ok()).map_or(Shard(0), Shard);
    let rest = found.map(|(_, rest)| rest).filter(|rest| !rest.is_empty());
    Route::InTurn(shard, rest.map(str::to_owned))
}

/// The place in an export that comes after a page of one shard; `None` after the last.
pub(super) fn next_in_turn(shard: Shard, after: Option<String>, count: u16) -> Option<String> {
    match after {
        Some(after) => Some(format!("{}/{after}", shard.0)),
        None => (shard.0 + 1 < count).then(|| format!("{}/", shard.0 + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_server::protocol::{EveryWire, ListWire, PauseWire, WorkWire};

    fn name(text: &str) -> JobName {
        JobName::new(text).unwrap()
    }

    #[test]
    fn what_is_about_one_job_or_run_goes_to_its_shard() {
        let run = "backup@2026-11-21T03:00:00Z";
        let cancel = |of: &str| route(&Request::Cancel { of: of.to_owned() }, 16);
        assert_eq!(cancel(run), Route::Run(run.parse().unwrap()));
        assert_eq!(cancel("backup"), Route::Job(name("backup")));
        let id = OnceId { due: jiff::Timestamp::UNIX_EPOCH, number: 7 };
        assert_eq!(cancel(&id.to_string()), Route::Once(id));
        // Any loop says what is wrong with it.
        assert_eq!(cancel("no name"), Route::Any);
        let pause = |job: Option<&str>| {
            let job = job.map(str::to_owned);
            route(&Request::Pause(PauseWire { job, ..PauseWire::default() }), 16)
        };
        assert_eq!(pause(Some("a")), Route::Job(name("a")));
        assert_eq!(pause(None), Route::All);
        assert_eq!(route(&Request::List(ListWire::default()), 16), Route::All);
    }

    #[test]
    fn a_definition_goes_where_it_belongs() {
        let work = WorkWire::default();
        let every = EveryWire { name: "tick".into(), period: "1m".into(), replace: false, work };
        let here = Shard::of(&name("tick"), 16);
        assert_eq!(route(&Request::Every(Box::new(every)), 16), Route::Defines(name("tick"), here));
        let text = "[groups.g]\nlimit = 1\n[jobs.tick]\nevery = \"1m\"\nshell = \"true\"\ngroup = \"g\"\n"
            .to_owned();
        let of_group = Shard::of(&name("g"), 16);
        let defined = route(&Request::Define { text, replace: false }, 16);
        assert_eq!(defined, Route::Defines(name("tick"), of_group));
    }

    #[test]
    fn an_export_goes_from_shard_to_shard() {
        let mut after = None;
        let mut seen = Vec::new();
        loop {
            let Route::InTurn(shard, rest) = route(&Request::Export { after: after.clone() }, 3) else {
                panic!("it goes in turn")
            };
            seen.push((shard.0, rest.clone()));
            // The second shard has two pages.
            let more = (shard.0 == 1 && rest.is_none()).then(|| "m".to_owned());
            after = next_in_turn(shard, more, 3);
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, [(0, None), (1, None), (1, Some("m".to_owned())), (2, None)]);
    }
}
