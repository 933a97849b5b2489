//! A control group for each run, where the operating system gives the server a part of the tree.
//!
//! ```text
//! /sys/fs/cgroup/system.slice/mainspring.service     delegated: Delegate=yes
//!                             ├── server             the server itself: a group that passes controllers on holds no process
//!                             ├── run-812-1          a run, and all that it starts, whatever session or group that goes into
//!                             └── run-812-2
//! ```
//!
//! A group is removed when it is empty. One in which a run has left something, such as a daemon, stays until
//! a later run finds it empty; so does what an earlier server has left.
//!
//! Cost: a folder and three system calls for each run; one more for each group that is left.
//!
//! Does not take a group that is not delegated, though root could: other programs rule there.
//!
//! Source: cgroup-v2.rst of the Linux kernel; "Control Group APIs and Delegation",
//! <https://systemd.io/CGROUP_DELEGATION/>.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use mainspring_action::names::CPU_PERCENT;
use mainspring_action::process::ProcessBody;

/// What systemd writes beside a group that it has delegated: the first can be read by its user, older
/// versions write the second.
const DELEGATED: [&str; 2] = ["user.delegate", "trusted.delegate"];

/// The controllers that limits need.
const CONTROLLERS: [&str; 2] = ["memory", "cpu"];

/// The group of the server itself.
const SERVER: &str = "server";

/// How the names of the groups of runs begin.
const RUN: &str = "run-";

/// How many names are tried for a new group: those of a server before may be taken.
const MAX_NAMES: u64 = 1_000;

/// The period of the processor's limit, in microseconds: the kernel's own.
const CPU_PERIOD_US: u64 = 100_000;

const _: () = assert!(1_000 <= *CPU_PERCENT.start() as u64 * CPU_PERIOD_US / 100, "the kernel's least quota");

/// The part of the tree that is the server's.
#[derive(Debug)]
pub struct Cgroups {
    top: PathBuf,
    last_number: u64,
    /// Groups of runs that are over, which were not empty yet.
    left: Vec<PathBuf>,
}

impl Cgroups {
    /// Takes the group that is delegated to this process, if one is: the process goes into a group below it.
    pub fn delegated() -> Option<Cgroups> {
        let top = own_group()?;
        if !is_delegated(&top) {
            return None;
        }
        let server = top.join(SERVER);
        fs::create_dir_all(&server).ok()?;
        fs::write(server.join("cgroup.procs"), std::process::id().to_string()).ok()?;
        for controller in CONTROLLERS {
            // A controller that is not there, or not passed on, is missed by a job that needs it.
            let _ = fs::write(top.join("cgroup.subtree_control"), format!("+{controller}"));
        }
        let entries = fs::read_dir(&top).ok()?.flatten();
        let left = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(RUN));
        let left = left.map(|entry| entry.path()).collect();
        let mut cgroups = Cgroups { top, last_number: 0, left };
        cgroups.sweep();
        Some(cgroups)
    }

    /// The group below which those of the runs are.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// Makes the group of a run, which has as much as its job says, with all that it starts.
    pub(crate) fn add(&mut self, body: &ProcessBody) -> io::Result<Cgroup> {
        self.sweep();
        let folder = self.new_folder()?;
        let made = limit(&folder, body)
            .and_then(|()| OpenOptions::new().write(true).open(folder.join("cgroup.procs")));
        match made {
            Ok(entry) => Ok(Cgroup { folder, entry }),
            Err(error) => {
                let _ = fs::remove_dir(&folder);
                Err(error)
            }
        }
    }

    /// Removes the group of a run that is over, at once or when it is empty.
    pub(crate) fn remove(&mut self, cgroup: Cgroup) {
        assert!(cgroup.folder.starts_with(&self.top), "what is removed is one of ours");
        debug_assert!(!self.left.contains(&cgroup.folder), "a run is over once");
        self.left.push(cgroup.folder);
        self.sweep();
    }

    fn new_folder(&mut self) -> io::Result<PathBuf> {
        let own = std::process::id();
        for _ in 0..MAX_NAMES {
            self.last_number += 1;
            let folder = self.top.join(format!("{RUN}{own}-{}", self.last_number));
            match fs::create_dir(&folder) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => return made.map(|()| folder),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// Removes the groups that have become empty.
    fn sweep(&mut self) {
        self.left
            .retain(|folder| fs::remove_dir(folder).is_err_and(|error| error.kind() != ErrorKind::NotFound));
    }
}

/// The group of a run.
#[derive(Debug)]
pub(crate) struct Cgroup {
    folder: PathBuf,
    /// What a process writes into to enter.
    entry: File,
}

impl Cgroup {
    /// Where a process enters by writing `0`.
    pub(crate) fn entry(&self) -> BorrowedFd<'_> {
        self.entry.as_fd()
    }

    /// Where it is.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether a process is in it; one that has ended and waits to be reaped is not.
    pub(crate) fn is_populated(&self) -> bool {
        fs::read_to_string(self.folder.join("cgroup.events")).is_ok_and(|text| text.contains("populated 1"))
    }

    /// Sends SIGKILL to all that is in it.
    pub(crate) fn kill(&self) {
        // A kernel before 5.14 has no such file: the process group is killed there, and no more.
        let _ = fs::write(self.folder.join("cgroup.kill"), "1");
    }
}

/// The folder of the group that this process is in.
fn own_group() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    mounts.lines().find_map(|line| below(line, path))
}

/// The folder of a group, if this line of the mounts is that of a tree that it is in.
fn below(mount: &str, path: &str) -> Option<PathBuf> {
    let (mount, kind) = mount.split_once(" - ")?;
    if !kind.starts_with("cgroup2 ") {
        return None;
    }
    let mut fields = mount.split(' ').skip(3);
    let (root, point) = (fields.next()?, fields.next()?);
    let rest = Path::new(path).strip_prefix(root).ok()?;
    Some(Path::new(point).join(rest))
}

/// Whether a group is this process's to divide: its service manager says so, or it is the first process of a
/// container whose tree begins here. Only the root of the whole tree has no type.
fn is_delegated(group: &Path) -> bool {
    let is_marked = |name: &&str| {
        let mut value = [0; 8];
        rustix::fs::getxattr(group, *name, &mut value).is_ok_and(|count| value[..count] == *b"1")
    };
    let is_own_tree = || std::process::id() == 1 && group.join("cgroup.type").exists() && own_path_is_root();
    DELEGATED.iter().any(is_marked) || is_own_tree()
}

fn own_path_is_root() -> bool {
    fs::read_to_string("/proc/self/cgroup").is_ok_and(|text| text.lines().any(|line| line == "0::/"))
}

/// Writes what a group may have. A run that wants more memory is killed whole.
fn limit(folder: &Path, body: &ProcessBody) -> io::Result<()> {
    if let Some(bytes) = body.memory_max {
        put(folder, "memory.max", &bytes.to_string())?;
        put(folder, "memory.oom.group", "1")?;
    }
    if let Some(percent) = body.cpu_max {
        let quota_us = u64::from(percent) * CPU_PERIOD_US / 100;
        put(folder, "cpu.max", &format!("{quota_us} {CPU_PERIOD_US}"))?;
    }
    Ok(())
}

fn put(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    // Never made: a file that is not there is a controller that is not.
    let named = |error: io::Error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::PermissionDenied => {
            let controller = name.split('.').next().unwrap_or(name);
            io::Error::new(
                ErrorKind::Unsupported,
                format!("the server's cgroup has no controller {controller}"),
            )
        }
        _ => error,
    };
    let mut file = OpenOptions::new().write(true).open(folder.join(name)).map_err(named)?;
    io::Write::write_all(&mut file, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;

    #[test]
    fn a_group_is_found_below_the_mount_that_has_it() {
        let whole = "41 31 0:38 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate";
        let group = "/system.slice/mainspring.service";
        let folder = "/sys/fs/cgroup/system.slice/mainspring.service";
        assert_eq!(below(whole, group), Some(PathBuf::from(folder)));
        // A mount that shows a part of the tree.
        let part = "41 31 0:38 /system.slice /mnt/g rw,relatime - cgroup2 cgroup2 rw";
        assert_eq!(below(part, group), Some(PathBuf::from("/mnt/g/mainspring.service")));
        assert_eq!(below(part, "/user.slice/u"), None);
        assert_eq!(below("40 31 0:33 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory", group), None);
    }

    #[test]
    fn limits_are_written_as_the_kernel_reads_them() {
        let folder = scratch::path("cgroup");
        fs::create_dir_all(&folder).unwrap();
        let body = ProcessBody { memory_max: Some(1 << 29), cpu_max: Some(150), ..ProcessBody::default() };
        let error = limit(&folder, &body).unwrap_err();
        assert_eq!(error.to_string(), "the server's cgroup has no controller memory");
        for name in ["memory.max", "memory.oom.group", "cpu.max"] {
            fs::write(folder.join(name), "").unwrap();
        }
        limit(&folder, &body).unwrap();
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(read("memory.max"), "536870912");
        assert_eq!(read("memory.oom.group"), "1");
        assert_eq!(read("cpu.max"), "150000 100000");
        fs::remove_dir_all(&folder).unwrap();
    }
}
