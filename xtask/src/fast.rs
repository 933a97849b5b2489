//! The checks of what a change touches, within two minutes.
//!
//! ```text
//!  git: files changed since the branch left main, or on main by the last commit and since, or since COMMIT
//!    ──▶ the crates they lie in ──▶ the crates that depend on those, nearest first
//!  1. formatting, tidy, clippy of all targets: what the change does not reach is not compiled again
//!  2. tests, as far as they fit: of the changed crates, unit tests first, then of the crates above
//! ```
//!
//! What a binary of tests takes is kept in `target/fast.txt`, with its build. One that would end after
//! `BUDGET` by that is left out, and the last lines say which command runs it. One that has not run yet
//! begins within `UNKNOWN`.
//!
//! Cost: up to two minutes, but for the first time on a machine, which builds what lies below.
//!
//! It does not run examples in documentation, the page's tests and the other steps of the gate.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::ci::{CLIPPY, FORMATTING, WAITING};
use crate::program::{cargo, now, output, packages, succeed};
use crate::tidy;

/// All of it ends within this time, if the tests take as long as they did the last time.
const BUDGET: Duration = Duration::from_secs(115);

/// Within this time tests begin that have not run yet.
const UNKNOWN: Duration = Duration::from_secs(45);

const _: () = assert!(UNKNOWN.as_secs() < BUDGET.as_secs());

/// How long each binary of tests took the last time.
const TIMES: &str = "target/fast.txt";

/// A crate of the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Member {
    /// Its folder, from the root of the workspace.
    folder: String,
    /// The names of the members that it depends on, in tests too.
    needs: BTreeSet<String>,
    /// What cargo is told to test in it, one binary each: its unit tests first.
    binaries: Vec<String>,
}

/// One binary of tests.
type Binary<'a> = (&'a str, &'a str);

/// Checks what is changed in `root` since this commit, or since the usual one.
///
/// # Errors
/// What went wrong, in a sentence.
pub fn run(root: &Path, base: Option<&str>) -> Result<(), String> {
    let begun = now();
    let members = members(root)?;
    let (base, files) = changed_files(root, base)?;
    let (changed, outside) = touched(&members, &files);
    let above = above(&members, &changed);
    assert!(!members.is_empty(), "a check of nothing is green");
    debug_assert!(above.iter().all(|name| !changed.contains(name)), "a crate is tested once");
    println!("== {} files changed since {base}", files.len());
    println!("== changed: {}; depend on it: {}", list(&changed), list(&above));
    for (name, arguments) in [("formatting", FORMATTING), ("clippy", CLIPPY)] {
        let began = now();
        succeed(cargo(root, arguments).env("CARGO_TERM_QUIET", "true"))?;
        println!("== {name} took {} s", (now() - began).as_secs());
    }
    let findings = tidy::check(root);
    findings.iter().for_each(|finding| println!("{finding}"));
    if !findings.is_empty() {
        return Err(format!("{} findings of tidy", findings.len()));
    }
    let (ran_count, left_out) = test(root, begun, &order(&members, &changed, &above))?;
    println!("== passed in {} s, {ran_count} binaries of tests among it", (now() - begun).as_secs());
    for (package, binary) in left_out {
        println!("== left out: cargo test -p {package} --all-features {binary}");
    }
    if !outside.is_empty() {
        println!("== not looked at, because it lies in no crate: {}", outside.join(", "));
    }
    println!("== left out besides: examples in documentation and all other steps of cargo xtask ci");
    Ok(())
}

/// Runs the tests that fit. Answers how many did, and the rest.
fn test<'a>(root: &Path, begun: Instant, order: &[Binary<'a>]) -> Result<(usize, Vec<Binary<'a>>), String> {
    let path = root.join(TIMES);
    let mut times = read_times(&fs::read_to_string(&path).unwrap_or_default());
    let mut left_out = Vec::new();
    for &(package, binary) in order {
        let key = format!("{package} {binary}");
        if !fits(now() - begun, times.get(&key).copied()) {
            left_out.push((package, binary));
            continue;
        }
        println!("== cargo test -p {package} --all-features {binary}");
        let began = now();
        let mut test = cargo(root, &["test", "--quiet", "-p", package, "--all-features"]);
        succeed(test.args(binary.split(' ')).env("RUST_TEST_THREADS", WAITING))?;
        times.insert(key, (now() - began).as_secs());
        let text: String = times.iter().map(|(key, seconds)| format!("{key} {seconds}\n")).collect();
        fs::write(&path, text).map_err(|error| format!("{TIMES}: {error}"))?;
    }
    Ok((order.len() - left_out.len(), left_out))
}

/// Whether tests that took so many seconds the last time may begin after `spent`.
fn fits(spent: Duration, seconds: Option<u64>) -> bool {
    seconds.map_or(spent < UNKNOWN, |seconds| spent + Duration::from_secs(seconds) < BUDGET)
}

fn read_times(text: &str) -> BTreeMap<String, u64> {
    let times = text.lines().filter_map(|line| line.rsplit_once(' '));
    times.filter_map(|(key, seconds)| Some((key.to_owned(), seconds.parse().ok()?))).collect()
}

/// The binaries of tests: of what is changed, unit tests first, then of what lies above.
fn order<'a>(members: &'a BTreeMap<String, Member>, changed: &[String], above: &[String]) -> Vec<Binary<'a>> {
    let of = |name: &String| {
        let (name, member) = members.get_key_value(name)?;
        Some(member.binaries.iter().map(|binary| (name.as_str(), binary.as_str())))
    };
    let mut changed: Vec<_> = changed.iter().filter_map(of).flat_map(Iterator::enumerate).collect();
    changed.sort_by_key(|(rank, _)| *rank);
    changed.into_iter().map(|(_, binary)| binary).chain(above.iter().filter_map(of).flatten()).collect()
}

/// The members that these files lie in, and the files that lie in none.
fn touched(members: &BTreeMap<String, Member>, files: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut changed, mut outside) = (BTreeSet::new(), Vec::new());
    for file in files {
        let is_in =
            |member: &Member| file.strip_prefix(&member.folder).is_some_and(|rest| rest.starts_with('/'));
        match members.iter().find(|(_, member)| is_in(member)) {
            Some((name, _)) => _ = changed.insert(name.clone()),
            None => outside.push(file.clone()),
        }
    }
    (changed.into_iter().collect(), outside)
}

/// The members that depend on one of `changed`, the nearest first.
fn above(members: &BTreeMap<String, Member>, changed: &[String]) -> Vec<String> {
    let mut found: Vec<String> = changed.to_vec();
    let mut index = 0;
    while let Some(name) = found.get(index).cloned() {
        let nearer = members.iter().filter(|(_, member)| member.needs.contains(&name));
        for (name, _) in nearer {
            if !found.contains(name) {
                found.push(name.clone());
            }
        }
        index += 1;
    }
    found.split_off(changed.len())
}

/// The members of the workspace by their names, as cargo tells them.
fn members(root: &Path) -> Result<BTreeMap<String, Member>, String> {
    let list = |of: &Value, name: &str| of[name].as_array().cloned().unwrap_or_default();
    let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
    let mut found = BTreeMap::new();
    for package in packages(root)? {
        let manifest = text(&package["manifest_path"]);
        let folder = Path::new(&manifest).parent().and_then(|folder| folder.strip_prefix(root).ok());
        let needs = list(&package, "dependencies");
        let needs = needs.iter().filter(|need| !need["path"].is_null()).map(|need| text(&need["name"]));
        let needs = needs.filter(|need| *need != package["name"]);
        let binary = |target: &Value| match text(&target["kind"][0]).as_str() {
            "lib" => Some("--lib".to_owned()),
            "bin" => Some("--bins".to_owned()),
            "test" => Some(format!("--test {}", text(&target["name"]))),
            _ => None,
        };
        let mut binaries: Vec<String> = list(&package, "targets").iter().filter_map(binary).collect();
        binaries
            .sort_by_key(|binary| ["--lib", "--bins"].iter().position(|first| first == binary).unwrap_or(2));
        binaries.dedup();
        let folder = folder.map(|folder| folder.display().to_string()).unwrap_or_default();
        found.insert(text(&package["name"]), Member { folder, needs: needs.collect(), binaries });
    }
    Ok(found)
}

/// The commit that the change is since, and the files: committed, changed or new.
fn changed_files(root: &Path, base: Option<&str>) -> Result<(String, Vec<String>), String> {
    let git = |arguments: &[&str]| output(root, "git", arguments);
    let base = match base {
        Some(base) => git(&["rev-parse", base])?,
        None => branch_point(git)?,
    };
    let changed = git(&["diff", "--name-only", "--no-renames", &base])?;
    let new = git(&["ls-files", "--others", "--exclude-standard"])?;
    let files = changed.lines().chain(new.lines()).map(str::to_owned).collect();
    Ok((base.chars().take(8).collect(), files))
}

/// Where the branch left main; on main itself the commit before the last one.
fn branch_point(git: impl Fn(&[&str]) -> Result<String, String>) -> Result<String, String> {
    let head = git(&["rev-parse", "HEAD"])?;
    // A clone may have main only as its origin does, and the first commit has none before it.
    let main = ["main", "origin/main"].into_iter().find_map(|main| git(&["merge-base", "HEAD", main]).ok());
    let base = main.filter(|base| *base != head).or_else(|| git(&["rev-parse", "HEAD~1"]).ok());
    Ok(base.unwrap_or(head))
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members() -> BTreeMap<String, Member> {
        let rows: [(&str, &[&str], &[&str]); 4] = [
            ("queue", &[], &["--lib"]),
            ("engine", &["queue"], &["--lib", "--test main"]),
            ("job", &["queue"], &["--lib"]),
            ("server", &["job", "engine"], &["--lib", "--test main"]),
        ];
        let member = |(name, needs, binaries): (&str, &[&str], &[&str])| {
            let text = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
            let needs = text(needs).into_iter().collect();
            (name.to_owned(), Member { folder: format!("crates/{name}"), needs, binaries: text(binaries) })
        };
        rows.map(member).into_iter().collect()
    }

    fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
        texts.map(str::to_owned).to_vec()
    }

    #[test]
    fn a_file_belongs_to_the_crate_whose_folder_it_lies_in() {
        let files =
            texts(["crates/job/src/lib.rs", "crates/jobless/x.rs", "README.md", "crates/job/Cargo.toml"]);
        let (changed, outside) = touched(&members(), &files);
        assert_eq!(changed, ["job"]);
        assert_eq!(outside, ["crates/jobless/x.rs", "README.md"]);
    }

    #[test]
    fn what_depends_on_a_change_comes_after_it_and_the_nearest_first() {
        let members = members();
        let changed = texts(["queue"]);
        let above = above(&members, &changed);
        assert_eq!(above, ["engine", "job", "server"]);
        let order: Vec<String> = order(&members, &changed, &above[..1])
            .iter()
            .map(|(name, what)| format!("{name} {what}"))
            .collect();
        assert_eq!(order, ["queue --lib", "engine --lib", "engine --test main"]);
    }

    #[test]
    fn unit_tests_of_all_changed_crates_come_before_their_integration_tests() {
        let members = members();
        let order = order(&members, &texts(["engine", "server"]), &[]);
        assert_eq!(
            order.iter().map(|(_, what)| *what).collect::<Vec<_>>(),
            ["--lib", "--lib", "--test main", "--test main"]
        );
    }

    #[test]
    fn tests_are_left_out_that_would_end_too_late_by_what_they_took() {
        let seconds = Duration::from_secs;
        assert!(fits(seconds(10), Some(90)));
        assert!(!fits(seconds(30), Some(90)));
        assert!(fits(seconds(30), None));
        assert!(!fits(seconds(60), None));
        assert_eq!(
            read_times("a --lib 3\nb --test main 70\nbad\n"),
            BTreeMap::from([("a --lib".to_owned(), 3), ("b --test main".to_owned(), 70)])
        );
    }

    #[test]
    fn the_crates_of_this_workspace_are_read_with_their_tests() {
        let found = super::members(&tidy::workspace_root()).expect("the workspace is there");
        assert!(found["mainspring-cli"].needs.contains("mainspring-file"));
        assert!(found["mainspring-cli"].binaries.contains(&"--test main".to_owned()));
        assert_eq!(found["xtask"].binaries[0], "--lib");
    }
}
