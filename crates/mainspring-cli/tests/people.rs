//! What people see of a server, and what is not kept from them.

use std::fs;

use crate::program::mainspring;
use crate::served::{IDLE, Served, folder, write};
use crate::typed::Typed;

#[test]
fn what_waits_once_is_listed_shown_and_exported() {
    let served = Served::start("pending", IDLE);
    served.says(
        &[
            "at",
            "+2h",
            "--key",
            "k1",
            "--policy",
            "retry=2",
            "--policy",
            "pause-after=3",
            "--",
            "echo",
            "second",
        ],
        0,
        "is due",
    );
    served.says(&["at", "+1h", "--name", "first", "--", "echo", "a  'b'"], 0, "first is due");
    let list = served.ask(&["list"]).stdout;
    let rows: Vec<&str> = list.lines().collect();
    assert!(rows[1].starts_with("idle ") && rows[2].starts_with("first "), "{list}");
    assert!(rows[2].contains("pending") && rows[2].contains("in 59m"), "{list}");
    assert!(rows[3].starts_with("once-") && rows[3].ends_with("echo second"), "{list}");
    let one = served.ask(&["list", "--pending", "-n", "1"]).stdout;
    assert!(!one.contains("idle") && !one.contains("second"), "{one}");
    assert!(one.contains("more wait: mainspring list --pending -n 50"), "{one}");
    let json = served.json(&["list", "--json"]);
    let name = json["jobs"]["pending"][1]["name"].as_str().unwrap().to_owned();
    assert_eq!(json["jobs"]["pending"][0]["name"], "first");
    assert_eq!(json["jobs"]["has_more_pending"], false);
    served.says(&["show", &name], 0, "run = [\"echo\", \"second\"]");
    // What is exported is a job file, and the same without a server.
    let exported = served.ask(&["export"]).stdout;
    let file = served.folder.join("exported.toml");
    write(&file, &exported);
    let checked = mainspring(&["check", file.to_str().unwrap()]);
    assert_eq!(
        (checked.code, checked.stdout.contains("3 jobs, no problems")),
        (0, true),
        "{}",
        checked.stdout
    );
    assert!(exported.contains("key k1\n[jobs.once-") && exported.contains("pause_after = 3"), "{exported}");
    served.says(&["cancel", &name], 0, "");
    let json = served.json(&["list", "--pending", "--json"]);
    assert_eq!(json["jobs"]["pending"].as_array().unwrap().len(), 1, "{json}");
    let (folder, data) = (served.folder.clone(), served.data());
    served.running.stop();
    let list = mainspring(&["list", "--data", &data]).stdout;
    assert!(list.contains("first ") && list.contains("pending"), "{list}");
    assert!(mainspring(&["export", "--data", &data]).stdout.contains("[jobs.first]"));
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn of_a_long_output_both_ends_are_kept_and_the_middle_is_marked() {
    let jobs = "[jobs.long]\nat_boot = true\ncwd = '/'\noutput_bytes = 2000\nshell = 'echo BEGIN; seq 100000; echo END'\n";
    let mut served = Served::start("long-output", jobs);
    served.running.wait_for(&["long", "end    exit status 0"]);
    let lines = served.ask(&["logs", "long"]).stdout;
    assert!(lines.starts_with("BEGIN\n1\n2\n") && lines.ends_with("\n100000\nEND\n"), "{lines}");
    assert!(lines.len() < 2_100, "{}", lines.len());
    let mark = lines.lines().find(|line| line.starts_with("~ ")).unwrap();
    assert!(mark.ends_with("are left out here"), "{mark}");
    let json = served.ask(&["logs", "long", "--json"]).stdout;
    assert_eq!(json.matches("\"stream\":\"note\"").count(), 1);
    served.stop();
}

#[test]
fn a_table_on_a_narrow_terminal_keeps_what_is_copied_whole() {
    let jobs = "[jobs.tick]\nat_boot = true\nevery = '1h'\ncwd = '/'\nshell = 'echo a rather long command line that fills a terminal; exit 3'\n\
                [jobs.wide]\nat_boot = true\ncwd = '/'\nshell = 'echo 一二三四五六七八九十一二三四五六七八九十一二三四五六七八九十'\n";
    let mut served = Served::start("narrow", jobs);
    served.running.wait_for_all(&[&["tick", "end    exit status 3"], &["wide", "end    exit status 0"]]);
    let data = served.data();
    for width in [60, 80, 200] {
        let history = Typed::start(&["history", "--data", &data], width, "UTC").end();
        let runs = served.json(&["history", "--json"]);
        for run in runs["runs"]["runs"].as_array().unwrap() {
            assert!(history.contains(run["run"].as_str().unwrap()), "{width}: {history}");
        }
        assert!(history.contains("\u{1b}[31mfailed\u{1b}[0m"), "{width}: {history:?}");
        let list = Typed::start(&["list", "--data", &data], width, "UTC").end();
        assert!(list.contains("wide  "), "{list}");
        for line in list.lines() {
            let bare = line.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
            let bare = bare.replace("\u{1b}[31m", "").replace("\u{1b}[32m", "");
            // The wide characters here all take two columns, and `…` takes one.
            let columns: usize = bare.chars().map(|c| if '\u{3000}' <= c { 2 } else { 1 }).sum();
            assert!(columns <= width.into(), "{width}: {line:?}");
        }
    }
    // Elsewhere than on a terminal there are neither colours nor cuts.
    let history = served.ask(&["history"]).stdout;
    assert!(!history.contains('\u{1b}') && !history.contains('…'), "{history}");
    served.stop();
}

#[test]
fn a_question_is_seen_before_it_is_answered() {
    let served = Served::start("question", "[jobs.r]\nevery = '1m'\ncwd = '/'\nshell = 'true'\n");
    let data = served.data();
    let args = ["backfill", "--data", &data, "r", "2026-01-01T20:00:00Z", "2026-01-01T20:02:00Z"];
    let mut typed = Typed::start(&args, 80, "UTC");
    typed.wait_for("Add 3 runs of r? [y/N] ");
    typed.line("n");
    assert!(!typed.end().contains("on disk"));
    served.stop();
}

#[test]
fn people_see_times_of_their_zone_and_programs_utc() {
    let served =
        Served::start("zones", "[jobs.r]\ncron = '30 17 1 1 *'\nzone = 'UTC'\ncwd = '/'\nshell = 'true'\n");
    let data = served.data();
    let show = |args: &[&str]| {
        Typed::start(&[&["show", "r", "--data", &data], args].concat(), 200, "Europe/Berlin").end()
    };
    assert!(show(&[]).contains("-01-01T18:30:00+01:00)"), "{}", show(&[]));
    assert!(show(&["--utc"]).contains("-01-01T17:30:00Z)"), "{}", show(&["--utc"]));
    assert!(show(&["--json"]).contains("-01-01T17:30:00Z\""), "{}", show(&["--json"]));
    served.stop();
}

#[test]
fn a_time_that_is_past_is_refused_unless_it_is_asked_for() {
    let mut served = Served::start("past", IDLE);
    let past = "2020-01-01 00:00";
    served.says(&["at", past, "--name", "p", "--", "echo", "ran"], 2, "ago: a mistake?");
    assert!(served.ask(&["history"]).stdout.contains("there are no runs"));
    served.says(&["at", past, "--name", "p", "--even-if-past", "--", "echo", "ran"], 0, "p is due");
    served.running.wait_for(&["p", "stdout ran"]);
    served.stop();
    let file = folder("past-job").join("jobs.toml");
    write(&file, "[jobs.x]\nat = 2020-01-01T00:00:00Z\nshell = 'true'\n");
    let checked = mainspring(&["check", file.to_str().unwrap()]).stdout;
    assert!(
        checked.contains("warning: @at 2020-01-01T00:00:00Z: that time is past: it never runs"),
        "{checked}"
    );
}

#[test]
fn history_says_how_many_and_why() {
    let jobs = "[jobs.bad]\nat_boot = true\ncwd = '/'\nshell = 'sleep 0.2; exit 3'\nretry = '1,backoff=1ms'\n\
                [jobs.often]\nevery = '1ms'\ncwd = '/'\nshell = 'true'\n";
    let mut served = Served::start("why", jobs);
    served.says(&["pause", "often"], 0, "");
    served.running.wait_for(&["bad", "is a dead letter"]);
    served.says(&["history", "bad"], 0, "exit 3, none of its 2 attempts succeeded");
    served.says(&["resume", "often"], 0, "");
    served.says(&["history", "often", "--state", "skipped_paused"], 0, " occurrences, ");
    served.stop();
}

#[test]
fn whoever_looks_is_told_that_no_server_runs() {
    let served = Served::start("silent", IDLE);
    let (folder, data) = (served.folder.clone(), served.data());
    served.running.stop();
    for args in [&["list", "--data", &data][..], &["history", "--json", "--data", &data]] {
        let looked = mainspring(args);
        assert_eq!(looked.code, 0);
        assert!(looked.stderr.contains("no server runs for "), "{args:?}: {}", looked.stderr);
    }
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_secret_that_is_sent_nowhere_is_warned_of() {
    let file = folder("secret-nowhere").join("jobs.toml");
    let hook = |header: &str| {
        format!(
            "[jobs.x]\nevery = '1h'\n[jobs.x.webhook]\nurl = 'https://example.com/'\n\
             headers = {{ Authorization = 'Bearer {header}' }}\nsecrets = {{ TOKEN = '/etc/secrets/token' }}\n"
        )
    };
    for wrong in ["{TOKEN}", "$TOKEN", "{secrets.TOKEN}", "{secret:TOKEN}"] {
        write(&file, &hook(wrong));
        let checked = mainspring(&["check", file.to_str().unwrap()]).stdout;
        assert!(
            checked.contains("the secret `TOKEN` is sent nowhere: {secret.TOKEN} stands"),
            "{wrong}: {checked}"
        );
    }
    write(&file, &hook("{secret.TOKEN}"));
    let checked = mainspring(&["check", file.to_str().unwrap()]).stdout;
    assert!(checked.contains("1 job, no problems\n"), "{checked}");
}
