//! The runs: a page of them, and one with its attempts.
//!
//! ```text
//! the first page by end: runs that are open ─▶ then those that ended last ─cursor of the store▶ the next page
//! ```
//!
//! The store chooses and orders. A word in the name and a last line are looked for here.
//!
//! Cost: a question of the loop or two for a page; for words one for each thousand runs.
//!
//! Does not change anything: see [`actions`](super::actions).

use std::collections::HashSet;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring_job::{RunKey, RunState};
use mainspring_server::protocol::{
    self, AttemptWire, FoundWire, HistoryWire, HoldWire, Request, Response, RunWire,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::call::{Call, QueryParams, Reply, after_row, ok};
use crate::catalogue::{between_ms, find};
use crate::problem::{Code, Problem, strange};
use crate::view::{Civils, List, Run, address_of, civils, is_open, output_path, zone_of};

/// The longest page.
const MAX_ROWS: usize = 1_000;

/// How many runs are looked at for a page of those with a word or a last line.
const MAX_SEEN: usize = 10_000;

const _: () = assert!(MAX_ROWS <= protocol::MAX_ROWS, "one question of the loop has a page");
const _: () = assert!(MAX_ROWS <= MAX_SEEN, "a page may be full");

/// What chooses runs.
pub const FILTERS: [&str; 8] = ["q", "job", "state", "cause", "group", "line", "since", "until"];

/// What the store is asked, one after the other: in the order of ends first for the runs that have none.
///
/// # Errors
///
/// 400 for an order that is none.
fn questions(params: &QueryParams, after: Option<&str>) -> Result<Vec<HistoryWire>, Problem> {
    let own = |name: &str| params.get(name).map(str::to_owned);
    let is_by_end = match params.get("order") {
        None | Some("ended") => true,
        Some("nominal") => false,
        Some(_) => return Err(Problem::new(Code::USAGE, "`order` is ended or nominal")),
    };
    // The place of a run that has ended begins with when it did.
    let is_behind_open = after.is_some_and(|after| after.contains('|'));
    let after = after.map(str::to_owned);
    let all = HistoryWire {
        job: own("job"),
        states: params.words("state"),
        group: own("group"),
        cause: own("cause"),
        since: own("since"),
        until: own("until"),
        order: None,
        limit: MAX_ROWS,
        cursor: after.clone().filter(|_| is_behind_open || !is_by_end),
    };
    if !is_by_end {
        return Ok(vec![all]);
    }
    let is_wanted = |state: &String| all.states.is_empty() || all.states.contains(state);
    let open = RunState::ALL.into_iter().filter(|state| state.is_open());
    let states: Vec<String> = open.map(|state| state.name().to_owned()).filter(is_wanted).collect();
    // What is open ends later than anything has ended: after any `since`, and not before any `until`.
    let has_open = !is_behind_open && all.until.is_none() && !states.is_empty();
    let open = HistoryWire { states, since: None, cursor: after, ..all.clone() };
    let ended = HistoryWire { order: Some("ended".to_owned()), ..all };
    Ok(has_open.then_some(open).into_iter().chain([ended]).collect())
}

/// Whether a run has what the store cannot choose by.
fn has_words(app: &App, run: &RunWire, params: &QueryParams) -> bool {
    let last_line = || run.started.and_then(|_| crate::tail::last_line(&output_path(app, run)));
    params.get("q").is_none_or(|part| run.job.as_str().contains(part))
        && params.get("line").is_none_or(|line| {
            [last_line().as_deref(), run.outcome.as_deref(), Some(run.reason.as_str())].contains(&Some(line))
        })
}

/// A page of runs, and where the next begins.
#[derive(Debug, Default)]
pub struct Page {
    /// Those that are asked for.
    pub runs: Vec<RunWire>,
    /// Where more may be.
    pub next: Option<String>,
}

/// At most so many of the runs that are asked for, after a place. Those with a word or a last line are looked
/// for among `seen_max` runs, and more than that is another page.
///
/// # Errors
///
/// 400 for an order that is none, and what the loop says.
pub async fn page(
    app: &App,
    params: &QueryParams,
    after: Option<&str>,
    limit: usize,
    seen_max: usize,
) -> Result<Page, Problem> {
    assert!(0 < limit, "a page names where the next begins by its last run");
    let is_plain = ["q", "line"].iter().all(|name| params.get(name).is_none());
    let (mut runs, mut seen_count) = (Vec::new(), 0);
    for mut question in questions(params, after)? {
        loop {
            debug_assert!(runs.len() <= limit);
            // One more than the page has tells whether there is another page.
            question.limit = if is_plain { (limit + 1 - runs.len()).min(MAX_ROWS) } else { MAX_ROWS };
            let request = Request::History(question.clone());
            let Response::Runs { runs: found, cursor } = app.pool.look(request).await? else {
                return Err(strange());
            };
            seen_count += found.len();
            // One that waits for its next attempt has the end of the last, and was found among those that are
            // open.
            let is_own = |run: &RunWire| question.order.is_none() || !is_open(run);
            // One that has ended since those that are open were asked for is on the page already.
            let open: HashSet<RunKey> = match question.order {
                Some(_) => runs.iter().map(|run: &RunWire| run.run.clone()).collect(),
                None => HashSet::new(),
            };
            let is_new = |run: &RunWire| !open.contains(&run.run);
            for (index, run) in found.into_iter().enumerate() {
                after_row(index).await;
                if is_own(&run) && is_new(&run) && has_words(app, &run, params) {
                    runs.push(run);
                }
            }
            if limit < runs.len() {
                runs.truncate(limit);
                let next = runs.last().map(|last| place(last, &question));
                return Ok(Page { runs, next });
            }
            question.cursor = cursor;
            if question.cursor.is_none() {
                break;
            }
            if seen_max <= seen_count {
                return Ok(Page { runs, next: question.cursor });
            }
        }
    }
    Ok(Page { runs, next: None })
}

/// The place of a run in the order of a question, as the store writes it.
fn place(run: &RunWire, question: &HistoryWire) -> String {
    match run.ended.filter(|_| question.order.is_some()) {
        Some(ended) => format!("{ended}|{}", run.run),
        None => run.run.to_string(),
    }
}

/// A page of runs.
///
/// # Errors
///
/// 400 for a parameter that is none, and what the loop says.
pub async fn list(call: Call) -> Reply {
    let params = &call.params;
    let limit = params.number("limit", 100, MAX_ROWS)?;
    let app = &call.app;
    let Page { runs, next } = page(app, params, params.get("after"), limit, MAX_SEEN).await?;
    let total = (next.is_none() && params.get("after").is_none()).then_some(runs.len());
    let jobs = app.catalogue.jobs().await?;
    // How long a run usually takes is told of those that go on: whether one is stuck is seen from it.
    let running = runs.iter().filter(|run| run.state == RunState::Running);
    app.catalogue.look_back(running.filter_map(|run| find(&jobs, run.job.as_str()))).await?;
    let mut items = Vec::with_capacity(runs.len());
    for (index, run) in runs.into_iter().enumerate() {
        after_row(index).await;
        let zone = zone_of(app, find(&jobs, run.job.as_str()));
        let usual = app.catalogue.usual_ms(run.job.as_str());
        items.push(Run::new(app, run, zone, usual));
    }
    ok(&List { items, next, total })
}

/// The run that the path says, with its attempts.
///
/// # Errors
///
/// 404 if there is none, and what the loop says.
pub async fn found(call: &Call) -> Result<FoundWire, Problem> {
    let series = match call.parameter("series") {
        "0" => String::new(),
        series => format!("#{series}"),
    };
    let run = format!("{}@{}{series}", call.parameter("job"), call.parameter("nominal"));
    let answer = call.app.pool.look(Request::Find { run }).await?;
    let Response::Found(found) = answer else { return Err(strange()) };
    Ok(*found)
}

/// A run with its attempts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunDetail {
    /// As a list has it.
    #[serde(flatten)]
    run: Run,
    /// When it was planned.
    planned: Timestamp,
    /// The first first.
    attempts: Vec<Attempt>,
    /// Each reason why it does not start now, and what ends it; left out if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    holds: Vec<HoldWire>,
    /// How many bytes of output there are; null if it was pruned.
    output_bytes: Option<u64>,
    /// What belongs to it.
    hrefs: Hrefs,
}

/// One try of a run.
#[derive(Debug, Serialize, JsonSchema)]
struct Attempt {
    /// As the command line has it.
    #[serde(flatten)]
    wire: AttemptWire,
    /// How long it took.
    duration_ms: Option<u64>,
    /// In the zone of the job.
    civil: Civils,
}

impl Attempt {
    fn new(wire: AttemptWire, zone: &TimeZone) -> Attempt {
        let times = [("started", Some(wire.started)), ("ended", wire.ended)];
        Attempt { duration_ms: between_ms(Some(wire.started), wire.ended), civil: civils(zone, times), wire }
    }
}

/// Addresses below the one of the server.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Hrefs {
    #[serde(rename = "self")]
    own: String,
    job: String,
    output: String,
    events: String,
}

/// One run.
///
/// # Errors
///
/// 404 if there is none, and what the loop says.
pub async fn show(call: Call) -> Reply {
    let app = &call.app;
    let FoundWire { run, planned, attempts, holds } = found(&call).await?;
    let jobs = app.catalogue.jobs().await?;
    let known = find(&jobs, run.job.as_str());
    let zone = zone_of(app, known);
    let usual = match known {
        Some(known) => app.catalogue.recent(known).await?.duration.median_ms,
        None => None,
    };
    let output_bytes = std::fs::metadata(output_path(app, &run)).ok().map(|found| found.len());
    let mut run = Run::new(app, run, zone, usual);
    run.civil.add("planned", planned, zone);
    let path = address_of(&run.wire.run);
    let hrefs = Hrefs {
        job: format!("api/v1/jobs/{}", run.wire.job),
        output: format!("{path}/output"),
        events: format!("{path}/output/events"),
        own: path,
    };
    let attempts = attempts.into_iter().map(|wire| Attempt::new(wire, zone)).collect();
    ok(&RunDetail { run, planned, attempts, holds, output_bytes, hrefs })
}
