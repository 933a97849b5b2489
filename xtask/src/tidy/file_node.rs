//! A file as a node of the graph of imports: what it defines, imports and names, by absolute paths.
//!
//! It sees imports (`use super::`, `use crate::`, also those within a function), paths in types and
//! expressions, and the arguments of macros that are expressions. It does not see names that a macro makes,
//! nor methods. What is there for tests does not count.
//!
//! Cost: one walk over the syntax tree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};

use super::Source;
use super::source::is_for_tests;

/// An absolute path that a file names, as its segments, and the line.
pub(super) type NamedPath = (Vec<String>, usize);

/// A file: what it defines, what it imports, what it names.
pub(super) struct FileNode<'a> {
    pub(super) path: &'a Path,
    pub(super) module: String,
    /// Names of its items, and of the modules that it declares.
    pub(super) defined: BTreeSet<String>,
    children: BTreeSet<String>,
    /// Other crates whose paths count.
    crates: &'a BTreeSet<&'a str>,
    /// What each imported or re-exported name stands for.
    pub(super) imports: BTreeMap<String, Vec<String>>,
    pub(super) globs: Vec<Vec<String>>,
    /// What its code names.
    pub(super) uses: BTreeSet<NamedPath>,
    /// What it only passes on, by a `use` that others see.
    pub(super) passed_on: BTreeSet<NamedPath>,
}

impl<'a> FileNode<'a> {
    /// Reads a file; `None` for a file of no crate's sources. Paths into other crates count for `crates`.
    pub(super) fn new(source: &'a Source, crates: &'a BTreeSet<&'a str>) -> Option<FileNode<'a>> {
        let mut module = module_of(&source.path)?;
        if source.path.ends_with("main.rs") {
            module.push_str("::main");
        }
        let mut room = FileNode {
            path: &source.path,
            module,
            defined: BTreeSet::new(),
            children: BTreeSet::new(),
            crates,
            imports: BTreeMap::new(),
            globs: Vec::new(),
            uses: BTreeSet::new(),
            passed_on: BTreeSet::new(),
        };
        for item in &source.syntax.items {
            room.define(item);
        }
        room.visit_file(&source.syntax);
        Some(room)
    }

    /// Whether it is a crate's root, which only passes names on.
    pub(super) fn is_root(&self) -> bool {
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
            name if self.crates.contains(name) => base.clear(),
            child if self.children.contains(child) => (),
            _ => return None,
        }
        base.extend_from_slice(rest);
        Some(base)
    }

    /// Notes what a `use` imports, and adds it to `targets`.
    fn import(&mut self, tree: &syn::UseTree, prefix: &mut Vec<String>, targets: &mut Vec<NamedPath>) {
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
            syn::UseTree::Glob(glob) => {
                let Some(target) = self.absolute(prefix) else { return };
                targets.push((target.clone(), glob.star_token.spans[0].start().line));
                self.globs.push(target);
                return;
            }
            syn::UseTree::Name(name) => (&name.ident, &name.ident),
            syn::UseTree::Rename(name) => (&name.ident, &name.rename),
        };
        let mut segments = prefix.clone();
        if name != "self" {
            segments.push(name.to_string());
        }
        let local = if local == "self" { prefix.last().cloned() } else { Some(local.to_string()) };
        let Some(target) = self.absolute(&segments) else { return };
        targets.push((target.clone(), name.span().start().line));
        self.imports.insert(local.unwrap_or_default(), target);
    }
}

impl<'ast> Visit<'ast> for FileNode<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut targets = Vec::new();
        self.import(&item.tree, &mut Vec::new(), &mut targets);
        match item.vis {
            syn::Visibility::Inherited => self.uses.extend(targets),
            _ => self.passed_on.extend(targets),
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if 1 < path.segments.len() {
            let segments: Vec<String> =
                path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            let line = path.segments[0].ident.span().start().line;
            self.uses.extend(self.absolute(&segments).map(|path| (path, line)));
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
}

/// The module that a file is, as `crate_name::module::module`; `None` for a file of no crate's sources.
pub(super) fn module_of(path: &Path) -> Option<String> {
    let parts: Vec<&str> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(part) => part.to_str(),
            _ => None,
        })
        .collect();
    let source_index = parts.iter().position(|&part| part == "src")?;
    let crate_name = parts.get(source_index.checked_sub(1)?)?.replace('-', "_");
    let mut module = vec![crate_name];
    for part in &parts[source_index + 1..] {
        match part.trim_end_matches(".rs") {
            "lib" | "main" | "mod" => (),
            name => module.push(name.to_owned()),
        }
    }
    Some(module.join("::"))
}
