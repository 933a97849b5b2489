//! Help, version, times and mistakes on the command line.

use std::fs;

use crate::program::mainspring;
use crate::test_server::{IDLE, TestServer, folder};

#[test]
fn help_names_the_commands_the_exit_codes_and_examples() {
    let ended = mainspring(&["--help"]);
    assert_eq!(ended.code, 0);
    for part in [
        "serve",
        "check",
        "next",
        "explain",
        "translate",
        "simulate",
        "Exit codes:",
        "Examples:",
        "mainspring serve examples/jobs.toml",
    ] {
        assert!(ended.stdout.contains(part), "{part} in {}", ended.stdout);
    }
}

#[test]
fn each_command_has_help_with_examples_and_exit_codes() {
    for command in
        ["serve", "list", "run", "at", "check", "import", "next", "explain", "translate", "simulate"]
    {
        let ended = mainspring(&[command, "--help"]);
        assert_eq!(ended.code, 0);
        for part in ["Usage:", "Examples:", "Exit codes:", "  2  "] {
            assert!(ended.stdout.contains(part), "{part} in {}", ended.stdout);
        }
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    assert_eq!(mainspring(&["--version"]).stdout, format!("mainspring {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn mistakes_on_the_command_line_end_with_2() {
    let mistakes: [&[&str]; 6] = [
        &[],
        &["runn"],
        &["run"],
        &["check"],
        &["serve", "x", "--grace", "10"],
        &["serve", "x", "--tz", "Mars"],
    ];
    for args in mistakes {
        let ended = mainspring(args);
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{args:?}");
        assert!(!ended.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn an_option_that_is_none_is_named_where_a_time_may_begin_with_a_hyphen() {
    let mistakes: [&[&str]; 2] =
        [&["backfill", "nightly", "--dryrun", "-1d", "now"], &["history", "--since", "--dryrun"]];
    for args in mistakes {
        let ended = mainspring(args);
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{args:?}");
        assert!(ended.stderr.contains("the command has no such option"), "{args:?}: {}", ended.stderr);
    }
}

#[test]
fn an_option_that_would_be_ignored_is_refused() {
    let given: [&[&str]; 5] = [
        &["serve", "--store", "postgres://u@h/d", "--label", "all"],
        &["crontab", "-n", "-r", "--root", "/nonexistent/cron"],
        &["at", "+10m", "--body", "x", "--", "true"],
        &["at", "+10m", "--body", "x"],
        &["list", "--token-file", "token", "--data", "/nonexistent/mainspring"],
    ];
    for args in given {
        let ended = mainspring(args);
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{args:?}: {}", ended.stderr);
    }
}

#[test]
fn what_a_server_does_in_a_pool_needs_a_database() {
    for option in ["--no-work", "--no-plan", "--label=gpu"] {
        let ended = mainspring(&["serve", "--data", "/nonexistent/mainspring", option]);
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{option}: {}", ended.stderr);
        assert!(ended.stderr.contains(" needs --store or --store-file"), "{}", ended.stderr);
    }
}

#[test]
fn what_ran_just_now_is_since_an_hour_ago() {
    let served = TestServer::start("an-hour-ago", IDLE);
    served.says(&["run", "idle", "--wait"], 0, "");
    for since in [&["--since", "-1h"][..], &["--since=-1h", "--until=now"]] {
        served.says(&[&["history"], since].concat(), 0, "succeeded");
    }
    served.says(&["history", "--until", "-1h"], 0, "there are no runs");
    served.says(&["audit", "--since", "-1h"], 0, "idle");
    served.says(&["backfill", "idle", "-2h", "-1h", "--yes"], 0, "");
    served.stop();
}

#[test]
fn each_command_has_a_page_and_those_below_it_too() {
    let folder = folder("man");
    let ended = mainspring(&["man", folder.to_str().unwrap()]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    for name in
        ["mainspring", "mainspring-list", "mainspring-dead", "mainspring-dead-list", "mainspring-token-add"]
    {
        let page = fs::read_to_string(folder.join(format!("{name}.1"))).unwrap();
        assert!(page.contains(&format!(".TH {name} 1")), "{page}");
    }
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_second_request_with_a_key_waits_for_the_run_of_the_first_and_ends_as_it_did() {
    let jobs = "[jobs.bad]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'exit 3'\n";
    let served = TestServer::start("key-waits", jobs);
    served.says(&["run", "bad", "--key", "k", "--wait"], 1, "exit 3");
    served.says(&["run", "bad", "--key", "k", "--wait"], 1, "is there already");
    served.says(&["run", "bad", "--key", "k"], 0, "is there already");
    served.stop();
}
