//! Processes that became our children because their parents ended.
//!
//! ```text
//! PID 1 of a container, or a subreaper:   program ─▶ its child ─▶ its grandchild
//!                                         ended      ended        becomes ours; when it ends, somebody must wait for it
//! ```
//!
//! A run's own process stays unreaped until its run is over, so waiting for just any child would not do: the
//! children are listed, and only those that no run knows are waited for, without blocking.
//!
//! Cost: nothing for a process that no orphans fall to; else two small reads per thread and SIGCHLD.
//!
//! Does not kill an orphan: one that left its process group has a life of its own.
//!
//! Source: waitid(2); `/proc/PID/task/TID/children` in proc(5).

use std::fs;

use nix::sys::prctl;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

/// Whether orphans fall to this process: it is the first of its container, or has asked for them.
pub fn fall_to_us() -> bool {
    Pid::this().as_raw() == 1 || prctl::get_child_subreaper().unwrap_or(false)
}

/// Waits for all ended children but `ours`, and returns how many there were.
pub fn reap(ours: impl Iterator<Item = u32>) -> usize {
    let ours: Vec<u32> = ours.collect();
    let strangers = children().into_iter().filter(|pid| !ours.contains(pid));
    strangers.filter(|&pid| has_ended(pid)).count()
}

fn has_ended(pid: u32) -> bool {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG;
    matches!(waitid(Id::Pid(Pid::from_raw(pid.cast_signed())), flags), Ok(status) if status.pid().is_some())
}

/// The numbers of all children. An orphan becomes the child of any of our threads.
fn children() -> Vec<u32> {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    let texts = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    texts.flat_map(|text| text.split_whitespace().flat_map(str::parse).collect::<Vec<u32>>()).collect()
}
