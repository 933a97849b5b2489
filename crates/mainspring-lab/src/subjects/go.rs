//! Go's own timers: a program of ours on Go's standard library, where a `go` is installed.
//!
//! The program is built once, into the folder for temporary files, and then runs one case at a time as any
//! subject's process does: pinned, and checking its answers. It starts afresh, so its heap is empty.
//!
//! Cost: some seconds for the first build.
//!
//! It does not move Go's clock, which is real: of W3 only inserting is measured, and W4 not at all. What is
//! scheduled for longer than the run is cancelled.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::case::{Case, Failure, Figure, Measurement, Workload};
use crate::subject::{Kind, Subject};

/// The program.
const SOURCE: &str = include_str!("../../go/main.go");

/// Its module.
const MODULE: &str = include_str!("../../go/go.mod");

/// Go's timers that send on a channel, which the goal of our channels is set against.
pub const CHANNEL: &str = "go-channel";

/// What a timer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    /// A function.
    Func,
    /// A channel.
    Channel,
}

/// The subjects.
pub fn subjects() -> [Subject; 2] {
    let about = "Go's time.AfterFunc, Stop and Reset, where `go` is installed";
    let about_channel = "Go's time.NewTimer and Stop, where `go` is installed";
    [
        Subject::new("go", Kind::Foreign, about, |case| measure(case, Timer::Func)),
        Subject::new(CHANNEL, Kind::Foreign, about_channel, |case| measure(case, Timer::Channel)),
    ]
}

/// What the program does not do, and why.
fn unable(case: &Case, timer: Timer) -> Option<&'static str> {
    match (case.workload, timer) {
        (Workload::W4, _) => Some("Go's clock is real: thirty days cannot be waited for"),
        (Workload::W7b, _) => Some("as the preset go_1_14, which is measured"),
        (Workload::W10, _) => Some("Go has no thread that fires: those that schedule do"),
        (Workload::W6 | Workload::W7, Timer::Channel) => Some("as by functions, which are measured"),
        (Workload::W9, Timer::Channel) => Some("what is sent on a million channels cannot be counted"),
        _ => None,
    }
}

fn measure(case: &Case, timer: Timer) -> Measurement {
    if let Some(reason) = unable(case, timer) {
        return Err(Failure::Unable(reason.to_owned()));
    }
    let program = built()?;
    let output = Command::new(&program)
        .args([if timer == Timer::Channel { "channel" } else { "func" }, &case.workload.to_string()])
        .args([case.size, u64::from(case.thread_count), case.seed].map(|number| number.to_string()))
        .output()
        .map_err(|error| Failure::Unable(format!("{}: {error}", program.display())))?;
    if !output.status.success() {
        return Err(Failure::Wrong(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let figures: Result<Vec<Figure>, _> = serde_json::from_slice(&output.stdout);
    figures.map_err(|error| Failure::Wrong(format!("the program's answer is not understood: {error}")))
}

/// Where the program is, built now if it was not before.
fn built() -> Result<PathBuf, Failure> {
    // The name changes with the program, so that an old one is never run.
    let mut hasher = DefaultHasher::new();
    (SOURCE, MODULE).hash(&mut hasher);
    let folder = env::temp_dir().join(format!("mainspring-lab-go-{:016x}", hasher.finish()));
    let program = folder.join("go-timers");
    if program.exists() {
        return Ok(program);
    }
    build(&folder, &program)?;
    Ok(program)
}

fn build(folder: &Path, program: &Path) -> Result<(), Failure> {
    let unable = |error: std::io::Error| Failure::Unable(format!("{}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(unable)?;
    fs::write(folder.join("main.go"), SOURCE).map_err(unable)?;
    fs::write(folder.join("go.mod"), MODULE).map_err(unable)?;
    let output = Command::new("go").arg("build").arg("-o").arg(program).current_dir(folder).output();
    let output = output.map_err(|_| Failure::Unable("no `go` is installed".to_owned()))?;
    if output.status.success() {
        return Ok(());
    }
    let problem = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(Failure::Unable(format!("`go build` failed: {problem}")))
}
