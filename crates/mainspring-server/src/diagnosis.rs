//! Judges the answers of a server, or of its store: the same findings for `mainspring doctor` and for the
//! page.
//!
//! ```text
//! status, health ──▶ of_server ──▶ findings ──▶ doctor, `health` over HTTP
//!         health ──▶ of_store  ──▶ findings ──▶ doctor, without a server
//! ```
//!
//! Cost: some strings.
//!
//! Does not ask: the caller brings the answers. Does not look at the machine of the caller: only `doctor`
//! does.

use jiff::Timestamp;
use mainspring_exec::descriptors::{self, MAX_RUNNING};
use mainspring_job::{MAX_CRASHES, MAX_ON_PROBATION};

pub(crate) mod cluster;

use crate::finding::Finding;
use crate::message::counted;
use crate::protocol::{FileStateWire, HealthWire, NamesWire, StatusWire};
use crate::relative::{ago, relative};
use crate::server::disk_reserve::FLOOR_BYTES;

/// Less free room than this is worth a word: the store's journal and a day of output need as much.
const LITTLE_FREE_BYTES: u64 = 256 << 20;

/// With less than this the next commits fail: the journal grows by some megabytes before it is folded in.
const MIN_FREE_BYTES: u64 = 32 << 20;

const _: () = assert!(MIN_FREE_BYTES < LITTLE_FREE_BYTES, "people are warned before commits fail");
const _: () = assert!(FLOOR_BYTES < LITTLE_FREE_BYTES, "people are warned before output is lost");

/// How far the clock may be ahead of the last thing that was planned before that is odd.
const MAX_IDLE_SECONDS: i64 = 366 * 86_400;

/// For so long people are told that the clock was set: those who look because something ran oddly. The log
/// and the missed runs have it for longer.
const CLOCK_STEP_TOLD_SECONDS: i64 = 3_600;

/// What a server says of itself, of its files, its jobs and its disk. `now` is the clock of the reader.
pub fn of_server(status: &StatusWire, health: &HealthWire, now: Timestamp) -> Vec<Finding> {
    let mut findings = server(status, health, now);
    findings.extend(status.cluster.iter().flat_map(cluster::findings));
    findings.extend(files(status));
    findings.extend(of_store(health));
    findings
}

/// What a store says of its numbers that were counted again: what is not so, in words.
pub fn of_counts(miscounts: &[String]) -> Vec<Finding> {
    let hint = "status and the page show these numbers; say so in an issue, with how the store came to be";
    let wrong = |text: &String| Finding::bad("counts", text.clone(), hint);
    match miscounts {
        [] => vec![Finding::ok("counts", "each number that the store keeps is that of its rows")],
        miscounts => miscounts.iter().map(wrong).collect(),
    }
}

/// What can be said of jobs and disk, by a server or by its store alone.
pub fn of_store(health: &HealthWire) -> Vec<Finding> {
    let mut findings = vec![room(health.free_bytes)];
    if health.is_all_paused {
        findings.push(
            Finding::warning("paused", "everything is paused", "`mainspring resume --all` ends that")
                .coded("paused_all"),
        );
    }
    if 0 < health.paused.count {
        findings.push(Finding::ok("paused", names(&health.paused)));
    }
    let hint = "`mainspring history --state failed,timed_out` says why, `mainspring resume JOB` ends it";
    let failing = of_jobs("paused", "after too many failures", &health.failing, hint);
    findings.extend(failing.map(|finding| finding.coded("paused_failures")));
    let died = format!("the server died in them {MAX_CRASHES} times");
    let hint = "mend them, and `mainspring resume JOB` ends that";
    let crashing = of_jobs("paused", &died, &health.crash_loops, hint);
    findings.extend(crashing.map(|finding| finding.coded("paused_crashes")));
    let ran = format!("they ran when the server died, and start at most {MAX_ON_PROBATION} at a time");
    let hint = "each is let out when it has ended or has run for ten seconds";
    findings.extend(of_jobs("quarantine", &ran, &health.quarantined, hint));
    let hint = "mend the name, or serve the file that has the job";
    let undue = "never due, because there is no such job";
    findings.extend(of_jobs("after", undue, &health.following_nothing, hint));
    findings.extend(health.missing_mailers.iter().map(|program| {
        let text = format!("no mail is sent: there is no {program} here");
        let hint =
            "what a job writes is kept: `mainspring logs JOB`; install it, or name another as `sendmail`";
        Finding::warning("mail", text, hint)
    }));
    if 0 < health.dead {
        let dead = counted(health.dead, "dead letter");
        let hint = "`mainspring dead list` shows them, `dead retry` runs them again, `dead drop` drops them";
        findings.push(Finding::warning("dead", format!("{dead} to be looked at"), hint));
    }
    findings.extend(planned(health));
    findings
}

fn server(status: &StatusWire, health: &HealthWire, now: Timestamp) -> Vec<Finding> {
    let since = ago(status.started, now);
    let epoch = health.epoch.unwrap_or_default();
    let text = format!("process {}, {}, started {since}, epoch {epoch}", status.pid, status.state);
    let mut findings = vec![match status.state.as_str() {
        "running" => Finding::ok("server", text),
        _ => Finding::warning("server", text, "it starts nothing more; a second SIGTERM ends it at once"),
    }];
    if status.version != env!("CARGO_PKG_VERSION") {
        let text = format!("it is version {}, and this is {}", status.version, env!("CARGO_PKG_VERSION"));
        findings.push(Finding::warning("version", text, "restart the server"));
    }
    findings.push(match &health.fault {
        None if status.is_kept => {
            Finding::ok("store", "it answers; it is read through when no server has it")
        }
        None => Finding::ok("store", "in memory: nothing is kept"),
        Some(fault) => Finding::bad("store", fault.clone(), "look at the server's log, and at the disk")
            .coded("store_fault"),
    });
    let hint = "all continues by itself once that is mended";
    findings.extend(status.troubles.iter().map(|trouble| Finding::bad("trouble", trouble.clone(), hint)));
    let jobs = counted(status.jobs, "job");
    let open = counted(status.open, "open run");
    let text = format!("{jobs}, {} pending, {open}", status.pending);
    findings.push(Finding::ok("jobs", text));
    if 0 < status.refused {
        let text = format!("{} requests were refused, because clients asked too fast", status.refused);
        findings.push(Finding::warning("rate", text, "serve --max-changes and --max-connection-changes"));
    }
    findings.extend(clock(health, now));
    findings.extend(health.running_max.map(|count| room_for_runs(count, health.open_files_max)));
    findings
}

/// A step of the clock that is not long ago. Of a step back that jobs rest for, `planned` tells.
fn clock(health: &HealthWire, now: Timestamp) -> Option<Finding> {
    let step = health.clock_step.as_ref()?;
    let is_old = CLOCK_STEP_TOLD_SECONDS < now.duration_since(step.at).as_secs().abs();
    if is_old || (step.is_back && 0 < health.behind.count) {
        return None;
    }
    let text = format!("{}, {}", step.text, ago(step.at, now));
    let hint = match step.is_back {
        true => "nothing fires twice, and each job continues at its next time",
        false => "what was due in between is caught up or missed, as the job's misfire says",
    };
    Some(Finding::warning("clock", text, hint).coded("clock_jumped"))
}

/// How many runs there may be at one time, and why there may not be more.
fn room_for_runs(count: u64, open_files_max: Option<u64>) -> Finding {
    let text = format!("at most {} at a time", counted(count, "run"));
    match open_files_max.filter(|limit| descriptors::runs_at_once(*limit) as u64 <= count) {
        Some(limit) if count < MAX_RUNNING as u64 => {
            let text = format!("the server's limit is {limit}, so {text}");
            let hint = format!("ulimit -Hn {} before it starts, for {MAX_RUNNING}", descriptors::NEEDED);
            Finding::warning("open files", text, hint)
        }
        _ => Finding::ok("places", text),
    }
}

fn files(status: &StatusWire) -> Vec<Finding> {
    let of = |file: &FileStateWire| match file.problems.lines().next() {
        None if !file.notice.is_empty() => {
            let hint = "if that is a mistake, put them back; `mainspring audit` and the log say more";
            Finding::warning("file", file.notice.clone(), hint).coded("file_lost").about_file(&file.name)
        }
        None => Finding::ok("file", format!("{}: {}", file.name, counted(file.jobs, "job"))),
        Some(problem) => Finding::bad(
            "file",
            problem.to_owned(),
            format!("the old set is in force, or the rest of the file; `mainspring check {}`", file.name),
        )
        .coded("file_problems")
        .about_file(&file.name),
    };
    status.files.iter().map(of).collect()
}

fn room(free_bytes: Option<u64>) -> Finding {
    let hint = "make room; without it output is dropped first, then new work is refused, then nothing starts";
    match free_bytes {
        None => Finding::warning("room", "cannot be measured", "df shows it"),
        Some(free) => {
            let text = format!("{} MiB free", free >> 20);
            match free {
                ..MIN_FREE_BYTES => Finding::bad("room", text, hint).coded("disk"),
                MIN_FREE_BYTES..LITTLE_FREE_BYTES => Finding::warning("room", text, hint).coded("disk"),
                LITTLE_FREE_BYTES.. => Finding::ok("room", text),
            }
        }
    }
}

/// The clock beside the last nominal time that was planned.
fn planned(health: &HealthWire) -> Option<Finding> {
    let (now, planned) = (health.now, health.planned?);
    let when = relative(planned, now);
    if 0 < health.behind.count {
        let text = format!("the clock was set back: {} rest until it shows {planned}", names(&health.behind));
        let hint = "nothing fires twice; set the clock right, wait, or see `mainspring help rewind`";
        return Some(Finding::bad("planned", text, hint).coded("behind"));
    }
    if MAX_IDLE_SECONDS < now.as_second() - planned.as_second() {
        let text = format!("the last occurrence was planned {when}");
        return Some(Finding::warning("planned", text, "is the clock far ahead?"));
    }
    Some(Finding::ok("planned", format!("up to {planned:.0} ({when})")))
}

/// A warning about jobs, if there are any.
fn of_jobs(subject: &'static str, what: &str, jobs: &NamesWire, hint: &str) -> Option<Finding> {
    (0 < jobs.count).then(|| Finding::warning(subject, format!("{what}: {}", names(jobs)), hint))
}

fn names(names: &NamesWire) -> String {
    let more = if (names.first.len() as u64) < names.count { ", .." } else { "" };
    format!("{} ({}{more})", counted(names.count, "job"), names.first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ClockStepWire;

    #[test]
    fn a_step_of_the_clock_is_told_for_an_hour() {
        let at: Timestamp = "2026-11-22T12:00:00Z".parse().unwrap();
        let text = "the machine slept for 2 h 0 min".to_owned();
        let step = ClockStepWire { at, text, is_back: false };
        let health = HealthWire { clock_step: Some(step), ..HealthWire::default() };
        let after = |seconds| clock(&health, at + jiff::SignedDuration::from_secs(seconds));
        let finding = after(120).unwrap();
        assert_eq!(finding.text, "the machine slept for 2 h 0 min, 2m ago");
        assert!(after(3_600).is_some());
        assert_eq!(after(3_601), None);
        assert_eq!(clock(&HealthWire::default(), at), None);
    }

    #[test]
    fn a_step_back_is_told_once() {
        let at: Timestamp = "2026-11-22T12:00:00Z".parse().unwrap();
        let text = "the clock was set back by 2 h 0 min".to_owned();
        let step = ClockStepWire { at, text, is_back: true };
        let mut health = HealthWire { clock_step: Some(step), ..HealthWire::default() };
        let finding = clock(&health, at).unwrap();
        assert_eq!(finding.text, "the clock was set back by 2 h 0 min, now");
        assert_eq!(
            finding.hint.as_deref(),
            Some("nothing fires twice, and each job continues at its next time")
        );
        health.behind.add("tick");
        assert_eq!(clock(&health, at), None, "the jobs that rest are told instead");
    }
}
