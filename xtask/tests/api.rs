//! The public items of the libraries as a text, so that a change of them is seen in a diff.
//!
//! ```text
//!   lib.rs ──mod──▶ files ──▶ items ──pub, or re-exported by name──▶ one line each, sorted
//!                                └──▶ pages whose type or function shows no example
//! ```
//!
//! A line has the item's path and its text without bodies: `mainspring::engine::Engine::shutdown: pub fn
//! shutdown(&self) -> ..`. Attributes that callers notice stand before it: `non_exhaustive`, `must_use`,
//! `derive`, `cfg`. The texts are kept in `testdata/api/`; a test compares them, and `UPDATE_EXPECTED=1 cargo
//! test -p xtask` writes them again, for the commit that says why the surface changed.
//!
//! Cost: that of parsing the libraries, a second or so unoptimised.
//!
//! It reads the source and not what the compiler makes of it: what a macro writes is shown as the macro's
//! call, and whether a type implements an auto trait is for the tests of each crate to pin.
//!
//! Source: the idea is that of the crate `public-api`, which needs a nightly toolchain.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::mem;
use std::path::{Path, PathBuf};

use syn::spanned::Spanned;
use syn::{Attribute, Fields, ImplItem, Item, TraitItem, UseTree, Visibility};
use xtask::semver::LIBRARIES;

/// The attributes that callers notice.
const NOTICED: [&str; 4] = ["non_exhaustive", "must_use", "derive", "cfg"];

/// What a library shows.
#[derive(Debug, Default)]
struct Surface {
    /// A line for each public item, sorted.
    lines: BTreeSet<String>,
    /// The pages of types, traits and functions without a block of code, in the item's documentation or its
    /// methods'.
    without_example: BTreeSet<String>,
    /// The lines in which a type stands of a crate that is internal, with that crate.
    internal: BTreeSet<String>,
}

/// A module as it is read: its path, whether it can be named from outside, and its items.
struct Module {
    path: String,
    is_public: bool,
    items: Vec<Item>,
}

/// Reads the surface of the library in a folder.
///
/// # Errors
/// A file cannot be read, or is no Rust.
fn surface(crate_folder: &Path) -> io::Result<Surface> {
    let name = crate_folder.file_name().map(|name| name.to_string_lossy().replace('-', "_"));
    let mut modules = Vec::new();
    let source = crate_folder.join("src");
    let root = Module { path: name.unwrap_or_default(), is_public: true, items: Vec::new() };
    read_module(&source.join("lib.rs"), &source, root, &mut modules)?;
    // What a public module re-exports by name can be named from outside wherever it is.
    let exported: BTreeSet<String> = modules
        .iter()
        .filter(|module| module.is_public)
        .flat_map(|module| module.items.iter().flat_map(re_exports))
        .collect();
    let mut surface = Surface::default();
    let mut examples = BTreeMap::new();
    let mut types = BTreeSet::new();
    for module in &modules {
        for item in &module.items {
            add_item(module, item, &exported, &mut surface, &mut examples, &mut types);
        }
    }
    for module in &modules {
        for item in &module.items {
            add_impl(module, item, &types, &mut surface, &mut examples);
        }
    }
    for module in &modules {
        add_internal(module, crate_folder, &mut surface);
    }
    surface.without_example =
        examples.into_iter().filter(|(_, has_example)| !has_example).map(|(page, _)| page).collect();
    Ok(surface)
}

/// Notes the lines of a module in which something of a crate of ours is named whose surface is not kept: by a
/// name that is imported there, or by its path.
fn add_internal(module: &Module, crate_folder: &Path, surface: &mut Surface) {
    let is_internal = |name: &str| {
        let folder = name.replace('_', "-");
        name.starts_with("mainspring_")
            && !LIBRARIES.contains(&folder.as_str())
            && crate_folder.with_file_name(folder).is_dir()
    };
    let mut imported = BTreeMap::new();
    for item in &module.items {
        if let Item::Use(item) = item
            && let UseTree::Path(path) = &item.tree
            && is_internal(&path.ident.to_string())
        {
            let mut names = Vec::new();
            local_names(&path.tree, &mut names);
            imported.extend(names.into_iter().map(|name| (name, path.ident.to_string())));
        }
    }
    for line in &surface.lines {
        let Some(text) = line.strip_prefix(&module.path).filter(|text| text.starts_with(':')) else {
            continue;
        };
        let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        for word in words {
            let found = imported.get(word).map(String::as_str).or(is_internal(word).then_some(word));
            surface.internal.extend(found.map(|from| format!("{line} ({word} is of {from})")));
        }
    }
}

/// The names that a `use` gives to what it imports.
fn local_names(tree: &UseTree, names: &mut Vec<String>) {
    match tree {
        UseTree::Rename(rename) => names.push(rename.rename.to_string()),
        UseTree::Path(path) => local_names(&path.tree, names),
        UseTree::Group(group) => group.items.iter().for_each(|tree| local_names(tree, names)),
        tree => collect_names(tree, names),
    }
}

fn read_module(file: &Path, folder: &Path, module: Module, modules: &mut Vec<Module>) -> io::Result<()> {
    let text = fs::read_to_string(file)?;
    let parsed = syn::parse_file(&text).map_err(|error| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", file.display()))
    })?;
    add_module(Module { items: parsed.items, ..module }, folder, modules)
}

/// Adds a module, and those in it.
fn add_module(mut module: Module, folder: &Path, modules: &mut Vec<Module>) -> io::Result<()> {
    for item in mem::take(&mut module.items) {
        let Item::Mod(inner) = item else {
            module.items.push(item);
            continue;
        };
        if is_for_tests(&inner.attrs) {
            continue;
        }
        let (name, is_public) = (inner.ident.to_string(), module.is_public && is_pub(&inner.vis));
        let (path, below) = (format!("{}::{name}", module.path), folder.join(&name));
        match inner.content {
            Some((_, items)) => add_module(Module { path, is_public, items }, &below, modules)?,
            None => {
                let file = named_file(&inner.attrs, folder).unwrap_or_else(|| file_of(folder, &name));
                read_module(&file, &below, Module { path, is_public, items: Vec::new() }, modules)?;
            }
        }
    }
    modules.push(module);
    Ok(())
}

/// The file that `#[path = ".."]` names.
fn named_file(attributes: &[Attribute], folder: &Path) -> Option<PathBuf> {
    let named = attributes.iter().find(|attribute| attribute.path().is_ident("path"))?;
    let value = &named.meta.require_name_value().ok()?.value;
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = value else { return None };
    Some(folder.join(text.value()))
}

fn file_of(folder: &Path, name: &str) -> PathBuf {
    let beside = folder.join(format!("{name}.rs"));
    if beside.exists() { beside } else { folder.join(name).join("mod.rs") }
}

fn is_pub(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = text_of(attribute);
        text.contains("cfg(test)") || text.contains("cfg(doctest)") || text.contains("doc(hidden)")
    })
}

/// The source text of a piece, on one line.
fn text_of(piece: &impl Spanned) -> String {
    let text = piece.span().source_text().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn noticed(attributes: &[Attribute]) -> String {
    let is_noticed = |attribute: &&Attribute| NOTICED.iter().any(|name| attribute.path().is_ident(name));
    attributes.iter().filter(is_noticed).map(|attribute| text_of(attribute) + " ").collect()
}

fn shows_code(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("doc") && text_of(attribute).contains("```"))
}

/// The last names of what an item re-exports, under the names that they have where they are.
fn re_exports(item: &Item) -> Vec<String> {
    let mut names = Vec::new();
    if let Item::Use(item) = item
        && is_pub(&item.vis)
    {
        collect_names(&item.tree, &mut names);
    }
    names
}

fn collect_names(tree: &UseTree, names: &mut Vec<String>) {
    match tree {
        UseTree::Path(path) => collect_names(&path.tree, names),
        UseTree::Name(name) => names.push(name.ident.to_string()),
        UseTree::Rename(rename) => names.push(rename.ident.to_string()),
        UseTree::Group(group) => group.items.iter().for_each(|tree| collect_names(tree, names)),
        UseTree::Glob(_) => (),
    }
}

/// The name, visibility and attributes of an item that has a page of its own, or a line.
fn named(item: &Item) -> Option<(String, &Visibility, &[Attribute])> {
    Some(match item {
        Item::Const(item) => (item.ident.to_string(), &item.vis, &item.attrs),
        Item::Enum(item) => (item.ident.to_string(), &item.vis, &item.attrs),
        Item::Fn(item) => (item.sig.ident.to_string(), &item.vis, &item.attrs),
        Item::Static(item) => (item.ident.to_string(), &item.vis, &item.attrs),
        Item::Struct(item) => (item.ident.to_string(), &item.vis, &item.attrs),
        Item::Trait(item) => (item.ident.to_string(), &item.vis, &item.attrs),
        Item::Type(item) => (item.ident.to_string(), &item.vis, &item.attrs),
        _ => return None,
    })
}

fn add_item(
    module: &Module,
    item: &Item,
    exported: &BTreeSet<String>,
    surface: &mut Surface,
    examples: &mut BTreeMap<String, bool>,
    types: &mut BTreeSet<String>,
) {
    if let Item::Use(re_export) = item
        && module.is_public
        && is_pub(&re_export.vis)
        && !is_for_tests(&re_export.attrs)
    {
        let text = text_of(&re_export.tree);
        surface.lines.insert(format!("{}: {}pub use {text}", module.path, noticed(&re_export.attrs)));
    }
    let Some((name, visibility, attributes)) = named(item) else { return };
    let is_reachable = is_pub(visibility) && (module.is_public || exported.contains(&name));
    if !is_reachable || is_for_tests(attributes) {
        return;
    }
    let path = format!("{}::{name}", module.path);
    let noticed = noticed(attributes);
    if let Item::Struct(_) | Item::Enum(_) | Item::Trait(_) | Item::Fn(_) = item {
        examples.insert(path.clone(), shows_code(attributes));
    }
    let line = match item {
        Item::Const(item) => format!("pub const {name}: {}", text_of(&item.ty)),
        Item::Static(item) => format!("pub static {name}: {}", text_of(&item.ty)),
        Item::Fn(item) => format!("pub {}", text_of(&item.sig)),
        Item::Type(item) => format!("pub type {name}{} = {}", text_of(&item.generics), text_of(&item.ty)),
        Item::Struct(item) => {
            types.insert(name.clone());
            let fields = fields(&item.fields);
            format!("pub struct {name}{} {}{fields}", text_of(&item.generics), clause(&item.generics))
        }
        Item::Enum(item) => {
            types.insert(name.clone());
            let variants: Vec<String> = item.variants.iter().map(variant).collect();
            format!("pub enum {name}{} {{ {} }}", text_of(&item.generics), variants.join(", "))
        }
        Item::Trait(item) => {
            for member in &item.items {
                add_trait_item(&path, &name, member, surface, examples);
            }
            let supertraits: Vec<String> = item.supertraits.iter().map(text_of).collect();
            format!("pub trait {name}{}: {}", text_of(&item.generics), supertraits.join(" + "))
        }
        _ => return,
    };
    surface.lines.insert(format!("{path}: {noticed}{line}"));
}

fn clause(generics: &syn::Generics) -> String {
    generics.where_clause.as_ref().map(|clause| text_of(clause) + " ").unwrap_or_default()
}

fn field(field: &syn::Field) -> String {
    let name = field.ident.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    name + &text_of(&field.ty)
}

/// The fields that callers may name, and whether there are others.
fn fields(fields: &Fields) -> String {
    let shown: Vec<String> = fields.iter().filter(|it| is_pub(&it.vis)).map(field).collect();
    let rest = if shown.len() < fields.len() { ", .." } else { "" };
    format!("{{ {}{rest} }}", shown.join(", "))
}

fn variant(variant: &syn::Variant) -> String {
    let fields: Vec<String> = variant.fields.iter().map(field).collect();
    match &variant.fields {
        Fields::Unit => variant.ident.to_string(),
        Fields::Named(_) => format!("{} {{ {} }}", variant.ident, fields.join(", ")),
        Fields::Unnamed(_) => format!("{}({})", variant.ident, fields.join(", ")),
    }
}

fn add_trait_item(
    path: &str,
    name: &str,
    member: &TraitItem,
    surface: &mut Surface,
    examples: &mut BTreeMap<String, bool>,
) {
    let (text, attributes) = match member {
        TraitItem::Fn(method) => {
            let body = if method.default.is_some() { " { .. }" } else { "" };
            (text_of(&method.sig) + body, &method.attrs)
        }
        TraitItem::Const(constant) => {
            (format!("const {}: {}", constant.ident, text_of(&constant.ty)), &constant.attrs)
        }
        TraitItem::Type(associated) => (format!("type {}", associated.ident), &associated.attrs),
        _ => return,
    };
    if is_for_tests(attributes) {
        return;
    }
    if shows_code(attributes) {
        examples.insert(path.to_owned(), true);
    }
    surface.lines.insert(format!("{path}: in {name}: {}{text}", noticed(attributes)));
}

/// The methods of public types, and the traits that these implement.
fn add_impl(
    module: &Module,
    item: &Item,
    types: &BTreeSet<String>,
    surface: &mut Surface,
    examples: &mut BTreeMap<String, bool>,
) {
    if let Item::Macro(call) = item
        && call.ident.is_none()
        && !is_for_tests(&call.attrs)
    {
        surface.lines.insert(format!("{}: {}", module.path, text_of(&call.mac)));
    }
    let Item::Impl(block) = item else { return };
    let of_type = text_of(&block.self_ty);
    let name = of_type.trim_start_matches('&').split('<').next().unwrap_or_default().to_owned();
    let is_shown = block.trait_.is_some() && block.generics.params.iter().next().is_some();
    if is_for_tests(&block.attrs) || !(types.contains(&name) || is_shown) {
        return;
    }
    let head = format!("impl{} {}", text_of(&block.generics), clause(&block.generics));
    if let Some((implemented, _)) = &block.trait_ {
        if types.contains(&name) {
            let attributes = noticed(&block.attrs);
            let line = format!("{}: {attributes}{head}{} for {of_type}", module.path, text_of(implemented));
            surface.lines.insert(line);
        }
        return;
    }
    for member in &block.items {
        let (text, attributes) = match member {
            ImplItem::Fn(method) if is_pub(&method.vis) => {
                (format!("pub {}", text_of(&method.sig)), &method.attrs)
            }
            ImplItem::Const(constant) if is_pub(&constant.vis) => {
                (format!("pub const {}: {}", constant.ident, text_of(&constant.ty)), &constant.attrs)
            }
            _ => continue,
        };
        if is_for_tests(attributes) {
            continue;
        }
        if shows_code(attributes) {
            // The type's page may be that of another module of this crate.
            let pages: Vec<String> =
                examples.keys().filter(|page| page.ends_with(&format!("::{name}"))).cloned().collect();
            examples.extend(pages.into_iter().map(|page| (page, true)));
        }
        surface.lines.insert(format!("{}: {of_type}: {}{text}", module.path, noticed(attributes)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository").to_owned()
    }

    /// Compares a text with the file that holds what is expected, or writes it.
    fn hold(file: &Path, lines: &BTreeSet<String>) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        if std::env::var_os("UPDATE_EXPECTED").is_some() {
            fs::write(file, &text).expect("the file can be written");
        }
        let expected = fs::read_to_string(file).expect("the surface of each library is kept");
        let expected: BTreeSet<String> = expected.lines().map(str::to_owned).collect();
        let gone: Vec<&String> = expected.difference(lines).collect();
        let new: Vec<&String> = lines.difference(&expected).collect();
        assert!(
            gone.is_empty() && new.is_empty(),
            "{}: gone: {gone:#?}, new: {new:#?}; UPDATE_EXPECTED=1 cargo test -p xtask accepts it",
            file.display(),
        );
    }

    #[test]
    fn the_surface_of_each_library_is_the_one_that_is_kept() {
        for library in LIBRARIES {
            let surface = surface(&root().join("crates").join(library)).expect("the library can be read");
            assert!(surface.lines.len() > 50, "{library} has public items");
            hold(&root().join(format!("testdata/api/{library}.txt")), &surface.lines);
        }
    }

    #[test]
    fn no_library_shows_a_type_of_a_crate_that_is_internal() {
        for library in LIBRARIES {
            let surface = surface(&root().join("crates").join(library)).expect("the library can be read");
            assert!(surface.internal.is_empty(), "{library}: {:#?}", surface.internal);
        }
        let shown = surface(&root().join("crates/mainspring-cluster")).expect("the library can be read");
        let seen = |text: &str| shown.internal.iter().any(|line| line.ends_with(text));
        assert!(seen("(Location is of mainspring_postgres)"), "it can fail: {:#?}", shown.internal);
    }

    #[test]
    fn the_pages_without_an_example_are_those_that_are_listed() {
        for library in LIBRARIES {
            let surface = surface(&root().join("crates").join(library)).expect("the library can be read");
            hold(
                &root().join(format!("testdata/api/{library}.without-example.txt")),
                &surface.without_example,
            );
        }
    }

    #[test]
    fn what_cannot_be_named_from_outside_is_no_part_of_the_surface() {
        let surface = surface(&root().join("crates/mainspring-queue")).expect("the library can be read");
        let has = |text: &str| surface.lines.iter().any(|line| line.contains(text));
        assert!(has("pub trait TimerQueue<T>"));
        assert!(has("TimerId: pub const fn from_parts(index: u32, generation: NonZeroU32) -> TimerId"));
        assert!(has("impl<T> TimerQueue<T> for RedBlackTree<T>"));
        assert!(!has("struct SortedQueue"), "a shell is private");
        assert!(!has("trait Geometry"));
        assert!(!has("struct Arena"));
    }
}
