//! Files and folders of a test, which are gone when it ends.
//!
//! A test has a thread of its own, and what it made goes with that thread: so a path is a path, and no guard
//! has to be held until the end of the test. The tests of other crates have this file by its path.
//!
//! Cost: the removal. What a killed server writes afterwards stays.

use std::cell::RefCell;
use std::path::PathBuf;
use std::{env, fs, process};

thread_local! {
    static MADE: ThreadFiles = const { ThreadFiles(RefCell::new(Vec::new())) };
}

/// What is removed with a thread.
struct ThreadFiles(RefCell<Vec<PathBuf>>);

impl Drop for ThreadFiles {
    fn drop(&mut self) {
        for path in self.0.take() {
            let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
        }
    }
}

/// Answers a path in the folder for temporary files, where nothing is. What the test makes there is removed
/// when its thread ends. One name is for one test of a binary.
pub(crate) fn path(name: &str) -> PathBuf {
    let path = env::temp_dir().join(format!("mainspring-{}-{name}", process::id()));
    let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
    MADE.with(|made| made.0.borrow_mut().push(path.clone()));
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_test_made_goes_with_its_thread() {
        let make = || {
            let (file, folder) = (path("scratch-file"), path("scratch-folder"));
            fs::write(&file, "").expect("a temporary file can be written");
            fs::create_dir_all(folder.join("below")).expect("a temporary folder can be made");
            (file, folder)
        };
        let made = std::thread::Builder::new().spawn(make).expect("a test may start a thread");
        let (file, folder) = made.join().expect("the thread makes what it was asked for");
        assert!(!file.exists());
        assert!(!folder.exists());
    }
}
