//! Commands that look at a data directory write nothing and follow nothing, whichever user prepared it.

use std::fs;

use mainspring_store::FORMAT_VERSION;
use rusqlite::Connection;

use crate::program::Running;
use crate::trial_fixture::{TrialFixture, names};

/// The commands that read a store when no server has it.
const LOOKS: [&[&str]; 6] =
    [&["doctor"], &["list"], &["history"], &["logs", "x"], &["show", "x"], &["export"]];

fn look(fixture: &TrialFixture, args: &[&str], data: &str) -> crate::trial_fixture::CommandOutput {
    let (first, rest) = args.split_first().unwrap();
    fixture.mainspring(&[&[first, "--data", data], rest].concat())
}

#[test]
fn a_lock_that_is_a_link_is_not_written_through() {
    let Some(fixture) = TrialFixture::new("look-lock") else { return };
    fixture.write("victim", "precious\n", 0o600);
    fixture.bob("mkdir ms new; : > ms/mainspring.db; : > new/mainspring.db");
    fixture.bob("ln -s $T/victim ms/mainspring.lock; ln -s $T/made new/mainspring.lock");
    for args in LOOKS {
        for data in ["bob/ms", "bob/new"] {
            let said = look(&fixture, args, data);
            assert!(said.text().contains("belongs to user 65534"), "{args:?}: {said:?}");
            assert_ne!(said.code, Some(0), "{args:?}: {said:?}");
        }
    }
    assert_eq!(fixture.read("victim"), "precious\n");
    assert!(!fixture.path("made").exists());
}

#[test]
fn a_store_that_is_a_link_is_not_made_a_store() {
    let Some(fixture) = TrialFixture::new("look-store") else { return };
    Connection::open(fixture.path("victim.db")).unwrap().execute_batch("CREATE TABLE own (a)").unwrap();
    let before = fs::read(fixture.path("victim.db")).unwrap();
    fixture.bob("mkdir ms; ln -s $T/victim.db ms/mainspring.db");
    // Also where the folder has become root's since.
    fixture.root(
        "mkdir taken; ln -s $PWD/victim.db taken/mainspring.db; ln -s $PWD/victim taken/mainspring.lock",
    );
    for args in LOOKS {
        for data in ["bob/ms", "taken"] {
            assert_ne!(look(&fixture, args, data).code, Some(0), "{args:?} {data}");
        }
    }
    for args in [&["serve", "--data", "taken"][..], &["serve", "--data", "bob/ms"]] {
        assert_ne!(fixture.mainspring(args).code, Some(0), "{args:?}");
    }
    assert_eq!(fs::read(fixture.path("victim.db")).unwrap(), before);
    assert!(!fixture.path("victim").exists());
    assert!(!fixture.path("victim.db-wal").exists());
}

#[test]
fn a_store_with_a_program_in_it_is_not_run() {
    let Some(fixture) = TrialFixture::new("look-view") else { return };
    fs::create_dir(fixture.path("ms")).unwrap();
    let made = Connection::open(fixture.path("ms/mainspring.db")).unwrap();
    let endless = format!(
        "CREATE VIEW job AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
        SELECT max(i) AS name FROM n; PRAGMA user_version = {FORMAT_VERSION}"
    );
    made.execute_batch(&endless).unwrap();
    drop(made);
    for args in LOOKS {
        let said = look(&fixture, args, "ms");
        assert!(said.text().contains("its tables are not those"), "{args:?}: {said:?}");
    }
}

#[test]
fn looking_leaves_nothing_behind() {
    let Some(fixture) = TrialFixture::new("look-clean") else { return };
    fixture.write("c.crontab", "0 0 1 1 * root true\n", 0o644);
    let (data, file) = (fixture.text("ms"), fixture.text("c.crontab"));
    let mut server = Running::any(&["serve", "--data", &data, "--system", &file]);
    server.wait_for(&["1 job"]);
    server.stop();
    let before = names(&fixture.path("ms"));
    for args in LOOKS {
        look(&fixture, args, "ms");
        assert_eq!(names(&fixture.path("ms")), before, "{args:?}");
    }
    assert_eq!(look(&fixture, &["list"], "ms").code, Some(0));
    // Two of them at a time, and one that may not write at all.
    fixture.root("exec 9< ms/mainspring.lock; flock -s 9; $M list --data ms > both");
    assert!(fixture.read("both").contains("true"), "{}", fixture.read("both"));
}

#[test]
fn a_page_of_the_manual_is_written_through_no_link() {
    let Some(fixture) = TrialFixture::new("manual") else { return };
    fixture.write("victim", "precious", 0o644);
    fixture
        .bob("ln -s $T/victim mainspring.1; ln -s $T/victim mainspring-list.1; ln -s $T/made mainspring.new");
    let said = fixture.mainspring(&["man", "bob"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(fixture.read("victim"), "precious");
    assert!(!fixture.path("made").exists());
    assert!(fixture.read("bob/mainspring.1").contains("mainspring"));
}
