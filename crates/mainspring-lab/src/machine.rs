//! The machine and the time of a measurement.
//!
//! From `/proc`, `/sys`, `rustc` and `git`; what cannot be found says "unknown" and nothing fails.
//!
//! Cost: two small processes. It does not benchmark the machine: the floor does that, in the same run.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

use serde::{Deserialize, Serialize};

use crate::stopwatch;

/// The name of its file.
pub const MACHINE_FILE: &str = "machine.json";

/// The machine, the code and the time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's model.
    pub cpu: String,
    /// Cores that this process may use.
    pub core_count: usize,
    /// Sizes of the caches of the first core, as the kernel names them.
    pub caches: Vec<String>,
    /// Main memory.
    pub memory: String,
    /// How huge pages are given.
    pub huge_pages: String,
    /// The kernel.
    pub kernel: String,
    /// The compiler.
    pub rustc: String,
    /// The code: a commit, with a mark if files were changed since.
    pub commit: String,
    /// When, in UTC.
    pub date: String,
    /// What was asked for.
    pub command: String,
}

impl Machine {
    /// Looks around.
    pub fn here() -> Machine {
        Machine {
            cpu: field("/proc/cpuinfo", "model name"),
            core_count: thread::available_parallelism().map_or(1, usize::from),
            caches: caches(),
            memory: field("/proc/meminfo", "MemTotal"),
            huge_pages: first_line("/sys/kernel/mm/transparent_hugepage/enabled"),
            kernel: first_line("/proc/sys/kernel/osrelease"),
            rustc: output("rustc", &["--version"]),
            commit: output("git", &["describe", "--always", "--dirty", "--abbrev=7"]),
            date: stopwatch::date().strftime("%Y-%m-%d %H:%M UTC").to_string(),
            command: std::env::args().skip(1).collect::<Vec<_>>().join(" "),
        }
    }

    /// In a line, for captions.
    pub fn sentence(&self) -> String {
        let Machine { cpu, core_count, caches, kernel, rustc, commit, date, .. } = self;
        let caches = caches.join(", ");
        format!("{core_count} cores of {cpu} ({caches}), Linux {kernel}, {rustc}, commit {commit}, {date}")
    }

    /// Reads the file of a folder, if there is one.
    pub fn load(folder: &Path) -> Option<Machine> {
        serde_json::from_str(&fs::read_to_string(folder.join(MACHINE_FILE)).ok()?).ok()
    }

    /// Writes it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, folder: &Path) -> std::io::Result<()> {
        let text = serde_json::to_string_pretty(self).expect("a machine is text and numbers");
        fs::write(folder.join(MACHINE_FILE), text + "\n")
    }
}

const UNKNOWN: &str = "unknown";

fn first_line(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().next().unwrap_or(UNKNOWN).trim().to_owned()
}

fn field(path: &str, name: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.split_once(':')).map_or(UNKNOWN, |(_, value)| value.trim()).to_owned()
}

fn caches() -> Vec<String> {
    let folder = |index| format!("/sys/devices/system/cpu/cpu0/cache/index{index}");
    (0..8)
        .map(folder)
        .take_while(|folder| Path::new(folder).exists())
        .map(|folder| {
            let part = |name: &str| first_line(&format!("{folder}/{name}"));
            format!("L{} {} {}", part("level"), part("type").to_lowercase(), part("size"))
        })
        .collect()
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success());
    output.map_or(UNKNOWN.to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
