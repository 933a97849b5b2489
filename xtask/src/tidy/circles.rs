//! Files that import each other in a circle.
//!
//! ```text
//!   a.rs ──> b.rs ──> c.rs        a change of `c` can reach `a`; nothing comes back: a floor below a floor
//!     ^                 |
//!     └─────────────────┘         none of the three can be read, moved or tested without the others
//! ```
//!
//! An arrow goes from a file to the file that defines what it names, through any re-export on the way. A
//! re-export is no arrow of its own, and a crate's root is no file of the picture: both only pass names on. A
//! parent module that uses what its child defines, while the child uses what the parent defines, is a circle
//! like any other. Tests do not count.
//!
//! Cost: a walk along all arrows for each file, a few milliseconds here. It sees what a `FileNode` does,
//! and no methods: a child may extend its parent's type without being named by it.

use std::collections::{BTreeMap, BTreeSet};

use super::file_node::FileNode;
use super::{Finding, Source};

/// How often one name may be passed on by re-exports; more is a circle of re-exports.
const MAX_REEXPORTS: usize = 16;

/// Names each set of files that import each other in a circle, at the first of them.
pub fn check(sources: &[Source]) -> Vec<Finding> {
    // Another crate is another house: cargo forbids circles of crates.
    let others = BTreeSet::new();
    let sources = sources.iter().filter(|source| !source.is_test());
    let rooms: Vec<FileNode> = sources.filter_map(|source| FileNode::new(source, &others)).collect();
    let index_of: BTreeMap<&str, usize> =
        rooms.iter().enumerate().map(|(index, room)| (room.module.as_str(), index)).collect();
    let arrows: Vec<BTreeSet<usize>> = rooms
        .iter()
        .enumerate()
        .map(|(index, room)| {
            let targets = room.uses.iter().filter_map(|(path, _)| resolve(path, &rooms, &index_of));
            targets.filter(|&target| target != index && !rooms[target].is_root()).collect()
        })
        .collect();
    circles(&arrows).iter().map(|members| describe(members, &rooms, &arrows)).collect()
}

fn describe(members: &[usize], rooms: &[FileNode], arrows: &[BTreeSet<usize>]) -> Finding {
    assert!(1 < members.len(), "a file does not import itself");
    let within = |from: usize| arrows[from].iter().filter(|to| members.contains(to)).copied();
    let lines: Vec<String> = members
        .iter()
        .map(|&from| {
            let targets: Vec<&str> = within(from).map(|to| rooms[to].module.as_str()).collect();
            format!("`{}` uses {}", rooms[from].module, targets.join(", "))
        })
        .collect();
    let text = format!("{} files import each other in a circle: {}", members.len(), lines.join("; "));
    Finding::new(rooms[members[0]].path, 1, text)
}

/// The file that defines what an absolute path names.
fn resolve(path: &[String], rooms: &[FileNode], index_of: &BTreeMap<&str, usize>) -> Option<usize> {
    let mut path = path.to_vec();
    for _ in 0..MAX_REEXPORTS {
        let (index, length) = (1..=path.len()).rev().find_map(|length| {
            index_of.get(path[..length].join("::").as_str()).map(|&index| (index, length))
        })?;
        let Some(name) = path.get(length) else { return Some(index) };
        let room = &rooms[index];
        if room.defined.contains(name) {
            return Some(index);
        }
        let passed_on = room.imports.get(name).cloned().or_else(|| {
            let defines = |target: &&Vec<String>| {
                let target = index_of.get(target.join("::").as_str());
                target.is_some_and(|&index| {
                    rooms[index].defined.contains(name) || rooms[index].imports.contains_key(name)
                })
            };
            let target = room.globs.iter().find(defines)?;
            Some(target.iter().cloned().chain([name.clone()]).collect())
        });
        let Some(mut target) = passed_on else { return Some(index) };
        target.extend_from_slice(&path[length + 1..]);
        path = target;
    }
    None
}

/// Each set of files that reach one another.
fn circles(arrows: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let reach: Vec<BTreeSet<usize>> = (0..arrows.len()).map(|file| reached(file, arrows)).collect();
    let is_mutual = |file: usize, other: usize| reach[file].contains(&other) && reach[other].contains(&file);
    let files = || 0..arrows.len();
    let sets = files().map(|file| files().filter(|&other| is_mutual(file, other)).collect::<Vec<_>>());
    sets.enumerate().filter(|(file, set)| set.first() == Some(file)).map(|(_, set)| set).collect()
}

/// The files to which an arrow leads, or several.
fn reached(file: usize, arrows: &[BTreeSet<usize>]) -> BTreeSet<usize> {
    let (mut found, mut open) = (BTreeSet::new(), vec![file]);
    while let Some(file) = open.pop() {
        open.extend(arrows[file].iter().filter(|&&next| found.insert(next)));
    }
    found
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<Source> = files
            .iter()
            .map(|(path, text)| Source::parse(Path::new(path), (*text).to_owned()).expect("the text is Rust"))
            .collect();
        check(&sources).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn files_that_import_downwards_pass() {
        let upper = "use crate::lower::Thing;\nuse super::lower::other;";
        assert_eq!(
            circles(&[("a/src/upper.rs", upper), ("a/src/lower.rs", "pub struct Thing; pub fn other() {}")]),
            [] as [String; 0]
        );
    }

    #[test]
    fn a_circle_is_named_with_its_arrows() {
        let found = circles(&[
            ("a/src/one.rs", "use crate::two::Two; pub struct One;"),
            ("a/src/two.rs", "pub struct Two; fn f() { crate::three::g(); }"),
            ("a/src/three.rs", "pub fn g() -> super::one::One { todo!() }"),
            ("a/src/apart.rs", "use crate::one::One;"),
        ]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("a/src/one.rs:1: 3 files import each other in a circle"),
            "{}",
            found[0]
        );
        assert!(found[0].contains("`a::three` uses a::one"), "{}", found[0]);
    }

    #[test]
    fn names_are_followed_through_reexports() {
        let parent = "mod child; mod sibling; pub use child::Child; pub(crate) use self::sibling::*;";
        let files = [
            ("a/src/lib.rs", "mod parent; pub use parent::Child;"),
            ("a/src/parent.rs", parent),
            ("a/src/parent/child.rs", "pub struct Child;"),
            ("a/src/parent/sibling.rs", "use crate::Child; pub fn f() {}"),
        ];
        assert_eq!(circles(&files), [] as [String; 0]);
        let mut circle = files;
        circle[2].1 = "pub struct Child; fn g() { super::f(); }";
        assert_eq!(circles(&circle).len(), 1);
    }

    #[test]
    fn every_kind_of_name_is_an_arrow() {
        let ways = [
            "use super::two::Two;",
            "use crate::two::{self, Two};",
            "fn f() { use crate::two::g; g(); }",
            "fn f() { [1].iter().for_each(|_| super::two::g()); }",
            "fn f() -> crate::two::Two { todo!() }",
            "struct A(Option<super::two::Two>);",
            "impl super::two::Named for u8 {}",
            "const A: u8 = crate::two::B;",
            "fn f() { assert!(0 < crate::two::g(), \"{}\", 1); }",
            "mod inner { use super::super::two::Two; }",
        ];
        for way in ways {
            let one = format!("{way} pub struct One;");
            let found = circles(&[("a/src/one.rs", &one), ("a/src/two.rs", "use crate::one::One;")]);
            assert_eq!(found.len(), 1, "{way}");
        }
    }

    #[test]
    fn a_parent_and_a_child_that_use_each_other_are_a_circle() {
        let child = "use super::Parent; pub fn f(_: Parent) {}";
        let circle = [("a/src/parent.rs", "mod child; pub struct Parent; fn g() { child::f(Parent); }")];
        assert_eq!(circles(&[circle[0], ("a/src/parent/child.rs", child)]).len(), 1);
        let tests = "mod child; pub struct Parent; #[cfg(test)] mod tests { fn g() { super::child::f(); } }";
        assert_eq!(circles(&[("a/src/parent.rs", tests), ("a/src/parent/child.rs", child)]).len(), 0);
    }
}
