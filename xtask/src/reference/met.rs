//! The limits that people meet: sentences with the values of constants in the code.
//!
//! ```text
//! {mainspring-file/src/jobfile.rs MAX_JOBS} jobs    ──▶    10,000 jobs
//! {mainspring-file/src/source.rs MAX_FILE_BYTES}    ──▶    4 MiB          a name that ends in BYTES
//! {mainspring-job/src/planner/quarantine.rs PROBATION}  ──▶  10 s         a duration
//! ```
//!
//! Cost: a look for each constant. It computes sums, products, quotients and shifts of literals, and of other
//! constants of the same file.

use std::fmt::Write;

use super::code::{constant, file};
use crate::tidy::Source;

/// What is limited, and to what.
const ROWS: &[(&str, &str)] = &[
    (
        "running at once",
        "{mainspring-exec/src/descriptors.rs MAX_RUNNING}, processes and webhooks together; fewer with `serve --max-running`; fewer if the hard limit of open files is below {mainspring-exec/src/descriptors.rs NEEDED}: {mainspring-exec/src/descriptors.rs PER_RUN} for each run and {mainspring-exec/src/descriptors.rs RESERVED} for the rest",
    ),
    (
        "a run that cannot be started for want of descriptors, processes or memory",
        "waits up to {mainspring-server/src/server/start_backlog.rs MAX_WAIT}, and no longer than its timeout, then it has failed",
    ),
    (
        "jobs in a file",
        "{mainspring-file/src/jobfile.rs MAX_JOBS}, of at most {mainspring-file/src/source.rs MAX_FILE_BYTES}; {mainspring-file/src/crontab.rs MAX_ENTRIES} entries of a crontab",
    ),
    (
        "tables, lists and dots of a job file, outside of strings",
        "{mainspring-file/src/jobfile/document.rs MAX_NESTS}",
    ),
    (
        "what the jobs of a file take, each with its defaults or settings",
        "{mainspring-file/src/budget.rs MAX_MADE_BYTES}",
    ),
    (
        "files of a folder, what they take together with their jobs",
        "{mainspring-file/src/folder.rs MAX_FILES}, {mainspring-file/src/budget.rs MAX_FOLDER_BYTES}",
    ),
    (
        "triggers, exclusions of a job",
        "{mainspring-job/src/timetable.rs MAX_TRIGGERS}, {mainspring-job/src/timetable.rs MAX_EXCLUSIONS}",
    ),
    (
        "starts of a rate, its period",
        "{mainspring-job/src/rate.rs MAX_RATE_STARTS}, {mainspring-job/src/rate.rs MIN_RATE_PERIOD} to {mainspring-job/src/rate.rs MAX_RATE_PERIOD}; a new planner waits for at most {mainspring-job/src/planner/groups.rs MAX_RATE_REST}",
    ),
    ("open runs: scheduled, queued or running", "100,000"),
    (
        "history of one-shot jobs, and with it their keys",
        "the newest 10,000 of all together, none older than 90 days",
    ),
    (
        "catch-up runs planned at once, runs of one backfill, runs in a queue, runs by hand that wait for their time",
        "{mainspring-job/src/policy/misfire.rs MAX_CATCH_UP_RUNS}, {mainspring-job/src/planner/preview.rs MAX_BACKFILL_RUNS}, {mainspring-job/src/policy/overlap.rs MAX_QUEUED_RUNS}, {mainspring-job/src/planner/command.rs MAX_WAITING_REQUESTS} of each job",
    ),
    ("rows of the audit", "{mainspring-job/src/audit.rs MAX_AUDIT_ROWS}"),
    ("a request over the socket", "{mainspring-server/src/protocol.rs MAX_REQUEST_BYTES}"),
    (
        "a secret, one that signs",
        "1 byte to {mainspring-exec/src/secret.rs MAX_SECRET_BYTES}, at least 16 bytes",
    ),
    ("crashes of the server in one job, in a row", "{mainspring-job/src/planner/quarantine.rs MAX_CRASHES}"),
    (
        "runs on probation at a time, and how long",
        "{mainspring-job/src/planner/quarantine.rs MAX_ON_PROBATION}, {mainspring-job/src/planner/quarantine.rs PROBATION}",
    ),
    (
        "changes in a second, of all clients and over one connection",
        "{mainspring-server/src/server/rate.rs DEFAULT_TOTAL_RATE} and {mainspring-server/src/server/rate.rs DEFAULT_CONNECTION_RATE}: `serve --max-changes`, `--max-connection-changes`, 0 for any number",
    ),
    (
        "changes that wait for a store that does not answer",
        "{mainspring-server/src/server/owner.rs MAX_BACKLOG}",
    ),
    (
        "connections, those of them that wait for a run or follow output",
        "{mainspring-server/src/server/peers.rs MAX_CONNECTIONS}, {mainspring-server/src/server/peers.rs MAX_WAITING}; of the others the one that was idle longest makes room",
    ),
    (
        "requests that are read from one connection in a turn",
        "{mainspring-server/src/server/peer.rs MAX_REQUESTS_PER_TURN}",
    ),
    (
        "time for the requests of all connections in a turn",
        "{mainspring-server/src/server/peer.rs TURN_TIME}",
    ),
    (
        "bytes of answers that may wait before no more requests are read",
        "{mainspring-server/src/server/peer.rs MAX_UNREAD_BYTES}",
    ),
    ("requests that wait for the end of a run", "{mainspring-server/src/server/clients.rs MAX_WAITERS}"),
    (
        "room on the disk below which output is not kept, and the reserve of the store",
        "{mainspring-server/src/server/disk_reserve.rs FLOOR_BYTES}, {mainspring-server/src/server/disk_reserve.rs RESERVE_BYTES}; neither is more than a sixteenth of the file system",
    ),
    (
        "HTTP connections: of an identity, of all, without an identity",
        "{mainspring-web/src/connections.rs MAX_OF_IDENTITY}, {mainspring-web/src/connections.rs MAX_PROVEN}, {mainspring-web/src/connections.rs MAX_UNPROVEN}; then the address that has the most of these loses one",
    ),
    (
        "HTTP streams: of an identity, of all",
        "{mainspring-web/src/event_stream.rs MAX_STREAMS_OF_IDENTITY}, {mainspring-web/src/event_stream.rs MAX_STREAMS}",
    ),
    ("HTTP sessions of an identity", "{mainspring-web/src/sessions.rs MAX_OF_IDENTITY}"),
    (
        "HTTP questions to the loop of an identity at a time",
        "{mainspring-web/src/pool.rs QUESTIONS_OF_IDENTITY}, and one check of files",
    ),
    (
        "actions on many jobs or runs of an identity that go on",
        "{mainspring-web/src/bulk.rs MAX_RUNNING_OF_IDENTITY}",
    ),
    (
        "HTTP bodies and answers under way: of an identity, of all",
        "{mainspring-web/src/memory_budget.rs MAX_IDENTITY_BYTES}, {mainspring-web/src/memory_budget.rs MAX_BYTES}; then 429 or 503; one of at most {mainspring-web/src/memory_budget.rs SHORT_BYTES} is not counted",
    ),
    ("HTTP: problems of files in one answer", "{mainspring-web/src/api/told.rs MAX_FAULTS}"),
    (
        "values in a request over the socket or in an HTTP body",
        "{mainspring-server/src/protocol/reading.rs MAX_VALUES}",
    ),
    (
        "HTTP bodies, those with files, those to sign in; headers",
        "{mainspring-web/src/route.rs MAX_BODY_BYTES}, {mainspring-web/src/route.rs MAX_FILES_BYTES}, {mainspring-web/src/route.rs MAX_OPEN_BODY_BYTES}; {mainspring-web/src/listen.rs MAX_HEADER_BYTES} within {mainspring-web/src/listen.rs HEADER_PATIENCE}",
    ),
];

/// The table.
pub(super) fn text(sources: &[Source]) -> String {
    let mut text = "## Those that people meet\n| limit | is |\n|---|---|\n".to_owned();
    for (what, is) in ROWS {
        let mut pieces = is.split(['{', '}']);
        let mut shown = pieces.next().unwrap_or_default().to_owned();
        while let (Some(name), Some(rest)) = (pieces.next(), pieces.next()) {
            shown.push_str(&value(sources, name));
            shown.push_str(rest);
        }
        let _ = writeln!(text, "| {what} | {shown} |");
    }
    text
}

/// The value of a constant, by its file and its name, for people; the name alone if there is none.
fn value(sources: &[Source], name: &str) -> String {
    let (path, constant_name) = name.split_once(' ').unwrap_or_default();
    let source = file(sources, &format!("crates/{path}"));
    let found = source.and_then(|source| Some((source, constant(source, constant_name)?)));
    let shown = found.and_then(|(source, item)| {
        duration(source, &item.expr).or_else(|| Some(amount(number(source, &item.expr)?, constant_name)))
    });
    shown.unwrap_or_else(|| name.to_owned())
}

/// A number with commas, or bytes with their unit.
fn amount(number: u64, name: &str) -> String {
    let units = [(20, "MiB"), (10, "KiB")];
    let unit = units.iter().find(|(shift, _)| number.trailing_zeros() >= *shift && 0 < number);
    if let Some((shift, unit)) = unit.filter(|_| name.ends_with("BYTES")) {
        return format!("{} {unit}", number >> shift);
    }
    let digits = number.to_string();
    let mut shown = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if 0 < index && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A literal, or a sum, product, quotient or shift of them, or of other constants of the file.
fn number(source: &Source, expression: &syn::Expr) -> Option<u64> {
    match expression {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(literal), .. }) => literal.base10_parse().ok(),
        syn::Expr::Cast(cast) => number(source, &cast.expr),
        syn::Expr::Path(path) => number(source, &constant(source, &path.path.get_ident()?.to_string())?.expr),
        syn::Expr::Binary(binary) => {
            let (left, right) = (number(source, &binary.left)?, number(source, &binary.right)?);
            match binary.op {
                syn::BinOp::Add(_) => left.checked_add(right),
                syn::BinOp::Mul(_) => left.checked_mul(right),
                syn::BinOp::Div(_) => left.checked_div(right),
                syn::BinOp::Shl(_) => left.checked_shl(u32::try_from(right).ok()?),
                _ => None,
            }
        }
        _ => None,
    }
}

/// `Duration::from_secs(10)` as `10 s`.
fn duration(source: &Source, expression: &syn::Expr) -> Option<String> {
    let syn::Expr::Call(call) = expression else { return None };
    let syn::Expr::Path(function) = &*call.func else { return None };
    let unit = match function.path.segments.last()?.ident.to_string().as_str() {
        "from_millis" => "ms",
        "from_secs" => "s",
        "from_mins" => "min",
        "from_hours" => "h",
        _ => return None,
    };
    Some(format!("{} {unit}", number(source, call.args.first()?)?))
}
