//! Comments in a crontab that is served name entries and disable them.

use std::path::Path;

use serde_json::Value;

use crate::program::{Running, mainspring};
use crate::test_server::{TestServer, folder, write};

const NAMED: &str = "HOME=/\n# mainspring: name=backup timeout=5s overlap=queue-one\n0 0 1 1 * echo BACKUP\n\n\
                     # the report\n0 0 2 1 * sleep 7; echo REPORT\n";

fn serve(folder: &Path) -> TestServer {
    let (data, file) = (folder.join("data"), folder.join("x.crontab"));
    let mut running = Running::any(&["serve", "--data", data.to_str().unwrap(), file.to_str().unwrap()]);
    running.wait_for(&[", data in "]);
    TestServer { folder: folder.to_owned(), running }
}

fn jobs(served: &TestServer) -> Vec<Value> {
    served.json(&["list", "--json"])["jobs"]["jobs"].as_array().unwrap().clone()
}

#[test]
fn an_entry_that_is_made_a_comment_gives_what_it_had_to_no_other() {
    let folder = folder("comments-off");
    let file = folder.join("x.crontab");
    write(&file, NAMED);
    let served = serve(&folder);
    served.says(&["pause", "backup"], 0, "");
    served.says(&["run", "backup", "--wait"], 0, "");
    served.running.stop();
    write(&file, &NAMED.replace("0 0 1 1", "#0 0 1 1"));
    let checked = mainspring(&["check", "--strict", file.to_str().unwrap()]);
    assert_eq!(checked.code, 0, "{}", checked.stdout);
    assert!(checked.stdout.contains("2:3: note: the entry below is a comment: `backup` is switched off"));
    let served = serve(&folder);
    let report = &jobs(&served)[..];
    let [report] = report else { panic!("one job is left: {report:?}") };
    assert_eq!(report["state_code"], "active", "{report}");
    assert!(report["name"] != "backup" && report["last"].is_null(), "{report}");
    let shown = served.ask(&["show", report["name"].as_str().unwrap()]).stdout;
    assert!(!shown.contains("timeout = ") && !shown.contains("queue-one"), "{shown}");
    served.stop();
}

#[test]
fn a_line_that_belongs_to_nothing_keeps_no_file_out_of_force() {
    let folder = folder("comments-stray");
    let file = folder.join("x.crontab");
    write(&file, &NAMED.replace("queue-one\n", "queue-one\n\n"));
    let mut served = serve(&folder);
    let problem = "2:3: no entry stands on the line below";
    assert_eq!(mainspring(&["check", file.to_str().unwrap()]).code, 6);
    served.says(&["status"], 0, "HAS PROBLEMS, 2 jobs");
    served.says(&["doctor"], 1, problem);
    write(&file, &format!("{NAMED}# mainspring: name=more\n"));
    served.running.wait_for(&["has problems, and the rest of it is in force"]);
    assert!(jobs(&served).iter().any(|job| job["name"] == "backup"));
    served.stop();
}
