//! The documented exit codes, each by commands that end with it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::program::{mainspring, root};
use crate::test_server::{IDLE, TestServer, folder, write};

/// How often a command is tried that should meet a server which takes no more.
const MOST_TRIES: u32 = 1_000;

#[track_caller]
fn ends(args: &[&str], code: i32) {
    let ended = mainspring(args);
    assert_eq!(ended.code, code, "{args:?}: {}{}", ended.stdout, ended.stderr);
}

#[test]
fn the_reference_lists_the_codes_that_the_help_lists() {
    let page = fs::read_to_string(root().join("docs/reference/exit-codes.md")).unwrap();
    let help = mainspring(&["--help"]).stdout;
    for code in [0, 1, 2, 3, 4, 5, 6, 7, 75, 124] {
        assert!(page.contains(&format!("\n| {code} | ")), "{code}");
        assert!(
            help.lines().any(|line| line.trim_start().starts_with(&format!("{code} "))),
            "{code}: {help}"
        );
    }
}

#[test]
fn a_help_lists_the_codes_of_its_own_command_alone() {
    let codes = |command: &str| -> Vec<String> {
        let help = mainspring(&[command, "--help"]).stdout;
        let rows = help.split_once("Exit codes:\n").map_or("", |(_, rows)| rows);
        rows.lines().filter_map(|row| Some(row.split_whitespace().next()?.to_owned())).collect()
    };
    assert_eq!(codes("list"), ["0", "1", "2", "3", "7", "75"]);
    assert_eq!(codes("show"), ["0", "1", "2", "3", "4", "7", "75"]);
    assert_eq!(codes("run"), ["0", "1", "2", "3", "4", "7", "75", "124"]);
    assert_eq!(codes("serve"), ["0", "1", "2", "5", "6", "7", "75"]);
    assert_eq!(codes("check"), ["0", "1", "2", "6", "7"]);
    assert_eq!(codes("next"), ["0", "1", "2", "3", "4", "6", "7", "75"]);
    assert_eq!(codes("apply"), ["0", "1", "2", "3", "5", "6", "7", "75"]);
}

#[test]
fn commands_without_a_server_end_as_documented() {
    let own = folder("codes");
    let path = |name: &str| own.join(name).to_str().unwrap().to_owned();
    write(&own.join("bad.toml"), "[jobs.x]\nevry = '1h'\n");
    write(&own.join("unsafe.toml"), "[jobs.x]\nevery = '1h'\nshell = 'true'\nuser = 'root'\n");
    fs::set_permissions(path("unsafe.toml"), fs::Permissions::from_mode(0o666)).unwrap();
    ends(&["check", "examples/jobs.toml"], 0);
    ends(&["check", "no/such/file"], 1);
    ends(&["translate", "0 9 * * *", "--to", "nonsense"], 2);
    ends(&["at", "soon", "--", "true"], 2);
    for command in
        [&["list"][..], &["status"], &["run", "x"], &["at", "now", "--", "true"], &["logs", "-f", "x"]]
    {
        let data = path("empty");
        let (first, rest) = command.split_first().unwrap();
        ends(&[&[*first, "--data", &data], rest].concat(), 3);
    }
    ends(&["next", "nobody", "--in", "examples/jobs.toml"], 4);
    ends(&["check", &path("bad.toml")], 6);
    ends(&["next", "61 * * * *"], 6);
    ends(&["serve", "--data", &path("d"), &path("bad.toml")], 6);
    ends(&["serve", "--data", &path("d"), &path("unsafe.toml")], 7);
    ends(&["check", "--here", &path("unsafe.toml")], 7);
    let _ = fs::remove_dir_all(&own);
}

#[test]
fn commands_with_a_server_end_as_documented() {
    let jobs = format!(
        "{IDLE}[jobs.bad]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'exit 3'\n\
         [jobs.slow]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'sleep 60'\ntimeout = '100ms'\n"
    );
    let served = TestServer::start("codes-served", &jobs);
    let code = |args: &[&str], code: i32| served.says(args, code, "");
    code(&["run", "idle", "--wait"], 0);
    code(&["history", "idle"], 0);
    code(&["history", "slow"], 0);
    code(&["run", "bad", "--wait"], 1);
    code(&["run", "slow", "--wait"], 124);
    for args in [&["show", "nobody"][..], &["history", "nobody"], &["logs", "nobody"], &["run", "nobody"]] {
        code(args, 4);
    }
    for args in
        [&["cancel", "nobody"][..], &["remove", "nobody"], &["pause", "nobody"], &["resume", "nobody"]]
    {
        code(args, 4);
    }
    let dead = "nobody@2026-01-01T00:00:00Z";
    for args in [&["dead", "retry", dead][..], &["dead", "drop", dead], &["logs", dead]] {
        code(args, 4);
    }
    code(&["backfill", "nobody", "2026-01-01 00:00", "2026-01-02 00:00", "--yes"], 4);
    code(&["every", "1h", "--name", "idle", "--", "true"], 5);
    let other = served.folder.join("other.toml");
    write(&other, IDLE);
    code(&["apply", other.to_str().unwrap()], 5);
    let file = served.file();
    ends(&["serve", "--data", &served.data(), file.to_str().unwrap()], 5);
    let (folder, data) = (served.folder.clone(), served.data());
    served.running.stop();
    ends(&["history", "--data", &data, "nobody"], 4);
    ends(&["history", "--data", &data, "idle"], 0);
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_server_that_takes_no_more_says_not_now() {
    let folder = folder("codes-rate");
    write(&folder.join("jobs.toml"), IDLE);
    let served = TestServer::start_in(folder, &["--max-changes", "1"]);
    assert_eq!(served.ask(&["pause", "idle"]).code, 0);
    // A client that asks without a pause uses up what there is, however slow the machine.
    let (is_over, data) = (AtomicBool::new(false), served.data());
    let is_refused = thread::scope(|scope| {
        scope.spawn(|| {
            let stream = UnixStream::connect(Path::new(&data).join("mainspring.sock")).unwrap();
            let mut answers = BufReader::new(&stream);
            while !is_over.load(Ordering::Relaxed) {
                (&stream).write_all(b"{\"id\":1,\"command\":\"resume\",\"job\":\"idle\"}\n").unwrap();
                answers.read_line(&mut String::new()).unwrap();
            }
        });
        let is_refused = (0..MOST_TRIES).any(|_| served.ask(&["pause", "idle"]).code == 75);
        is_over.store(true, Ordering::Relaxed);
        is_refused
    });
    assert!(is_refused);
    served.stop();
}
