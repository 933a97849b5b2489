//! `mainspring next`.

use std::fs;

use crate::program::mainspring;
use crate::test_server::{IDLE, TestServer, folder, write};

fn next(args: &[&str]) -> (i32, String, String) {
    let ended = mainspring(&[&["next"], args].concat());
    (ended.code, ended.stdout, ended.stderr)
}

#[test]
fn times_are_printed_one_a_line_with_the_offset_of_the_zone() {
    let (code, stdout, _) =
        next(&["30 9 * * mon-fri", "-n", "3", "--tz", "Europe/Berlin", "--from", "2026-03-26T12:00:00Z"]);
    assert_eq!(code, 0);
    let expected = "2026-03-27T09:30:00+01:00\n2026-03-30T09:30:00+02:00\n2026-03-31T09:30:00+02:00\n";
    assert_eq!(stdout, expected);
}

#[test]
fn a_sixth_field_in_front_is_for_seconds() {
    let (_, stdout, _) = next(&["*/20 * * * * *", "-n2", "--tz=UTC", "--from=2026-01-01T00:00:00Z"]);
    assert_eq!(stdout, "2026-01-01T00:00:20+00:00\n2026-01-01T00:00:40+00:00\n");
}

#[test]
fn ten_times_from_now_on_are_printed_without_options() {
    let (code, stdout, _) = next(&["@hourly"]);
    assert_eq!((code, stdout.lines().count()), (0, 10));
}

#[test]
fn an_expression_that_never_matches_is_said_to_be_never_due() {
    let (code, stdout, stderr) = next(&["0 0 30 2 *"]);
    assert_eq!((code, stdout.as_str()), (0, ""));
    assert!(stderr.contains("it is never due"), "{stderr}");
}

#[test]
fn reboot_has_no_times_and_says_so() {
    let (code, stdout, stderr) = next(&["@reboot"]);
    assert_eq!((code, stdout.as_str()), (0, ""));
    assert!(stderr.contains("once when the machine starts"), "{stderr}");
}

#[test]
fn a_bad_expression_is_shown_with_a_caret() {
    let (code, stdout, stderr) = next(&["0 24 * * *"]);
    assert_eq!((code, stdout.as_str()), (6, ""));
    let lines: Vec<&str> = stderr.lines().collect();
    assert!(lines[0].starts_with("expression:1:3: "), "{stderr}");
    assert_eq!(lines[1..3], ["  1 | 0 24 * * *", "    |   ^^"]);
}

#[test]
fn bad_options_are_usage_errors() {
    for bad in [["--tz", "Mars/Base"], ["--from", "tomorrow"], ["-n", "0"], ["-n", "many"]] {
        let (code, stdout, stderr) = next(&["@daily", bad[0], bad[1]]);
        assert_eq!((code, stdout.as_str()), (2, ""), "{bad:?}");
        assert!(stderr.contains(bad[1]), "{stderr}");
    }
}

#[test]
fn a_word_that_is_no_expression_is_the_name_of_a_job() {
    let (code, stdout, stderr) = next(&["nosuch", "--data", "/nonexistent/mainspring"]);
    assert_eq!((code, stdout.as_str()), (3, ""), "{stderr}");
    assert!(stderr.contains("no server answers"), "{stderr}");
    let (code, _, stderr) = next(&["nosuch", "--dialect", "oncalendar"]);
    assert_eq!(code, 6, "a dialect is for an expression: {stderr}");
    let served = TestServer::start("next-nosuch", IDLE);
    let nosuch = served.ask(&["next", "nosuch"]);
    assert_eq!((nosuch.code, nosuch.stdout.as_str()), (4, ""), "{}", nosuch.stderr);
    assert!(nosuch.stderr.contains("there is no job"), "{}", nosuch.stderr);
    served.stop();
}

#[test]
fn the_times_of_a_job_are_in_its_zone_and_of_files_that_are_in_force() {
    let folder = folder("next-files");
    let (good, bad) = (folder.join("good.toml"), folder.join("bad.toml"));
    let job = "cron = '0 9 * * *'\nzone = 'Australia/Lord_Howe'\ncwd = '/'\nshell = 'true'\n";
    write(&good, &format!("[jobs.howe]\n{job}"));
    write(&bad, &format!("[jobs.lord]\n{job}[jobs.x]\ncron = '61 * * * *'\nshell = 'true'\n"));
    let (good, bad) = (good.to_str().unwrap(), bad.to_str().unwrap());
    let rest = ["-n", "1", "--from", "2026-07-01T00:00:00Z"];
    let of = |name: &str, files: &[&str]| next(&[&[name], files, &rest[..]].concat());
    assert_eq!(of("howe", &["--in", good]).1, "2026-07-02T09:00:00+10:30\n");
    assert_eq!(of("howe", &["--in", good, "--tz", "UTC"]).1, "2026-07-01T22:30:00+00:00\n");
    let document = of("howe", &["--in", good, "--json"]).1;
    assert!(document.contains(r#""zone": "Australia/Lord_Howe""#), "{document}");
    let (code, stdout, stderr) = of("lord", &["--in", bad]);
    assert_eq!((code, stdout.as_str()), (6, ""), "{stderr}");
    let (code, stdout, _) = of("howe", &["--in", good, "--in", bad]);
    assert_eq!((code, stdout.lines().count()), (6, 1), "a file without problems is in force");
    for option in ["--explain", "--dst=skip", "--day-rule=and", "--dialect=quartz", "--name=x"] {
        let (code, stdout, stderr) = of("howe", &["--in", good, option]);
        assert_eq!((code, stdout.as_str()), (2, ""), "{option}: {stderr}");
    }
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn the_examples_of_its_help_are_good() {
    let (code, _, stderr) = next(&["report", "--in", "examples/jobs.toml"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(next(&["--help"]).1.contains("mainspring next report --in examples/jobs.toml"));
}
