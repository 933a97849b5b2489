//! A file of Rust, read: its text and its syntax tree.

use std::path::{Path, PathBuf};

use super::Finding;

/// A file of Rust, read.
pub struct Source {
    /// From the workspace's root.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
    /// What it means.
    pub syntax: syn::File,
}

impl Source {
    /// Reads a file's text.
    ///
    /// # Errors
    /// It is not Rust.
    pub fn parse(path: &Path, text: String) -> Result<Source, Finding> {
        let syntax = syn::parse_file(&text).map_err(|error| {
            Finding::new(path, error.span().start().line, format!("this is not Rust: {error}"))
        })?;
        Ok(Source { path: path.to_owned(), text, syntax })
    }

    /// Whether it holds tests, examples or measurements rather than the program.
    pub fn is_test(&self) -> bool {
        let is_test = |part: &std::ffi::OsStr| {
            part == "tests" || part == "tests.rs" || part == "benches" || part == "examples"
        };
        self.path.iter().any(is_test)
    }
}

/// Whether an item is only there for tests.
pub(super) fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => {
            list.path.is_ident("cfg") && list.tokens.to_string().split(' ').any(|word| word == "test")
        }
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::NameValue(_) => false,
    })
}
