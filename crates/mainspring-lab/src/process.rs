//! A fresh process per measurement, on cores of its own.
//!
//! ```text
//!   lab --starts--> lab measure SUBJECT CASE     pinned: one core; two for the real clock; all for threads
//!       <--line of JSON: figures, or why not--
//! ```
//!
//! A new process has empty caches, an untouched allocator and no other subject's threads.
//!
//! Cost: a few milliseconds to start.
//!
//! It does not wait for ever: a measurement that takes more than [`cpu_seconds_max`] is ended by the kernel.

use std::env;
use std::ffi::OsStr;
use std::process::{Command, Stdio};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::Pid;
use serde::de::DeserializeOwned;

use crate::case::{Case, Failure, Measurement, Workload};
use crate::coverage::cpu_seconds_max;
use crate::subject::Subject;
use crate::subjects;

/// How many cores a measurement by the real clock may use, but for W5: as on the reference machine.
const REAL_TIME_CORE_COUNT: usize = 2;

/// Measures a case by a subject in a process of its own.
pub fn measure_apart(subject: &str, case: &Case) -> Measurement {
    let text = serde_json::to_string(case).expect("a case is a name and numbers");
    run_apart(&["measure", subject, &text], cpu_seconds_max(case.size))
}

/// Starts this program once more with a hidden command, and reads the last line that it prints.
///
/// # Errors
/// What that says, or how it ended without a line.
pub fn run_apart<T: DeserializeOwned>(
    arguments: &[impl AsRef<OsStr>],
    cpu_seconds_max: u64,
) -> Result<T, Failure> {
    let output = env::current_exe()
        .and_then(|program| Command::new(program).args(arguments).stderr(Stdio::inherit()).output())
        .map_err(|error| Failure::Wrong(format!("the measuring process could not be started: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(text.lines().last().unwrap_or_default()).unwrap_or_else(|_| {
        let status = output.status;
        Err(Failure::Unable(format!("ended with {status} (the limit is {cpu_seconds_max} CPU seconds)")))
    })
}

/// Measures a case by a subject in this process, which is for nothing else, and prints what came out.
pub fn measure_here(subject: &str, case: &Case) {
    let measured = match subjects::named(subject) {
        Some(subject) => confine(&subject, case).and_then(|()| subject.measure(case)),
        None => Err(Failure::Unable(format!("there is no subject {subject}"))),
    };
    let line = serde_json::to_string(&measured).expect("figures are numbers and sentences");
    println!("{line}");
}

fn confine(subject: &Subject, case: &Case) -> Result<(), Failure> {
    let core_count = match case.workload {
        // As many as there are: what threads bring is the question.
        Workload::W5 => usize::MAX,
        workload if subject.is_real_time(workload) => REAL_TIME_CORE_COUNT,
        _ => 1,
    };
    confine_to(core_count, cpu_seconds_max(case.size))
}

/// Pins this process to some cores, and limits its time.
///
/// # Errors
/// The system does not let it.
pub fn confine_to(core_count: usize, cpu_seconds_max: u64) -> Result<(), Failure> {
    debug_assert!(0 < core_count, "a process has a core");
    let wrong = |error: nix::Error| Failure::Wrong(format!("the process could not be pinned: {error}"));
    let allowed = sched_getaffinity(Pid::from_raw(0)).map_err(wrong)?;
    let cores: Vec<usize> =
        (0..CpuSet::count()).filter(|&core| allowed.is_set(core).unwrap_or(false)).collect();
    let mut chosen = CpuSet::new();
    // The last ones: the first core takes most interrupts.
    for &core in cores.iter().rev().take(core_count) {
        chosen.set(core).map_err(wrong)?;
    }
    sched_setaffinity(Pid::from_raw(0), &chosen).map_err(wrong)?;
    setrlimit(Resource::RLIMIT_CPU, cpu_seconds_max, cpu_seconds_max).map_err(wrong)
}
