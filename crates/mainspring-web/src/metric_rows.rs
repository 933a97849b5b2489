//! The metrics that there are: their names, kinds, labels, and what they say.
//!
//! ```text
//! metric_rows.txt   runs_started | counter | job_name, cause | Runs that started
//! ```
//!
//! A `counter` only grows, from 0 at the start of the server; a `gauge` is what is now; a `histogram` counts
//! how often something took how long. The label with the name of a job is `job_name`: Prometheus has a label
//! `job` of its own, for what it scrapes, and would call ours `exported_job`.
//!
//! Cost: a pass over the text for each question.
//!
//! Does not know their values: see [`metrics`](crate::metrics).

const ROWS: &str = include_str!("metric_rows.txt");

/// The rows: name without its prefix, kind, labels, what it says.
pub fn rows() -> impl Iterator<Item = [&'static str; 4]> {
    ROWS.lines().map(|row| row.split(" | ").collect::<Vec<_>>().try_into().expect("a test has read each row"))
}

fn row(name: &str) -> [&'static str; 4] {
    let found = rows().find(|row| row[0] == name);
    debug_assert!(found.is_some(), "{name} has no row");
    found.unwrap_or_default()
}

/// What a metric says.
pub fn help(name: &str) -> &'static str {
    row(name)[3]
}

/// The names of its labels.
pub fn label_names(name: &str) -> impl Iterator<Item = &'static str> {
    row(name)[2].split(", ")
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
    fn each_row_has_a_kind_and_says_something() {
        for [name, kind, _, says] in rows() {
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{name}: {kind}");
            assert!(!says.is_empty(), "{name}");
        }
    }

    #[test]
    fn what_was_promised_is_in_the_table() {
        for line in PROMISED.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (name, labels) = line.split_once(':').unwrap();
            let found = rows().find(|row| row[0] == name).map(|row| row[2]);
            assert_eq!(found, Some(labels.trim()), "{name}");
        }
    }
}
