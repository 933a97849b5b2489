//! Commands that look at a data directory write nothing and follow nothing, whichever user prepared it.

use std::fs;

use mainspring_store::FORMAT_VERSION;
use rusqlite::Connection;

use crate::ground::{Ground, names};
use crate::program::Running;

/// The commands that read a store when no server has it.
const LOOKS: [&[&str]; 6] =
    [&["doctor"], &["list"], &["history"], &["logs", "x"], &["show", "x"], &["export"]];

fn look(ground: &Ground, args: &[&str], data: &str) -> crate::ground::Said {
    let (first, rest) = args.split_first().unwrap();
    ground.mainspring(&[&[first, "--data", data], rest].concat())
}

#[test]
fn a_lock_that_is_a_link_is_not_written_through() {
    let Some(ground) = Ground::new("look-lock") else { return };
    ground.write("victim", "precious\n", 0o600);
    ground.bob("mkdir ms new; : > ms/mainspring.db; : > new/mainspring.db");
    ground.bob("ln -s $T/victim ms/mainspring.lock; ln -s $T/made new/mainspring.lock");
    for args in LOOKS {
        for data in ["bob/ms", "bob/new"] {
            let said = look(&ground, args, data);
            assert!(said.text().contains("belongs to user 65534"), "{args:?}: {said:?}");
            assert_ne!(said.code, Some(0), "{args:?}: {said:?}");
        }
    }
    assert_eq!(ground.read("victim"), "precious\n");
    assert!(!ground.path("made").exists());
}

#[test]
fn a_store_that_is_a_link_is_not_made_a_store() {
    let Some(ground) = Ground::new("look-store") else { return };
    Connection::open(ground.path("victim.db")).unwrap().execute_batch("CREATE TABLE own (a)").unwrap();
    let before = fs::read(ground.path("victim.db")).unwrap();
    ground.bob("mkdir ms; ln -s $T/victim.db ms/mainspring.db");
    // Also where the folder has become root's since.
    ground.root(
        "mkdir taken; ln -s $PWD/victim.db taken/mainspring.db; ln -s $PWD/victim taken/mainspring.lock",
    );
    for args in LOOKS {
        for data in ["bob/ms", "taken"] {
            assert_ne!(look(&ground, args, data).code, Some(0), "{args:?} {data}");
        }
    }
    for args in [&["serve", "--data", "taken"][..], &["serve", "--data", "bob/ms"]] {
        assert_ne!(ground.mainspring(args).code, Some(0), "{args:?}");
    }
    assert_eq!(fs::read(ground.path("victim.db")).unwrap(), before);
    assert!(!ground.path("victim").exists());
    assert!(!ground.path("victim.db-wal").exists());
}

#[test]
fn a_store_with_a_program_in_it_is_not_run() {
    let Some(ground) = Ground::new("look-view") else { return };
    fs::create_dir(ground.path("ms")).unwrap();
    let made = Connection::open(ground.path("ms/mainspring.db")).unwrap();
    let endless = format!(
        "CREATE VIEW job AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
        SELECT max(i) AS name FROM n; PRAGMA user_version = {FORMAT_VERSION}"
    );
    made.execute_batch(&endless).unwrap();
    drop(made);
    for args in LOOKS {
        let said = look(&ground, args, "ms");
        assert!(said.text().contains("its tables are not those"), "{args:?}: {said:?}");
    }
}

#[test]
fn looking_leaves_nothing_behind() {
    let Some(ground) = Ground::new("look-clean") else { return };
    ground.write("c.crontab", "0 0 1 1 * root true\n", 0o644);
    let (data, file) = (ground.text("ms"), ground.text("c.crontab"));
    let mut server = Running::any(&["serve", "--data", &data, "--system", &file]);
    server.wait_for(&["1 job"]);
    server.stop();
    let before = names(&ground.path("ms"));
    for args in LOOKS {
        look(&ground, args, "ms");
        assert_eq!(names(&ground.path("ms")), before, "{args:?}");
    }
    assert_eq!(look(&ground, &["list"], "ms").code, Some(0));
    // Two of them at a time, and one that may not write at all.
    ground.root("exec 9< ms/mainspring.lock; flock -s 9; $M list --data ms > both");
    assert!(ground.read("both").contains("true"), "{}", ground.read("both"));
}

#[test]
fn a_page_of_the_manual_is_written_through_no_link() {
    let Some(ground) = Ground::new("manual") else { return };
    ground.write("victim", "precious", 0o644);
    ground
        .bob("ln -s $T/victim mainspring.1; ln -s $T/victim mainspring-list.1; ln -s $T/made mainspring.new");
    let said = ground.mainspring(&["man", "bob"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(ground.read("victim"), "precious");
    assert!(!ground.path("made").exists());
    assert!(ground.read("bob/mainspring.1").contains("mainspring"));
}
