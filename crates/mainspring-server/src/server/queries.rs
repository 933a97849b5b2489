//! Questions about jobs and runs: one answer to each, with a server or without one.
//!
//! ```text
//! server:  planner ─▶ what is known of the jobs ─┐
//!                                                ├─▶ query ─▶ reader ─▶ answer
//! without: records ─▶ what is known of the jobs ─┘
//! ```
//!
//! Cost: a range of an index of the store for each, of a page at most.
//!
//! Does not change anything. If a request needs the store before it becomes a command, the answer has the
//! next step.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::slice;

use jiff::Timestamp;
use mainspring_job::{
    AuditQuery, Cause, Command, Counts, Cursor, Hold, JobName, MAX_PAGE, Once, OnceId, Order, Reader, Run,
    RunKey, RunPhase, RunState, StoreError, WorkerId,
};

use mainspring_exec::clock::Moment;
use mainspring_file::hook;

use super::describe::{self, Place};
use super::next_step::{AnswerResult, Next, NextResult, job_name, not_found, time, usage};
use super::output::path;
use super::progress_table::ProgressTable;
use super::remote_output::bring;
use crate::protocol::{
    ALL_CAUSES, AuditAskWire, ClusterWire, ErrorWire, HistoryWire, HoldWire, JobWire, MAX_ROWS, NOTIFY_CAUSE,
    OnceWire, Response, RunWire, StatusWire, WaitingWire,
};

/// How many pages of dead letters are counted by job: what is beyond is told together.
const MAX_DEAD_PAGES: usize = 10;

/// How many runs that did not start are passed over to find the latest that did: a tenth of a second.
const MAX_UNSTARTED: usize = 100 * UNSTARTED_ROWS;

/// How many of them are read at once: in nearly all jobs the latest has started.
const UNSTARTED_ROWS: usize = 100;
const _: () = assert!(UNSTARTED_ROWS <= MAX_PAGE, "a store gives as many as it is asked for");
const _: () = assert!(MAX_UNSTARTED.is_multiple_of(UNSTARTED_ROWS), "the limit is met, and not passed over");

/// What is asked of the history. `members` are the jobs of the group that is asked for.
///
/// # Errors
///
/// When a state, a cause, an order, a time or a cursor is none.
pub(super) fn history_query(
    wire: &HistoryWire,
    members: Vec<JobName>,
) -> Result<mainspring_job::Query, ErrorWire> {
    let none =
        |what: &str, known: &[&str]| usage(format!("there is no {what}: expected {}", known.join(", ")));
    let state = |name: &String| {
        RunState::from_name(name)
            .ok_or_else(|| none(&format!("state `{name}`"), &RunState::ALL.map(RunState::name)))
    };
    let cause = |name: &str| {
        let known = Cause::ALL.map(Cause::name).into_iter().chain([NOTIFY_CAUSE, ALL_CAUSES]);
        Cause::from_name(name).ok_or_else(|| none(&format!("cause `{name}`"), &known.collect::<Vec<_>>()))
    };
    let no_run = |text: &str| usage(format!("`{text}` is no run"));
    let mut query = mainspring_job::Query::new(wire.limit.clamp(1, MAX_ROWS));
    query.job = wire.job.as_deref().map(job_name).transpose()?;
    query.group = wire.group.as_deref().map(group_name).transpose()?;
    query.members = members;
    query.states = wire.states.iter().map(state).collect::<Result<_, _>>()?;
    match wire.cause.as_deref() {
        Some(ALL_CAUSES) => {}
        Some(NOTIFY_CAUSE) if query.group.is_some() => {
            return Err(usage(format!(
                "notifications have a group of their own: `{NOTIFY_CAUSE}` or a group"
            )));
        }
        Some(NOTIFY_CAUSE) => query.group = Some(hook::group().name),
        other => {
            query.cause = other.map(cause).transpose()?;
            // A notification that was given up is among the dead letters: somebody must know of it.
            let is_narrow = query.job.is_some() || query.group.is_some();
            let is_shown = is_narrow || query.states.contains(&RunState::Dead);
            query.without_group = (!is_shown).then(|| hook::group().name);
        }
    }
    query.since = wire.since.as_deref().map(time).transpose()?;
    query.until = wire.until.as_deref().map(time).transpose()?;
    query.order = match wire.order.as_deref() {
        None | Some("nominal") => Order::Nominal,
        Some("ended") => Order::Ended,
        Some(other) => return Err(usage(format!("there is no order `{other}`: nominal or ended"))),
    };
    let cursor = wire.cursor.as_deref();
    query.cursor = cursor.map(|text| text.parse().map_err(|_| no_run(text))).transpose()?;
    Ok(query)
}

/// The name of a group.
///
/// # Errors
///
/// When it cannot be one.
pub(super) fn group_name(text: &str) -> Result<JobName, ErrorWire> {
    JobName::new(text).map_err(|_| not_found(&format!("group `{text}`")))
}

/// A page of runs. A job that is `unknown` must have run.
pub(super) fn history(
    reader: &mut dyn Reader,
    query: &mainspring_job::Query,
    unknown: Option<&JobName>,
    local: ProgressTable,
) -> AnswerResult {
    let runs = reader.find(query)?;
    debug_assert!(runs.len() <= query.limit, "a store gives no more than it is asked for");
    if let (true, Some(name)) = (runs.is_empty(), unknown) {
        check_known(reader, name)?;
    }
    let is_full = runs.len() == query.limit;
    let place = |run: &Run| match query.order {
        Order::Ended => Cursor::of(run).to_string(),
        _ => run.key.to_string(),
    };
    let cursor = runs.last().filter(|_| is_full).map(place);
    Ok(Response::Runs { runs: with_servers(reader, &runs, local)?, cursor })
}

/// Runs for people, with the servers that they run or ran at, where several share the store. `local` is how
/// far the runs of this process are.
fn with_servers(
    reader: &mut dyn Reader,
    runs: &[Run],
    local: ProgressTable,
) -> Result<Vec<RunWire>, ErrorWire> {
    let running = runs.iter().filter(|run| run.state == RunState::Running).count();
    let progress = with_others(reader, local, running)?;
    let place_of = places(reader, &runs.iter().filter_map(|run| run.worker).collect())?;
    let wire = |run: &Run| {
        let (host, server) = place_of(run.worker);
        RunWire { host, server, progress: progress.of_run(run), ..RunWire::from(run) }
    };
    Ok(runs.iter().map(wire).collect())
}

/// How far runs are, of which so many go on that are asked for: those of this process, and those at others.
fn with_others(
    reader: &mut dyn Reader,
    mut local: ProgressTable,
    running: usize,
) -> Result<ProgressTable, ErrorWire> {
    let texts = if running == 0 { Vec::new() } else { reader.progress()? };
    texts.iter().for_each(|text| local.add(ProgressTable::read(text)));
    Ok(local)
}

/// The machine of each of these workers, where it is known, and its number, where several share the store.
fn places(
    reader: &mut dyn Reader,
    workers: &BTreeSet<WorkerId>,
) -> Result<impl Fn(Option<WorkerId>) -> Place + use<>, ErrorWire> {
    let hosts = reader.hosts(workers)?;
    Ok(move |worker: Option<WorkerId>| {
        let known = worker.zip(hosts.as_ref());
        (known.and_then(|(id, hosts)| hosts.get(&id).cloned()), known.map(|(id, _)| id.0))
    })
}

fn with_server(reader: &mut dyn Reader, run: &Run, local: ProgressTable) -> Result<Box<RunWire>, ErrorWire> {
    let mut wires = with_servers(reader, slice::from_ref(run), local)?;
    Ok(Box::new(wires.remove(0)))
}

/// Whether a job that is not defined has left runs, or waits once.
fn check_known(reader: &mut dyn Reader, name: &JobName) -> Result<(), ErrorWire> {
    let any = mainspring_job::Query::new(1).of(name.clone());
    let has_runs = !reader.find(&any)?.is_empty();
    if has_runs || reader.pending_named(name)?.is_some() {
        return Ok(());
    }
    Err(not_found(&format!("job `{name}`")))
}

/// What a rewind would let run, without the times that have a record of their own.
pub(super) fn rewinding(
    reader: &mut dyn Reader,
    job: &JobName,
    times: Vec<Timestamp>,
    count: u64,
    planned: Timestamp,
) -> AnswerResult {
    debug_assert!(times.len() as u64 <= count, "those that are shown are counted");
    let mut left = Vec::new();
    for time in times {
        let key = RunKey::new(job.clone(), time);
        if reader.run(&key)?.is_none() {
            left.push(time);
        }
    }
    Ok(Response::Rewinding { times: left, count, planned })
}

/// A page of jobs, to which is added how the last run of each went, and how far that is which still runs.
pub(super) fn list(
    reader: &mut dyn Reader,
    mut jobs: Vec<JobWire>,
    after: Option<String>,
    local: ProgressTable,
) -> AnswerResult {
    add_runs(reader, &mut jobs, local)?;
    Ok(Response::Jobs { jobs, after })
}

/// How the last runs of jobs went, in one question, and how far those are that go on.
fn add_runs(reader: &mut dyn Reader, jobs: &mut [JobWire], local: ProgressTable) -> Result<(), ErrorWire> {
    let progress = with_others(reader, local, jobs.iter().map(|job| job.running).sum())?;
    let names: Vec<JobName> = jobs.iter().filter_map(|job| JobName::new(&job.name).ok()).collect();
    let last = reader.last_ended(&names)?;
    let last = with_servers(reader, &last, ProgressTable::default())?;
    let mut last: HashMap<JobName, RunWire> = last.into_iter().map(|run| (run.job.clone(), run)).collect();
    for job in jobs {
        job.last = last.remove(job.name.as_str());
        let name = JobName::new(&job.name).ok().filter(|_| 0 < job.running);
        job.progress = name.and_then(|name| progress.of_job(&name));
    }
    Ok(())
}

/// One job, but for its runs.
pub(super) fn show(reader: &mut dyn Reader, mut job: JobWire, local: ProgressTable) -> AnswerResult {
    add_runs(reader, slice::from_mut(&mut job), local)?;
    Ok(Response::Job(Box::new(job)))
}

/// A one-shot job: it is pending, or it has a run.
pub(super) enum OneShot {
    Pending(Once),
    Fired(Run),
}

/// The one-shot job of that name that is pending, or else its last run.
///
/// # Errors
///
/// When there is none, or the store cannot be read.
pub(super) fn one_shot(reader: &mut dyn Reader, name: &JobName) -> Result<OneShot, ErrorWire> {
    if let Some(once) = reader.pending_named(name)? {
        return Ok(OneShot::Pending(once));
    }
    let last = reader.find(&mainspring_job::Query::new(1).of(name.clone()))?.pop();
    let last = last.filter(|run| run.cause == Cause::Once).map(OneShot::Fired);
    last.ok_or_else(|| not_found(&format!("job `{name}`")))
}

/// A one-shot job that is pending, and of what may hold it that which does.
pub(super) fn show_pending(once: &Once, holds: Vec<Hold>, now: Timestamp) -> Response {
    // What is not due needs no room.
    let holds = holds.into_iter().filter(|hold| once.id.due <= now || *hold != Hold::NoRoom);
    let holds = describe::holds(holds, &once.name);
    Response::Once(OnceWire { holds, ..describe::once(once) })
}

/// The run of a key.
///
/// # Errors
///
/// When there is none, or the store cannot be read.
pub(super) fn run(reader: &mut dyn Reader, key: &RunKey) -> Result<Run, ErrorWire> {
    reader.run(key)?.ok_or_else(|| not_found(&format!("run `{key}`")))
}

/// A run with its attempts, and what holds it.
pub(super) fn found(
    reader: &mut dyn Reader,
    run: &Run,
    mut holds: Vec<HoldWire>,
    local: ProgressTable,
) -> AnswerResult {
    // It may have started since that was found.
    holds.retain(|_| matches!(run.state, RunState::Scheduled | RunState::Queued));
    let attempts = reader.attempts(&run.key)?;
    let wire = with_server(reader, run, local)?;
    let place_of = places(reader, &attempts.iter().filter_map(|attempt| attempt.worker).collect())?;
    let found = describe::found(*wire, run.planned, attempts, holds, place_of);
    Ok(Response::Found(Box::new(found)))
}

/// Brings what a run wrote at another server, for who reads the file next.
pub(super) fn fetch_output(reader: &mut dyn Reader, run: &Run, outputs: &Path) {
    if run.started.is_some() {
        let path = path(outputs, &run.key, run.cause);
        bring(reader, &run.key, RunPhase::of(run.state), &path);
    }
}

/// A page of who asked for what.
pub(super) fn audit(reader: &mut dyn Reader, query: &AuditQuery) -> AnswerResult {
    let rows = reader.audit(query)?;
    debug_assert!(rows.len() <= query.limit, "a page that is not full is the last");
    let before = rows.last().filter(|_| rows.len() == query.limit).map(|row| row.number);
    Ok(Response::Audit { rows: rows.into_iter().map(describe::audited).collect(), before })
}

/// What is asked of it.
///
/// # Errors
///
/// When a time is none.
pub(super) fn audit_query(wire: &AuditAskWire) -> Result<AuditQuery, ErrorWire> {
    let mut query = AuditQuery::new(wire.limit.clamp(1, MAX_ROWS));
    (query.actor, query.target) = (wire.actor.clone(), wire.target.clone());
    (query.since, query.before) = (wire.since.as_deref().map(time).transpose()?, wire.before);
    Ok(query)
}

/// The place in the list of one-shot jobs at which a page begins.
///
/// # Errors
///
/// When it is none.
pub(super) fn pending_start(after: Option<&str>) -> Result<OnceId, ErrorWire> {
    let no_place = |text: &str| usage(format!("`{text}` is no place in the list of pending jobs"));
    let first = OnceId::first_at(Timestamp::MIN);
    after.map_or(Ok(first), |text| text.parse().map_err(|_| no_place(text)))
}

/// Whether the numbers of the store are those of its rows.
pub(super) fn recount(reader: &mut dyn Reader) -> AnswerResult {
    Ok(Response::Recounted(reader.miscounts()?))
}

/// A page of one-shot jobs that wait, the next due first.
pub(super) fn pending(reader: &mut dyn Reader, after: OnceId, limit: usize) -> AnswerResult {
    let limit = limit.clamp(1, MAX_ROWS);
    let found = reader.load(after, Timestamp::MAX, limit)?;
    debug_assert!(found.len() <= limit, "a page that is not full is the last");
    let after = found.last().filter(|_| found.len() == limit).map(|once| once.id.to_string());
    Ok(Response::Pending { pending: found.iter().map(describe::once).collect(), after })
}

/// When the first one-shot job that waits is due.
fn first_due(reader: &mut dyn Reader) -> Result<Option<Timestamp>, StoreError> {
    let first = reader.load_ids(OnceId::first_at(Timestamp::MIN), Timestamp::MAX, 1)?;
    Ok(first.first().map(|id| id.due))
}

/// What the store says of the servers that share it, if several may.
pub(super) fn cluster(reader: &mut dyn Reader) -> Result<Option<ClusterWire>, StoreError> {
    let before = Moment::now().wall;
    let found = reader.cluster()?;
    Ok(found.and_then(|text| ClusterWire::read(&text, before, Moment::now().wall)))
}

/// Adds to what is known of a server and its jobs the numbers of the store. `next` is when the next job is
/// due.
pub(super) fn status(
    reader: &mut dyn Reader,
    known: StatusWire,
    next: Option<Timestamp>,
) -> Result<StatusWire, StoreError> {
    let next = next.into_iter().chain(first_due(reader)?).min();
    let Counts { jobs, pending, open, runs, dead, .. } = reader.counts()?;
    Ok(StatusWire { next, jobs, pending, open, runs, dead, cluster: cluster(reader)?, ..known })
}

/// What waits, for the metrics.
///
/// # Errors
///
/// When the store cannot be read.
pub(super) fn waiting(reader: &mut dyn Reader) -> Result<WaitingWire, ErrorWire> {
    let first_due_ms = first_due(reader)?.map(Timestamp::as_millisecond);
    let mut waiting = WaitingWire { first_due_ms, ..WaitingWire::default() };
    let mut uncounted = reader.counts()?.dead;
    let mut query = mainspring_job::Query::new(MAX_ROWS);
    query.states = vec![RunState::Dead];
    for _ in 0..MAX_DEAD_PAGES {
        if uncounted == 0 {
            break;
        }
        let runs = reader.find(&query)?;
        for run in &runs {
            match run.cause {
                Cause::Once => waiting.dead_once += 1,
                _ => *waiting.dead.entry(run.key.job.to_string()).or_default() += 1,
            }
        }
        uncounted = uncounted.saturating_sub(runs.len() as u64);
        query.cursor = runs.last().filter(|_| runs.len() == MAX_ROWS).map(Cursor::of);
        if query.cursor.is_none() {
            uncounted = 0;
        }
    }
    waiting.dead_uncounted = uncounted;
    Ok(waiting)
}

/// The output of a certain run, and the cause of that.
pub(super) fn logs_of_run(
    reader: &mut dyn Reader,
    key: RunKey,
    outputs: &Path,
) -> Result<(RunKey, Cause), ErrorWire> {
    let run = run(reader, &key)?;
    fetch_output(reader, &run, outputs);
    Ok((key, run.cause))
}

/// The same of the latest run of this name that started. `job` is the job of that name, which may not have
/// run, if there is one.
pub(super) fn logs_of_job(
    reader: &mut dyn Reader,
    name: &JobName,
    job: Option<&JobName>,
    outputs: &Path,
) -> Result<(RunKey, Cause), ErrorWire> {
    let mut query = mainspring_job::Query::new(UNSTARTED_ROWS).of(name.clone());
    let mut started = None;
    let mut passed_count = 0_usize;
    while started.is_none() && passed_count.is_multiple_of(UNSTARTED_ROWS) {
        if passed_count == MAX_UNSTARTED {
            let message =
                format!("none of the latest {MAX_UNSTARTED} runs of `{name}` has started: name a run");
            return Err(usage(message));
        }
        let runs = reader.find(&query)?;
        query.cursor = runs.last().map(Cursor::of);
        debug_assert!(runs.len() <= UNSTARTED_ROWS, "the limit is met, and not passed over");
        if runs.is_empty() {
            break;
        }
        passed_count += runs.len();
        started = runs.into_iter().find(|run| run.started.is_some());
    }
    let is_known = job.is_some() || 0 < passed_count;
    match started {
        Some(run) => {
            fetch_output(reader, &run, outputs);
            Ok((run.key, run.cause))
        }
        None if is_known => Ok((RunKey::new(name.clone(), Timestamp::UNIX_EPOCH), Cause::Trigger)),
        None => Err(not_found(&format!("job `{name}`"))),
    }
}

/// The end of a run. Where the store has it as open, it is not written yet: a client that waits waits on, as
/// long as something is to be written after so many batches.
pub(super) fn end(reader: &mut dyn Reader, key: RunKey, committed_count: Option<u64>) -> NextResult {
    let run = reader.run(&key)?;
    let run = run.ok_or_else(|| not_found("such run any more"))?;
    match committed_count {
        Some(committed_count) if run.state.is_open() => Ok(Next::Unwritten { key, committed_count }),
        _ => Ok(Next::Answer(Response::Ended(with_server(reader, &run, ProgressTable::default())?))),
    }
}

/// Cancels the pending one-shot job of a name.
pub(super) fn cancel_once(reader: &mut dyn Reader, name: &JobName) -> NextResult {
    let once = reader.pending_named(name)?;
    let once = once.ok_or_else(|| not_found(&format!("open run or pending job `{name}`")))?;
    Ok(Next::Command(Command::Withdraw(once.id)))
}

/// What is to become of a dead letter: a command, given its run.
pub(super) fn dead(
    reader: &mut dyn Reader,
    key: &RunKey,
    becomes: impl FnOnce(Run) -> Command,
) -> NextResult {
    let run = reader.run(key)?;
    let run = run.filter(|run| run.state == RunState::Dead);
    let run = run.ok_or_else(|| not_found(&format!("dead letter `{key}`")))?;
    Ok(Next::Command(becomes(run)))
}
