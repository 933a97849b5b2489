//! `mainspring crontab`, also by the name `crontab`: a crontab is shown as it is, checked, and replaced.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use mainspring_host::accounts::Account;

use crate::program::{EndedProgram, ended, mainspring, mainspring_with_input};
use crate::test_server::{folder, write};

/// A root with the folder of the crontabs of users.
fn root(name: &str) -> PathBuf {
    let root = folder(name);
    fs::create_dir_all(root.join("var/spool/cron/crontabs")).unwrap();
    root
}

fn crontab(root: &Path, args: &[&str], input: &str) -> EndedProgram {
    let own = ["crontab", "--root", root.to_str().unwrap()];
    mainspring_with_input(&[&own[..], args].concat(), input.as_bytes())
}

/// The file of the user that the test is.
fn file(root: &Path) -> PathBuf {
    root.join("var/spool/cron/crontabs").join(Account::ourselves().unwrap().name)
}

#[test]
fn a_crontab_is_installed_shown_as_it_is_and_removed() {
    let root = root("crontab");
    let none = crontab(&root, &["-l"], "");
    assert_eq!((none.code, none.stderr.starts_with("no crontab for ")), (1, true), "{}", none.stderr);
    let text = "MAILTO=\"\"\n# \u{1b}[31m\n30 2 * * *  /usr/local/bin/backup --all\n";
    assert_eq!(crontab(&root, &["-"], text).code, 0);
    let found = fs::metadata(file(&root)).unwrap();
    assert_eq!((found.mode() & 0o7777, found.uid()), (0o600, nix::unistd::Uid::current().as_raw()));
    let shown = crontab(&root, &["-l"], "");
    assert_eq!((shown.code, shown.stdout.as_str()), (0, text), "as it is, for a program");
    // The last line has an end, which Debian's cron asks for.
    let path = root.join("mine");
    write(&path, "@daily true");
    assert_eq!(crontab(&root, &[path.to_str().unwrap()], "").code, 0);
    assert_eq!(crontab(&root, &["-l"], "").stdout, "@daily true\n");
    let asked = crontab(&root, &["-r", "-i"], "n\n");
    assert_eq!((asked.code, file(&root).exists()), (0, true), "{}", asked.stderr);
    assert_eq!((crontab(&root, &["-r"], "").code, file(&root).exists()), (0, false));
    assert_eq!(crontab(&root, &["-r"], "").code, 1);
    assert_eq!(fs::read_dir(file(&root).parent().unwrap()).unwrap().count(), 0);
    let _ = fs::remove_dir_all(&root);
}

#[test]
fn the_end_of_the_last_line_counts_for_the_longest_crontab() {
    let root = root("crontab-longest");
    let text = "#".repeat(4 << 20);
    let longer = crontab(&root, &["-"], &text);
    assert_eq!((longer.code, file(&root).exists()), (1, false), "{}", longer.stderr);
    assert!(longer.stderr.contains("no line end"), "{}", longer.stderr);
    assert_eq!(crontab(&root, &["-"], &text[1..]).code, 0);
    assert_eq!(crontab(&root, &["-l"], "").stdout.len(), text.len());
    let _ = fs::remove_dir_all(&root);
}

#[test]
fn a_crontab_with_a_problem_is_shown_with_it_and_not_installed() {
    let root = root("crontab-bad");
    assert_eq!(crontab(&root, &["-"], "@daily old\n").code, 0);
    let bad = crontab(&root, &["-"], "@daily new\n61 * * * * x\n");
    assert_eq!(bad.code, 6);
    for part in ["standard input:2:1", "^^", "nothing is installed"] {
        assert!(bad.stderr.contains(part), "{part} in {}", bad.stderr);
    }
    // What reads like a job file is a crontab here, as it is in the spool.
    assert_eq!(crontab(&root, &["-"], "[jobs.x]\nevery = '1m'\nshell = 'true'\n").code, 6);
    assert_eq!(crontab(&root, &["-"], "0 1 * * * x\0y\n").code, 6);
    assert_eq!(crontab(&root, &["-l"], "").stdout, "@daily old\n");
    // What is doubtful is shown, and installed.
    let doubtful = crontab(&root, &["-"], "PATH=$PATH:/opt\n@daily new\n");
    assert_eq!((doubtful.code, doubtful.stderr.contains("expands no variable")), (0, true));
    let path = root.join("checked");
    write(&path, "@daily newer\n");
    assert_eq!(crontab(&root, &["-n", path.to_str().unwrap()], "").code, 0);
    assert_eq!(crontab(&root, &["-l"], "").stdout, "PATH=$PATH:/opt\n@daily new\n");
    let _ = fs::remove_dir_all(&root);
}

#[test]
fn an_edited_crontab_is_installed_and_a_bad_one_stays_where_it_was_edited() {
    let root = root("crontab-edit");
    let edit = |editor: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mainspring"));
        command.args(["crontab", "--root", root.to_str().unwrap(), "-e"]);
        command.env("VISUAL", editor).env("TMPDIR", &root).env("TZ", "UTC");
        ended(command.output().unwrap())
    };
    let script = root.join("my editor");
    write(&script, "#!/bin/sh\nshift\necho \"$LINE\" >>\"$1\"\n");
    fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    let editor = |line: &str| format!("LINE='{line}' '{}' --option", script.display());
    let first = edit(&editor("@daily one"));
    assert_eq!(first.code, 0, "{}", first.stderr);
    let text = crontab(&root, &["-l"], "").stdout;
    assert!(text.starts_with("# minute (0-59)") && text.ends_with("\n@daily one\n"), "{text}");
    let same = edit("true");
    assert_eq!((same.code, same.stderr.as_str()), (0, "crontab: no change\n"));
    let bad = edit(&editor("61 * * * * two"));
    assert_eq!((bad.code, bad.stderr.contains("^^")), (6, true), "{}", bad.stderr);
    let left = bad.stderr.lines().last().unwrap().split(" is in ").nth(1).unwrap().to_owned();
    assert!(fs::read_to_string(&left).unwrap().ends_with("61 * * * * two\n"));
    assert_eq!(fs::metadata(Path::new(&left).parent().unwrap()).unwrap().mode() & 0o777, 0o700);
    let failed = edit("false");
    assert_eq!(failed.code, 1, "{}", failed.stderr);
    assert_eq!(crontab(&root, &["-l"], "").stdout, text);
    let _ = fs::remove_dir_all(&root);
}

#[test]
fn the_program_is_crontab_by_its_name_and_the_server_of_cron_sees_what_it_installs() {
    let root = root("crontab-name");
    write(&root.join("jobs.toml"), "");
    let link = root.join("crontab");
    symlink(env!("CARGO_BIN_EXE_mainspring"), &link).unwrap();
    let run = |args: &[&str]| ended(Command::new(&link).args(args).output().unwrap());
    assert!(run(&["--help"]).stdout.starts_with("Installs, shows, edits and removes the crontab"));
    assert_eq!(run(&["serve"]).code, 1, "there is no file of that name");
    assert_eq!(run(&["-e", "-l"]).code, 2);
    let cron = format!("--cron={}", root.display());
    let mut served = crate::test_server::TestServer::start_in(root.clone(), &[&cron]);
    let text = "# mainspring: name=own\n0 0 1 1 * true\n";
    assert_eq!(crontab(&root, &["-"], text).code, 0);
    served.running.wait_for(&[&file(&root).display().to_string(), "1 added"]);
    served.stop();
    let unknown = mainspring(&["crontab", "-u", "no-such-user", "-l"]);
    assert_eq!(unknown.code, 7, "{}", unknown.stderr);
}
