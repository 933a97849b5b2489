//! The crates that programs have beside ours: cargo finds versions for all, and programs compile and run.
//!
//! ```text
//!   a row with crates   ->  target/beside/NAME  ->  cargo generate-lockfile
//!   a row of a folder   ->  examples/programs/NAME  ->  cargo build, of all  ->  it runs, and looks at what it did
//! ```
//!
//! Only one crate of a program may link SQLite. So `mainspring-store` takes a range of rusqlite, and cargo
//! picks from it what links the same SQLite as the program's other crates. A row shows that there is such a
//! pick. The programs of the folder share one choice, at the lower end of our range.
//!
//! A row `on-postgres` has jobs without the feature `sqlite`: SQLite is not among its crates, and the program
//! may link one that is out of our range.
//!
//! Those for PostgreSQL run on one of their own. One is a page in WebAssembly, which node runs. One is for a
//! Raspberry Pi: it runs here, and is checked for its processors.
//!
//! Cost: seconds for each row, which asks the registry; eight minutes of a processor for those of the folder.
//! Each of these runs for three seconds at most.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::program::{cargo, is_there, succeed};
use crate::{skips, targets, tools};

#[path = "../../crates/mainspring-postgres/tests/database.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "the tests of the store use the rest; it is a test's")]
mod database;

/// What is done with a program.
#[derive(Clone, Copy)]
enum Trial {
    /// Cargo finds versions for it. How it has `mainspring-embed`, and what else it depends on: the words of
    /// a [`dependency`].
    Resolves(&'static str, &'static str),
    /// The same of a program that depends on nothing else, which has none of these crates.
    Lacks(&'static str, &'static [&'static str]),
    /// It is one of the folder, and runs: the arguments of each time, behind the name of an empty folder of
    /// its own.
    Runs(&'static [&'static [&'static str]]),
    /// The same, and it is checked for these targets.
    RunsAlsoOn(&'static [&'static str], &'static [&'static [&'static str]]),
    /// The same with an empty database, whose URL is in the environment.
    RunsOnPostgres,
    /// The same in WebAssembly, by a script of its own for node.
    RunsInNode,
}

use Trial::{Lacks, Resolves, Runs, RunsAlsoOn, RunsInNode, RunsOnPostgres};

/// Jobs in a folder: as `mainspring-embed` is unless told.
const FOLDER: &str = "";

/// Jobs in a database: SQLite is left to the program's other crates.
const DATABASE: &str = r#", default-features = false, features = ["postgres"]"#;

/// Jobs in either.
const BOTH: &str = r#", features = ["postgres"]"#;

/// What programs are that touch SQLite, PostgreSQL or time.
const PROGRAMS: [(&str, Trial); 35] = [
    // A version that is not named is the newest.
    ("nothing-on-postgres", Lacks(DATABASE, &["libsqlite3-sys", "rusqlite", "mainspring-store"])),
    ("rusqlite-0-29-on-postgres", Resolves(DATABASE, "rusqlite 0.29 bundled")),
    ("rusqlite-0-37-on-postgres", Resolves(DATABASE, "rusqlite 0.37 bundled")),
    ("rusqlite-0-40-on-postgres", Resolves(DATABASE, "rusqlite 0.40 bundled")),
    ("diesel-sqlite-on-postgres", Resolves(DATABASE, "diesel 2 sqlite")),
    ("sqlx-0-8-on-postgres", Resolves(DATABASE, "sqlx 0.8 postgres sqlite runtime-tokio")),
    ("sqlx-0-9-on-postgres", Resolves(DATABASE, "sqlx 0.9 postgres sqlite runtime-tokio")),
    ("rusqlite-0-32", Resolves(FOLDER, "rusqlite 0.32 bundled")),
    ("rusqlite-0-37", Resolves(FOLDER, "rusqlite 0.37 bundled")),
    ("rusqlite-0-40", Resolves(FOLDER, "rusqlite 0.40 bundled")),
    ("rusqlite", Resolves(FOLDER, "rusqlite * bundled")),
    ("sqlx-0-8-postgres", Resolves(BOTH, "sqlx 0.8 postgres runtime-tokio")),
    ("sqlx-0-8-sqlite", Resolves(FOLDER, "sqlx 0.8 sqlite runtime-tokio")),
    ("sqlx-0-9", Resolves(BOTH, "sqlx 0.9 postgres sqlite runtime-tokio")),
    ("diesel-sqlite", Resolves(FOLDER, "diesel 2 sqlite")),
    ("diesel-postgres", Resolves(BOTH, "diesel 2 postgres")),
    ("sea-orm", Resolves(FOLDER, "sea-orm 1 sqlx-sqlite runtime-tokio-rustls")),
    ("tokio-rusqlite", Resolves(FOLDER, "tokio-rusqlite *")),
    ("r2d2-sqlite", Resolves(FOLDER, "r2d2_sqlite *")),
    ("deadpool-sqlite", Resolves(FOLDER, "deadpool-sqlite *")),
    ("deadpool-postgres", Resolves(BOTH, "deadpool-postgres *")),
    ("actix-diesel", Runs(&[&[]])),
    ("axum-sqlx", RunsOnPostgres),
    ("axum-timeouts", Runs(&[&[]])),
    ("browser-page", RunsInNode),
    ("channel-batches", Runs(&[&[]])),
    ("command-line-rusqlite", Runs(&[&["add", "tea"], &["add", "milk"], &["run"]])),
    (DIESEL, RunsOnPostgres),
    ("game-loop", Runs(&[&[]])),
    (
        "raspberry-pi",
        RunsAlsoOn(&["aarch64-unknown-linux-gnu", "armv7-unknown-linux-gnueabihf"], &[&["rehearse"]]),
    ),
    ("sea-orm-outbox", Runs(&[&[]])),
    ("smol-monitor", Runs(&[&[]])),
    ("sqlx-sqlite-newsletter", Runs(&[&[]])),
    ("tokio-postgres-orders", RunsOnPostgres),
    ("tokio-server", Runs(&[&[]])),
];

/// What links libpq.
const DIESEL: &str = "diesel-postgres-orders";

/// The target of a page in a browser.
const BROWSER: &str = "wasm32-unknown-unknown";

/// How many seconds a program may run: what only a hang reaches.
const SECONDS_MAX: &str = "120";

/// Checks every row, for the workspace in `root`.
///
/// # Errors
/// What went wrong, in a sentence.
pub fn run(root: &Path) -> Result<(), String> {
    let folder = root.join("target/beside");
    let names: BTreeSet<&str> = PROGRAMS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.len(), PROGRAMS.len(), "a row has a folder of its own");
    for (name, trial) in PROGRAMS {
        let (features, other) = match trial {
            Resolves(features, other) => (features, dependency(other)),
            Lacks(features, _) => (features, String::new()),
            _ => continue,
        };
        let place = folder.join(name);
        write(&place, name, features, &other)
            .map_err(|error| format!("{} cannot be written: {error}", place.display()))?;
        resolve(&place, name)?;
        if let Lacks(_, names) = trial {
            lacks(&place, name, names)?;
        }
    }
    let programs = root.join("examples/programs");
    resolve(&programs, "the programs of the folder")?;
    let mut build = compile(&programs, "build", &folder);
    build.arg("--workspace");
    if !tools::has_libpq() {
        build.args(["--exclude", DIESEL]);
    }
    succeed(&mut build)?;
    let data = std::env::temp_dir().join(format!("mainspring-programs-{}", std::process::id()));
    let ran = PROGRAMS.iter().try_for_each(|(name, trial)| {
        run_one(root, name, *trial, &data.join(name)).map_err(|problem| format!("{name}: {problem}"))
    });
    let _ = fs::remove_dir_all(data);
    ran?;
    println!("{} programs resolve beside mainspring-embed, and those of the folder run", PROGRAMS.len());
    Ok(())
}

/// Runs a program of the folder, where its row says how.
fn run_one(root: &Path, name: &str, trial: Trial, data: &Path) -> Result<(), String> {
    let (programs, folder) = (root.join("examples/programs"), root.join("target/beside"));
    let program = || {
        let mut run = Command::new("timeout");
        run.arg(SECONDS_MAX).arg(folder.join("target/debug").join(name)).arg(data);
        run
    };
    match trial {
        Resolves(..) | Lacks(..) => Ok(()),
        Runs(times) => times.iter().try_for_each(|arguments| succeed(program().args(*arguments))),
        RunsAlsoOn(names, times) => {
            run_one(root, name, Runs(times), data)?;
            if let Err(problem) = targets::install(names) {
                return skips::skip(targets::OMISSION, &problem);
            }
            let mut check = compile(&programs, "check", &folder);
            succeed(check.args(["-p", name]).args(names.iter().flat_map(|name| ["--target", name])))
        }
        RunsOnPostgres if name == DIESEL && !tools::has_libpq() => {
            skips::skip(name, "libpq-dev is not installed")
        }
        RunsOnPostgres => {
            let Some(database) = database::Database::start() else {
                return skips::skip(name, "PostgreSQL is not installed");
            };
            let url = format!("postgres:///mainspring?{}", database.url().replace(' ', "&"));
            succeed(program().env("DATABASE_URL", url))
        }
        RunsInNode => {
            if !is_there("node") {
                return skips::skip(name, "node is not installed");
            }
            if let Err(problem) = targets::install(&[BROWSER]) {
                return skips::skip(targets::OMISSION, &problem);
            }
            succeed(compile(&programs, "build", &folder).args(["-p", name, "--target", BROWSER]))?;
            let page = format!("target/{BROWSER}/debug/{}.wasm", name.replace('-', "_"));
            let mut node = Command::new("timeout");
            node.args([SECONDS_MAX, "node"]).arg(programs.join(name).join("run.mjs"));
            succeed(node.arg(folder.join(page)))
        }
    }
}

/// Finds versions again: an old choice would hide that there is no other.
fn resolve(place: &Path, name: &str) -> Result<(), String> {
    let _ = fs::remove_file(place.join("Cargo.lock"));
    let describe =
        |problem| format!("no versions of what {name} has and of mainspring-embed go together: {problem}");
    succeed(&mut cargo(place, &["generate-lockfile", "--quiet"])).map_err(describe)
}

/// Looks for crates in what was found.
fn lacks(place: &Path, name: &str, crates: &[&str]) -> Result<(), String> {
    let lock = fs::read_to_string(place.join("Cargo.lock")).map_err(|error| error.to_string())?;
    match crates.iter().find(|found| lock.contains(&format!("name = \"{found}\"\n"))) {
        Some(found) => Err(format!("{name} has {found}, which it did not ask for")),
        None => Ok(()),
    }
}

/// A command that compiles into a folder that all rows share.
fn compile(place: &Path, command: &str, folder: &Path) -> Command {
    let mut cargo = cargo(place, &[command, "--quiet"]);
    // Our crates are paths here, so that what this choice of features leaves unused is told.
    cargo.env("CARGO_TARGET_DIR", folder.join("target")).env("RUSTFLAGS", "-D warnings");
    cargo
}

/// A line of a manifest: a crate, its version and its features, as words.
fn dependency(words: &str) -> String {
    let mut words = words.split(' ');
    let (name, version) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    format!("{name} = {{ version = {version:?}, features = {:?} }}", words.collect::<Vec<_>>())
}

fn write(place: &Path, name: &str, features: &str, other: &str) -> std::io::Result<()> {
    fs::create_dir_all(place)?;
    fs::write(place.join("lib.rs"), "")?;
    let text = format!(
        "[package]\nname = \"beside-{name}\"\nedition = \"2024\"\n\n[lib]\npath = \"lib.rs\"\n\n[workspace]\n\n[dependencies]\n\
         mainspring-embed = {{ path = \"../../../crates/mainspring-embed\"{features} }}\n{other}\n"
    );
    fs::write(place.join("Cargo.toml"), text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::workspace_root;

    #[test]
    fn words_are_a_dependency() {
        let line = r#"sqlx = { version = "0.8", features = ["sqlite", "runtime-tokio"] }"#;
        assert_eq!(dependency("sqlx 0.8 sqlite runtime-tokio"), line);
        assert_eq!(dependency("r2d2_sqlite *"), r#"r2d2_sqlite = { version = "*", features = [] }"#);
    }

    #[test]
    fn each_program_of_the_folder_runs() {
        let folder =
            fs::read_dir(workspace_root().join("examples/programs")).expect("the folder is committed");
        let names = folder.flatten().filter(|entry| entry.path().join("Cargo.toml").is_file());
        let mut names: Vec<String> =
            names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort_unstable();
        let is_run = |trial: &Trial| !matches!(trial, Resolves(..) | Lacks(..));
        let rows = PROGRAMS.iter().filter(|(_, trial)| is_run(trial)).map(|(name, _)| *name);
        assert_eq!(rows.collect::<Vec<_>>(), names);
    }
}
