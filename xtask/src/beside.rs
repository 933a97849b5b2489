//! The crates that programs have beside ours: cargo finds versions for all of them, and they compile.
//!
//! ```text
//!   a row of MANIFESTS  ->  target/beside/NAME/Cargo.toml  ->  cargo generate-lockfile
//!                                                          ->  cargo check, for those of BUILT
//! ```
//!
//! Only one crate of a program may link SQLite. So `mainspring-store` takes a range of rusqlite, and cargo
//! picks from it what links the same SQLite as the program's other crates. A row shows that there is such a
//! pick.
//!
//! Cost: seconds for each row, which asks the registry, and a minute and a half for each program that is
//! compiled. It runs none of them.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::program::{conclude, succeed};

/// A program's name, the features of `mainspring-embed` that it takes, and what else it depends on.
type Manifest = (&'static str, &'static str, &'static str);

/// What programs have that touch SQLite or PostgreSQL. A version that is not named is the newest.
const MANIFESTS: [Manifest; 14] = [
    ("rusqlite-0-32", "", r#"rusqlite = { version = "0.32", features = ["bundled"] }"#),
    ("rusqlite-0-37", "", r#"rusqlite = { version = "0.37", features = ["bundled"] }"#),
    ("rusqlite-0-40", "", r#"rusqlite = { version = "0.40", features = ["bundled"] }"#),
    ("rusqlite", "", r#"rusqlite = { version = "*", features = ["bundled"] }"#),
    (
        "sqlx-0-8-postgres",
        "postgres",
        r#"sqlx = { version = "0.8", features = ["postgres", "runtime-tokio"] }"#,
    ),
    ("sqlx-0-8-sqlite", "", r#"sqlx = { version = "0.8", features = ["sqlite", "runtime-tokio"] }"#),
    (
        "sqlx-0-9",
        "postgres",
        r#"sqlx = { version = "0.9", features = ["postgres", "sqlite", "runtime-tokio"] }"#,
    ),
    ("diesel-sqlite", "", r#"diesel = { version = "2", features = ["sqlite"] }"#),
    ("diesel-postgres", "postgres", r#"diesel = { version = "2", features = ["postgres"] }"#),
    ("sea-orm", "", r#"sea-orm = { version = "1", features = ["sqlx-sqlite", "runtime-tokio-rustls"] }"#),
    ("tokio-rusqlite", "", r#"tokio-rusqlite = "*""#),
    ("r2d2-sqlite", "", r#"r2d2_sqlite = "*""#),
    ("deadpool-sqlite", "", r#"deadpool-sqlite = "*""#),
    ("deadpool-postgres", "postgres", r#"deadpool-postgres = "*""#),
];

/// The programs that are compiled: both pick an old SQLite, one of them at the lower end of our range.
const BUILT: [&str; 2] = ["rusqlite-0-37", "sqlx-0-8-sqlite"];

/// Checks every row, for the workspace in `root`.
pub fn run(root: &Path) -> ExitCode {
    conclude(check(root))
}

fn check(root: &Path) -> Result<(), String> {
    let folder = root.join("target/beside");
    for manifest in MANIFESTS {
        let name = manifest.0;
        let place = folder.join(name);
        write(&place, &manifest)
            .map_err(|error| format!("{} cannot be written: {error}", place.display()))?;
        // An old choice would hide that there is no other.
        let _ = fs::remove_file(place.join("Cargo.lock"));
        let told = |problem| {
            format!("no versions of what {name} has and of mainspring-embed go together: {problem}")
        };
        succeed(&mut cargo(&place, "generate-lockfile")).map_err(told)?;
        if BUILT.contains(&name) {
            // Our crates are paths here, so that what this choice of features leaves unused is told.
            let mut check = cargo(&place, "check");
            succeed(check.env("CARGO_TARGET_DIR", folder.join("target")).env("RUSTFLAGS", "-D warnings"))?;
        }
    }
    println!(
        "{} programs resolve beside mainspring-embed, and {} of them compile",
        MANIFESTS.len(),
        BUILT.len()
    );
    Ok(())
}

fn cargo(place: &Path, command: &str) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args([command, "--quiet"]).current_dir(place);
    cargo
}

fn write(place: &Path, (name, features, others): &Manifest) -> std::io::Result<()> {
    fs::create_dir_all(place)?;
    fs::write(place.join("lib.rs"), "")?;
    let features = if features.is_empty() { String::new() } else { format!("\"{features}\"") };
    let text = format!(
        "[package]\nname = \"beside-{name}\"\nedition = \"2024\"\n\n[lib]\npath = \"lib.rs\"\n\n[workspace]\n\n[dependencies]\n\
         mainspring-embed = {{ path = \"../../../crates/mainspring-embed\", features = [{features}] }}\n{others}\n"
    );
    fs::write(place.join("Cargo.toml"), text)
}
