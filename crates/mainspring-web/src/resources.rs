//! Resource use of the server's process, as the kernel reports it, and the version of the system's zone data.
//!
//! Cost: some small files of /proc, and one for each thread.
//!
//! Does not count what jobs use: they are processes of their own.
//!
//! Source: proc(5).

use std::fs::{self, DirEntry};
use std::io;
use std::time::Duration;

use mainspring_server::data_directory::DataDirectory;

/// Counts of what this process uses, by the names of their metrics. What the kernel does not say is `None`.
pub fn counts() -> [(&'static str, Option<u64>); 3] {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    [
        ("process_resident_memory_bytes", of("VmRSS:").map(|kib| kib << 10)),
        ("process_threads", of("Threads:")),
        ("process_open_fds", fs::read_dir("/proc/self/fd").ok().map(|files| files.count() as u64)),
    ]
}

/// Processor time of all threads that there are in this process.
pub fn processor_time() -> Option<Duration> {
    let tasks = fs::read_dir("/proc/self/task").ok()?;
    Some(Duration::from_nanos(tasks.filter_map(cpu_ns).sum()))
}

/// The processor time of a thread, of which schedstat has nanoseconds: no unit of the kernel's configuration.
fn cpu_ns(task: io::Result<DirEntry>) -> Option<u64> {
    let text = fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// How big the parts of the store in the data directory are. A store elsewhere has none there.
pub fn store_sizes(data: &DataDirectory) -> Vec<(&'static str, u64)> {
    let size = |name: &str| Some(fs::metadata(data.directory().join(name)).ok()?.len());
    let parts = [("database", "mainspring.db"), ("journal", "mainspring.db-wal")];
    parts.into_iter().filter_map(|(part, name)| Some((part, size(name)?))).collect()
}

/// The version of the system's zone data, such as `2026b`; `None` where nothing says it.
pub fn zones_version() -> Option<String> {
    let first = |path: &str| {
        let text = fs::read_to_string(path).ok()?;
        let version = text.lines().next()?.trim_start_matches("# version ").trim().to_owned();
        let is_one = !version.is_empty() && version.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        is_one.then_some(version)
    };
    ["/usr/share/zoneinfo/+VERSION", "/usr/share/zoneinfo/tzdata.zi"].into_iter().find_map(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_something_of_everything() {
        let time = processor_time();
        assert!(time.is_some_and(|time| !time.is_zero()), "{time:?}");
        for (name, count) in counts() {
            assert!(count.is_some_and(|count| 0 < count), "{name}: {count:?}");
        }
        assert!(zones_version().is_none_or(|version| version.starts_with("20")));
    }
}
