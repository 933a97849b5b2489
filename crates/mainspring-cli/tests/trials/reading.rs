//! A data directory that others may read gives them neither its content nor a hold on the server.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::program::Running;
use crate::trial_fixture::{TrialFixture, names};

const JOB: &str = "[jobs.tick]\nat_server_start = true\ncwd = '/'\nshell = 'echo ran'\nenv = { DB_PASSWORD = 'hunter2-hunter2' }\n";

/// Starts a server after the shell has done something, and waits until its job has run.
fn served(fixture: &TrialFixture, shell_text: &str) -> Running {
    let file = fixture.write("jobs.toml", JOB, 0o600);
    let (data, file) = (fixture.text("ms"), file.to_str().unwrap().to_owned());
    let mut server = Running::after(shell_text, &["serve", "--data", &data, &file]);
    server.wait_for(&["tick", "end    exit status 0"]);
    server
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn no_file_of_the_store_is_open_to_others() {
    let Some(fixture) = TrialFixture::new("store-modes") else { return };
    fs::create_dir(fixture.path("ms")).unwrap();
    fs::set_permissions(fixture.path("ms"), fs::Permissions::from_mode(0o755)).unwrap();
    // Files of an earlier version stood open.
    for name in ["mainspring.lock", "mainspring.db"] {
        fixture.write(&format!("ms/{name}"), "", 0o644);
    }
    for umask in ["umask 000", "umask 022"] {
        let server = served(&fixture, umask);
        let found =
            ["mainspring.db", "mainspring.db-wal", "mainspring.db-shm", "mainspring.lock", "mainspring.sock"];
        let files = names(&fixture.path("ms"));
        for name in found {
            assert!(files.iter().any(|file| file == name), "{files:?}");
            assert_eq!(mode(&fixture.path("ms").join(name)), 0o600, "{name}");
        }
        assert_eq!(mode(&fixture.path("ms/output")), 0o700);
        let read = fixture.bob("for f in $T/ms/*; do exec 9< $f && echo open; done; cat $T/ms/*");
        assert_eq!(read.stdout, "", "{read:?}");
        server.stop();
        fixture.root("rm -r ms/mainspring.*; umask 022; touch ms/mainspring.db");
    }
}
