//! `mainspring next`.

use crate::program::mainspring;

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
