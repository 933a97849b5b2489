//! Files that are saved slowly, lose jobs by mistake, or are gone: a few rows of the table of
//! `mainspring_file::watch`, with the real program.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::time::SystemTime;

use nix::sys::signal::Signal;

use crate::cluster::{Member, prepared};
use crate::test_server::{IDLE, TestServer, folder, write};

/// Three jobs that run only by hand; a run of `c` fails, and its retry waits.
const JOBS: &str = "[jobs.a]\nat = 2100-01-01T00:00:00Z\nshell = 'true'\n
[jobs.b]\nat = 2100-01-01T00:00:00Z\nshell = 'true'\n
[jobs.c]\nat = 2100-01-01T00:00:00Z\nshell = 'exit 3'\nretry = { max = 3, backoff = '1h' }\n";

fn started(name: &str, args: &[&str]) -> TestServer {
    let folder = folder(name);
    write(&folder.join("jobs.toml"), JOBS);
    write(&folder.join("other.toml"), IDLE);
    let other = folder.join("other.toml").to_str().unwrap().to_owned();
    let mut served = TestServer::start_in(folder, &[&[other.as_str()], args].concat());
    served.says(&["pause", "b"], 0, "");
    served.says(&["run", "c"], 0, "");
    served.running.wait_for(&["c", "attempt 2 is due"]);
    served
}

fn is_as_it_was(served: &TestServer) {
    served.says(&["show", "b"], 0, "paused");
    served.says(&["history", "c"], 0, "scheduled");
}

#[test]
fn a_file_that_is_saved_slowly_is_read_when_it_is_whole() {
    let mut served = started("slow", &[]);
    let mut file = File::create(served.file()).unwrap();
    file.write_all(&JOBS.as_bytes()[..JOBS.len() / 3]).unwrap();
    file.flush().unwrap();
    // Another file changes and is read twice meanwhile: each time all files were looked at.
    for number in 1..=2 {
        let other = served.folder.join("other.toml");
        write(&other, &format!("{IDLE}# {number}\n"));
        served.running.wait_for(&["other.toml was read again: 0 added, 0 changed, 0 removed"]);
    }
    file.write_all(&JOBS.as_bytes()[JOBS.len() / 3..]).unwrap();
    drop(file);
    served.running.wait_for(&["jobs.toml was read again: 0 added, 0 changed, 0 removed"]);
    is_as_it_was(&served);
    served.stop();
}

#[test]
fn jobs_that_a_file_has_lost_come_back_as_they_were_also_after_a_restart() {
    let mut served = started("lost", &[]);
    write(&served.file(), JOBS.split("\n\n").next().unwrap());
    served.running.wait_for(&["was read again: 0 added, 0 changed, 2 removed"]);
    served.running.wait_for(&["has lost most of its jobs: 2 of 3 are removed"]);
    served.says(&["show", "b"], 4, "");
    let doctor = served.ask(&["doctor"]);
    assert!(doctor.stdout.contains("has lost most of its jobs"), "{}", doctor.stdout);
    let folder = served.folder.clone();
    let other = folder.join("other.toml").to_str().unwrap().to_owned();
    served.stop_and_keep();
    let mut served = TestServer::start_in(folder, &[&other]);
    write(&served.file(), JOBS);
    served.running.wait_for(&["was read again: 2 added, 0 changed, 0 removed"]);
    is_as_it_was(&served);
    served.stop();
}

#[test]
fn jobs_of_a_file_that_is_gone_can_be_removed_and_pruned() {
    let mut served = started("gone", &[]);
    let name = served.file().to_str().unwrap().to_owned();
    served.says(&["remove", "a"], 5, "remove it there");
    fs::remove_file(served.file()).unwrap();
    served.says(&["remove", "a"], 0, "");
    served.says(&["apply", &name], 1, "No such file");
    served.says(&["apply", "--prune", "--diff", &name], 0, "- b");
    served.says(&["apply", "--prune", &name], 0, "- c");
    served.says(&["show", "b"], 4, "");
    served.says(&["apply", "--prune", &name], 1, "No such file");
    write(&served.file(), JOBS);
    served.running.wait_for(&["was read again: 3 added, 0 changed, 0 removed"]);
    is_as_it_was(&served);
    served.stop();
}

#[test]
fn a_job_that_moves_by_two_saves_is_as_it_was_whichever_is_the_first() {
    let moved = JOBS.split_once("\n\n").unwrap().1;
    let (first, both) = (JOBS.split("\n\n").next().unwrap(), format!("{IDLE}{moved}"));
    // First none of the files has them.
    let mut served = started("moved-none", &[]);
    let other = served.folder.join("other.toml");
    write(&served.file(), first);
    served.running.wait_for(&["was read again: 0 added, 0 changed, 2 removed"]);
    write(&other, &both);
    served.running.wait_for(&["other.toml was read again: 2 added, 0 changed, 0 removed"]);
    is_as_it_was(&served);
    // Then both have them for a while.
    write(&served.file(), JOBS);
    served.running.wait_for(&["jobs.toml has problems, and what was read before stays in force"]);
    write(&other, IDLE);
    served.running.wait_for(&["jobs.toml was read again: 0 added, 2 changed, 0 removed"]);
    is_as_it_was(&served);
    served.says(&["show", "b"], 0, &format!("{}:", served.file().display()));
    served.stop();
}

#[test]
fn jobs_go_on_whose_folder_is_gone() {
    let folder = folder("away");
    let inner = folder.join("inner");
    fs::create_dir(&inner).unwrap();
    fs::set_permissions(&inner, fs::Permissions::from_mode(0o755)).unwrap();
    write(&inner.join("more.toml"), &IDLE.replace("idle", "more"));
    write(&folder.join("jobs.toml"), IDLE);
    let mut served = TestServer::start_in(folder, &[inner.join("more.toml").to_str().unwrap()]);
    fs::rename(&inner, served.folder.join("moved")).unwrap();
    // A sign of a change: all files are looked at.
    OpenOptions::new().append(true).open(served.file()).unwrap().write_all(b"# more\n").unwrap();
    served.running.wait_for(&["jobs.toml was read again: 0 added, 0 changed, 0 removed"]);
    let doctor = served.ask(&["doctor"]);
    assert!(
        doctor.stdout.contains("more.toml is gone with its folder: its 1 job continues"),
        "{}",
        doctor.stdout
    );
    served.says(&["show", "more"], 0, "active");
    served.stop();
}

#[test]
fn a_file_of_a_pool_is_applied_when_its_text_changes_and_neither_its_time_nor_its_mode_alone() {
    let Some((folder, database)) = prepared("sources-pool") else { return };
    let file = folder.join("jobs.toml");
    let mut one = Member::start(&folder, "one", &database);
    one.begins();
    assert_eq!(one.running.stop().0.code(), Some(0));
    let job = |name: &str| format!("[jobs.{name}]\nat = 2100-01-01T00:00:00Z\nshell = 'true'\n");
    write(&file, &job("older"));
    let mut other = Member::start(&folder, "other", &database);
    other.begins();
    File::options().append(true).open(&file).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    other.running.wait_for(&["jobs.toml differs from what the database holds"]);
    let listed = other.ask(&["list"]).stdout;
    assert!(listed.contains("often") && !listed.contains("older"), "{listed}");
    other.running.signal(Signal::SIGHUP);
    other.running.wait_for(&["jobs.toml was read again: 1 added, 0 changed, 2 removed"]);
    write(&file, &job("newer"));
    other.running.wait_for(&["jobs.toml was read again: 1 added, 0 changed, 1 removed"]);
    assert_eq!(other.running.stop().0.code(), Some(0));
    let _ = fs::remove_dir_all(&folder);
}
