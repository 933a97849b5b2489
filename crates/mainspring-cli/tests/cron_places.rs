//! `serve --cron`: what Debian's cron serves, by its rules, below a root that a test may write.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use mainspring_host::accounts::Account;

use crate::program::mainspring;
use crate::test_server::{TestServer, folder, write};

/// A job that is never due, and writes its environment and where it is.
fn entry(name: &str, user: &str) -> String {
    format!("# mainspring: name={name}\n0 0 30 2 * {user} env; pwd\n")
}

fn crontab(path: &Path, text: &str, mode: u32) {
    write(path, text);
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn user() -> String {
    Account::ourselves().unwrap().name
}

/// A root with the folders of cron.
fn root(name: &str) -> std::path::PathBuf {
    let root = folder(name);
    for below in ["etc/cron.d", "etc/default", "var/spool/cron/crontabs"] {
        fs::create_dir_all(root.join(below)).unwrap();
    }
    write(&root.join("jobs.toml"), "");
    root
}

fn start(root: std::path::PathBuf) -> TestServer {
    let cron = format!("--cron={}", root.display());
    TestServer::start_in(root, &[&cron])
}

#[test]
fn crons_places_are_served_by_its_rules() {
    let (root, user) = (root("cron-places"), user());
    crontab(&root.join("etc/crontab"), &entry("table", &user), 0o644);
    crontab(&root.join("etc/cron.d/php"), &entry("package", &user), 0o644);
    crontab(&root.join("etc/cron.d/php.dpkg-old"), &entry("leftover", &user), 0o644);
    crontab(&root.join("etc/cron.d/jobs.toml"), "[jobs.toml]\nevery = '1h'\nshell = 'true'\n", 0o644);
    crontab(&root.join("etc/other"), &entry("other", &user), 0o644);
    let spool = root.join("var/spool/cron/crontabs");
    crontab(&spool.join(&user), &(entry("own", "") + "0 0 30 2 * env\n"), 0o600);
    crontab(&spool.join("tmp.x"), &entry("half", ""), 0o600);
    crontab(&spool.join("no-such-user"), &entry("orphan", ""), 0o600);
    let mut served = start(root);
    served.running.wait_for(&["php.dpkg-old is left out: cron takes files with names of"]);
    // The name of a user's job takes none of root's.
    for job in ["table", "package", &format!("own@{user}"), &format!("env@{user}")] {
        served.says(&["show", job], 0, "");
    }
    for job in ["leftover", "toml", "other", "half", "orphan"] {
        assert_eq!(served.ask(&["show", job]).code, 4, "{job} is no job of cron's");
    }
    // They come and go.
    let spool = served.folder.join("var/spool/cron/crontabs");
    let file = spool.join(&user);
    crontab(&spool.join("tmp.y"), &(entry("own", "") + &entry("second", "") + &entry("third", "")), 0o600);
    fs::rename(spool.join("tmp.y"), &file).unwrap();
    served.running.wait_for(&[&format!("{} was read again: 2 added", file.display())]);
    served.stop();
}

#[test]
fn a_crontab_of_the_spool_has_the_mode_of_cron_and_no_other_name() {
    let user = user();
    type Break = fn(&Path, &Path);
    let breaks: [(&str, Break); 4] = [
        ("its mode is 0644", |file, _| fs::set_permissions(file, Permissions::from_mode(0o644)).unwrap()),
        ("its mode is 0400", |file, _| fs::set_permissions(file, Permissions::from_mode(0o400)).unwrap()),
        ("it has 2 names", |file, other| fs::hard_link(file, other).unwrap()),
        ("it is a link", |file, other| {
            fs::rename(file, other).unwrap();
            symlink(other, file).unwrap();
        }),
    ];
    for (why, change) in breaks {
        let root = root("cron-spool");
        let file = root.join("var/spool/cron/crontabs").join(&user);
        crontab(&file, &entry("own", ""), 0o600);
        change(&file, &root.join("elsewhere"));
        crontab(&root.join("etc/crontab"), &entry("table", &user), 0o644);
        let served = start(root);
        // The other files are in force, as with cron.
        served.says(&["show", "table"], 0, "");
        assert_eq!(served.ask(&["show", &format!("own@{user}")]).code, 4, "{why}");
        served.says(&["doctor"], 1, why);
        served.stop();
    }
}

#[test]
fn a_line_that_cron_takes_and_never_runs_stops_no_other_and_is_told_of() {
    let (root, user) = (root("cron-dead-line"), user());
    let file = root.join("var/spool/cron/crontabs").join(&user);
    let lines = |hours: &str| format!("CRON_TZ=Nowhere/Bad\n0 {hours} 30 2 * echo night\n0 0 30 2 * env\n");
    crontab(&file, &lines("22"), 0o600);
    let mut served = start(root);
    let [night, env] = ["echo", "env"].map(|word| format!("{word}@{user}"));
    served.says(&["pause", &night], 0, "");
    crontab(&file, &lines("22-6"), 0o600);
    served.running.wait_for(&["has problems, and the rest of it is in force"]);
    served.running.wait_for(&["was read again: 0 added, 0 changed, 1 removed"]);
    served.says(&["show", &env], 0, "");
    let status = served.ask(&["status", "--json"]).stdout;
    for part in ["the range `22-6` runs backwards", "to Debian's cron this is a variable like any other"] {
        assert!(status.contains(part), "{part} in {status}");
    }
    crontab(&file, &lines("22,23"), 0o600);
    served.running.wait_for(&["was read again: 1 added, 0 changed, 0 removed"]);
    served.says(&["show", &night], 0, "paused");
    crontab(&file, &lines("25"), 0o600);
    served.running.wait_for(&["has problems, and what was read before stays in force"]);
    // What cron takes is refused before it is installed.
    crontab(&file, &lines("22-6").replace("CRON_TZ", "OTHER"), 0o600);
    assert_eq!(mainspring(&["check", file.to_str().unwrap()]).code, 6);
    served.stop();
}

#[test]
fn a_command_has_the_variables_of_the_system_and_a_place_without_a_home() {
    let (root, user) = (root("cron-variables"), user());
    crontab(&root.join("etc/environment"), "http_proxy=\"http://proxy:3128\"\nPATH=/none\nA=1\nB=1\n", 0o644);
    crontab(&root.join("etc/default/locale"), "B=2\n", 0o644);
    let text = format!("HOME=/no/such/home\nA=3\n{}", entry("own", &user));
    crontab(&root.join("etc/crontab"), &text, 0o644);
    let mut served = start(root);
    served.running.wait_for(&["there is no home /no/such/home: commands of user"]);
    served.says(&["run", "own", "--wait"], 0, "");
    let said = served.ask(&["logs", "own"]).stdout;
    let has = |line: &str| said.lines().any(|found| found == line);
    for line in ["http_proxy=http://proxy:3128", "PATH=/usr/bin:/bin", "A=3", "B=2", "HOME=/no/such/home"] {
        assert!(has(line), "{line} is missing: {said}");
    }
    assert!(has(&served.folder.join("var/spool/cron").display().to_string()), "{said}");
    // A change is seen without a reload.
    crontab(&served.folder.join("etc/environment"), "http_proxy=none\n", 0o644);
    served.says(&["run", "own", "--wait"], 0, "");
    assert!(served.ask(&["logs", "own"]).stdout.contains("http_proxy=none\n"));
    served.stop();
}
