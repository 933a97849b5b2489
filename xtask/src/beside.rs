//! The crates that programs have beside ours: cargo finds versions for all, and programs compile and run.
//!
//! ```text
//!   a row with crates   ->  target/beside/NAME  ->  cargo generate-lockfile  ->  cargo check, where it says so
//!   a row of a folder   ->  examples/programs/NAME  ->  cargo build, of all  ->  it runs, where it says so
//! ```
//!
//! Only one crate of a program may link SQLite. So `mainspring-store` takes a range of rusqlite, and cargo
//! picks from it what links the same SQLite as the program's other crates. A row shows that there is such a
//! pick. The programs of the folder share one choice, at the lower end of our range.
//!
//! Cost: seconds for each row, which asks the registry; a minute of a processor for the program that is
//! checked, and five for those of the folder. Each of these runs for three seconds at most.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::program::{conclude, succeed};

/// What is done with a program.
#[derive(Clone, Copy)]
enum Trial {
    /// Cargo finds versions for it. Its features of `mainspring-embed`, and what else it depends on.
    Resolves(&'static str, &'static str),
    /// The same, and it is checked.
    Checks(&'static str, &'static str),
    /// It is one of the folder, and is built.
    Builds,
    /// The same, and it runs: the arguments of each time, behind the name of an empty folder of its own.
    Runs(&'static [&'static [&'static str]]),
}

use Trial::{Builds, Checks, Resolves, Runs};

/// What programs are that touch SQLite, PostgreSQL or time.
const PROGRAMS: [(&str, Trial); 20] = [
    // A version that is not named is the newest.
    ("rusqlite-0-32", Resolves("", r#"rusqlite = { version = "0.32", features = ["bundled"] }"#)),
    ("rusqlite-0-37", Checks("", r#"rusqlite = { version = "0.37", features = ["bundled"] }"#)),
    ("rusqlite-0-40", Resolves("", r#"rusqlite = { version = "0.40", features = ["bundled"] }"#)),
    ("rusqlite", Resolves("", r#"rusqlite = { version = "*", features = ["bundled"] }"#)),
    (
        "sqlx-0-8-postgres",
        Resolves("postgres", r#"sqlx = { version = "0.8", features = ["postgres", "runtime-tokio"] }"#),
    ),
    (
        "sqlx-0-8-sqlite",
        Resolves("", r#"sqlx = { version = "0.8", features = ["sqlite", "runtime-tokio"] }"#),
    ),
    (
        "sqlx-0-9",
        Resolves(
            "postgres",
            r#"sqlx = { version = "0.9", features = ["postgres", "sqlite", "runtime-tokio"] }"#,
        ),
    ),
    ("diesel-sqlite", Resolves("", r#"diesel = { version = "2", features = ["sqlite"] }"#)),
    ("diesel-postgres", Resolves("postgres", r#"diesel = { version = "2", features = ["postgres"] }"#)),
    (
        "sea-orm",
        Resolves("", r#"sea-orm = { version = "1", features = ["sqlx-sqlite", "runtime-tokio-rustls"] }"#),
    ),
    ("tokio-rusqlite", Resolves("", r#"tokio-rusqlite = "*""#)),
    ("r2d2-sqlite", Resolves("", r#"r2d2_sqlite = "*""#)),
    ("deadpool-sqlite", Resolves("", r#"deadpool-sqlite = "*""#)),
    ("deadpool-postgres", Resolves("postgres", r#"deadpool-postgres = "*""#)),
    // What a database of a server is needed for is not run.
    ("axum-sqlx", Builds),
    ("actix-diesel", Runs(&[&[]])),
    ("command-line-rusqlite", Runs(&[&["add", "tea"], &["add", "milk"], &["run"]])),
    ("game-loop", Runs(&[&[]])),
    ("sea-orm-outbox", Runs(&[&[]])),
    ("tokio-server", Runs(&[&[]])),
];

/// How many seconds a program may run: what only a hang reaches.
const SECONDS_MAX: &str = "120";

/// Checks every row, for the workspace in `root`.
pub fn run(root: &Path) -> ExitCode {
    conclude(check(root))
}

fn check(root: &Path) -> Result<(), String> {
    let folder = root.join("target/beside");
    for (name, trial) in PROGRAMS {
        let (Resolves(features, others) | Checks(features, others)) = trial else { continue };
        let place = folder.join(name);
        write(&place, name, features, others)
            .map_err(|error| format!("{} cannot be written: {error}", place.display()))?;
        resolve(&place, name)?;
        if let Checks(..) = trial {
            succeed(&mut compile(&place, "check", &folder))?;
        }
    }
    let programs = root.join("examples/programs");
    resolve(&programs, "the programs of the folder")?;
    succeed(compile(&programs, "build", &folder).arg("--workspace"))?;
    let data = std::env::temp_dir().join(format!("mainspring-programs-{}", std::process::id()));
    let ran = run_all(&folder.join("target/debug"), &data);
    let _ = fs::remove_dir_all(data);
    println!("{} programs resolve beside mainspring-embed; {} of them run", PROGRAMS.len(), ran?);
    Ok(())
}

/// Finds versions anew: an old choice would hide that there is no other.
fn resolve(place: &Path, name: &str) -> Result<(), String> {
    let _ = fs::remove_file(place.join("Cargo.lock"));
    let told =
        |problem| format!("no versions of what {name} has and of mainspring-embed go together: {problem}");
    succeed(&mut cargo(place, "generate-lockfile")).map_err(told)
}

/// A command that compiles into a folder that all rows share.
fn compile(place: &Path, command: &str, folder: &Path) -> Command {
    let mut cargo = cargo(place, command);
    // Our crates are paths here, so that what this choice of features leaves unused is told.
    cargo.env("CARGO_TARGET_DIR", folder.join("target")).env("RUSTFLAGS", "-D warnings");
    cargo
}

/// Runs the programs of the folder that need no server, and says how many there are.
fn run_all(built: &Path, data: &Path) -> Result<usize, String> {
    let mut count = 0;
    for (name, trial) in PROGRAMS {
        let Runs(times) = trial else { continue };
        for arguments in times {
            let mut run = Command::new("timeout");
            succeed(run.arg(SECONDS_MAX).arg(built.join(name)).arg(data.join(name)).args(*arguments))?;
        }
        count += 1;
    }
    Ok(count)
}

fn cargo(place: &Path, command: &str) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args([command, "--quiet"]).current_dir(place);
    cargo
}

fn write(place: &Path, name: &str, features: &str, others: &str) -> std::io::Result<()> {
    fs::create_dir_all(place)?;
    fs::write(place.join("lib.rs"), "")?;
    let features = if features.is_empty() { String::new() } else { format!("\"{features}\"") };
    let text = format!(
        "[package]\nname = \"beside-{name}\"\nedition = \"2024\"\n\n[lib]\npath = \"lib.rs\"\n\n[workspace]\n\n[dependencies]\n\
         mainspring-embed = {{ path = \"../../../crates/mainspring-embed\", features = [{features}] }}\n{others}\n"
    );
    fs::write(place.join("Cargo.toml"), text)
}
