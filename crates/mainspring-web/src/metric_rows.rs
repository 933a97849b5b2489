//! The metrics that there are: their names, kinds, labels, and what they say.
//!
//! Cost: none.
//!
//! Does not know their values: see [`metrics`](crate::metrics).

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only grows, from 0 at the start of the server.
    Counter,
    /// It is what is now.
    Gauge,
    /// It counts how often something took how long.
    Histogram,
}

/// The metrics that there are: name without its prefix, what it is, labels, what it says.
pub const ROWS: &[(&str, Kind, &str, &str)] = &[
    ("runs_started", Kind::Counter, "job_name, cause", "Runs that started"),
    (
        "runs_ended",
        Kind::Counter,
        "job_name, state",
        "Runs that are over, each once: an attempt that is followed by another is none, and a dead letter is dead alone",
    ),
    (
        "occurrences_missed",
        Kind::Counter,
        "job_name, reason",
        "Occurrences that did not run because nothing ran at their time",
    ),
    (
        "occurrences_coalesced",
        Kind::Counter,
        "job_name",
        "Occurrences for which one late run stood; they are among the missed",
    ),
    (
        "occurrences_skipped",
        Kind::Counter,
        "job_name, reason",
        "Occurrences that did not run because of another run or a pause",
    ),
    ("retries", Kind::Counter, "job_name", "Attempts after the first"),
    ("run_duration_seconds", Kind::Histogram, "job_name", "How long attempts took"),
    (
        "run_start_lateness_seconds",
        Kind::Histogram,
        "",
        "How long after they were due runs started for the first time",
    ),
    ("loop_turn_seconds", Kind::Histogram, "", "How long the turns of the loop took, between two waits"),
    ("commit_seconds", Kind::Histogram, "", "How long batches took to be on disk"),
    ("commit_batch_operations", Kind::Histogram, "", "How many changes those batches had"),
    ("reader_query_seconds", Kind::Histogram, "query", "How long questions of the store took"),
    (
        "clock_jumps",
        Kind::Counter,
        "direction",
        "How often the clock of the system was set, or the machine slept",
    ),
    ("output_lost_bytes", Kind::Counter, "", "What runs wrote and could not be kept"),
    ("agenda_mismatches", Kind::Gauge, "", "Jobs that are due before the server looks at them: a fault"),
    ("job_runs", Kind::Counter, "job_name", "Occurrences that became runs since the job was defined"),
    (
        "job_next_run_timestamp_seconds",
        Kind::Gauge,
        "job_name",
        "When the server looks at the job next, if that is when it is due",
    ),
    (
        "job_last_success_timestamp_seconds",
        Kind::Gauge,
        "job_name",
        "When a run of the job last succeeded, also before the start of the server",
    ),
    ("job_failures_in_a_row", Kind::Gauge, "job_name", "How many runs failed since the last success"),
    ("job_silent", Kind::Gauge, "job_name", "1 while no run has succeeded for longer than silent_after"),
    ("job_paused", Kind::Gauge, "job_name, reason", "1 while the job is paused"),
    ("job_info", Kind::Gauge, "job_name, group, source, zone", "1 for each job"),
    ("runs_running", Kind::Gauge, "job_name", "Runs that go on"),
    (
        "runs_queued",
        Kind::Gauge,
        "job_name, reason",
        "Runs that wait for an earlier run of their job (overlap) or for a place",
    ),
    ("jobs", Kind::Gauge, "", "Jobs with a definition"),
    ("runs_open", Kind::Gauge, "", "Runs that are scheduled, queued or running"),
    ("runs_kept", Kind::Gauge, "", "Runs in the history"),
    ("dead_letters", Kind::Gauge, "job_name", "Runs that failed for good and wait for somebody"),
    ("once_pending", Kind::Gauge, "", "One-shot jobs that wait"),
    (
        "once_oldest_overdue_seconds",
        Kind::Gauge,
        "",
        "For how long the first of them has been due; 0 if none is",
    ),
    ("file_problems", Kind::Gauge, "file", "1 while a file of jobs has problems"),
    (
        "config_last_reload_success_timestamp_seconds",
        Kind::Gauge,
        "file",
        "When the set in force of a file was read",
    ),
    (
        "planner",
        Kind::Gauge,
        "",
        "1 at the server of a shared database that owns the jobs, 0 at those that stand by",
    ),
    ("lease_seconds_left", Kind::Gauge, "", "How long its lease lasts unless it is renewed"),
    (
        "takeovers",
        Kind::Counter,
        "kind",
        "How often a server took the jobs, by how the owner before had ended: clean in good order, interrupted if the same \
         process lost the database, rebooted with its machine, unclean otherwise",
    ),
    ("fenced", Kind::Counter, "", "How often a server was refused a write because another owned the jobs"),
    ("inbox_oldest_seconds", Kind::Gauge, "", "How long the oldest request in the inbox has waited"),
    (
        "clock_offset_seconds",
        Kind::Gauge,
        "",
        "By how much the clock of the server is ahead of the database's",
    ),
    ("servers", Kind::Gauge, "", "Servers that share the database and were there within the last 15 s"),
    ("server_runs", Kind::Gauge, "host, data", "Runs that each of them carries out now"),
    ("server_capacity", Kind::Gauge, "host, data", "How many runs each of them takes at once"),
    ("troubles", Kind::Gauge, "", "What keeps the server from doing all that it should"),
    ("paused", Kind::Gauge, "", "1 while everything is paused"),
    ("store_bytes", Kind::Gauge, "part", "Size of the store in the data directory: database and journal"),
    ("disk_free_bytes", Kind::Gauge, "", "Room in the file system of the data directory"),
    ("epoch", Kind::Gauge, "", "The number of the owner of the store"),
    ("refused", Kind::Counter, "reason", "Requests that were refused: too fast (rate), or by the listener"),
    ("notifications", Kind::Counter, "result", "How attempts to tell hooks ended"),
    ("sse_clients", Kind::Gauge, "", "Streams that are open"),
    ("http_connections", Kind::Gauge, "", "Connections over HTTP that are open"),
    ("http_requests", Kind::Counter, "route, method, code", "Answers over HTTP"),
    ("http_request_duration_seconds", Kind::Histogram, "route", "How long answers over HTTP took to begin"),
    ("build_info", Kind::Gauge, "version, commit", "1; unknown where the build did not say the commit"),
    ("tzdata_info", Kind::Gauge, "version", "1; unknown where the system's zones do not say it"),
    ("process_cpu_seconds", Kind::Counter, "", "Processor time of the server itself, without its jobs"),
    ("process_resident_memory_bytes", Kind::Gauge, "", "Memory of the server that is in RAM"),
    ("process_open_fds", Kind::Gauge, "", "Files that the server has open"),
    ("process_max_fds", Kind::Gauge, "", "How many files it may have open"),
    ("process_threads", Kind::Gauge, "", "Threads of the server"),
];

/// What a metric says.
pub fn help(name: &str) -> &'static str {
    let row = ROWS.iter().find(|row| row.0 == name);
    debug_assert!(row.is_some(), "{name} has no row");
    row.map_or("", |row| row.3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What monitoring systems were promised: a name, and its labels. Others may be added; none of these may
    /// go.
    const PROMISED: &str = "
        runs_started: job_name, cause
        runs_ended: job_name, state
        occurrences_missed: job_name, reason
        occurrences_skipped: job_name, reason
        occurrences_coalesced: job_name
        retries: job_name
        runs_running: job_name
        runs_queued: job_name, reason
        dead_letters: job_name
        once_pending:
        once_oldest_overdue_seconds:
        job_next_run_timestamp_seconds: job_name
        job_last_success_timestamp_seconds: job_name
        job_failures_in_a_row: job_name
        job_paused: job_name, reason
        job_silent: job_name
        job_info: job_name, group, source, zone
        agenda_mismatches:
        run_start_lateness_seconds:
        run_duration_seconds: job_name
        loop_turn_seconds:
        commit_seconds:
        commit_batch_operations:
        reader_query_seconds: query
        store_bytes: part
        disk_free_bytes:
        epoch:
        file_problems: file
        config_last_reload_success_timestamp_seconds: file
        tzdata_info: version
        build_info: version, commit
        clock_jumps: direction
        refused: reason
        notifications: result
        output_lost_bytes:
        http_requests: route, method, code
        http_request_duration_seconds: route
        sse_clients:
        process_cpu_seconds:
        process_resident_memory_bytes:
        process_open_fds:
        process_max_fds:";

    #[test]
    fn what_was_promised_is_in_the_table() {
        for line in PROMISED.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (name, labels) = line.split_once(':').unwrap();
            let found = ROWS.iter().find(|row| row.0 == name).map(|row| row.2);
            assert_eq!(found, Some(labels.trim()), "{name}");
        }
    }
}
