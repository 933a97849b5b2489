//! A folder as a source of jobs, as cron has /etc/cron.d: its files come and go, and leftovers are left out.

use std::fs;

use nix::sys::signal::Signal;

use crate::program::mainspring;
use crate::test_server::{TestServer, folder, write};

#[test]
fn files_of_a_served_folder_come_and_leftovers_of_packages_and_editors_do_not() {
    let root = folder("folder");
    let cron = root.join("cron.d");
    fs::create_dir_all(&cron).unwrap();
    let entry = |name: &str| format!("# mainspring: name={name}\n0 1 1 1 * true\n");
    write(&cron.join("certbot"), &entry("renew"));
    write(&cron.join("certbot.dpkg-old"), &entry("old"));
    write(&cron.join("later.toml~"), &entry("backup"));
    write(&root.join("jobs.toml"), "");
    let mut served = TestServer::start_in(root, &[cron.to_str().unwrap()]);
    served.running.wait_for(&["certbot.dpkg-old is left out: the files of a folder have names of letters"]);
    served.says(&["show", "renew"], 0, "cron.d/certbot");
    for other in ["old", "backup"] {
        assert_eq!(served.ask(&["show", other]).code, 4, "{other} is no job");
    }
    // A package brings a file while the server runs.
    write(&cron.join("logrotate"), &entry("rotate"));
    served.running.wait_for(&["cron.d/logrotate was read again: 1 added"]);
    served.says(&["run", "rotate", "--wait"], 0, "");
    // The same folder, the same jobs.
    let again = |served: TestServer| {
        served.running.signal(Signal::SIGKILL);
        served.running.end();
        let folder = served.folder.join("cron.d");
        TestServer::start_in(served.folder, &[folder.to_str().unwrap()])
    };
    let served = again(served);
    served.says(&["show", "rotate"], 0, "cron.d/logrotate");
    let checked = mainspring(&["check", cron.to_str().unwrap()]);
    assert_eq!(checked.code, 0, "{}", checked.stdout);
    assert_eq!(checked.stdout.matches(": 1 job, no problems").count(), 2, "{}", checked.stdout);
    assert_eq!(checked.stderr.matches(" is left out: ").count(), 2, "{}", checked.stderr);
    // A file without its folder is no removal, and a folder without a file is one: not at once, but at a
    // start.
    let cron = served.folder.join("cron.d");
    fs::remove_file(cron.join("certbot")).unwrap();
    let served = again(served);
    assert_eq!(served.ask(&["show", "renew"]).code, 4, "its file is gone");
    fs::rename(&cron, served.folder.join("away")).unwrap();
    served.says(&["show", "rotate"], 0, "");
    served.stop();
}

#[test]
fn a_file_that_cron_would_leave_out_is_served_with_a_word_where_it_is_named() {
    let root = folder("folder-named");
    let cron = root.join("cron.d");
    fs::create_dir_all(&cron).unwrap();
    write(&cron.join("certbot.dpkg-old"), "0 1 1 1 * root true\n");
    write(&root.join("jobs.toml"), "");
    let file = cron.join("certbot.dpkg-old");
    let mut served = TestServer::start_in(root, &["--system", file.to_str().unwrap()]);
    served.running.wait_for(&["certbot.dpkg-old is served, and cron leaves files of such a name out"]);
    served.stop();
}
