//! `mainspring check` on the files of testdata/crontabs and testdata/jobfiles.
//!
//! Each `NAME.crontab` and `NAME.toml` is checked in the root of the repository; what is printed, and the
//! exit code as a last line, must be `NAME.expected`. Files whose name begins with `system` are checked as
//! system crontabs. To write the expectations again after a change of messages, run the tests with
//! UPDATE_EXPECTED=1 and read the difference.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::program::{mainspring, mainspring_with_input, root};
use crate::test_server::{folder, write};

#[test]
fn every_crontab_is_checked_as_expected() {
    check_all("testdata/crontabs", ".crontab");
}

#[test]
fn every_job_file_is_checked_as_expected() {
    check_all("testdata/jobfiles", ".toml");
}

fn check_all(folder: &str, extension: &str) {
    let directory = root().join(folder);
    let mut names: Vec<String> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(extension).map(str::to_owned))
        .collect();
    names.sort_unstable();
    assert!(8 <= names.len(), "the files of {folder} are there");
    for name in names {
        let file = format!("{folder}/{name}{extension}");
        let system = if name.starts_with("system") { &["--system"][..] } else { &[] };
        let ended = mainspring(&[&["check", &file, "--from", "2026-01-01T00:00:00Z"], system].concat());
        assert_eq!(ended.stderr, "", "{name}");
        let found = format!("{}exit code {}\n", ended.stdout, ended.code);
        let expected = directory.join(format!("{name}.expected"));
        if std::env::var_os("UPDATE_EXPECTED").is_some() {
            fs::write(&expected, &found).unwrap();
        }
        let expected = fs::read_to_string(&expected).unwrap_or_default();
        assert_eq!(found, expected, "{name}: found on the left, expected on the right");
    }
}

#[test]
fn the_example_of_a_job_file_has_no_problems() {
    let ended = mainspring(&["check", "--strict", "examples/jobs.toml"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "examples/jobs.toml: 6 jobs, no problems\n"));
}

#[test]
fn the_example_has_no_problems() {
    let ended = mainspring(&["check", "examples/crontab"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "examples/crontab: 6 jobs, no problems\n"));
}

#[test]
fn standard_input_is_checked_under_its_name() {
    let ended = mainspring_with_input(&["check", "-"], b"@daily\n");
    assert_eq!(ended.code, 6);
    assert!(ended.stdout.starts_with("standard input:1:7: expected a command"), "{}", ended.stdout);
}

#[test]
fn a_file_that_cannot_be_read_fails_and_the_others_are_checked() {
    let ended =
        mainspring(&["check", "no/such/file", "testdata/crontabs/nicknames.crontab", "examples/crontab"]);
    assert_eq!(ended.code, 1);
    assert!(
        ended.stderr.starts_with("mainspring: cannot read no/such/file: No such file"),
        "{}",
        ended.stderr
    );
    assert!(ended.stdout.ends_with("examples/crontab: 6 jobs, no problems\n"), "{}", ended.stdout);
}

#[test]
fn problems_in_one_of_several_files_decide_the_exit_code() {
    let ended = mainspring(&["check", "testdata/crontabs/fields.crontab", "examples/crontab"]);
    assert_eq!(ended.code, 6);
}

#[test]
fn a_name_that_two_files_have_is_a_problem_that_names_both_places() {
    let folder = folder("check-names");
    let job = |name: &str| format!("[jobs.{name}]\nevery = '1h'\nshell = 'true'\n");
    write(&folder.join("a.toml"), &job("backup"));
    write(&folder.join("b.toml"), &format!("{}{}[jobs.bad]\nevry = 1\n", job("report"), job("backup")));
    write(&folder.join("n2.crontab"), "* * * * * echo one\n");
    write(&folder.join("n3.crontab"), "# mainspring: name=backup\n* * * * * echo two\n");
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let files = ["a.toml", "b.toml", "n2.crontab", "n3.crontab"].map(path);
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    let ended = mainspring(&[&["check"], &names[..]].concat());
    assert_eq!(ended.code, 6, "{}", ended.stdout);
    for (file, line) in [("b.toml", "4:1"), ("n3.crontab", "2:1")] {
        let message = format!("{}:{line}: the name `backup` is that of {}:1\n", path(file), path("a.toml"));
        assert!(ended.stdout.contains(&message), "{message} in {}", ended.stdout);
    }
    assert!(ended.stdout.contains("unknown key `evry`"), "{}", ended.stdout);
    // Each by itself, or one of them twice, is as it was.
    let ended = mainspring(&["check", &files[0], &files[2], &files[0]]);
    assert_eq!(ended.code, 0, "{}", ended.stdout);
    let _ = fs::remove_dir_all(&folder);
}

/// Checks a file of a test's own, with further arguments.
fn checked(name: &str, text: &str, args: &[&str]) -> crate::program::EndedProgram {
    let file = folder(&format!("checked-{}", name.replace('.', "-"))).join(name);
    write(&file, text);
    mainspring(&[&["check", file.to_str().unwrap()], args].concat())
}

#[test]
fn a_user_that_is_not_there_is_a_problem_here_and_a_warning_in_a_file_for_elsewhere() {
    let job = |user: &str| format!("[jobs.x]\nevery = '1h'\nshell = 'true'\nuser = '{user}'\n");
    let entry = |user: &str| format!("0 1 * * * {user} true\n");
    for (name, text, option) in
        [("user.toml", job("nosuchuser"), "--strict"), ("user.crontab", entry("nosuchuser"), "--system")]
    {
        let ended = checked(name, &text, &["--here", option]);
        assert_eq!(ended.code, 6, "{}", ended.stdout);
        assert!(ended.stdout.contains(": there is no user `nosuchuser`"), "{}", ended.stdout);
        let elsewhere: &[&str] = if option == "--system" { &["--system"] } else { &[] };
        let ended = checked(name, &text, elsewhere);
        assert_eq!(ended.code, 0, "{}", ended.stdout);
        assert!(ended.stdout.contains(": warning: there is no user `nosuchuser`"), "{}", ended.stdout);
    }
    assert_eq!(checked("root.toml", &job("root"), &["--here", "--strict"]).code, 0);
}

#[test]
fn classic_mistakes_of_crontabs_are_warned_of_and_pointed_at() {
    let text = "PATH=$PATH:/opt/bin\nFOO=bar # comment\n0 1 * * * cmd >/dev/null 2&1\n0 2 * * * [[ -f /x ]] && cmd\n\
                SHELL=/bin/bash\n0 3 * * * [[ -f /x ]] && cmd\n";
    let ended = checked("classic.crontab", text, &[]);
    assert_eq!(ended.code, 0, "{}", ended.stdout);
    for place in [":1:6: warning: ", ":2:9: warning: ", ":3:26: warning: ", ":4:11: warning: "] {
        assert!(ended.stdout.contains(place), "{place}: {}", ended.stdout);
    }
    assert_eq!(ended.stdout.matches("warning: ").count(), 4, "{}", ended.stdout);
    let ended = checked("export.crontab", "export A=b\n", &[]);
    assert!(ended.stdout.contains("hint: a crontab is no script"), "{}", ended.stdout);
}

#[test]
fn what_is_not_on_this_machine_is_a_warning_where_it_is_asked_for() {
    let jobs = "[jobs.a]\nevery = '1h'\nrun = ['echo hi there']\n\
                [jobs.b]\nevery = '1h'\nshell = 'true'\ncwd = '/no/such'\nsecrets = { A = '/no/secret' }\n\
                [jobs.b.notify]\nto = ['/no/such/pager --loud']\n\
                [jobs.c]\nevery = '1h'\nshell = 'true'\n[jobs.c.notify.to]\nurl = 'https://x/{secret.B}'\n\
                secrets = { B = '/no/token' }\nsigning_secret = '/no/key'\n\
                [jobs.d]\nevery = '1h'\nwebhook = { url = 'https://x', signing_secret = 'SHORT' }\n";
    let short = folder("checked-short").join("key");
    write(&short, "guessed\n");
    let jobs = &jobs.replace("SHORT", short.to_str().unwrap());
    let ended = checked("here.toml", jobs, &["--here"]);
    assert_eq!(ended.code, 0, "{}", ended.stdout);
    for part in [
        "write run = [\"echo\", \"hi\", \"there\"]",
        "folder `/no/such`",
        "the file `/no/secret` of a secret",
        "there is no program `/no/such/pager` here",
        "the file `/no/token` of a secret",
        "the file `/no/key` of a signing_secret",
        "has fewer than 16 bytes: none is sent",
    ] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
    let elsewhere = checked("here.toml", jobs, &["--strict"]);
    assert_eq!(elsewhere.code, 0, "{}", elsewhere.stdout);
    let unsafe_file = folder("checked-unsafe").join("jobs.toml");
    write(&unsafe_file, "[jobs.x]\nevery = '1h'\nshell = 'true'\nuser = 'root'\n");
    fs::set_permissions(&unsafe_file, fs::Permissions::from_mode(0o666)).unwrap();
    let ended = mainspring(&["check", "--here", unsafe_file.to_str().unwrap()]);
    assert_eq!(ended.code, 7, "{} {}", ended.stdout, ended.stderr);
}

#[test]
fn a_shell_that_is_not_on_this_machine_is_a_warning_where_it_is_asked_for() {
    let text = "SHELL=/no/such/zsh\n0 0 * * * true\nSHELL=/bin/sh\n1 0 * * * true\n";
    let ended = checked("shell.crontab", text, &["--here", "--strict"]);
    assert_eq!(ended.code, 6, "{}", ended.stdout);
    let warning = ":2:1: warning: there is no interpreter `/no/such/zsh` here";
    assert!(ended.stdout.contains(warning), "{}", ended.stdout);
    assert!(ended.stdout.contains("2 jobs, no problems, 1 warning"), "{}", ended.stdout);
    assert_eq!(checked("elsewhere.crontab", text, &["--strict"]).code, 0);
}

#[test]
fn a_named_file_that_cron_skips_for_its_name_is_warned_of() {
    let own = folder("checked-skipped");
    let text = "0 0 * * * root true\n";
    for (name, warnings) in [
        ("cron.d/certbot", 0),
        ("cron.d/certbot.dpkg-old", 1),
        ("cron.d/certbot~", 1),
        ("mine/certbot.dpkg-old", 0),
    ] {
        let path = own.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write(&path, text);
        let ended = mainspring(&["check", "--system", "--strict", path.to_str().unwrap()]);
        let told =
            ended.stdout.matches("warning: cron skips this file for its name: cron takes files").count();
        assert_eq!((told, ended.code), (warnings, 6 * warnings as i32), "{name}: {}", ended.stdout);
    }
    let _ = fs::remove_dir_all(own);
}

#[test]
fn commands_of_crontabs_that_are_probably_not_meant_are_warned_of() {
    let text = "0 0 * * * date +%Y-%m-%d > /tmp/x\n0 0 * * * date +\\%F\n0 0 * * * cat%Hello\n\
                * * * * * root /bin/true\n* * * * * sync -f /\n";
    let ended = checked("percent.crontab", text, &["--json"]);
    let document: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let findings = document["files"][0]["findings"].as_array().unwrap();
    let lines: Vec<u64> = findings.iter().map(|finding| finding["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [1, 4], "{document}");
    assert_eq!(findings[0]["hint"], "write \\%Y for the character itself");
    assert_eq!((&findings[0]["column"], &findings[0]["severity"]), (&17.into(), &"warning".into()));
    assert!(findings[1]["message"].as_str().unwrap().contains("the name of a user"), "{document}");
    assert_eq!((&document["files"][0]["jobs"], ended.code), (&5.into(), 0));
}

#[test]
fn a_job_whose_every_time_is_excluded_is_warned_of() {
    let job = |keys: &str| format!("[jobs.x]\nrun = ['true']\nzone = 'UTC'\n{keys}\n");
    let found =
        |keys: &str| checked("excluded.toml", &job(keys), &["--strict", "--from", "2026-01-01T00:00:00Z"]);
    let never = "all of its times are excluded: none of them ever runs it";
    for (keys, expected) in [
        ("cron = '0 5 1 1 *'\nexclude = '* * 1 1 *'", never),
        ("cron = '0 5 * * *'\nend = 2026-02-01T00:00:00Z\nexclude_dates = ['2026-01-01..2026-02-03']", never),
        // What is excluded for ever is passed so far, day by day.
        ("every = '1h'\nexclude = '* * * * *'", "all of its times up to 2162-11-23T23:59:59Z are excluded"),
    ] {
        let ended = found(keys);
        let is_told = ended.stdout.contains(&format!("warning: {expected}"));
        assert!(ended.code == 6 && is_told, "{}", ended.stdout);
    }
    for keys in [
        "cron = '0 5 1 1 *'\nexclude_dates = ['2026-01-01..2030-12-31']",
        "every = '1s'\nexclude = '* * * * 1-5'",
    ] {
        let ended = found(keys);
        assert_eq!(ended.code, 0, "{}", ended.stdout);
    }
}

#[test]
fn one_mistake_in_a_policy_does_not_hide_the_next() {
    let jobs =
        "[jobs.x]\nevery = '1h'\nshell = 'true'\nretry = { max = 'three', backof = '1s', cap = 'x' }\n";
    let ended = checked("policy.toml", jobs, &[]);
    for part in ["`three` is no", "`backof` is no", "`x` is no"] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
}

#[test]
fn whoever_expects_mails_is_told_where_nothing_takes_them() {
    let text = "SENDMAIL=/nowhere/sendmail\nMAILTO=root\n0 0 * * * true\n1 0 * * * true\n";
    assert_eq!(checked("elsewhere.crontab", text, &["--strict"]).code, 0);
    let ended = checked("mail.crontab", text, &["--strict", "--here"]);
    assert_eq!(ended.code, 6, "{}", ended.stdout);
    let warning = ":3:1: warning: no mail is sent: there is no /nowhere/sendmail here";
    assert!(ended.stdout.contains(warning), "{}", ended.stdout);
    assert_eq!(ended.stdout.matches("no mail is sent").count(), 1, "{}", ended.stdout);
    assert_eq!(checked("no-mail.crontab", "MAILTO=\"\"\n0 0 * * * true\n", &["--strict", "--here"]).code, 0);
    let mailer = "SENDMAIL=/bin/true\nMAILTO=root\n0 0 * * * true\n";
    assert_eq!(checked("mailer.crontab", mailer, &["--strict", "--here"]).code, 0);
}

#[test]
fn mistakes_that_are_nearly_right_are_told_as_such() {
    let jobs = "[groups.slow]\nlimit = 1\n[jobs.x]\nevery = '1h'\nshell = 'true'\ngroup = 'slwo'\n\
                exclude_dates = '2026-12-26..2026-12-24'\n";
    let ended = checked("nearly.toml", jobs, &[]);
    for part in ["did you mean `slow`?", "2026-12-24, the last of these days, comes before the first"] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
}
