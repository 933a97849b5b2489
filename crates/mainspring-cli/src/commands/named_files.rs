//! The files that a command was given: a folder stands for those of its files that `serve` takes.
//!
//! Cost: a list of each folder.
//!
//! Does not read the files.

use std::path::Path;

use mainspring_file::folder::{self, NameRule};
use mainspring_server::message;

/// The names of files, in the order in which they were given. What is left out of a folder is told.
pub(super) fn named_files(names: &[String]) -> Vec<String> {
    let mut files = Vec::new();
    for name in names {
        // A folder that cannot be listed is told of as a file that cannot be read.
        let Ok(listing) = folder::list(Path::new(name), NameRule::Any) else {
            files.push(name.clone());
            continue;
        };
        for path in listing.left_out.iter().filter(|path| !folder::is_hidden(path)) {
            message::say(&format!("{} is left out: {}\n", path.display(), NameRule::Any.why_left_out(path)));
        }
        files.extend(listing.taken.into_iter().map(|path| path.to_string_lossy().into_owned()));
    }
    files
}
