//! Output for people: jobs that wait are listed, times are of their zone, signals have names.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;

use crate::program::{Running, mainspring};
use crate::test_server::{IDLE, TestServer, folder, skipped, write};
use crate::typed::TerminalProgram;

#[test]
fn what_waits_once_is_listed_shown_and_exported() {
    let served = TestServer::start("pending", IDLE);
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
fn a_script_on_standard_input_runs_once_and_as_the_user_that_is_named() {
    let mut served = TestServer::start("script", IDLE);
    let data = served.data();
    let at = |args: &str, script: &str| {
        let line = format!("printf '{script}' | exec \"$0\" at --data '{data}' {args}");
        let output = std::process::Command::new("sh")
            .args(["-c", &line, env!("CARGO_BIN_EXE_mainspring")])
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(at("now --name two", "echo one\\necho $((1 + 1))\\n"), (Some(0), String::new()));
    served.running.wait_for(&["two", "stdout 2"]);
    let (code, errors) = at("now", " \\n");
    assert_eq!(code, Some(2));
    assert!(errors.contains("no script on standard input"), "{errors}");
    for command in [
        &["at", "now", "--user", "no-such-user", "--", "id"][..],
        &["every", "1h", "--name", "e", "--user", "no-such-user", "--", "id"],
    ] {
        served.says(command, 2, "cannot run as user `no-such-user`");
    }
    if nix::unistd::Uid::effective().is_root() {
        served.says(&["at", "now", "--name", "who", "--user", "nobody", "--", "id", "-un"], 0, "who is due");
        served.running.wait_for(&["who", "stdout nobody"]);
    }
    served.stop();
}

#[test]
fn a_signal_that_ended_a_run_is_called_by_its_name() {
    let jobs = "[jobs.fault]\nat = 2100-01-01T00:00:00Z\ncwd = '/'\nshell = 'kill -SEGV $$'\n";
    let served = TestServer::start("signal-name", jobs);
    served.says(&["run", "fault", "--wait"], 1, "signal 11 (SIGSEGV)");
    served.says(&["history", "fault"], 0, "signal 11 (SIGSEGV)");
    let run = &served.json(&["history", "fault", "--json"])["runs"]["runs"][0];
    assert_eq!((run["outcome_code"].as_str(), run["outcome_number"].as_i64()), (Some("signal"), Some(11)));
    served.stop();
}

#[test]
fn a_table_on_a_narrow_terminal_keeps_what_is_copied_whole() {
    let jobs = "[jobs.tick]\nat_boot = true\nevery = '1h'\ncwd = '/'\nshell = 'echo a rather long command line that fills a terminal; exit 3'\n\
                [jobs.wide]\nat_boot = true\ncwd = '/'\nshell = 'echo 一二三四五六七八九十一二三四五六七八九十一二三四五六七八九十'\n";
    let mut served = TestServer::start("narrow", jobs);
    served.running.wait_for_all(&[&["tick", "end    exit status 3"], &["wide", "end    exit status 0"]]);
    let data = served.data();
    for width in [60, 80, 200] {
        let history = TerminalProgram::start(&["history", "--data", &data], width, "UTC").end();
        let runs = served.json(&["history", "--json"]);
        for run in runs["runs"]["runs"].as_array().unwrap() {
            assert!(history.contains(run["run"].as_str().unwrap()), "{width}: {history}");
        }
        assert!(history.contains("\u{1b}[31mfailed\u{1b}[0m"), "{width}: {history:?}");
        let list = TerminalProgram::start(&["list", "--data", &data], width, "UTC").end();
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
    let served = TestServer::start("question", "[jobs.r]\nevery = '1m'\ncwd = '/'\nshell = 'true'\n");
    let data = served.data();
    let args = ["backfill", "--data", &data, "r", "2026-01-01T20:00:00Z", "2026-01-01T20:02:00Z"];
    let mut typed = TerminalProgram::start(&args, 80, "UTC");
    typed.wait_for("Add 3 runs of r? [y/N] ");
    typed.line("n");
    assert!(!typed.end().contains("on disk"));
    served.stop();
}

#[test]
fn people_see_times_of_their_zone_and_programs_utc() {
    let served = TestServer::start(
        "zones",
        "[jobs.r]\ncron = '30 17 1 1 *'\nzone = 'UTC'\ncwd = '/'\nshell = 'true'\n",
    );
    let data = served.data();
    let show = |args: &[&str]| {
        TerminalProgram::start(&[&["show", "r", "--data", &data], args].concat(), 200, "Europe/Berlin").end()
    };
    assert!(show(&[]).contains("-01-01T18:30:00+01:00)"), "{}", show(&[]));
    assert!(show(&["--utc"]).contains("-01-01T17:30:00Z)"), "{}", show(&["--utc"]));
    assert!(show(&["--json"]).contains("-01-01T17:30:00Z\""), "{}", show(&["--json"]));
    served.stop();
}

#[test]
fn a_time_that_is_past_is_refused_unless_it_is_asked_for() {
    let mut served = TestServer::start("past", IDLE);
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
                [jobs.often]\nevery = '1ms'\ncwd = '/'\nshell = 'true'\n\
                retention = 'keep=100000'\n";
    let mut served = TestServer::start("why", jobs);
    served.says(&["pause", "often"], 0, "");
    served.running.wait_for(&["bad", "is a dead letter"]);
    served.says(&["history", "bad"], 0, "exit 3, none of its 2 attempts succeeded");
    served.says(&["resume", "often"], 0, "");
    served.says(&["history", "often", "--state", "skipped_paused"], 0, " occurrences, ");
    served.stop();
}

#[test]
fn whoever_looks_is_told_that_no_server_runs() {
    let served = TestServer::start("silent", IDLE);
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

#[test]
fn the_next_times_of_a_job_leave_out_what_it_excludes() {
    let jobs = "[jobs.report]\ncron = ['30 17 * * mon-fri', '0 12 * * sat']\nzone = 'UTC'\ncwd = '/'\nshell = 'true'\n\
                exclude_dates = ['2099-01-01..2099-01-02']\n";
    let served = TestServer::start("next-job", jobs);
    let (data, file) = (served.data(), served.file());
    let rest = ["--from", "2098-12-31T00:00:00Z", "-n", "3"];
    let expected = "2098-12-31T17:30:00+00:00\n2099-01-03T12:00:00+00:00\n2099-01-05T17:30:00+00:00\n";
    let of_server = mainspring(&[&["next", "report", "--data", &data], &rest[..]].concat());
    assert_eq!((of_server.code, of_server.stdout.as_str()), (0, expected), "{}", of_server.stderr);
    let of_file = mainspring(&[&["next", "report", "--in", file.to_str().unwrap()], &rest[..]].concat());
    assert_eq!((of_file.code, of_file.stdout.as_str()), (0, expected), "{}", of_file.stderr);
    let nobody = mainspring(&["next", "nobody", "--in", file.to_str().unwrap()]);
    assert_eq!((nobody.code, nobody.stdout.as_str()), (4, ""), "{}", nobody.stderr);
    let shown = served.ask(&["show", "report", "-n", "3"]).stdout;
    assert_eq!(shown.lines().filter(|line| line.starts_with("next  2")).count(), 3, "{shown}");
    served.stop();
}

#[test]
fn a_pause_of_everything_is_seen_where_people_look() {
    let mut served =
        TestServer::start("pause-all", "[jobs.often]\nevery = '1h'\ncwd = '/'\nshell = 'true'\n");
    served.says(&["pause", "--all"], 0, "");
    let list = served.ask(&["list"]).stdout;
    assert!(list.contains("often  paused with everything  in "), "its next time is shown: {list}");
    let job = &served.json(&["list", "--json"])["jobs"]["jobs"][0];
    assert!(job["next"].is_string() && job["armed"].is_null(), "{job}");
    let data = served.data();
    let mut waiting = Running::any(&["run", "--data", &data, "often", "--wait"]);
    waiting.wait_for_error("everything is paused: the run waits until `mainspring resume --all`");
    served.says(&["resume", "--all"], 0, "");
    served.running.wait_for(&["often", "end    exit status 0"]);
    waiting.wait_for(&["succeeded"]);
    served.stop();
}

#[test]
fn doctor_sees_a_socket_that_others_may_write_to() {
    let served = TestServer::start("open-door", IDLE);
    assert!(!served.ask(&["doctor"]).stdout.contains("has mode"));
    let socket = served.folder.join("data/mainspring.sock");
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o666)).unwrap();
    served.says(&["doctor"], 1, "has mode 666: others may have any command run");
    served.stop();
}

#[test]
fn what_is_not_there_is_called_by_its_name() {
    let served = TestServer::start("names", IDLE);
    for args in [&["pause", "nobody"][..], &["resume", "nobody"], &["run", "nobody"]] {
        served.says(args, 4, "there is no job `nobody`");
    }
    served.says(
        &["backfill", "idle", "2026-01-02 00:00", "2026-01-01 00:00", "--yes"],
        2,
        "FROM is after TO",
    );
    served.says(&["dead", "list", "--state", "failed"], 2, "mainspring history --state");
    served.stop();
}

#[test]
fn systemd_is_told_how_the_server_is() {
    let folder = folder("notify");
    write(&folder.join("jobs.toml"), IDLE);
    let socket = UnixDatagram::bind(folder.join("notify.sock")).unwrap();
    socket.set_read_timeout(Some(crate::program::BOUND)).unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let export = format!("export NOTIFY_SOCKET='{}'", path("notify.sock"));
    let running = Running::after(&export, &["serve", "--data", &path("data"), &path("jobs.toml")]);
    let said = |wanted: &str| {
        let mut buffer = [0; 64];
        loop {
            let count = match socket.recv(&mut buffer) {
                // A child of another test has ended.
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                received => received.unwrap(),
            };
            if buffer[..count] == *wanted.as_bytes() {
                return;
            }
        }
    };
    said("READY=1\nSTATUS=1 job");
    said("WATCHDOG=1");
    running.signal(nix::sys::signal::Signal::SIGTERM);
    said("STOPPING=1");
    running.end();
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn no_more_runs_go_on_than_are_wanted() {
    let folder = folder("max-running");
    let job = |name: &str| {
        format!("[jobs.{name}]\nat_boot = true\ncwd = '/'\nshell = 'echo begun; exec sleep 1000'\n")
    };
    write(&folder.join("jobs.toml"), &format!("{}{}", job("a"), job("b")));
    let mut served = TestServer::start_in(folder, &["--max-running", "1"]);
    let first = served.running.wait_for(&["stdout begun"]);
    let status = served.json(&["status", "--json"]);
    assert_eq!((&status["status"]["open"], &status["status"]["running"]), (&2.into(), &1.into()), "{status}");
    let (first, second) = if first.contains(" a@") { ("a", "b") } else { ("b", "a") };
    served.says(&["cancel", first], 0, "");
    served.running.wait_for(&[second, "stdout begun"]);
    served.says(&["cancel", second], 0, "");
    served.running.wait_for(&[second, "end "]);
    served.stop();
}

#[test]
fn a_store_that_lost_what_it_knew_is_spoken_of() {
    let mut served =
        TestServer::start("lost-store", "[jobs.x]\nat_boot = true\ncwd = '/'\nshell = 'echo ran'\n");
    served.running.wait_for(&["x", "end    exit status 0"]);
    let (folder, data) = (served.folder.clone(), served.data());
    served.running.stop();
    for name in ["mainspring.db-wal", "mainspring.db-shm"] {
        let _ = fs::remove_file(folder.join("data").join(name));
    }
    fs::write(folder.join("data/mainspring.db"), "").unwrap();
    let file = folder.join("jobs.toml");
    let mut again = Running::any(&["serve", "--data", &data, file.to_str().unwrap()]);
    again.wait_for(&["the store is new, and there is output of earlier runs"]);
    again.stop();
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn doctor_does_not_have_a_store_of_a_newer_version_moved_away() {
    let served = TestServer::start("newer", IDLE);
    let (folder, data) = (served.folder.clone(), served.data());
    served.running.stop();
    let store = rusqlite::Connection::open(folder.join("data/mainspring.db")).unwrap();
    store.pragma_update(None, "user_version", 99).unwrap();
    drop(store);
    let looked = mainspring(&["doctor", "--data", &data]);
    assert_eq!(looked.code, 1, "{}", looked.stdout);
    assert!(looked.stdout.contains("hint: a newer version wrote it: use that one"), "{}", looked.stdout);
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_container_without_a_user_database_is_served() {
    let folder = folder("no-passwd");
    write(&folder.join("crontab"), "@reboot echo at home in $HOME\n");
    let hidden = "mount -t tmpfs none /etc && exec \"$0\" serve --memory \"$1\"";
    let mut command = std::process::Command::new("unshare");
    command.args(["--mount", "sh", "-c", hidden, env!("CARGO_BIN_EXE_mainspring")]);
    command.arg(folder.join("crontab"));
    let may = std::process::Command::new("unshare").args(["--mount", "true"]).status();
    if !may.is_ok_and(|status| status.success()) {
        return skipped("no user database", "only root may hide /etc");
    }
    let mut running = Running::other(&mut command);
    running.wait_for(&["stdout at home in /"]);
    running.stop();
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn an_address_among_the_files_of_serve_is_told_from_a_missing_file() {
    let folder = folder("address-as-file");
    let data = folder.join("data").display().to_string();
    let ended = mainspring(&["serve", "--data", &data, "--listen", "127.0.0.1:7455", "jobs.toml"]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains("to listen there: --listen=127.0.0.1:7455"), "{}", ended.stderr);
}

#[test]
fn a_folder_of_crons_places_among_the_files_of_serve_is_told_from_one_of_jobs() {
    let folder = folder("root-as-file");
    fs::create_dir_all(folder.join("root/etc/cron.d")).unwrap();
    let [data, root] = ["data", "root"].map(|name| folder.join(name).display().to_string());
    let ended = mainspring(&["serve", "--data", &data, "--cron", &root]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains(&format!("to serve those: --cron={root}")), "{}", ended.stderr);
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn next_says_that_nothing_is_due() {
    let never = mainspring(&["next", "0 0 31 2 *"]);
    assert_eq!((never.code, never.stdout.as_str()), (0, ""));
    assert!(never.stderr.contains("it is never due"), "{}", never.stderr);
    let until = ["next", "0 0 1 1 *", "--from", "2026-03-01T00:00:00Z", "--until", "2026-04-01T00:00:00Z"];
    assert!(mainspring(&until).stderr.contains("it is not due by then"));
    let reboot = mainspring(&["next", "@reboot"]);
    assert!(!reboot.stderr.contains("due"), "{}", reboot.stderr);
}

#[test]
fn who_asked_for_what_is_kept_with_it_and_told_without_a_server_too() {
    let served = TestServer::start("audit", IDLE);
    served.says(&["pause", "idle", "--until", "+2h", "--note", "new disk"], 0, "");
    served.says(&["pause", "nothing-of-that-name"], 4, "");
    served.says(&["resume", "idle"], 0, "");
    let uid = nix::unistd::Uid::current().to_string();
    let rows = served.json(&["audit", "--json"]);
    let rows = rows["audit"]["rows"].as_array().unwrap();
    let told: Vec<String> = rows
        .iter()
        .map(|row| {
            format!("{} {} {} {}", row["actor"], row["action"], row["target"], row["note"]).replace('"', "")
        })
        .collect();
    assert_eq!(told, [format!("uid {uid} resume idle "), format!("uid {uid} pause idle new disk")]);
    let text = served.ask(&["audit", "idle", "-n", "1"]).stdout;
    assert!(text.contains("resume") && !text.contains("new disk"), "{text}");
    served.says(&["audit", "--actor", "nobody"], 0, "nothing was asked");
    served.says(&["audit", "--actor", &format!("uid {uid}")], 0, "new disk");
    let (folder, data) = (served.folder.clone(), served.data());
    served.running.stop();
    let text = mainspring(&["audit", "--data", &data]).stdout;
    assert!(text.contains("new disk"), "{text}");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_range_without_an_occurrence_is_said_to_be_one() {
    let served = TestServer::start("empty-range", IDLE);
    let ended = served.ask(&["backfill", "idle", "2026-01-01 00:00", "2026-01-02 00:00"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, ""), "{}", ended.stderr);
    let said = "idle is due at no time from 2026-01-01T00:00:00Z to 2026-01-02T00:00:00Z\n";
    assert!(ended.stderr.ends_with(said), "{}", ended.stderr);
    served.stop();
}

#[test]
fn a_pause_says_until_when_and_why_and_a_label_chooses() {
    let jobs = "[defaults]\nlabels = { site = 'here' }\n\
        [jobs.a]\nevery = '10h'\nzone = 'Asia/Tokyo'\nrun = ['true']\nlabels = { team = 'ops' }\n\
        [jobs.b]\nevery = '10h'\nrun = ['true']\n";
    let served = TestServer::start("rest", jobs);
    served.says(&["pause", "a", "--until", "2100-01-01T00:00:00Z", "--note", "new disk"], 0, "");
    served.says(&["pause", "b", "--until", "2000-01-01T00:00:00Z"], 2, "");
    served.says(&["pause", "b", "--note", "two\nlines"], 2, "");
    let shown = served.ask(&["show", "a"]).stdout;
    assert!(shown.contains("new disk") && shown.contains("site=here team=ops"), "{shown}");
    let json = served.json(&["show", "a", "--json"]);
    assert_eq!(json["job"]["pause_terms"]["until_civil"], "2100-01-01T09:00:00+09:00[Asia/Tokyo]", "{json}");
    assert_eq!(
        (&json["job"]["next"], &json["job"]["armed"]),
        (&serde_json::Value::Null, &"2100-01-01T00:00:00Z".into())
    );
    let json = served.json(&["show", "b", "--json"]);
    assert_eq!(json["job"]["armed"], json["job"]["next"]);
    served.says(&["at", "+1h", "--name", "once", "--", "true"], 0, "");
    let names = |labels: &[&str]| {
        let words = ["list", "--json"].into_iter().chain(labels.iter().flat_map(|label| ["--label", *label]));
        let json = served.json(&words.collect::<Vec<_>>());
        assert_eq!(
            json["jobs"]["pending"].as_array().unwrap().len(),
            usize::from(labels.is_empty()),
            "{json}"
        );
        let jobs = json["jobs"]["jobs"].as_array().unwrap().clone();
        jobs.iter().map(|job| job["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&[]), ["a", "b"]);
    assert_eq!(names(&["site=here"]), ["a", "b"]);
    assert_eq!(names(&["site=here", "team=ops"]), ["a"]);
    assert!(names(&["team=others"]).is_empty());
    served.says(&["list", "--label", "no label"], 2, "");
    served.stop();
}
