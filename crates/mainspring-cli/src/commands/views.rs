//! The commands that only look: `list`, `show`, `history`, `audit`, `export`. `logs` has a file of its own.
//!
//! Cost: one connection, and one request per [`MAX_ROWS`] rows.
//!
//! Does not change anything.

use std::io::{self, Write};

use super::answers::{QuerySource, jobs_text, show};
use super::progress::Progress;
use super::upcoming::{defined, upcoming};
use super::value_text::View;
use super::{instant, json_line, print, print_faithfully, print_json, print_painted, printed};
use crate::cli::serve::ExportArgs;
use crate::cli::value;
use crate::cli::views::{AuditArgs, HistoryArgs, JobArgs, ListArgs};
use crate::client::Address;
use crate::wire::{ListDocument, ListedJobs};
use mainspring_file::jobfile::written::JobTables;
use mainspring_file::plain;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::protocol::{
    ALL_CAUSES, AuditAskWire, HistoryWire, JobWire, ListWire, MAX_ROWS, Request, Response,
};

pub(super) fn list(args: &ListArgs) -> Result<Exit, Error> {
    let mut client = QuerySource::open(&args.ask.server.address())?;
    let jobs = if args.pending { Vec::new() } else { all_jobs(&args.label, |request| client.ask(request))? };
    let count = args.count as usize;
    let page = |limit, after| {
        Ok(match client.ask(Request::Pending { after, limit })? {
            Response::Pending { pending, after } => Some((pending, after)),
            _ => None,
        })
    };
    // What came by `at` has no labels.
    let found = if args.label.is_empty() { first_rows(count, page)? } else { None };
    let (mut pending, next) = found.unwrap_or_default();
    let has_more_pending = next.is_some();
    // A reader of what is printed that takes its time keeps no server out.
    drop(client);
    pending.iter_mut().for_each(|once| once.definition.clear());
    if args.ask.json {
        print_json(&ListDocument { jobs: ListedJobs { jobs, after: None, pending, has_more_pending } })?;
        return Ok(Exit::Ok);
    }
    print_painted(&jobs_text(&jobs, &pending, &View::of(&args.ask)))?;
    if has_more_pending {
        print(&format!("more wait: mainspring list --pending -n {}\n", count.saturating_mul(50)))?;
    }
    Ok(Exit::Ok)
}

/// Rows of a list, and the place of those that follow; none where the answer is no such list.
type Rows<T, C> = Option<(Vec<T>, Option<C>)>;

/// The first rows of a list, a page of at most so many at a time over `ask`.
pub(super) fn first_rows<T, C: Clone>(
    count: usize,
    mut ask: impl FnMut(usize, Option<C>) -> Result<Rows<T, C>, Error>,
) -> Result<Rows<T, C>, Error> {
    let (mut found, mut next) = (Vec::new(), None);
    loop {
        let Some((rows, after)) = ask((count - found.len()).min(MAX_ROWS), next)? else { return Ok(None) };
        found.extend(rows);
        next = after;
        if count <= found.len() && next.is_some() {
            // A page that is full to the last row has a place behind it, and perhaps nothing there.
            let more = ask(1, next.clone())?;
            next = next.filter(|_| more.is_some_and(|(rows, _)| !rows.is_empty()));
        }
        if next.is_none() || count <= found.len() {
            return Ok(Some((found, next)));
        }
    }
}

/// All jobs that have these labels.
pub(super) fn all_jobs(
    labels: &[String],
    mut ask: impl FnMut(Request) -> Result<Response, Error>,
) -> Result<Vec<JobWire>, Error> {
    let page = |_, after| {
        Ok(match ask(Request::List(ListWire { after, labels: labels.to_vec() }))? {
            Response::Jobs { jobs, after } => Some((jobs, after)),
            _ => None,
        })
    };
    Ok(first_rows(usize::MAX, page)?.unwrap_or_default().0)
}

pub(super) fn show_job(args: &JobArgs) -> Result<Exit, Error> {
    let answer =
        QuerySource::open(&args.ask.server.address())?.ask(Request::Show { job: args.job.clone() })?;
    let exit = show(&args.ask, &answer)?;
    if let (Response::Job(job), Some(count), false) = (&answer, args.count, args.ask.json)
        && let Some(job) = defined(&job.definition)
    {
        let view = View::of(&args.ask);
        let times = upcoming(&job.timetable, view.now).take(count as usize);
        let text = |found| match found {
            Ok(time) => format!("next  {}\n", view.absolute(time)),
            Err(at) => format!("none up to {}: too many times in a row are excluded\n", view.absolute(at)),
        };
        print(&times.map(text).collect::<String>())?;
    }
    Ok(exit)
}

pub(super) fn history(args: &HistoryArgs) -> Result<Exit, Error> {
    let query = HistoryWire {
        job: args.job.clone(),
        states: args.state.iter().map(|state| state.name().to_owned()).collect(),
        cause: args.cause.clone(),
        group: args.group.clone(),
        since: resolved(args.since.as_ref())?,
        until: resolved(args.until.as_ref())?,
        order: args.by_end.then(|| "ended".to_owned()),
        ..HistoryWire::default()
    };
    let mut client = QuerySource::open(&args.ask.server.address())?;
    let page = |limit, cursor| {
        Ok(match client.ask(Request::History(HistoryWire { limit, cursor, ..query.clone() }))? {
            Response::Runs { runs, cursor } => Some((runs, cursor)),
            _ => None,
        })
    };
    let Some((runs, cursor)) = first_rows(args.count as usize, page)? else { return Ok(Exit::Failed) };
    drop(client);
    show(&args.ask, &Response::Runs { runs, cursor })
}

/// A time of the command line, in RFC 3339.
fn resolved(time: Option<&value::Moment>) -> Result<Option<String>, Error> {
    Ok(time.map(instant).transpose()?.map(|time| time.to_string()))
}

pub(super) fn audit(args: &AuditArgs) -> Result<Exit, Error> {
    let mut client = QuerySource::open(&args.ask.server.address())?;
    let (target, actor, since) = (args.of.clone(), args.actor.clone(), resolved(args.since.as_ref())?);
    let query = AuditAskWire { actor, target, since, before: None, limit: 0 };
    let page = |limit, before| {
        Ok(match client.ask(Request::Audit(AuditAskWire { limit, before, ..query.clone() }))? {
            Response::Audit { rows, before } => Some((rows, before)),
            _ => None,
        })
    };
    let Some((rows, before)) = first_rows(args.count as usize, page)? else { return Ok(Exit::Failed) };
    drop(client);
    show(&args.ask, &Response::Audit { rows, before })
}

pub(super) fn export(args: &ExportArgs) -> Result<Exit, Error> {
    if args.history {
        return export_history(&args.server.address());
    }
    let mut client = QuerySource::open(&args.server.address())?;
    let file = job_file(&mut client)?;
    drop(client);
    file.map_or(Ok(Exit::Failed), |file| print_faithfully(&file).map(|()| Exit::Ok))
}

/// All jobs as a job file, and what waits once as comments.
fn job_file(client: &mut QuerySource) -> Result<Option<String>, Error> {
    let mut tables = JobTables::default();
    let mut next = None;
    loop {
        let Response::Export { texts, after } = client.ask(Request::Export { after: next })? else {
            return Ok(None);
        };
        texts.iter().for_each(|text| tables.add(text));
        next = after;
        if next.is_none() {
            break;
        }
    }
    let mut file = tables.finish();
    let mut next = None;
    loop {
        let request = Request::Pending { after: next, limit: MAX_ROWS };
        let Response::Pending { pending, after } = client.ask(request)? else { return Ok(None) };
        for once in pending {
            let key = once.key.map_or_else(String::new, |key| format!(", key {}", plain::line(&key)));
            file += &format!("# waits once, submitted {}{key}\n{}\n", once.submitted, once.definition);
        }
        next = after;
        if next.is_none() {
            return Ok(Some(file));
        }
    }
}

/// All runs, a page at a time: there may be more than memory has room for.
fn export_history(address: &Address) -> Result<Exit, Error> {
    let mut source = QuerySource::open(address)?;
    let total = match source.ask(Request::Status) {
        Ok(Response::Status(status)) => status.runs,
        _ => 0,
    };
    let mut progress = Progress::beside_output("runs", total);
    let mut next = None;
    loop {
        let request = Request::History(HistoryWire {
            limit: MAX_ROWS,
            cursor: next,
            cause: Some(ALL_CAUSES.to_owned()),
            ..HistoryWire::default()
        });
        let Response::Runs { runs, cursor } = source.ask(request)? else { return Ok(Exit::Failed) };
        let server = source.release();
        let mut output = io::stdout().lock();
        for run in &runs {
            let written = output.write_all(json_line(run).as_bytes());
            if written.is_err() {
                return printed(written).map(|()| Exit::Ok);
            }
        }
        progress.add(runs.len());
        next = cursor;
        if next.is_none() {
            return Ok(Exit::Ok);
        }
        source = server.map_or_else(|| QuerySource::open(address), Ok)?;
    }
}
