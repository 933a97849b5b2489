//! The commands of the program and their options, from the types that clap reads.
//!
//! Cost: one pass over the types. A command without a type of arguments has a row and no table.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::code::{doc_of, first_sentence, text_of};
use crate::tidy::Source;

/// Types of arguments, by name.
type Structs<'a> = BTreeMap<String, (&'a Source, &'a syn::ItemStruct)>;

/// The page's tables: one of the commands, and one of options for each.
pub(super) fn text(sources: &[Source]) -> String {
    // A file `no_*.rs` stands for another where its feature is left out.
    let is_stub = |source: &Source| {
        source.path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("no_"))
    };
    let is_cli = |source: &&Source| {
        source.path.starts_with("crates/mainspring-cli/src") && !source.is_test() && !is_stub(source)
    };
    let mut structs = Structs::new();
    let mut groups = BTreeMap::new();
    let mut commands = None;
    for source in sources.iter().filter(is_cli) {
        for item in &source.syntax.items {
            match item {
                syn::Item::Struct(item) => {
                    structs.insert(item.ident.to_string(), (source, item));
                }
                syn::Item::Enum(item) if item.ident == "Command" && source.path.ends_with("cli.rs") => {
                    commands = Some(item);
                }
                syn::Item::Enum(item) => {
                    groups.insert(item.ident.to_string(), item);
                }
                _ => {}
            }
        }
    }
    let mut table = "| command | does |\n|---|---|\n".to_owned();
    let mut options = String::new();
    for variant in commands.iter().flat_map(|item| &item.variants) {
        let name = kebab(&variant.ident.to_string());
        let group = variant.fields.iter().find_map(|field| groups.get(&type_name(&field.ty)));
        add_command(&structs, &name, variant, &mut table, &mut options);
        for within in group.iter().flat_map(|group| &group.variants) {
            let name = format!("{name} {}", kebab(&within.ident.to_string()));
            add_command(&structs, &name, within, &mut table, &mut options);
        }
    }
    table + &options
}

/// The row of a command, and the table of its options.
fn add_command(
    structs: &Structs<'_>,
    name: &str,
    variant: &syn::Variant,
    table: &mut String,
    options: &mut String,
) {
    let says = doc_of(&variant.attrs);
    assert!(!says.is_empty(), "{name}: it is said what it does");
    let _ = writeln!(table, "| `{name}` | {} |", first_sentence(&says));
    let mut rows = String::new();
    for field in &variant.fields {
        add_rows(structs, &type_name(&field.ty), &mut rows);
    }
    if !rows.is_empty() {
        let _ = write!(options, "\n## {name}\n| option | is |\n|---|---|\n{rows}");
    }
}

/// The rows of a type of arguments, and those of the types within it.
fn add_rows(structs: &Structs<'_>, name: &str, rows: &mut String) {
    let Some((source, item)) = structs.get(name) else { return };
    for field in &item.fields {
        let attributes: String =
            field.attrs.iter().map(|attribute| text_of(source, attribute)).collect::<Vec<_>>().join(" ");
        let Some(identifier) = &field.ident else { continue };
        if attributes.contains("flatten") {
            add_rows(structs, &type_name(&field.ty), rows);
            continue;
        }
        let option = identifier.to_string().trim_start_matches("r#").replace('_', "-");
        let is_named = attributes.contains("long");
        let value = attributes.split_once("value_name = \"").and_then(|(_, rest)| rest.split('"').next());
        let given = attributes.split_once("long = \"").and_then(|(_, rest)| rest.split('"').next());
        let shown = match (is_named, value) {
            (true, Some(value)) if attributes.contains("require_equals") => {
                format!("--{}[={value}]", given.unwrap_or(&option))
            }
            (true, Some(value)) => format!("--{} {value}", given.unwrap_or(&option)),
            (true, None) => format!("--{}", given.unwrap_or(&option)),
            (false, value) => value.map_or_else(|| option.to_uppercase(), str::to_owned),
        };
        let says = doc_of(&field.attrs);
        assert!(!says.is_empty(), "{name}: it is said what {shown} is");
        let _ = writeln!(rows, "| `{shown}` | {says} |");
    }
}

/// The last name in a type, within `Box` or `Option` too.
fn type_name(of: &syn::Type) -> String {
    let syn::Type::Path(path) = of else { return String::new() };
    let Some(last) = path.path.segments.last() else { return String::new() };
    if let syn::PathArguments::AngleBracketed(within) = &last.arguments
        && let Some(syn::GenericArgument::Type(within)) = within.args.first()
    {
        return type_name(within);
    }
    last.ident.to_string()
}

/// A variant's name as a word of the command line.
fn kebab(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.extend(letter.to_lowercase());
    }
    text
}
