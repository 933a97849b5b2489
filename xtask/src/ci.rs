//! The gate: every check that a change must pass.
//!
//! ```text
//!            main lane                         side lane
//!   FIRST    the cheapest to learn             what the tests need is installed
//!     |
//!   THEN     lints, tests                      folders and flags of their own
//!     |
//!   LAST     the real program with its page    without a page
//! ```
//!
//! A row begins when both lanes of the one before it have ended. The tests wait more than they compute, once
//! they are built, and what stands beside them computes: side by side they use two cores. The main lane
//! prints as it goes. What a step of the other prints is kept in `target/gate` and printed whole, in the
//! order of the steps, when the main lane has ended. A failure is told at once by a line, and again at the
//! end with what its tests said ([`failures`](crate::failures)); neither lane begins another step after it.
//! There are two lanes and no more: a linker takes a gigabyte and more.
//!
//! Cost: seventy minutes of a processor, most of it compiling. A Rust toolchain with rustfmt and clippy is
//! all it needs: [`tools`](crate::tools) installs the rest where it may. The last line says what is left out,
//! by [`skips`].

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::built::TESTED;
use crate::failures::Failures;
use crate::program::{ended, now, succeed};
use crate::skips;

/// The steps of both lanes, which run at the same time.
struct Phase {
    main: &'static [Step],
    side: &'static [Step],
}

struct Step {
    name: &'static str,
    arguments: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

const fn step(name: &'static str, arguments: &'static [&'static str]) -> Step {
    Step { name, arguments, environment: &[] }
}

impl Step {
    /// The same with variables in its environment.
    const fn with(self, environment: &'static [(&'static str, &'static str)]) -> Step {
        Step { environment, ..self }
    }
}

/// How many tests of the program run at a time, on however few cores. They wait for others most of the
/// time: on two cores those of the command line took 196 s two at a time, and 91 s six at a time.
pub(crate) const WAITING: &str = "6";

/// With how many processes the side lane compiles: with as many as the other lane a small machine would have
/// no memory for both.
const SIDE_JOBS: &str = "2";

/// The form of the texts, which takes seconds. Beside it the programs are installed that the tests need.
const FIRST: Phase = Phase { main: &FORM, side: &INSTALLATION };

/// The lints and the tests. Beside them what builds in folders of its own, and last what takes much of what
/// the tests have built by then.
const THEN: Phase = Phase { main: &CHECKS, side: &BUILDS };

/// The program that the tests have built, so that nothing is built.
const LAST: Phase = Phase { main: &PAGE, side: &TRIALS };

const PHASES: [Phase; 3] = [FIRST, THEN, LAST];

pub(crate) const FORMATTING: &[&str] = &["fmt", "--all", "--check"];

pub(crate) const CLIPPY: &[&str] =
    &["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"];

const FORM: [Step; 2] = [step("formatting", FORMATTING), step("tidy", &["xtask", "tidy"])];

const INSTALLATION: [Step; 1] = [step("tools", &["xtask", "tools"])];

const CHECKS: [Step; 4] = [
    step("clippy", CLIPPY),
    // As docs.rs builds it.
    step("documentation", &["doc", "--workspace", "--all-features", "--no-deps"])
        .with(&[("RUSTDOCFLAGS", "--cfg docsrs -D warnings"), ("RUSTDOC", "xtask/as-docs-rs")]),
    step("each feature alone", &["xtask", "features"]),
    // Without the libraries, which are tested as packages: that takes the longest, and once is enough.
    step(
        "tests of the program",
        &[
            "test",
            "--workspace",
            "--all-features",
            "--no-fail-fast",
            "--exclude=mainspring-queue",
            "--exclude=mainspring-cron",
            "--exclude=mainspring-job",
            "--exclude=mainspring",
        ],
    )
    .with(&[("RUST_TEST_THREADS", WAITING)]),
];

// A browser leaves what it likes, where it always does.
const PAGE: [Step; 1] =
    [step("the page in a browser", &["xtask", "page", TESTED]).with(&[("TMPDIR", "/tmp")])];

const TRIALS: [Step; 3] = [
    step("a pool of servers with faults", &["xtask", "chaos", TESTED, "--rounds", "3", "--seed", "3"]),
    step("the HTTP API against its description", &["xtask", "contract", TESTED]),
    step("the program killed at random", &["xtask", "crash", TESTED, "--rounds", "5"]),
];

const BUILDS: [Step; 10] = [
    step("the page without a browser", &["xtask", "page", "--without-browser"]),
    step("dependencies", &["xtask", "dependencies"]),
    step("beside other crates", &["xtask", "beside"]),
    step("other machines", &["xtask", "bare"]),
    // A folder of its own: other flags would make every later build start over.
    step("models of the threads", &["test", "-p", "mainspring", "--features", "channel", "--test", "loom"])
        .with(&[("RUSTFLAGS", "--cfg mainspring_loom"), ("CARGO_TARGET_DIR", "target/loom")]),
    step("instruction counts", &["xtask", "instructions"]),
    step("the queues under AddressSanitizer", &["xtask", "address"]),
    step("fuzz targets, from a fixed seed", &["xtask", "fuzz"]),
    step("what breaks callers", &["xtask", "semver"]),
    step("the packages, published dry", &["xtask", "publish"]),
];

/// Runs every step in `root` until one fails, and says how long each took. The time decides nothing.
///
/// # Errors
/// All that failed, a line each.
pub fn run(root: &Path) -> Result<(), String> {
    let begun = now();
    let gate = Gate::new(root).map_err(|problem| format!("== the gate cannot begin: {problem}"))?;
    for phase in PHASES {
        gate.side_by_side(&phase, &mut io::stdout());
    }
    gate.end_temporary();
    gate.conclude(now() - begun)
}

/// Where the steps run, and which of them failed.
struct Gate {
    root: PathBuf,
    /// This program. A chore is started without cargo, which would wait for the folder that the other lane
    /// builds in.
    chores: PathBuf,
    /// What the steps of the side lane print.
    logs: PathBuf,
    /// What was left out: see [`skips`].
    skips: PathBuf,
    /// Where the tests make temporary files: it must be empty when they have ended.
    temporary: PathBuf,
    /// The first of them first. Nothing begins after a failure.
    failures: Mutex<Vec<String>>,
    /// What the tests of a failed step said, to be repeated at the end.
    test_failures: Mutex<Failures>,
}

/// How many gates this process has made: one, but in tests.
static COUNT: AtomicU32 = AtomicU32::new(0);

impl Gate {
    fn new(root: &Path) -> Result<Self, String> {
        let chores = std::env::current_exe().map_err(|error| format!("this program has no path: {error}"))?;
        let logs = root.join("target/gate");
        fs::create_dir_all(&logs).map_err(|error| format!("{} cannot be made: {error}", logs.display()))?;
        let number = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let skips = logs.join(format!("skips-{number}.txt"));
        File::create(&skips).map_err(|error| format!("{} cannot be made: {error}", skips.display()))?;
        let temporary = temporary_folder(&number)?;
        Ok(Self {
            root: root.to_owned(),
            chores,
            logs,
            skips,
            temporary,
            failures: Mutex::default(),
            test_failures: Mutex::default(),
        })
    }

    /// Ends the use of the folder for temporary files: tests that ended well have left nothing in it.
    fn end_temporary(&self) {
        let entries = fs::read_dir(&self.temporary).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort_unstable();
        if self.has_failed() && !names.is_empty() {
            println!("== what failed may have left why in {}", self.temporary.display());
            return;
        }
        let _ = fs::remove_dir_all(&self.temporary);
        if !names.is_empty() {
            let line = self.failed(format!("tests left temporary files: {}", names.join(", ")));
            println!("{line}");
        }
    }

    /// Says how all of it ended, in the last line.
    fn conclude(&self, time: Duration) -> Result<(), String> {
        let left_out = skips::read(&self.skips);
        for line in skips::forbidden(&left_out) {
            self.failed(format!("with CI set nothing is left out: {line}"));
        }
        for line in self.test_failures().lines() {
            println!("{line}");
        }
        if self.has_failed() {
            return Err(format!("== {}", self.failures().join("\n== ")));
        }
        let count = PHASES.iter().map(|phase| phase.main.len() + phase.side.len()).sum();
        println!("{}", last_line(count, time, &left_out));
        Ok(())
    }

    /// Runs `steps`, which print where this program prints.
    fn one_by_one(&self, steps: &[Step]) {
        for step in steps {
            if self.has_failed() {
                return;
            }
            println!("{}", beginning(step));
            let (Ok(line) | Err(line)) = self.timed(step, || self.passed_on(self.command(step)));
            println!("{line}");
        }
    }

    /// Runs a command, which prints where this program prints, and keeps what its tests said if it fails.
    fn passed_on(&self, mut command: Command) -> Result<(), String> {
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{name} could not be started: {error}"))?;
        let output = child.stdout.take().expect("it was asked for");
        let read = Failures::read(output, &mut io::stdout());
        let status = child.wait();
        let result = ended(&name, status);
        match read {
            Ok(failures) if result.is_err() => self.test_failures().add(failures),
            Ok(_) => {}
            Err(error) => return Err(format!("what {name} prints cannot be shown: {error}")),
        }
        result
    }

    /// Runs the main lane by [`Gate::one_by_one`] and the other beside it, then writes what that printed.
    fn side_by_side(&self, phase: &Phase, out: &mut impl Write) {
        let outputs = thread::scope(|scope| {
            let beside = thread::Builder::new()
                .name("gate-side".to_owned())
                .spawn_scoped(scope, || self.keep(phase.side))
                .expect("a gate may start a thread");
            self.one_by_one(phase.main);
            beside.join().expect("the side lane answers failures and does not panic")
        });
        for (file, begun, ended) in outputs {
            // What was printed may be no UTF-8, so that it is passed on as it is.
            let copied = writeln!(out, "{begun}")
                .and_then(|()| io::copy(&mut File::open(&file)?, out))
                .and_then(|_| writeln!(out, "{ended}"));
            if let Err(error) = copied {
                self.failed(format!("{} cannot be shown: {error}", file.display()));
            }
        }
    }

    /// Runs `steps`, and keeps what each prints: answers the file, and the lines before and after it.
    fn keep(&self, steps: &[Step]) -> Vec<(PathBuf, String, String)> {
        let mut outputs = Vec::new();
        for step in steps {
            if self.has_failed() {
                break;
            }
            let path = self.logs.join(format!("{}.txt", step.name.replace([' ', ','], "-")));
            let mut command = self.command(step);
            command.env("CARGO_BUILD_JOBS", SIDE_JOBS);
            // Both into one file, so that they stay in the order in which they were printed.
            let file = File::create(&path).and_then(|file| Ok((file.try_clone()?, file)));
            let result = match file {
                Ok((output, errors)) => self.timed(step, || succeed(command.stdout(output).stderr(errors))),
                Err(error) => Err(self.failed(format!("{} failed: {error}", step.name))),
            };
            if let Err(line) = &result {
                println!("{line}, beside this; what it printed follows");
                if let Ok(failures) = File::open(&path).and_then(|file| Failures::read(file, &mut io::sink()))
                {
                    self.test_failures().add(failures);
                }
            }
            let (Ok(line) | Err(line)) = result;
            outputs.push((path, beginning(step), line));
        }
        outputs
    }

    fn command(&self, step: &Step) -> Command {
        let (program, arguments) = match step.arguments {
            ["xtask", arguments @ ..] => (self.chores.as_path(), arguments),
            arguments => (Path::new("cargo"), arguments),
        };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.root);
        command.env(skips::FILE, &self.skips).env("TMPDIR", &self.temporary);
        command.envs(step.environment.iter().copied());
        command
    }

    /// Runs a step by `run`. Answers the line that says how long it took, or why it failed.
    fn timed(&self, step: &Step, run: impl FnOnce() -> Result<(), String>) -> Result<String, String> {
        let begun = now();
        match run() {
            Ok(()) => Ok(format!("== {} took {}", step.name, minutes(now() - begun))),
            Err(problem) => Err(self.failed(format!("{} failed: {problem}", step.name))),
        }
    }

    /// Notes a failure, and answers the line that says it.
    fn failed(&self, failure: String) -> String {
        let line = format!("== {failure}");
        self.failures().push(failure);
        line
    }

    fn has_failed(&self) -> bool {
        !self.failures().is_empty()
    }

    fn failures(&self) -> MutexGuard<'_, Vec<String>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn test_failures(&self) -> MutexGuard<'_, Failures> {
        self.test_failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.skips);
        // What is in it says why something failed.
        let _ = fs::remove_dir(&self.temporary);
    }
}

/// Makes a folder for temporary files, which every user may use as the usual one. Its path is short, because
/// sockets lie in it.
fn temporary_folder(number: &str) -> Result<PathBuf, String> {
    let folder = std::env::temp_dir().join(format!("gate-{number}"));
    let describe = |error: io::Error| format!("{} cannot be made: {error}", folder.display());
    // What is there is left of an old gate, of a process with this number.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).map_err(describe)?;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o1777)).map_err(describe)?;
    Ok(folder)
}

fn last_line(count: usize, time: Duration, left_out: &[String]) -> String {
    let passed = format!("== all {count} steps passed in {}", minutes(time));
    if left_out.is_empty() { passed } else { format!("{passed}; left out: {}", left_out.join("; ")) }
}

fn beginning(step: &Step) -> String {
    format!("== {}: cargo {}", step.name, step.arguments.join(" "))
}

fn minutes(time: Duration) -> String {
    format!("{} min {:02} s", time.as_secs() / 60, time.as_secs() % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::LIBRARIES;

    #[test]
    fn what_the_tests_leave_out_is_what_is_tested_as_packages() {
        let tests = CHECKS.iter().find(|step| step.arguments.first() == Some(&"test"));
        let excluded: Vec<&str> = tests
            .into_iter()
            .flat_map(|step| step.arguments)
            .filter_map(|argument| argument.strip_prefix("--exclude="))
            .collect();
        assert_eq!(excluded, LIBRARIES);
        assert!(BUILDS.iter().any(|step| step.arguments == ["xtask", "publish"]));
    }

    const GOOD: Step = step("good, as it is", &["--version"]);
    const BAD: Step = step("bad", &["no-such-chore"]);

    fn gate() -> Gate {
        Gate::new(&crate::tidy::workspace_root()).expect("the folder of the workspace can be written")
    }

    #[test]
    fn what_a_step_of_the_side_prints_comes_whole_between_its_lines() {
        let (gate, mut out) = (gate(), Vec::new());
        gate.side_by_side(&Phase { main: &[GOOD], side: &[GOOD, GOOD] }, &mut out);
        let out = String::from_utf8(out).expect("cargo tells its version in UTF-8");
        let starts: Vec<&str> = out.lines().map(|line| line.split(' ').next().unwrap_or("")).collect();
        assert_eq!(starts, ["==", "cargo", "==", "==", "cargo", "=="], "{out}");
        assert!(out.starts_with("== good, as it is: cargo --version\n"), "{out}");
        assert!(gate.failures().is_empty());
    }

    #[test]
    fn a_failure_of_the_side_fails_the_gate_with_its_output_and_ends_its_lane() {
        let (gate, mut out) = (gate(), Vec::new());
        gate.side_by_side(&Phase { main: &[], side: &[BAD, GOOD] }, &mut out);
        let out = String::from_utf8(out).expect("cargo complains in UTF-8");
        assert_eq!(gate.failures().len(), 1);
        assert!(gate.failures()[0].starts_with("bad failed: cargo ended with"), "{:?}", gate.failures());
        assert!(out.contains("no such command"), "{out}");
        assert!(!out.contains("good"), "{out}");
    }

    #[test]
    fn what_tests_said_is_kept_of_a_command_that_failed_only() {
        let gate = gate();
        let run = |end: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", &format!("printf 'failures:\\nwhy %s\\n' {end}; {end}")]);
            gate.passed_on(command)
        };
        assert_eq!(run("true"), Ok(()));
        assert_eq!(run("false"), Err("sh ended with exit status: 1".to_owned()));
        assert_eq!(gate.test_failures().lines().collect::<Vec<_>>(), ["failures:", "why false"]);
    }

    #[test]
    fn the_last_line_says_what_was_left_out() {
        let time = Duration::from_secs(61);
        assert_eq!(last_line(3, time, &[]), "== all 3 steps passed in 1 min 01 s");
        let left_out = ["a: not there".to_owned(), "b: offline".to_owned()];
        let line = last_line(3, time, &left_out);
        assert_eq!(line, "== all 3 steps passed in 1 min 01 s; left out: a: not there; b: offline");
    }

    #[test]
    fn a_temporary_file_that_tests_leave_fails_the_gate_and_goes() {
        let gate = gate();
        gate.end_temporary();
        assert!(gate.failures().is_empty());
        let other = self::gate();
        fs::write(other.temporary.join("left"), "").expect("the folder is ours");
        other.end_temporary();
        assert_eq!(*other.failures(), ["tests left temporary files: left"]);
        assert!(!other.temporary.exists());
    }

    #[test]
    fn nothing_begins_after_a_failure() {
        let (gate, mut out) = (gate(), Vec::new());
        gate.one_by_one(&[BAD, BAD]);
        gate.side_by_side(&Phase { main: &[BAD], side: &[BAD] }, &mut out);
        assert_eq!(gate.failures().len(), 1);
        assert!(out.is_empty());
    }
}
