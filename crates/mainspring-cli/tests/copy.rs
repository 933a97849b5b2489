//! `mainspring store`: a folder is copied into a database and back, and nothing is lost on the way.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use mainspring_host::directory::Directory;
use mainspring_postgres::{Location, PostgresCopy};
use mainspring_rows::copy::{Source, TABLES, Target};
use mainspring_store::SqliteStore;

use crate::database::Database;
use crate::program::{EndedProgram, Running, mainspring};
use crate::test_server::{TestServer, folder, write};

const JOBS: &str = "[jobs.idle]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'echo ran; exit ${CODE:-0}'\n\
    [jobs.bad]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\ndead_letters = 'always'\nshell = 'exit 3'\n";

/// What a folder says without a server.
fn said(data: &Path) -> Vec<String> {
    let data = data.to_str().unwrap();
    [
        vec!["history", "-n", "100", "--json", "--data", data],
        vec!["export", "--data", data],
        vec!["list", "--json", "--data", data],
        vec!["list", "--pending", "--json", "--data", data],
        vec!["show", "idle", "--json", "--data", data],
        vec!["dead", "list", "--json", "--data", data],
        vec!["audit", "--json", "--data", data],
    ]
    .iter()
    .map(|arguments| {
        let EndedProgram { code, stdout, stderr } = mainspring(arguments);
        assert_eq!(code, 0, "{arguments:?}: {stderr}");
        stdout
    })
    .collect()
}

fn copy(source: &str, target: &str) -> EndedProgram {
    mainspring(&["store", "copy", source, target])
}

fn fails(ended: &EndedProgram, part: &str) {
    assert_ne!(ended.code, 0, "{}", ended.stdout);
    assert!(ended.stderr.contains(part), "{}", ended.stderr);
}

#[test]
fn a_folder_is_the_same_after_a_way_through_a_database() {
    let Some(database) = Database::start() else { return };
    let served = TestServer::start("copy", JOBS);
    served.says(&["run", "--wait", "idle"], 0, "idle@");
    served.ask(&["run", "--wait", "bad"]);
    served.says(&["at", "2100-01-01T00:00:00Z", "--name", "later", "--key", "k1", "--", "true"], 0, "later");
    served.says(&["at", "2100-01-01T00:00:00Z", "--", "echo", "a\u{f8ff}b"], 0, "once-");
    served.says(&["pause", "idle", "--note", "for now"], 0, "");
    let data = served.data();
    let (from, url) = (format!("sqlite:{data}"), format!("postgres:{}", database.url()));
    // A folder that a server has is refused, and nothing is in the database.
    let taken = copy(&from, &url);
    assert_eq!(taken.code, 5, "{}", taken.stderr);
    let exported = served.ask(&["export", "--history"]);
    assert_eq!(exported.code, 0, "{}", exported.stderr);
    assert_eq!(served.running.stop().0.code(), Some(0));
    let before = said(Path::new(&data));
    assert!(before[0].contains("\"bad\""), "{}", before[0]);

    a_copy_that_ends_in_the_middle_leaves_nothing(&database, Path::new(&data));
    let copied = copy(&from, &url);
    assert_eq!(copied.code, 0, "{}", copied.stderr);
    assert!(copied.stdout.contains("pending  2\n"), "{}", copied.stdout);
    fails(&copy(&from, &url), "it holds something already");
    assert_eq!(said(Path::new(&data)), before, "the source is as it was");

    let folder = folder("copied");
    let back = folder.join("data");
    let to = format!("sqlite:{}", back.display());
    assert_eq!(copy(&url, &to).stdout, copied.stdout);
    assert_eq!(said(&back), before);
    fails(&copy(&url, &to), "it holds something already");
    fails(&copy(&from, &to), "one of both is a folder");
    // A server that has such a file does not take it for one that the database never had.
    let unknown = "SELECT count(*) FROM mainspring.job AS j, mainspring.planner AS p
        WHERE j.source IS NOT NULL AND j.source <> ALL (p.sources)";
    assert_eq!(database.ask(unknown), "0");

    servers_go_on_with_it(&database, &folder);
    let back = TestServer::start_in(folder.clone(), &[]);
    assert_eq!(back.ask(&["export", "--history"]).stdout, exported.stdout);
    back.stop();
    let _ = fs::remove_dir_all(&folder);
}

/// As after a kill: the session ends before all is there.
fn a_copy_that_ends_in_the_middle_leaves_nothing(database: &Database, data: &Path) {
    let location = Location::parse(&database.url()).unwrap();
    let mut broken = PostgresCopy::open(&location).unwrap();
    let directory = Arc::new(Directory::look(data).unwrap());
    let mut source = SqliteStore::look(&directory).unwrap();
    broken.begin().unwrap();
    source.each(&TABLES[0], &mut |rows| broken.add(&TABLES[0], rows)).unwrap();
    assert_eq!(broken.count(&TABLES[0]).unwrap(), 2);
    drop((broken, source, directory));
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.job"), "0");
}

/// A server of the database knows the keys, and keeps a copy out.
fn servers_go_on_with_it(database: &Database, folder: &Path) {
    let (store, jobs, own) = (folder.join("store"), folder.join("jobs.toml"), folder.join("own"));
    write(&store, &(database.url() + "\n"));
    write(&jobs, JOBS);
    let paths = [&own, &store, &jobs].map(|path| path.to_str().unwrap().to_owned());
    let mut running = Running::any(&["serve", "--data", &paths[0], "--store-file", &paths[1], &paths[2]]);
    running.wait_for(&["this server plans now"]);
    running.wait_for(&["mainspring", "jobs, data in"]);
    let again = mainspring(&[
        "at",
        "2100-01-01T00:00:00Z",
        "--name",
        "more",
        "--key",
        "k1",
        "--data",
        &paths[0],
        "--",
        "true",
    ]);
    assert!(
        format!("{}{}", again.stdout, again.stderr).contains("later"),
        "{}{}",
        again.stdout,
        again.stderr
    );
    // A database that a server has is refused.
    let other = format!("sqlite:{}", folder.join("other").display());
    fails(&copy(&format!("file:{}", store.display()), &other), "owns the jobs: stop all servers first");
    assert_eq!(running.stop().0.code(), Some(0));
}

#[test]
fn the_tables_are_made_by_a_role_that_may_from_the_preview() {
    let Some(database) = Database::start() else { return };
    assert!(database.psql("mainspring", "CREATE ROLE plain LOGIN").status.success());
    let folder = folder("preview");
    let store = folder.join("store");
    write(&store, &(database.url().replace("user=mainspring", "user=plain") + "\n"));
    let (store, data) = (store.to_str().unwrap(), folder.join("data"));
    let data = data.to_str().unwrap();
    let told = mainspring(&["serve", "--data", data, "--store-file", store]);
    fails(&told, "`mainspring store migrate --preview` prints the SQL");
    fails(&mainspring(&["store", "migrate", "--store-file", store]), "prints the SQL");
    let preview = mainspring(&["store", "migrate", "--preview", "--store-file", store]);
    assert_eq!(preview.code, 0, "{}", preview.stderr);
    database.script(&preview.stdout);
    let grants = "GRANT USAGE ON SCHEMA mainspring TO plain; GRANT ALL ON ALL TABLES IN SCHEMA mainspring TO plain;
        GRANT ALL ON ALL SEQUENCES IN SCHEMA mainspring TO plain; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA mainspring TO plain";
    assert!(database.psql("mainspring", grants).status.success());
    let done = mainspring(&["store", "migrate", "--preview", "--store-file", store]);
    assert!(done.stdout.contains("there is nothing to do"), "{}{}", done.stdout, done.stderr);
    let mut running = Running::any(&["serve", "--data", data, "--store-file", store]);
    running.wait_for(&["this server plans now"]);
    assert_eq!(running.stop().0.code(), Some(0));
    // A database whose floor is above what this program knows is not written by it.
    assert!(
        database
            .psql("mainspring", "UPDATE mainspring.planner SET version = 99, floor = 99")
            .status
            .success()
    );
    fails(&mainspring(&["store", "migrate", "--store-file", store]), "99");
    let _ = fs::remove_dir_all(&folder);
}
