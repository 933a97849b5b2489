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
//! Cost: a walk along all arrows for each file, a few milliseconds here. It sees imports (`use super::`, `use
//! crate::`, also those within a function), paths in types and expressions, and the arguments of macros that
//! are expressions. It does not see names that a macro makes, nor methods: a child may extend its parent's
//! type without being named by it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};

use super::layers::{is_for_tests, module_of};
use super::{Finding, Source};

/// How often one name may be passed on by re-exports; more is a circle of re-exports.
const MAX_REEXPORTS: usize = 16;

/// Names each set of files that import each other in a circle, at the first of them.
pub fn check(sources: &[Source]) -> Vec<Finding> {
    let rooms: Vec<FileNode> =
        sources.iter().filter(|source| !source.is_test()).filter_map(FileNode::new).collect();
    let index_of: BTreeMap<&str, usize> =
        rooms.iter().enumerate().map(|(index, room)| (room.module.as_str(), index)).collect();
    let arrows: Vec<BTreeSet<usize>> = rooms
        .iter()
        .enumerate()
        .map(|(index, room)| {
            let targets = room.uses.iter().filter_map(|path| resolve(path, &rooms, &index_of));
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

/// A file: what it defines, what it imports, what it names.
struct FileNode<'a> {
    path: &'a Path,
    module: String,
    /// Names of its items, and of the modules that it declares.
    defined: BTreeSet<String>,
    children: BTreeSet<String>,
    /// What each imported or re-exported name stands for.
    imports: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    /// The absolute paths that its code names.
    uses: BTreeSet<Vec<String>>,
}

impl<'a> FileNode<'a> {
    fn new(source: &'a Source) -> Option<FileNode<'a>> {
        let mut module = module_of(&source.path)?;
        if source.path.ends_with("main.rs") {
            module.push_str("::main");
        }
        let mut room = FileNode {
            path: &source.path,
            module,
            defined: BTreeSet::new(),
            children: BTreeSet::new(),
            imports: BTreeMap::new(),
            globs: Vec::new(),
            uses: BTreeSet::new(),
        };
        for item in &source.syntax.items {
            room.define(item);
        }
        room.visit_file(&source.syntax);
        Some(room)
    }

    /// Whether it is a crate's root, which only passes names on.
    fn is_root(&self) -> bool {
        !self.module.contains("::")
    }

    fn define(&mut self, item: &syn::Item) {
        let name = match item {
            syn::Item::Const(item) => &item.ident,
            syn::Item::Enum(item) => &item.ident,
            syn::Item::Fn(item) => &item.sig.ident,
            syn::Item::Static(item) => &item.ident,
            syn::Item::Struct(item) => &item.ident,
            syn::Item::Trait(item) => &item.ident,
            syn::Item::Type(item) => &item.ident,
            syn::Item::Union(item) => &item.ident,
            syn::Item::Mod(item) => {
                if item.content.is_none() {
                    self.children.insert(item.ident.to_string());
                    return;
                }
                &item.ident
            }
            _ => return,
        };
        self.defined.insert(name.to_string());
    }

    /// The absolute form of a path in this file, if it leads into a crate that may be looked at.
    fn absolute(&self, segments: &[String]) -> Option<Vec<String>> {
        let mut base: Vec<String> = self.module.split("::").map(str::to_owned).collect();
        let mut rest = segments;
        match segments.first()?.as_str() {
            "crate" => {
                base.truncate(1);
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|segment| segment == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            child if self.children.contains(child) => (),
            // Another crate is another house: cargo forbids circles of crates.
            _ => return None,
        }
        base.extend_from_slice(rest);
        Some(base)
    }

    /// Notes what a `use` imports, and adds it to `targets`.
    fn import(&mut self, tree: &syn::UseTree, prefix: &mut Vec<String>, targets: &mut Vec<Vec<String>>) {
        let (name, local) = match tree {
            syn::UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.import(&path.tree, prefix, targets);
                prefix.pop();
                return;
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, prefix, targets);
                }
                return;
            }
            syn::UseTree::Glob(_) => {
                let Some(target) = self.absolute(prefix) else { return };
                targets.push(target.clone());
                self.globs.push(target);
                return;
            }
            syn::UseTree::Name(name) => (name.ident.to_string(), name.ident.to_string()),
            syn::UseTree::Rename(name) => (name.ident.to_string(), name.rename.to_string()),
        };
        let segments: Vec<String> = match name.as_str() {
            "self" => prefix.clone(),
            name => prefix.iter().cloned().chain([name.to_owned()]).collect(),
        };
        let local = if local == "self" { prefix.last().cloned().unwrap_or_default() } else { local };
        let Some(target) = self.absolute(&segments) else { return };
        targets.push(target.clone());
        self.imports.insert(local, target);
    }
}

impl<'ast> Visit<'ast> for FileNode<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut targets = Vec::new();
        self.import(&item.tree, &mut Vec::new(), &mut targets);
        // What is passed on is not used here.
        if matches!(item.vis, syn::Visibility::Inherited) {
            self.uses.extend(targets);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if 1 < path.segments.len() {
            let segments: Vec<String> =
                path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.uses.extend(self.absolute(&segments));
        }
        visit::visit_path(self, path);
    }

    /// The arguments of `assert!`, `format!` and their like are expressions; those of other macros are not
    /// looked at.
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let arguments = Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        for argument in call.parse_body_with(arguments).into_iter().flatten() {
            Visit::visit_expr(self, &argument);
        }
        visit::visit_macro(self, call);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        // A module inside of a file is part of that file; what it imports is the file's import.
        if is_for_tests(&item.attrs) {
            return;
        }
        let outer = self.module.clone();
        self.module = format!("{outer}::{}", item.ident);
        visit::visit_item_mod(self, item);
        self.module = outer;
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }
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
