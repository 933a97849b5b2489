//! Processes that became our children because their parents ended.
//!
//! ```text
//! PID 1 of a container, or a subreaper:   program ─▶ its child ─▶ its grandchild
//!                                         ended      ended        becomes ours; when it ends, somebody must wait for it
//! ```
//!
//! A run's own process stays unreaped until its run is over, so waiting for just any child would not do. The
//! kernel is asked which child has ended, without waiting for it, and it is waited for if no run knows it.
//! The kernel names the same child until it is waited for: where that is one of a run, what stands behind it
//! is found by a list of all children. A list is made again only after as many looks as it had children, so
//! that a look costs no more, on average, however many of them somebody makes.
//!
//! Cost: nothing for a process that no orphans fall to; else a system call for a SIGCHLD and two for each
//! orphan that has ended. While a run has ended and is not over: see above.
//!
//! Does not kill an orphan: one that left its process group has a life of its own.
//!
//! Source: waitid(2); `/proc/PID/task/TID/children` in proc(5).

use std::fs;

use nix::unistd::Pid;

use crate::kernel;
use crate::sys;

/// Reaps the orphans that fall to this process.
#[derive(Debug, Default)]
pub struct Orphans {
    /// How many looks there are until all children are listed again.
    looks_left: usize,
    /// Whether some may have ended that were not found behind a child of a run.
    is_behind: bool,
}

/// What a look came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// How many orphans had ended.
    pub reaped_count: usize,
    /// How many children were asked about.
    pub asked_count: usize,
}

impl Orphans {
    /// `None` where none fall to this process: it is not the first of its container, and has not asked for
    /// them.
    pub fn of_ours() -> Option<Orphans> {
        let fall_to_us = Pid::this().as_raw() == 1 || kernel::is_subreaper();
        fall_to_us.then(Orphans::default)
    }

    /// Whether another look may find some that ended before the last.
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Waits for ended children other than `ours`.
    pub fn reap(&mut self, ours: &[u32]) -> Look {
        let mut look = Look::default();
        self.is_behind = false;
        while let Some(pid) = sys::first_ended() {
            look.asked_count += 1;
            if ours.contains(&pid) {
                self.is_behind = true;
                break;
            }
            look.add(pid);
        }
        if self.is_behind {
            match self.looks_left.checked_sub(1) {
                Some(left) => self.looks_left = left,
                None => self.list(ours, &mut look),
            }
        }
        debug_assert!(look.reaped_count <= look.asked_count, "who is reaped was asked about");
        look
    }

    fn list(&mut self, ours: &[u32], look: &mut Look) {
        let children = children();
        self.looks_left = children.len();
        look.asked_count += children.len();
        for pid in children.into_iter().filter(|pid| !ours.contains(pid)) {
            look.add(pid);
        }
    }
}

impl Look {
    fn add(&mut self, pid: u32) {
        self.reaped_count += usize::from(sys::reap(Pid::from_raw(pid.cast_signed())).is_some());
    }
}

/// The numbers of all children. An orphan becomes the child of any of our threads.
fn children() -> Vec<u32> {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    let texts = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    texts.flat_map(|text| text.split_whitespace().flat_map(str::parse).collect::<Vec<u32>>()).collect()
}
