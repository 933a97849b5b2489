//! Assignment of jobs to files: names in two files, files that move, and files that are no longer given.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use mainspring_host::accounts::Account;

use crate::program::{Running, mainspring, root};
use crate::test_server::{TestServer, folder, write};

/// A job that is due in the far future and has this to say.
fn job(name: &str, text: &str) -> String {
    format!("[jobs.{name}]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'echo {text}'\n")
}

/// A server of the files of a folder, which has its data there too.
fn serve(folder: &Path, files: &[&str]) -> TestServer {
    let names: Vec<String> =
        files.iter().map(|file| folder.join(file).to_str().unwrap().to_owned()).collect();
    let data = folder.join("data");
    let mut args = vec!["serve", "--data", data.to_str().unwrap(), "--grace", "1h"];
    args.extend(names.iter().map(String::as_str));
    let mut running = Running::any(&args);
    running.wait_for(&[", data in "]);
    TestServer { folder: folder.to_owned(), running }
}

/// Ends a server and leaves its folder; returns its log.
fn stop(served: TestServer) -> Vec<String> {
    let (status, lines, errors) = served.running.stop();
    assert_eq!(status.code(), Some(0), "{errors}");
    lines
}

fn names(served: &TestServer) -> Vec<String> {
    let jobs = served.json(&["list", "--json"]);
    let jobs = jobs["jobs"]["jobs"].as_array().unwrap().clone();
    jobs.iter().map(|job| job["name"].as_str().unwrap().to_owned()).collect()
}

fn state(served: &TestServer, name: &str) -> String {
    served.json(&["show", name, "--json"])["job"]["state"].as_str().unwrap().to_owned()
}

#[test]
fn of_two_files_that_say_one_name_the_first_goes_on_and_the_second_is_refused_aloud() {
    let folder = folder("names-two");
    write(&folder.join("a.toml"), &job("backup", "first"));
    write(&folder.join("b.toml"), &(job("report", "x") + &job("backup", "second")));
    let (a, b) = (folder.join("a.toml"), folder.join("b.toml"));
    let problem = format!("{}:5:1: the name `backup` is that of {}:1", b.display(), a.display());
    let data = folder.join("data");
    let words = ["serve", "--data", data.to_str().unwrap(), a.to_str().unwrap(), b.to_str().unwrap()];
    // Where nothing is in force yet, nothing starts.
    let ended = mainspring(&words);
    assert_eq!(ended.code, 6, "{}", ended.stderr);
    assert!(ended.stderr.contains(&problem), "{}", ended.stderr);
    stop(serve(&folder, &["a.toml"]));
    let served = serve(&folder, &["b.toml", "a.toml"]);
    assert_eq!(names(&served), ["backup"]);
    served.says(&["run", "backup", "--wait"], 0, "");
    served.says(&["logs", "backup"], 0, "first");
    served.says(&["status"], 0, "HAS PROBLEMS, 0 jobs");
    served.says(&["doctor"], 1, &format!("BAD      file        {problem}"));
    served.stop();
}

#[test]
fn a_name_that_came_by_command_is_no_files() {
    let folder = folder("names-command");
    let served = serve(&folder, &[]);
    served.says(&["every", "1h", "--name", "backup", "--", "true"], 0, "+ backup");
    stop(served);
    write(&folder.join("b.toml"), &job("backup", "file"));
    let served = serve(&folder, &["b.toml"]);
    served.says(&["status"], 0, "the name `backup` is that of a job that came by command");
    served.says(&["doctor"], 1, "BAD      file");
    served.says(&["remove", "backup"], 0, "");
    // The file has been waiting for the name.
    let mut served = served;
    served.running.wait_for(&["was read again: 1 added"]);
    served.stop();
}

#[test]
fn entries_of_crontabs_that_begin_alike_all_run() {
    let folder = folder("names-alike");
    write(&folder.join("n2.crontab"), "0 0 1 1 * echo danger\n");
    write(&folder.join("n3.crontab"), "0 0 1 1 * echo other file\n0 0 1 1 * echo third\n");
    let served = serve(&folder, &["n2.crontab", "n3.crontab"]);
    assert_eq!(names(&served), ["echo", "n3-echo", "n3-echo-2"]);
    served.says(&["doctor"], 0, "n3.crontab: 2 jobs");
    served.stop();
}

#[test]
fn all_entries_of_debians_own_files_are_loaded() {
    if Account::ourselves().unwrap().name != "root" {
        // Another user may not become root, whose jobs these are.
        return;
    }
    let folder = folder("names-debian");
    let files = [
        "crontab",
        "anacron",
        "awstats",
        "cacti",
        "certbot",
        "e2scrub_all",
        "mdadm",
        "munin-node",
        "ntpsec",
        "php",
        "sysstat",
    ];
    let mut words = vec!["--system".to_owned()];
    for file in files {
        // In a folder that no other user may write.
        write(&folder.join(file), &fs::read_to_string(root().join("testdata/debian").join(file)).unwrap());
        words.push(folder.join(file).to_str().unwrap().to_owned());
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // Three of their users are not on each machine.
    let checked = mainspring(&[&["check"], &words[..]].concat());
    let count = |text: &str| checked.stdout.matches(text).count();
    assert_eq!(count("warning: "), count("warning: there is no user"), "{}", checked.stdout);
    assert_eq!(checked.code, 0, "{}", checked.stdout);
    write(&folder.join("jobs.toml"), "");
    let served = TestServer::start_in(folder, &words);
    let expected = [
        "apt_all",
        "buildstatic.sh",
        "certbot",
        "checkarray",
        "cron.daily",
        "cron.hourly",
        "cron.monthly",
        "cron.weekly",
        "debian-sa1",
        "debian-sa1-2",
        "e2scrub_all",
        "e2scrub_all_cron",
        "invoke-rc.d",
        "poller.php",
        "rotate-stats",
        "sessionclean",
        "update.sh",
    ];
    assert_eq!(names(&served), expected);
    served.stop();
}

#[test]
fn a_pause_survives_edits_of_the_command_and_lines_that_come_and_go() {
    let folder = folder("names-pause");
    let file = folder.join("n2.crontab");
    write(&file, "0 0 1 1 * echo danger\n");
    let mut served = serve(&folder, &["n2.crontab"]);
    served.says(&["pause", "echo"], 0, "");
    write(&file, "0 0 1 1 * echo first\n0 0 1 1 * echo danger\n");
    served.running.wait_for(&["was read again: 1 added, 0 changed, 0 removed"]);
    assert_eq!(names(&served), ["echo", "echo-2"]);
    assert_eq!((state(&served, "echo"), state(&served, "echo-2")), ("paused".into(), "active".into()));
    served.says(&["show", "echo"], 0, "echo danger");
    write(&file, "0 0 1 1 * echo danger --verbose\n");
    served.running.wait_for(&["was read again: 0 added, 1 changed, 1 removed"]);
    assert_eq!(state(&served, "echo"), "paused");
    stop(served);
    write(&file, "0 0 2 2 * echo danger --verbose\n0 0 1 1 * echo first\n");
    let served = serve(&folder, &["n2.crontab"]);
    assert_eq!(state(&served, "echo"), "paused");
    served.says(&["show", "echo"], 0, "echo danger --verbose");
    served.stop();
}

#[test]
fn a_pause_stays_with_an_entry_that_gets_another_program_and_no_new_entry_has_it() {
    let folder = folder("names-program");
    let file = folder.join("n3.crontab");
    write(&file, "1 1 1 1 * backup --all\n2 2 2 2 * echo a\n3 3 3 3 * echo b\n");
    let mut served = serve(&folder, &["n3.crontab"]);
    for name in ["backup", "echo-2"] {
        served.says(&["pause", name], 0, "");
    }
    let rest = "1 1 1 1 * nice rsync --all\n2 2 2 2 * echo a\n";
    write(&file, rest);
    served.running.wait_for(&["was read again: 0 added, 1 changed, 1 removed"]);
    served.says(&["show", "backup"], 0, "rsync --all");
    assert_eq!(state(&served, "backup"), "paused");
    stop(served);
    // The entry that is gone may come back, also after a restart.
    let mut served = serve(&folder, &["n3.crontab"]);
    write(&file, &format!("{rest}4 4 4 4 * echo brand-new\n"));
    served.running.wait_for(&["was read again: 1 added, 0 changed, 0 removed"]);
    assert_eq!(
        (names(&served), state(&served, "echo-3")),
        (vec!["backup".into(), "echo".into(), "echo-3".into()], "active".into())
    );
    write(&file, &format!("{rest}4 4 4 4 * echo brand-new\n3 3 3 3 * echo b\n"));
    served.running.wait_for(&["was read again: 1 added, 0 changed, 0 removed"]);
    assert_eq!(state(&served, "echo-2"), "paused");
    served.stop();
}

#[test]
fn a_deploy_by_symbolic_link_is_the_same_file() {
    let folder = folder("names-link");
    for (release, text) in [("rel1", "version 1"), ("rel2", "version 2")] {
        fs::create_dir(folder.join(release)).unwrap();
        write(&folder.join(release).join("jobs.toml"), &(job("v", text) + &job("w", text)));
    }
    symlink("rel1", folder.join("cur")).unwrap();
    let served = serve(&folder, &["cur/jobs.toml"]);
    served.says(&["pause", "w"], 0, "");
    stop(served);
    fs::remove_file(folder.join("cur")).unwrap();
    symlink("rel2", folder.join("cur")).unwrap();
    fs::remove_dir_all(folder.join("rel1")).unwrap();
    let served = serve(&folder, &["cur/jobs.toml"]);
    served.says(&["show", "v"], 0, "echo version 2");
    assert_eq!(state(&served, "w"), "paused");
    served.stop();
}

#[test]
fn a_changed_link_on_the_way_to_a_file_is_noticed() {
    let folder = folder("names-live-link");
    let config = folder.join("config");
    for (release, text) in [("..v1", "version 1"), ("..v2", "version 2")] {
        fs::create_dir_all(config.join(release)).unwrap();
        write(&config.join(release).join("jobs.toml"), &job("v", text));
    }
    // As Kubernetes mounts a ConfigMap: a change is one rename of a link.
    symlink("..v1", config.join("..data")).unwrap();
    symlink("..data/jobs.toml", config.join("jobs.toml")).unwrap();
    let mut served = serve(&folder, &["config/jobs.toml"]);
    served.says(&["show", "v"], 0, "echo version 1");
    symlink("..v2", config.join("..data_tmp")).unwrap();
    fs::rename(config.join("..data_tmp"), config.join("..data")).unwrap();
    fs::remove_dir_all(config.join("..v1")).unwrap();
    served.running.wait_for(&["was read again: 0 added, 1 changed, 0 removed"]);
    served.says(&["show", "v"], 0, "echo version 2");
    // And again, in the folder that is new.
    write(&config.join("..v2/jobs.toml"), &job("v", "version 3"));
    served.running.wait_for(&["was read again: 0 added, 1 changed, 0 removed"]);
    served.stop();
}

#[test]
fn jobs_of_files_that_are_not_given_any_more_go_and_that_is_said() {
    let folder = folder("names-retired");
    write(&folder.join("a.toml"), &job("a", "x"));
    write(&folder.join("b.toml"), &(job("b", "x") + &job("c", "x")));
    let served = serve(&folder, &["a.toml", "b.toml"]);
    served.says(&["every", "1h", "--name", "kept", "--", "true"], 0, "");
    stop(served);
    // As long as a given file has a problem they stay: perhaps it is theirs under another name.
    write(&folder.join("a.toml"), "[jobs.a]\nevry = 1\n");
    let served = serve(&folder, &["a.toml"]);
    assert_eq!(names(&served), ["a", "b", "c", "kept"]);
    let lines = stop(served);
    let said = "b.toml is not given any more: its 2 jobs go when no given file has a problem (b, c)";
    assert!(lines.iter().any(|line| line.contains(said)), "{lines:#?}");
    let served = serve(&folder, &[]);
    assert_eq!(names(&served), ["kept"]);
    let lines = stop(served);
    let said = "b.toml is not given any more: its 2 jobs are removed (b, c)";
    assert!(lines.iter().any(|line| line.contains(said)), "{lines:#?}");
    let served = serve(&folder, &[]);
    let lines = stop(served);
    assert!(lines.iter().all(|line| !line.contains("any more")), "{lines:#?}");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_file_under_a_new_name_has_the_jobs_of_the_old_one() {
    let folder = folder("names-renamed");
    write(&folder.join("old.toml"), &job("a", "x"));
    write(&folder.join("old.crontab"), "0 0 1 1 * echo same\n0 0 1 1 * echo other\n");
    let served = serve(&folder, &["old.toml", "old.crontab"]);
    served.says(&["pause", "a"], 0, "");
    served.says(&["pause", "echo-2"], 0, "");
    stop(served);
    fs::rename(folder.join("old.toml"), folder.join("new.toml")).unwrap();
    write(&folder.join("new.crontab"), "0 0 1 1 * echo other\n");
    let served = serve(&folder, &["new.toml", "new.crontab"]);
    assert_eq!((state(&served, "a"), state(&served, "echo-2")), ("paused".into(), "paused".into()));
    assert_eq!(names(&served), ["a", "echo-2"]);
    served.stop();
}

#[test]
fn a_file_that_is_renamed_in_a_served_folder_keeps_its_jobs_and_no_entry_is_there_twice() {
    let folder = folder("names-renamed-live");
    let site = folder.join("site");
    fs::create_dir(&site).unwrap();
    write(&site.join("old.toml"), &job("a", "x"));
    write(&site.join("one"), "0 0 1 1 * echo same\n0 0 1 1 * echo other\n");
    let mut served = serve(&folder, &["site"]);
    let before = names(&served);
    let second = before.last().unwrap();
    assert_eq!(before.len(), 3, "{before:?}");
    served.says(&["pause", "a"], 0, "");
    served.says(&["pause", second], 0, "");
    fs::rename(site.join("old.toml"), site.join("new.toml")).unwrap();
    served.running.wait_for(&["new.toml was read again: 0 added, 1 changed, 0 removed"]);
    fs::rename(site.join("one"), site.join("uno")).unwrap();
    served.running.wait_for(&["uno was read again: 0 added, 2 changed, 0 removed"]);
    assert_eq!(names(&served), before);
    assert_eq!((state(&served, "a"), state(&served, second)), ("paused".into(), "paused".into()));
    served.says(&["doctor"], 0, "new.toml: 1 job");
    served.stop();
}

#[test]
fn a_group_that_another_file_in_force_defines_keeps_its_limit() {
    let folder = folder("names-group");
    let text = |name: &str, limit: u32| format!("[groups.g]\nlimit = {limit}\n{}", job(name, "x"));
    for name in ["a", "b"] {
        write(&folder.join(format!("{name}.toml")), &text(name, 2));
    }
    let mut served = serve(&folder, &["a.toml", "b.toml"]);
    write(&folder.join("b.toml"), &text("b", 3));
    served.running.wait_for(&["b.toml has problems, and what was read before stays in force"]);
    served.says(&["doctor"], 1, "the group `g` has the limit 2 in");
    write(&folder.join("a.toml"), &text("a", 3));
    served.running.wait_for(&["was read again"]);
    served.says(&["doctor"], 0, "b.toml: 1 job");
    served.stop();
}

#[test]
fn a_job_may_move_from_one_file_to_another_while_they_are_served() {
    let folder = folder("names-moves");
    write(&folder.join("a.toml"), &(job("x", "x") + &job("y", "y")));
    write(&folder.join("b.toml"), &job("z", "z"));
    let mut served = serve(&folder, &["a.toml", "b.toml"]);
    served.says(&["pause", "x"], 0, "");
    // For a while both files have it: the second is refused, and tried again when the first has let it go.
    write(&folder.join("b.toml"), &(job("z", "z") + &job("x", "moved")));
    served.running.wait_for(&["b.toml has problems, and what was read before stays in force"]);
    write(&folder.join("a.toml"), &job("y", "y"));
    served.running.wait_for(&["b.toml was read again: 0 added, 1 changed, 0 removed"]);
    served.says(&["show", "x"], 0, "echo moved");
    assert_eq!(state(&served, "x"), "paused");
    served.says(&["doctor"], 0, "b.toml: 2 jobs");
    served.stop();
}

#[test]
fn a_file_that_was_applied_and_is_served_later_is_one_file() {
    let folder = folder("names-applied");
    let file = folder.join("a.toml");
    write(&file, &job("a", "x"));
    let served = serve(&folder, &[]);
    served.says(&["apply", file.to_str().unwrap()], 0, "+ a");
    served.says(&["pause", "a"], 0, "");
    stop(served);
    // What was applied stays without being given.
    let served = serve(&folder, &[]);
    assert_eq!(names(&served), ["a"]);
    stop(served);
    let served = serve(&folder, &["a.toml"]);
    served.says(&["remove", "a"], 5, "remove it there");
    assert_eq!(state(&served, "a"), "paused");
    served.says(&["apply", file.to_str().unwrap()], 0, "1 job unchanged");
    served.stop();
}
