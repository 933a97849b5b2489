//! Counters of the kernel: CPU time, and context switches of threads.
//!
//! Cost: a system call, or a small file per thread. It does not count other processes.

use std::fs;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::unistd::gettid;

use crate::case::Failure;

/// CPU time of this process so far, user and system, in seconds.
///
/// # Errors
/// The kernel does not tell.
pub fn cpu_seconds() -> Result<f64, Failure> {
    let usage =
        getrusage(UsageWho::RUSAGE_SELF).map_err(|error| Failure::Unable(format!("getrusage: {error}")))?;
    let microseconds = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(microseconds as f64 / 1e6)
}

/// How often another thread has taken the core from the calling one: 0 if the kernel does not tell.
pub fn interruption_count_of_thread() -> i64 {
    getrusage(UsageWho::RUSAGE_THREAD).map_or(0, |usage| usage.involuntary_context_switches())
}

/// Voluntary context switches of all threads but the calling one.
///
/// # Errors
/// The kernel does not tell.
pub fn voluntary_switches_of_others() -> Result<u64, Failure> {
    let own = gettid().to_string();
    let tasks = fs::read_dir("/proc/self/task")
        .map_err(|error| Failure::Unable(format!("/proc/self/task: {error}")))?;
    let others = tasks.flatten().filter(|task| task.file_name().to_string_lossy() != own);
    let counts = others.filter_map(|task| {
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse::<u64>().ok()
    });
    Ok(counts.sum())
}
