//! The map of the code: every file of a crate with the first line of its header.
//!
//! Cost: each file is read. It is printed and not kept, so that it cannot be out of date.

use std::path::Path;

use crate::tidy::sources;

/// Prints the map of the files whose path has `word` in it.
pub fn run(root: &Path, word: &str) {
    let mut last_folder = None;
    let sources = sources(root);
    let is_meant =
        |path: &Path| path.iter().any(|part| part == "src") && path.to_string_lossy().contains(word);
    for source in sources.iter().filter(|source| is_meant(&source.path)) {
        let Some(folder) = source.path.parent() else { continue };
        if last_folder != Some(folder) {
            println!("{}", folder.display());
            last_folder = Some(folder);
        }
        let header = source.text.lines().next().unwrap_or_default().trim_start_matches("//!").trim();
        let name = source.path.file_name().unwrap_or_default().to_string_lossy();
        println!("    {name:<22} {header}");
    }
}
